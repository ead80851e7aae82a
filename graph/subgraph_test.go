package graph_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/graph"
	"github.com/llama-agent/llama-agent/graph/checkpoint"
)

// lane is a graph whose nodes note their names in trail, one after another.
func lane(t *testing.T, name string, opts graph.Options, nodes ...string) *graph.Graph {
	t.Helper()
	b := graph.New(name, trail)
	before := graph.Start
	for _, n := range nodes {
		b.Node(n, note(n)).Edge(before, n)
		before = n
	}
	g, err := b.Compile(opts)
	require.NoError(t, err)
	return g
}

// around is a graph with one subgraph node between two nodes.
func around(t *testing.T, s checkpoint.Saver, child *graph.Graph, opts ...graph.NodeOption) *graph.Graph {
	t.Helper()
	b := graph.New("outer", trail)
	b.Node("first", note("first")).Subgraph("sub", child, opts...).Node("last", note("last"))
	b.Edge(graph.Start, "first").Edge("first", "sub").Edge("sub", "last")
	g, err := b.Compile(graph.Options{Saver: s})
	require.NoError(t, err)
	return g
}

func TestSubgraphHandsBackWhatItWrote(t *testing.T) {
	t.Parallel()
	savers(t, func(t *testing.T, s checkpoint.Saver) {
		g := around(t, s, lane(t, "inner", graph.Options{}, "s1", "s2"))
		st, err := g.Invoke(t.Context(), graph.Update{trail.Add("in")}, graph.Thread("t"))
		require.NoError(t, err)
		require.Equal(t, []string{"in", "first", "s1", "s2", "last"}, trail.Get(st))
		g = around(t, s, lane(t, "inner", graph.Options{}, "s1", "s2"), graph.ReturnAll())
		st, err = g.Invoke(t.Context(), graph.Update{trail.Add("in")}, graph.Thread("u"))
		require.NoError(t, err)
		require.Equal(t, []string{"in", "first", "in", "first", "s1", "s2", "last"}, trail.Get(st))
	})
}

func TestSubgraphNeedsNoSaver(t *testing.T) {
	t.Parallel()
	g := around(t, nil, lane(t, "inner", graph.Options{}, "s1", "s2"))
	st, err := g.Invoke(t.Context(), graph.Update{trail.Add("in")})
	require.NoError(t, err)
	require.Equal(t, []string{"in", "first", "s1", "s2", "last"}, trail.Get(st))
}

// runs counts what ran.
type runs struct {
	mu sync.Mutex
	n  map[string]int
}

func (r *runs) add(name string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.n == nil {
		r.n = map[string]int{}
	}
	r.n[name]++
	return r.n[name]
}

func (r *runs) count(name string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.n[name]
}

// note is a node that notes its name in trail and here.
func (r *runs) note(name string) graph.NodeFunc {
	fn := note(name)
	return func(ctx context.Context, s graph.State) (graph.Update, error) {
		r.add(name)
		return fn(ctx, s)
	}
}

// asker is a subgraph that asks between two nodes.
func asker(t *testing.T, scope graph.Scope, ran *runs) *graph.Graph {
	t.Helper()
	b := graph.New("asker", trail)
	b.Node("before", ran.note("before"))
	b.Node("ask", func(ctx context.Context, s graph.State) (graph.Update, error) {
		ran.add("ask")
		answer, err := graph.Interrupt[string](ctx, "name?")
		if err != nil {
			return nil, err
		}
		return graph.Update{trail.Add("hello " + answer)}, nil
	})
	b.Edge(graph.Start, "before").Edge("before", "ask")
	g, err := b.Compile(graph.Options{AsSubgraph: scope})
	require.NoError(t, err)
	return g
}

