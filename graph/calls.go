package graph

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/llama-agent/llama-agent/graph/checkpoint"
)

// taskCalls is what a running node reaches through its context. It is safe for concurrent use, by the node's goroutines and
// the run's.
type taskCalls struct {
	node    string
	id      string
	step    int
	send    bool
	private Update // input of a Send
	scope   *scope
	rootSeq int64                       // Seq of the root's checkpoint at which the superstep began
	effects *effects                    // nil when nothing is stored
	ready   func(context.Context) error // waits until the position of the superstep is stored
	beats   chan struct{}               // has an item after progress; nil when nobody watches

	mu       sync.Mutex
	known    []checkpoint.Nested // questions of subgraphs that earlier runs left
	closed   bool
	attempts int                 // begun
	called   int                 // subgraphs run in this attempt
	halted   error               // a subgraph stopped without an end
	nested   []checkpoint.Nested // its questions
	next     int                 // questions asked in this attempt
	refused  bool                // an answer didn't fit; another attempt can't help
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
	c.next, c.called, c.halted, c.nested = 0, 0, nil, nil
	c.attempts++
}

func (c *taskCalls) attempt() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.attempts
}

// open reports whether the node asked something in its last attempt that has no answer, or one of its subgraphs stopped.
func (c *taskCalls) open() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.next > len(c.answers) || c.halted != nil
}

// asking reports whether the task has asked something, also when it has the answer.
func (c *taskCalls) asking() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.asked) > 0 || len(c.nested) > 0 || len(c.known) > 0 || c.halted != nil
}

// stop returns why the task was interrupted when it wasn't by a question of its own.
func (c *taskCalls) stop() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.halted
}

// beat notes progress.
func (c *taskCalls) beat() {
	select {
	case c.beats <- struct{}{}:
	default:
	}
}

// hopeless reports whether neither another attempt nor an error handler is due after err.
func (c *taskCalls) hopeless(err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.refused || errors.Is(err, ErrStuck) || leaves(err)
}

func (c *taskCalls) record() ([]checkpoint.Interrupt, [][]byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.asked), slices.Clone(c.answers)
}

// recordNested returns the questions of subgraphs to store: the open ones, or the last that were, and those whose answers nobody else
// keeps.
func (c *taskCalls) recordNested() []checkpoint.Nested {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.nested) == 0 {
		return slices.Clone(c.known)
	}
	var kept []checkpoint.Nested
	for _, n := range c.known {
		if n.Unsaved && n.Answer != nil {
			kept = append(kept, n)
		}
	}
	return append(kept, c.nested...)
}

// questions returns the open questions: that of the node itself, unless it asks from several goroutines at most one, and those
// of its subgraphs.
func (c *taskCalls) questions() []Question {
	c.mu.Lock()
	defer c.mu.Unlock()
	var open []Question
	if c.next > len(c.answers) {
		open = ownQuestions(c.node, c.scope.path, c.asked[min(len(c.answers), len(c.asked)):])
	}
	return append(open, nestedQuestions(c.nested, false)...)
}

func ownQuestions(node string, path []string, asked []checkpoint.Interrupt) []Question {
	var qs []Question
	for _, q := range asked {
		qs = append(qs, Question{ID: q.ID, Node: node, Namespace: path, Value: q.Value})
	}
	return qs
}

func nestedQuestions(nested []checkpoint.Nested, answered bool) []Question {
	var qs []Question
	for _, n := range nested {
		if answered || n.Answer == nil {
			qs = append(qs, Question{ID: n.ID, Node: n.Node, Namespace: splitNamespace(n.Namespace), Value: n.Value})
		}
	}
	return qs
}

// inherited returns the answer to a question that the graph above keeps because this one stores nothing, or nil.
func (c *taskCalls) inherited(id string) []byte {
	for s := c.scope; s.saver == nil && s.above != nil; s = s.above.scope {
		if answer := s.above.answerTo(id); answer != nil {
			return answer
		}
	}
	return nil
}

// inherit fills in the answers that the graph above keeps.
func (c *taskCalls) inherit() {
	for {
		id := questionID(c.id, len(c.answers))
		answer := c.inherited(id)
		if answer == nil {
			return
		}
		c.asked = append(c.asked[:len(c.answers)], checkpoint.Interrupt{ID: id})
		c.answers = append(c.answers, answer)
	}
}

// ask returns the answer to the next question of this attempt, or ErrInterrupted, and the question's number.
func (c *taskCalls) ask(value any) (answer []byte, n int, err error) {
	c.beat()
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

// reject forgets the answer to question n and those after it, here and in the graphs above, so that they can be given again.
func (c *taskCalls) reject(n int) {
	c.mu.Lock()
	n = min(n, len(c.answers))
	var again []string
	for _, q := range c.asked[n:] {
		again = append(again, q.ID)
	}
	c.answers, c.next, c.refused = c.answers[:n], n, true
	c.mu.Unlock()
	for t := c.scope.above; t != nil; t = t.scope.above {
		t.reopen(again)
	}
}

// reopen takes the answers to questions of subgraphs back. To run the subgraph again is no use then.
func (c *taskCalls) reopen(ids []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused = true
	c.known = slices.Clone(c.known)
	for i := range c.known {
		if slices.Contains(ids, c.known[i].ID) {
			c.known[i].Answer = nil
		}
	}
}

// answerTo returns the answer to a question of a subgraph that earlier runs left, or nil.
func (c *taskCalls) answerTo(id string) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.known {
		if n.ID == id {
			return n.Answer
		}
	}
	return nil
}

// Emit sends v to the stream of the run that ctx belongs to, as a [Custom] event. It never blocks, and does nothing when the
// stream doesn't carry custom events or ctx isn't a node's. The consumer gets v itself.
func Emit(ctx context.Context, v any) {
	taskFrom(ctx).tell(Custom, message{custom: v})
}

// EmitMessage sends a part of a message, such as a token of a model's answer, to the stream of the run that ctx belongs to, as a
// [Messages] event. Like [Emit] it never blocks.
func EmitMessage(ctx context.Context, m Message) {
	taskFrom(ctx).tell(Messages, message{text: &m})
}

// Listening reports whether the stream of the run that ctx belongs to carries events of a mode, so that work for nobody can be
// left out.
func Listening(ctx context.Context, m Mode) bool {
	t := taskFrom(ctx)
	return t != nil && t.scope.cfg.modes[m]
}

// Heartbeat counts as progress for the [IdleTimeout] of the node that ctx belongs to, and of those that run its graph as a
// subgraph.
func Heartbeat(ctx context.Context) {
	for t := taskFrom(ctx); t != nil; t = t.scope.above {
		t.beat()
	}
}

// tell passes m to the run if its stream carries events of this mode.
func (c *taskCalls) tell(mode Mode, m message) {
	if c == nil {
		return
	}
	for t := c; t != nil; t = t.scope.above {
		t.beat()
	}
	if c.scope.cfg.modes[mode] && !c.isClosed() {
		m.calls = c
		c.scope.send(m)
	}
}
