package graph_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/llama-agent/llama-agent/graph"
	"github.com/llama-agent/llama-agent/graph/checkpoint"
)

// Runs of one thread continue each other's state; other threads have their own.
func ExampleThread() {
	messages := graph.Append[string]("messages")
	b := graph.New("chat", messages)
	b.Node("answer", func(_ context.Context, s graph.State) (graph.Update, error) {
		return graph.Update{messages.Add(fmt.Sprintf("answer %d", len(messages.Get(s))))}, nil
	})
	b.Edge(graph.Start, "answer")
	g := must(b.Compile(graph.Options{Saver: checkpoint.NewMemory()}))

	for _, said := range []struct{ thread, text string }{{"ada", "hello"}, {"ben", "good morning"}, {"ada", "are you there?"}} {
		s := must(g.Invoke(context.Background(), graph.Update{messages.Add(said.text)}, graph.Thread(said.thread)))
		fmt.Println(said.thread, messages.Get(s))
	}
	// Output:
	// ada [hello answer 1]
	// ben [good morning answer 1]
	// ada [hello answer 1 are you there? answer 3]
}

// What is known of a thread: its state, what is due, and what came of it.
func ExampleGraph_State() {
	done := graph.Append[string]("done")
	b := graph.New("errands", done)
	b.Node("bakery", returns(done.Add("bread")))
	b.Node("post", func(context.Context, graph.State) (graph.Update, error) { return nil, errors.New("closed") })
	b.Node("bank", func(ctx context.Context, _ graph.State) (graph.Update, error) {
		account, err := graph.Interrupt[string](ctx, "which account?")
		return graph.Update{done.Add("cash of " + account)}, err
	})
	b.Edge(graph.Start, "bakery").Edge("bakery", "bank").Edge("bakery", "post")
	g := must(b.Compile(graph.Options{Saver: checkpoint.NewMemory()}))
	ctx := context.Background()
	_, _ = g.Invoke(ctx, graph.Update{}, graph.Thread("t"))

	snap := must(g.State(ctx, "t"))
	fmt.Println(done.Get(snap.State), snap.Next)
	for _, task := range snap.Tasks {
		fmt.Println(task.Node, task.Done, task.Error, len(task.Questions))
	}
	// Output:
	// [bread] [post bank]
	// post false closed 0
	// bank false  1
}

// The history of a thread, newest first: a checkpoint for the input, and one for each boundary.
func ExampleGraph_History() {
	n := graph.Value[int]("n")
	b := graph.New("double", n)
	b.Node("double", func(_ context.Context, s graph.State) (graph.Update, error) {
		return graph.Update{n.Set(2 * n.Get(s))}, nil
	})
	b.Edge(graph.Start, "double")
	g := must(b.Compile(graph.Options{Saver: checkpoint.NewMemory()}))
	ctx := context.Background()
	must(g.Invoke(ctx, graph.Update{n.Set(21)}, graph.Thread("t")))

	for snap, err := range g.History(ctx, "t") {
		if err != nil {
			panic(err)
		}
		fmt.Println(snap.Checkpoint.Step, snap.Checkpoint.Source, snap.Next, n.Get(snap.State))
	}
	// Output:
	// 1 loop [] 42
	// 0 loop [double] 21
	// -1 input [__start__] 0
}

// A run begins at an older checkpoint. Its nodes run again from there: what follows is a fork, and the thread's newest state.
func ExampleFromCheckpoint() {
	n := graph.Value[int]("n")
	dice := []int{3, 6}
	b := graph.New("dice", n)
	b.Node("roll", func(context.Context, graph.State) (graph.Update, error) {
		rolled := dice[0]
		dice = dice[1:]
		return graph.Update{n.Set(rolled)}, nil
	})
	b.Edge(graph.Start, "roll")
	g := must(b.Compile(graph.Options{Saver: checkpoint.NewMemory()}))
	ctx := context.Background()
	fmt.Println(n.Get(must(g.Invoke(ctx, graph.Update{}, graph.Thread("t")))))

	for snap, err := range g.History(ctx, "t") {
		if err != nil {
			panic(err)
		}
		if len(snap.Next) > 0 { // before the roll
			fmt.Println(n.Get(must(g.Invoke(ctx, nil, graph.Thread("t"), graph.FromCheckpoint(snap.Checkpoint.ID)))))
			break
		}
	}
	for snap := range g.History(ctx, "t") {
		fmt.Println(snap.Checkpoint.Source, snap.Next, n.Get(snap.State))
	}
	// Output:
	// 3
	// 6
	// loop [] 6
	// fork [roll] 0
	// loop [] 3
	// loop [roll] 0
	// input [__start__] 0
}