func TestQuestionInSubgraph(t *testing.T) {
	t.Parallel()
	for _, scope := range []graph.Scope{graph.Inherit, graph.Own, graph.None} {
		t.Run("scope "+string(scope), func(t *testing.T) {
			t.Parallel()
			savers(t, func(t *testing.T, s checkpoint.Saver) {
				var ran runs
				b := graph.New("middle", trail)
				b.Subgraph("deep", asker(t, scope, &ran)).Edge(graph.Start, "deep")
				middle, err := b.Compile(graph.Options{})
				require.NoError(t, err)
				g := around(t, s, middle)
				th := graph.Thread("t")

				_, err = g.Invoke(t.Context(), graph.Update{}, th)
				var stop *graph.InterruptedError
				require.ErrorAs(t, err, &stop)
				require.Len(t, stop.Questions, 1)
				q := stop.Questions[0]
				require.Equal(t, "ask", q.Node)
				require.Len(t, q.Namespace, 2)
				require.Equal(t, scope == graph.Own, q.Namespace[0] == "sub", "a graph that keeps its state keeps it by nodes")

				snap, err := g.State(t.Context(), "t", graph.WithSubgraphs())
				require.NoError(t, err)
				require.Equal(t, stop.Questions, snap.Questions())
				require.Equal(t, []string{"deep"}, snap.Tasks[0].State.Next)

				_, err = g.Invoke(t.Context(), nil, th)
				require.ErrorIs(t, err, graph.ErrInterrupted, "still no answer")
				_, err = g.Invoke(t.Context(), nil, th, graph.Answer("other", "x"))
				var wrong *graph.AnswerError
				require.ErrorAs(t, err, &wrong)
				_, err = g.Invoke(t.Context(), nil, th, graph.Answer(q.ID, 7))
				require.ErrorContains(t, err, "decoding the answer")

				st, err := g.Invoke(t.Context(), nil, th, graph.Answer(q.ID, "Ada"))
				require.NoError(t, err)
				want := []string{"first", "before", "hello Ada", "last"}
				require.Equal(t, want, trail.Get(st))
				if scope == graph.None {
					require.Equal(t, 4, ran.count("before"), "nothing was stored of it")
				} else {
					require.Equal(t, 1, ran.count("before"))
				}
			})
		})
	}
}

func TestSubgraphScopes(t *testing.T) {
	t.Parallel()
	savers(t, func(t *testing.T, s checkpoint.Saver) {
		seen := graph.Append[string]("seen")
		inner := func(scope graph.Scope) *graph.Graph {
			b := graph.New("inner", seen, trail)
			b.Node("n", func(_ context.Context, st graph.State) (graph.Update, error) {
				return graph.Update{seen.Add("x"), trail.Add(strings.Repeat("x", len(seen.Get(st))))}, nil
			}).Edge(graph.Start, "n")
			g, err := b.Compile(graph.Options{AsSubgraph: scope})
			require.NoError(t, err)
			return g
		}
		b := graph.New("outer", trail)
		b.Subgraph("own", inner(graph.Own)).Subgraph("fresh", inner(graph.Inherit))
		b.Edge(graph.Start, "own").Edge("own", "fresh")
		g, err := b.Compile(graph.Options{Saver: s})
		require.NoError(t, err)
		for range 3 {
			_, err = g.Invoke(t.Context(), graph.Update{}, graph.Thread("t"))
			require.NoError(t, err)
		}
		snap, err := g.State(t.Context(), "t")
		require.NoError(t, err)
		require.Equal(t, []string{"", "", "x", "", "xx", ""}, trail.Get(snap.State))
	})
}

func TestOwnSubgraphRunsInOneTaskAtATime(t *testing.T) {
	t.Parallel()
	b := graph.New("outer", trail)
	child := graph.New("child", trail)
	child.Node("n", func(ctx context.Context, _ graph.State) (graph.Update, error) {
		<-ctx.Done() // the other task's failure
		return nil, ctx.Err()
	}).Edge(graph.Start, "n")
	own, err := child.Compile(graph.Options{AsSubgraph: graph.Own})
	require.NoError(t, err)
	b.Subgraph("own", own)
	b.Branch(graph.Start, func(graph.State) []graph.Next {
		return []graph.Next{graph.Send("own", nil), graph.Send("own", nil)}
	}, "own")
	g, err := b.Compile(graph.Options{Saver: checkpoint.NewMemory()})
	require.NoError(t, err)
	_, err = g.Invoke(t.Context(), graph.Update{}, graph.Thread("t"))
	require.ErrorContains(t, err, "another task of the superstep uses")
}

func TestToParent(t *testing.T) {
	t.Parallel()
	savers(t, func(t *testing.T, s checkpoint.Saver) {
		b := graph.New("inner", trail)
		b.Node("s1", note("s1"))
		b.Node("s2", func(context.Context, graph.State) (graph.Update, error) {
			return graph.Update{graph.ToParent(graph.Update{trail.Add("from s2"), graph.Goto(graph.To("other"))})}, nil
		})
		b.Node("s3", note("s3"))
		b.Edge(graph.Start, "s1").Edge("s1", "s2").Edge("s2", "s3")
		inner, err := b.Compile(graph.Options{})
		require.NoError(t, err)
		outer := graph.New("outer", trail)
		outer.Subgraph("sub", inner, graph.Destinations("other")).Node("other", note("other"))
		outer.Edge(graph.Start, "sub")
		g, err := outer.Compile(graph.Options{Saver: s})
		require.NoError(t, err)
		st, err := g.Invoke(t.Context(), graph.Update{}, graph.Thread("t"))
		require.NoError(t, err)
		require.Equal(t, []string{"from s2", "other"}, trail.Get(st))

		_, err = inner.Invoke(t.Context(), graph.Update{})
		require.ErrorIs(t, err, graph.ErrNoParent)
	})
}

