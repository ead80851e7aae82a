package graph_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/llama-agent/llama-agent/graph"
	"github.com/llama-agent/llama-agent/graph/checkpoint"
)

// Several nodes ask at once. Each question has an ID; the answers may come together or one by one, in any order.
func ExampleAnswer() {
	agreed := graph.Append[string]("agreed")
	asks := func(what string) graph.NodeFunc {
		return func(ctx context.Context, _ graph.State) (graph.Update, error) {
			who, err := graph.Interrupt[string](ctx, "who "+what+"?")
			if err != nil {
				return nil, err
			}
			return graph.Update{agreed.Add(who + " " + what)}, nil
		}
	}
	b := graph.New("household", agreed)
	b.Node("kitchen", asks("cooks")).Node("garden", asks("mows"))
	b.Edge(graph.Start, "kitchen").Edge(graph.Start, "garden")
	g := must(b.Compile(graph.Options{Saver: checkpoint.NewMemory()}))
	ctx := context.Background()

	_, err := g.Invoke(ctx, graph.Update{}, graph.Thread("t"))
	var stop *graph.InterruptedError
	if !errors.As(err, &stop) {
		panic(err)
	}
	answers := []graph.RunOption{graph.Thread("t")}
	for _, q := range stop.Questions {
		fmt.Printf("%s: %s\n", q.Node, q.Value)
		who := map[string]string{"kitchen": "Ada", "garden": "Ben"}[q.Node]
		answers = append(answers, graph.Answer(q.ID, who))
	}
	fmt.Println(agreed.Get(must(g.Invoke(ctx, nil, answers...))))
	// Output:
	// garden: "who mows?"
	// kitchen: "who cooks?"
	// [Ben mows Ada cooks]
}

// A node asks until the answer is good. It runs from its beginning each time, with all answers so far.
func ExampleResume() {
	age := graph.Value[int]("age")
	b := graph.New("form", age)
	b.Node("ask", func(ctx context.Context, _ graph.State) (graph.Update, error) {
		question := "how old are you?"
		for {
			n, err := graph.Interrupt[int](ctx, question)
			if err != nil {
				return nil, err
			}
			if n > 0 {
				return graph.Update{age.Set(n)}, nil
			}
			question = fmt.Sprintf("%d can't be right, how old are you?", n)
		}
	})
	b.Edge(graph.Start, "ask")
	g := must(b.Compile(graph.Options{Saver: checkpoint.NewMemory()}))
	ctx := context.Background()

	_, err := g.Invoke(ctx, graph.Update{}, graph.Thread("t"))
	for _, typed := range []int{-3, 41} {
		var stop *graph.InterruptedError
		if !errors.As(err, &stop) {
			panic(err)
		}
		fmt.Printf("%s %d\n", stop.Questions[0].Value, typed)
		_, err = g.Invoke(ctx, nil, graph.Thread("t"), graph.Resume(typed))
	}
	fmt.Println("age:", age.Get(must(g.State(ctx, "t")).State))
	// Output:
	// "how old are you?" -3
	// "-3 can't be right, how old are you?" 41
	// age: 41
}

// A breakpoint stops a run where it was not written to stop, here to look at the state and change it.
func ExampleInterruptBefore() {
	draft := graph.Value[string]("draft")
	b := graph.New("letter", draft)
	b.Node("write", returns(draft.Set("Deer Ada")))
	b.Node("post", func(_ context.Context, s graph.State) (graph.Update, error) {
		fmt.Println("posted:", draft.Get(s))
		return nil, nil
	})
	b.Edge(graph.Start, "write").Edge("write", "post")
	g := must(b.Compile(graph.Options{Saver: checkpoint.NewMemory()}))
	ctx := context.Background()

	s, err := g.Invoke(ctx, graph.Update{}, graph.Thread("t"), graph.InterruptBefore("post"))
	fmt.Println(draft.Get(s), "/", err)
	must(g.UpdateState(ctx, "t", "write", graph.Update{draft.Set("Dear Ada")}))
	must(g.Invoke(ctx, nil, graph.Thread("t")))
	// Output:
	// Deer Ada / interrupted before "post"
	// posted: Dear Ada
}

// A thread continues with a change of its state and with nodes that nothing led to.
func ExampleCommand() {
	budget := graph.Value[int]("budget")
	b := graph.New("trip", budget)
	b.Node("plan", prints("planning"), graph.Destinations("refund"))
	b.Node("book", func(_ context.Context, s graph.State) (graph.Update, error) {
		fmt.Println("booking for", budget.Get(s))
		return nil, nil
	})
	b.Node("refund", prints("refunding"))
	b.Edge(graph.Start, "plan").Edge("plan", "book")
	g := must(b.Compile(graph.Options{Saver: checkpoint.NewMemory(), InterruptAfter: []string{"plan"}, MaxConcurrency: 1}))
	ctx := context.Background()

	_, err := g.Invoke(ctx, graph.Update{budget.Set(100)}, graph.Thread("t"))
	fmt.Println(errors.Is(err, graph.ErrInterrupted))
	must(g.Invoke(ctx, nil, graph.Thread("t"), graph.Command(graph.Update{budget.Set(200), graph.Goto(graph.To("refund"))})))
	// Output:
	// planning
	// true
	// booking for 200
	// refunding
}
