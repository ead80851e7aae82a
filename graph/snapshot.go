package graph

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/llama-agent/llama-agent/graph/checkpoint"
)

// Snapshot is a checkpoint with its state.
type Snapshot struct {
	State      State
	Next       []string // nodes that are due
	Checkpoint checkpoint.Info
	Tasks      []TaskInfo // what is due, and what came of it
}

// Questions returns the open questions of s in task order.
func (s Snapshot) Questions() []Question {
	var open []Question
	for _, t := range s.Tasks {
		open = append(open, t.Questions...)
	}
	return open
}

// TaskInfo describes a task of a checkpoint.
type TaskInfo struct {
	ID        string
	Node      string
	Done      bool
	Update    Update     // when Done
	Error     string     // of the last attempt that failed
	Questions []Question // open ones
	Asked     []Question // all that were asked here, also when they have their answers; of subgraphs the last

	Namespace []string  // of a subgraph node: where the task's subgraph stores its checkpoints
	State     *Snapshot // what is there; with [WithSubgraphs], once the subgraph has begun
}

// StateOption configures [Graph.State].
type StateOption func(*stateConfig)

type stateConfig struct{ subgraphs bool }

// WithSubgraphs fills in the snapshots of the subgraphs of the listed tasks, at all levels.
func WithSubgraphs() StateOption { return func(c *stateConfig) { c.subgraphs = true } }

// State returns the newest state of a thread. The writes of tasks that have finished while others of their superstep have not
// are merged in, and Next names only the others. When they can't be merged the error says why, and comes with the state without
// them; new input or a fork drops them. An unknown thread is [ErrUnknownThread].
func (g *Graph) State(ctx context.Context, thread string, opts ...StateOption) (Snapshot, error) {
	return g.stateOf(ctx, checkpoint.Ref{Thread: thread}, true, opts)
}

func (g *Graph) stateOf(ctx context.Context, ref checkpoint.Ref, merged bool, opts []StateOption) (Snapshot, error) {
	var cfg stateConfig
	for _, opt := range opts {
		opt(&cfg)
	}
	switch {
	case g.opts.Saver == nil:
		return Snapshot{}, ErrNoSaver
	case ref.Thread == "":
		return Snapshot{}, ErrNoThread
	}
	snap, err := g.snapshot(ctx, g.opts.Saver, ref, merged)
	if err == nil && cfg.subgraphs {
		err = g.fillSubgraphs(ctx, g.opts.Saver, ref.Thread, &snap)
	}
	return snap, err
}

// fillSubgraphs reads the snapshots of the subgraphs below snap.
func (g *Graph) fillSubgraphs(ctx context.Context, saver checkpoint.Saver, thread string, snap *Snapshot) error {
	for i := range snap.Tasks {
		t := &snap.Tasks[i]
		if t.Namespace == nil {
			continue
		}
		child := g.nodes[t.Node].child
		below, err := child.snapshot(ctx, saver, checkpoint.Ref{Thread: thread, Namespace: joinNamespace(t.Namespace)}, true)
		if errors.Is(err, ErrUnknownThread) {
			continue
		}
		if err == nil {
			err = child.fillSubgraphs(ctx, saver, thread, &below)
		}
		if err != nil {
			return fmt.Errorf("reading the subgraph of node %q: %w", t.Node, err)
		}
		t.State = &below
	}
	return nil
}

// StateAt returns the state of a thread at a checkpoint, as it was when its superstep began. Snapshots of subgraphs are their
// newest.
func (g *Graph) StateAt(ctx context.Context, thread, id string, opts ...StateOption) (Snapshot, error) {
	return g.stateOf(ctx, checkpoint.Ref{Thread: thread, ID: id}, false, opts)
}

// History yields the checkpoints of a thread, newest first, each as [Graph.StateAt] returns it. A damaged checkpoint is
// yielded as its [checkpoint.Info] with an error, and the history goes on behind it.
func (g *Graph) History(ctx context.Context, thread string) iter.Seq2[Snapshot, error] {
	return func(yield func(Snapshot, error) bool) {
		switch {
		case g.opts.Saver == nil:
			yield(Snapshot{}, ErrNoSaver)
			return
		case thread == "":
			yield(Snapshot{}, ErrNoThread)
			return
		}
		known := false
		decoded := decodedParts{}
		for saved, err := range history(ctx, g.opts.Saver, checkpoint.Query{Thread: thread}) {
			known = true
			snap := Snapshot{Checkpoint: saved.Info, Next: saved.Next}
			if err == nil {
				var shown Snapshot
				if shown, err = g.show(saved, false, decoded); err == nil {
					snap = shown
				}
			}
			if !yield(snap, err) || saved.ID == "" {
				return
			}
		}
		if !known {
			yield(Snapshot{}, fmt.Errorf("listing the history of thread %q: %w", thread, ErrUnknownThread))
		}
	}
}

