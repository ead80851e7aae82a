package graph

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"
)

// work runs the node with its retries, its error handler and its branches. It fills update, targets and err.
func (g *Graph) work(ctx context.Context, t *task) {
	ctx = context.WithValue(ctx, taskKey{}, t.calls)
	for attempt := 1; ; attempt++ {
		t.calls.restart()
		g.try(ctx, t)
		if t.err == nil || t.calls.open() || !g.again(ctx, t, attempt) {
			break
		}
	}
	if t.err != nil && t.def.onError != nil && ctx.Err() == nil && !t.calls.open() && !t.calls.hopeless(t.err) {
		g.handle(ctx, t)
	}
	switch {
	case t.calls.open():
		t.err = nil
	case t.err != nil:
	default:
		own := State{schema: g.schema, cells: t.base, own: t.update.writes(), after: true}
		t.targets, t.err = g.targets(t.node, t.calls.step, t.update, own, t.handled == nil || t.follow)
		g.remember(ctx, t)
	}
}

// try runs the node once.
func (g *Graph) try(ctx context.Context, t *task) {
	u, err := g.attempt(ctx, t)
	if up := (*parentCommand)(nil); errors.As(err, &up) { // of a subgraph that the node ran
		u, err = up.update, nil
	}
	g.take(t, u, err)
}

// take makes u the task's update if the graph can take it.
func (g *Graph) take(t *task, u Update, err error) {
	t.update, t.err = slices.Clone(u), err // nodes may return a shared one, and encoding leaves notes in it
	if t.err == nil {
		t.err = g.schema.check(t.update, t.node, t.calls.step)
	}
	if up := t.update.toParent(); t.err == nil && up != nil {
		t.err = up
	}
}

// again waits for the next attempt after a failure, and reports whether there is one.
func (g *Graph) again(ctx context.Context, t *task, attempt int) bool {
	if ctx.Err() != nil || t.calls.hopeless(t.err) {
		return false
	}
	i := slices.IndexFunc(t.def.retry, func(p RetryPolicy) bool { return p.If(t.err) })
	if i < 0 || attempt >= t.def.retry[i].MaxAttempts {
		return false
	}
	g.opts.Logger.InfoContext(ctx, "node failed, trying again", "graph", g.name, "node", t.node, "attempt", attempt, "error", t.err)
	return sleep(ctx, t.def.retry[i].pause(attempt)) == nil
}

// handle calls the node's error handler.
func (g *Graph) handle(ctx context.Context, t *task) {
	failure := &NodeError{Graph: g.name, Node: t.node, Step: t.calls.step, Err: t.err}
	u, err := call(ctx, func(ctx context.Context, s State) (Update, error) { return t.def.onError(ctx, s, failure) }, t.state)
	if err != nil {
		err = fmt.Errorf("handling its failure (%w): %w", failure.Err, err)
	}
	t.handled, t.follow = failure.Err, u.follows()
	if g.take(t, u, err); t.err != nil {
		t.handled = nil
	}
}

// attempt calls the node once. With a timeout the node has a goroutine of its own, so that one that ignores its context
// can be given up.
func (g *Graph) attempt(ctx context.Context, t *task) (Update, error) {
	if t.def.timeout == 0 && t.def.idleTimeout == 0 {
		return call(ctx, t.def.fn, t.state)
	}
	limited, cancel := context.WithCancel(ctx)
	defer cancel()
	returned := make(chan outcome, 1)
	go func() {
		o := outcome{err: errGoexit}
		defer func() { returned <- o }()
		o.u, o.err = call(limited, t.def.fn, t.state)
	}()
	o, late := t.watch(ctx, returned)
	if late == nil {
		return o.u, o.err
	}
	cancel()
	grace := time.NewTimer(g.opts.CancelGrace)
	defer grace.Stop()
	select {
	case o = <-returned:
		if o.err == nil { // it made it in the end
			return o.u, nil
		}
		late.Err = o.err
	case <-grace.C:
		t.calls.close()
		late.Err = fmt.Errorf("and %v later it was still running: %w", g.opts.CancelGrace, ErrStuck)
	}
	return nil, late
}

