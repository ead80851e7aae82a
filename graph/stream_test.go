package graph_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/graph"
	"github.com/llama-agent/llama-agent/graph/checkpoint"
)

// brief describes an event in a line.
func brief(ev graph.Event) string {
	switch ev.Mode {
	case graph.Values:
		return fmt.Sprintf("values %d %v", ev.Step, trail.Get(ev.State))
	case graph.Updates:
		s := fmt.Sprintf("updates %d %s %v", ev.Step, ev.Node, trail.In(ev.Update))
		if ev.Cached {
			s += " cached"
		}
		for _, q := range ev.Questions {
			s += " ask " + q.Node + " " + string(q.Value)
		}
		if ev.Stopped != nil {
			s += fmt.Sprintf(" stopped before %v", ev.Stopped)
		}
		return s
	case graph.Custom:
		return fmt.Sprintf("custom %s %v", ev.Node, ev.Custom)
	case graph.Tasks:
		return fmt.Sprintf("tasks %s %s", ev.Phase, ev.Node)
	case graph.Checkpoints:
		return fmt.Sprintf("checkpoint %d %s next %v", ev.Checkpoint.Step, ev.Checkpoint.Source, ev.Checkpoint.Next)
	}
	return "?"
}

// collect runs a graph and returns its events in brief.
func collect(t testing.TB, g *graph.Graph, in graph.Update, opts ...graph.RunOption) ([]string, error) {
	t.Helper()
	var got []string
	for ev, err := range g.Stream(t.Context(), in, opts...) {
		if err != nil {
			return got, err
		}
		got = append(got, brief(ev))
	}
	return got, nil
}

func TestSeveralModesAtOnce(t *testing.T) {
	t.Parallel()
	b := graph.New("modes", trail)
	b.Node("a", func(ctx context.Context, _ graph.State) (graph.Update, error) {
		graph.Emit(ctx, "token 1")
		graph.Emit(ctx, "token 2")
		return graph.Update{trail.Add("a")}, nil
	})
	b.Node("b", note("b")).Edge(graph.Start, "a").Edge("a", "b")
	g, err := b.Compile(graph.Options{Saver: checkpoint.NewMemory()})
	require.NoError(t, err)
	got, err := collect(t, g, graph.Update{trail.Add("in")}, graph.Thread("t"),
		graph.Modes(graph.Values, graph.Updates, graph.Custom, graph.Tasks, graph.Checkpoints))
	require.NoError(t, err)
	require.Equal(t, []string{
		"checkpoint -1 input next [__start__]",
		"values 0 [in]",
		"checkpoint 0 loop next [a]",
		"tasks begin a", "custom a token 1", "custom a token 2", "updates 1 a [a]", "tasks end a",
		"values 1 [in a]",
		"checkpoint 1 loop next [b]",
		"tasks begin b", "updates 2 b [b]", "tasks end b",
		"values 2 [in a b]",
		"checkpoint 2 loop next []",
	}, got)
	got, err = collect(t, g, graph.Update{}, graph.Thread("u"))
	require.NoError(t, err)
	require.Equal(t, []string{"updates 1 a [a]", "updates 2 b [b]"}, got, "updates are the default")
	_, err = collect(t, g, graph.Update{})
	require.ErrorIs(t, err, graph.ErrNoThread, "a forgotten thread must not lose the run")
}

func TestBreakingOffTheStream(t *testing.T) {
	t.Parallel()
	var cancelled, late atomic.Int64
	saver := checkpoint.NewMemory()
	b := graph.New("break", trail)
	b.Node("a", note("a")).Edge(graph.Start, "a")
	b.Node("b", func(ctx context.Context, _ graph.State) (graph.Update, error) {
		graph.Emit(ctx, "running")
		<-ctx.Done()
		cancelled.Add(1)
		return nil, ctx.Err()
	})
	b.Node("c", func(context.Context, graph.State) (graph.Update, error) { late.Add(1); return nil, nil })
	b.Edge("a", "b").Edge("b", "c")
	g, err := b.Compile(graph.Options{Saver: saver})
	require.NoError(t, err)
	for ev, err := range g.Stream(t.Context(), graph.Update{}, graph.Thread("t"), graph.Modes(graph.Custom)) {
		require.NoError(t, err)
		require.Equal(t, "running", ev.Custom)
		break
	}
	require.EqualValues(t, 1, cancelled.Load(), "the node must have been told and waited for")
	require.Zero(t, late.Load())
	snap, err := g.State(t.Context(), "t")
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, trail.Get(snap.State))
	require.Equal(t, []string{"b"}, snap.Next)
	require.Empty(t, snap.Tasks[0].Error, "being stopped is no failure")
	threads, err := saver.Threads(t.Context(), checkpoint.ThreadQuery{})
	require.NoError(t, err)
	require.Equal(t, checkpoint.StatusPending, threads[0].Status, "the lease must be free again")
}

func TestPanickingConsumerLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	saver := checkpoint.NewMemory()
	g := chain(t, graph.Options{Saver: saver}, "a", "b")
	require.PanicsWithValue(t, "mine", func() {
		for range g.Stream(t.Context(), graph.Update{}, graph.Thread("t")) {
			panic("mine")
		}
	})
	_, err := g.Invoke(t.Context(), nil, graph.Thread("t"))
	require.NoError(t, err, "the lease must be free")
}

