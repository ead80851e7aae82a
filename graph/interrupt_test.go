package graph_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/graph"
	"github.com/llama-agent/llama-agent/graph/checkpoint"
	"github.com/llama-agent/llama-agent/graph/checkpoint/sqlite"
)

// savers runs a test with each saver of this module.
func savers(t *testing.T, test func(t *testing.T, s checkpoint.Saver)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		test(t, checkpoint.NewMemory())
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "graph.sqlite"), sqlite.Options{})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		test(t, s)
	})
}

// approval is a graph of three parallel calls: two ask first, one counts.
func approval(t *testing.T, s checkpoint.Saver) (g *graph.Graph, effects map[string]*atomic.Int64) {
	t.Helper()
	effects = map[string]*atomic.Int64{"a": {}, "b": {}, "counter": {}}
	edit := func(name string) graph.NodeFunc {
		return func(ctx context.Context, _ graph.State) (graph.Update, error) {
			ok, err := graph.Interrupt[bool](ctx, "edit "+name+"?")
			if err != nil {
				return nil, err
			}
			if !ok {
				return graph.Update{trail.Add(name + " denied")}, nil
			}
			effects[name].Add(1)
			return graph.Update{trail.Add(name + " edited")}, nil
		}
	}
	b := graph.New("approval", trail)
	b.Node("a", edit("a")).Node("b", edit("b"))
	b.Node("counter", func(context.Context, graph.State) (graph.Update, error) {
		effects["counter"].Add(1)
		return graph.Update{trail.Add("counted")}, nil
	})
	b.Node("end", note("end")).Join([]string{"a", "b", "counter"}, "end")
	for _, n := range []string{"a", "b", "counter"} {
		b.Edge(graph.Start, n)
	}
	g, err := b.Compile(graph.Options{Saver: s})
	require.NoError(t, err)
	return g, effects
}

func TestApprovalInsideParallelCalls(t *testing.T) {
	t.Parallel()
	savers(t, func(t *testing.T, s checkpoint.Saver) {
		for _, order := range []string{"a then b", "b then a", "both"} {
			g, effects := approval(t, s)
			thread := graph.Thread(order)
			_, err := g.Invoke(t.Context(), graph.Update{}, thread)
			var stop *graph.InterruptedError
			require.ErrorAs(t, err, &stop)
			require.ErrorIs(t, err, graph.ErrInterrupted)
			require.Equal(t, []string{"a", "b"}, stop.Next)
			require.Len(t, stop.Questions, 2)
			require.NotEqual(t, stop.Questions[0].ID, stop.Questions[1].ID)
			require.JSONEq(t, `"edit a?"`, string(stop.Questions[0].Value))

			snap, err := g.State(t.Context(), order)
			require.NoError(t, err)
			require.Equal(t, stop.Questions, snap.Questions())
			require.Equal(t, []string{"counted"}, trail.Get(snap.State))
			yes, no := graph.Answer(stop.Questions[0].ID, true), graph.Answer(stop.Questions[1].ID, false)

			_, err = g.Invoke(t.Context(), nil, thread, graph.Resume(true))
			var wrong *graph.AnswerError
			require.ErrorAs(t, err, &wrong, "two are open: which one is meant?")
			_, err = g.Invoke(t.Context(), nil, thread, graph.Answer("ghost", true))
			require.ErrorAs(t, err, &wrong)
			require.ErrorContains(t, err, "ghost")

			switch order {
			case "both":
				_, err = g.Invoke(t.Context(), nil, thread, no, yes)
			case "a then b":
				_, err = g.Invoke(t.Context(), nil, thread, yes)
				require.ErrorAs(t, err, &stop)
				require.Equal(t, []string{"b"}, stop.Next)
				require.Len(t, stop.Questions, 1)
				_, err = g.Invoke(t.Context(), nil, thread, graph.Resume(false))
			case "b then a":
				_, err = g.Invoke(t.Context(), nil, thread, no)
				require.ErrorAs(t, err, &stop)
				_, err = g.Invoke(t.Context(), nil, thread, yes)
			}
			require.NoError(t, err)
			snap, err = g.State(t.Context(), order)
			require.NoError(t, err)
			require.Equal(t, []string{"a edited", "b denied", "counted", "end"}, trail.Get(snap.State))
			for name, want := range map[string]int64{"a": 1, "b": 0, "counter": 1} {
				require.Equal(t, want, effects[name].Load(), name)
			}
		}
	})
}

func TestSeveralQuestionsOfOneNode(t *testing.T) {
	t.Parallel()
	savers(t, func(t *testing.T, s checkpoint.Saver) {
		g := single(t, func(ctx context.Context, _ graph.State) (graph.Update, error) {
			name, err := graph.Interrupt[string](ctx, "name?")
			if err != nil {
				return nil, fmt.Errorf("asking for the name: %w", err)
			}
			age, err := graph.Interrupt[int](ctx, "age of "+name+"?")
			if err != nil {
				return nil, err
			}
			return graph.Update{trail.Add(name), count.Set(age)}, nil
		}, graph.Options{Saver: s}, graph.Retry(graph.RetryPolicy{Initial: -1}))
		th := graph.Thread("t")
		_, err := g.Invoke(t.Context(), graph.Update{}, th)
		var first, second *graph.InterruptedError
		require.ErrorAs(t, err, &first)
		_, err = g.Invoke(t.Context(), nil, th, graph.Resume("Bruno"))
		require.ErrorAs(t, err, &second)
		require.JSONEq(t, `"age of Bruno?"`, string(second.Questions[0].Value))
		require.NotEqual(t, first.Questions[0].ID, second.Questions[0].ID)
		_, err = g.Invoke(t.Context(), nil, th)
		var again *graph.InterruptedError
		require.ErrorAs(t, err, &again, "without an answer the question is asked again")
		require.Equal(t, second.Questions, again.Questions)
		_, err = g.Invoke(t.Context(), nil, th, graph.Resume("old"))
		require.ErrorContains(t, err, "decoding the answer", "an answer of the wrong type")
		snap, err := g.State(t.Context(), "t")
		require.NoError(t, err)
		require.NotEmpty(t, snap.Tasks[0].Error)
		require.Equal(t, second.Questions, snap.Questions(), "the question stays open")
		st, err := g.Invoke(t.Context(), nil, th, graph.Resume(7))
		require.NoError(t, err)
		require.Equal(t, 7, count.Get(st))
	})
}

