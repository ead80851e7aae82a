package agent

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/llama-agent/llama-agent/templates"
)

// writeAnswer asks for the answer. An empty one is asked for once more; one that is cut twice is kept as a partial answer.
func (w *work) writeAnswer(ctx context.Context) error {
	data := templates.FinalizerData{Task: w.task.Goal, Language: languageOf(w.task.Goal)}
	for _, c := range w.calls() {
		data.Evidence = data.Evidence || !c.Skipped
	}
	if w.failure != nil {
		data.Problem = oneLine(w.failure.Message)
	}
	question := templates.Render(templates.Finalizer, data)
	r := request{label: "answer", instruction: question, stream: true}
	for range 2 {
		text, err := w.ask(ctx, r)
		if cut, ok := errors.AsType[*CutError](err); ok {
			text = cut.Partial
		}
		reason := "it was empty"
		if text = strings.TrimSpace(text); isAction(text) {
			text, reason = "", "it was a plan or a call; the steps are over, write the answer as text"
		}
		if text != "" {
			w.answer = &text
		}
		if err != nil || text != "" {
			return err
		}
		r.instruction = question + "\n\n" + templates.Render(templates.NoticeInvalid, templates.InvalidData{Reason: reason})
	}
	return &Failure{Node: w.node, Kind: KindEmptyReply, Message: "the model gave no answer twice"}
}

// isAction reports whether a text begins with a plan or a call in the form of the transcript. A small model can go on in that
// form, because all that it wrote before has it.
func isAction(text string) bool {
	var action struct {
		Steps []plannedStep `json:"steps"`
		Tool  string        `json:"tool"`
	}
	dec := json.NewDecoder(strings.NewReader(unfence(text)))
	return dec.Decode(&action) == nil && (len(action.Steps) > 0 || action.Tool != "")
}