func TestSlowConsumerDoesNotHoldUpNodes(t *testing.T) {
	t.Parallel()
	const events = 10_000
	finished := make(chan struct{})
	b := graph.New("slow", trail)
	b.Node("a", func(ctx context.Context, _ graph.State) (graph.Update, error) {
		defer close(finished)
		for i := range events {
			graph.Emit(ctx, i)
		}
		return nil, nil
	})
	g, err := b.Edge(graph.Start, "a").Compile(graph.Options{})
	require.NoError(t, err)
	n := 0
	for ev, err := range g.Stream(t.Context(), graph.Update{}, graph.Modes(graph.Custom)) {
		require.NoError(t, err)
		if n == 0 {
			<-finished // a consumer that waits for the node must not be waited for
		}
		require.Equal(t, n, ev.Custom)
		n++
	}
	require.Equal(t, events, n)
}

func TestEmitOutsideOfANode(t *testing.T) {
	t.Parallel()
	require.NotPanics(t, func() { graph.Emit(t.Context(), 1) })
	_, err := graph.Interrupt[int](t.Context(), "?")
	require.Error(t, err)
	v, err := graph.Once(t.Context(), "k", func(context.Context) (int, error) { return 7, nil })
	require.NoError(t, err)
	require.Equal(t, 7, v)
}

func TestTasksReadTheSameSnapshot(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	seen := map[string]string{}
	look := func(name string) graph.NodeFunc {
		return func(_ context.Context, s graph.State) (graph.Update, error) {
			mu.Lock()
			defer mu.Unlock()
			seen[name] = strings.Join(trail.Get(s), " ")
			return graph.Update{trail.Add(name)}, nil
		}
	}
	b := graph.New("snapshot", trail)
	for _, n := range []string{"c", "a", "b"} {
		b.Node(n, look(n)).Edge(graph.Start, n).Edge(n, "end")
	}
	b.Node("end", look("end"))
	g, err := b.Compile(graph.Options{MaxConcurrency: 1})
	require.NoError(t, err)
	s, err := g.Invoke(t.Context(), graph.Update{trail.Add("in")})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"a": "in", "b": "in", "c": "in", "end": "in a b c"}, seen)
	require.Equal(t, []string{"in", "a", "b", "c", "end"}, trail.Get(s))
}

func TestMaxConcurrency(t *testing.T) {
	t.Parallel()
	var running, most atomic.Int64
	b := graph.New("bounded", total)
	b.Node("w", func(context.Context, graph.State) (graph.Update, error) {
		n := running.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		time.Sleep(time.Millisecond)
		running.Add(-1)
		return graph.Update{total.Merge(1)}, nil
	})
	b.Branch(graph.Start, func(graph.State) (next []graph.Next) {
		for range 20 {
			next = append(next, graph.Send("w", nil))
		}
		return next
	}, "w")
	g, err := b.Compile(graph.Options{MaxConcurrency: 3})
	require.NoError(t, err)
	s, err := g.Invoke(t.Context(), graph.Update{})
	require.NoError(t, err)
	require.Equal(t, 20, total.Get(s))
	require.LessOrEqual(t, most.Load(), int64(3))
}

func TestRecursionLimit(t *testing.T) {
	t.Parallel()
	g := loop(t, graph.Options{Saver: checkpoint.NewMemory()}, 10, 1)
	s, err := g.Invoke(t.Context(), graph.Update{}, graph.Thread("t"), graph.MaxSteps(4))
	require.ErrorIs(t, err, graph.ErrRecursionLimit)
	require.ErrorContains(t, err, "4 supersteps")
	require.Equal(t, 4, count.Get(s))
	s, err = g.Invoke(t.Context(), nil, graph.Thread("t"), graph.MaxSteps(6))
	require.NoError(t, err, "six more are enough")
	require.Equal(t, 10, count.Get(s))
}

// TestConsumerPanics: the run has ended, and the thread is free, when the panic arrives.
func TestConsumerPanics(t *testing.T) {
	t.Parallel()
	for _, opts := range [][]graph.RunOption{nil, {graph.Buffered(2)}} {
		running := make(chan struct{})
		ended := make(chan struct{})
		b := graph.New("g", trail).Node("a", func(context.Context, graph.State) (graph.Update, error) {
			<-running
			return graph.Update{trail.Add("a")}, nil
		})
		b.Node("b", func(ctx context.Context, _ graph.State) (graph.Update, error) {
			defer close(ended)
			close(running)
			<-ctx.Done()
			time.Sleep(20 * time.Millisecond) // it needs a moment to end
			return nil, ctx.Err()
		})
		g, err := b.Edge(graph.Start, "a").Edge(graph.Start, "b").Compile(graph.Options{Saver: checkpoint.NewMemory()})
		require.NoError(t, err)
		require.PanicsWithValue(t, "consumer", func() {
			for ev := range g.Stream(t.Context(), graph.Update{}, append(opts, graph.Thread("t"))...) {
				if ev.Node == "a" {
					panic("consumer")
				}
			}
		})
		select {
		case <-ended:
		default:
			require.Fail(t, "a node still runs")
		}
		_, err = g.UpdateState(t.Context(), "t", "a", nil)
		require.NoError(t, err)
	}
}
