package graph_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/graph"
	"github.com/llama-agent/llama-agent/graph/checkpoint"
	"github.com/llama-agent/llama-agent/graph/store"
)

var errBoom = errors.New("boom")

func failing(context.Context, graph.State) (graph.Update, error) { return nil, errBoom }

func TestErrorHandlerStandsInForTheNode(t *testing.T) {
	t.Parallel()
	savers(t, func(t *testing.T, s checkpoint.Saver) {
		var ran runs
		b := graph.New("handled", trail)
		b.Node("risky", func(ctx context.Context, st graph.State) (graph.Update, error) {
			ran.add("risky")
			return failing(ctx, st)
		}, graph.Retry(graph.RetryPolicy{MaxAttempts: 2, Initial: -1}),
			graph.OnError(func(_ context.Context, st graph.State, failure *graph.NodeError) (graph.Update, error) {
				require.Equal(t, "risky", failure.Node)
				require.ErrorIs(t, failure, errBoom)
				require.Equal(t, []string{"in"}, trail.Get(st))
				return graph.Update{trail.Add("handled"), graph.Goto(graph.To("rescue"))}, nil
			}), graph.Destinations("rescue"))
		b.Node("normal", note("normal")).Node("rescue", note("rescue"))
		b.Edge(graph.Start, "risky").Edge("risky", "normal")
		g, err := b.Compile(graph.Options{Saver: s, InterruptBefore: []string{"rescue"}})
		require.NoError(t, err)
		_, err = g.Invoke(t.Context(), graph.Update{trail.Add("in")}, graph.Thread("t"))
		require.ErrorIs(t, err, graph.ErrInterrupted)
		st, err := g.Invoke(t.Context(), nil, graph.Thread("t"))
		require.NoError(t, err)
		require.Equal(t, []string{"in", "handled", "rescue"}, trail.Get(st), "the node's own edges aren't followed")
		require.Equal(t, 2, ran.count("risky"), "retries come first")
		for snap, err := range g.History(t.Context(), "t") {
			require.NoError(t, err)
			if snap.Checkpoint.Step == 0 {
				require.Equal(t, "boom", snap.Tasks[0].Error)
				require.True(t, snap.Tasks[0].Done)
			}
		}
	})
}

func TestHandlerThatFollowsTheEdges(t *testing.T) {
	t.Parallel()
	savers(t, func(t *testing.T, s checkpoint.Saver) {
		b := graph.New("handled", trail)
		b.Node("risky", failing, graph.OnError(func(context.Context, graph.State, *graph.NodeError) (graph.Update, error) {
			return graph.Update{trail.Add("failed"), graph.Follow()}, nil
		}))
		b.Node("b", note("b")).Node("end", note("end")).Edge(graph.Start, "risky").Edge(graph.Start, "b").Join([]string{"risky", "b"}, "end")
		g, err := b.Compile(graph.Options{Saver: s})
		require.NoError(t, err)
		st, err := g.Invoke(t.Context(), graph.Update{}, graph.Thread("t"))
		require.NoError(t, err)
		require.Equal(t, []string{"b", "failed", "end"}, trail.Get(st))
		for snap, err := range g.History(t.Context(), "t") {
			require.NoError(t, err)
			if snap.Checkpoint.Step == 0 {
				require.Equal(t, "boom", snap.Tasks[0].Error, "the failure stays on record")
			}
		}
	})
}

