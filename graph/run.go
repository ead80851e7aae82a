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

// run is one run of a graph, by itself or as a subgraph. The goroutine that runs it owns all fields; nodes reach it through the
// inbox only.
type run struct {
	g     *Graph
	scope *scope
	yield func(Event) bool
	left  bool // yield returned false

	pos      position
	seen     []cell    // what the consumer saw of an interrupted superstep; nil: that of pos
	shown    bool      // the consumer saw the state the run begins with
	recorder *recorder // nil when the run isn't stored
	steps    int       // supersteps begun
	resumed  bool      // no superstep has ended since the run was continued: breakpoints that stopped it are passed
	inbox    inbox
	cancel   context.CancelCauseFunc
}

// Stream runs the graph and yields events of the chosen [Modes] as they happen; without any, [Updates]. With an update as in
// it begins a run on top of the thread's state, and drops what was due there; with nil it continues the thread where it
// stopped, without running finished tasks again; [OrContinue] does the one or the other. An error ends the stream and comes with a zero Event.
//
// The final state is that of the last [Values] event with an empty Namespace.
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
			run := func(ctx context.Context, yield func(Event) bool) error {
				_, err := g.start(ctx, in, &scope{cfg: cfg, owned: &ownedNamespaces{}}, yield)
				return err
			}
			if cfg.buffer > 0 {
				err = buffered(ctx, cfg.buffer, run, func(ev Event) bool { return yield(ev, nil) })
			} else {
				err = run(ctx, func(ev Event) bool { return yield(ev, nil) })
			}
		}
		if err != nil && !errors.Is(err, errLeft) {
			yield(Event{}, err)
		}
	}
}

// Invoke runs the graph to its end and returns the final state, of the [Builder.Output] channels; see [Graph.Stream]. With an
// error it returns the state of the last boundary, and when the run was interrupted what the finished tasks of the superstep
// wrote on top.
func (g *Graph) Invoke(ctx context.Context, in Update, opts ...RunOption) (State, error) {
	cfg, err := g.runConfig(opts)
	if err != nil {
		return State{schema: g.schema, cells: make([]cell, len(g.schema.channels))}, err
	}
	clear(cfg.modes)
	return g.start(ctx, in, &scope{cfg: cfg, owned: &ownedNamespaces{}}, func(Event) bool { return true })
}

// start runs the graph in a scope, which it completes.
func (g *Graph) start(ctx context.Context, in Update, sc *scope, yield func(Event) bool) (s State, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := &run{g: g, scope: sc, yield: yield, cancel: cancel, pos: g.emptyPosition()}
	r.inbox.signal = make(chan struct{}, 1)
	sc.graph, sc.send, sc.store = g.name, r.inbox.put, g.opts.Store
	if err = r.open(ctx); err != nil {
		return r.state(), err
	}
	if r.recorder != nil {
		defer func() { err = r.close(ctx, err) }()
	}
	if err = r.begin(ctx, in); err == nil {
		err = r.loop(ctx)
	}
	if r.left {
		err = errLeft
	}
	return r.state(), err
}

// open opens the run's store: its own with a lease, or as a subgraph one that uses the lease of the run above.
func (r *run) open(ctx context.Context) (err error) {
	sc := r.scope
	switch {
	case sc.above != nil:
		if sc.saver != nil {
			r.recorder = r.g.newRecorder(ctx, sc)
		}
	case r.g.opts.Saver == nil:
	case sc.cfg.thread == "":
		return fmt.Errorf("running graph %q: it has a saver, which needs to know the thread: %w", r.g.name, ErrNoThread)
	default:
		sc.saver = r.g.opts.Saver
		r.recorder, err = r.g.openRecorder(ctx, sc, r.cancel)
	}
	return err
}

func (r *run) close(ctx context.Context, err error) error {
	if err == nil && r.scope.above != nil && r.g.opts.AsSubgraph == Inherit {
		r.recorder.discard()
	}
	storing := r.recorder.close(context.WithoutCancel(ctx))
	releasing := r.recorder.release(context.WithoutCancel(ctx))
	if errors.Is(err, errLeft) && (storing != nil || releasing != nil) {
		r.g.opts.Logger.WarnContext(ctx, "storing a run that its consumer left", "graph", r.g.name, "thread", r.scope.cfg.thread,
			"error", errors.Join(storing, releasing))
	}
	if err = unstored(err, storing); releasing == nil {
		return err
	}
	return errors.Join(err, releasing)
}

