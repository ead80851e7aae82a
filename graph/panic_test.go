package graph_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/graph"
	"github.com/llama-agent/llama-agent/graph/checkpoint"
	"github.com/llama-agent/llama-agent/graph/store"
)

// explosive is a codec that panics.
type explosive struct{}

func (explosive) Encode(any) ([]byte, error) { panic("no way") }
func (explosive) Decode([]byte, any) error   { panic("no way") }

func TestRetryPolicyPanics(t *testing.T) {
	t.Parallel()
	b := graph.New("g", trail).Node("a", func(context.Context, graph.State) (graph.Update, error) { return nil, errors.New("x") },
		graph.Retry(graph.RetryPolicy{If: func(error) bool { panic("if") }})).Edge(graph.Start, "a")
	g, err := b.Compile(graph.Options{})
	require.NoError(t, err)
	_, err = g.Invoke(t.Context(), graph.Update{})
	var p *graph.PanicError
	require.ErrorAs(t, err, &p)
}

func TestCodecPanics(t *testing.T) {
	t.Parallel()
	v := graph.Value[string]("v", graph.WithCodec(explosive{}))
	b := graph.New("g", v).Node("a", func(context.Context, graph.State) (graph.Update, error) { return graph.Update{v.Set("x")}, nil },
		graph.Cache(graph.CachePolicy{Key: func(graph.State) (string, error) { return "", nil }})).Edge(graph.Start, "a")
	g, err := b.Compile(graph.Options{Saver: checkpoint.NewMemory(), Cache: store.NewMemory(store.Options{})})
	require.NoError(t, err)
	for _, mode := range []graph.Durability{graph.Sync, graph.Async, graph.Exit} {
		_, err = g.Invoke(t.Context(), graph.Update{}, graph.Thread(string(mode)), graph.WithDurability(mode))
		require.ErrorAs(t, err, new(*graph.PanicError))
		require.ErrorContains(t, err, `node "a" of graph "g" in step 1: encoding a value of channel "v"`)
	}
	// What is only cached needn't be encoded.
	g, err = b.Compile(graph.Options{Cache: store.NewMemory(store.Options{})})
	require.NoError(t, err)
	st, err := g.Invoke(t.Context(), graph.Update{})
	require.NoError(t, err)
	require.Equal(t, "x", v.Get(st))
}
