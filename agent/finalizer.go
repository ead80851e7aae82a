package agent

import (
	"context"
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
		if text = strings.TrimSpace(text); text != "" {
			w.answer = &text
		}
		if err != nil || text != "" {
			return err
		}
		r.instruction = question + "\n\n" + templates.Render(templates.NoticeInvalid, templates.InvalidData{Reason: "it was empty"})
	}
	return &Failure{Node: w.node, Kind: KindEmptyReply, Message: "the model gave an empty answer twice"}
}
