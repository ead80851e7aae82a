package graph

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/llama-agent/llama-agent/graph/checkpoint"
)

// task is one execution of a node in a superstep. The run's goroutine owns it; while the node runs, the node's goroutine
// has it, and hands it back through the inbox.
type task struct {
	id    string
	node  string
	send  bool
	def   *nodeDef // nil for the pseudo task of Start
	input Update   // private input of a Send
	state State

	stored checkpoint.Result // what earlier runs left of it
	cached bool              // it finished in an earlier run
	done   bool              // it has returned, or was cached

	update  Update
	targets []Next // of Gotos and branches
	err     error
	calls   *taskCalls

	encoded *checkpoint.Result // once the task has ended in a way worth storing
	sent    bool               // encoded has been handed to the saver
}

// ok reports whether the task has a result to merge.
func (t *task) ok() bool { return t.done && t.err == nil && !t.interrupted() }

func (t *task) interrupted() bool { return t.calls != nil && t.calls.open() }

// result encodes what is known of the task after it ran.
func (t *task) result() (checkpoint.Result, error) {
	if t.cached {
		return t.stored, nil
	}
	r := checkpoint.Result{Task: t.id, Node: t.node, Error: t.stored.Error}
	if t.calls != nil {
		r.Interrupts, r.Answers = t.calls.record()
	}
	switch {
	case t.interrupted():
	case t.err != nil:
		r.Error = t.err.Error()
	default:
		writes, err := encodeWrites(t.update.writes())
		if err != nil {
			return r, err
		}
		targets, err := encodeTargets(t.targets)
		if err != nil {
			return r, err
		}
		r.Done, r.Writes, r.Targets = true, writes, targets
	}
	return r, nil
}

func encodeTargets(next []Next) ([]checkpoint.Target, error) {
	var out []checkpoint.Target
	for _, n := range next {
		private, err := encodeWrites(n.private)
		if err != nil {
			return nil, err
		}
		out = append(out, checkpoint.Target{Node: n.node, Send: n.send, Private: private})
	}
	return out, nil
}

// adopt fills t from the result of an earlier run.
func (t *task) adopt(sc *schema, r checkpoint.Result, lenient bool) error {
	t.stored = r
	if !r.Done {
		return nil
	}
	writes, err := sc.decodeWrites(r.Writes, lenient)
	if err != nil {
		return err
	}
	t.update = writes
	for _, target := range r.Targets {
		private, err := sc.decodeWrites(target.Private, lenient)
		if err != nil {
			return err
		}
		t.targets = append(t.targets, Next{node: target.Node, send: target.Send, private: private})
	}
	if len(t.targets) > 0 {
		t.update = append(t.update, Goto(t.targets...))
	}
	t.cached, t.done = true, true
	return nil
}

// taskCalls is what a running node reaches through its context. It is safe for concurrent use, by the node's goroutines and
// the run's.
type taskCalls struct {
	node string
	id   string
	step int

	emit    func(v any) // nil when nobody listens
	effects *effects    // nil when nothing is stored

	mu       sync.Mutex
	closed   bool
	next     int  // questions asked in this attempt
	refused  bool // an answer didn't fit; another attempt can't help
	asked    []checkpoint.Interrupt
	answers  [][]byte
	inFlight map[string]chan struct{} // effects being run, by key
}

type taskKey struct{}

func taskFrom(ctx context.Context) *taskCalls {
	t, _ := ctx.Value(taskKey{}).(*taskCalls)
	return t
}

// close cuts off a node that has returned or was given up.
func (c *taskCalls) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
}

func (c *taskCalls) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// restart prepares another attempt: questions are counted from the first again.
func (c *taskCalls) restart() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next = 0
}

// open reports whether the node asked something in its last attempt that has no answer.
func (c *taskCalls) open() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.next > len(c.answers)
}

// hopeless reports whether no other attempt can help against err.
func (c *taskCalls) hopeless(err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.refused || errors.Is(err, ErrStuck)
}

func (c *taskCalls) record() ([]checkpoint.Interrupt, [][]byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.asked), slices.Clone(c.answers)
}

// questions returns the open questions; there is at most one, because a node can't go on without its answer, unless it asks
// from several goroutines.
func (c *taskCalls) questions() []Question {
	c.mu.Lock()
	defer c.mu.Unlock()
	return openQuestions(c.node, c.asked, len(c.answers))
}

func openQuestions(node string, asked []checkpoint.Interrupt, answered int) []Question {
	var open []Question
	for _, q := range asked[min(answered, len(asked)):] {
		open = append(open, Question{ID: q.ID, Node: node, Value: q.Value})
	}
	return open
}

