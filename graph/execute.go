package graph

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// inbox carries what nodes send to the run's goroutine, in order. Sending never blocks.
type inbox struct {
	mu       sync.Mutex
	messages []message
	signal   chan struct{} // has an item when messages may have one
}

// message is an event of a subgraph, something that a task told, or with done the end of the task t.
type message struct {
	event  *Event
	calls  *taskCalls
	custom any
	text   *Message
	t      *task
	done   bool
}

func (b *inbox) put(m message) {
	b.mu.Lock()
	b.messages = append(b.messages, m)
	b.mu.Unlock()
	select {
	case b.signal <- struct{}{}:
	default:
	}
}

func (b *inbox) take() []message {
	b.mu.Lock()
	defer b.mu.Unlock()
	m := b.messages
	b.messages = nil
	return m
}

// superstep runs the due tasks and merges what they return.
func (r *run) superstep(ctx context.Context) error {
	r.prepare()
	for _, t := range r.pos.tasks {
		r.emit(Event{Mode: Tasks, Step: r.pos.step(), Node: t.node, Task: t.id, Phase: TaskBegin, Input: t.state})
	}
	r.recall(ctx)
	for _, t := range r.pos.tasks {
		if t.cached || t.recall {
			r.emit(Event{Mode: Updates, Step: r.pos.step(), Node: t.node, Task: t.id, Update: t.update, Cached: true})
		}
	}
	taskCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	x := &execution{r: r, runCtx: ctx, ctx: taskCtx, cancel: cancel}
	for _, t := range r.pos.tasks {
		switch {
		case t.cached:
		case t.done: // its input was bad, or its result is known
			x.finished(t)
		default:
			x.queue = append(x.queue, t)
		}
	}
	x.run()
	if err := r.outcome(ctx, x); err != nil {
		return err
	}
	if err := r.advance(ctx); err != nil {
		if r.recorder != nil { // the tasks have finished, although their writes don't fit
			err = errors.Join(err, r.recorder.keep(r.pos.info.Seq, r.pos.tasks))
		}
		return err
	}
	return nil
}

// prepare gives the tasks of the position their states.
func (r *run) prepare() {
	var fx *effects
	if r.recorder != nil {
		fx = r.recorder.effects(r.scope, r.pos.info.Seq)
	} else if r.scope.above != nil {
		fx = r.scope.above.effects // a subgraph that stores nothing has its effects recorded with the task that runs it
	}
	for _, t := range r.pos.tasks {
		t.state, t.base = r.pos.state(r.g), r.pos.cells
		t.calls = &taskCalls{ready: r.ready, node: t.node, id: t.id, step: r.pos.step(), send: t.send, private: t.input, scope: r.scope, effects: fx,
			rootSeq: r.scope.rootSeq, known: t.stored.Nested, asked: slices.Clone(t.stored.Interrupts), answers: slices.Clone(t.stored.Answers)}
		if r.scope.above == nil {
			t.calls.rootSeq = r.pos.info.Seq
		}
		if t.def != nil {
			t.state.only = t.def.visible
			if t.def.idleTimeout > 0 {
				t.calls.beats = make(chan struct{}, 1)
			}
		}
		if r.recorder == nil && r.scope.above != nil {
			t.calls.inherit()
		}
		if t.send {
			if err := r.prepareSend(t); err != nil && !t.cached {
				t.err, t.done = err, true
			}
		}
	}
}

// ready waits until the position that the superstep began at is stored, here and in the graphs above.
func (r *run) ready(ctx context.Context) error {
	switch {
	case r.recorder != nil:
		return r.recorder.ready(ctx)
	case r.scope.above != nil:
		return r.scope.above.ready(ctx)
	}
	return nil
}

