package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/llama-agent/llama-agent/agent"
	"github.com/llama-agent/llama-agent/config"
	"github.com/llama-agent/llama-agent/graph"
	"github.com/llama-agent/llama-agent/graph/checkpoint"
	"github.com/llama-agent/llama-agent/tools"
)

// ErrNothingToResume says that no task waits to be continued.
var ErrNothingToResume = errors.New("nothing to resume")

// Task is a task for [App.Run].
type Task struct {
	Goal    string
	Thread  string      // ID; empty: a new one
	Tools   []string    // the only tools for this task; nil: all that are enabled
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
	facts, err := a.facts(ctx, t.Goal, t.Attach)
	if err != nil {
		return nil, err
	}
	if err := a.LoadModel(ctx); err != nil {
		return nil, err
	}
	report, err := a.runner.Run(ctx, agent.Task{Goal: t.Goal, Thread: t.Thread, Tools: t.Tools, Facts: facts, Observe: t.Observe})
	return a.complete(report), err
}

// ResumeOptions say how to go on; see [agent.ResumeOptions].
type ResumeOptions = agent.ResumeOptions

// Resume goes on with a task that was stopped. A task that has ended is returned as it ended, without loading the model.
func (a *App) Resume(ctx context.Context, thread string, o ResumeOptions) (*Report, error) {
	info, err := a.Thread(ctx, thread)
	if err != nil {
		return nil, err
	}
	if info.Running {
		if err := a.probeLease(ctx, thread); err != nil {
			return nil, err
		}
	}
	ended := info.Status == agent.StatusDone || info.Status == agent.StatusFailed && !o.Retry && !o.RetryUnknown
	if !ended || o.From != "" {
		if err := a.LoadModel(ctx); err != nil {
			return nil, err
		}
	}
	report, err := a.runner.Resume(ctx, thread, o)
	if _, differs := errors.AsType[*agent.SettingsError](err); differs {
		err = fmt.Errorf("%w with --allow-changes", err)
	}
	return a.complete(report), err
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
		r.PeakRSSBytes = peakRSS()
	}
	return r
}

// Threads lists the tasks, the last changed first. A limit of 0 lists all.
func (a *App) Threads(ctx context.Context, limit int) ([]ThreadInfo, error) {
	return a.runner.Threads(ctx, limit)
}

// Thread describes one task.
func (a *App) Thread(ctx context.Context, id string) (ThreadInfo, error) {
	threads, err := a.runner.Threads(ctx, 0)
	if err != nil {
		return ThreadInfo{}, err
	}
	if i := slices.IndexFunc(threads, func(t ThreadInfo) bool { return t.ID == id }); i >= 0 {
		return threads[i], nil
	}
	return ThreadInfo{}, unknownThread(id, threads)
}

// LastResumable returns the last changed task that was interrupted, or with failed also one that failed. The error is
// [ErrNothingToResume], with the reason, when there is none.
func (a *App) LastResumable(ctx context.Context, failed bool) (ThreadInfo, error) {
	threads, err := a.runner.Threads(ctx, 0)
	if err != nil {
		return ThreadInfo{}, err
	}
	for _, t := range threads {
		if t.Status == agent.StatusInterrupted || t.Running || failed && t.Status == agent.StatusFailed {
			return t, nil
		}
	}
	if len(threads) == 0 {
		return ThreadInfo{}, fmt.Errorf("%w: no task was run in this workspace", ErrNothingToResume)
	}
	last := threads[0]
	if last.Status == agent.StatusFailed {
		return ThreadInfo{}, fmt.Errorf("%w: the last task %s failed; try again with: llama-agent resume %s --retry", ErrNothingToResume, last.ID, last.ID)
	}
	return ThreadInfo{}, fmt.Errorf("%w: the last task %s is %s; see its answer with: llama-agent resume %s", ErrNothingToResume, last.ID, last.Status, last.ID)
}

// History returns the stored steps of a task, the newest first.
func (a *App) History(ctx context.Context, thread string) ([]Boundary, error) {
	var list []Boundary
	for b, err := range a.runner.History(ctx, thread) {
		if errors.Is(err, graph.ErrUnknownThread) {
			return nil, a.unknownThread(ctx, thread)
		}
		if err != nil {
			return list, err
		}
		list = append(list, b)
	}
	return list, nil
}

// Pruned is what [App.Prune] removed.
type Pruned struct {
	Threads     int   `json:"threads"` // that had something to remove
	Checkpoints int   `json:"checkpoints"`
	Bytes       int64 `json:"bytes"`
	Busy        int   `json:"busy"` // threads left alone because they are in use
}

// Prune removes all but the newest checkpoints of each task; keep is at least 1. Tasks in use are left alone.
func (a *App) Prune(ctx context.Context, keep int) (Pruned, error) {
	var p Pruned
	pruner, ok := a.saver.(checkpoint.Pruner)
	if !ok {
		return p, errors.New("the store of tasks cannot remove checkpoints")
	}
	threads, err := a.runner.Threads(ctx, 0)
	if err != nil {
		return p, err
	}
	for _, t := range threads {
		freed, err := pruner.Prune(ctx, t.ID, keep)
		switch {
		case errors.Is(err, checkpoint.ErrThreadBusy):
			p.Busy++
		case err != nil:
			return p, fmt.Errorf("pruning thread %s: %w", t.ID, err)
		case freed.Checkpoints > 0:
			p.Threads++
			p.Checkpoints += freed.Checkpoints
			p.Bytes += freed.Bytes
		}
	}
	return p, nil
}

// unknownThread explains that a task does not exist, with the nearest that does.
func (a *App) unknownThread(ctx context.Context, id string) error {
	threads, err := a.runner.Threads(ctx, 0)
	if err != nil {
		return err
	}
	return unknownThread(id, threads)
}

func unknownThread(id string, threads []ThreadInfo) error {
	ids := make([]string, len(threads))
	for i, t := range threads {
		ids[i] = t.ID
	}
	fix := "no task was run in this workspace"
	if near := config.Nearest(id, ids); near != "" {
		fix = "did you mean " + near + "?"
	} else if len(ids) > 0 {
		fix = "see llama-agent list-threads; the last one is " + ids[0]
	}
	return fmt.Errorf("there is no thread %q; %s", id, fix)
}