// state is what the run has to show for.
func (r *run) state() State {
	s := r.pos.state(r.g)
	if r.seen != nil {
		s.cells = r.seen
	}
	s.only = r.g.outputs
	return s
}

// begin brings the run to the boundary its first superstep starts from.
func (r *run) begin(ctx context.Context, in Update) error {
	cfg := &r.scope.cfg
	if in != nil && (len(cfg.answers) > 0 || cfg.command != nil) {
		return fmt.Errorf("starting a run of graph %q: an answer or a command continues a thread, so the input must be nil", r.g.name)
	}
	if r.recorder == nil {
		if in == nil {
			return fmt.Errorf("continuing graph %q: %w: %w", r.g.name, ErrNothingToResume, ErrNoSaver)
		}
		return r.accept(ctx, in)
	}
	saved, err := r.recorder.load(ctx, cfg.from)
	if err == nil && r.scope.rewind.skips(saved.Above) {
		saved, err = r.rewind(ctx)
	}
	switch {
	case errors.Is(err, checkpoint.ErrNotFound) && cfg.from == "":
		if in == nil {
			return fmt.Errorf("continuing thread %q: %w", cfg.thread, ErrUnknownThread)
		}
		return r.accept(ctx, in)
	case err != nil:
		return err
	}
	if r.pos, err = r.g.position(saved, cfg.otherShape); err != nil {
		return err
	}
	if in != nil && !r.continues(saved) && !(cfg.orContinue && len(r.pos.tasks) > 0) {
		if err := r.pendingCommand(saved); err != nil {
			return err
		}
		return r.accept(ctx, in)
	}
	return r.resume(ctx, saved)
}

// rewind loads the newest checkpoint of a subgraph that a fork may continue from, if there is one.
func (r *run) rewind(ctx context.Context) (*checkpoint.Saved, error) {
	query := checkpoint.Query{Thread: r.scope.cfg.thread, Namespace: joinNamespace(r.scope.path)}
	for info, err := range r.scope.saver.List(ctx, query) {
		if err != nil {
			return nil, err
		}
		if !r.scope.rewind.skips(info.Above) {
			return r.recorder.load(ctx, info.ID)
		}
	}
	r.recorder.forget()
	return nil, checkpoint.ErrNotFound
}

// continues reports whether a subgraph, which always has an input, is run again by the task that it was run by before.
func (r *run) continues(saved *checkpoint.Saved) bool {
	return r.scope.above != nil && (r.g.opts.AsSubgraph != Own || saved.Run == r.scope.cfg.lineage)
}

// resume continues at the position that was loaded.
func (r *run) resume(ctx context.Context, saved *checkpoint.Saved) error {
	cfg := &r.scope.cfg
	r.resumed = passedBreakpoint(saved) || cfg.from != "" || cfg.command != nil
	if err := r.command(saved); err != nil {
		return err
	}
	if cfg.from != "" && len(cfg.answers) == 0 && !(edited(saved) && saved.Seq == saved.LastSeq) {
		if err := r.fork(ctx); err != nil {
			return err
		}
	}
	if len(r.pos.tasks) == 0 && r.scope.above == nil && cfg.from == "" {
		return fmt.Errorf("continuing thread %q: it has finished: %w", cfg.thread, ErrNothingToResume)
	}
	if len(cfg.answers) > 0 {
		return r.answer(ctx)
	}
	return nil
}

// passedBreakpoint reports whether the breakpoints of a checkpoint are behind the thread: a run stopped there, its tasks have
// begun, or it was put there by hand.
func passedBreakpoint(saved *checkpoint.Saved) bool {
	return len(saved.Results) > 0 || edited(saved)
}

// edited reports whether a checkpoint was made by hand, and so is a fork itself when it is the newest.
func edited(saved *checkpoint.Saved) bool {
	return saved.Source == checkpoint.SourceUpdate || saved.Source == checkpoint.SourceFork
}

// accept stores the input as a boundary, merges it as the update of Start, and stops at the boundary after that.
func (r *run) accept(ctx context.Context, in Update) error {
	p, err := r.inputPosition(in)
	if err != nil {
		return err
	}
	var gone []channelChange
	if len(r.pos.tasks) > 0 { // they are dropped, which ends their superstep
		if p.cells, gone, err = r.g.schema.merge(p.cells, nil, p.step()); err != nil {
			return err
		}
	}
	if r.recorder != nil {
		r.recorder.hold() // the input and the boundary after it are one transaction
	}
	if err := r.commit(ctx, p, gone); err != nil {
		return err
	}
	return r.enter(ctx)
}

