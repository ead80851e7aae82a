package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/llama-agent/llama-agent/graph"
)

// The channels of the graph.
var (
	order   = graph.Value[string]("order")
	receipt = graph.Value[string]("receipt")
	mailed  = graph.Value[string]("mailed")
)

func newGraph(w world, opts graph.Options) (*graph.Graph, error) {
	b := graph.New("order", order, receipt, mailed)
	b.Node("charge", w.charge)
	b.Node("mail", w.mail)
	b.Edge(graph.Start, "charge").Edge("charge", "mail")
	return b.Compile(opts)
}

// charge takes the money. The bank knows requests by a key and takes the money for each once, so the effect may run again: that is
// what Idempotent says. The ID of the task is a good key, since it stays the same when the task runs again.
func (w world) charge(ctx context.Context, s graph.State) (graph.Update, error) {
	task, _ := graph.Running(ctx)
	r, err := graph.Once(ctx, "charge", func(context.Context) (string, error) {
		return w.bank(task.Task, order.Get(s))
	}, graph.Idempotent())
	return graph.Update{receipt.Set(r)}, err
}

// mail sends the receipt. A mail that was sent can't be told from one that was not, so after a crash a person decides.
func (w world) mail(ctx context.Context, s graph.State) (graph.Update, error) {
	send := func(context.Context) (string, error) { return w.outbox(order.Get(s), receipt.Get(s)) }
	id, err := graph.Once(ctx, "mail", send)
	if errors.Is(err, graph.ErrOutcomeUnknown) {
		again, askErr := graph.Interrupt[bool](ctx, fmt.Sprintf("the receipt of order %s may have been sent; send it again?", order.Get(s)))
		switch {
		case askErr != nil:
			return nil, askErr
		case !again:
			return graph.Update{mailed.Set("the receipt was sent before the crash")}, nil
		}
		id, err = graph.Once(ctx, "mail", send, graph.Idempotent())
	}
	return graph.Update{mailed.Set("the receipt was sent as " + id)}, err
}
