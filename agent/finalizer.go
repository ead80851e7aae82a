package agent

import (
	"cmp"
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
	switch {
	case w.failure == nil:
	case w.failure.Kind == KindUnconfirmed:
		data.Doubt = oneLine(w.failure.Message)
		w.failure = nil
	default:
		data.Problem = oneLine(w.failure.Message)
	}
	for _, s := range w.plan {
		if s.State == StepRefused {
			data.Refused = append(data.Refused, oneLine(s.Do))
		}
	}
	data.Sums = w.sums()
	if data.Near = w.digest(); len(data.Near) > 0 {
		data.Fence = fence(compactJSON(data.Near))
	}
	question := templates.Render(templates.Finalizer, data)
	r := request{label: "answer", instruction: question, stream: true}
	said := "" // of the work, in a form that is no answer
	for range 2 {
		text, err := w.ask(ctx, r)
		if cut, ok := errors.AsType[*CutError](err); ok {
			text = cut.Partial
		}
		reason := "it was empty"
		if text = unwrapped(strings.TrimSpace(text), w.task.Goal); isAction(text) {
			said = cmp.Or(reasonOf(text), said)
			text, reason = "", "it was a plan, a call or a review; the steps are over, write the answer as text"
		}
		if text != "" {
			w.answer = &text
		}
		if err != nil || text != "" {
			return err
		}
		r.instruction = question + "\n\n" + templates.Render(templates.NoticeInvalid, templates.InvalidData{Reason: reason})
	}
	if said != "" {
		w.answer = &said
		return nil
	}
	return &Failure{Node: w.node, Kind: KindEmptyReply, Message: "the model gave no answer twice"}
}

// answerKeys are what a small model calls an answer when it writes an object.
var answerKeys = []string{roleAnswer, "result", "response", "reply", "text", "message"}

// reasonOf is what a review that stands for an answer says in words.
func reasonOf(text string) string {
	var review Review
	if json.NewDecoder(strings.NewReader(unfence(text))).Decode(&review) != nil {
		return ""
	}
	return strings.TrimSpace(review.Reason)
}

// unwrapped takes an answer out of an object with nothing else in it, {"answer":"…"}, as a small model writes among so many objects.
// A task that speaks of JSON gets what the model wrote.
func unwrapped(text, goal string) string {
	if strings.Contains(strings.ToLower(goal), "json") || strings.Contains(goal, "{") {
		return text
	}
	var object map[string]json.RawMessage
	var answer string
	if json.Unmarshal([]byte(unfence(text)), &object) != nil || len(object) != 1 {
		return text
	}
	for _, key := range answerKeys {
		if json.Unmarshal(object[key], &answer) == nil {
			return strings.TrimSpace(answer)
		}
	}
	return text
}

// roleAnswer is what the role that writes the answer is called in the prompt.
const roleAnswer = "answer"

// isAction reports whether a text begins with a plan, a call or a review in the form of the transcript. A small model can go on in that
// form, because all that it wrote before has it.
func isAction(text string) bool {
	var action struct {
		Steps    []plannedStep `json:"steps"`
		Tool     string        `json:"tool"`
		Decision Decision      `json:"decision"`
	}
	dec := json.NewDecoder(strings.NewReader(unfence(text)))
	return dec.Decode(&action) == nil && (len(action.Steps) > 0 || action.Tool != "" || action.Decision != "")
}