// inputPosition is the position at which in is due.
func (r *run) inputPosition(in Update) (position, error) {
	p := position{
		info:    checkpoint.Info{Step: r.pos.step(), Source: checkpoint.SourceInput},
		lineage: r.scope.cfg.lineage,
		cells:   r.pos.cells,
		ran:     r.pos.lastRan(),
		agenda:  agenda{due: []dueTask{{node: Start, private: slices.Clone(in)}}, joins: r.pos.agenda.joins},
	}
	if p.lineage == "" {
		p.lineage = r.g.opts.NewID()
	}
	r.g.schedule(&p)
	return p, r.g.checkInput(in, p.step())
}

func (g *Graph) checkInput(in Update, step int) error {
	if err := g.schema.check(in, Start, step); err != nil {
		return err
	}
	for _, w := range in {
		if w.op.control() {
			return fmt.Errorf("the input of graph %q asks for nodes; a branch from the start can do that", g.name)
		}
		if g.inputs.hides(g.schema.index[w.ch.Name()]) {
			e := g.schema.unknownChannel(w.ch, Start, step)
			e.Known, e.Input = g.schema.in(g.inputs), true
			return e
		}
	}
	return nil
}

// enter merges the input, which is the update of the only task, Start.
func (r *run) enter(ctx context.Context) error {
	t := r.pos.tasks[0]
	own := State{schema: r.g.schema, cells: r.pos.cells, own: t.update.writes(), after: true}
	targets, err := r.g.targets(Start, r.pos.step(), t.update, own, true)
	if err != nil {
		return &NodeError{Graph: r.g.name, Node: Start, Step: r.pos.step(), Err: err}
	}
	t.targets = targets
	return r.advance(ctx)
}

// loop runs supersteps until nothing is due.
func (r *run) loop(ctx context.Context) error {
	if !r.shown {
		r.showValues()
		r.showCheckpoint()
	}
	if len(r.pos.tasks) > 0 && r.pos.tasks[0].node == Start { // an input that was stored, but not merged
		r.resumed = false
		if err := r.enter(ctx); err != nil {
			return err
		}
	}
	for {
		switch {
		case r.left:
			return errLeft
		case ctx.Err() != nil && len(r.pos.tasks) > 0:
			return r.stopped(ctx)
		}
		if len(r.pos.tasks) > 0 {
			if err := r.limits(); err != nil {
				return err
			}
		}
		if err := r.breakpoint(); err != nil {
			return err
		}
		if len(r.pos.tasks) == 0 {
			return nil
		}
		r.steps++
		if err := r.superstep(ctx); err != nil {
			return err
		}
		r.resumed = false
	}
}

// limits reports why the next superstep, which is due, may not begin, and notes that the run ended here.
func (r *run) limits() error {
	err := r.limit()
	if err != nil && r.recorder != nil {
		r.recorder.results(r.pos.info.Seq, checkpoint.Result{Task: checkpoint.StopTask})
	}
	return err
}

func (r *run) limit() error {
	if r.steps >= r.scope.cfg.maxSteps {
		return fmt.Errorf("running graph %q: %d supersteps were not enough, %s due: %w",
			r.g.name, r.scope.cfg.maxSteps, quoteAll(r.pos.info.Next), ErrRecursionLimit)
	}
	select {
	case <-r.scope.cfg.drain:
		return r.drained()
	default:
		return nil
	}
}

func (r *run) drained() error {
	return fmt.Errorf("running graph %q: stopped before step %d: %w", r.g.name, r.pos.step(), ErrDrained)
}

func (r *run) stopped(ctx context.Context) error {
	return fmt.Errorf("running graph %q: stopped before step %d: %w", r.g.name, r.pos.step(), context.Cause(ctx))
}

// breakpoint stops the run when the position is one, also when nothing is due any more.
func (r *run) breakpoint() error {
	if r.resumed {
		return nil
	}
	cfg := &r.scope.cfg
	hit := slices.ContainsFunc(r.pos.tasks, func(t *task) bool { return matches(cfg.before, t.node) }) ||
		r.pos.info.Source == checkpoint.SourceLoop && (r.steps > 0 || len(r.pos.tasks) > 0) &&
			slices.ContainsFunc(r.pos.info.Nodes, func(n string) bool { return n != Start && matches(cfg.after, n) })
	if !hit {
		return nil
	}
	r.stopAt(r.pos.info.Next)
	return &InterruptedError{Thread: cfg.thread, Next: slices.Clone(r.pos.info.Next)}
}

