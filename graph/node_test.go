package graph_test

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/graph"
	"github.com/llama-agent/llama-agent/graph/checkpoint"
)

// single compiles a graph of one node.
func single(t testing.TB, fn graph.NodeFunc, opts graph.Options, node ...graph.NodeOption) *graph.Graph {
	t.Helper()
	g, err := graph.New("single", count, trail, total).Node("n", fn, node...).Edge(graph.Start, "n").Compile(opts)
	require.NoError(t, err)
	return g
}

func TestRetry(t *testing.T) {
	t.Parallel()
	flaky, fatal := errors.New("flaky"), errors.New("fatal")
	calls := 0
	policy := graph.RetryPolicy{MaxAttempts: 3, Initial: -1, If: func(err error) bool { return errors.Is(err, flaky) }}
	g := single(t, func(context.Context, graph.State) (graph.Update, error) {
		if calls++; calls < 3 {
			return nil, flaky
		}
		return graph.Update{count.Set(calls)}, nil
	}, graph.Options{}, graph.Retry(policy))
	s, err := g.Invoke(t.Context(), graph.Update{})
	require.NoError(t, err)
	require.Equal(t, 3, count.Get(s))

	calls = -10
	_, err = g.Invoke(t.Context(), graph.Update{})
	require.ErrorIs(t, err, flaky)
	require.Equal(t, -7, calls, "three attempts and no more")

	calls = 0
	g = single(t, func(context.Context, graph.State) (graph.Update, error) { calls++; return nil, fatal }, graph.Options{}, graph.Retry(policy))
	_, err = g.Invoke(t.Context(), graph.Update{})
	require.ErrorIs(t, err, fatal)
	require.Equal(t, 1, calls, "an error that the policy doesn't want ends it")
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	g := single(t, func(ctx context.Context, _ graph.State) (graph.Update, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}, graph.Options{}, graph.Timeout(10*time.Millisecond))
	_, err := g.Invoke(t.Context(), graph.Update{})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "timed out after 10ms")
	require.ErrorContains(t, err, `node "n"`)
}

func TestNodeThatIgnoresItsCancellation(t *testing.T) {
	t.Parallel()
	for _, timeout := range []bool{true, false} {
		release := make(chan struct{})
		returned := make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var opts []graph.NodeOption
		if timeout {
			opts = append(opts, graph.Timeout(time.Millisecond))
		}
		g := single(t, func(ctx context.Context, _ graph.State) (graph.Update, error) {
			if !timeout {
				cancel()
			}
			<-release
			graph.Emit(ctx, "too late")
			_, err := graph.Once(ctx, "late", func(context.Context) (int, error) { return 0, errors.New("ran") })
			returned <- err
			return graph.Update{count.Set(1)}, nil
		}, graph.Options{CancelGrace: 5 * time.Millisecond, Saver: checkpoint.NewMemory()}, opts...)
		_, err := g.Invoke(ctx, graph.Update{}, graph.Thread("t"))
		require.ErrorIs(t, err, graph.ErrStuck)
		require.ErrorContains(t, err, `node "n"`)
		close(release)
		require.ErrorIs(t, <-returned, context.Canceled, "an abandoned node may have no effects")
		snap, err := g.State(t.Context(), "t")
		require.NoError(t, err)
		require.Zero(t, count.Get(snap.State))
		require.Equal(t, []string{"n"}, snap.Next)
	}
}

