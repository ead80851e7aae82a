package graph_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/graph"
	"github.com/llama-agent/llama-agent/graph/checkpoint"
	"github.com/llama-agent/llama-agent/graph/store"
)

func TestToParentIsNoFailure(t *testing.T) {
	t.Parallel()
	var n atomic.Int32
	child, err := graph.New("c", trail).Node("a", func(context.Context, graph.State) (graph.Update, error) {
		n.Add(1)
		return graph.Update{graph.ToParent(graph.Update{trail.Add("up")})}, nil
	}, graph.Retry(graph.RetryPolicy{Initial: -1}), graph.OnError(func(context.Context, graph.State, *graph.NodeError) (graph.Update, error) {
		return graph.Update{trail.Add("handled")}, nil
	})).Edge(graph.Start, "a").Compile(graph.Options{})
	require.NoError(t, err)
	g, err := graph.New("g", trail).Subgraph("s", child).Edge(graph.Start, "s").Compile(graph.Options{})
	require.NoError(t, err)
	st, err := g.Invoke(t.Context(), graph.Update{})
	require.NoError(t, err)
	require.Equal(t, []string{"up"}, trail.Get(st))
	require.EqualValues(t, 1, n.Load())
}

func TestOtherShapeOfSubgraph(t *testing.T) {
	t.Parallel()
	s := checkpoint.NewMemory()
	build := func(extra ...graph.Channel) *graph.Graph {
		cb := graph.New("c", append([]graph.Channel{trail}, extra...)...)
		cb.Node("w", func(context.Context, graph.State) (graph.Update, error) {
			u := graph.Update{trail.Add("w")}
			if len(extra) > 0 {
				u = append(u, total.Merge(1))
			}
			return u, nil
		}).Node("ask", func(ctx context.Context, _ graph.State) (graph.Update, error) {
			a, err := graph.Interrupt[string](ctx, "?")
			return graph.Update{trail.Add(a)}, err
		}).Edge(graph.Start, "w").Edge("w", "ask")
		child, err := cb.Compile(graph.Options{})
		require.NoError(t, err)
		g, err := graph.New("g", append([]graph.Channel{trail}, extra...)...).Subgraph("s", child).Edge(graph.Start, "s").Compile(graph.Options{Saver: s})
		require.NoError(t, err)
		return g
	}
	_, err := build(total).Invoke(t.Context(), graph.Update{}, graph.Thread("t"))
	require.ErrorIs(t, err, graph.ErrInterrupted)
	g := build()
	_, err = g.State(t.Context(), "t", graph.WithSubgraphs())
	t.Log(err)
	st, err := g.Invoke(t.Context(), nil, graph.Thread("t"), graph.Resume("yes"), graph.AllowOtherShape())
	require.NoError(t, err)
	require.Equal(t, []string{"w", "yes"}, trail.Get(st))
}

func TestOtherShapeAboveSubgraph(t *testing.T) {
	t.Parallel()
	s := checkpoint.NewMemory()
	cb := graph.New("c", trail, total)
	cb.Node("w", func(context.Context, graph.State) (graph.Update, error) {
		return graph.Update{trail.Add("w"), total.Merge(1)}, nil
	}).
		Node("ask", func(ctx context.Context, _ graph.State) (graph.Update, error) {
			a, err := graph.Interrupt[string](ctx, "?")
			return graph.Update{trail.Add(a)}, err
		}).Edge(graph.Start, "w").Edge("w", "ask")
	child, err := cb.Compile(graph.Options{})
	require.NoError(t, err)
	build := func(chs ...graph.Channel) *graph.Graph {
		g, err := graph.New("g", chs...).Subgraph("s", child).Edge(graph.Start, "s").Compile(graph.Options{Saver: s})
		require.NoError(t, err)
		return g
	}
	_, err = build(trail, total).Invoke(t.Context(), graph.Update{}, graph.Thread("t"))
	require.ErrorIs(t, err, graph.ErrInterrupted)
	st, err := build(trail).Invoke(t.Context(), nil, graph.Thread("t"), graph.Resume("yes"), graph.AllowOtherShape())
	require.NoError(t, err)
	require.Equal(t, []string{"w", "yes"}, trail.Get(st))
}

func TestOwnBelowNodesNamedByNumbers(t *testing.T) {
	t.Parallel()
	inner, err := graph.New("i", trail, kept).Node("k", func(_ context.Context, s graph.State) (graph.Update, error) {
		return graph.Update{kept.Add("x"), trail.Add(fmt.Sprint(len(kept.Get(s))))}, nil
	}).Edge(graph.Start, "k").Compile(graph.Options{AsSubgraph: graph.Own})
	require.NoError(t, err)
	mid, err := graph.New("m", trail).Subgraph("in", inner).Edge(graph.Start, "in").Compile(graph.Options{AsSubgraph: graph.Own})
	require.NoError(t, err)
	g, err := graph.New("g", trail).Subgraph("1", mid).Subgraph("2", mid).Edge(graph.Start, "1").Edge("1", "2").Compile(graph.Options{Saver: checkpoint.NewMemory()})
	require.NoError(t, err)
	st, err := g.Invoke(t.Context(), graph.Update{}, graph.Thread("t"))
	require.NoError(t, err)
	require.Equal(t, []string{"0", "0"}, trail.Get(st))
}

