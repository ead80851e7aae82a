package graph

import (
	"slices"
)

// Diagram is what leads where in a graph, for drawings and for programs that show graphs; its JSON form is stable. Nodes and
// edges come in order of declaration. It is the caller's to change: edges to nodes that aren't there are not drawn.
type Diagram struct {
	Name  string        `json:"name"` // of the graph
	Nodes []DiagramNode `json:"nodes"`
	Edges []DiagramEdge `json:"edges"`

	leftToRight bool
}

// DiagramNode is a node of a [Diagram].
type DiagramNode struct {
	Name            string   `json:"name"`
	Deferred        bool     `json:"deferred,omitempty"`
	HandlesErrors   bool     `json:"handles_errors,omitempty"`   // see [OnError]
	InterruptBefore bool     `json:"interrupt_before,omitempty"` // a breakpoint of the graph's [Options]
	InterruptAfter  bool     `json:"interrupt_after,omitempty"`  // likewise
	Graph           string   `json:"graph,omitempty"`            // of a subgraph node: the name of the graph it runs
	Subgraph        *Diagram `json:"subgraph,omitempty"`         // that graph, when it is shown; see [Expand]
}

// DiagramEdge says that To may be due after From.
type DiagramEdge struct {
	Kind EdgeKind `json:"kind"`
	From []string `json:"from"` // a node or [Start]; of a join several nodes
	To   string   `json:"to"`   // a node, [End] or [AnyNode]
}

// EdgeKind says when an edge of a [Diagram] is followed.
type EdgeKind string

// The kinds of edges.
const (
	StaticEdge EdgeKind = "static" // always
	BranchEdge EdgeKind = "branch" // when a branch chooses it
	GotoEdge   EdgeKind = "goto"   // when the node asks for it; see [Destinations]
	JoinEdge   EdgeKind = "join"   // when all of From have finished
)

// AnyNode is the target of a branch that declares none.
const AnyNode = "*"

// DiagramOption configures [Graph.Diagram].
type DiagramOption func(*diagramConfig)

type diagramConfig struct {
	levels      int
	leftToRight bool
}

// Expand shows what is inside subgraph nodes, so many levels deep; a negative number means all. Without it a subgraph is
// one node. Graphs that nodes run with [Graph.Call] aren't known to the graph, and never shown.
func Expand(levels int) DiagramOption { return func(c *diagramConfig) { c.levels = levels } }

// LeftToRight draws from left to right instead of from top to bottom.
func LeftToRight() DiagramOption { return func(c *diagramConfig) { c.leftToRight = true } }

// Diagram describes the graph. A node that nothing is said to follow leads to [End].
func (g *Graph) Diagram(opts ...DiagramOption) Diagram {
	var c diagramConfig
	for _, opt := range opts {
		opt(&c)
	}
	d := g.diagram(c.levels)
	d.leftToRight = c.leftToRight
	return d
}

func (g *Graph) diagram(levels int) Diagram {
	d := Diagram{Name: g.name, Nodes: make([]DiagramNode, 0, len(g.nodeOrder)), Edges: []DiagramEdge{}}
	for _, name := range g.nodeOrder {
		n := g.nodes[name]
		node := DiagramNode{
			Name: name, Deferred: n.deferred, HandlesErrors: n.onError != nil,
			InterruptBefore: namesNode(g.opts.InterruptBefore, name), InterruptAfter: namesNode(g.opts.InterruptAfter, name),
		}
		if n.child != nil {
			node.Graph = n.child.name
			if levels != 0 {
				below := n.child.diagram(levels - 1)
				node.Subgraph = &below
			}
		}
		d.Nodes = append(d.Nodes, node)
	}
	for _, from := range slices.Concat([]string{Start}, g.nodeOrder) {
		g.edgesOf(&d, from)
	}
	for _, j := range g.topo.joins {
		d.add(JoinEdge, j.to, j.from...)
	}
	return d
}

// namesNode reports whether breakpoints are on a node.
func namesNode(breakpoints []string, node string) bool {
	return slices.Contains(breakpoints, node) || slices.Contains(breakpoints, "*")
}

// edgesOf adds what leads from one node, joins left out.
func (g *Graph) edgesOf(d *Diagram, from string) {
	before := len(d.Edges)
	for _, to := range g.topo.edges[from] {
		d.add(StaticEdge, to, from)
	}
	for _, br := range g.topo.branches[from] {
		if len(br.targets) == 0 {
			d.add(BranchEdge, AnyNode, from)
		}
		for _, to := range br.targets {
			d.add(BranchEdge, to, from)
		}
	}
	if n := g.nodes[from]; n != nil {
		for _, to := range n.destinations {
			d.add(GotoEdge, to, from)
		}
	}
	if len(d.Edges) == before && from != Start && len(g.topo.joinsOf[from]) == 0 {
		d.add(StaticEdge, End, from)
	}
}

// add adds an edge unless it is there.
func (d *Diagram) add(kind EdgeKind, to string, from ...string) {
	same := func(e DiagramEdge) bool { return e.Kind == kind && e.To == to && slices.Equal(e.From, from) }
	if !slices.ContainsFunc(d.Edges, same) {
		d.Edges = append(d.Edges, DiagramEdge{kind, slices.Clone(from), to})
	}
}
