package graph

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/llama-agent/llama-agent/graph/checkpoint"
)

// fork goes on from a copy of the position, at a boundary of its own.
func (r *run) fork(ctx context.Context) error {
	r.scope.rewind.before = r.pos.info.Seq
	if err := r.store(ctx, r.forked(), nil, nil); err != nil {
		return err
	}
	r.scope.rewind.since = r.pos.info.Seq
	return nil
}

// forked is a copy of the position with a lineage of its own: its tasks run again, with effects and questions of their own. The
// input of a run is kept.
func (r *run) forked() position {
	next := r.pos
	next.info = checkpoint.Info{Step: r.pos.step(), Source: checkpoint.SourceFork, Nodes: r.pos.info.Nodes}
	next.ran, next.lineage = r.pos.lastRan(), r.newLineage()
	r.g.schedule(&next)
	return next
}

// newLineage names what a fork or an edit begins. In a subgraph that remains the run of the task above, which must find it again.
func (r *run) newLineage() string {
	if len(r.scope.path) > 0 {
		return r.pos.lineage
	}
	return r.g.opts.NewID()
}

// pendingCommand merges the writes of a command that an earlier run continued the thread with, and that no boundary holds yet.
func (r *run) pendingCommand(saved *checkpoint.Saved) error {
	given, err := r.storedCommand(saved)
	if err != nil {
		return err
	}
	given.targets = nil
	return r.apply(given, saved)
}

// storedCommand returns the command that earlier runs continued the thread with from a checkpoint, as a task; a fork has none.
func (r *run) storedCommand(saved *checkpoint.Saved) (*task, error) {
	given := &task{id: checkpoint.CommandTask, done: true}
	stored, ok := saved.Result(checkpoint.CommandTask)
	if !ok || r.scope.cfg.from != "" {
		return given, nil
	}
	err := given.adopt(r.g.schema, r.g.nodes, stored, r.scope.cfg.otherShape)
	given.cached = false // it may be added to
	return given, err
}

// command applies the commands that earlier runs and this one continue the thread with.
func (r *run) command(saved *checkpoint.Saved) error {
	given, err := r.storedCommand(saved)
	if err == nil {
		err = r.g.checkTargets(given.targets, "")
	}
	if err != nil {
		return err
	}
	if r.scope.cfg.command != nil {
		u := slices.Clone(r.scope.cfg.command)
		if err := r.g.schema.check(u, "", r.pos.step()); err != nil {
			return err
		}
		targets, err := r.g.targets("", r.pos.step(), u, State{}, false)
		if err != nil {
			return err
		}
		given.update = append(given.update.writes(), u...)
		given.targets = append(given.targets, targets...)
		given.update = append(given.update.writes(), gotos(given.targets)...)
		if r.scope.cfg.from == "" { // a fork holds it itself
			result, err := given.result()
			if err != nil {
				return err
			}
			r.recorder.results(r.pos.info.Seq, result)
		}
	}
	return r.apply(given, saved)
}

func gotos(next []Next) Update {
	if len(next) == 0 {
		return nil
	}
	return Update{Goto(next...)}
}

// apply merges the writes of a command into the position and adds the tasks that it asks for.
func (r *run) apply(given *task, saved *checkpoint.Saved) error {
	if ws := given.update.writes(); len(ws) > 0 {
		cells, changes, err := r.g.schema.overlay(r.pos.cells, ws, r.pos.step())
		if err != nil {
			return err
		}
		r.pos.cells = cells
		r.recorder.note(changes)
	}
	if len(given.targets) == 0 {
		return nil
	}
	p := &r.pos
	added := r.g.topo.plan([]finishedTask{{targets: given.targets, onlyTargets: true}}, agenda{})
	old := map[string]*task{}
	for _, t := range p.tasks {
		old[t.id] = t
	}
	p.agenda = r.g.topo.join(p.agenda, added)
	r.g.schedule(p)
	for i, t := range p.tasks {
		if before := old[t.id]; before != nil {
			p.tasks[i] = before
			continue
		}
		result, ok := saved.Result(t.id)
		if !ok || r.scope.cfg.from != "" {
			continue
		}
		if err := t.adopt(r.g.schema, r.g.nodes, result, r.scope.cfg.otherShape); err != nil {
			return err
		}
		if err := r.g.checkTargets(t.targets, t.node); err != nil {
			return err
		}
	}
	return nil
}

// overlay merges writes between two supersteps: unlike merge it doesn't end the values of one-step channels.
func (sc *schema) overlay(cells []cell, ws []Write, step int) ([]cell, []channelChange, error) {
	next, all, err := sc.merge(cells, []nodeWrites{{writes: ws}}, step)
	if err != nil {
		return nil, nil, err
	}
	var changes []channelChange
	for _, c := range all {
		if c.gone {
			next[c.index] = cells[c.index]
		} else {
			changes = append(changes, c)
		}
	}
	return next, changes, nil
}

