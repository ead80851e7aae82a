package graph

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Start and End stand for the beginning and the end of a graph in edges, joins and branches.
const (
	Start = "__start__"
	End   = "__end__"
)

// NodeFunc is the work of a node. An update that comes with an error is ignored. It reads the state as it was when the superstep began and returns what to change; it must
// not change what s refers to. It should return soon after ctx ends. It may run again after a failure, a crash or a question,
// so effects on the outside belong in [Once].
type NodeFunc func(ctx context.Context, s State) (Update, error)

// Builder collects the parts of a graph; [Builder.Compile] checks them together. A Builder is not safe for concurrent use.
type Builder struct {
	name     string
	channels []Channel
	nodes    []*nodeDef
	edges    []edge
	joins    []join
	branches []*branch
	inputs   []Channel
	outputs  []Channel
	defaults []NodeOption
}

type nodeDef struct {
	name         string
	fn           NodeFunc
	child        *Graph // of a subgraph node
	returnAll    bool
	retry        []RetryPolicy
	timeout      time.Duration
	idleTimeout  time.Duration
	cache        *CachePolicy
	onError      ErrorHandler
	deferred     bool
	reads        []Channel
	destinations []string

	// Filled in by Compile.
	shared  []sharedChannel // of a subgraph node
	visible mask            // of reads
}

type edge struct{ from, to string }

type join struct {
	from []string // sorted
	to   string
}

type branch struct {
	from    string
	route   func(State) []Next
	targets []string // declared; empty: any node
}

// New begins a graph whose state has these channels.
func New(name string, channels ...Channel) *Builder {
	return &Builder{name: name, channels: slices.Clone(channels)}
}

// Node adds a node.
func (b *Builder) Node(name string, fn NodeFunc, opts ...NodeOption) *Builder {
	return b.add(&nodeDef{name: name, fn: fn}, opts)
}

func (b *Builder) add(n *nodeDef, opts []NodeOption) *Builder {
	for _, opt := range slices.Concat(b.defaults, opts) {
		opt(n)
	}
	b.nodes = append(b.nodes, n)
	return b
}

// Defaults sets options for the nodes that are added after it; a node's own options come on top.
func (b *Builder) Defaults(opts ...NodeOption) *Builder {
	b.defaults = slices.Clone(opts)
	return b
}

// Input names the channels that the input of a run may write to, all if it isn't called. For a subgraph these are the
// channels that it takes over from the graph above it.
func (b *Builder) Input(channels ...Channel) *Builder {
	b.inputs = slices.Clone(channels)
	return b
}

// Output names the channels of the state that [Graph.Invoke] and [Graph.Call] return, all if it isn't called. For a subgraph
// these are the channels that it hands back to the graph above it.
func (b *Builder) Output(channels ...Channel) *Builder {
	b.outputs = slices.Clone(channels)
	return b
}

// Edge makes to due after from. An edge from [Start] makes to an entry of the graph; one to [End] says that nothing
// follows.
func (b *Builder) Edge(from, to string) *Builder {
	b.edges = append(b.edges, edge{from, to})
	return b
}

// Join makes to due once every node of from has finished since to was last due, in whichever supersteps.
func (b *Builder) Join(from []string, to string) *Builder {
	sorted := slices.Clone(from)
	slices.Sort(sorted)
	b.joins = append(b.joins, join{sorted, to})
	return b
}

// Branch asks route, after each run of from, for the nodes that follow; no node is a valid answer. route sees the state
// with the update of from merged, but not those of the nodes that ran beside it, and must be a pure function of it. targets
// are the nodes it may choose, for checks and drawings; without any it may choose every node.
func (b *Builder) Branch(from string, route func(State) []Next, targets ...string) *Builder {
	b.branches = append(b.branches, &branch{from, route, slices.Clone(targets)})
	return b
}

// Graph is a compiled graph. It is immutable and safe for concurrent use; runs share nothing but the saver.
type Graph struct {
	name      string
	opts      Options
	schema    *schema
	forward   *AppendChannel[Write] // hidden: what a subgraph hands back
	inputs    mask
	outputs   mask
	nodes     map[string]*nodeDef
	nodeOrder []string // declaration order
	topo      *topology
	shape     string // fingerprint of shapeText
	shapeText string
}

// Name returns the graph's name.
func (g *Graph) Name() string { return g.name }

// Nodes returns the names of the nodes in order of declaration.
func (g *Graph) Nodes() []string { return slices.Clone(g.nodeOrder) }

// Compile checks the graph and returns it ready to run. Its error is a [*CompileError] with every mistake that was found.
// The builder can be changed and compiled again; a compiled graph doesn't follow.
func (b *Builder) Compile(opts Options) (*Graph, error) {
	opts = opts.withDefaults()
	g := &Graph{
		name:   b.name,
		opts:   opts,
		schema: &schema{graph: b.name, channels: slices.Clone(b.channels), index: map[string]int{}},
		nodes:  map[string]*nodeDef{},
	}
	errs := opts.check()
	errs = append(errs, b.checkChannels(g.schema)...)
	g.addForward()
	errs = append(errs, b.checkSchemas(g)...)
	errs = append(errs, b.checkNodes(g)...)
	errs = append(errs, b.checkWiring(g)...)
	for _, n := range slices.Concat(opts.InterruptBefore, opts.InterruptAfter) {
		if n != "*" && g.nodes[n] == nil {
			errs = append(errs, fmt.Errorf("a breakpoint names %q, which isn't a node", n))
		}
	}
	if len(errs) > 0 {
		return nil, &CompileError{Graph: b.name, Errs: errs}
	}
	g.topo = b.topology(g)
	g.shapeText = b.shapeText()
	g.shape = fingerprint(g.shapeText)
	return g, nil
}

func (g *Graph) unknownNode(name, by string) *UnknownNodeError {
	return &UnknownNodeError{Graph: g.name, Node: name, By: by, Known: g.nodeOrder}
}