// prepareSend gives a task its private input.
func (r *run) prepareSend(t *task) error {
	sc, shared := r.g.schema, r.pos.cells
	if t.def.child != nil {
		sc, shared = t.def.child.schema, nil
	}
	private, _, err := sc.merge(make([]cell, len(sc.channels)), []nodeWrites{{t.node, t.input.writes()}}, r.pos.step())
	t.state = State{schema: sc, cells: private, shared: shared}
	return err
}

// execution is the running part of a superstep. The run's goroutine owns it.
type execution struct {
	r       *run
	runCtx  context.Context
	ctx     context.Context // of the tasks
	cancel  context.CancelFunc
	queue   []*task // not started yet
	running int
	unread  []message
	failed  *task   // the first that failed
	stuck   []*task // given up
	stop    bool    // start no more
}

func (x *execution) start() {
	limit := x.r.g.opts.MaxConcurrency
	for len(x.queue) > 0 && !x.stop && (limit == 0 || x.running < limit) {
		t := x.queue[0]
		x.queue = x.queue[1:]
		x.running++
		go func() {
			var err error = errGoexit
			defer func() {
				if err != nil {
					t.err = err
				}
				x.r.inbox.put(message{t: t, done: true})
			}()
			_, err = safely(func() (struct{}, error) { x.r.g.work(x.ctx, t); return struct{}{}, nil })
		}()
	}
}

// run runs the tasks. When the consumer panics, or ends its goroutine, that goes on once the tasks have ended.
func (x *execution) run() {
	ended := false
	defer func() {
		if !ended {
			x.r.left, x.stop = true, true
			x.cancel()
			x.wait()
		}
	}()
	x.wait()
	ended = true
}

// wait starts the tasks and returns when all have finished or were given up.
func (x *execution) wait() {
	var grace <-chan time.Time
	ended := x.runCtx.Done()
	x.start()
	x.read()
	for x.running > 0 {
		select {
		case <-x.r.inbox.signal:
			x.read()
			x.start()
		case <-ended:
			ended = nil
			x.stop = true
		case <-grace:
			x.giveUp()
			return
		}
		if x.stop && grace == nil {
			timer := time.NewTimer(x.r.g.opts.CancelGrace)
			defer timer.Stop()
			grace = timer.C
		}
	}
}

// read handles the messages in the inbox.
func (x *execution) read() {
	x.unread = append(x.unread, x.r.inbox.take()...)
	for len(x.unread) > 0 {
		m := x.unread[0]
		x.unread = x.unread[1:]
		x.handle(m)
	}
}

func (x *execution) giveUp() {
	for _, t := range x.r.pos.tasks {
		if !t.done && !slices.Contains(x.queue, t) {
			t.calls.close()
			x.stuck = append(x.stuck, t)
		}
	}
}

func (x *execution) handle(m message) {
	r := x.r
	switch {
	case m.event != nil:
		r.pass(*m.event)
	case m.done:
		x.running--
		m.t.done = true
		m.t.calls.close() // goroutines it left behind may have no effects
		x.finished(m.t)
	case m.text != nil:
		r.emit(Event{Mode: Messages, Step: m.calls.step, Node: m.calls.node, Task: m.calls.id, Message: *m.text})
	default:
		r.emit(Event{Mode: Custom, Step: m.calls.step, Node: m.calls.node, Task: m.calls.id, Custom: m.custom})
	}
}

// finished records the end of a task and tells the consumer and the store.
func (x *execution) finished(t *task) {
	r := x.r
	cut := t.err != nil && (x.runCtx.Err() != nil || x.stop && isContextEnd(t.err))
	gone := leaves(t.err) // the graph ends with the task, by success above or by failure at the root
	if r.recorder != nil && !cut && !gone {
		if err := r.recorder.finished(r.pos.info.Seq, t, x.running+len(x.queue) > 0); err != nil {
			t.err = err
		}
	}
	end := Event{Mode: Tasks, Step: r.pos.step(), Node: t.node, Task: t.id, Phase: TaskEnd}
	switch {
	case t.err != nil:
		end.Err = t.err
		if x.failed == nil && !cut {
			x.failed = t
		}
		x.stop = true
		x.cancel()
		if gone {
			return
		}
	case t.interrupted():
		end.Questions = t.calls.questions()
		if len(end.Questions) == 0 {
			return // the graph below stopped at a breakpoint or was drained
		}
		r.emit(Event{Mode: Updates, Step: r.pos.step(), Questions: end.Questions})
		r.emit(Event{Mode: Values, Step: r.pos.info.Step, State: r.pos.state(r.g), Questions: end.Questions})
	case t.recall:
		return
	default:
		end.Update = t.update
		r.emit(Event{Mode: Updates, Step: r.pos.step(), Node: t.node, Task: t.id, Update: t.update})
	}
	r.emit(end)
}

