package graph_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/llama-agent/llama-agent/graph"
	"github.com/llama-agent/llama-agent/graph/checkpoint"
)

// prints makes a node that prints its name, and nothing else.
func prints(name string) graph.NodeFunc {
	return func(context.Context, graph.State) (graph.Update, error) {
		fmt.Println(name)
		return nil, nil
	}
}

// Two nodes run at the same time, in one superstep, and one that both lead to runs once after them.
func ExampleBuilder_Edge() {
	found := graph.Append[string]("found")
	b := graph.New("search", found)
	b.Node("web", returns(found.Add("a page")))
	b.Node("files", returns(found.Add("a letter")))
	b.Node("report", func(_ context.Context, s graph.State) (graph.Update, error) {
		fmt.Println(found.Get(s))
		return nil, nil
	})
	b.Edge(graph.Start, "web").Edge(graph.Start, "files")
	b.Edge("web", "report").Edge("files", "report")
	g := must(b.Compile(graph.Options{}))

	must(g.Invoke(context.Background(), graph.Update{}))
	// Output: [a letter a page]
}

// A join waits for all its sources, however many supersteps each path takes. With two edges in its place "meet" would run
// twice.
func ExampleBuilder_Join() {
	b := graph.New("meet")
	b.Node("short way", prints("short way"))
	b.Node("detour", prints("detour")).Node("long way", prints("long way"))
	b.Node("meet", prints("meet"))
	b.Edge(graph.Start, "short way").Edge(graph.Start, "detour").Edge("detour", "long way")
	b.Join([]string{"short way", "long way"}, "meet")
	g := must(b.Compile(graph.Options{MaxConcurrency: 1}))

	must(g.Invoke(context.Background(), graph.Update{}))
	// Output:
	// detour
	// short way
	// long way
	// meet
}

// A deferred node runs when nothing else is due any more, without knowing what there was.
func ExampleDeferred() {
	b := graph.New("tidy")
	b.Node("cook", prints("cook")).Node("eat", prints("eat"))
	b.Node("wash up", prints("wash up"), graph.Deferred())
	b.Edge(graph.Start, "cook").Edge("cook", "wash up").Edge("cook", "eat")
	g := must(b.Compile(graph.Options{}))

	must(g.Invoke(context.Background(), graph.Update{}))
	// Output:
	// cook
	// eat
	// wash up
}

// A loop that doesn't end is stopped. Its thread can be continued.
func ExampleMaxSteps() {
	n := graph.Value[int]("n")
	b := graph.New("count", n)
	b.Node("add", func(_ context.Context, s graph.State) (graph.Update, error) {
		return graph.Update{n.Set(n.Get(s) + 1)}, nil
	})
	b.Edge(graph.Start, "add").Edge("add", "add")
	g := must(b.Compile(graph.Options{Saver: checkpoint.NewMemory()}))
	ctx := context.Background()

	s, err := g.Invoke(ctx, graph.Update{}, graph.Thread("t"), graph.MaxSteps(3))
	fmt.Println(n.Get(s), errors.Is(err, graph.ErrRecursionLimit))
	s, err = g.Invoke(ctx, nil, graph.Thread("t"), graph.MaxSteps(2))
	fmt.Println(n.Get(s), err)
	// Output:
	// 3 true
	// 5 running graph "count": 2 supersteps were not enough, "add" due: graph: limit of supersteps reached
}

// Callers see and set what the graph shows of its state.
func ExampleBuilder_Input() {
	question, notes, answer := graph.Value[string]("question"), graph.Append[string]("notes"), graph.Value[string]("answer")
	b := graph.New("ask", question, notes, answer)
	b.Input(question).Output(answer)
	b.Node("think", returns(notes.Add("hmm"), answer.Set("42")))
	b.Edge(graph.Start, "think")
	g := must(b.Compile(graph.Options{}))
	ctx := context.Background()

	fmt.Println(must(g.Invoke(ctx, graph.Update{question.Set("life?")})).Channels())
	_, err := g.Invoke(ctx, graph.Update{answer.Set("43")})
	fmt.Println(err)
	// Output:
	// [answer]
	// the input of graph "ask" has no channel "answer"; it may write to "question"
}

// Options that most nodes share are said once.
func ExampleBuilder_Defaults() {
	b := graph.New("careful")
	b.Defaults(graph.Retry(graph.RetryPolicy{Initial: -1}))
	b.Node("flaky", func(ctx context.Context, _ graph.State) (graph.Update, error) {
		if task, _ := graph.Running(ctx); task.Attempt < 3 {
			return nil, errors.New("not yet")
		}
		fmt.Println("at last")
		return nil, nil
	}).Edge(graph.Start, "flaky")
	g := must(b.Compile(graph.Options{}))

	must(g.Invoke(context.Background(), graph.Update{}))
	// Output: at last
}

// A node sees no more than it needs.
func ExampleReads() {
	name, salary := graph.Value[string]("name"), graph.Value[int]("salary")
	b := graph.New("greet", name, salary)
	b.Node("greet", func(_ context.Context, s graph.State) (graph.Update, error) {
		fmt.Println(s.Channels(), salary.Get(s))
		return nil, nil
	}, graph.Reads(name))
	b.Edge(graph.Start, "greet")
	g := must(b.Compile(graph.Options{}))

	must(g.Invoke(context.Background(), graph.Update{name.Set("Ada"), salary.Set(5000)}))
	// Output: [name] 0
}

// A task that was sent sees its private input, and the state of the thread when it asks for it.
func ExampleState_Shared() {
	currency, price := graph.Value[string]("currency"), graph.Value[int]("price")
	labels := graph.Append[string]("labels")
	b := graph.New("label", currency, price, labels)
	b.Branch(graph.Start, func(graph.State) []graph.Next {
		return []graph.Next{graph.Send("label", graph.Update{price.Set(3)}), graph.Send("label", graph.Update{price.Set(4)})}
	}, "label")
	b.Node("label", func(_ context.Context, s graph.State) (graph.Update, error) {
		return graph.Update{labels.Add(fmt.Sprint(price.Get(s), " ", currency.Get(s.Shared())))}, nil
	})
	g := must(b.Compile(graph.Options{}))

	fmt.Println(labels.Get(must(g.Invoke(context.Background(), graph.Update{currency.Set("EUR")}))))
	// Output: [3 EUR 4 EUR]
}

// What a node needs besides the state it gets as any Go function does: from its receiver or closure when it is the same for all
// runs, from the context when it is the caller's.
func ExampleNodeFunc() {
	type userKey struct{}
	greeting := graph.Value[string]("greeting")
	salutation := "Dear" // could be a model or a database

	b := graph.New("greet", greeting)
	b.Node("greet", func(ctx context.Context, _ graph.State) (graph.Update, error) {
		return graph.Update{greeting.Set(fmt.Sprintf("%s %s,", salutation, ctx.Value(userKey{})))}, nil
	})
	b.Edge(graph.Start, "greet")
	g := must(b.Compile(graph.Options{}))

	ctx := context.WithValue(context.Background(), userKey{}, "Ada")
	fmt.Println(greeting.Get(must(g.Invoke(ctx, graph.Update{}))))
	// Output: Dear Ada,
}
