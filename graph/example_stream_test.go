package graph_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/llama-agent/llama-agent/graph"
	"github.com/llama-agent/llama-agent/graph/checkpoint"
	"github.com/llama-agent/llama-agent/graph/store"
)

// Each kind of event is a mode. These say when tasks begin and end, and what is stored.
func ExampleModes() {
	n := graph.Value[int]("n")
	g := must(graph.New("watch", n).Node("work", returns(n.Set(1))).Edge(graph.Start, "work").
		Compile(graph.Options{Saver: checkpoint.NewMemory()}))

	in, modes := graph.Update{n.Set(0)}, graph.Modes(graph.Tasks, graph.Checkpoints)
	for ev, err := range g.Stream(context.Background(), in, graph.Thread("t"), modes) {
		if err != nil {
			panic(err)
		}
		switch ev.Mode {
		case graph.Tasks:
			fmt.Println(ev.Node, ev.Phase, ev.Update.Map())
		case graph.Checkpoints:
			fmt.Println("step", ev.Checkpoint.Step, "next", ev.Checkpoint.Next)
		}
	}
	// Output:
	// step -1 next [__start__]
	// step 0 next [work]
	// work begin map[]
	// work end map[n:1]
	// step 1 next []
}

// Tokens of a model's answer, each with the node that it comes from. Package llmstream sends those of any llms.Model.
func ExampleEmitMessage() {
	b := graph.New("chat")
	b.Node("answer", func(ctx context.Context, _ graph.State) (graph.Update, error) {
		for _, token := range strings.SplitAfter("I am fine.", " ") {
			graph.EmitMessage(ctx, graph.Message{Role: "assistant", Text: token})
		}
		return nil, nil
	}).Edge(graph.Start, "answer")
	g := must(b.Compile(graph.Options{}))

	for ev, err := range g.Stream(context.Background(), graph.Update{}, graph.Modes(graph.Messages)) {
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s: %q\n", ev.Node, ev.Message.Text)
	}
	// Output:
	// answer: "I "
	// answer: "am "
	// answer: "fine."
}

// A consumer leaves the stream, which stops the run at its last boundary.
func ExampleGraph_Stream_leave() {
	b := graph.New("count").Node("one", prints("one")).Node("two", prints("two")).Edge(graph.Start, "one").Edge("one", "two")
	g := must(b.Compile(graph.Options{Saver: checkpoint.NewMemory()}))
	ctx := context.Background()

	for ev := range g.Stream(ctx, graph.Update{}, graph.Thread("t")) {
		fmt.Println("enough of", ev.Node)
		break
	}
	must(g.Invoke(ctx, nil, graph.Thread("t")))
	// Output:
	// one
	// enough of one
	// two
}

// A consumer that is busy doesn't hold up the run. Custom events that don't fit into the buffer are lost, and counted; the
// others always arrive.
func ExampleBuffered() {
	sent := make(chan struct{})
	b := graph.New("chatter")
	b.Node("talk", func(ctx context.Context, _ graph.State) (graph.Update, error) {
		for i := range 10 {
			graph.Emit(ctx, i)
		}
		return nil, nil
	})
	b.Node("done", func(context.Context, graph.State) (graph.Update, error) { close(sent); return nil, nil })
	b.Edge(graph.Start, "talk").Edge("talk", "done")
	g := must(b.Compile(graph.Options{}))

	got, lost := 0, 0
	for ev, err := range g.Stream(context.Background(), graph.Update{}, graph.Modes(graph.Custom, graph.Updates), graph.Buffered(4)) {
		if err != nil {
			panic(err)
		}
		<-sent // this consumer is slow
		lost += ev.Dropped
		if ev.Mode == graph.Custom {
			got++
		} else {
			fmt.Println(ev.Node, "has ended")
		}
	}
	fmt.Println(got+lost, "sent, some lost:", lost > 0)
	// Output:
	// talk has ended
	// done has ended
	// 10 sent, some lost: true
}

// Nodes reach the long-term store of their graph. It belongs to no thread.
func ExampleStoreFrom() {
	user, food := graph.Value[string]("user"), graph.Value[string]("food")
	likes := func(ctx context.Context, s graph.State) store.Typed[map[string]string] {
		return store.NewTyped[map[string]string](graph.StoreFrom(ctx), store.Namespace{"users", user.Get(s)})
	}
	b := graph.New("cook", user, food)
	b.Node("learn", func(ctx context.Context, s graph.State) (graph.Update, error) {
		if food.Get(s) == "" {
			return nil, nil
		}
		return nil, likes(ctx, s).Put(ctx, "food", map[string]string{"likes": food.Get(s)})
	})
	b.Node("cook", func(ctx context.Context, s graph.State) (graph.Update, error) {
		known, err := likes(ctx, s).Get(ctx, "food")
		fmt.Println(user.Get(s), "gets", known["likes"])
		return nil, err
	})
	b.Edge(graph.Start, "learn").Edge("learn", "cook")
	g := must(b.Compile(graph.Options{Saver: checkpoint.NewMemory(), Store: store.NewMemory(store.Options{})}))
	ctx := context.Background()

	must(g.Invoke(ctx, graph.Update{user.Set("Ada"), food.Set("ramen")}, graph.Thread("monday")))
	must(g.Invoke(ctx, graph.Update{user.Set("Ada")}, graph.Thread("tuesday")))
	// Output:
	// Ada gets ramen
	// Ada gets ramen
}
