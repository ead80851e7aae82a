package graph

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/llama-agent/llama-agent/graph/checkpoint"
)

// What an edit can stand for besides a node, [Start] and [End]; see [Graph.UpdateState].
const (
	AsInput = "__input__" // a new input: Start is due, and merges it when the thread is continued
	AsCopy  = "__copy__"  // nothing: the checkpoint is copied, with what is due
)

// UpdateState edits a thread's state as if node asNode had run now and returned u: channels merge u, and what follows asNode is
// due, instead of what was due before, but for deferred nodes and those whose join is complete. Results of tasks that had
// finished while others of their superstep had not are dropped.
//
// An empty asNode means the node that ran last, which must be one; when none has, it means [Start]. With End and no update the
// tasks that are due are dropped, but what had finished is merged and followed; with [AsInput] u is stored as the input of a run
// that hasn't begun; with [AsCopy] and no update the checkpoint is copied, so that its tasks run anew. With [FromCheckpoint] the edit begins a fork. Of the other options [Labels],
// [AllowOtherShape], [Lease] and [InSubgraph] apply. It returns the new checkpoint.
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
	case cfg.namespace != nil && cfg.from != "":
		return info, errors.New("editing a subgraph: only its newest checkpoint can be edited")
	}
	target, forward, err := g.below(cfg.namespace)
	if err != nil {
		return info, fmt.Errorf("editing thread %q: %w", thread, err)
	}
	cfg.durability, cfg.forward = Sync, forward
	clear(cfg.modes) // there is nobody to tell
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := &run{g: target, scope: &scope{cfg: cfg, path: cfg.namespace, saver: g.opts.Saver}, cancel: cancel, pos: target.emptyPosition()}
	if r.recorder, err = target.openRecorder(ctx, r.scope, cancel); err != nil {
		return info, err
	}
	defer func() {
		err = errors.Join(err, r.recorder.close(context.WithoutCancel(ctx)), r.recorder.release(context.WithoutCancel(ctx)))
	}()

	saved, err := r.recorder.load(ctx, cfg.from)
	switch {
	case errors.Is(err, checkpoint.ErrNotFound) && cfg.from == "" && cfg.namespace == nil:
		saved = nil
		r.pos.info.Step = -1
	case err != nil:
		return info, err
	default:
		if r.pos, err = target.position(saved, cfg.otherShape); err != nil {
			return info, err
		}
	}
	if err := r.edit(ctx, saved, asNode, slices.Clone(u)); err != nil {
		return info, fmt.Errorf("editing thread %q: %w", thread, err)
	}
	return r.pos.info, nil
}

// below returns the graph whose checkpoints a namespace holds, and what it hands back.
func (g *Graph) below(namespace []string) (_ *Graph, forward []forwarding, err error) {
	for _, part := range namespace {
		node, _, _ := strings.Cut(part, taskSeparator)
		def := g.nodes[node]
		if def == nil {
			return nil, nil, g.unknownNode(node, "")
		}
		if def.child == nil {
			return nil, nil, fmt.Errorf("node %q of graph %q is no subgraph node", node, g.name)
		}
		g, forward = def.child, def.forwards()
	}
	return g, forward, nil
}

// edit makes u a boundary of its own; saved is the checkpoint it follows, nil on a new thread.
func (r *run) edit(ctx context.Context, saved *checkpoint.Saved, node string, u Update) error {
	if (node == End || node == AsCopy) && len(u) > 0 {
		return fmt.Errorf("an edit as %q has no update", node)
	}
	switch node {
	case AsCopy:
		return r.copy(ctx, saved)
	case AsInput:
		return r.editInput(ctx, u)
	case "":
		var err error
		if node, err = r.lastNode(); err != nil {
			return err
		}
	}
	if node != Start && node != End && r.g.nodes[node] == nil {
		return r.g.unknownNode(node, "")
	}
	next := position{
		info:    checkpoint.Info{Step: r.pos.step(), Source: checkpoint.SourceUpdate, Nodes: []string{node}},
		ran:     r.pos.lastRan(),
		lineage: r.newLineage(),
	}
	if node == End && saved != nil {
		if err := r.pendingCommand(saved); err != nil {
			return err
		}
	}
	changes, err := r.editAs(&next, node, u)
	if err != nil {
		return err
	}
	r.g.schedule(&next)
	if err := r.standIn(node, u); err != nil {
		return err
	}
	return r.commit(ctx, next, changes)
}