func TestFailedSubgraphContinuesAtTheFailure(t *testing.T) {
	t.Parallel()
	savers(t, func(t *testing.T, s checkpoint.Saver) {
		var ran runs
		boom := errors.New("boom")
		b := graph.New("inner", trail)
		b.Node("s1", ran.note("s1"))
		b.Node("s2", func(context.Context, graph.State) (graph.Update, error) {
			if ran.add("s2") == 1 {
				return nil, boom
			}
			return graph.Update{trail.Add("s2")}, nil
		})
		b.Edge(graph.Start, "s1").Edge("s1", "s2")
		inner, err := b.Compile(graph.Options{})
		require.NoError(t, err)
		g := around(t, s, inner)
		_, err = g.Invoke(t.Context(), graph.Update{}, graph.Thread("t"))
		require.ErrorIs(t, err, boom)
		require.ErrorContains(t, err, `running node "sub" of graph "outer" in step 2: running node "s2" of graph "inner" in step 2`)
		st, err := g.Invoke(t.Context(), nil, graph.Thread("t"))
		require.NoError(t, err)
		require.Equal(t, []string{"first", "s1", "s2", "last"}, trail.Get(st))
		require.Equal(t, 1, ran.count("s1"))
	})
}

func TestCallMapsState(t *testing.T) {
	t.Parallel()
	savers(t, func(t *testing.T, s checkpoint.Saver) {
		var ran runs
		word, greeting := graph.Value[string]("word"), graph.Value[string]("greeting")
		child := graph.New("greeter", word, greeting)
		child.Node("greet", func(ctx context.Context, st graph.State) (graph.Update, error) {
			ran.add("greet " + word.Get(st))
			name, err := graph.Interrupt[string](ctx, word.Get(st)+"?")
			if err != nil {
				return nil, err
			}
			return graph.Update{greeting.Set(word.Get(st) + " " + name)}, nil
		}).Edge(graph.Start, "greet").Output(greeting)
		greeter, err := child.Compile(graph.Options{})
		require.NoError(t, err)
		b := graph.New("caller", trail)
		b.Node("call", func(ctx context.Context, _ graph.State) (graph.Update, error) {
			var u graph.Update
			for _, w := range []string{"hi", "bye"} {
				out, err := greeter.Call(ctx, graph.Update{word.Set(w)})
				if err != nil {
					return nil, err
				}
				if _, ok := word.Lookup(out); ok {
					return nil, errors.New("word is not part of the output")
				}
				u = append(u, trail.Add(greeting.Get(out)))
			}
			return u, nil
		}).Edge(graph.Start, "call")
		g, err := b.Compile(graph.Options{Saver: s})
		require.NoError(t, err)
		_, err = g.Invoke(t.Context(), graph.Update{}, graph.Thread("t"))
		require.ErrorIs(t, err, graph.ErrInterrupted)
		_, err = g.Invoke(t.Context(), nil, graph.Thread("t"), graph.Resume("Ada"))
		require.ErrorIs(t, err, graph.ErrInterrupted)
		st, err := g.Invoke(t.Context(), nil, graph.Thread("t"), graph.Resume("Bob"))
		require.NoError(t, err)
		require.Equal(t, []string{"hi Ada", "bye Bob"}, trail.Get(st))
		require.Equal(t, 2, ran.count("greet hi"), "a finished subgraph returns its result")

		_, err = greeter.Call(t.Context(), nil)
		require.ErrorIs(t, err, graph.ErrNoParent)
	})
}

func TestEffectsOfSubgraphs(t *testing.T) {
	t.Parallel()
	s := checkpoint.NewMemory()
	var ran runs
	b := graph.New("inner", trail)
	b.Node("pay", func(ctx context.Context, _ graph.State) (graph.Update, error) {
		ran.add("pay")
		if _, err := graph.Once(ctx, "pay", func(context.Context) (int, error) { return ran.add("effect"), nil }); err != nil {
			return nil, err
		}
		if ran.count("pay") == 1 {
			return nil, errors.New("afterwards")
		}
		return nil, nil
	}).Edge(graph.Start, "pay")
	inner, err := b.Compile(graph.Options{})
	require.NoError(t, err)
	g := around(t, s, inner)
	_, err = g.Invoke(t.Context(), graph.Update{}, graph.Thread("t"))
	require.ErrorContains(t, err, "afterwards")
	_, err = g.Invoke(t.Context(), nil, graph.Thread("t"))
	require.NoError(t, err)
	require.Equal(t, 1, ran.count("effect"))
}

