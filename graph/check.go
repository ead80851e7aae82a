package graph

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

func (b *Builder) checkChannels(sc *schema) []error {
	var errs []error
	if b.name == "" {
		errs = append(errs, errors.New("the graph has no name"))
	}
	for i, c := range b.channels {
		if c == nil {
			errs = append(errs, fmt.Errorf("channel %d is nil", i))
			continue
		}
		if err := c.spec().check(); err != nil {
			errs = append(errs, err)
		}
		if c.Name() == forwardName {
			errs = append(errs, fmt.Errorf("channel name %q is reserved", forwardName))
			continue
		}
		if r, ok := c.(interface{ checkReduce() error }); ok {
			if err := r.checkReduce(); err != nil {
				errs = append(errs, err)
			}
		}
		if _, dup := sc.index[c.Name()]; dup {
			errs = append(errs, fmt.Errorf("channel %q is declared twice", c.Name()))
			continue
		}
		sc.index[c.Name()] = i
	}
	return errs
}

func (c *ReducedChannel[T]) checkReduce() error {
	if c.reduce == nil {
		return fmt.Errorf("channel %q has no reducer", c.name)
	}
	return nil
}

func (b *Builder) checkSchemas(g *Graph) []error {
	var in, out []error
	g.inputs, in = g.schema.mask(b.inputs, "the input")
	g.outputs, out = g.schema.mask(b.outputs, "the output")
	return slices.Concat(in, out)
}

func (b *Builder) checkNodes(g *Graph) []error {
	var errs []error
	for _, def := range b.nodes {
		n := *def // a compiled graph doesn't follow its builder
		if err := checkNodeName(g, n.name); err != nil {
			errs = append(errs, err)
			continue
		}
		errs = append(errs, n.check()...)
		var unknown []error
		n.visible, unknown = g.schema.mask(n.reads, fmt.Sprintf("node %q reads", n.name))
		errs = append(errs, unknown...)
		if n.child != nil {
			errs = append(errs, n.link(g)...)
		}
		if n.cache != nil && g.opts.Cache == nil {
			errs = append(errs, fmt.Errorf("node %q has a cache policy, but Options.Cache is nil", n.name))
		}
		g.nodes[n.name] = &n
		g.nodeOrder = append(g.nodeOrder, n.name)
	}
	return errs
}

func checkNodeName(g *Graph, name string) error {
	switch {
	case name == "":
		return errors.New("a node has no name")
	case name == Start || name == End || name == AsInput || name == AsCopy:
		return fmt.Errorf("node name %q is reserved", name)
	case name == "*":
		return errors.New(`node name "*" is reserved: breakpoints use it for all nodes`)
	case strings.ContainsAny(name, namespaceSeparator+taskSeparator):
		return fmt.Errorf("node name %q contains %q or %q, which separate the parts of namespaces", name, namespaceSeparator, taskSeparator)
	case g.nodes[name] != nil:
		return fmt.Errorf("node %q is declared twice", name)
	}
	return nil
}

// check reports mistakes in the options of a node.
func (n *nodeDef) check() []error {
	var errs []error
	fail := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("node %q "+format, append([]any{n.name}, args...)...))
	}
	if n.fn == nil && n.child == nil {
		fail("has no function")
	}
	if n.timeout < 0 {
		fail("has the negative timeout %v", n.timeout)
	}
	if n.idleTimeout < 0 {
		fail("has the negative idle timeout %v", n.idleTimeout)
	}
	for _, p := range n.retry {
		if p.MaxAttempts < 1 {
			fail("has %d attempts; at least 1 is needed", p.MaxAttempts)
		}
		if p.Jitter < 0 || p.Jitter > 1 {
			fail("has a jitter of %v; it is a share from 0 to 1", p.Jitter)
		}
		if p.Factor < 0 || p.Max < 0 {
			fail("has a retry policy with a negative factor or pause")
		}
	}
	if n.cache != nil && n.cache.TTL < 0 {
		fail("has a cache with the negative TTL %v", n.cache.TTL)
	}
	return errs
}

// checkWiring checks edges, joins and branches, and that every node can be reached.
func (b *Builder) checkWiring(g *Graph) []error {
	w := wiring{g: g, next: map[string][]string{}}
	for _, e := range b.edges {
		what := fmt.Sprintf("edge %s → %s", e.from, e.to)
		w.source(what, e.from)
		w.target(what, e.to)
		w.link(e.from, e.to)
	}
	for _, j := range b.joins {
		what := fmt.Sprintf("join %s → %s", strings.Join(j.from, "+"), j.to)
		if len(j.from) == 0 {
			w.fail("join to %q waits for no node", j.to)
		}
		if len(slices.Compact(slices.Clone(j.from))) < len(j.from) {
			w.fail("%s names a source twice", what)
		}
		for _, from := range j.from {
			if from == Start {
				w.fail("%s can't wait for the start", what)
				continue
			}
			w.source(what, from)
			w.link(from, j.to)
		}
		w.target(what, j.to)
	}
	for _, br := range b.branches {
		what := "branch from " + br.from
		w.source(what, br.from)
		if br.route == nil {
			w.fail("%s has no function", what)
		}
		for _, to := range br.targets {
			w.target(what, to)
			w.link(br.from, to)
		}
		if len(br.targets) == 0 {
			w.open = append(w.open, br.from)
		}
	}
	for _, n := range b.nodes {
		for _, to := range n.destinations {
			w.target(fmt.Sprintf("node %q", n.name), to)
			w.link(n.name, to)
		}
	}
	w.checkReachable()
	return w.errs
}

// wiring collects what leads where, and mistakes in it.
type wiring struct {
	g    *Graph
	next map[string][]string
	open []string // nodes whose branch may lead anywhere
	errs []error
}

func (w *wiring) fail(format string, args ...any) {
	w.errs = append(w.errs, fmt.Errorf(format, args...))
}

func (w *wiring) link(from, to string) { w.next[from] = append(w.next[from], to) }

func (w *wiring) source(what, name string) {
	if name == End {
		w.fail("%s begins at the end", what)
	} else if name != Start && w.g.nodes[name] == nil {
		w.fail("%s begins at %q, which isn't a node", what, name)
	}
}

func (w *wiring) target(what, name string) {
	if name == Start {
		w.fail("%s leads to the start", what)
	} else if name != End && w.g.nodes[name] == nil {
		w.fail("%s leads to %q, which isn't a node", what, name)
	}
}

func (w *wiring) checkReachable() {
	if len(w.next[Start]) == 0 && !slices.Contains(w.open, Start) {
		w.fail("nothing leads from the start to a node: add an edge or a branch from Start")
		return
	}
	seen := map[string]bool{}
	queue := []string{Start}
	for len(queue) > 0 {
		n := queue[0]
		queue = queue[1:]
		if seen[n] {
			continue
		}
		seen[n] = true
		if slices.Contains(w.open, n) {
			return
		}
		queue = append(queue, w.next[n]...)
	}
	for _, n := range w.g.nodeOrder {
		if !seen[n] {
			w.fail("node %q can't be reached from the start; if another node asks for it with Goto, declare that with Destinations", n)
		}
	}
}
