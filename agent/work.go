package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tmc/langchaingo/llms"

	"github.com/llama-agent/llama-agent/engine"
	"github.com/llama-agent/llama-agent/graph"
	"github.com/llama-agent/llama-agent/tools"
)

// flow is what all nodes of all tasks share. It does not change.
type flow struct {
	model    llms.Model
	meter    *meter // of the model
	registry *tools.Registry
	limits   Limits
	nodes    map[string]NodeOptions
	clock    func() time.Time

	trustPlan bool
	archive   Archive    // nil: results stay in the prompt
	lifecycle *Lifecycle // nil: prompts and checkpoints hold whole results
}

// work is one run of one node: what it read, and what it will have changed when it returns. It belongs to the goroutine that
// runs the node.
type work struct {
	*flow
	node     string
	thread   string
	before   graph.State
	task     assignment
	offered  *tools.Registry // the tools of this task
	trunk    trunk
	plan     []Step
	counters counters
	failure  *Failure

	known    int // entries of the trunk that are in the state already
	answer   *string
	notes    []string
	usage    Usage
	effects  int // effects begun, which number their keys
	attempts int // answers begun
	started  time.Time
}

func (f *flow) begin(ctx context.Context, node string, s graph.State) (*work, error) {
	task := taskChannel.Get(s)
	// A tool that is gone since the task was started was allowed to be: Resume asks about that.
	offered, err := f.registry.Only(slices.DeleteFunc(slices.Clone(task.Tools), func(name string) bool {
		_, known := f.registry.Lookup(name)
		return !known
	})...)
	if err != nil {
		return nil, fmt.Errorf("offering the tools of the task: %w", err)
	}
	w := &work{
		flow: f, node: node, before: s, task: task, offered: offered,
		trunk:    newTrunk(offered, task.Facts, task.Background, task.Goal),
		plan:     slices.Clone(planChannel.Get(s)),
		counters: countersChannel.Get(s),
		failure:  failureChannel.Get(s),
		started:  f.clock(),
	}
	info, _ := graph.Running(ctx)
	w.thread = info.Thread
	whole, errs := f.restoreAll(ctx, Owner(ctx), transcriptChannel.Get(s))
	for _, err := range errs {
		w.emit(ctx, ContextEvent{Name: EventContextStoreError, Data: map[string]any{"error": err.Error()}})
	}
	w.trunk.entries = whole
	w.trunk.fitting = fittingChannel.Get(s)
	w.known = len(w.trunk.entries)
	return w, nil
}

// update is what the node run changes in the state.
func (w *work) update(status Status) graph.Update {
	w.counters.ElapsedMS += w.clock().Sub(w.started).Milliseconds()
	u := graph.Update{statusChannel.Set(status), countersChannel.Set(w.counters)}
	if !slices.Equal(w.plan, planChannel.Get(w.before)) {
		u = append(u, planChannel.Set(w.plan))
	}
	if w.failure != failureChannel.Get(w.before) {
		u = append(u, failureChannel.Set(w.failure))
	}
	if added := w.trunk.entries[w.known:]; len(added) > 0 {
		u = append(u, transcriptChannel.Add(w.strip(added)...))
	}
	if len(w.notes) > 0 {
		u = append(u, notesChannel.Add(w.notes...))
	}
	if w.usage != (Usage{}) {
		u = append(u, usageChannel.Merge(w.usage))
	}
	if f := w.trunk.fitting; !f.equal(fittingChannel.Get(w.before)) {
		u = append(u, fittingChannel.Set(f))
	}
	if w.answer != nil {
		u = append(u, answerChannel.Set(*w.answer))
	}
	return u
}

// strip returns entries as the state holds them.
func (w *work) strip(entries []Entry) []Entry {
	out := slices.Clone(entries)
	for i, e := range out {
		if e.Call != nil {
			call := w.lifecycle.stripped(*e.Call)
			out[i].Call = &call
		}
	}
	return out
}

// add appends an entry to the transcript.
func (w *work) add(e Entry) {
	w.trunk.entries = append(w.trunk.entries[:len(w.trunk.entries):len(w.trunk.entries)], e)
}

func (w *work) calls() []Call { return callsOf(w.trunk.entries) }

func (w *work) emit(ctx context.Context, e Event) { graph.Emit(ctx, e) }

// note records something the user should know.
func (w *work) note(ctx context.Context, text string) {
	w.notes = append(w.notes, text)
	w.emit(ctx, Noted{Text: text})
}

