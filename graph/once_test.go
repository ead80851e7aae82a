package graph_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/graph"
	"github.com/llama-agent/llama-agent/graph/checkpoint"
)

func TestOnce(t *testing.T) {
	t.Parallel()
	savers(t, func(t *testing.T, s checkpoint.Saver) {
		ran := map[string]int{}
		var fail error
		g := single(t, func(ctx context.Context, _ graph.State) (graph.Update, error) {
			type receipt struct{ Number int }
			for _, key := range []string{"first", "second"} {
				r, err := graph.Once(ctx, key, func(context.Context) (receipt, error) {
					ran[key]++
					return receipt{Number: ran[key]}, nil
				})
				if err != nil || r.Number != 1 {
					return nil, errors.Join(errors.New("a wrong result"), err)
				}
			}
			return graph.Update{count.Set(1)}, fail
		}, graph.Options{Saver: s})
		fail = errors.New("after the effects")
		_, err := g.Invoke(t.Context(), graph.Update{}, graph.Thread("t"))
		require.ErrorIs(t, err, fail)
		fail = nil
		_, err = g.Invoke(t.Context(), nil, graph.Thread("t"))
		require.NoError(t, err)
		require.Equal(t, map[string]int{"first": 1, "second": 1}, ran)

		clear(ran)
		_, err = g.Invoke(t.Context(), graph.Update{}, graph.Thread("t"))
		require.NoError(t, err)
		require.Equal(t, map[string]int{"first": 1, "second": 1}, ran, "a new run has effects of its own")
	})
}

func TestOnceKnownFailureRunsAgain(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	ran := 0
	g := single(t, func(ctx context.Context, _ graph.State) (graph.Update, error) {
		v, err := graph.Once(ctx, "k", func(context.Context) (int, error) {
			if ran++; ran < 3 {
				return 0, boom
			}
			return ran, nil
		})
		return graph.Update{count.Set(v)}, err
	}, graph.Options{Saver: checkpoint.NewMemory()}, graph.Retry(graph.RetryPolicy{MaxAttempts: 2, Initial: -1}))
	_, err := g.Invoke(t.Context(), graph.Update{}, graph.Thread("t"))
	require.ErrorIs(t, err, boom)
	s, err := g.Invoke(t.Context(), nil, graph.Thread("t"))
	require.NoError(t, err)
	require.Equal(t, 3, count.Get(s))
}

func TestOnceUnknownOutcome(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(ctx context.Context, cancel func()) error{
		"cut off": func(ctx context.Context, cancel func()) error { cancel(); <-ctx.Done(); return ctx.Err() },
		"panic":   func(context.Context, func()) error { panic("in the effect") },
		"said so": func(context.Context, func()) error {
			return errors.Join(errors.New("connection lost"), graph.ErrOutcomeUnknown)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			savers(t, func(t *testing.T, s checkpoint.Saver) {
				var cancel context.CancelFunc // ends the run that is going on
				ran, idempotent := 0, false
				g := single(t, func(ctx context.Context, _ graph.State) (graph.Update, error) {
					var opts []graph.OnceOption
					if idempotent {
						opts = append(opts, graph.Idempotent())
					}
					v, err := graph.Once(ctx, "pay", func(ctx context.Context) (int, error) {
						if ran++; ran == 1 {
							return 0, end(ctx, cancel)
						}
						return ran, nil
					}, opts...)
					return graph.Update{count.Set(v)}, err
				}, graph.Options{Saver: s})
				for _, thread := range []string{"asked", "idempotent"} {
					ran, idempotent = 0, false
					ctx, stop := context.WithCancel(t.Context())
					cancel = stop
					_, err := g.Invoke(ctx, graph.Update{}, graph.Thread(thread))
					require.Error(t, err)
					_, err = g.Invoke(t.Context(), nil, graph.Thread(thread))
					var unknown *graph.OutcomeUnknownError
					require.ErrorAs(t, err, &unknown)
					require.ErrorIs(t, err, graph.ErrOutcomeUnknown)
					require.Equal(t, &graph.OutcomeUnknownError{Thread: thread, Node: "n", Key: "pay"}, unknown)
					require.Equal(t, 1, ran, "nothing runs again unasked")
					var opts []graph.RunOption
					if idempotent = thread == "idempotent"; !idempotent {
						opts = append(opts, graph.RetryUnknown())
					}
					st, err := g.Invoke(t.Context(), nil, append(opts, graph.Thread(thread))...)
					require.NoError(t, err)
					require.Equal(t, 2, count.Get(st))
					stop()
				}
			})
		})
	}
}

