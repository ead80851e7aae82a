package graph

import (
	"context"
	"errors"
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

type message struct {
	t      *task
	custom any
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
	for _, t := range r.pos.tasks {
		if t.cached {
			r.emit(Event{Mode: Updates, Step: r.pos.step(), Node: t.node, Task: t.id, Update: t.update, Cached: true})
		}
	}
	taskCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	x := &execution{r: r, runCtx: ctx, ctx: taskCtx, cancel: cancel}
	for _, t := range r.pos.tasks {
		switch {
		case t.cached:
		case t.done: // its input was bad
			x.finished(t)
		default:
			x.queue = append(x.queue, t)
		}
	}
	x.wait()
	if err := r.outcome(ctx, x); err != nil {
		return err
	}
	if err := r.advance(ctx); err != nil {
		return err
	}
	r.emit(Event{Mode: Values, Step: r.pos.info.Step, State: r.pos.state(r.g)})
	return nil
}

// prepare gives the tasks of the position their states.
func (r *run) prepare() {
	var fx *effects
	if r.store != nil {
		fx = r.store.effects(r.cfg, r.pos.info.Seq)
	}
	for _, t := range r.pos.tasks {
		t.state = r.pos.state(r.g)
		t.calls = &taskCalls{node: t.node, id: t.id, step: r.pos.step(), effects: fx,
			asked: slices.Clone(t.stored.Interrupts), answers: slices.Clone(t.stored.Answers)}
		if r.cfg.modes[Custom] {
			t.calls.emit = func(v any) { r.inbox.put(message{t: t, custom: v}) }
		}
		if !t.send {
			continue
		}
		empty := make([]cell, len(r.pos.cells))
		private, _, err := r.g.schema.merge(empty, []nodeWrites{{t.node, t.input.writes()}}, r.pos.step())
		t.state = State{schema: r.g.schema, cells: private, shared: r.pos.cells}
		if err != nil {
			t.err, t.done = err, true
		}
	}
}

// execution is the running part of a superstep. The run's goroutine owns it.
type execution struct {
	r       *run
	runCtx  context.Context
	ctx     context.Context // of the tasks
	cancel  context.CancelFunc
	queue   []*task // not started yet
	running int
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
			returned := false
			defer func() {
				if !returned {
					t.err = errGoexit
				}
				x.r.inbox.put(message{t: t, done: true})
			}()
			x.r.g.work(x.ctx, t)
			returned = true
		}()
	}
}

// wait starts the tasks and returns when all have finished or were given up.
func (x *execution) wait() {
	var grace <-chan time.Time
	ended := x.runCtx.Done()
	x.start()
	for x.running > 0 {
		select {
		case <-x.r.inbox.signal:
			for _, m := range x.r.inbox.take() {
				x.handle(m)
			}
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

func (x *execution) giveUp() {
	for _, t := range x.r.pos.tasks {
		if !t.done && !slices.Contains(x.queue, t) {
			t.calls.close()
			x.stuck = append(x.stuck, t)
		}
	}
}

func (x *execution) handle(m message) {
	if !m.done {
		x.r.emit(Event{Mode: Custom, Step: x.r.pos.step(), Node: m.t.node, Task: m.t.id, Custom: m.custom})
		return
	}
	x.running--
	m.t.done = true
	m.t.calls.close() // goroutines it left behind may have no effects
	x.finished(m.t)
}

// finished records the end of a task and tells the consumer and the store.
func (x *execution) finished(t *task) {
	r := x.r
	cut := t.err != nil && (x.runCtx.Err() != nil || x.stop && isContextEnd(t.err))
	if r.store != nil && !cut {
		if err := r.store.finished(r.pos.info.Seq, t, x.running+len(x.queue) > 0); err != nil {
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
	case t.interrupted():
		end.Questions = t.calls.questions()
		r.emit(Event{Mode: Updates, Step: r.pos.step(), Questions: end.Questions})
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
	if r.store != nil {
		return errors.Join(err, r.store.keep(r.pos.info.Seq, r.pos.tasks))
	}
	return err
}

func (r *run) failure(ctx context.Context, x *execution) error {
	switch {
	case len(x.stuck) > 0:
		return &NodeError{Graph: r.g.name, Node: x.stuck[0].node, Step: r.pos.step(), Err: ErrStuck}
	case ctx.Err() != nil:
		return r.stopped(ctx)
	case x.failed != nil:
		return &NodeError{Graph: r.g.name, Node: x.failed.node, Step: r.pos.step(), Err: x.failed.err}
	}
	stop := &InterruptedError{Thread: r.cfg.thread}
	for _, t := range r.pos.tasks {
		if !t.ok() {
			stop.Next = append(stop.Next, t.node)
		}
		if t.interrupted() {
			stop.Questions = append(stop.Questions, t.calls.questions()...)
		}
	}
	return stop
}