// fail records why the task will not have a complete answer. The first reason counts.
func (w *work) fail(kind, message string) {
	if w.failure == nil {
		w.failure = &Failure{Node: w.node, Kind: kind, Message: message}
	}
}

// effect numbers the effects of a node run. A run that is repeated comes by the same effects in the same order, because all
// that it decides on is in the state or the result of an earlier effect.
func (w *work) effect(label string) string {
	w.effects++
	return fmt.Sprintf("%02d %s", w.effects, label)
}

func (w *work) replyCap() int {
	if n := w.nodes[w.node].MaxTokens; n > 0 {
		return n
	}
	return w.limits.MaxTokens
}

// errTimeUp is the cause of the end of a context at the task's time limit.
var errTimeUp = errors.New("agent: the task's time is up")

// withTimeLeft bounds ctx by what is left of the task's time. It returns false when nothing is.
func (w *work) withTimeLeft(ctx context.Context) (context.Context, context.CancelFunc, bool) {
	if w.limits.TaskTimeout <= 0 {
		return ctx, func() {}, true
	}
	left := w.limits.TaskTimeout - w.counters.elapsed()
	if left <= 0 {
		return ctx, func() {}, false
	}
	ctx, cancel := context.WithTimeoutCause(ctx, left, errTimeUp)
	return ctx, cancel, true
}

func (w *work) failTimeUp() {
	w.fail(KindLimit, fmt.Sprintf("the time limit of the task (%v) was reached", w.limits.TaskTimeout))
}

// node makes a graph node of one role. What can go wrong by rule (a limit, replies that cannot be used) becomes state, so
// that the task goes on to an answer from what is known. Every other error ends the run at the last boundary, from where it
// can be resumed.
func (f *flow) nodeFunc(name string, status Status, run func(*work, context.Context) error) graph.NodeFunc {
	return func(ctx context.Context, s graph.State) (graph.Update, error) {
		if owner := taskChannel.Get(s).Owner; owner != "" {
			ctx = withOwner(ctx, owner)
		}
		w, err := f.begin(ctx, name, s)
		if err != nil {
			return nil, &Failure{Node: name, Kind: KindInternal, Message: err.Error()}
		}
		w.emit(ctx, NodeStarted{Node: name, Status: status})
		limited, cancel, ok := ctx, context.CancelFunc(func() {}), true
		if name != finalizerNode { // what is known is worth an answer, which has a cap of its own
			limited, cancel, ok = w.withTimeLeft(ctx)
		}
		defer cancel()
		if !ok {
			w.failTimeUp()
			return w.update(status), nil
		}
		err = run(w, limited)
		switch failure := failureOf(name, err); {
		case err == nil:
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.Is(context.Cause(limited), errTimeUp):
			w.failTimeUp()
		case byRule(failure.Kind):
			w.fail(failure.Kind, failure.Message)
		default:
			return nil, failure
		}
		if name != finalizerNode { // no prompt follows the answer
			w.compact(ctx)
		} else {
			status = StatusDone
			if w.failure != nil {
				status = StatusFailed
			}
		}
		return w.update(status), nil
	}
}

// byRule reports whether a failure leads to an answer from what is known, rather than to the end of the run.
func byRule(kind string) bool {
	switch kind {
	case KindLimit, KindCut, KindInvalidReply, KindEmptyReply, KindNoProgress, KindUnconfirmed, KindIncomplete:
		return true
	}
	return false
}

// failureOf classifies an error of a node.
func failureOf(node string, err error) *Failure {
	if err == nil {
		return nil
	}
	if f, ok := errors.AsType[*Failure](err); ok {
		return f
	}
	kind := KindInternal
	if _, ok := errors.AsType[*CutError](err); ok {
		kind = KindCut
	} else if _, ok := errors.AsType[*ReplyError](err); ok {
		kind = KindInvalidReply
	} else if _, ok := errors.AsType[*ContextError](err); ok {
		kind = KindContext
	} else if _, ok := errors.AsType[*engine.ContextError](err); ok {
		kind = KindContext
	} else if errors.Is(err, graph.ErrOutcomeUnknown) {
		kind = KindOutcomeUnknown
	} else if _, ok := errors.AsType[*modelError](err); ok {
		kind = KindModel
	}
	return &Failure{Node: node, Kind: kind, Message: err.Error()}
}