// Boundaries are stored one by one before the run goes on, behind its back, or only at the end: safer, or faster.
func ExampleWithDurability() {
	n := graph.Value[int]("n")
	b := graph.New("count", n)
	b.Node("add", func(_ context.Context, s graph.State) (graph.Update, error) {
		return graph.Update{n.Set(n.Get(s) + 1)}, nil
	})
	b.Edge(graph.Start, "add")
	b.Branch("add", func(s graph.State) []graph.Next {
		if n.Get(s) < 10 {
			return []graph.Next{graph.To("add")}
		}
		return nil
	}, "add")
	g := must(b.Compile(graph.Options{Saver: checkpoint.NewMemory()}))
	ctx := context.Background()

	for _, d := range []graph.Durability{graph.Sync, graph.Async, graph.Exit} {
		must(g.Invoke(ctx, graph.Update{n.Set(0)}, graph.Thread(string(d)), graph.WithDurability(d)))
		stored := 0
		for range g.History(ctx, string(d)) {
			stored++
		}
		fmt.Println(d, n.Get(must(g.State(ctx, string(d))).State), "after", stored, "checkpoints")
	}
	// Output:
	// sync 10 after 12 checkpoints
	// async 10 after 12 checkpoints
	// exit 10 after 1 checkpoints
}

// A program has changed since it wrote a thread. That is an error, until somebody says that it is meant.
func ExampleAllowOtherShape() {
	saver := checkpoint.NewMemory()
	ctx := context.Background()
	name, age := graph.Value[string]("name"), graph.Value[int]("age")
	old := graph.New("form", name, age).Node("ask", returns(name.Set("Ada"), age.Set(41))).Edge(graph.Start, "ask")
	must(must(old.Compile(graph.Options{Saver: saver})).Invoke(ctx, graph.Update{}, graph.Thread("t")))

	city := graph.Value[string]("city")
	b := graph.New("form", name, city).Node("ask", returns(city.Set("Oslo"))).Edge(graph.Start, "ask")
	g := must(b.Compile(graph.Options{Saver: saver}))
	_, err := g.Invoke(ctx, graph.Update{}, graph.Thread("t"))
	var shape *graph.ShapeError
	if errors.As(err, &shape) {
		for _, c := range shape.Changes {
			fmt.Println(c)
		}
	}
	s := must(g.Invoke(ctx, graph.Update{}, graph.Thread("t"), graph.AllowOtherShape()))
	fmt.Println(s.Channels(), name.Get(s), city.Get(s))
	// Output:
	// channel "city": value of string is new
	// channel "age": value of int is gone
	// [name city] Ada Oslo
}

// Threads are found by labels.
func ExampleLabels() {
	saver := checkpoint.NewMemory()
	g := must(graph.New("work").Node("work", idle).Edge(graph.Start, "work").Compile(graph.Options{Saver: saver}))
	ctx := context.Background()
	for i, user := range []string{"ada", "ben", "ada"} {
		thread := fmt.Sprint("thread ", i)
		must(g.Invoke(ctx, graph.Update{}, graph.Thread(thread), graph.Labels(map[string]string{"user": user})))
	}

	for _, t := range must(saver.Threads(ctx, checkpoint.ThreadQuery{Labels: map[string]string{"user": "ada"}})) {
		fmt.Println(t.ID, t.Status, t.Labels)
	}
	// Output:
	// thread 2 done map[user:ada]
	// thread 0 done map[user:ada]
}

// One run at a time owns a thread. A second one, also of another process, learns who has it.
func ExampleLease() {
	saver := checkpoint.NewMemory()
	ctx := context.Background()
	var g *graph.Graph
	b := graph.New("work").Node("work", func(ctx context.Context, _ graph.State) (graph.Update, error) {
		_, err := g.Invoke(context.WithoutCancel(ctx), graph.Update{}, graph.Thread("t"))
		var busy *checkpoint.BusyError
		fmt.Println(errors.Is(err, graph.ErrThreadBusy), errors.As(err, &busy), busy.Owner)
		return nil, nil
	}).Edge(graph.Start, "work")
	g = must(b.Compile(graph.Options{Saver: saver}))

	must(g.Invoke(ctx, graph.Update{}, graph.Thread("t"), graph.Lease("worker 3", time.Minute)))
	// Output: true true worker 3
}

// Threads can be copied, cut down to their last checkpoints, and deleted.
func Example_threads() {
	saver := checkpoint.NewMemory() // the SQLite saver does the same
	log := graph.Append[string]("log")
	g := must(graph.New("log", log).Node("log", returns(log.Add("entry"))).Edge(graph.Start, "log").Compile(graph.Options{Saver: saver}))
	ctx := context.Background()
	for range 5 {
		must(g.Invoke(ctx, graph.Update{}, graph.Thread("t")))
	}
	entries := func(thread string) int { return len(log.Get(must(g.State(ctx, thread)).State)) }

	fmt.Println(saver.CopyThread(ctx, "t", "copy"))
	must(g.Invoke(ctx, graph.Update{}, graph.Thread("copy")))
	fmt.Println(entries("t"), "entries, and in the copy", entries("copy"))

	freed := must(saver.Prune(ctx, "t", 2))
	fmt.Println(freed.Checkpoints, "checkpoints removed,", entries("t"), "entries kept")

	must(saver.DeleteThread(ctx, "t"))
	_, err := g.State(ctx, "t")
	fmt.Println(errors.Is(err, graph.ErrUnknownThread), entries("copy"))
	// Output:
	// <nil>
	// 5 entries, and in the copy 6
	// 13 checkpoints removed, 5 entries kept
	// true 6
}
