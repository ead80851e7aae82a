package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/llama-agent/llama-agent/graph"
	"github.com/llama-agent/llama-agent/lifecycle"
	"github.com/llama-agent/llama-agent/templates"
	"github.com/llama-agent/llama-agent/tools"
)

// runStep does the next step of the plan. The step of a tool asks the model only for the tool's arguments, and the first
// success of that tool ends it without another model call: whether the result is what the task needs is the review's to judge,
// once for all steps. A step without a tool needs no model call at all, because the answer is where the model thinks.
func (w *work) runStep(ctx context.Context) error {
	i, ok := nextStep(w.plan)
	if !ok {
		return nil
	}
	step := w.plan[i]
	w.emit(ctx, StepStarted{Step: step})
	state, err := w.stepState(ctx, step)
	if state != "" {
		w.plan[i].State = state
		w.emit(ctx, StepFinished{Step: w.plan[i]})
	}
	if err != nil {
		return err
	}
	if _, more := nextStep(w.plan); !more || state == StepFailed {
		w.checkProgress()
	}
	return nil
}

// stepState runs a step to its end. With an error and no state the step stays pending, for when the task is taken up again.
func (w *work) stepState(ctx context.Context, step Step) (StepState, error) {
	if step.Tool == NoTool {
		return StepDone, nil
	}
	if w.cannotChange(step) {
		return StepRefused, nil
	}
	state, err := w.toolLoop(ctx, step)
	if failure := failureOf(w.node, err); failure != nil && (failure.Kind == KindCut || failure.Kind == KindInvalidReply) {
		w.note(ctx, fmt.Sprintf("Step %d failed: %s.", step.Number, failure.Message))
		return StepFailed, nil
	}
	return state, err
}

// toolLoop makes calls until the step is done or has to be given up.
func (w *work) toolLoop(ctx context.Context, step Step) (StepState, error) {
	tool, again, plannedFailed := step.Tool, false, false
	for round := 1; round <= w.limits.MaxToolRounds; round++ {
		if w.counters.calls() >= w.limits.MaxToolCalls {
			return "", &Failure{Node: w.node, Kind: KindLimit, Message: fmt.Sprintf(
				"the limit of %d tool calls was reached", w.limits.MaxToolCalls)}
		}
		call, err := w.makeCall(ctx, step, tool, again)
		if err != nil {
			return "", err
		}
		switch {
		case call.Error == nil && (tool == step.Tool || !plannedFailed):
			return StepDone, nil
		case call.Error != nil && (call.Error.Final || w.deniedTo(call, step.File)):
			return StepRefused, nil
		case call.Error != nil && call.Error.Kind == callCut:
			w.note(ctx, fmt.Sprintf("Step %d failed: %s.", step.Number, call.Error.Message))
			return StepFailed, nil
		case call.Skipped && !again && w.stateOfRepeat(call) == StepDone:
			return StepDone, nil // an earlier step has done it
		case repeats(w.calls(), step.Number) >= maxRepeats:
			w.note(ctx, fmt.Sprintf("Step %d was ended: it kept making the same call.", step.Number))
			return w.stateOfRepeat(call), nil
		case call.Error != nil && !call.Skipped && !wrongTool(call):
			plannedFailed = true // another tool may now prepare a better call, and does not do the step by itself
		}
		if round == w.limits.MaxToolRounds {
			break
		}
		if fixable(call) && !again {
			again = true // the error says what is wrong with the arguments
			continue
		}
		if instead := w.instead(call); instead != "" {
			tool, again = instead, false
			continue
		}
		again = true
		if tool, err = w.chooseTool(ctx, step, call); err != nil {
			return "", err
		}
		if tool == NoTool {
			if call.Error == nil {
				return StepDone, nil
			}
			return w.stateOfRepeat(call), nil
		}
	}
	if state := w.endState(step.Number); state != StepFailed {
		return state, nil
	}
	w.note(ctx, fmt.Sprintf("Step %d failed: %d calls did not do it.", step.Number, w.limits.MaxToolRounds))
	return StepFailed, nil
}

// deniedTo reports whether a call was denied what the task itself names, outside of what may be read: there is no other way to it.
func (w *work) deniedTo(c Call, file string) bool {
	return !c.Skipped && c.Error.Kind == string(tools.KindDenied) && slices.Contains(w.task.Facts.Mentioned, file)
}

