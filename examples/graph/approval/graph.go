package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/llama-agent/llama-agent/graph"
)

// decision is what the person answers. It travels as JSON, so an answer may come from a web page as well.
type decision struct {
	Send   bool   `json:"send"`
	Change string `json:"change,omitempty"` // what to change, if it isn't to be sent; empty: drop it
}

// The channels of the graph.
var (
	request = graph.Value[string]("request")
	notes   = graph.Append[string]("notes") // what to change
	draft   = graph.Value[string]("draft")
	outcome = graph.Value[string]("outcome")
)

// desk does the work of the nodes.
type desk struct {
	wait time.Duration
	out  io.Writer
}

func newGraph(d desk, opts graph.Options) (*graph.Graph, error) {
	b := graph.New("approval", request, notes, draft, outcome)
	b.Node("write", d.write)
	b.Node("review", review, graph.Destinations("write", "send"))
	b.Node("send", d.send)
	b.Edge(graph.Start, "write").Edge("write", "review")
	return b.Compile(opts)
}

// write is where a model would write.
func (d desk) write(_ context.Context, s graph.State) (graph.Update, error) {
	fmt.Fprintln(d.out, "Writing a reply.")
	text := fmt.Sprintf("Dear customer,\nyou asked: %q We look into it.", request.Get(s))
	for _, note := range notes.Get(s) {
		text += fmt.Sprintf("\n(Changed: %s)", note)
	}
	return graph.Update{draft.Set(text)}, nil
}

// review asks. It runs twice: up to the question, and with the answer from its beginning.
func review(ctx context.Context, s graph.State) (graph.Update, error) {
	d, err := graph.Interrupt[decision](ctx, draft.Get(s))
	switch {
	case err != nil:
		return nil, err
	case d.Send:
		return graph.Update{graph.Goto(graph.To("send"))}, nil
	case d.Change != "":
		return graph.Update{notes.Add(d.Change), graph.Goto(graph.To("write"))}, nil
	}
	return graph.Update{outcome.Set("the reply was dropped")}, nil
}

// send leaves time to think again. What it does to the world is an effect, which doesn't happen again when the node does.
func (d desk) send(ctx context.Context, s graph.State) (graph.Update, error) {
	fmt.Fprintf(d.out, "Sending in %v. Ctrl-C stops it.\n", d.wait)
	select {
	case <-time.After(d.wait):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	id, err := graph.Once(ctx, "send", func(context.Context) (string, error) {
		fmt.Fprintln(d.out, "Sent:", strings.ReplaceAll(draft.Get(s), "\n", " "))
		return "mail 1", nil
	})
	return graph.Update{outcome.Set("the reply was sent as " + id)}, err
}
