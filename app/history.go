package app

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/llama-agent/llama-agent/config"
	"github.com/llama-agent/llama-agent/graph"
	"github.com/llama-agent/llama-agent/graph/checkpoint"
)

// History returns the stored steps of a task, the newest first. Steps that cannot be read are in it, with the problem.
func (a *App) History(ctx context.Context, thread string) ([]Boundary, error) {
	var list []Boundary
	for b, err := range a.lists.History(ctx, thread) {
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

// Checkpoint returns one stored step of a task: the one with this ID, or the only one whose ID begins or ends with it.
func (a *App) Checkpoint(ctx context.Context, thread, id string) (Boundary, error) {
	if _, err := a.Thread(ctx, thread); err != nil {
		return Boundary{}, err
	}
	found, err := a.findCheckpoint(ctx, thread, id)
	if err != nil {
		return Boundary{}, err
	}
	for b, err := range a.lists.History(ctx, thread) {
		if err != nil {
			return b, err
		}
		if b.ID == found.ID {
			return b, nil
		}
	}
	return Boundary{}, unknownCheckpoint(thread, id, nil)
}

// forkPoint returns the ID of the checkpoint of a task that it is to be taken up at.
func (a *App) forkPoint(ctx context.Context, thread, id string) (string, error) {
	info, err := a.findCheckpoint(ctx, thread, id)
	if err == nil && len(info.Next) == 0 {
		err = fmt.Errorf("%w: checkpoint %s is an end of thread %s; go back to an earlier one, see them with: llama-agent history %s",
			ErrNothingToResume, info.ID, thread, thread)
	}
	return info.ID, err
}

// leastOfID is how much of a checkpoint's ID stands for it.
const leastOfID = 4

func (a *App) findCheckpoint(ctx context.Context, thread, id string) (checkpoint.Info, error) {
	var infos, fit []checkpoint.Info
	for info, err := range a.saver.List(ctx, checkpoint.Query{Thread: thread}) {
		if info.ID == "" { // not even the names of damaged ones can be read
			return info, fmt.Errorf("listing the checkpoints of thread %s: %w", thread, err)
		}
		if info.ID == id {
			return info, nil
		}
		infos = append(infos, info)
		if len(id) >= leastOfID && (strings.HasPrefix(info.ID, id) || strings.HasSuffix(info.ID, id)) {
			fit = append(fit, info)
		}
	}
	switch len(fit) {
	case 0:
		return checkpoint.Info{}, unknownCheckpoint(thread, id, infos)
	case 1:
		return fit[0], nil
	}
	return checkpoint.Info{}, fmt.Errorf("%q stands for %d checkpoints of thread %s; give more of the ID, as shown by: llama-agent history %s",
		id, len(fit), thread, thread)
}

// unknownCheckpoint explains that a task has no such checkpoint, with the nearest that it has.
func unknownCheckpoint(thread, id string, infos []checkpoint.Info) error {
	var ids []string
	for _, info := range infos {
		ids = append(ids, info.ID)
		const shown = 8
		if n := len(info.ID) - shown; n > 0 { // the end of one may be what was mistyped
			ids = append(ids, info.ID[n:])
		}
	}
	fix := "see them with: llama-agent history " + thread
	if near := config.Nearest(id, ids); near != "" {
		fix = "did you mean " + near + "? All are listed by: llama-agent history " + thread
	}
	return fmt.Errorf("thread %s has no checkpoint %q; %s", thread, id, fix)
}