// endState is the state of a step that no call did: refused when what was tried last is not allowed.
func (w *work) endState(step int) StepState {
	calls := w.calls()
	for i := len(calls) - 1; i >= 0; i-- {
		if c := &calls[i]; c.Step == step && !c.Skipped {
			if c.Error != nil && c.Error.Kind == string(tools.KindDenied) {
				return StepRefused
			}
			break
		}
	}
	return StepFailed
}

// instead is the tool that an error of a call names for the same thing. No model has to choose it.
func (w *work) instead(c Call) string {
	if c.Error == nil || c.Skipped {
		return ""
	}
	if _, offered := w.offered.Lookup(c.Error.Instead); !offered {
		return ""
	}
	return c.Error.Instead
}

// fixable reports whether a call failed by its arguments, so that the same tool is asked with others.
func fixable(c Call) bool {
	return c.Error != nil && !c.Skipped && c.Error.Kind == string(tools.KindInvalidArguments)
}

// wrongTool reports whether a call failed because the step named the wrong tool, so that another tool's success does the step.
func wrongTool(c Call) bool {
	return c.Error.Kind == string(tools.KindUnknownTool) || c.Error.Kind == string(tools.KindWrongKind) || c.Error.Instead != ""
}

// stateOfRepeat is the state of a step that ends with call. When that was refused because an equal call had worked, the
// step has what it asked for.
func (w *work) stateOfRepeat(call Call) StepState {
	if !call.Skipped {
		return w.endState(call.Step)
	}
	for _, c := range w.calls() {
		if !c.Skipped && c.key() == call.key() && c.Error == nil {
			return StepDone
		}
	}
	return w.endState(call.Step)
}

// chooseTool asks which tool makes the next call of the step.
func (w *work) chooseTool(ctx context.Context, step Step, last Call) (string, error) {
	form, err := choiceForm(worthOffering(w.offered.Specs(), w.outside()), w.limits)
	if err != nil {
		return "", err
	}
	choice, err := askFor[struct {
		Tool string `json:"tool"`
	}](ctx, w, request{
		label: "choose", form: form,
		instruction: templates.Render(templates.Choose, templates.ChooseData{
			Task: w.task.Goal, Do: step.Do, Number: step.Number, Again: last.Error != nil,
		}),
	})
	return choice.Tool, err
}

// makeCall asks for the arguments of a tool, and runs it unless that is pointless. The call is in the transcript when it
// returns. again tells the model that the last call did not do the step.
func (w *work) makeCall(ctx context.Context, step Step, tool string, again bool) (Call, error) {
	call := Call{Step: step.Number, Iteration: w.counters.Iterations, Tool: tool, Arguments: json.RawMessage("null")}
	arguments, problem, err := w.arguments(ctx, step, tool, again)
	if err != nil {
		return call, err
	}
	if problem != nil {
		if len(arguments) > 0 {
			call.Arguments = arguments
		}
		call.Text, call.Error, call.Rejected = problem.Message, problem, true
		w.counters.Calls++
		w.record(ctx, call, false)
		return call, nil
	}
	call.Arguments = arguments
	if earlier, ok := repeated(w.calls(), tool, arguments, w.counters.Iterations); ok {
		call.Skipped = true
		call.Text = templates.Render(templates.NoticeRepeat, templates.RepeatData{Step: earlier.Step})
		call.Error = &CallError{Kind: callRepeated, Message: call.Text}
		w.record(ctx, call, false)
		return call, nil
	}
	w.counters.Calls++
	replayed, err := w.runTool(ctx, &call)
	if err != nil {
		return call, err
	}
	w.record(ctx, call, replayed)
	return call, nil
}

// arguments asks for the arguments of a tool and returns them in canonical form, or the problem that the model should read,
// with what it wrote as a JSON string.
func (w *work) arguments(ctx context.Context, step Step, tool string, again bool) (json.RawMessage, *CallError, error) {
	written := ""
	var q question
	if t, known := w.offered.Lookup(tool); known {
		q = askAbout(t.Spec(), step.File, again)
	}
	if q.schema != nil && !q.settled() {
		form, err := q.form()
		if err != nil {
			return nil, nil, err
		}
		written, err = w.ask(ctx, request{
			label: "arguments of " + tool, form: form, varied: again && w.lastFailed(),
			instruction: templates.Render(templates.Arguments, templates.ArgumentsData{
				Task: w.task.Goal, Do: step.Do, File: step.File, Number: step.Number, Again: again,
				Tool: tool, Parameters: q.parameters(),
			}),
		})
		if cut, ok := errors.AsType[*CutError](err); ok {
			return nil, &CallError{Kind: callCut, Message: fmt.Sprintf(
				"nothing was run: the call was cut at %d tokens, and again at %d; make a shorter one", cut.First, cut.Second)}, nil
		}
		if err != nil {
			return nil, nil, err
		}
	}
	canonical, err := w.offered.Validate(tool, q.arguments(written))
	if err == nil {
		return canonical, nil, nil
	}
	if written == "" {
		return nil, callErrorOf(err), nil
	}
	return rawString(clip(written, w.limits.MaxTextRunes*4)), callErrorOf(err), nil
}

