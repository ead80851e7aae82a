package agent

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/llama-agent/llama-agent/templates"
)

// writeAnswer asks for the answer. One that is empty, or no answer, is asked for once more; one that is cut twice is kept as a partial
// answer. What was refused is said before it by the program, because a small model may leave it out.
func (w *work) writeAnswer(ctx context.Context) error {
	data := templates.FinalizerData{Task: w.task.Goal, Language: answerLanguage(w.task.Goal)}
	for _, c := range w.calls() {
		data.Evidence = data.Evidence || !c.Skipped
	}
	// Asked for whole sentences, a small model leaves the language that it is told for that of the results.
	data.Sentences = data.Evidence && data.Language == taskLanguage && !wantsForm(w.task.Goal)
	switch {
	case w.failure == nil:
	case w.failure.Kind == KindUnconfirmed:
		data.Doubt = oneLine(w.failure.Message)
		w.failure = nil
	default:
		data.Problem = oneLine(w.failure.Message)
	}
	for _, s := range w.plan {
		switch {
		case s.State == StepRefused:
			data.Refused = append(data.Refused, oneLine(s.Do))
		case s.State == StepDone && s.Tool != NoTool:
			if do := oneLine(s.Do); !slices.Contains(data.Left, do) {
				data.Left = append(data.Left, do)
			}
		}
	}
	if len(data.Refused) == 0 {
		data.Left = nil // the task says it better
		if change := w.unrefused(); change != "" {
			data.Refused = []string{change}
		}
	}
	data.Sums = w.sums()
	if data.Near = w.digest(); len(data.Near) > 0 {
		data.Fence = fence(compactJSON(data.Near))
	}
	question := templates.Render(templates.Finalizer, data)
	preface := refusal(languageOf(w.task.Goal), data.Refused)
	r := request{label: "answer", instruction: question, stream: true, preface: preface}
	text, err := w.ask(ctx, r)
	if cut, ok := errors.AsType[*CutError](err); ok {
		text = cut.Partial
	}
	reason := "it was empty"
	if text = unwrapped(strings.TrimSpace(text), w.task.Goal); isAction(text) {
		text, reason = "", "it was a plan, a call or a review; the steps are over"
	}
	if text == "" && err == nil {
		text, err = w.answerInAForm(ctx, question, reason, preface)
	}
	if text != "" {
		text = preface + text
		w.answer = &text
	}
	return err
}

// forms are words of tasks that want an answer of a certain form.
var forms = strings.Fields("only just exactly json csv yaml xml markdown table list bullet bullets word words number digits code draft write translate")

// wantsForm reports whether a task says what its answer looks like. Other answers that rest on results are asked for in whole sentences: a
// small model that writes a bare value takes the nearest or the first one, and finds the right one while it repeats what was asked.
func wantsForm(goal string) bool { return hasWordOf(goal, forms) }

// answerInAForm asks for the answer as an object. A model that goes on in the form of the transcript writes it where a text has failed.
func (w *work) answerInAForm(ctx context.Context, question, reason, preface string) (string, error) {
	form, err := answerForm()
	if err != nil {
		return "", err
	}
	notice := templates.Render(templates.NoticeInvalid, templates.InvalidData{Reason: reason + `. Reply: {"answer":"..."}`})
	reply, err := w.ask(ctx, request{label: "answer in a form", instruction: question + "\n\n" + notice, form: form})
	if cut, ok := errors.AsType[*CutError](err); ok {
		reply, err = cut.Partial, nil
	}
	if err != nil {
		return "", err
	}
	text := unwrapped(strings.TrimSpace(reply), "") // a model without grammars may write the text alone
	if text == "" || isAction(text) {
		return "", &Failure{Node: w.node, Kind: KindEmptyReply, Message: "the model gave no answer twice"}
	}
	w.startAnswer(ctx, preface)
	w.emit(ctx, AnswerDelta{Text: text})
	return text, nil
}

// answerKeys are what a small model calls an answer when it writes an object.
var answerKeys = []string{roleAnswer, "result", "response", "reply", "text", "message"}

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
		planReply
		Tool     string   `json:"tool"`
		Decision Decision `json:"decision"`
	}
	dec := json.NewDecoder(strings.NewReader(unfence(text)))
	return dec.Decode(&action) == nil && (action.About != "" || len(action.Steps) > 0 || action.Tool != "" || action.Decision != "")
}