// outcome is what a call of a node returned.
type outcome struct {
	u   Update
	err error
}

// watch waits for the node to return, or for the end of its time. The end of ctx is the node's to notice.
func (t *task) watch(ctx context.Context, returned <-chan outcome) (outcome, *TimeoutError) {
	timeout, stopTimeout := after(t.def.timeout)
	defer stopTimeout()
	for {
		idle, stopIdle := after(t.def.idleTimeout)
		select {
		case o := <-returned:
			stopIdle()
			return o, nil
		case <-t.calls.beats:
			stopIdle()
		case <-idle:
			return outcome{}, &TimeoutError{After: t.def.idleTimeout, Idle: true}
		case <-timeout:
			stopIdle()
			return outcome{}, &TimeoutError{After: t.def.timeout}
		case <-ctx.Done():
			stopIdle()
			return <-returned, nil
		}
	}
}

// after returns a channel that has an item after d, none for 0.
func after(d time.Duration) (<-chan time.Time, func()) {
	if d == 0 {
		return nil, func() {}
	}
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}

// errGoexit is the failure of user code that ended the goroutine it was called in.
var errGoexit = &PanicError{Value: "it ended its goroutine (runtime.Goexit)"}

// call runs a node and turns a panic into an error.
func call(ctx context.Context, fn NodeFunc, s State) (Update, error) {
	return safely(func() (Update, error) { return fn(ctx, s) })
}

// safely calls fn and turns a panic into an error.
func safely[T any](fn func() (T, error)) (v T, err error) {
	defer func() {
		if p := recover(); p != nil {
			var zero T
			v, err = zero, &PanicError{Value: p, Stack: debug.Stack()}
		}
	}()
	return fn()
}

// targets asks the branches of a node, if they count, and checks what they and the node's Gotos ask for.
func (g *Graph) targets(node string, step int, u Update, s State, branches bool) (next []Next, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	next = u.Targets()
	if err := g.checkTargets(next, node); err != nil {
		return nil, err
	}
	for _, br := range g.topo.branches[node] {
		if !branches {
			break
		}
		for _, n := range br.route(s) {
			known := n.node == End || g.nodes[n.node] != nil
			if !known || len(br.targets) > 0 && !slices.Contains(br.targets, n.node) {
				e := g.unknownNode(n.node, node)
				if len(br.targets) > 0 {
					e.Known = br.targets
				}
				return nil, e
			}
			next = append(next, n)
		}
	}
	for i, n := range next {
		if n.send && n.node == End {
			return nil, fmt.Errorf("node %q sends a private input to the end", node)
		}
		if next[i].private, err = g.privateInput(n, node, step); err != nil {
			return nil, err
		}
	}
	return next, nil
}

// privateInput checks the private input of a Send, and returns it as writes to the channels of the graph that gets it: this one, or
// the node's subgraph.
func (g *Graph) privateInput(n Next, by string, step int) (Update, error) {
	def := g.nodes[n.node]
	if !n.send || def.child == nil {
		return slices.Clone(n.private), g.schema.check(n.private, by, step)
	}
	var in Update
	for _, w := range n.private {
		if err := g.schema.check(Update{w}, by, step); err == nil && w.ch != nil {
			at := slices.IndexFunc(def.shared, func(sc sharedChannel) bool { return g.schema.channels[sc.above] == w.ch })
			if at < 0 {
				return nil, def.child.schema.unknownChannel(w.ch, by, step)
			}
			below := def.child.schema.channels[def.shared[at].below]
			w = Write{ch: below, op: below.spec().takes(w.op == opReplace), value: w.value}
		}
		if err := def.child.schema.check(Update{w}, by, step); err != nil {
			return nil, err
		}
		in = append(in, w)
	}
	return in, nil
}