// lastFailed reports whether the last call was of no use: what a cold model writes next would often be the same.
func (w *work) lastFailed() bool {
	calls := w.calls()
	return len(calls) > 0 && calls[len(calls)-1].Error != nil
}

// outcome is what is stored of a tool run.
type outcome struct {
	Outcome
	Problem string `json:"problem,omitempty"` // why a large result was not stored
}

// runTool runs a call as a durable effect and fills in its outcome. It reports whether the outcome is from an earlier run.
func (w *work) runTool(ctx context.Context, call *Call) (replayed bool, err error) {
	var options []graph.OnceOption
	if t, ok := w.offered.Lookup(call.Tool); ok {
		call.ReadOnly = t.Spec().ReadOnly
	}
	if call.ReadOnly {
		options = append(options, graph.Idempotent())
	}
	replayed = true
	key := w.effect("call " + call.Tool + " " + digest(call.Arguments))
	var fresh outcome
	done, err := graph.Once(ctx, key, func(ctx context.Context) (outcome, error) {
		replayed = false
		w.emit(ctx, CallStarted{Step: call.Step, Tool: call.Tool, Arguments: call.Arguments})
		begun := w.clock()
		result, err := w.offered.Call(ctx, call.Tool, call.Arguments)
		if err != nil && ctx.Err() != nil {
			return outcome{}, ctx.Err()
		}
		took := w.clock().Sub(begun).Milliseconds()
		if _, guide := result.Data.(tools.SkillGuide); guide {
			fresh = newOutcome(result, err, took)
			fresh.Guide = true // instructions are of use only as a whole
		} else {
			result, artifact, problem := w.virtualize(ctx, call, result)
			fresh = newOutcome(result, err, took)
			if v, ok := result.Data.(tools.VirtualResult); ok {
				fresh.Near = v.Near
			}
			fresh.Artifact = artifact
			fresh.Problem = strings.TrimSpace(problem + " " + w.keep(ctx, call, &fresh, key))
		}
		o := fresh
		if w.lifecycle.holds(o.Record) {
			o.Text, o.Result = "", nil
		}
		return o, nil
	}, options...)
	if err == nil && !replayed {
		done = fresh
	}
	switch {
	case err == nil:
		call.Outcome = done.Outcome
		if err := w.restore(ctx, Owner(ctx), call); err != nil {
			w.emit(ctx, ContextEvent{Name: EventContextStoreError, Data: map[string]any{"error": err.Error()}})
		}
		if done.Problem != "" {
			w.note(ctx, done.Problem)
		}
		return replayed, nil
	case errors.Is(context.Cause(ctx), errTimeUp):
		// The transcript goes on to the answer, so that the call needs an outcome there.
		call.Text = "the task's time was up while this call ran, and what it did is not known"
		call.Error = &CallError{Kind: callInterrupted, Message: call.Text}
		w.record(ctx, *call, false)
		return false, err
	case errors.Is(err, graph.ErrOutcomeUnknown):
		return false, &Failure{Node: w.node, Kind: KindOutcomeUnknown, Message: fmt.Sprintf(
			"the call %s %s was begun before the task stopped, and whether it took effect is not known; "+
				"check that, then resume with --retry-unknown to run it again", call.Tool, clip(string(call.Arguments), 200))}
	}
	return false, err
}

// virtualize stores a result that is too large for the prompt, and returns it as the model should see it, with the reference or
// why there is none.
func (w *work) virtualize(ctx context.Context, call *Call, result tools.Result) (_ tools.Result, artifact, problem string) {
	if w.archive == nil {
		return result, "", ""
	}
	shown, stored, err := w.archive.Apply(ctx, Owner(ctx), call.Tool, call.Arguments, w.about(call), result)
	switch {
	case err != nil:
		return result, "", fmt.Sprintf("A large result of %s stays in the prompt: %v.", call.Tool, err)
	case stored != nil:
		return shown, stored.Ref, ""
	}
	return shown, "", ""
}

