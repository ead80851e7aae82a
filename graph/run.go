package graph

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/llama-agent/llama-agent/graph/checkpoint"
)

// errLeft ends a run whose consumer stopped listening.
var errLeft = errors.New("graph: the consumer left the stream")

// run is one run of a graph. The goroutine that runs it owns all fields; nodes reach it through the inbox only.
type run struct {
	g     *Graph
	cfg   runConfig
	yield func(Event) bool
	left  bool // yield returned false

	pos     position
	store   *store // nil when the run isn't stored
	steps   int    // supersteps begun
	resumed bool   // no superstep has ended since the run was continued: breakpoints that stopped it are passed
	inbox   inbox
	cancel  context.CancelCauseFunc
}

// Stream runs the graph and yields events of the chosen [Modes] as they happen; without any, [Updates]. With an update as in
// it begins a run on top of the thread's state; with nil it continues the thread where it stopped, without running finished
// tasks again. An error ends the stream and comes with a zero Event.
//
// The run happens while the caller iterates, in its goroutine, so a slow consumer holds up the next superstep but not the nodes
// that run. To stop early, break: nodes that run are cancelled, and the thread stays at its last boundary. The same goes for
// the end of ctx. Each iteration of the result is a run of its own.
//
// Errors of interest: [*NodeError], [*InterruptedError], [ErrRecursionLimit], [*ConflictError], [*ReducerError],
// [*UnknownChannelError], [*ShapeError], [*checkpoint.BusyError] (which is [ErrThreadBusy]), [ErrUnknownThread],
// [ErrNothingToResume], [*checkpoint.DamagedError].
func (g *Graph) Stream(ctx context.Context, in Update, opts ...RunOption) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		cfg, err := g.runConfig(opts)
		if err == nil {
			if len(cfg.modes) == 0 {
				cfg.modes[Updates] = true
			}
			_, err = g.run(ctx, in, cfg, func(ev Event) bool { return yield(ev, nil) })
		}
		if err != nil && !errors.Is(err, errLeft) {
			yield(Event{}, err)
		}
	}
}

// Invoke runs the graph to its end and returns the final state; see [Graph.Stream]. With an error it returns the state of the
// last boundary.
func (g *Graph) Invoke(ctx context.Context, in Update, opts ...RunOption) (State, error) {
	cfg, err := g.runConfig(opts)
	if err != nil {
		return State{schema: g.schema, cells: make([]cell, len(g.schema.channels))}, err
	}
	clear(cfg.modes)
	return g.run(ctx, in, cfg, func(Event) bool { return true })
}

func (g *Graph) run(ctx context.Context, in Update, cfg runConfig, yield func(Event) bool) (s State, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := &run{g: g, cfg: cfg, yield: yield, cancel: cancel, pos: g.emptyPosition()}
	r.inbox.signal = make(chan struct{}, 1)
	if cfg.thread != "" && g.opts.Saver != nil {
		if r.store, err = g.openStore(ctx, cfg, cancel); err != nil {
			return r.pos.state(g), err
		}
		defer func() {
			if closeErr := r.store.close(context.WithoutCancel(ctx)); closeErr != nil {
				if errors.Is(err, errLeft) {
					g.opts.Logger.WarnContext(ctx, "storing a run that its consumer left", "graph", g.name, "thread", cfg.thread, "error", closeErr)
				}
				err = errors.Join(err, closeErr)
			}
		}()
	}
	if err = r.begin(ctx, in); err == nil {
		err = r.loop(ctx)
	}
	if r.left {
		err = errLeft
	}
	return r.pos.state(g), err
}