func TestPanics(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	for name, fn := range map[string]graph.NodeFunc{
		"error":  func(context.Context, graph.State) (graph.Update, error) { panic(boom) },
		"nil":    func(context.Context, graph.State) (graph.Update, error) { panic(nil) },
		"goexit": func(context.Context, graph.State) (graph.Update, error) { runtime.Goexit(); return nil, nil },
		"map":    func(context.Context, graph.State) (graph.Update, error) { var m map[int]int; m[1] = 1; return nil, nil }, //nolint:staticcheck // a node that panics
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := single(t, fn, graph.Options{}).Invoke(t.Context(), graph.Update{})
			var ne *graph.NodeError
			require.ErrorAs(t, err, &ne)
			require.Equal(t, "n", ne.Node)
			require.Equal(t, 1, ne.Step)
			var pe *graph.PanicError
			require.ErrorAs(t, err, &pe)
			if name == "error" {
				require.ErrorIs(t, err, boom)
			}
		})
	}
	t.Run("branch", func(t *testing.T) {
		t.Parallel()
		g, err := graph.New("g", count).Node("n", noop).Edge(graph.Start, "n").
			Branch("n", func(graph.State) []graph.Next { panic(boom) }).Compile(graph.Options{})
		require.NoError(t, err)
		_, err = g.Invoke(t.Context(), graph.Update{})
		require.ErrorIs(t, err, boom)
		require.ErrorContains(t, err, `node "n"`)
	})
	t.Run("reducer", func(t *testing.T) {
		t.Parallel()
		bad := graph.Reduced("bad", func(_, in int) int { panic(boom) })
		saver := checkpoint.NewMemory()
		g, err := graph.New("g", bad).Node("n", func(context.Context, graph.State) (graph.Update, error) {
			return graph.Update{bad.Merge(1)}, nil
		}).Edge(graph.Start, "n").Compile(graph.Options{Saver: saver})
		require.NoError(t, err)
		_, err = g.Invoke(t.Context(), graph.Update{}, graph.Thread("t"))
		var re *graph.ReducerError
		require.ErrorAs(t, err, &re)
		require.Equal(t, "bad", re.Channel)
		snap, err := g.State(t.Context(), "t")
		require.ErrorAs(t, err, &re, "the result of the node can't be merged into the state that is shown")
		require.Equal(t, 0, snap.Checkpoint.Step, "the thread stays at the last boundary")
		_, err = g.Invoke(t.Context(), graph.Update{}, graph.Thread("t"))
		require.ErrorAs(t, err, &re, "new input drops the result")
	})
}

func TestWrongUpdates(t *testing.T) {
	t.Parallel()
	foreign := graph.Value[int]("foreign")
	for name, test := range map[string]struct {
		fn   graph.NodeFunc
		want string
	}{
		"unknown channel": {func(context.Context, graph.State) (graph.Update, error) { return graph.Update{foreign.Set(1)}, nil }, `no channel "foreign"`},
		"unknown read":    {func(_ context.Context, s graph.State) (graph.Update, error) { foreign.Get(s); return nil, nil }, `no channel "foreign"`},
		"unknown target": {func(context.Context, graph.State) (graph.Update, error) {
			return graph.Update{graph.Goto(graph.To("ghost"))}, nil
		}, `asked for "ghost"`},
		"send to end": {func(context.Context, graph.State) (graph.Update, error) {
			return graph.Update{graph.Goto(graph.Send(graph.End, nil))}, nil
		}, "to the end"},
		"private channel": {func(context.Context, graph.State) (graph.Update, error) {
			return graph.Update{graph.Goto(graph.Send("n", graph.Update{foreign.Set(1)}))}, nil
		}, `no channel "foreign"`},
		"two values": {func(context.Context, graph.State) (graph.Update, error) {
			return graph.Update{count.Set(1), count.Set(2)}, nil
		}, "written 2 times"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := single(t, test.fn, graph.Options{}).Invoke(t.Context(), graph.Update{})
			require.ErrorContains(t, err, test.want)
		})
	}
	_, err := single(t, noop, graph.Options{}).Invoke(t.Context(), graph.Update{foreign.Set(1)})
	var unknown *graph.UnknownChannelError
	require.ErrorAs(t, err, &unknown)
}

func TestUndeclaredBranchTarget(t *testing.T) {
	t.Parallel()
	g, err := graph.New("g", count).Node("a", noop).Node("b", noop).Edge(graph.Start, "a").Edge(graph.Start, "b").
		Branch("a", func(graph.State) []graph.Next { return []graph.Next{graph.To("b")} }, "a").Compile(graph.Options{})
	require.NoError(t, err)
	_, err = g.Invoke(t.Context(), graph.Update{})
	var unknown *graph.UnknownNodeError
	require.ErrorAs(t, err, &unknown)
	require.Equal(t, []string{"a"}, unknown.Known)
}