func TestHandledResultSurvivesAFailureBesideIt(t *testing.T) {
	t.Parallel()
	savers(t, func(t *testing.T, s checkpoint.Saver) {
		var ran runs
		b := graph.New("handled", trail)
		finished := make(chan struct{})
		b.Node("a", failing, graph.OnError(func(context.Context, graph.State, *graph.NodeError) (graph.Update, error) {
			ran.add("handler")
			return graph.Update{trail.Add("a")}, nil
		}))
		b.Node("b", func(ctx context.Context, _ graph.State) (graph.Update, error) {
			if ran.add("b") == 1 {
				<-finished
				return nil, errBoom
			}
			return graph.Update{trail.Add("b")}, nil
		})
		b.Node("after", note("after")).Edge("a", "after")
		b.Edge(graph.Start, "a").Edge(graph.Start, "b")
		g, err := b.Compile(graph.Options{Saver: s})
		require.NoError(t, err)
		for ev, err := range g.Stream(t.Context(), graph.Update{}, graph.Thread("t")) {
			if err != nil {
				require.ErrorIs(t, err, errBoom)
			} else if ev.Node == "a" {
				close(finished)
			}
		}
		st, err := g.Invoke(t.Context(), nil, graph.Thread("t"))
		require.NoError(t, err)
		require.Equal(t, []string{"a", "b"}, trail.Get(st), "the edge of a node that failed isn't followed, also after a resume")
		require.Equal(t, 1, ran.count("handler"))
	})
}

func TestErrorHandlerThatFails(t *testing.T) {
	t.Parallel()
	worse := errors.New("worse")
	for name, handler := range map[string]graph.ErrorHandler{
		"error": func(context.Context, graph.State, *graph.NodeError) (graph.Update, error) { return nil, worse },
		"panic": func(context.Context, graph.State, *graph.NodeError) (graph.Update, error) { panic(worse) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := single(t, failing, graph.Options{}, graph.OnError(handler))
			_, err := g.Invoke(t.Context(), graph.Update{})
			require.ErrorIs(t, err, worse)
			require.ErrorContains(t, err, "boom", "the first failure is named too")
		})
	}
}

func TestTheFirstRetryPolicyThatMatchesDecides(t *testing.T) {
	t.Parallel()
	rare := errors.New("rare")
	var ran runs
	fail := map[int]error{1: rare, 2: rare, 3: errBoom}
	g := single(t, func(context.Context, graph.State) (graph.Update, error) {
		return nil, fail[ran.add("n")]
	}, graph.Options{}, graph.Retry(
		graph.RetryPolicy{MaxAttempts: 9, Initial: -1, If: func(err error) bool { return errors.Is(err, rare) }},
		graph.RetryPolicy{MaxAttempts: 3, Initial: -1},
	))
	_, err := g.Invoke(t.Context(), graph.Update{})
	require.ErrorIs(t, err, errBoom)
	require.Equal(t, 3, ran.count("n"), "all attempts count for the second policy")
}