// begin brings the run to the boundary its first superstep starts from.
func (r *run) begin(ctx context.Context, in Update) error {
	if in != nil && len(r.cfg.answers) > 0 {
		return fmt.Errorf("starting a run of graph %q: an answer continues a thread, so the input must be nil", r.g.name)
	}
	if r.store == nil {
		if in == nil {
			why := ErrNoThread
			if r.g.opts.Saver == nil {
				why = ErrNoSaver
			}
			return fmt.Errorf("continuing graph %q: %w: %w", r.g.name, ErrNothingToResume, why)
		}
		return r.accept(ctx, in)
	}
	saved, err := r.store.load(ctx, r.cfg.from)
	switch {
	case errors.Is(err, checkpoint.ErrNotFound) && r.cfg.from == "":
		if in == nil {
			return fmt.Errorf("continuing thread %q: %w", r.cfg.thread, ErrUnknownThread)
		}
		return r.accept(ctx, in)
	case err != nil:
		return err
	}
	if r.pos, err = r.g.position(saved, r.cfg.otherShape); err != nil {
		return err
	}
	if in != nil {
		return r.accept(ctx, in)
	}
	if len(r.pos.tasks) == 0 {
		return fmt.Errorf("continuing thread %q: it has finished: %w", r.cfg.thread, ErrNothingToResume)
	}
	if r.cfg.from != "" {
		r.g.fork(&r.pos, r.g.opts.NewID())
	} else if _, stopped := saved.Result(checkpoint.BreakpointTask); stopped {
		r.resumed = true
	}
	if len(r.cfg.answers) > 0 {
		return r.answer()
	}
	return nil
}

// accept stores the input as a boundary, merges it as the update of Start, and stops at the boundary after that.
func (r *run) accept(ctx context.Context, in Update) error {
	in = slices.Clone(in)
	p := position{
		info:    checkpoint.Info{Step: r.pos.step(), Source: checkpoint.SourceInput},
		lineage: r.g.opts.NewID(),
		cells:   r.pos.cells,
		agenda:  agenda{due: []dueTask{{node: Start}}, joins: r.pos.agenda.joins},
	}
	if err := r.g.schema.check(in, Start, p.step()); err != nil {
		return err
	}
	r.g.schedule(&p)
	p.tasks[0].update, p.tasks[0].done = in, true
	if r.store != nil {
		r.store.hold() // the input and the boundary after it are one transaction
	}
	if err := r.commit(ctx, p, nil, nil); err != nil {
		return err
	}
	return r.enter(ctx)
}

// enter merges the input, which is the update of the only task, Start.
func (r *run) enter(ctx context.Context) error {
	t := r.pos.tasks[0]
	own := State{schema: r.g.schema, cells: r.pos.cells, own: t.update.writes()}
	targets, err := r.g.targets(Start, r.pos.step(), t.update, own)
	if err != nil {
		return &NodeError{Graph: r.g.name, Node: Start, Step: r.pos.step(), Err: err}
	}
	t.targets = targets
	return r.advance(ctx)
}

// loop runs supersteps until nothing is due.
func (r *run) loop(ctx context.Context) error {
	r.emit(Event{Mode: Values, Step: r.pos.info.Step, State: r.pos.state(r.g)})
	for len(r.pos.tasks) > 0 {
		switch {
		case r.left:
			return errLeft
		case ctx.Err() != nil:
			return r.stopped(ctx)
		}
		if r.pos.tasks[0].node == Start {
			if err := r.enter(ctx); err != nil {
				return err
			}
			continue
		}
		if r.steps >= r.cfg.maxSteps {
			return fmt.Errorf("running graph %q: %d supersteps were not enough, %s due: %w",
				r.g.name, r.cfg.maxSteps, quoteAll(r.pos.info.Next), ErrRecursionLimit)
		}
		if err := r.breakpoint(); err != nil {
			return err
		}
		r.steps++
		if err := r.superstep(ctx); err != nil {
			return err
		}
		r.resumed = false
	}
	return nil
}

func (r *run) stopped(ctx context.Context) error {
	return fmt.Errorf("running graph %q: stopped before step %d: %w", r.g.name, r.pos.step(), context.Cause(ctx))
}