// history yields the checkpoints of a thread, read at once where the saver can.
func history(ctx context.Context, saver checkpoint.Saver, q checkpoint.Query) iter.Seq2[*checkpoint.Saved, error] {
	if h, ok := saver.(checkpoint.Historian); ok {
		return h.History(ctx, q)
	}
	return func(yield func(*checkpoint.Saved, error) bool) {
		for info, err := range saver.List(ctx, q) {
			saved := &checkpoint.Saved{}
			if err == nil {
				saved, err = saver.Load(ctx, checkpoint.Ref{Thread: info.Thread, Namespace: info.Namespace, ID: info.ID})
			}
			if err != nil {
				saved = &checkpoint.Saved{Checkpoint: checkpoint.Checkpoint{Info: info}}
			}
			if !yield(saved, err) {
				return
			}
		}
	}
}

func (g *Graph) snapshot(ctx context.Context, saver checkpoint.Saver, ref checkpoint.Ref, merged bool) (Snapshot, error) {
	saved, err := saver.Load(ctx, ref)
	if err != nil {
		if errors.Is(err, checkpoint.ErrNotFound) && ref.ID == "" {
			return Snapshot{}, fmt.Errorf("reading thread %q: %w", ref.Thread, ErrUnknownThread)
		}
		return Snapshot{}, err
	}
	return g.show(saved, merged, nil)
}

// show returns what a checkpoint holds; decoded is as for restore.
func (g *Graph) show(saved *checkpoint.Saved, merged bool, decoded decodedParts) (Snapshot, error) {
	p, err := g.decodePosition(saved, true, decoded)
	if err == nil {
		err = g.showCommand(saved, &p)
	}
	if err != nil {
		return Snapshot{}, fmt.Errorf("reading checkpoint %q of thread %q: %w", saved.ID, saved.Thread, err)
	}
	snap := Snapshot{State: p.state(g), Next: slices.Clone(saved.Next), Checkpoint: saved.Info, Tasks: g.taskInfos(&p)}
	if !merged {
		return snap, nil
	}
	snap.Next = nil
	for _, t := range snap.Tasks {
		if !t.Done || t.Node == Start {
			snap.Next = append(snap.Next, t.Node)
		}
	}
	if writes := p.finished(); len(writes) > 0 {
		cells, _, err := g.schema.merge(p.cells, writes, p.step())
		if err != nil {
			return snap, err
		}
		snap.State.cells = cells
	}
	return snap, nil
}

// finished returns the writes of the tasks that have a result while others don't, in merge order.
func (p *position) finished() []nodeWrites {
	var writes []nodeWrites
	for _, i := range mergeOrder(p.tasks) {
		if t := p.tasks[i]; t.cached && t.node != Start {
			writes = append(writes, nodeWrites{t.node, t.update.writes()})
		}
	}
	return writes
}

// showCommand merges the writes of a command that the thread was continued with from the checkpoint.
func (g *Graph) showCommand(saved *checkpoint.Saved, p *position) error {
	stored, ok := saved.Result(checkpoint.CommandTask)
	if !ok {
		return nil
	}
	var given task
	err := given.adopt(g.schema, g.nodes, stored, true)
	if err == nil {
		p.cells, _, err = g.schema.overlay(p.cells, given.update.writes(), p.step())
	}
	return err
}

// taskInfos describes the tasks of p in the order of [checkpoint.Info] Next.
func (g *Graph) taskInfos(p *position) []TaskInfo {
	path := splitNamespace(p.info.Namespace)
	var infos []TaskInfo
	for _, t := range p.tasks {
		info := TaskInfo{ID: t.id, Node: t.node, Done: t.cached, Error: t.stored.Error, Questions: t.openQuestions(path)}
		info.Asked = append(ownQuestions(t.node, path, t.stored.Interrupts), nestedQuestions(t.stored.Nested, true)...)
		if t.cached {
			info.Update = t.update
		}
		if t.def != nil && t.def.child != nil && t.def.child.opts.AsSubgraph != None {
			info.Namespace = t.def.child.pathBelow(path, t.node, t.id)
		}
		infos = append(infos, info)
	}
	pulls := infos[sends(p.agenda.due):]
	slices.SortStableFunc(pulls, func(a, b TaskInfo) int {
		return slices.Index(g.nodeOrder, a.Node) - slices.Index(g.nodeOrder, b.Node)
	})
	return infos
}
