package graph_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/llama-agent/llama-agent/graph"
	"github.com/llama-agent/llama-agent/graph/checkpoint"
	"github.com/llama-agent/llama-agent/graph/store"
)

// A node that fails runs again, as often as the first policy says that knows the error.
func ExampleRetry() {
	page := graph.Value[string]("page")
	failures := []error{io.ErrUnexpectedEOF, io.ErrUnexpectedEOF, errors.New("no such page")}
	b := graph.New("fetch", page)
	b.Node("fetch", func(ctx context.Context, _ graph.State) (graph.Update, error) {
		task, _ := graph.Running(ctx)
		fmt.Println("attempt", task.Attempt)
		return nil, failures[task.Attempt-1]
	}, graph.Retry(graph.RetryPolicy{
		MaxAttempts: 5,
		Initial:     -1, // no pause; otherwise it grows, with Jitter by a random share
		If:          func(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) },
	}))
	b.Edge(graph.Start, "fetch")
	g := must(b.Compile(graph.Options{}))

	_, err := g.Invoke(context.Background(), graph.Update{})
	fmt.Println(err)
	// Output:
	// attempt 1
	// attempt 2
	// attempt 3
	// running node "fetch" of graph "fetch" in step 1: no such page
}

// An attempt that takes too long is cut off.
func ExampleTimeout() {
	b := graph.New("wait")
	b.Node("wait", func(ctx context.Context, _ graph.State) (graph.Update, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}, graph.Timeout(time.Millisecond))
	b.Edge(graph.Start, "wait")
	g := must(b.Compile(graph.Options{}))

	_, err := g.Invoke(context.Background(), graph.Update{})
	fmt.Println(errors.Is(err, graph.ErrTimeout))
	fmt.Println(err)
	// Output:
	// true
	// running node "wait" of graph "wait" in step 1: timed out after 1ms: context canceled
}

// A node may take as long as it shows progress. Events and effects are progress; where there are none, a heartbeat is.
func ExampleHeartbeat() {
	b := graph.New("read")
	b.Node("read", func(ctx context.Context, _ graph.State) (graph.Update, error) {
		for page := range 3 {
			fmt.Println("page", page+1)
			graph.Heartbeat(ctx)
		}
		<-ctx.Done() // the next page never comes
		return nil, ctx.Err()
	}, graph.IdleTimeout(10*time.Millisecond))
	b.Edge(graph.Start, "read")
	g := must(b.Compile(graph.Options{}))

	_, err := g.Invoke(context.Background(), graph.Update{})
	var late *graph.TimeoutError
	fmt.Println(errors.As(err, &late), late.Idle)
	// Output:
	// page 1
	// page 2
	// page 3
	// true true
}

// A handler stands in for a node that has failed, and says what runs next.
func ExampleOnError() {
	answer := graph.Value[string]("answer")
	b := graph.New("ask", answer)
	b.Node("expert", func(context.Context, graph.State) (graph.Update, error) {
		return nil, errors.New("out of office")
	}, graph.Destinations("colleague"), graph.OnError(func(_ context.Context, _ graph.State, failure *graph.NodeError) (graph.Update, error) {
		fmt.Println(failure.Node, "failed:", failure.Err)
		return graph.Update{graph.Goto(graph.To("colleague"))}, nil
	}))
	b.Node("colleague", returns(answer.Set("try turning it off and on")))
	b.Edge(graph.Start, "expert")
	g := must(b.Compile(graph.Options{}))

	fmt.Println(answer.Get(must(g.Invoke(context.Background(), graph.Update{}))))
	// Output:
	// expert failed: out of office
	// try turning it off and on
}

// The errors of a run say where they come from. A panic is one of them, and leaves the thread at its last boundary.
func ExampleNodeError() {
	b := graph.New("divide")
	zero := 0
	b.Node("divide", func(context.Context, graph.State) (graph.Update, error) { return nil, fmt.Errorf("got %d", 1/zero) })
	b.Edge(graph.Start, "divide")
	g := must(b.Compile(graph.Options{}))

	_, err := g.Invoke(context.Background(), graph.Update{})
	var failure *graph.NodeError
	var crash *graph.PanicError
	fmt.Println(errors.As(err, &failure), failure.Graph, failure.Node, failure.Step)
	fmt.Println(errors.As(err, &crash), crash.Value)
	// Output:
	// true divide divide 1
	// true runtime error: integer divide by zero
}

// A cached node doesn't run again for the same input until the result is too old.
func ExampleCache() {
	city, weather := graph.Value[string]("city"), graph.Value[string]("weather")
	now := time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)
	cache := store.NewMemory(store.Options{Clock: func() time.Time { return now }})

	b := graph.New("weather", city, weather)
	b.Node("look up", func(_ context.Context, s graph.State) (graph.Update, error) {
		fmt.Println("looking up", city.Get(s))
		return graph.Update{weather.Set("sunny")}, nil
	}, graph.Reads(city), graph.Cache(graph.CachePolicy{TTL: time.Hour}))
	b.Edge(graph.Start, "look up")
	g := must(b.Compile(graph.Options{Cache: cache}))

	for range 3 {
		for _, c := range []string{"Oslo", "Rome"} {
			must(g.Invoke(context.Background(), graph.Update{city.Set(c)}))
		}
		now = now.Add(40 * time.Minute)
	}
	// Output:
	// looking up Oslo
	// looking up Rome
	// looking up Oslo
	// looking up Rome
}

// Many tasks may be due at once; so many run.
func ExampleOptions_maxConcurrency() {
	n := graph.Value[int]("n")
	b := graph.New("crawl", n)
	b.Branch(graph.Start, func(graph.State) (next []graph.Next) {
		for i := range 3 {
			next = append(next, graph.Send("fetch", graph.Update{n.Set(i)}))
		}
		return next
	}, "fetch")
	b.Node("fetch", func(_ context.Context, s graph.State) (graph.Update, error) {
		fmt.Println("begin", n.Get(s))
		fmt.Println("end", n.Get(s))
		return nil, nil
	})
	g := must(b.Compile(graph.Options{MaxConcurrency: 1}))

	must(g.Invoke(context.Background(), graph.Update{}))
	// Output:
	// begin 0
	// end 0
	// begin 1
	// end 1
	// begin 2
	// end 2
}

// A program that has to stop lets the superstep finish, and continues the thread when it is back.
func ExampleDrain() {
	stop := make(chan struct{}) // closed by a signal handler, say
	b := graph.New("work")
	b.Node("first", func(context.Context, graph.State) (graph.Update, error) {
		close(stop)
		fmt.Println("first is done")
		return nil, nil
	})
	b.Node("second", prints("second is done"))
	b.Edge(graph.Start, "first").Edge("first", "second")
	g := must(b.Compile(graph.Options{Saver: checkpoint.NewMemory()}))
	ctx := context.Background()

	_, err := g.Invoke(ctx, graph.Update{}, graph.Thread("t"), graph.Drain(stop))
	fmt.Println(errors.Is(err, graph.ErrDrained))
	must(g.Invoke(ctx, nil, graph.Thread("t")))
	// Output:
	// first is done
	// true
	// second is done
}