// stopAt notes that the run stops at a breakpoint, its own or one of a subgraph, with these nodes due.
func (r *run) stopAt(next []string) {
	if r.recorder != nil && len(r.pos.tasks) > 0 {
		r.recorder.results(r.pos.info.Seq, checkpoint.Result{Task: checkpoint.BreakpointTask})
	}
	if r.scope.above == nil {
		r.emit(Event{Mode: Updates, Step: r.pos.step(), Stopped: append([]string{}, next...)})
	}
}

func matches(names []string, node string) bool {
	return slices.Contains(names, node) || slices.Contains(names, "*")
}

// advance merges the updates of the finished superstep, decides what is due next, and makes that the position.
func (r *run) advance(ctx context.Context) error {
	tasks := r.pos.tasks
	writes := make([]nodeWrites, 0, len(tasks)+1)
	done := make([]finishedTask, 0, len(tasks))
	nodes := make([]string, 0, len(tasks))
	for _, i := range mergeOrder(tasks) {
		t := tasks[i]
		writes = append(writes, nodeWrites{t.node, t.update.writes()})
		done = append(done, t.finish())
		nodes = append(nodes, t.node)
	}
	if r.scope.cfg.forward != nil {
		writes = r.forwarded(tasks[0].node == Start, writes)
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
	if err := r.store(ctx, next, changes, tasks); err != nil {
		return err
	}
	if r.wrote(writes) {
		r.showValues()
	}
	r.shown = true
	r.showCheckpoint()
	return nil
}

// wrote reports whether writes left a value in a channel.
func (r *run) wrote(all []nodeWrites) bool {
	for _, nw := range all {
		for _, w := range nw.writes {
			i := r.g.schema.index[w.ch.Name()]
			shown := !w.ch.spec().hidden && (r.scope.above == nil || !r.g.outputs.hides(i))
			if shown && r.pos.cells[i].set {
				return true
			}
		}
	}
	return false
}

func (r *run) showValues() {
	r.emit(Event{Mode: Values, Step: r.pos.info.Step, State: r.pos.state(r.g)})
}

func (r *run) showCheckpoint() {
	if r.recorder == nil {
		return
	}
	r.emit(Event{Mode: Checkpoints, Step: r.pos.info.Step, Checkpoint: r.pos.info, State: r.pos.state(r.g)})
}

// commit makes next the position and tells the consumer.
func (r *run) commit(ctx context.Context, next position, changes []channelChange) error {
	if err := r.store(ctx, next, changes, nil); err != nil {
		return err
	}
	r.showCheckpoint()
	return nil
}

// store makes next the position, once it is stored as the run's durability asks for.
func (r *run) store(ctx context.Context, next position, changes []channelChange, tasks []*task) error {
	cfg := &r.scope.cfg
	next.info.Time = r.g.opts.Clock()
	next.info.Thread, next.info.Namespace, next.info.Above = cfg.thread, joinNamespace(r.scope.path), r.scope.rootSeq
	if r.recorder != nil {
		if err := r.recorder.commit(context.WithoutCancel(ctx), &next, changes, tasks); err != nil {
			return fmt.Errorf("storing step %d of graph %q in thread %q: %w", next.info.Step, r.g.name, cfg.thread, err)
		}
	}
	r.pos = next
	return nil
}

// emit passes an event of this graph on if its mode was asked for, and to the debug mode.
func (r *run) emit(ev Event) {
	modes := r.scope.cfg.modes
	if len(modes) == 0 {
		return
	}
	ev.Namespace = r.scope.path
	if r.scope.above != nil {
		r.narrow(&ev)
	}
	if modes[ev.Mode] {
		r.pass(ev)
	}
	if modes[Debug] && (ev.Mode == Tasks || ev.Mode == Checkpoints) {
		ev.Of, ev.Mode, ev.Time = ev.Mode, Debug, r.g.opts.Clock()
		r.pass(ev)
	}
}

// narrow limits the values and updates of a subgraph to what it shows of itself.
func (r *run) narrow(ev *Event) {
	if r.g.outputs == nil {
		return
	}
	switch ev.Mode {
	case Values:
		ev.State.only = r.g.outputs
	case Updates:
		ev.Update = slices.DeleteFunc(slices.Clone(ev.Update), func(w Write) bool {
			return w.ch != nil && r.g.outputs.hides(r.g.schema.index[w.ch.Name()])
		})
	case Custom, Tasks, Checkpoints, Messages, Debug:
	}
}

// pass hands an event to the consumer. After the consumer has left it does nothing.
func (r *run) pass(ev Event) {
	if !r.left && !r.yield(ev) {
		r.left = true
		r.cancel(errLeft)
	}
}
