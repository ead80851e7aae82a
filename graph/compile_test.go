package graph_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/graph"
)

func noop(context.Context, graph.State) (graph.Update, error) { return nil, nil }

func TestCompileReportsEveryMistake(t *testing.T) {
	t.Parallel()
	none := graph.Reduced[int]("folded", nil)
	b := graph.New("broken", count, graph.Value[int]("count"), none, nil, graph.Value[int](""))
	b.Node("a", noop).Node("a", noop).Node("b", nil).Node("", noop).Node(graph.End, noop).Node("*", noop)
	b.Node("lonely", noop, graph.Timeout(-time.Second), graph.Retry(graph.RetryPolicy{MaxAttempts: -1}), graph.Destinations("nowhere"))
	b.Edge(graph.Start, "a").Edge("a", "ghost").Edge("phantom", "a").Edge(graph.End, "a").Edge("a", graph.Start)
	b.Join(nil, "a").Join([]string{"a", "a"}, "b").Join([]string{graph.Start, "a"}, "b")
	b.Branch("a", nil, "spook")
	_, err := b.Compile(graph.Options{MaxConcurrency: -1, InterruptBefore: []string{"wraith", "*"}})
	require.Error(t, err)
	for _, want := range []string{
		`graph "broken"`, `channel "count" is declared twice`, `channel "folded" has no reducer`, `channel 3 is nil`, "has no name",
		`node "a" is declared twice`, `node "b" has no function`, "a node has no name", `node name "__end__" is reserved`, `"*" is reserved`,
		`"lonely" has the negative timeout`, `"lonely" has -1 attempts`, `leads to "nowhere"`, `leads to "ghost"`, `begins at "phantom"`,
		"begins at the end", "leads to the start", `join to "a" waits for no node`, "names a source twice", "can't wait for the start",
		"branch from a has no function", `leads to "spook"`, `node "lonely" can't be reached`, "MaxConcurrency is -1", `names "wraith"`,
	} {
		require.ErrorContains(t, err, want)
	}
}

func TestCompileNeedsAnEntry(t *testing.T) {
	t.Parallel()
	_, err := graph.New("g").Node("a", noop).Compile(graph.Options{})
	require.ErrorContains(t, err, "nothing leads from the start")
	require.NotContains(t, err.Error(), "can't be reached", "one mistake, one message")
}

func TestCompileAcceptsWhatMayBeReached(t *testing.T) {
	t.Parallel()
	route := func(graph.State) []graph.Next { return nil }
	_, err := graph.New("open").Node("a", noop).Node("b", noop).Edge(graph.Start, "a").Branch("a", route).Compile(graph.Options{})
	require.NoError(t, err, "a branch without targets may lead anywhere")
	_, err = graph.New("goto").Node("a", noop, graph.Destinations("b")).Node("b", noop).Edge(graph.Start, "a").Compile(graph.Options{})
	require.NoError(t, err)
	_, err = graph.New("entry").Node("a", noop).Branch(graph.Start, route, "a", graph.End).Compile(graph.Options{})
	require.NoError(t, err)
}

func TestBadRunOptions(t *testing.T) {
	t.Parallel()
	g := chain(t, graph.Options{}, "a")
	_, err := g.Invoke(t.Context(), graph.Update{}, graph.MaxSteps(-1), graph.WithDurability("eventually"),
		graph.Modes("colour"), graph.Lease("me", -1), graph.InterruptBefore("ghost"), graph.FromCheckpoint("x"))
	for _, want := range []string{"MaxSteps is -1", `durability "eventually"`, `mode "colour"`, "must be positive", `"ghost"`, "no thread"} {
		require.ErrorContains(t, err, want)
	}
	_, err = g.Invoke(t.Context(), nil)
	require.ErrorIs(t, err, graph.ErrNothingToResume)
	require.ErrorIs(t, err, graph.ErrNoSaver)
	_, err = g.Invoke(t.Context(), graph.Update{}, graph.Resume(1))
	require.ErrorContains(t, err, "input must be nil")
}

func TestMistakesAreTyped(t *testing.T) {
	t.Parallel()
	b := graph.New("typed", trail)
	b.Node("a", nil).Node("a", note("a")).Node("lost", note("lost")).Edge(graph.Start, "nobody")
	_, err := b.Compile(graph.Options{MaxConcurrency: -1})
	var mistakes *graph.CompileError
	require.ErrorAs(t, err, &mistakes)
	require.Equal(t, "typed", mistakes.Graph)
	require.Len(t, mistakes.Errs, 6, "%v", err)
	require.ErrorIs(t, err, graph.ErrInvalidOption)

	g := chain(t, graph.Options{}, "a")
	for _, opt := range []graph.RunOption{
		graph.MaxSteps(-1), graph.Lease("me", -1), graph.Modes("everything"), graph.WithDurability("mostly"), graph.Buffered(-1), graph.InterruptBefore("nobody"),
	} {
		_, err := g.Invoke(t.Context(), graph.Update{}, opt)
		require.ErrorIs(t, err, graph.ErrInvalidOption)
		require.ErrorContains(t, err, `graph "chain"`)
	}
}
