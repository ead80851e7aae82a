package graph_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/llama-agent/llama-agent/graph"
	"github.com/llama-agent/llama-agent/graph/checkpoint"
	"github.com/llama-agent/llama-agent/graph/checkpoint/sqlite"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// A graph of two nodes over two channels.
func Example() {
	topic := graph.Value[string]("topic")
	lines := graph.Append[string]("lines")

	b := graph.New("poem", topic, lines)
	b.Node("first", func(_ context.Context, s graph.State) (graph.Update, error) {
		return graph.Update{lines.Add(topic.Get(s) + " are red")}, nil
	})
	b.Node("second", func(_ context.Context, s graph.State) (graph.Update, error) {
		return graph.Update{lines.Add(fmt.Sprintf("line %d", len(lines.Get(s))+1))}, nil
	})
	b.Edge(graph.Start, "first").Edge("first", "second").Edge("second", graph.End)
	g := must(b.Compile(graph.Options{}))

	s := must(g.Invoke(context.Background(), graph.Update{topic.Set("roses")}))
	fmt.Println(strings.Join(lines.Get(s), ", "))
	// Output: roses are red, line 2
}

// A branch decides from the state which node follows, here to loop.
func ExampleBuilder_Branch() {
	n := graph.Value[int]("n")
	b := graph.New("loop", n)
	b.Node("double", func(_ context.Context, s graph.State) (graph.Update, error) {
		return graph.Update{n.Set(2 * n.Get(s))}, nil
	})
	b.Edge(graph.Start, "double")
	b.Branch("double", func(s graph.State) []graph.Next {
		if n.Get(s) < 100 {
			return []graph.Next{graph.To("double")}
		}
		return []graph.Next{graph.To(graph.End)}
	}, "double", graph.End)
	g := must(b.Compile(graph.Options{}))
	fmt.Println(n.Get(must(g.Invoke(context.Background(), graph.Update{n.Set(3)}))))
	// Output: 192
}

// Send starts a task for each item, all at once; their results come in the order of sending.
func ExampleSend() {
	words := graph.Value[[]string]("words")
	word := graph.Value[string]("word")
	lengths := graph.Append[int]("lengths")

	b := graph.New("map", words, word, lengths)
	b.Branch(graph.Start, func(s graph.State) (next []graph.Next) {
		for _, w := range words.Get(s) {
			next = append(next, graph.Send("measure", graph.Update{word.Set(w)}))
		}
		return next
	}, "measure")
	b.Node("measure", func(_ context.Context, s graph.State) (graph.Update, error) {
		return graph.Update{lengths.Add(len(word.Get(s)))}, nil
	})
	g := must(b.Compile(graph.Options{}))
	s := must(g.Invoke(context.Background(), graph.Update{words.Set([]string{"a", "graph", "of", "nodes"})}))
	fmt.Println(lengths.Get(s))
	// Output: [1 5 2 5]
}

// A node asks for the node that follows along with its update.
func ExampleGoto() {
	text := graph.Value[string]("text")
	b := graph.New("route", text)
	b.Node("classify", func(_ context.Context, s graph.State) (graph.Update, error) {
		if strings.HasSuffix(text.Get(s), "?") {
			return graph.Update{graph.Goto(graph.To("answer"))}, nil
		}
		return nil, nil
	}, graph.Destinations("answer"))
	b.Node("answer", func(context.Context, graph.State) (graph.Update, error) {
		return graph.Update{text.Set("because")}, nil
	})
	b.Edge(graph.Start, "classify")
	g := must(b.Compile(graph.Options{}))
	for _, in := range []string{"hello", "why?"} {
		fmt.Println(text.Get(must(g.Invoke(context.Background(), graph.Update{text.Set(in)}))))
	}
	// Output:
	// hello
	// because
}

// Several kinds of events in one stream.
func ExampleGraph_Stream() {
	n := graph.Value[int]("n")
	b := graph.New("stream", n)
	b.Node("work", func(ctx context.Context, s graph.State) (graph.Update, error) {
		graph.Emit(ctx, "half way")
		return graph.Update{n.Set(n.Get(s) + 1)}, nil
	})
	b.Edge(graph.Start, "work")
	g := must(b.Compile(graph.Options{}))
	for ev, err := range g.Stream(context.Background(), graph.Update{n.Set(1)}, graph.Modes(graph.Values, graph.Updates, graph.Custom)) {
		if err != nil {
			panic(err)
		}
		switch ev.Mode {
		case graph.Values:
			fmt.Println("n is", n.Get(ev.State))
		case graph.Updates:
			fmt.Println(ev.Node, "returned", ev.Update.Map())
		case graph.Custom:
			fmt.Println(ev.Node, "says", ev.Custom)
		}
	}
	// Output:
	// n is 1
	// work says half way
	// work returned map[n:2]
	// n is 2
}