func TestWrongAnswerBelowIsNoFailure(t *testing.T) {
	t.Parallel()
	child, err := graph.New("c", trail).Node("ask", func(ctx context.Context, s graph.State) (graph.Update, error) {
		n, err := graph.Interrupt[int](ctx, "how many?")
		return graph.Update{trail.Add(fmt.Sprint(n))}, err
	}).Edge(graph.Start, "ask").Compile(graph.Options{})
	require.NoError(t, err)
	g, err := graph.New("g", trail).Subgraph("s", child, graph.Retry(graph.RetryPolicy{Initial: -1}), graph.OnError(func(context.Context, graph.State, *graph.NodeError) (graph.Update, error) {
		return graph.Update{trail.Add("handled")}, nil
	})).Edge(graph.Start, "s").Compile(graph.Options{Saver: checkpoint.NewMemory()})
	require.NoError(t, err)
	_, err = g.Invoke(t.Context(), graph.Update{}, graph.Thread("t"))
	require.ErrorIs(t, err, graph.ErrInterrupted)
	_, err = g.Invoke(t.Context(), nil, graph.Thread("t"), graph.Resume("many"))
	require.ErrorAs(t, err, new(*graph.AnswerError))
	st, err := g.Invoke(t.Context(), nil, graph.Thread("t"), graph.Resume(3))
	require.NoError(t, err)
	require.Equal(t, []string{"3"}, trail.Get(st))
}

// TestOwnBelowNumber has a node whose namespace would be that of its parent's second call.
func TestOwnBelowNumber(t *testing.T) {
	t.Parallel()
	own := lane(t, "own", graph.Options{AsSubgraph: graph.Own}, "x")
	mid, err := graph.New("mid", trail).Subgraph("1", own).Edge(graph.Start, "1").Compile(graph.Options{AsSubgraph: graph.Own})
	require.NoError(t, err)
	_, err = around(t, checkpoint.NewMemory(), mid).Invoke(t.Context(), graph.Update{}, graph.Thread("t"))
	require.ErrorContains(t, err, "give the node another name")
}

func TestAnswersAreNotCached(t *testing.T) {
	t.Parallel()
	g, err := graph.New("g", trail).Node("a", func(ctx context.Context, s graph.State) (graph.Update, error) {
		a, err := graph.Interrupt[string](ctx, "may I?")
		return graph.Update{trail.Add(a)}, err
	}, graph.Cache(graph.CachePolicy{})).Edge(graph.Start, "a").Compile(graph.Options{Saver: checkpoint.NewMemory(), Cache: store.NewMemory(store.Options{})})
	require.NoError(t, err)
	_, err = g.Invoke(t.Context(), graph.Update{}, graph.Thread("t"))
	require.ErrorIs(t, err, graph.ErrInterrupted)
	_, err = g.Invoke(t.Context(), nil, graph.Thread("t"), graph.Resume("yes"))
	require.NoError(t, err)
	_, err = g.Invoke(t.Context(), graph.Update{}, graph.Thread("u"))
	require.ErrorIs(t, err, graph.ErrInterrupted)
}

// TestLaterQuestionFirst answers the second of two questions that a node asked at once.
func TestLaterQuestionFirst(t *testing.T) {
	t.Parallel()
	for _, below := range []bool{false, true} {
		b := graph.New("pair", trail).Node("ask", func(ctx context.Context, _ graph.State) (graph.Update, error) {
			x, err1 := graph.Interrupt[string](ctx, "1")
			y, err2 := graph.Interrupt[string](ctx, "2")
			return graph.Update{trail.Add(x, y)}, errors.Join(err1, err2)
		}).Edge(graph.Start, "ask")
		g, err := b.Compile(graph.Options{Saver: checkpoint.NewMemory()})
		require.NoError(t, err)
		if below {
			g = around(t, checkpoint.NewMemory(), g)
		}
		th := graph.Thread("t")
		_, err = g.Invoke(t.Context(), graph.Update{}, th)
		var stop *graph.InterruptedError
		require.ErrorAs(t, err, &stop)
		require.Len(t, stop.Questions, 2)
		first, second := graph.Answer(stop.Questions[0].ID, "a"), graph.Answer(stop.Questions[1].ID, "b")
		_, err = g.Invoke(t.Context(), nil, th, second)
		var wrong *graph.AnswerError
		require.ErrorAs(t, err, &wrong, "the answer isn't lost without a word")
		require.Equal(t, []string{stop.Questions[0].ID}, wrong.Open)
		st, err := g.Invoke(t.Context(), nil, th, second, first)
		require.NoError(t, err)
		require.Subset(t, trail.Get(st), []string{"a", "b"})
	}
}

func TestEditHasNoStream(t *testing.T) {
	t.Parallel()
	g := chain(t, graph.Options{Saver: checkpoint.NewMemory()}, "a")
	_, err := g.UpdateState(t.Context(), "t", "a", nil, graph.Modes(graph.Checkpoints))
	require.NoError(t, err)
}

// TestStuckBelow: that a node of a subgraph was abandoned isn't hidden by the end of the context that it ignored.
func TestStuckBelow(t *testing.T) {
	t.Parallel()
	started, release := make(chan struct{}, 2), make(chan struct{})
	b := graph.New("inner", trail).Node("x", func(context.Context, graph.State) (graph.Update, error) {
		started <- struct{}{}
		<-release
		return graph.Update{trail.Add("x")}, nil
	}).Edge(graph.Start, "x")
	child, err := b.Compile(graph.Options{CancelGrace: time.Millisecond})
	require.NoError(t, err)
	g := around(t, checkpoint.NewMemory(), child)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-started
		cancel()
	}()
	_, err = g.Invoke(ctx, graph.Update{}, graph.Thread("t"))
	require.ErrorIs(t, err, graph.ErrStuck)
	require.ErrorContains(t, err, `node "x" of graph "inner"`)
	close(release)
	st, err := g.Invoke(t.Context(), nil, graph.Thread("t"))
	require.NoError(t, err)
	require.Equal(t, []string{"first", "x", "last"}, trail.Get(st))
}
