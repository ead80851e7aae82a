package graph

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/llama-agent/llama-agent/graph/checkpoint"
	"github.com/llama-agent/llama-agent/graph/store"
)

// scope is what the tasks of a run, and the subgraphs they run, know of it. It doesn't change once the first of them has begun.
type scope struct {
	graph string
	cfg   runConfig
	path  []string         // namespace of the run
	saver checkpoint.Saver // nil when the run isn't stored
	store store.Store      // of the graph's options
	lease string
	above *taskCalls // the task that runs this graph as a subgraph
	send  func(message)
	owned *ownedNamespaces

	rootSeq int64  // of a subgraph: Seq of the root's checkpoint at which the superstep began
	rewind  rewind // of the root's run when it is a fork, also in subgraphs
}

// rewind says which checkpoints of subgraphs with the scope [Own] a fork continues from: those that the root had when its
// checkpoint before was written, and those that the fork has written itself.
type rewind struct{ before, since int64 }

func (w rewind) skips(above int64) bool { return w.since > 0 && above >= w.before && above < w.since }

// ownedNamespaces keeps two tasks of a run, and of all its subgraphs, from running a subgraph of scope [Own] in one namespace
// at a time.
type ownedNamespaces struct {
	mu   sync.Mutex
	busy map[string]bool
}

func (o *ownedNamespaces) enter(namespace string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.busy[namespace] {
		return false
	}
	if o.busy == nil {
		o.busy = map[string]bool{}
	}
	o.busy[namespace] = true
	return true
}

func (o *ownedNamespaces) leave(namespace string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.busy, namespace)
}

// Call runs g as a subgraph of the node that ctx belongs to, with in as its input, and returns its final state. Unlike
// [Builder.Subgraph] it shares no channels: the node maps its state to the input and the result to its update. Outside a node it is
// an error that is [ErrNoParent].
//
// When the subgraph is interrupted Call returns an error that is [ErrInterrupted], which the node must return too. The node then
// runs again from its beginning when the run continues, and Call continues the subgraph, or returns its result at once if it had
// finished; in is used only by the first call. A node that calls several subgraphs must call them in the same order each time.
func (g *Graph) Call(ctx context.Context, in Update) (State, error) {
	t := taskFrom(ctx)
	if t == nil {
		return State{schema: g.schema, cells: make([]cell, len(g.schema.channels))}, fmt.Errorf("calling graph %q outside a node: %w", g.name, ErrNoParent)
	}
	if in == nil {
		in = Update{}
	}
	return g.sub(ctx, t, in, nil)
}

// sub runs g as a subgraph of task t.
func (g *Graph) sub(ctx context.Context, t *taskCalls, in Update, forward []forwarding) (State, error) {
	n, err := t.nextCall()
	if err != nil {
		return State{}, err
	}
	above := t.scope
	path, lineage := g.pathBelow(above.path, t.node, t.id), t.id
	if n > 0 {
		path = append(path, strconv.Itoa(n))
		lineage += taskSeparator + strconv.Itoa(n)
	}
	if g.opts.AsSubgraph == Own {
		if isNumber(t.node) && len(above.path) > 0 {
			return State{}, fmt.Errorf("running graph %q as a subgraph: it keeps its state by the name of its node, and %q would stand for a second call of one; give the node another name", g.name, t.node)
		}
		namespace := joinNamespace(path)
		if !above.owned.enter(namespace) {
			return State{}, fmt.Errorf("running graph %q as a subgraph: it keeps its state in namespace %q, which another task of the superstep uses", g.name, namespace)
		}
		defer above.owned.leave(namespace)
	}
	cfg := above.cfg
	cfg.from, cfg.answers, cfg.command, cfg.labels = "", nil, nil, nil
	cfg.lineage, cfg.forward = lineage, forward
	cfg.before, cfg.after = slices.Clone(g.opts.InterruptBefore), slices.Clone(g.opts.InterruptAfter)
	if !cfg.subgraphs {
		cfg.modes = nil
	}
	s := &scope{cfg: cfg, path: path, above: t, owned: above.owned, rootSeq: t.rootSeq, rewind: above.rewind}
	if g.opts.AsSubgraph != None {
		s.saver, s.lease = above.saver, above.lease
	}
	final, err := g.start(ctx, in, s, func(ev Event) bool { t.pass(ev); return true })
	return final, t.halt(err, s)
}

// pathBelow is the namespace of g as the subgraph of a task. A graph that keeps its state keeps it by nodes, whichever tasks run
// them.
func (g *Graph) pathBelow(above []string, node, task string) []string {
	path := append(slices.Clone(above), node+taskSeparator+task)
	if g.opts.AsSubgraph != Own {
		return path
	}
	var nodes []string
	for i, part := range path {
		if name, _, isTask := strings.Cut(part, taskSeparator); isTask || i == 0 || !isNumber(part) {
			nodes = append(nodes, name)
		}
	}
	return nodes
}

func isNumber(part string) bool {
	_, err := strconv.Atoi(part)
	return err == nil
}

func joinNamespace(path []string) string { return strings.Join(path, namespaceSeparator) }

func splitNamespace(namespace string) []string {
	if namespace == "" {
		return nil
	}
	return strings.Split(namespace, namespaceSeparator)
}

// nextCall numbers the subgraphs that a task runs.
func (c *taskCalls) nextCall() (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return 0, context.Canceled
	}
	n := c.called
	c.called++
	return n, nil
}

// pass hands an event of a subgraph up.
func (c *taskCalls) pass(ev Event) {
	c.beat()
	if !c.isClosed() {
		c.scope.send(message{event: &ev})
	}
}

// halt notes that a subgraph stopped without an end, which stops the task the same way.
func (c *taskCalls) halt(err error, below *scope) error {
	var stop *InterruptedError
	switch {
	case errors.As(err, &stop):
	case errors.Is(err, ErrDrained):
	default:
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.halted = err
	if stop == nil {
		return err
	}
	for _, q := range stop.Questions {
		c.nested = append(c.nested, checkpoint.Nested{
			Interrupt: checkpoint.Interrupt{ID: q.ID, Value: q.Value}, Namespace: joinNamespace(q.Namespace), Node: q.Node,
			Unsaved: below.saver == nil,
		})
	}
	return err
}