// A thread in a SQLite file continues after a failure; the node that had finished doesn't run again, and the effect of the one
// that failed doesn't happen again.
func ExampleOnce() {
	dir := must(os.MkdirTemp("", "example"))
	defer os.RemoveAll(dir)
	saver := must(sqlite.Open(context.Background(), filepath.Join(dir, "threads.sqlite"), sqlite.Options{}))
	defer saver.Close()

	receipt := graph.Value[string]("receipt")
	attempts := 0
	b := graph.New("order", receipt)
	b.Node("pick", func(context.Context, graph.State) (graph.Update, error) {
		fmt.Println("picking")
		return nil, nil
	})
	b.Node("pay", func(ctx context.Context, _ graph.State) (graph.Update, error) {
		r, err := graph.Once(ctx, "charge 5 EUR", func(context.Context) (string, error) {
			fmt.Println("charging")
			return "receipt 1", nil
		})
		if err != nil {
			return nil, err
		}
		if attempts++; attempts == 1 {
			return nil, errors.New("the printer is out of paper")
		}
		return graph.Update{receipt.Set(r)}, nil
	})
	b.Edge(graph.Start, "pick").Edge("pick", "pay")
	g := must(b.Compile(graph.Options{Saver: saver}))

	_, err := g.Invoke(context.Background(), graph.Update{}, graph.Thread("order 7"))
	fmt.Println(err)
	s := must(g.Invoke(context.Background(), nil, graph.Thread("order 7")))
	fmt.Println(receipt.Get(s))
	// Output:
	// picking
	// charging
	// running node "pay" of graph "order" in step 2: the printer is out of paper
	// receipt 1
}

// A node asks before it acts; the run ends, and goes on with the answer.
func ExampleInterrupt() {
	done := graph.Append[string]("done")
	b := graph.New("approval", done)
	b.Node("delete", func(ctx context.Context, _ graph.State) (graph.Update, error) {
		ok, err := graph.Interrupt[bool](ctx, "delete 12 files?")
		if err != nil {
			return nil, err
		}
		return graph.Update{done.Add(fmt.Sprintf("deleted: %v", ok))}, nil
	})
	b.Edge(graph.Start, "delete")
	g := must(b.Compile(graph.Options{Saver: checkpoint.NewMemory()}))

	_, err := g.Invoke(context.Background(), graph.Update{}, graph.Thread("t"))
	var stop *graph.InterruptedError
	if errors.As(err, &stop) {
		fmt.Printf("%s asks %s\n", stop.Questions[0].Node, stop.Questions[0].Value)
	}
	s := must(g.Invoke(context.Background(), nil, graph.Thread("t"), graph.Answer(stop.Questions[0].ID, true)))
	fmt.Println(done.Get(s))
	// Output:
	// delete asks "delete 12 files?"
	// [deleted: true]
}

// The state of a thread is edited as if a node had run, here the input: from an older checkpoint it is a fork.
func ExampleGraph_UpdateState() {
	n := graph.Value[int]("n")
	b := graph.New("double", n)
	b.Node("double", func(_ context.Context, s graph.State) (graph.Update, error) {
		return graph.Update{n.Set(2 * n.Get(s))}, nil
	})
	b.Edge(graph.Start, "double")
	g := must(b.Compile(graph.Options{Saver: checkpoint.NewMemory()}))
	ctx := context.Background()
	must(g.Invoke(ctx, graph.Update{n.Set(1)}, graph.Thread("t")))

	now := must(g.State(ctx, "t"))
	fmt.Println(n.Get(now.State), now.Next)
	must(g.UpdateState(ctx, "t", graph.Start, graph.Update{n.Set(50)}, graph.FromCheckpoint(now.Checkpoint.Parent)))
	fmt.Println(n.Get(must(g.Invoke(ctx, nil, graph.Thread("t")))))
	// Output:
	// 2 []
	// 100
}

// Compile reports every mistake in a graph.
func ExampleBuilder_Compile() {
	_, err := graph.New("broken").Node("a", nil).Edge(graph.Start, "a").Edge("a", "b").Compile(graph.Options{})
	fmt.Println(err)
	// Output:
	// compiling graph "broken": node "a" has no function
	// edge a → b leads to "b", which isn't a node
}
