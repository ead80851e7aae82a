package graph_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/llama-agent/llama-agent/graph"
	"github.com/llama-agent/llama-agent/graph/checkpoint"
)

// TestExitStoresWhileSubgraphsBegin is for the race detector: an effect stores private inputs that other tasks read.
func TestExitStoresWhileSubgraphsBegin(t *testing.T) {
	t.Parallel()
	child, err := graph.New("c", trail, hint).Node("k", func(ctx context.Context, s graph.State) (graph.Update, error) {
		return graph.Update{trail.Add(hint.Get(s))}, nil
	}).Edge(graph.Start, "k").Compile(graph.Options{})
	require.NoError(t, err)
	b := graph.New("g", trail, hint).Subgraph("s", child).Node("e", func(ctx context.Context, s graph.State) (graph.Update, error) {
		_, err := graph.Once(ctx, "k", func(context.Context) (int, error) { return 1, nil })
		return nil, err
	}).Branch(graph.Start, func(graph.State) (next []graph.Next) {
		for i := range 20 {
			next = append(next, graph.Send("s", graph.Update{hint.Set(fmt.Sprint(i))}), graph.Send("e", nil))
		}
		return next
	})
	g, err := b.Compile(graph.Options{Saver: checkpoint.NewMemory()})
	require.NoError(t, err)
	for i := range 20 {
		_, err = g.Invoke(t.Context(), graph.Update{}, graph.Thread(fmt.Sprint(i)), graph.WithDurability(graph.Exit))
		require.NoError(t, err)
	}
}

// TestExitStoresWhileSubgraphsRun is for the race detector: a goroutine that outlives its node has an effect.
func TestExitStoresWhileSubgraphsRun(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	child, err := graph.New("c", trail).Node("a", func(ctx context.Context, s graph.State) (graph.Update, error) {
		go func() {
			_, _ = graph.Once(ctx, "late", func(context.Context) (int, error) { return 1, nil })
			gate <- struct{}{}
		}()
		runtime.Gosched()
		return graph.Update{trail.Add("a")}, nil
	}).Node("b", note("b")).Node("c", note("c")).Edge(graph.Start, "a").Edge("a", "b").Edge("b", "c").Compile(graph.Options{})
	require.NoError(t, err)
	g := around(t, checkpoint.NewMemory(), child)
	for i := range 30 {
		_, err = g.Invoke(t.Context(), graph.Update{}, graph.Thread(fmt.Sprint(i)), graph.WithDurability(graph.Exit))
		require.NoError(t, err)
		<-gate
	}
}

func TestGoroutinesOfANodeAsk(t *testing.T) {
	t.Parallel()
	g, err := graph.New("g", trail).Node("a", func(ctx context.Context, s graph.State) (graph.Update, error) {
		var wg sync.WaitGroup
		errs := make([]error, 5)
		for i := range 5 {
			wg.Go(func() { _, errs[i] = graph.Interrupt[string](ctx, "?"); graph.Emit(ctx, i) })
		}
		wg.Wait()
		return graph.Update{trail.Add("ok")}, errors.Join(errs...)
	}).Edge(graph.Start, "a").Compile(graph.Options{Saver: checkpoint.NewMemory()})
	require.NoError(t, err)
	_, err = g.Invoke(t.Context(), graph.Update{}, graph.Thread("t"))
	var stop *graph.InterruptedError
	require.ErrorAs(t, err, &stop)
	var opts []graph.RunOption
	for _, q := range stop.Questions {
		opts = append(opts, graph.Answer(q.ID, "x"))
	}
	st, err := g.Invoke(t.Context(), nil, append(opts, graph.Thread("t"))...)
	require.NoError(t, err)
	require.Equal(t, []string{"ok"}, trail.Get(st))
}

