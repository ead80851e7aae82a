package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/llama-agent/llama-agent/agent"
	"github.com/llama-agent/llama-agent/graph"
	"github.com/llama-agent/llama-agent/graph/checkpoint"
	"github.com/llama-agent/llama-agent/telemetry"
	"github.com/llama-agent/llama-agent/tools"
)

// ErrNothingToResume says that no task waits to be continued.
var ErrNothingToResume = errors.New("nothing to resume")

// Task is a task for [App.Run].
type Task struct {
	Goal    string
	Thread  string      // ID; empty: a new one
	Tools   []string    // the only tools for this task; nil: all that are enabled
	Skill   string      // skill whose instructions the model follows, by its tool's name; empty: none
	Attach  []string    // files the model is told to look at, relative to the current folder or the workspace
	Observe func(Event) // called with what happens, one event at a time; may be nil
}

// Run does a task. Everything that can be wrong with it is found before the model is loaded. See [agent.Runner.Run] for
// the report and the other errors.
func (a *App) Run(ctx context.Context, t Task) (*Report, error) {
	if t.Tools != nil {
		if _, err := a.tools.Only(t.Tools...); err != nil {
			return nil, err
		}
	}
	if t.Thread != "" {
		if _, err := a.Thread(ctx, t.Thread); err == nil {
			return nil, fmt.Errorf("thread %s exists already; continue it with: llama-agent resume %s, or choose another ID", t.Thread, t.Thread)
		}
	}
	facts, err := a.facts(ctx, t.Thread, t.Goal, t.Attach)
	if err != nil {
		return nil, err
	}
	if err := a.LoadModel(ctx); err != nil {
		return nil, err
	}
	observe, end := a.recorded(t.Observe)
	defer end()
	report, err := a.runner.Run(ctx, agent.Task{Goal: t.Goal, Thread: t.Thread, Tools: t.Tools, Skill: t.Skill, Facts: facts, Observe: observe})
	return a.complete(report), err
}

// ResumeOptions say how to go on; see [agent.ResumeOptions].
type ResumeOptions = agent.ResumeOptions

// Resume goes on with a task that was stopped. A task that has ended is returned as it ended, without loading the model. From
// may be a part of the ID; see [App.Checkpoint].
func (a *App) Resume(ctx context.Context, thread string, o ResumeOptions) (*Report, error) {
	info, err := a.Thread(ctx, thread)
	if err != nil {
		return nil, err
	}
	if o.From != "" {
		if o.From, err = a.forkPoint(ctx, thread, o.From); err != nil {
			return nil, err
		}
	}
	if info.Running {
		if err := a.probeLease(ctx, thread); err != nil {
			return nil, err
		}
	}
	turn, err := a.turnOfThread(ctx, thread)
	if err != nil {
		return nil, err
	}
	if turn != nil && o.From != "" {
		if err := checkReopening(*turn); err != nil {
			return nil, err
		}
	}
	ended := info.Status == agent.StatusDone || info.Status == agent.StatusFailed && !o.Retry && !o.RetryUnknown
	if !ended || o.From != "" {
		if err := a.LoadModel(ctx); err != nil {
			return nil, err
		}
	}
	if turn != nil && (!ended || o.From != "") {
		if err := a.reopenTurn(ctx, *turn); err != nil {
			return nil, err
		}
	}
	observe, end := a.recorded(o.Observe)
	defer end()
	o.Observe = observe
	report, err := a.runner.Resume(ctx, thread, o)
	_, settings := errors.AsType[*agent.SettingsError](err)
	_, shape := errors.AsType[*graph.ShapeError](err)
	if settings || shape {
		err = fmt.Errorf("%w with --allow-changes", err)
	}
	report, err = a.complete(report), withCommand(thread, err)
	if turn != nil {
		if report != nil {
			report.ConversationID = turn.Conversation
		}
		switch {
		case ended && o.From == "" && !answered(turn.Status) && processGone(*turn):
			err = errors.Join(err, a.settleTurn(ctx, *turn)) // the process ended before it could
		case ended && o.From == "": // it was only read
		case report == nil:
			err = errors.Join(err, a.closeTurn(ctx, *turn))
		default:
			err = errors.Join(err, a.finishTurn(ctx, *turn, report))
		}
	}
	return report, err
}

// withCommand adds how to follow the advice of an error about a damaged checkpoint.
func withCommand(thread string, err error) error {
	if damaged, ok := errors.AsType[*checkpoint.DamagedError](err); ok && damaged.LastGood != "" {
		return fmt.Errorf("%w: llama-agent resume %s --from %s", err, thread, damaged.LastGood)
	}
	return err
}

// probeLease returns a [*checkpoint.BusyError] while another process has the thread. Loading a model only to find that out
// would waste the user's time; the run itself takes the lease properly.
func (a *App) probeLease(ctx context.Context, thread string) error {
	leaser, ok := a.saver.(checkpoint.Leaser)
	if !ok {
		return nil
	}
	now := time.Now()
	probe := checkpoint.Lease{
		Thread: thread, Token: "probe-" + now.Format(time.RFC3339Nano), Owner: "a probe",
		Process: checkpoint.CurrentProcess(), Acquired: now, Expires: now.Add(time.Second),
	}
	if err := leaser.Acquire(ctx, probe); err != nil {
		return err
	}
	return leaser.Release(ctx, thread, probe.Token)
}

// IsToolError reports whether err is about a tool that does not exist.
func IsToolError(err error) bool {
	_, is := errors.AsType[*tools.Error](err)
	return is
}

// EmptyReport is the report of a task that could not begin. Its lists are not nil.
func EmptyReport() *Report {
	return &Report{Plan: []agent.ReportedStep{}, Calls: []agent.ReportedCall{}, Notes: []string{}}
}

func (a *App) complete(r *Report) *Report {
	if r != nil {
		r.Usage.ModelLoadMS = a.loading.Milliseconds()
		r.PeakRSSBytes = telemetry.PeakRSS()
		r.Adapters = adapterNames(a.options.Config)
	}
	return r
}