// ask returns the answer to the next question of this attempt, or ErrInterrupted, and the question's number.
func (c *taskCalls) ask(value any) (answer []byte, n int, err error) {
	data, err := JSON.Encode(value)
	if err != nil {
		return nil, 0, fmt.Errorf("encoding a question of node %q: %w", c.node, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, 0, context.Canceled
	}
	n = c.next
	c.next++
	if n < len(c.answers) {
		return c.answers[n], n, nil
	}
	q := checkpoint.Interrupt{ID: questionID(c.id, n), Value: data}
	if n < len(c.asked) {
		c.asked[n] = q
	} else {
		c.asked = append(c.asked, q)
	}
	return nil, n, ErrInterrupted
}

// reject forgets the answer to question n and those after it, so that they can be given again.
func (c *taskCalls) reject(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answers, c.next, c.refused = c.answers[:min(n, len(c.answers))], n, true
}

// Emit sends v to the stream of the run that ctx belongs to, as a [Custom] event. It never blocks, and does nothing when the
// stream doesn't carry custom events or ctx isn't a node's.
func Emit(ctx context.Context, v any) {
	if t := taskFrom(ctx); t != nil && t.emit != nil && !t.isClosed() {
		t.emit(v)
	}
}

// work runs the node with its retries, and its branches. It fills update, targets and err.
func (g *Graph) work(ctx context.Context, t *task) {
	ctx = context.WithValue(ctx, taskKey{}, t.calls)
	for attempt := 1; ; attempt++ {
		t.calls.restart()
		t.update, t.err = g.attempt(ctx, t)
		t.update = slices.Clone(t.update) // nodes may return a shared one, and encoding leaves notes in it
		if t.err == nil {
			t.err = g.schema.check(t.update, t.node, t.calls.step)
		}
		if t.err == nil || t.calls.open() {
			break
		}
		p := t.def.retry
		if p == nil || attempt >= p.MaxAttempts || ctx.Err() != nil || t.calls.hopeless(t.err) || !p.If(t.err) {
			return
		}
		g.opts.Logger.InfoContext(ctx, "node failed, trying again", "graph", g.name, "node", t.node, "attempt", attempt, "error", t.err)
		if sleep(ctx, p.pause(attempt)) != nil {
			return
		}
	}
	if t.calls.open() {
		t.err = nil
		return
	}
	own := State{schema: t.state.schema, cells: t.state.Shared().cells, own: t.update.writes()}
	t.targets, t.err = g.targets(t.node, t.calls.step, t.update, own)
}

// attempt calls the node once. With a timeout the node has a goroutine of its own, so that one that ignores its context
// can be given up.
func (g *Graph) attempt(ctx context.Context, t *task) (Update, error) {
	if t.def.timeout == 0 {
		return call(ctx, t.def.fn, t.state)
	}
	limited, cancel := context.WithTimeout(ctx, t.def.timeout)
	defer cancel()
	type outcome struct {
		u   Update
		err error
	}
	returned := make(chan outcome, 1)
	go func() {
		o := outcome{err: errGoexit}
		defer func() { returned <- o }()
		o.u, o.err = call(limited, t.def.fn, t.state)
	}()
	var o outcome
	select {
	case o = <-returned:
	case <-limited.Done():
		grace := time.NewTimer(g.opts.CancelGrace)
		defer grace.Stop()
		select {
		case o = <-returned:
		case <-grace.C:
			t.calls.close()
			return nil, fmt.Errorf("timed out after %v, and %v later it was still running: %w", t.def.timeout, g.opts.CancelGrace, ErrStuck)
		}
	}
	if o.err != nil && limited.Err() != nil && ctx.Err() == nil {
		o.err = fmt.Errorf("timed out after %v: %w", t.def.timeout, o.err)
	}
	return o.u, o.err
}

// errGoexit is the failure of a node whose goroutine ended while the node ran.
var errGoexit = &PanicError{Value: "the node ended its goroutine (runtime.Goexit)"}

// call runs a node and turns a panic into an error.
func call(ctx context.Context, fn NodeFunc, s State) (u Update, err error) {
	defer func() {
		if v := recover(); v != nil {
			u, err = nil, &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return fn(ctx, s)
}

// targets asks the branches of a node, and checks what they and the node's Gotos ask for.
func (g *Graph) targets(node string, step int, u Update, s State) (next []Next, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	next = u.Targets()
	for _, n := range next {
		if n.node != End && g.nodes[n.node] == nil {
			return nil, g.unknownNode(n.node, node)
		}
	}
	for _, br := range g.topo.branches[node] {
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
		if err := g.schema.check(n.private, node, step); err != nil {
			return nil, err
		}
		next[i].private = slices.Clone(n.private)
	}
	return next, nil
}