func TestSubgraphsAreCheckedAtCompileTime(t *testing.T) {
	t.Parallel()
	other := graph.Value[int]("trail")
	b := graph.New("inner", other)
	b.Node("n", note("n")).Edge(graph.Start, "n")
	inner, err := b.Compile(graph.Options{})
	require.NoError(t, err)
	outer := graph.New("outer", trail)
	outer.Subgraph("sub", inner).Subgraph("none", nil).Node("a|b", note("x")).Node("a:b", note("x"))
	outer.Edge(graph.Start, "sub").Edge("sub", "none")
	_, err = outer.Compile(graph.Options{AsSubgraph: "sometimes"})
	require.ErrorContains(t, err, `channel "trail" is []string in graph "outer" and int in its subgraph "inner"`)
	require.ErrorContains(t, err, `node "none" has no function`)
	require.ErrorContains(t, err, `node name "a|b"`)
	require.ErrorContains(t, err, `node name "a:b"`)
	require.ErrorContains(t, err, `AsSubgraph is "sometimes"`)
}

func TestSendToSubgraph(t *testing.T) {
	t.Parallel()
	savers(t, func(t *testing.T, s checkpoint.Saver) {
		item := graph.Value[string]("item")
		b := graph.New("worker", item, trail)
		b.Node("w", func(ctx context.Context, st graph.State) (graph.Update, error) {
			answer, err := graph.Interrupt[string](ctx, item.Get(st))
			if err != nil {
				return nil, err
			}
			return graph.Update{trail.Add(item.Get(st) + "=" + answer)}, nil
		}).Edge(graph.Start, "w")
		worker, err := b.Compile(graph.Options{})
		require.NoError(t, err)
		outer := graph.New("outer", trail)
		outer.Subgraph("w", worker)
		outer.Branch(graph.Start, func(graph.State) []graph.Next {
			return []graph.Next{
				graph.Send("w", graph.Update{item.Set("a"), trail.Add("own")}),
				graph.Send("w", graph.Update{item.Set("b")}),
			}
		}, "w")
		g, err := outer.Compile(graph.Options{Saver: s})
		require.NoError(t, err)
		_, err = g.Invoke(t.Context(), graph.Update{}, graph.Thread("t"))
		var stop *graph.InterruptedError
		require.ErrorAs(t, err, &stop)
		require.Len(t, stop.Questions, 2)
		require.JSONEq(t, `"a"`, string(stop.Questions[0].Value))
		_, err = g.Invoke(t.Context(), nil, graph.Thread("t"), graph.Answer(stop.Questions[1].ID, "B"))
		require.ErrorIs(t, err, graph.ErrInterrupted)
		st, err := g.Invoke(t.Context(), nil, graph.Thread("t"), graph.Answer(stop.Questions[0].ID, "A"))
		require.NoError(t, err)
		require.Equal(t, []string{"a=A", "b=B"}, trail.Get(st))
	})
}

func TestEventsOfSubgraphs(t *testing.T) {
	t.Parallel()
	g := around(t, nil, lane(t, "inner", graph.Options{}, "s1"))
	show := func(opts ...graph.RunOption) []string {
		var got []string
		for ev, err := range g.Stream(t.Context(), graph.Update{}, opts...) {
			require.NoError(t, err)
			var path []string
			for _, part := range ev.Namespace {
				node, id, _ := strings.Cut(part, ":")
				require.NotEmpty(t, id)
				path = append(path, node)
			}
			got = append(got, strings.Join(append(path, ev.Node), "/"))
		}
		return got
	}
	require.Equal(t, []string{"first", "sub", "last"}, show())
	require.Equal(t, []string{"first", "sub/s1", "sub", "last"}, show(graph.Subgraphs()))
}