// join returns an agenda with what is due in a and in added, where deferred nodes wait if something else is due.
func (t *topology) join(a, added agenda) agenda {
	var now []dueTask
	held := slices.Concat(a.waiting, added.waiting)
	for _, d := range added.due {
		if !d.send && t.deferred[d.node] && len(a.due) > 0 {
			held = append(held, d.node)
		} else {
			now = append(now, d)
		}
	}
	a = a.with(now)
	a.waiting = slices.DeleteFunc(sortedSet(held), func(n string) bool {
		return slices.ContainsFunc(a.due, func(d dueTask) bool { return !d.send && d.node == n })
	})
	return a
}

// with returns a with more tasks due, in task order. A node that is due already is so once.
func (a agenda) with(more []dueTask) agenda {
	var sent, pulled []dueTask
	for _, d := range slices.Concat(a.due, more) {
		i := slices.IndexFunc(pulled, func(o dueTask) bool { return o.node == d.node })
		switch {
		case d.send:
			sent = append(sent, d)
		case i >= 0:
			pulled[i].joined = pulled[i].joined || d.joined
		default:
			pulled = append(pulled, d)
		}
	}
	slices.SortFunc(pulled, func(x, y dueTask) int { return cmp.Compare(x.node, y.node) })
	a.due = append(sent, pulled...)
	return a
}

// answer passes the answers of the run's options to the tasks that asked, here and in subgraphs, and stores them.
func (r *run) answer(ctx context.Context) error {
	var open []Question
	asker := map[string]*task{}
	for _, t := range r.pos.tasks {
		for _, q := range t.openQuestions(nil) {
			open = append(open, q)
			asker[q.ID] = t
		}
	}
	ids := make([]string, len(open))
	for i, q := range open {
		ids[i] = q.ID
	}
	given := map[string][]byte{}
	for _, a := range r.scope.cfg.answers {
		id := a.id
		if id == "" && len(ids) == 1 {
			id = ids[0]
		}
		if _, twice := given[id]; twice || asker[id] == nil {
			return fmt.Errorf("continuing thread %q: %w", r.scope.cfg.thread, &AnswerError{ID: a.id, Open: ids})
		}
		data, err := JSON.Encode(a.value)
		if err != nil {
			return fmt.Errorf("encoding the answer to question %q: %w", id, err)
		}
		given[id] = data
	}
	for _, q := range open {
		data, ok := given[q.ID]
		if !ok {
			continue
		}
		if err := r.answerBelow(ctx, q, data); err != nil {
			return fmt.Errorf("passing the answer to question %q on: %w", q.ID, err)
		}
		t := asker[q.ID]
		if err := take(&t.stored, q.ID, data); err != nil {
			return fmt.Errorf("continuing thread %q: %w", r.scope.cfg.thread, err)
		}
		r.recorder.results(r.pos.info.Seq, t.stored)
	}
	return r.recorder.flush()
}

// answerBelow stores an answer in the namespaces of the subgraphs that lead to the one that asked, innermost first.
func (r *run) answerBelow(ctx context.Context, q Question, data []byte) error {
	for n := len(q.Namespace); n > 0; n-- {
		ref := checkpoint.Ref{Thread: r.scope.cfg.thread, Namespace: joinNamespace(q.Namespace[:n])}
		saved, err := r.scope.saver.Load(ctx, ref)
		if errors.Is(err, checkpoint.ErrNotFound) {
			continue // it stores nothing, or its number is part of the path
		} else if err != nil {
			return err
		}
		for _, result := range saved.Results {
			if !slices.Contains(openIDs(result), q.ID) {
				continue
			}
			if err := take(&result, q.ID, data); err != nil {
				return err
			}
			set := checkpoint.ResultSet{Thread: ref.Thread, Namespace: ref.Namespace, Seq: saved.Seq, Lease: r.scope.lease, Results: []checkpoint.Result{result}}
			if err := r.scope.saver.SaveResults(ctx, set); err != nil {
				return err
			}
		}
	}
	return nil
}

// take stores an answer in a result that has its question. A node gets its answers in the order of asking, so that those to later
// questions can't be given before.
func take(r *checkpoint.Result, id string, answer []byte) error {
	if open := openIDs(*r); !r.Take(id, answer) && len(open) > 0 {
		return &AnswerError{ID: id, Open: open[:1]}
	}
	return nil
}

// openIDs returns the IDs of the open questions of a task; see [openQuestions].
func openIDs(r checkpoint.Result) []string {
	var ids []string
	for _, q := range openQuestions(&r, "", nil) {
		ids = append(ids, q.ID)
	}
	return ids
}
