package graph_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/llama-agent/llama-agent/graph"
)

// tracedGraph is a graph of a scenario, built with the public API of package graph.
type tracedGraph struct {
	pass     *tracePass
	spec     *traceGraph
	path     string       // of its nodes in what the scenario observes: empty, or names that end in a slash
	outer    *tracedGraph // that it is declared in
	channels []*traceChannel
	arg      *graph.ValueChannel[any] // private input of a Send task, which can be any JSON
	subs     map[string]*tracedGraph  // of subgraph nodes
	called   map[string]*tracedGraph  // of the action invoke
	compiled *graph.Graph
	unbroken *graph.Graph // the same without breakpoints of its own
}

// buildTraced builds a graph and all graphs inside it. opts are the options of the root.
func (p *tracePass) buildTraced(spec *traceGraph, path string, outer *tracedGraph, opts graph.Options) (*tracedGraph, error) {
	g := &tracedGraph{pass: p, spec: spec, path: path, outer: outer,
		arg:  graph.Value[any]("private input of " + path),
		subs: map[string]*tracedGraph{}, called: map[string]*tracedGraph{}}
	for _, c := range spec.Channels {
		g.channels = append(g.channels, newTraceChannel(c))
	}
	var errs []error
	inner := func(spec *traceGraph, name string) *tracedGraph {
		sub, err := p.buildTraced(spec, path+name+"/", g, graph.Options{
			AsSubgraph: map[string]graph.Scope{"own": graph.Own, "none": graph.None}[spec.Checkpointer], MaxConcurrency: opts.MaxConcurrency,
		})
		errs = append(errs, err)
		return sub
	}
	for name, spec := range spec.Graphs {
		g.called[name] = inner(spec, name)
	}
	for i := range spec.Nodes {
		if n := &spec.Nodes[i]; n.Graph != nil {
			g.subs[n.Name] = inner(n.Graph, n.Name)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	b, err := g.builder()
	if err != nil {
		return nil, err
	}
	if g.unbroken, err = b.Compile(opts); err != nil {
		return nil, err
	}
	opts.InterruptBefore, opts.InterruptAfter = spec.InterruptBefore, spec.InterruptAfter
	g.compiled, err = b.Compile(opts)
	return g, err
}

// pick returns the traced channels with these names.
func (g *tracedGraph) pick(names []string) ([]graph.Channel, error) {
	var picked []graph.Channel
	for _, name := range names {
		c := g.channel(name)
		if c == nil {
			return nil, fmt.Errorf("no channel %q in %v", name, g.spec.Channels)
		}
		picked = append(picked, c.channel)
	}
	return picked, nil
}

func (g *tracedGraph) channel(name string) *traceChannel {
	for _, c := range g.channels {
		if c.name == name {
			return c
		}
	}
	return nil
}

func (g *tracedGraph) builder() (*graph.Builder, error) {
	all := []graph.Channel{g.arg}
	for _, c := range g.channels {
		all = append(all, c.channel)
	}
	b := graph.New("graph "+g.path, all...)
	if g.spec.Input != nil {
		in, err := g.pick(g.spec.Input)
		if err != nil {
			return nil, err
		}
		b.Input(in...)
	}
	if g.spec.Output != nil {
		out, err := g.pick(g.spec.Output)
		if err != nil {
			return nil, err
		}
		b.Output(out...)
	}
	for i := range g.spec.Nodes {
		if err := g.node(b, &g.spec.Nodes[i]); err != nil {
			return nil, err
		}
	}
	for _, e := range g.spec.Edges {
		from := make([]string, len(e.from))
		for i, name := range e.from {
			from[i] = nodeName(name)
		}
		if e.list {
			b.Join(from, nodeName(e.to))
		} else {
			b.Edge(from[0], nodeName(e.to))
		}
	}
	for i := range g.spec.Branches {
		br := &g.spec.Branches[i]
		b.Branch(nodeName(br.From), g.route(br))
	}
	return b, nil
}

// nodeName translates a node's name from the format of the scenarios.
func nodeName(name string) string {
	switch name {
	case "START":
		return graph.Start
	case "END":
		return graph.End
	}
	return name
}

// traceName is the inverse of nodeName.
func traceName(node string) string {
	switch node {
	case graph.Start:
		return "START"
	case graph.End:
		return "END"
	}
	return node
}

func (g *tracedGraph) node(b *graph.Builder, n *traceNode) error {
	var opts []graph.NodeOption
	if n.Defer {
		opts = append(opts, graph.Deferred())
	}
	if n.Retry != nil {
		opts = append(opts, graph.Retry(graph.RetryPolicy{MaxAttempts: n.Retry.MaxAttempts, Initial: -1, If: n.Retry.worth}))
	}
	if n.Reads != nil {
		reads, err := g.pick(n.Reads)
		if err != nil {
			return err
		}
		opts = append(opts, graph.Reads(append(reads, g.arg)...))
	}
	if to := g.unreached(n); len(to) > 0 {
		opts = append(opts, graph.Destinations(to...))
	}
	if sub := g.subs[n.Name]; sub != nil {
		if !g.pass.native {
			opts = append(opts, graph.ReturnAll())
		}
		b.Subgraph(n.Name, sub.compiled, opts...)
		return nil
	}
	node := &tracedNode{graph: g, spec: n, path: g.path + n.Name}
	b.Node(n.Name, node.run, opts...)
	return nil
}

// worth says which errors a node is retried for: transient ones unless the scenario says others.
func (r *traceRetry) worth(err error) bool {
	var raised *raisedError
	if !errors.As(err, &raised) {
		return false
	}
	if r.RetryOn == nil {
		return raised.Kind == "transient"
	}
	return slices.Contains(r.RetryOn, raised.Kind)
}

// unreached returns the nodes that nothing leads to but a command: package graph wants to know about them. They are declared as
// destinations of an entry node.
func (g *tracedGraph) unreached(n *traceNode) []string {
	entry := slices.IndexFunc(g.spec.Edges, func(e traceEdge) bool { return e.from[0] == "START" && e.to != "END" })
	if entry < 0 || g.spec.Edges[entry].to != n.Name {
		return nil
	}
	reached := map[string]bool{"START": true}
	for more := true; more; {
		more = false
		for _, e := range g.spec.Edges {
			if !reached[e.to] && slices.ContainsFunc(e.from, func(from string) bool { return reached[from] }) {
				reached[e.to], more = true, true
			}
		}
	}
	var to []string
	for _, n := range g.spec.Nodes {
		if !reached[n.Name] {
			to = append(to, n.Name)
		}
	}
	return to
}

// route is the function of a branch.
func (g *tracedGraph) route(br *traceBranch) func(graph.State) []graph.Next {
	return func(s graph.State) []graph.Next {
		e := traceEnv{input: g.values(s, nil)}
		for _, c := range br.Cases {
			if c.If == nil || e.holds(c.If) {
				return g.next(e.targets(c.To), g.path+br.From)
			}
		}
		return nil
	}
}

// next translates targets. Without the pass being strict, a node that isn't there is left out, as LangGraph does.
func (g *tracedGraph) next(targets []traceTarget, by string) []graph.Next {
	var next []graph.Next
	for _, t := range targets {
		name := nodeName(t.node)
		switch {
		case name != graph.End && !g.has(name):
			g.pass.mistake(traceMistake{node: name, by: by})
			if g.pass.strict {
				next = append(next, graph.To(name))
			}
		case !t.send:
			next = append(next, graph.To(name))
		case g.subs[name] != nil:
			next = append(next, graph.Send(name, g.subs[name].update(t.arg, "the input of "+by)))
		default:
			next = append(next, graph.Send(name, graph.Update{g.arg.Set(t.arg)}))
		}
	}
	return next
}

func (g *tracedGraph) has(node string) bool {
	return slices.ContainsFunc(g.spec.Nodes, func(n traceNode) bool { return n.Name == node })
}

// update translates an object of channels and values. Without the pass being strict, a channel that isn't there is left out,
// as LangGraph does.
func (g *tracedGraph) update(v any, by string) graph.Update {
	u := graph.Update{}
	values, ok := v.(map[string]any)
	if !ok && v != nil {
		panic(traceBug(fmt.Sprintf("%v is no update", v)))
	}
	for _, name := range sortedKeys(values) {
		if c := g.channel(name); c != nil {
			if c.nothing == nil || !c.nothing(values[name]) {
				u = append(u, c.update(values[name]))
			}
			continue
		}
		g.pass.mistake(traceMistake{channel: name, by: by})
		if g.pass.strict {
			u = append(u, graph.Value[any](name).Set(values[name]))
		}
	}
	return u
}

// input is update for the input of a run: channels outside the input schema are left out too.
func (g *tracedGraph) input(v any, by string) graph.Update {
	values, ok := v.(map[string]any)
	if !ok || g.spec.Input == nil {
		return g.update(v, by)
	}
	known := map[string]any{}
	for name, v := range values {
		if slices.Contains(g.spec.Input, name) || g.channel(name) == nil || g.pass.strict {
			known[name] = v
		}
		if g.channel(name) != nil && !slices.Contains(g.spec.Input, name) {
			g.pass.mistake(traceMistake{channel: name, by: by})
		}
	}
	return g.update(known, by)
}

// values is the state as the scenarios show it: channels with a reducer are there from the beginning. With only, it is cut
// down to those.
func (g *tracedGraph) values(s graph.State, only []string) map[string]any {
	values := map[string]any{}
	for _, c := range g.channels {
		v, ok := c.lookup(s)
		switch {
		case only != nil && !slices.Contains(only, c.name):
		case ok:
			values[c.name] = v
		case c.zero != nil:
			values[c.name] = c.zero
		}
	}
	return values
}

// lexical finds a graph for the action invoke: in the node's own graph or one around it.
func (g *tracedGraph) lexical(name string) *tracedGraph {
	for at := g; at != nil; at = at.outer {
		if sub := at.called[name]; sub != nil {
			return sub
		}
	}
	panic(traceBug(fmt.Sprintf("no graph %q for a node of %q", name, strings.TrimSuffix(g.path, "/"))))
}