// standIn notes u as the result of the due task of node that the edit stands for, if there is one, at the checkpoint before the
// edit.
func (r *run) standIn(node string, u Update) error {
	i := slices.IndexFunc(r.pos.tasks, func(t *task) bool { return t.node == node && !t.done })
	if i < 0 {
		return nil
	}
	t := r.pos.tasks[i]
	t.update, t.done = u, true
	result, err := t.result()
	if err != nil {
		return err
	}
	result.Interrupts, result.Answers, result.Nested = t.stored.Interrupts, t.stored.Answers, t.stored.Nested
	r.recorder.results(r.pos.info.Seq, result)
	return nil
}

// editAs merges u as the update of node, and plans what follows in next. As End it merges the tasks that have finished, and
// drops the others.
func (r *run) editAs(next *position, node string, u Update) (changes []channelChange, err error) {
	step := r.pos.step()
	if node == End {
		return r.drop(next)
	}
	if err := r.g.schema.check(u, node, step); err != nil {
		return nil, err
	}
	own := State{schema: r.g.schema, cells: r.pos.cells, own: u.writes(), after: true}
	targets, err := r.g.targets(node, step, u, own, true)
	if err != nil {
		return nil, &NodeError{Graph: r.g.name, Node: node, Step: step, Err: err}
	}
	writes := []nodeWrites{{node, u.writes()}}
	if r.scope.cfg.forward != nil {
		writes = r.forwarded(false, writes)
	}
	next.agenda = r.g.topo.plan([]finishedTask{{node: node, targets: targets}}, r.pos.agenda).with(r.staying(node))
	next.cells, changes, err = r.g.schema.merge(r.pos.cells, writes, step)
	return changes, err
}

// staying returns the due tasks that stay due through an edit as node: what a join, or that nothing else was due, has led to
// isn't undone by it.
func (r *run) staying(node string) []dueTask {
	return slices.DeleteFunc(slices.Clone(r.pos.agenda.due), func(d dueTask) bool {
		deferred := !d.send && d.node != node && r.g.topo.deferred[d.node]
		return !d.joined && !deferred
	})
}

// drop merges the tasks that have finished and drops those that are due.
func (r *run) drop(next *position) (changes []channelChange, err error) {
	var done []finishedTask
	for _, i := range mergeOrder(r.pos.tasks) {
		if t := r.pos.tasks[i]; t.cached {
			done = append(done, t.finish())
		}
	}
	if len(r.pos.tasks) > 0 {
		next.ran = nil
		for _, t := range r.pos.tasks {
			next.ran = append(next.ran, t.node)
		}
	}
	next.info.Nodes = nil
	next.agenda = r.g.topo.plan(done, r.pos.agenda)
	next.cells, changes, err = r.g.schema.merge(r.pos.cells, r.pos.finished(), r.pos.step())
	return changes, err
}

// copy repeats the checkpoint that was loaded beside it.
func (r *run) copy(ctx context.Context, saved *checkpoint.Saved) error {
	if saved == nil {
		return ErrUnknownThread
	}
	r.recorder.parent = checkpoint.Info{ID: saved.Parent, Seq: saved.ParentSeq}
	return r.commit(ctx, r.forked(), nil)
}

// editInput stores u as an input that is due.
func (r *run) editInput(ctx context.Context, u Update) error {
	if u == nil {
		return errors.New("an edit as an input needs an update, which may be empty")
	}
	if r.pos.info.ID == "" {
		r.pos = r.g.emptyPosition()
	}
	next, err := r.inputPosition(u)
	if err != nil {
		return err
	}
	return r.commit(ctx, next, nil)
}

// lastNode returns the node that ran last, whatever was edited since.
func (r *run) lastNode() (string, error) {
	switch nodes := sortedSet(slices.Clone(r.pos.lastRan())); len(nodes) {
	case 0:
		return Start, nil
	case 1:
		return nodes[0], nil
	default:
		return "", fmt.Errorf("%s ran last, at once; name the node that the edit stands for", quoteAll(nodes))
	}
}