func TestFailureCancelsSiblingsAndKeepsFinishedOnes(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	finished := make(chan struct{})
	fail := true
	runs := map[string]*atomic.Int64{"quick": {}, "bad": {}, "slow": {}}
	b := graph.New("siblings", trail)
	b.Node("quick", func(context.Context, graph.State) (graph.Update, error) {
		runs["quick"].Add(1)
		return graph.Update{trail.Add("quick")}, nil
	})
	b.Node("bad", func(context.Context, graph.State) (graph.Update, error) {
		runs["bad"].Add(1)
		if fail {
			<-finished
			return nil, boom
		}
		return graph.Update{trail.Add("bad")}, nil
	})
	b.Node("slow", func(ctx context.Context, _ graph.State) (graph.Update, error) {
		runs["slow"].Add(1)
		if fail {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return graph.Update{trail.Add("slow")}, nil
	})
	for _, n := range []string{"quick", "bad", "slow"} {
		b.Edge(graph.Start, n)
	}
	b.Node("end", note("end")).Join([]string{"quick", "bad", "slow"}, "end")
	g, err := b.Compile(graph.Options{Saver: checkpoint.NewMemory()})
	require.NoError(t, err)
	var got error
	for ev, err := range g.Stream(t.Context(), graph.Update{}, graph.Thread("t")) {
		if got = err; err == nil {
			require.Equal(t, "quick", ev.Node)
			close(finished)
		}
	}
	require.ErrorIs(t, got, boom)
	snap, err := g.State(t.Context(), "t")
	require.NoError(t, err)
	require.Equal(t, []string{"quick"}, trail.Get(snap.State))
	require.Equal(t, []string{"bad", "slow"}, snap.Next)
	for _, task := range snap.Tasks {
		require.Equal(t, task.Node == "quick", task.Done)
		require.Equal(t, task.Node == "bad", task.Error != "", "only bad failed; slow was stopped")
	}
	fail = false
	events, err := collect(t, g, nil, graph.Thread("t"), graph.Modes(graph.Updates))
	require.NoError(t, err)
	require.Equal(t, "updates 1 quick [quick] cached", events[0])
	snap, err = g.State(t.Context(), "t")
	require.NoError(t, err)
	require.Equal(t, []string{"bad", "quick", "slow", "end"}, trail.Get(snap.State))
	require.EqualValues(t, 1, runs["quick"].Load(), "a finished task doesn't run again")
	require.EqualValues(t, 2, runs["bad"].Load())
}

func TestCancel(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	var tries atomic.Int64
	g := single(t, func(ctx context.Context, _ graph.State) (graph.Update, error) {
		if tries.Add(1) == 1 {
			cancel()
			<-ctx.Done()
			return nil, errors.New("some error of a library")
		}
		return nil, nil
	}, graph.Options{Saver: checkpoint.NewMemory()}, graph.Retry(graph.RetryPolicy{Initial: -1}))
	_, err := g.Invoke(ctx, graph.Update{}, graph.Thread("t"))
	require.ErrorIs(t, err, context.Canceled)
	require.EqualValues(t, 1, tries.Load(), "no attempt after the end")
	_, err = g.Invoke(t.Context(), nil, graph.Thread("t"))
	require.NoError(t, err)
}

func TestSharedUpdateOfConcurrentRuns(t *testing.T) {
	t.Parallel()
	shared := graph.Update{trail.Add("x"), graph.Goto(graph.Send("w", graph.Update{count.Set(1)}))}
	b := graph.New("shared", trail, count)
	b.Node("n", func(context.Context, graph.State) (graph.Update, error) { return shared, nil }, graph.Destinations("w"))
	b.Node("w", noop).Edge(graph.Start, "n")
	g, err := b.Compile(graph.Options{Saver: checkpoint.NewMemory()})
	require.NoError(t, err)
	done := make(chan error)
	for _, thread := range []string{"a", "b", "c"} {
		go func() {
			_, err := g.Invoke(context.Background(), shared[:1], graph.Thread(thread))
			done <- err
		}()
	}
	for range 3 {
		require.NoError(t, <-done)
	}
}

func TestGoroutineThatOutlivesItsNode(t *testing.T) {
	t.Parallel()
	ended, result := make(chan struct{}), make(chan error, 1)
	g := single(t, func(ctx context.Context, _ graph.State) (graph.Update, error) {
		go func() {
			<-ended
			_, err := graph.Once(context.WithoutCancel(ctx), "late", func(context.Context) (int, error) { return 1, nil })
			_, askErr := graph.Interrupt[int](ctx, "late?")
			result <- errors.Join(err, askErr)
		}()
		return nil, nil
	}, graph.Options{Saver: checkpoint.NewMemory()})
	_, err := g.Invoke(t.Context(), graph.Update{}, graph.Thread("t"))
	require.NoError(t, err)
	close(ended)
	err = <-result
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, graph.ErrInterrupted)
}