// TestStatesStayAsTheyWere keeps every state that nodes, branches, streams, histories, forks and edits show.
func TestStatesStayAsTheyWere(t *testing.T) {
	t.Parallel()
	topic := graph.Topic[string]("topic")
	rapid.Check(t, func(rt *rapid.T) {
		type seen struct {
			s    graph.State
			want string
		}
		var mu sync.Mutex
		var all []seen
		keep := func(s graph.State) {
			mu.Lock()
			defer mu.Unlock()
			all = append(all, seen{s, fmt.Sprint(trail.Get(s), topic.Get(s))})
		}
		work := func(name string, n int) graph.NodeFunc {
			return func(_ context.Context, s graph.State) (graph.Update, error) {
				keep(s)
				_ = append(trail.Get(s), "mine")
				items := make([]string, n)
				for i := range items {
					items[i] = fmt.Sprint(name, count.Get(s), i)
				}
				return graph.Update{trail.Add(items...), topic.Add(items...)}, nil
			}
		}
		n := rapid.IntRange(0, 5)
		cb := graph.New("c", trail, count, topic).Node("x", work("x", n.Draw(rt, "x"))).Node("y", work("y", n.Draw(rt, "y"))).Edge(graph.Start, "x").Edge("x", "y")
		child, err := cb.Compile(graph.Options{})
		require.NoError(rt, err)
		b := graph.New("g", trail, count, topic)
		b.Node("a", work("a", n.Draw(rt, "a"))).Node("b", work("b", n.Draw(rt, "b"))).Subgraph("s", child)
		b.Node("ask", func(ctx context.Context, s graph.State) (graph.Update, error) {
			if count.Get(s)%3 == 1 {
				_, err := graph.Interrupt[string](ctx, "?")
				return nil, err
			}
			return nil, nil
		})
		b.Node("end", nextRound)
		route := func(s graph.State) []graph.Next { keep(s); return again("a", "b", "s", "ask")(s) }
		for _, x := range []string{"a", "b", "s", "ask"} {
			b.Edge(graph.Start, x)
		}
		b.Join([]string{"a", "b", "s", "ask"}, "end").Branch("end", route, "a", "b", "s", "ask")
		b.Branch("a", func(s graph.State) []graph.Next { keep(s); return nil })
		b.Branch("b", func(s graph.State) []graph.Next { keep(s); return nil })
		g, err := b.Compile(graph.Options{Saver: checkpoint.NewMemory()})
		require.NoError(rt, err)
		run := func(in graph.Update, opts ...graph.RunOption) {
			for ev, err := range g.Stream(context.Background(), in, append(opts, graph.Thread("t"), graph.Subgraphs(), graph.Modes(graph.Values, graph.Tasks, graph.Checkpoints))...) {
				if err != nil && !errors.Is(err, graph.ErrInterrupted) {
					require.NoError(rt, err)
				}
				keep(ev.State)
				keep(ev.Input)
			}
		}
		run(graph.Update{trail.Add("in")})
		for range 6 {
			snap, err := g.State(context.Background(), "t")
			require.NoError(rt, err)
			keep(snap.State)
			var ids []string
			for s, err := range g.History(context.Background(), "t") {
				require.NoError(rt, err)
				keep(s.State)
				ids = append(ids, s.Checkpoint.ID)
			}
			switch rapid.IntRange(0, 3).Draw(rt, "do") {
			case 0:
				run(nil, graph.FromCheckpoint(rapid.SampledFrom(ids).Draw(rt, "from")))
			case 1:
				if qs := snap.Questions(); len(qs) > 0 {
					run(nil, graph.Answer(qs[0].ID, "x"))
				}
			case 2:
				run(graph.Update{trail.Add("more"), count.Set(0)})
			case 3:
				_, err := g.UpdateState(context.Background(), "t", "a", graph.Update{trail.Add("edit")})
				require.NoError(rt, err)
			}
		}
		for _, s := range all {
			require.Equal(rt, s.want, fmt.Sprint(trail.Get(s.s), topic.Get(s.s)))
		}
	})
}