func TestQuestionThatANodeSwallows(t *testing.T) {
	t.Parallel()
	g := single(t, func(ctx context.Context, _ graph.State) (graph.Update, error) {
		v, err := graph.Interrupt[int](ctx, "?")
		if err != nil {
			return graph.Update{count.Set(-1)}, nil //nolint:nilerr // this is the mistake
		}
		return graph.Update{count.Set(v)}, nil
	}, graph.Options{Saver: checkpoint.NewMemory()})
	_, err := g.Invoke(t.Context(), graph.Update{}, graph.Thread("t"))
	require.ErrorIs(t, err, graph.ErrInterrupted)
	s, err := g.Invoke(t.Context(), nil, graph.Thread("t"), graph.Resume(4))
	require.NoError(t, err)
	require.Equal(t, 4, count.Get(s))
}

func TestQuestionWithoutThread(t *testing.T) {
	t.Parallel()
	g := single(t, func(ctx context.Context, _ graph.State) (graph.Update, error) {
		_, err := graph.Interrupt[int](ctx, "?")
		return nil, err
	}, graph.Options{})
	_, err := g.Invoke(t.Context(), graph.Update{})
	require.ErrorIs(t, err, graph.ErrInterrupted)
}

func TestBreakpoints(t *testing.T) {
	t.Parallel()
	savers(t, func(t *testing.T, s checkpoint.Saver) {
		b := graph.New("breakpoints", trail)
		b.Node("a", note("a")).Node("b", note("b")).Node("c", note("c"))
		b.Edge(graph.Start, "a").Edge("a", "b").Edge("b", "c")
		g, err := b.Compile(graph.Options{Saver: s, InterruptBefore: []string{"b"}})
		require.NoError(t, err)
		th := graph.Thread("t")
		got, err := collect(t, g, graph.Update{}, th)
		var stop *graph.InterruptedError
		require.ErrorAs(t, err, &stop)
		require.Equal(t, []string{"b"}, stop.Next)
		require.Equal(t, []string{"updates 1 a [a]", "updates 2  [] stopped before [b]"}, got)
		if lister, ok := s.(checkpoint.ThreadLister); ok {
			threads, err := lister.Threads(t.Context(), checkpoint.ThreadQuery{})
			require.NoError(t, err)
			require.Equal(t, checkpoint.StatusInterrupted, threads[0].Status)
		}
		got, err = collect(t, g, nil, th, graph.InterruptAfter("b"))
		require.ErrorIs(t, err, graph.ErrInterrupted)
		require.Equal(t, []string{"updates 2 b [b]", "updates 3  [] stopped before [c]"}, got)
		got, err = collect(t, g, nil, th, graph.InterruptAfter("*"))
		require.ErrorAs(t, err, &stop, "also after the last node")
		require.Empty(t, stop.Next)
		require.Equal(t, []string{"updates 3 c [c]", "updates 4  [] stopped before []"}, got)
		_, err = collect(t, g, nil, th)
		require.ErrorIs(t, err, graph.ErrNothingToResume)
	})
}

func TestBreakpointFiresAfterACrashBeforeIt(t *testing.T) {
	t.Parallel()
	s := checkpoint.NewMemory()
	g := chain(t, graph.Options{Saver: s}, "a", "b")
	for ev, err := range g.Stream(t.Context(), graph.Update{}, graph.Thread("t"), graph.Modes(graph.Checkpoints)) {
		require.NoError(t, err)
		if ev.Checkpoint.Step == 1 {
			break // as a crash at this boundary would
		}
	}
	_, err := g.Invoke(t.Context(), nil, graph.Thread("t"), graph.InterruptBefore("b"))
	require.ErrorIs(t, err, graph.ErrInterrupted, "the run wasn't stopped here yet")
}

func TestNewInputDropsPendingQuestions(t *testing.T) {
	t.Parallel()
	g, _ := approval(t, checkpoint.NewMemory())
	_, err := g.Invoke(t.Context(), graph.Update{}, graph.Thread("t"))
	var old, fresh *graph.InterruptedError
	require.ErrorAs(t, err, &old)
	_, err = g.Invoke(t.Context(), graph.Update{trail.Add("again")}, graph.Thread("t"))
	require.ErrorAs(t, err, &fresh)
	require.NotEqual(t, old.Questions[0].ID, fresh.Questions[0].ID)
	_, err = g.Invoke(t.Context(), nil, graph.Thread("t"), graph.Answer(old.Questions[0].ID, true))
	var wrong *graph.AnswerError
	require.True(t, errors.As(err, &wrong))
}