// breakpoint stops the run when the position is one.
func (r *run) breakpoint() error {
	if r.resumed {
		return nil
	}
	hit := slices.ContainsFunc(r.pos.tasks, func(t *task) bool { return matches(r.cfg.before, t.node) }) ||
		r.pos.info.Source == checkpoint.SourceLoop &&
			slices.ContainsFunc(r.pos.info.Nodes, func(n string) bool { return n != Start && matches(r.cfg.after, n) })
	if !hit {
		return nil
	}
	if r.store != nil {
		r.store.results(r.pos.info.Seq, checkpoint.Result{Task: checkpoint.BreakpointTask})
	}
	r.emit(Event{Mode: Updates, Step: r.pos.step(), Stopped: slices.Clone(r.pos.info.Next)})
	return &InterruptedError{Thread: r.cfg.thread, Next: slices.Clone(r.pos.info.Next)}
}

func matches(names []string, node string) bool {
	return slices.Contains(names, node) || slices.Contains(names, "*")
}

// advance merges the updates of the finished superstep, decides what is due next, and makes that the position.
func (r *run) advance(ctx context.Context) error {
	tasks := r.pos.tasks
	writes := make([]nodeWrites, 0, len(tasks))
	done := make([]finishedTask, 0, len(tasks))
	nodes := make([]string, 0, len(tasks))
	for _, i := range mergeOrder(tasks) {
		t := tasks[i]
		writes = append(writes, nodeWrites{t.node, t.update.writes()})
		done = append(done, finishedTask{t.node, t.targets})
		nodes = append(nodes, t.node)
	}
	cells, changes, err := r.g.schema.merge(r.pos.cells, writes, r.pos.step())
	if err != nil {
		return err
	}
	next := position{
		info:    checkpoint.Info{Step: r.pos.step(), Source: checkpoint.SourceLoop, Nodes: nodes},
		lineage: r.pos.lineage,
		cells:   cells,
		agenda:  r.g.topo.plan(done, r.pos.agenda),
	}
	r.g.schedule(&next)
	return r.commit(ctx, next, changes, tasks)
}

// commit makes next the position, once it is stored as the run's durability asks for.
func (r *run) commit(ctx context.Context, next position, changes []channelChange, tasks []*task) error {
	next.info.Time = r.g.opts.Clock()
	next.info.Thread = r.cfg.thread
	if r.store != nil {
		if err := r.store.commit(context.WithoutCancel(ctx), &next, changes, tasks); err != nil {
			return fmt.Errorf("storing step %d of graph %q in thread %q: %w", next.info.Step, r.g.name, r.cfg.thread, err)
		}
	} else if r.cfg.modes[Checkpoints] {
		next.info.ID, next.info.Parent = r.g.opts.NewID(), r.pos.info.ID
		next.info.ParentSeq, next.info.Seq = r.pos.info.Seq, r.pos.info.Seq+1
	}
	r.pos = next
	r.emit(Event{Mode: Checkpoints, Step: next.info.Step, Checkpoint: next.info})
	return nil
}

// emit passes an event on if its mode was asked for. After the consumer has left it does nothing.
func (r *run) emit(ev Event) {
	if r.left || !r.cfg.modes[ev.Mode] {
		return
	}
	if !r.yield(ev) {
		r.left = true
		r.cancel(errLeft)
	}
}

// answer passes the answers of the run's options to the tasks that asked.
func (r *run) answer() error {
	var open []string
	asker := map[string]*task{}
	for _, t := range r.pos.tasks {
		for _, q := range openQuestions(t.node, t.stored.Interrupts, len(t.stored.Answers)) {
			if !t.stored.Done {
				open = append(open, q.ID)
				asker[q.ID] = t
			}
		}
	}
	for _, a := range r.cfg.answers {
		id := a.id
		if id == "" && len(open) == 1 {
			id = open[0]
		}
		t := asker[id]
		if t == nil {
			return fmt.Errorf("continuing thread %q: %w", r.cfg.thread, &AnswerError{ID: a.id, Open: open})
		}
		data, err := JSON.Encode(a.value)
		if err != nil {
			return fmt.Errorf("encoding the answer to question %q: %w", id, err)
		}
		delete(asker, id)
		t.stored.Answers = append(slices.Clone(t.stored.Answers), data)
		r.store.results(r.pos.info.Seq, t.stored)
	}
	return r.store.flush()
}