func TestEditInSubgraph(t *testing.T) {
	t.Parallel()
	for _, scope := range []graph.Scope{graph.Inherit, graph.Own} {
		t.Run("scope "+string(scope), func(t *testing.T) {
			t.Parallel()
			savers(t, func(t *testing.T, s checkpoint.Saver) {
				inner := lane(t, "inner", graph.Options{AsSubgraph: scope, InterruptBefore: []string{"s2"}}, "s1", "s2")
				g := around(t, s, inner)
				_, err := g.Invoke(t.Context(), graph.Update{}, graph.Thread("t"))
				require.ErrorIs(t, err, graph.ErrInterrupted)
				snap, err := g.State(t.Context(), "t", graph.WithSubgraphs())
				require.NoError(t, err)
				place := snap.Tasks[0].Namespace
				require.Equal(t, []string{"s2"}, snap.Tasks[0].State.Next)
				_, err = g.UpdateState(t.Context(), "t", "", graph.Update{trail.Add("edited")}, graph.InSubgraph(place))
				require.NoError(t, err)
				st, err := g.Invoke(t.Context(), nil, graph.Thread("t"))
				require.NoError(t, err)
				require.Equal(t, []string{"first", "s1", "edited", "s2", "last"}, trail.Get(st))

				_, err = g.UpdateState(t.Context(), "t", "", nil, graph.InSubgraph([]string{"first:x"}))
				require.ErrorContains(t, err, "is no subgraph node")
				_, err = g.UpdateState(t.Context(), "t", "", nil, graph.InSubgraph([]string{"nobody:x"}))
				var unknown *graph.UnknownNodeError
				require.ErrorAs(t, err, &unknown)
				_, err = g.UpdateState(t.Context(), "t", "", nil, graph.InSubgraph([]string{"sub:x"}))
				require.ErrorIs(t, err, checkpoint.ErrNotFound)
			})
		})
	}
}

func TestForkRewindsSubgraphsThatKeepTheirState(t *testing.T) {
	t.Parallel()
	savers(t, func(t *testing.T, s checkpoint.Saver) {
		seen := graph.Append[string]("seen")
		b := graph.New("inner", seen, trail)
		b.Node("n", func(_ context.Context, st graph.State) (graph.Update, error) {
			return graph.Update{seen.Add("x"), trail.Add(strings.Repeat("x", len(seen.Get(st))))}, nil
		}).Edge(graph.Start, "n")
		inner, err := b.Compile(graph.Options{AsSubgraph: graph.Own})
		require.NoError(t, err)
		outer := graph.New("outer", trail)
		outer.Subgraph("own", inner).Subgraph("again", inner).Edge(graph.Start, "own").Edge("own", "again")
		g, err := outer.Compile(graph.Options{Saver: s})
		require.NoError(t, err)
		ids := map[int]string{}
		for range 3 {
			_, err = g.Invoke(t.Context(), graph.Update{}, graph.Thread("t"))
			require.NoError(t, err)
		}
		for snap, err := range g.History(t.Context(), "t") {
			require.NoError(t, err)
			ids[snap.Checkpoint.Step] = snap.Checkpoint.ID
		}
		st, err := g.Invoke(t.Context(), nil, graph.Thread("t"), graph.FromCheckpoint(ids[4])) // the second run begins
		require.NoError(t, err)
		require.Equal(t, []string{"", "", "x", "x"}, trail.Get(st))
		st, err = g.Invoke(t.Context(), graph.Update{}, graph.Thread("t"))
		require.NoError(t, err)
		require.Equal(t, []string{"", "", "x", "x", "xx", "xx"}, trail.Get(st), "the fork's own goes on")
		st, err = g.Invoke(t.Context(), nil, graph.Thread("t"), graph.FromCheckpoint(ids[0]))
		require.NoError(t, err)
		require.Equal(t, []string{"", ""}, trail.Get(st))
	})
}

func TestPruningKeepsWhatASubgraphNeeds(t *testing.T) {
	t.Parallel()
	savers(t, func(t *testing.T, s checkpoint.Saver) {
		var ran runs
		g := around(t, s, asker(t, graph.Inherit, &ran))
		pruner := s.(checkpoint.Pruner)
		_, err := g.Invoke(t.Context(), graph.Update{}, graph.Thread("t"))
		require.ErrorIs(t, err, graph.ErrInterrupted)
		snap, err := g.State(t.Context(), "t", graph.WithSubgraphs())
		require.NoError(t, err)
		_, err = pruner.Prune(t.Context(), "t", 1)
		require.NoError(t, err)
		st, err := g.Invoke(t.Context(), nil, graph.Thread("t"), graph.Resume("Ada"))
		require.NoError(t, err)
		require.Equal(t, []string{"first", "before", "hello Ada", "last"}, trail.Get(st))
		require.Equal(t, 1, ran.count("before"))
		_, err = pruner.Prune(t.Context(), "t", 1)
		require.NoError(t, err)
		for range s.List(t.Context(), checkpoint.Query{Thread: "t", Namespace: strings.Join(snap.Tasks[0].Namespace, "|")}) {
			t.Fatal("the task is over, and nothing lists it")
		}
	})
}
