package graph_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/llama-agent/llama-agent/graph"
	"github.com/llama-agent/llama-agent/graph/checkpoint"
)

// A graph as a node of another. They share the channels that both have; what the subgraph appends comes back once.
func ExampleBuilder_Subgraph() {
	log := graph.Append[string]("log")
	scratch := graph.Value[string]("scratch") // the subgraph's own

	child := graph.New("child", log, scratch)
	child.Node("try", returns(scratch.Set("a sketch"))).Node("make", returns(log.Add("made")))
	child.Edge(graph.Start, "try").Edge("try", "make")

	b := graph.New("parent", log)
	b.Node("order", returns(log.Add("ordered")))
	b.Subgraph("workshop", must(child.Compile(graph.Options{})))
	b.Edge(graph.Start, "order").Edge("order", "workshop")
	g := must(b.Compile(graph.Options{}))

	s := must(g.Invoke(context.Background(), graph.Update{}))
	fmt.Println(log.Get(s), s.Channels())
	// Output: [ordered made] [log]
}

// A subgraph hands back what it wrote, or as in LangGraph all of its values: what was there before then counts twice.
func ExampleReturnAll() {
	log := graph.Append[string]("log")
	child := must(graph.New("child", log).Node("make", returns(log.Add("made"))).Edge(graph.Start, "make").Compile(graph.Options{}))
	for _, opts := range [][]graph.NodeOption{nil, {graph.ReturnAll()}} {
		g := must(graph.New("parent", log).Subgraph("workshop", child, opts...).Edge(graph.Start, "workshop").Compile(graph.Options{}))
		fmt.Println(log.Get(must(g.Invoke(context.Background(), graph.Update{log.Add("ordered")}))))
	}
	// Output:
	// [ordered made]
	// [ordered ordered made]
}

// A node runs a graph whose channels have nothing to do with its own.
func ExampleGraph_Call() {
	celsius, fahrenheit := graph.Value[float64]("celsius"), graph.Value[float64]("fahrenheit")
	child := graph.New("convert", celsius, fahrenheit)
	child.Node("convert", func(_ context.Context, s graph.State) (graph.Update, error) {
		return graph.Update{fahrenheit.Set(celsius.Get(s)*9/5 + 32)}, nil
	}).Edge(graph.Start, "convert")
	convert := must(child.Compile(graph.Options{}))

	report := graph.Value[string]("report")
	b := graph.New("weather", report)
	b.Node("report", func(ctx context.Context, _ graph.State) (graph.Update, error) {
		out, err := convert.Call(ctx, graph.Update{celsius.Set(20)})
		if err != nil {
			return nil, err // also when the subgraph asks something
		}
		return graph.Update{report.Set(fmt.Sprintf("20 °C are %v °F", fahrenheit.Get(out)))}, nil
	}).Edge(graph.Start, "report")
	g := must(b.Compile(graph.Options{}))

	fmt.Println(report.Get(must(g.Invoke(context.Background(), graph.Update{}))))
	// Output: 20 °C are 68 °F
}

// A node of a subgraph hands over to a node of the graph above, as the agents of a team do.
func ExampleToParent() {
	topic := graph.Value[string]("topic")
	child := graph.New("support", topic)
	child.Node("listen", returns(graph.ToParent(graph.Update{topic.Set("refund"), graph.Goto(graph.To("billing"))})))
	child.Node("talk", prints("never comes to this"))
	child.Edge(graph.Start, "listen").Edge("listen", "talk")

	b := graph.New("company", topic)
	b.Subgraph("support", must(child.Compile(graph.Options{})), graph.Destinations("billing"))
	b.Node("billing", func(_ context.Context, s graph.State) (graph.Update, error) {
		fmt.Println("billing takes over:", topic.Get(s))
		return nil, nil
	})
	b.Edge(graph.Start, "support")
	g := must(b.Compile(graph.Options{}))

	must(g.Invoke(context.Background(), graph.Update{}))
	// Output: billing takes over: refund
}

// A subgraph of scope Own remembers, in each thread, what it did when its node ran before.
func ExampleScope() {
	visits := graph.Reduced("visits", func(acc, in int) int { return acc + in })
	for _, scope := range []graph.Scope{graph.Inherit, graph.Own} {
		child := graph.New("shop", visits)
		child.Node("enter", returns(visits.Merge(1)))
		child.Node("greet", func(_ context.Context, s graph.State) (graph.Update, error) {
			fmt.Printf("scope %q: visit %d\n", scope, visits.Get(s))
			return nil, nil
		})
		child.Edge(graph.Start, "enter").Edge("enter", "greet")

		b := graph.New("town").Subgraph("shop", must(child.Compile(graph.Options{AsSubgraph: scope}))).Edge(graph.Start, "shop")
		g := must(b.Compile(graph.Options{Saver: checkpoint.NewMemory()}))
		for range 2 {
			must(g.Invoke(context.Background(), graph.Update{}, graph.Thread("t")))
		}
	}
	// Output:
	// scope "": visit 1
	// scope "": visit 1
	// scope "own": visit 1
	// scope "own": visit 2
}

// A question in a subgraph is one of the whole run. The state of the subgraph can be looked at while it waits.
func ExampleWithSubgraphs() {
	draft := graph.Value[string]("draft")
	child := graph.New("writer", draft)
	child.Node("write", returns(draft.Set("Dear Ada")))
	child.Node("ask", func(ctx context.Context, _ graph.State) (graph.Update, error) {
		ending, err := graph.Interrupt[string](ctx, "how does it end?")
		return graph.Update{draft.Set("Dear Ada, " + ending)}, err
	})
	child.Edge(graph.Start, "write").Edge("write", "ask")

	b := graph.New("mail", draft).Subgraph("writer", must(child.Compile(graph.Options{}))).Edge(graph.Start, "writer")
	g := must(b.Compile(graph.Options{Saver: checkpoint.NewMemory()}))
	ctx := context.Background()
	_, err := g.Invoke(ctx, graph.Update{}, graph.Thread("t"))
	fmt.Println(errors.Is(err, graph.ErrInterrupted))

	snap := must(g.State(ctx, "t", graph.WithSubgraphs()))
	below := snap.Tasks[0].State
	fmt.Printf("above %q, below %q, next %s\n", draft.Get(snap.State), draft.Get(below.State), below.Next)
	fmt.Println(draft.Get(must(g.Invoke(ctx, nil, graph.Thread("t"), graph.Resume("see you")))))
	// Output:
	// true
	// above "", below "Dear Ada", next [ask]
	// Dear Ada, see you
}

// The events of subgraphs come in the same stream, with their namespace.
func ExampleSubgraphs() {
	child := graph.New("child").Node("dig", idle).Edge(graph.Start, "dig")
	middle := graph.New("middle").Subgraph("team", must(child.Compile(graph.Options{}))).Edge(graph.Start, "team")
	b := graph.New("top").Subgraph("site", must(middle.Compile(graph.Options{}))).Edge(graph.Start, "site")
	g := must(b.Compile(graph.Options{}))

	for ev, err := range g.Stream(context.Background(), graph.Update{}, graph.Subgraphs()) {
		if err != nil {
			panic(err)
		}
		var path []string
		for _, part := range ev.Namespace { // "site:ID", "team:ID"
			node, _, _ := strings.Cut(part, ":")
			path = append(path, node)
		}
		fmt.Println(path, ev.Node)
	}
	// Output:
	// [site team] dig
	// [site] team
	// [] site
}
