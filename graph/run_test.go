package graph_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/graph"
	"github.com/llama-agent/llama-agent/graph/checkpoint"
)

var (
	count = graph.Value[int]("count")
	trail = graph.Append[string]("trail")
	total = graph.Reduced("total", func(acc, in int) int { return acc + in })
	hint  = graph.Ephemeral[string]("hint")
)

// note returns a node that appends its name to the trail.
func note(name string) graph.NodeFunc {
	return func(context.Context, graph.State) (graph.Update, error) {
		return graph.Update{trail.Add(name)}, nil
	}
}

func chain(t testing.TB, opts graph.Options, nodes ...string) *graph.Graph {
	t.Helper()
	b := graph.New("chain", count, trail, total, hint)
	from := graph.Start
	for _, n := range nodes {
		b.Node(n, note(n)).Edge(from, n)
		from = n
	}
	g, err := b.Edge(from, graph.End).Compile(opts)
	require.NoError(t, err)
	return g
}

func TestChainRunsInOrder(t *testing.T) {
	t.Parallel()
	g := chain(t, graph.Options{}, "a", "b", "c")
	s, err := g.Invoke(t.Context(), graph.Update{trail.Add("in"), count.Set(3)})
	require.NoError(t, err)
	require.Equal(t, []string{"in", "a", "b", "c"}, trail.Get(s))
	require.Equal(t, 3, count.Get(s))
}

func TestResumeAfterFailure(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	runs := map[string]int{}
	b := graph.New("resume", trail)
	b.Node("a", func(context.Context, graph.State) (graph.Update, error) {
		runs["a"]++
		return graph.Update{trail.Add("a")}, nil
	})
	b.Node("b", func(context.Context, graph.State) (graph.Update, error) {
		if runs["b"]++; runs["b"] == 1 {
			return nil, boom
		}
		return graph.Update{trail.Add("b")}, nil
	})
	b.Edge(graph.Start, "a").Edge("a", "b")
	g, err := b.Compile(graph.Options{Saver: checkpoint.NewMemory()})
	require.NoError(t, err)

	_, err = g.Invoke(t.Context(), graph.Update{}, graph.Thread("t"))
	require.ErrorIs(t, err, boom)
	var ne *graph.NodeError
	require.ErrorAs(t, err, &ne)
	require.Equal(t, "b", ne.Node)
	require.Equal(t, 2, ne.Step)

	snap, err := g.State(t.Context(), "t")
	require.NoError(t, err)
	require.Equal(t, []string{"b"}, snap.Next)
	require.Equal(t, []string{"a"}, trail.Get(snap.State))

	s, err := g.Invoke(t.Context(), nil, graph.Thread("t"))
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, trail.Get(s))
	require.Equal(t, map[string]int{"a": 1, "b": 2}, runs)

	_, err = g.Invoke(t.Context(), nil, graph.Thread("t"))
	require.ErrorIs(t, err, graph.ErrNothingToResume)
	_, err = g.Invoke(t.Context(), nil, graph.Thread("other"))
	require.ErrorIs(t, err, graph.ErrUnknownThread)
}