func TestIdleTimeout(t *testing.T) {
	t.Parallel()
	alive := make(chan struct{})
	g := single(t, func(ctx context.Context, _ graph.State) (graph.Update, error) {
		for range 20 {
			select {
			case <-time.After(10 * time.Millisecond):
				graph.Heartbeat(ctx)
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		close(alive)
		<-ctx.Done()
		return nil, ctx.Err()
	}, graph.Options{}, graph.IdleTimeout(150*time.Millisecond))
	_, err := g.Invoke(t.Context(), graph.Update{})
	var late *graph.TimeoutError
	require.ErrorAs(t, err, &late)
	require.True(t, late.Idle)
	require.ErrorIs(t, err, graph.ErrTimeout)
	<-alive // beats put the end off
}

func TestNodeCache(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	cache := store.NewMemory(store.Options{Clock: func() time.Time { return now }})
	var ran runs
	b := graph.New("cached", trail, count)
	b.Node("slow", func(_ context.Context, s graph.State) (graph.Update, error) {
		ran.add("slow")
		return graph.Update{trail.Add("slow " + strconv.Itoa(count.Get(s))), graph.Goto(graph.To("next"))}, nil
	}, graph.Cache(graph.CachePolicy{TTL: time.Minute}), graph.Reads(count), graph.Destinations("next"))
	b.Node("next", note("next")).Edge(graph.Start, "slow")
	g, err := b.Compile(graph.Options{Cache: cache})
	require.NoError(t, err)
	run := func(n int) (got []string) {
		for ev, err := range g.Stream(t.Context(), graph.Update{count.Set(n), trail.Add(strconv.Itoa(ran.add("run")))}, graph.Modes(graph.Updates, graph.Tasks)) {
			require.NoError(t, err)
			if ev.Mode == graph.Updates {
				require.NotEmpty(t, trail.In(ev.Update))
				got = append(got, trail.In(ev.Update)[0]+map[bool]string{true: " cached"}[ev.Cached])
			} else if ev.Phase == graph.TaskEnd {
				got = append(got, "end "+ev.Node)
			}
		}
		return got
	}
	fresh := []string{"slow 1", "end slow", "next", "end next"}
	require.Equal(t, fresh, run(1))
	require.Equal(t, []string{"slow 1 cached", "next", "end next"}, run(1), "the other channels don't count")
	require.Equal(t, []string{"slow 2", "end slow", "next", "end next"}, run(2))
	now = now.Add(2 * time.Minute)
	require.Equal(t, fresh, run(1), "it has expired")
	require.NoError(t, g.ClearCache(t.Context(), "slow"))
	require.Equal(t, fresh, run(1))
	require.Equal(t, 4, ran.count("slow"))
	var unknown *graph.UnknownNodeError
	require.ErrorAs(t, g.ClearCache(t.Context(), "nobody"), &unknown)
}

func TestDrain(t *testing.T) {
	t.Parallel()
	savers(t, func(t *testing.T, s checkpoint.Saver) {
		request := make(chan struct{})
		var ran runs
		b := graph.New("inner", trail)
		b.Node("s1", func(ctx context.Context, st graph.State) (graph.Update, error) {
			if ran.add("s1") == 1 {
				close(request)
			}
			return graph.Update{trail.Add("s1")}, nil
		})
		b.Node("s2", note("s2")).Edge(graph.Start, "s1").Edge("s1", "s2")
		inner, err := b.Compile(graph.Options{})
		require.NoError(t, err)
		g := around(t, s, inner)
		_, err = g.Invoke(t.Context(), graph.Update{}, graph.Thread("t"), graph.Drain(request))
		require.ErrorIs(t, err, graph.ErrDrained)
		require.ErrorContains(t, err, "stopped before step 2", "the subgraph stops at its own boundary")
		st, err := g.Invoke(t.Context(), nil, graph.Thread("t"))
		require.NoError(t, err)
		require.Equal(t, []string{"first", "s1", "s2", "last"}, trail.Get(st))
		require.Equal(t, 1, ran.count("s1"))
	})
}

func TestCommandContinuesAThread(t *testing.T) {
	t.Parallel()
	savers(t, func(t *testing.T, s checkpoint.Saver) {
		var ran runs
		b := graph.New("commanded", trail, count)
		b.Node("a", note("a")).Edge(graph.Start, "a")
		b.Node("b", func(_ context.Context, st graph.State) (graph.Update, error) {
			if ran.add("b") == 1 {
				return nil, errBoom
			}
			return graph.Update{trail.Add("b saw " + strconv.Itoa(count.Get(st)))}, nil
		})
		b.Edge("a", graph.End)
		g, err := b.Branch("a", func(graph.State) []graph.Next { return nil }).Compile(graph.Options{Saver: s})
		require.NoError(t, err)
		th := graph.Thread("t")
		_, err = g.Invoke(t.Context(), graph.Update{count.Set(1)}, th)
		require.NoError(t, err)

		command := graph.Command(graph.Update{count.Set(2), graph.Goto(graph.To("b"))})
		_, err = g.Invoke(t.Context(), graph.Update{}, th, command)
		require.ErrorContains(t, err, "the input must be nil")
		_, err = g.Invoke(t.Context(), nil, th, graph.Command(graph.Update{graph.Goto(graph.To("nobody"))}))
		var unknown *graph.UnknownNodeError
		require.ErrorAs(t, err, &unknown)
		_, err = g.Invoke(t.Context(), nil, th, command)
		require.ErrorIs(t, err, errBoom)
		snap, err := g.State(t.Context(), "t")
		require.NoError(t, err)
		require.Equal(t, 2, count.Get(snap.State), "the command is stored")
		st, err := g.Invoke(t.Context(), nil, th)
		require.NoError(t, err)
		require.Equal(t, []string{"a", "b saw 2"}, trail.Get(st))
		require.Equal(t, 2, count.Get(st))
		snap, err = g.State(t.Context(), "t")
		require.NoError(t, err)
		require.Equal(t, 2, count.Get(snap.State))
		_, err = g.Invoke(t.Context(), nil, th)
		require.ErrorIs(t, err, graph.ErrNothingToResume)
	})
}

func TestSchemas(t *testing.T) {
	t.Parallel()
	b := graph.New("schemas", trail, count)
	b.Node("n", func(_ context.Context, s graph.State) (graph.Update, error) {
		_, sees := trail.Lookup(s)
		return graph.Update{count.Set(count.Get(s) + 1), trail.Add(strconv.FormatBool(sees))}, nil
	}, graph.Reads(count)).Edge(graph.Start, "n")
	g, err := b.Input(trail).Output(count).Compile(graph.Options{})
	require.NoError(t, err)
	_, err = g.Invoke(t.Context(), graph.Update{count.Set(1)})
	var unknown *graph.UnknownChannelError
	require.ErrorAs(t, err, &unknown)
	require.ErrorContains(t, err, `the input of graph "schemas" has no channel "count"; it may write to "trail"`)
	st, err := g.Invoke(t.Context(), graph.Update{trail.Add("in")})
	require.NoError(t, err)
	require.Equal(t, []string{"count"}, st.Channels())
	require.Equal(t, 1, count.Get(st))

	stranger := graph.Value[int]("stranger")
	_, err = graph.New("s", trail).Node("n", note("n"), graph.Reads(stranger)).Edge(graph.Start, "n").Input(stranger).Output(nil).Compile(graph.Options{})
	require.ErrorContains(t, err, `node "n" reads`)
	require.ErrorContains(t, err, "the input")
	require.ErrorContains(t, err, "the output names a nil channel")
}

func TestEditsThatAreNoNode(t *testing.T) {
	t.Parallel()
	savers(t, func(t *testing.T, s checkpoint.Saver) {
		g := chain(t, graph.Options{Saver: s, InterruptBefore: []string{"b"}}, "a", "b")
		ctx := t.Context()
		_, err := g.UpdateState(ctx, "new", graph.AsInput, graph.Update{trail.Add("in")})
		require.NoError(t, err)
		_, err = g.Invoke(ctx, nil, graph.Thread("new"))
		require.ErrorIs(t, err, graph.ErrInterrupted)
		_, err = g.UpdateState(ctx, "new", graph.AsCopy, nil)
		require.NoError(t, err)
		st, err := g.Invoke(ctx, nil, graph.Thread("new"))
		require.NoError(t, err)
		require.Equal(t, []string{"in", "a", "b"}, trail.Get(st))
		require.Equal(t, []string{
			"-1 input [] [] next [__start__]",
			"0 loop [__start__] [in] next [a]",
			"1 loop [a] [in a] next [b]",
			"2 fork [a] [in a] next [b]",
			"3 loop [b] [in a b] next []",
		}, steps(t, g, "new"))

		_, err = g.Invoke(ctx, graph.Update{}, graph.Thread("new"))
		require.ErrorIs(t, err, graph.ErrInterrupted)
		_, err = g.UpdateState(ctx, "new", graph.End, graph.Update{trail.Add("x")})
		require.ErrorContains(t, err, "has no update")
		_, err = g.UpdateState(ctx, "new", graph.End, nil)
		require.NoError(t, err)
		_, err = g.Invoke(ctx, nil, graph.Thread("new"))
		require.ErrorIs(t, err, graph.ErrNothingToResume)
		_, err = g.UpdateState(ctx, "nobody", graph.AsCopy, nil)
		require.ErrorIs(t, err, graph.ErrUnknownThread)
	})
}

func TestEditWhileATaskHadFinished(t *testing.T) {
	t.Parallel()
	savers(t, func(t *testing.T, s checkpoint.Saver) {
		b := graph.New("edited", trail)
		b.Node("quick", note("quick")).Node("next", note("next")).Edge("quick", "next")
		b.Node("ask", func(ctx context.Context, _ graph.State) (graph.Update, error) {
			_, err := graph.Interrupt[string](ctx, "?")
			return nil, err
		})
		b.Edge(graph.Start, "quick").Edge(graph.Start, "ask")
		g, err := b.Compile(graph.Options{Saver: s})
		require.NoError(t, err)
		edit := func(thread, as string, u graph.Update) graph.Snapshot {
			_, err := g.Invoke(t.Context(), graph.Update{}, graph.Thread(thread))
			require.ErrorIs(t, err, graph.ErrInterrupted)
			_, err = g.UpdateState(t.Context(), thread, as, u)
			require.NoError(t, err)
			snap, err := g.State(t.Context(), thread)
			require.NoError(t, err)
			return snap
		}
		snap := edit("node", "ask", graph.Update{trail.Add("edited")})
		require.Equal(t, []string{"edited"}, trail.Get(snap.State))
		require.Empty(t, snap.Next)
		for snap, err := range g.History(t.Context(), "node") {
			require.NoError(t, err)
			if snap.Checkpoint.Step == 0 {
				require.Equal(t, []string{"edited"}, trail.In(snap.Tasks[1].Update), "the edit stands for the task")
			}
		}
		snap = edit("end", graph.End, nil)
		require.Equal(t, []string{"quick"}, trail.Get(snap.State))
		require.Equal(t, []string{"next"}, snap.Next)
	})
}

func TestChannelsThatKeepLittle(t *testing.T) {
	t.Parallel()
	savers(t, func(t *testing.T, s checkpoint.Saver) {
		secret := graph.Untracked[string]("secret")
		flag := graph.AnyValue[string]("flag")
		news := graph.Topic[string]("news")
		b := graph.New("little", trail, secret, flag, news)
		look := func(name string) graph.NodeFunc {
			return func(_ context.Context, st graph.State) (graph.Update, error) {
				seen := name + " " + secret.Get(st) + " " + flag.Get(st)
				for _, n := range news.Get(st) {
					seen += " " + n
				}
				return graph.Update{trail.Add(seen)}, nil
			}
		}
		write := func(v string) graph.NodeFunc {
			return func(context.Context, graph.State) (graph.Update, error) {
				return graph.Update{flag.Set(v), news.Add(v)}, nil
			}
		}
		b.Node("w1", write("one")).Node("w2", write("two")).Node("l1", look("l1")).Node("l2", look("l2"))
		b.Edge(graph.Start, "w1").Edge(graph.Start, "w2").Edge("w1", "l1").Edge("l1", "l2")
		g, err := b.Compile(graph.Options{Saver: s})
		require.NoError(t, err)
		_, err = g.Invoke(t.Context(), graph.Update{secret.Set("key")}, graph.Thread("t"), graph.InterruptBefore("l2"))
		require.ErrorIs(t, err, graph.ErrInterrupted)
		st, err := g.Invoke(t.Context(), nil, graph.Thread("t"))
		require.NoError(t, err)
		require.Equal(t, []string{"l1 key two one two", "l2  "}, trail.Get(st))
		for snap, err := range g.History(t.Context(), "t") {
			require.NoError(t, err)
			_, stored := secret.Lookup(snap.State)
			require.False(t, stored)
			for _, task := range snap.Tasks {
				require.NotContains(t, task.Update.Channels(), "secret")
			}
		}
	})
}

func TestTwoReplacementsConflict(t *testing.T) {
	t.Parallel()
	replace := func(v string) graph.NodeFunc {
		return func(context.Context, graph.State) (graph.Update, error) {
			return graph.Update{trail.Replace([]string{v}), trail.Add(v + "!")}, nil
		}
	}
	b := graph.New("replace", trail)
	b.Node("a", note("a")).Node("b", replace("b")).Node("c", note("c"))
	for _, n := range []string{"a", "b", "c"} {
		b.Edge(graph.Start, n)
	}
	g, err := b.Compile(graph.Options{})
	require.NoError(t, err)
	st, err := g.Invoke(t.Context(), graph.Update{trail.Add("in")})
	require.NoError(t, err)
	require.Equal(t, []string{"b", "b!"}, trail.Get(st))
	g, err = b.Node("d", replace("d")).Edge(graph.Start, "d").Compile(graph.Options{})
	require.NoError(t, err)
	_, err = g.Invoke(t.Context(), graph.Update{})
	var conflict *graph.ConflictError
	require.ErrorAs(t, err, &conflict)
	require.Equal(t, []string{"b", "d"}, conflict.Nodes)
	require.True(t, conflict.Replace)
}

func TestBufferedStreamDoesNotWaitForItsConsumer(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	b := graph.New("busy", trail)
	b.Node("a", func(ctx context.Context, _ graph.State) (graph.Update, error) {
		for i := range 100 {
			graph.Emit(ctx, i)
		}
		return nil, nil
	})
	b.Node("b", note("b")).Node("c", func(context.Context, graph.State) (graph.Update, error) {
		close(ended)
		return nil, errBoom
	})
	b.Edge(graph.Start, "a").Edge("a", "b").Edge("b", "c")
	g, err := b.Compile(graph.Options{})
	require.NoError(t, err)
	var updates []string
	custom, dropped := 0, 0
	var last error
	for ev, err := range g.Stream(t.Context(), graph.Update{}, graph.Modes(graph.Custom, graph.Updates), graph.Buffered(10)) {
		<-ended // the run reaches its last node while the consumer sits on the first event
		dropped += ev.Dropped
		switch {
		case err != nil:
			last = err
		case ev.Mode == graph.Custom:
			custom++
		default:
			updates = append(updates, ev.Node)
		}
	}
	require.ErrorIs(t, last, errBoom, "the end always arrives")
	require.Equal(t, []string{"a", "b"}, updates)
	require.Equal(t, 100, custom+dropped)
	require.Positive(t, dropped)

	for _, err := range g.Stream(t.Context(), graph.Update{}, graph.Buffered(0)) {
		require.ErrorContains(t, err, "at least 1 event")
	}
}

func TestLeavingABufferedStreamEndsTheRun(t *testing.T) {
	t.Parallel()
	cancelled := make(chan struct{})
	g := single(t, func(ctx context.Context, _ graph.State) (graph.Update, error) {
		graph.Emit(ctx, "running")
		<-ctx.Done()
		close(cancelled)
		return nil, ctx.Err()
	}, graph.Options{})
	for range g.Stream(t.Context(), graph.Update{}, graph.Modes(graph.Custom), graph.Buffered(1)) {
		break
	}
	<-cancelled
}

func TestDebugIsTasksAndCheckpoints(t *testing.T) {
	t.Parallel()
	now := time.Unix(7, 0)
	g := chain(t, graph.Options{Saver: checkpoint.NewMemory(), Clock: func() time.Time { return now }}, "a")
	var got []string
	for ev, err := range g.Stream(t.Context(), graph.Update{}, graph.Thread("t"), graph.Modes(graph.Debug)) {
		require.NoError(t, err)
		require.Equal(t, graph.Debug, ev.Mode)
		require.Equal(t, now, ev.Time)
		got = append(got, string(ev.Of)+" "+string(ev.Phase)+ev.Node)
	}
	require.Equal(t, []string{"checkpoints ", "checkpoints ", "tasks begina", "tasks enda", "checkpoints "}, got)
}

func TestStoreOfTheGraph(t *testing.T) {
	t.Parallel()
	memory := store.NewMemory(store.Options{})
	space := store.Namespace{"people"}
	b := graph.New("inner", trail)
	b.Node("n", func(ctx context.Context, _ graph.State) (graph.Update, error) {
		return nil, graph.StoreFrom(ctx).Write(ctx, store.Put(space, "ada", map[string]string{"likes": "tea"}))
	}).Edge(graph.Start, "n")
	inner, err := b.Compile(graph.Options{})
	require.NoError(t, err)
	outer, err := graph.New("outer", trail).Subgraph("sub", inner).Edge(graph.Start, "sub").Compile(graph.Options{Store: memory})
	require.NoError(t, err)
	_, err = outer.Invoke(t.Context(), graph.Update{})
	require.NoError(t, err)
	item, err := memory.Get(t.Context(), space, "ada")
	require.NoError(t, err)
	require.JSONEq(t, `{"likes":"tea"}`, string(item.Value))
	require.Nil(t, graph.StoreFrom(t.Context()))
}

func TestRunningTellsTheTask(t *testing.T) {
	t.Parallel()
	var infos []graph.Info
	b := graph.New("inner", trail)
	b.Node("n", func(ctx context.Context, _ graph.State) (graph.Update, error) {
		info, ok := graph.Running(ctx)
		require.True(t, ok)
		infos = append(infos, info)
		if len(infos) == 1 {
			return nil, errBoom
		}
		return nil, nil
	}, graph.Retry(graph.RetryPolicy{Initial: -1})).Edge(graph.Start, "n")
	inner, err := b.Compile(graph.Options{})
	require.NoError(t, err)
	g := around(t, checkpoint.NewMemory(), inner)
	_, err = g.Invoke(t.Context(), graph.Update{}, graph.Thread("t"))
	require.NoError(t, err)
	require.Len(t, infos, 2)
	require.Equal(t, 1, infos[0].Attempt)
	require.Equal(t, 2, infos[1].Attempt)
	info := infos[1]
	require.Equal(t, "inner", info.Graph)
	require.Equal(t, "t", info.Thread)
	require.Equal(t, 1, info.Step)
	require.Len(t, info.Namespace, 1)
	require.Equal(t, infos[0].Task, info.Task)
	_, ok := graph.Running(t.Context())
	require.False(t, ok)
}

func TestOrContinue(t *testing.T) {
	t.Parallel()
	savers(t, func(t *testing.T, s checkpoint.Saver) {
		g := chain(t, graph.Options{Saver: s, InterruptBefore: []string{"b"}}, "a", "b")
		run := func(in string) []string {
			st, err := g.Invoke(t.Context(), graph.Update{trail.Add(in)}, graph.Thread("t"), graph.OrContinue())
			if err != nil {
				require.ErrorIs(t, err, graph.ErrInterrupted)
			}
			return trail.Get(st)
		}
		require.Equal(t, []string{"one", "a"}, run("one"))
		require.Equal(t, []string{"one", "a", "b"}, run("two"), "it wasn't finished")
		require.Equal(t, []string{"one", "a", "b", "three", "a"}, run("three"))
	})
}

func TestQuestionsDecode(t *testing.T) {
	t.Parallel()
	g := single(t, func(ctx context.Context, _ graph.State) (graph.Update, error) {
		_, err := graph.Interrupt[string](ctx, map[string]int{"amount": 7})
		return nil, err
	}, graph.Options{})
	_, err := g.Invoke(t.Context(), graph.Update{})
	var stop *graph.InterruptedError
	require.ErrorAs(t, err, &stop)
	var question struct{ Amount int }
	require.NoError(t, stop.Questions[0].Decode(&question))
	require.Equal(t, 7, question.Amount)
	var wrong string
	require.ErrorContains(t, stop.Questions[0].Decode(&wrong), `of node "n"`)
}