type ownerKey struct{}

func withOwner(ctx context.Context, owner string) context.Context {
	return context.WithValue(ctx, ownerKey{}, owner)
}

// InConversation reports whether the task that ctx belongs to is a turn of a conversation.
func InConversation(ctx context.Context) bool { return ctx.Value(ownerKey{}) != nil }

// Owner names whom what a tool call stores belongs to: the conversation of the task that ctx belongs to, else its thread, else
// nobody.
func Owner(ctx context.Context) string {
	if owner, ok := ctx.Value(ownerKey{}).(string); ok {
		return owner
	}
	info, _ := graph.Running(ctx)
	return info.Thread
}

// outside is what the task's prompts only mention. The first plan needs no tool to recall what is quoted already.
func (w *work) outside() outside {
	b, first := w.task.Background, w.counters.Iterations <= 1
	beyond := b.LeftOut > 0 && (len(b.Recalled) == 0 || !first)
	out := outside{
		stored: w.stored(), records: beyond || len(w.trunk.fitting.Summaries) > 0, asked: lifecycle.Asks(w.task.Goal), named: w.namesTool(),
		said: len(b.History) > 0 || len(b.Recalled) > 0 || len(w.task.Facts.Remembered) > 0,
	}
	destroys := wantsDestroyed(w.task.Goal)
	out.tied = out.named || len(w.task.Facts.Found) > 0 || w.task.Facts.NamedIn(w.task.Goal) || destroys
	out.ordered = destroys && changeAsked(w.task.Goal) != ""
	out.restated = w.task.Facts.Restated && first && out.states()
	out.quoted = first && len(b.Recalled) > 0
	out.unread = w.task.Facts.namesUnread(w.task.Goal, b.History)
	for _, t := range b.History {
		out.records = out.records || slices.ContainsFunc(callsOf(t.Entries), func(c Call) bool { return c.Record != "" })
	}
	return out
}

// namesTool reports whether the task says by which tool it is to be done.
func (w *work) namesTool() bool {
	return slices.ContainsFunc(w.offered.Specs(), func(s tools.Spec) bool {
		return strings.Contains(s.Name, "_") && strings.Contains(w.task.Goal, s.Name) // names of one word are words of tasks too
	})
}

// stored are the references of stored results that the model has seen, oldest first.
func (w *work) stored() []string {
	refs := artifactsIn(w.task.Background.History)
	for _, c := range w.calls() {
		if c.Artifact != "" && !slices.Contains(refs, c.Artifact) {
			refs = append(refs, c.Artifact)
		}
	}
	return refs
}

// digest tells calls with other arguments apart in the key of an effect.
func digest(arguments json.RawMessage) string {
	sum := sha256.Sum256(arguments)
	return hex.EncodeToString(sum[:8])
}

// newOutcome keeps what a tool gave back, both the text for the model and the object for programs.
func newOutcome(result tools.Result, err error, ms int64) outcome {
	o := outcome{Outcome: Outcome{Text: result.Text, DurationMS: ms}}
	if result.Data != nil {
		data, encodeErr := json.Marshal(result.Data)
		if encodeErr != nil && err == nil {
			err = fmt.Errorf("encoding the result: %w", encodeErr)
		}
		o.Result = data
	}
	if err == nil {
		return o
	}
	o.Error = callErrorOf(err)
	if o.Text == "" {
		o.Text = o.Error.Message
	} else {
		o.Text = o.Error.Message + "\n" + o.Text
	}
	return o
}

func callErrorOf(err error) *CallError {
	if e, ok := errors.AsType[*tools.Error](err); ok {
		return &CallError{Kind: string(e.Kind), Message: err.Error(), Instead: e.Instead, Final: e.Final}
	}
	return &CallError{Kind: string(tools.KindFailed), Message: err.Error()}
}

// record puts a call and its outcome into the transcript.
func (w *work) record(ctx context.Context, call Call, replayed bool) {
	if w.lifecycle != nil && call.Tokens == 0 {
		call.Tokens = w.count(ctx, resultText(&call, call.Text))
	}
	w.add(Entry{Call: &call})
	w.emit(ctx, CallFinished{Call: call, Replayed: replayed})
}

// checkProgress ends a task whose plan is done without having brought anything that the last review did not know: a review
// of the same evidence can only say the same.
func (w *work) checkProgress() {
	if _, reviewed := w.lastReview(); reviewed && !broughtSomething(w.calls(), w.counters.Iterations) {
		w.noProgress("another plan brought nothing new")
	}
}
