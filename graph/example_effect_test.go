package graph_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/llama-agent/llama-agent/graph"
	"github.com/llama-agent/llama-agent/graph/checkpoint"
)

// An effect that was cut off may or may not have happened. The run stops there until somebody who has looked says that the
// effect may run again.
func ExampleRetryUnknown() {
	lost := true
	b := graph.New("mail")
	b.Node("send", func(ctx context.Context, _ graph.State) (graph.Update, error) {
		_, err := graph.Once(ctx, "send", func(context.Context) (string, error) {
			fmt.Println("sending")
			if lost {
				return "", fmt.Errorf("connection lost: %w", graph.ErrOutcomeUnknown)
			}
			return "sent", nil
		})
		return nil, err
	}).Edge(graph.Start, "send")
	g := must(b.Compile(graph.Options{Saver: checkpoint.NewMemory()}))
	ctx := context.Background()

	_, _ = g.Invoke(ctx, graph.Update{}, graph.Thread("t"))
	lost = false
	_, err := g.Invoke(ctx, nil, graph.Thread("t"))
	var unknown *graph.OutcomeUnknownError
	fmt.Println(errors.As(err, &unknown), unknown.Node, unknown.Key)
	must(g.Invoke(ctx, nil, graph.Thread("t"), graph.RetryUnknown()))
	// Output:
	// sending
	// true send send
	// sending
}

// An effect that does no harm when it happens twice needs nobody to look. Here the other side knows requests by a key; the ID of
// the task is one that stays the same when the task runs again.
func ExampleIdempotent() {
	orders := map[string]string{} // of the shop, by request
	attempts := 0
	order := func(request string) (string, error) {
		if orders[request] == "" {
			orders[request] = fmt.Sprint("order ", len(orders)+1)
		}
		if attempts++; attempts == 1 {
			return "", fmt.Errorf("no reply from the shop: %w", graph.ErrOutcomeUnknown)
		}
		return orders[request], nil
	}
	number := graph.Value[string]("number")
	b := graph.New("shop", number)
	b.Node("buy", func(ctx context.Context, _ graph.State) (graph.Update, error) {
		task, _ := graph.Running(ctx)
		id, err := graph.Once(ctx, "buy a lamp", func(context.Context) (string, error) { return order(task.Task) }, graph.Idempotent())
		return graph.Update{number.Set(id)}, err
	}, graph.Retry(graph.RetryPolicy{Initial: -1}))
	b.Edge(graph.Start, "buy")
	g := must(b.Compile(graph.Options{Saver: checkpoint.NewMemory()}))

	s := must(g.Invoke(context.Background(), graph.Update{}, graph.Thread("t")))
	fmt.Println(number.Get(s), "after", attempts, "attempts,", len(orders), "order")
	// Output: order 1 after 2 attempts, 1 order
}

// A node knows which task it runs as.
func ExampleRunning() {
	b := graph.New("who").Node("me", func(ctx context.Context, _ graph.State) (graph.Update, error) {
		task, ok := graph.Running(ctx)
		fmt.Println(ok, task.Graph, task.Node, task.Thread, task.Step, task.Attempt, task.Task != "")
		return nil, nil
	}).Edge(graph.Start, "me")
	g := must(b.Compile(graph.Options{Saver: checkpoint.NewMemory()}))

	must(g.Invoke(context.Background(), graph.Update{}, graph.Thread("t")))
	_, ok := graph.Running(context.Background())
	fmt.Println(ok)
	// Output:
	// true who me t 1 1 true
	// false
}