func isContextEnd(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// outcome decides how the superstep ended. Unless all tasks have a result, it stores what there is and returns why the run
// can't go on.
func (r *run) outcome(ctx context.Context, x *execution) error {
	if !slices.ContainsFunc(r.pos.tasks, func(t *task) bool { return !t.ok() }) {
		return nil
	}
	err := r.failure(ctx, x)
	if r.recorder != nil {
		err = unstored(err, r.recorder.keep(r.pos.info.Seq, r.pos.tasks))
	}
	return err
}

// unstored joins the end of a run with the failure to store it, if there was one. That failure alone counts where the end was
// no error: a question that isn't stored can't be answered, and the graph above would take the end of a subgraph for a success.
func unstored(err, storing error) error {
	switch {
	case storing == nil:
		return err
	case errors.Is(err, ErrInterrupted) || errors.Is(err, ErrDrained) || leaves(err):
		return fmt.Errorf("storing where the run stopped: %w", storing)
	}
	return errors.Join(err, storing)
}

func (r *run) failure(ctx context.Context, x *execution) error {
	switch {
	case len(x.stuck) > 0:
		return &NodeError{Graph: r.g.name, Node: x.stuck[0].node, Step: r.pos.step(), Err: ErrStuck}
	case ctx.Err() != nil:
		for _, t := range r.pos.tasks {
			if errors.Is(t.err, ErrStuck) { // below, or past a node's timeout
				return &NodeError{Graph: r.g.name, Node: t.node, Step: r.pos.step(), Err: t.err}
			}
		}
		return r.stopped(ctx)
	case x.failed != nil:
		return &NodeError{Graph: r.g.name, Node: x.failed.node, Step: r.pos.step(), Err: x.failed.err}
	}
	return r.interruption()
}

// interruption is the error of a superstep in which tasks wait for answers, or subgraphs stopped.
func (r *run) interruption() error {
	stop := &InterruptedError{Thread: r.scope.cfg.thread}
	drained := false
	for _, t := range r.pos.tasks {
		if t.ok() {
			continue
		}
		stop.Next = append(stop.Next, t.node)
		stop.Questions = append(stop.Questions, t.calls.questions()...)
		drained = drained || errors.Is(t.calls.stop(), ErrDrained)
	}
	if drained {
		return r.drained()
	}
	r.preview()
	if len(stop.Questions) == 0 {
		r.stopAt(stop.Next)
	}
	return stop
}

// preview shows what the finished tasks of an interrupted superstep wrote. The position stays as it is.
func (r *run) preview() {
	if r.scope.above != nil {
		return
	}
	var writes []nodeWrites
	for _, i := range mergeOrder(r.pos.tasks) {
		if t := r.pos.tasks[i]; t.ok() && len(t.update.writes()) > 0 {
			writes = append(writes, nodeWrites{t.node, t.update.writes()})
		}
	}
	if len(writes) == 0 {
		return
	}
	cells, _, err := r.g.schema.merge(r.pos.cells, writes, r.pos.step())
	if err != nil {
		return // the same error ends the superstep once all its tasks are done
	}
	r.seen = cells
	r.emit(Event{Mode: Values, Step: r.pos.info.Step, State: State{schema: r.g.schema, cells: cells}})
}
