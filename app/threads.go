package app

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/llama-agent/llama-agent/agent"
	"github.com/llama-agent/llama-agent/config"
	"github.com/llama-agent/llama-agent/graph/checkpoint"
)

// Threads lists the tasks, the last changed first. A limit of 0 lists all.
func (a *App) Threads(ctx context.Context, limit int) ([]ThreadInfo, error) {
	return a.lists.Threads(ctx, limit)
}

// Thread describes one task.
func (a *App) Thread(ctx context.Context, id string) (ThreadInfo, error) {
	threads, err := a.lists.Threads(ctx, 0)
	if err != nil {
		return ThreadInfo{}, err
	}
	if i := slices.IndexFunc(threads, func(t ThreadInfo) bool { return t.ID == id }); i >= 0 {
		return threads[i], nil
	}
	return ThreadInfo{}, unknownThread(id, threads)
}

var errNoTask = fmt.Errorf("%w: no task was run in this workspace", ErrNothingToResume)

// Last returns the last changed task. The error is [ErrNothingToResume] when there is none.
func (a *App) Last(ctx context.Context) (ThreadInfo, error) {
	threads, err := a.lists.Threads(ctx, 1)
	if err == nil && len(threads) == 0 {
		err = errNoTask
	}
	if err != nil {
		return ThreadInfo{}, err
	}
	return threads[0], nil
}

// LastResumable returns the last changed task that was interrupted, or with failed also one that failed. The error is
// [ErrNothingToResume], with the reason, when there is none.
func (a *App) LastResumable(ctx context.Context, failed bool) (ThreadInfo, error) {
	threads, err := a.lists.Threads(ctx, 0)
	if err != nil {
		return ThreadInfo{}, err
	}
	for _, t := range threads {
		if t.Status == agent.StatusInterrupted || t.Running || failed && t.Status == agent.StatusFailed {
			return t, nil
		}
	}
	if len(threads) == 0 {
		return ThreadInfo{}, errNoTask
	}
	last := threads[0]
	if last.Status == agent.StatusFailed {
		return ThreadInfo{}, fmt.Errorf("%w: the last task %s failed; try again with: llama-agent resume %s --retry", ErrNothingToResume, last.ID, last.ID)
	}
	return ThreadInfo{}, fmt.Errorf("%w: the last task %s is %s; see its answer with: llama-agent resume %s", ErrNothingToResume, last.ID, last.Status, last.ID)
}

// Pruned is what [App.Prune] removed.
type Pruned struct {
	Threads     int   `json:"threads"` // that had something to remove
	Checkpoints int   `json:"checkpoints"`
	Bytes       int64 `json:"bytes"`
	Busy        int   `json:"busy"` // threads left alone because they are in use
}

// Prune removes all but the newest checkpoints of each task; keep is at least 1. Tasks in use are left alone, and so are damaged
// ones, which the error names.
func (a *App) Prune(ctx context.Context, keep int) (Pruned, error) {
	var p Pruned
	pruner, ok := a.saver.(checkpoint.Pruner)
	if !ok {
		return p, errors.New("the store of tasks cannot remove checkpoints")
	}
	threads, err := a.lists.Threads(ctx, 0)
	if err != nil {
		return p, err
	}
	var damaged []error
	for _, t := range threads {
		freed, err := pruner.Prune(ctx, t.ID, keep)
		switch {
		case errors.Is(err, checkpoint.ErrThreadBusy):
			p.Busy++
		case errors.Is(err, checkpoint.ErrDamaged):
			damaged = append(damaged, fmt.Errorf("pruning thread %s: %w", t.ID, err))
		case err != nil:
			return p, fmt.Errorf("pruning thread %s: %w", t.ID, err)
		case freed.Checkpoints > 0:
			p.Threads++
			p.Checkpoints += freed.Checkpoints
			p.Bytes += freed.Bytes
		}
	}
	return p, errors.Join(damaged...)
}

// Deleted is a task that [App.Delete] removed.
type Deleted struct {
	Thread      string `json:"thread_id"`
	Checkpoints int    `json:"checkpoints"`
	Bytes       int64  `json:"bytes"`
}

// Delete removes tasks with everything that is stored of them. When one of them doesn't exist, none is removed. A task that is in use
// stays, and ends the deleting; what was removed until then is returned with the error.
func (a *App) Delete(ctx context.Context, threads ...string) ([]Deleted, error) {
	done := []Deleted{}
	pruner, ok := a.saver.(checkpoint.Pruner)
	if !ok {
		return done, errors.New("the store of tasks cannot remove them")
	}
	for _, id := range threads {
		if _, err := a.Thread(ctx, id); err != nil {
			return done, err
		}
	}
	for i, id := range threads {
		if slices.Contains(threads[:i], id) {
			continue
		}
		freed, err := pruner.DeleteThread(ctx, id)
		if err != nil {
			return done, fmt.Errorf("deleting thread %s: %w", id, err)
		}
		done = append(done, Deleted{id, freed.Checkpoints, freed.Bytes})
		if err := errors.Join(a.dropArtifacts(ctx, id), a.dropRecords(ctx, id), a.dropTurn(ctx, id)); err != nil {
			return done, fmt.Errorf("removing what thread %s stored: %w", id, err)
		}
	}
	return done, nil
}

// Copy makes a task named to of all that is stored of another, which stays as it is: the copy can be continued and taken back to earlier
// steps by itself. Calls that the other has finished are not repeated by it.
func (a *App) Copy(ctx context.Context, from, to string) error {
	if err := agent.CheckThreadID(to); err != nil {
		return err
	}
	if _, err := a.Thread(ctx, from); err != nil {
		return err
	}
	copier, ok := a.saver.(checkpoint.Copier)
	if !ok {
		return errors.New("the store of tasks cannot copy them")
	}
	err := copier.CopyThread(ctx, from, to)
	if err == nil {
		err = errors.Join(a.copyArtifacts(ctx, from, to), a.copyRecords(ctx, from, to))
	}
	if errors.Is(err, checkpoint.ErrThreadExists) {
		return fmt.Errorf("thread %s exists already; choose another ID for the copy", to)
	}
	return err
}

// unknownThread explains that a task does not exist, with the nearest that does.
func (a *App) unknownThread(ctx context.Context, id string) error {
	threads, err := a.lists.Threads(ctx, 0)
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
	return fmt.Errorf("there is no thread %q; %s", id, instead(id, ids, "list-threads", "no task was run in this workspace"))
}

// instead says what to do about an ID that is none of those that are known, the last used first: take the nearest one, or see them all
// with a command. It is none when there are none.
func instead(id string, known []string, command, none string) string {
	if near := config.Nearest(id, known); near != "" {
		return "did you mean " + near + "?"
	}
	if len(known) > 0 {
		return "see llama-agent " + command + "; the last one is " + known[0]
	}
	return none
}
