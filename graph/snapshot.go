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
}

// State returns the newest state of a thread. The writes of tasks that have finished while others of their superstep have not
// are merged in, and Next names only the others. An unknown thread is [ErrUnknownThread].
func (g *Graph) State(ctx context.Context, thread string) (Snapshot, error) {
	return g.snapshot(ctx, checkpoint.Ref{Thread: thread}, true)
}

// StateAt returns the state of a thread at a checkpoint, as it was when its superstep began.
func (g *Graph) StateAt(ctx context.Context, thread, id string) (Snapshot, error) {
	return g.snapshot(ctx, checkpoint.Ref{Thread: thread, ID: id}, false)
}

// History yields the checkpoints of a thread, newest first, each as [Graph.StateAt] returns it. A damaged checkpoint is
// yielded as its [checkpoint.Info] with an error, and the history goes on behind it.
func (g *Graph) History(ctx context.Context, thread string) iter.Seq2[Snapshot, error] {
	return func(yield func(Snapshot, error) bool) {
		if g.opts.Saver == nil {
			yield(Snapshot{}, ErrNoSaver)
			return
		}
		known := false
		for info, err := range g.opts.Saver.List(ctx, checkpoint.Query{Thread: thread}) {
			known = true
			if err != nil {
				if !yield(Snapshot{Checkpoint: info}, err) || info.ID == "" {
					return
				}
				continue
			}
			snap, err := g.snapshot(ctx, checkpoint.Ref{Thread: thread, ID: info.ID}, false)
			if err != nil {
				snap = Snapshot{Checkpoint: info, Next: info.Next}
			}
			if !yield(snap, err) {
				return
			}
		}
		if !known {
			yield(Snapshot{}, fmt.Errorf("listing the history of thread %q: %w", thread, ErrUnknownThread))
		}
	}
}

func (g *Graph) snapshot(ctx context.Context, ref checkpoint.Ref, merged bool) (Snapshot, error) {
	if g.opts.Saver == nil {
		return Snapshot{}, ErrNoSaver
	}
	saved, err := g.opts.Saver.Load(ctx, ref)
	if err != nil {
		if errors.Is(err, checkpoint.ErrNotFound) && ref.ID == "" {
			return Snapshot{}, fmt.Errorf("reading thread %q: %w", ref.Thread, ErrUnknownThread)
		}
		return Snapshot{}, err
	}
	p, err := g.decodePosition(saved, true)
	if err != nil {
		return Snapshot{}, fmt.Errorf("reading checkpoint %q of thread %q: %w", saved.ID, saved.Thread, err)
	}
	snap := Snapshot{State: p.state(g), Next: slices.Clone(saved.Next), Checkpoint: saved.Info, Tasks: g.taskInfos(&p)}
	if !merged {
		return snap, nil
	}
	var writes []nodeWrites
	snap.Next = nil
	for _, i := range mergeOrder(p.tasks) {
		if t := p.tasks[i]; t.cached {
			writes = append(writes, nodeWrites{t.node, t.update.writes()})
		}
	}
	for _, t := range snap.Tasks {
		if !t.Done {
			snap.Next = append(snap.Next, t.Node)
		}
	}
	if len(writes) > 0 {
		cells, _, err := g.schema.merge(p.cells, writes, p.step())
		if err != nil {
			return snap, err
		}
		snap.State.cells = cells
	}
	return snap, nil
}

// taskInfos describes the tasks of p in the order of [checkpoint.Info] Next.
func (g *Graph) taskInfos(p *position) []TaskInfo {
	var infos []TaskInfo
	for _, t := range p.tasks {
		info := TaskInfo{ID: t.id, Node: t.node, Done: t.cached, Error: t.stored.Error}
		if t.cached {
			info.Update = t.update
		} else {
			info.Questions = openQuestions(t.node, t.stored.Interrupts, len(t.stored.Answers))
		}
		infos = append(infos, info)
	}
	pulls := infos[sends(p.agenda.due):]
	slices.SortStableFunc(pulls, func(a, b TaskInfo) int {
		return slices.Index(g.nodeOrder, a.Node) - slices.Index(g.nodeOrder, b.Node)
	})
	return infos
}

// UpdateState edits a thread's state as if node asNode had run now and returned u: channels merge u, and what follows asNode is
// due, instead of what was due before. An empty asNode means the node that ran last, which must be one; on a new thread it
// means Start. With [FromCheckpoint] the edit begins a fork. Of the other options [Labels], [AllowOtherShape] and [Lease]
// apply. It returns the new checkpoint.
func (g *Graph) UpdateState(ctx context.Context, thread, asNode string, u Update, opts ...RunOption) (info checkpoint.Info, err error) {
	cfg, err := g.runConfig(append(slices.Clone(opts), Thread(thread)))
	if err != nil {
		return info, err
	}
	switch {
	case g.opts.Saver == nil:
		return info, ErrNoSaver
	case thread == "":
		return info, ErrNoThread
	}
	cfg.durability = Sync
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := &run{g: g, cfg: cfg, cancel: cancel, pos: g.emptyPosition()}
	if r.store, err = g.openStore(ctx, cfg, cancel); err != nil {
		return info, err
	}
	defer func() { err = errors.Join(err, r.store.close(context.WithoutCancel(ctx))) }()

	saved, err := r.store.load(ctx, cfg.from)
	switch {
	case errors.Is(err, checkpoint.ErrNotFound) && cfg.from == "":
		r.pos.info.Step = -1
	case err != nil:
		return info, err
	default:
		if r.pos, err = g.position(saved, cfg.otherShape); err != nil {
			return info, err
		}
	}
	if err := r.edit(ctx, asNode, slices.Clone(u)); err != nil {
		return info, fmt.Errorf("editing thread %q: %w", thread, err)
	}
	return r.pos.info, nil
}

// edit merges u into the position as the update of node.
func (r *run) edit(ctx context.Context, node string, u Update) error {
	if node == "" {
		var err error
		if node, err = r.lastNode(); err != nil {
			return err
		}
	}
	if node != Start && r.g.nodes[node] == nil {
		return r.g.unknownNode(node, "")
	}
	step := r.pos.step()
	if err := r.g.schema.check(u, node, step); err != nil {
		return err
	}
	own := State{schema: r.g.schema, cells: r.pos.cells, own: u.writes()}
	targets, err := r.g.targets(node, step, u, own)
	if err != nil {
		return &NodeError{Graph: r.g.name, Node: node, Step: step, Err: err}
	}
	cells, changes, err := r.g.schema.merge(r.pos.cells, []nodeWrites{{node, u.writes()}}, step)
	if err != nil {
		return err
	}
	next := position{
		info:    checkpoint.Info{Step: step, Source: checkpoint.SourceUpdate, Nodes: []string{node}},
		lineage: r.g.opts.NewID(),
		cells:   cells,
		agenda:  r.g.topo.plan([]finishedTask{{node, targets}}, agenda{joins: r.pos.agenda.joins}),
	}
	r.g.schedule(&next)
	return r.commit(ctx, next, changes, nil)
}

// lastNode returns the node that ran last.
func (r *run) lastNode() (string, error) {
	switch nodes := r.pos.info.Nodes; {
	case r.pos.info.ID == "":
		return Start, nil
	case len(nodes) == 1:
		return nodes[0], nil
	case len(nodes) == 0:
		return "", errors.New("no node has run yet; name the node that the edit stands for")
	default:
		return "", fmt.Errorf("%s ran last, at once; name the node that the edit stands for", quoteAll(nodes))
	}
}