func TestOnceConcurrentCallsShareOneEffect(t *testing.T) {
	t.Parallel()
	ran := 0
	g := single(t, func(ctx context.Context, _ graph.State) (graph.Update, error) {
		var wg sync.WaitGroup
		got := make([]int, 8)
		errs := make([]error, 8)
		for i := range got {
			wg.Go(func() {
				got[i], errs[i] = graph.Once(ctx, "k", func(context.Context) (int, error) { ran++; return 7, nil })
			})
		}
		wg.Wait()
		sum := 0
		for _, v := range got {
			sum += v
		}
		return graph.Update{count.Set(sum)}, errors.Join(errs...)
	}, graph.Options{Saver: checkpoint.NewMemory()})
	s, err := g.Invoke(t.Context(), graph.Update{}, graph.Thread("t"))
	require.NoError(t, err)
	require.Equal(t, 56, count.Get(s))
	require.Equal(t, 1, ran)
}

func TestOnceResultThatIsNoJSON(t *testing.T) {
	t.Parallel()
	g := single(t, func(ctx context.Context, _ graph.State) (graph.Update, error) {
		_, err := graph.Once(ctx, "k", func(context.Context) (func(), error) { return func() {}, nil })
		return nil, err
	}, graph.Options{Saver: checkpoint.NewMemory()})
	_, err := g.Invoke(t.Context(), graph.Update{}, graph.Thread("t"))
	require.ErrorContains(t, err, "has happened, but storing its result failed")
	_, err = g.Invoke(t.Context(), nil, graph.Thread("t"))
	require.ErrorIs(t, err, graph.ErrOutcomeUnknown)
}

func TestSettleAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	savers(t, func(t *testing.T, s checkpoint.Saver) {
		var ran runs
		g := single(t, func(ctx context.Context, _ graph.State) (graph.Update, error) {
			if ran.add("n") == 1 {
				require.ErrorContains(t, graph.Settle(ctx, "pay", 7), "never begun")
			}
			pay := func(opts ...graph.OnceOption) (int, error) {
				return graph.Once(ctx, "pay", func(context.Context) (int, error) {
					if ran.add("pay") == 1 {
						return 0, fmt.Errorf("the line is dead: %w", graph.ErrOutcomeUnknown)
					}
					return 8, nil
				}, opts...)
			}
			got, err := pay()
			if err != nil && ran.count("n") > 1 {
				require.ErrorIs(t, err, graph.ErrOutcomeUnknown)
				if err := graph.Settle(ctx, "pay", 7); err != nil {
					return nil, err
				}
				got, err = pay(graph.RunAgain())
				require.NoError(t, graph.Settle(ctx, "pay", 9), "what is known stays")
			}
			return graph.Update{count.Set(got)}, err
		}, graph.Options{Saver: s})
		_, err := g.Invoke(t.Context(), graph.Update{}, graph.Thread("t"))
		require.ErrorIs(t, err, graph.ErrOutcomeUnknown)
		st, err := g.Invoke(t.Context(), nil, graph.Thread("t"))
		require.NoError(t, err)
		require.Equal(t, 7, count.Get(st))
		require.Equal(t, 1, ran.count("pay"))
	})
}
