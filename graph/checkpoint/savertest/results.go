package savertest

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/graph/checkpoint"
)

func testResults(t *testing.T, s checkpoint.Saver) {
	big := bytes.Repeat([]byte("x"), 5000)
	save(t, s, boundary("t", 1))
	one := checkpoint.Result{Task: "a", Node: "n", Done: true, Error: "of the first attempt", Handled: true,
		Writes:     []checkpoint.Write{{Channel: "x", Op: "add", Data: big}, {Channel: "x", Op: "add", Data: []byte("<small>")}, {Channel: "y", Op: "set", Data: []byte{}}},
		Targets:    []checkpoint.Target{{Node: "m", Send: true, Private: []checkpoint.Write{{Channel: "x", Op: "set", Data: big}}}, {Node: "k"}},
		Interrupts: []checkpoint.Interrupt{{ID: "q", Value: []byte("1")}}, Answers: [][]byte{[]byte("2")},
		Nested: []checkpoint.Nested{
			{Interrupt: checkpoint.Interrupt{ID: "nq", Value: []byte("3")}, Namespace: "sub", Node: "asks", Unsaved: true, Answer: []byte("4")},
			{Interrupt: checkpoint.Interrupt{ID: "open", Value: big}, Namespace: "sub", Node: "asks"},
		}}
	requireFull(t, reflect.ValueOf(one), "Result")
	two := checkpoint.Result{Task: "b", Node: "q", Interrupts: []checkpoint.Interrupt{{ID: "i", Value: []byte(`{"ask":"<?>"}`)}}}
	require.NoError(t, s.SaveResults(t.Context(), checkpoint.ResultSet{Thread: "t", Seq: 1, Results: []checkpoint.Result{{Task: "a", Error: "replaced"}}}))
	require.NoError(t, s.SaveResults(t.Context(), checkpoint.ResultSet{Thread: "t", Seq: 1, Results: []checkpoint.Result{one, two}}))

	got := load(t, s, "t", "")
	require.Len(t, got.Results, 2)
	r, ok := got.Result("a")
	require.True(t, ok)
	requireResult(t, one, r)
	r, ok = got.Result("b")
	require.True(t, ok)
	requireResult(t, two, r)
	require.True(t, r.Pending())

	two.Answers, two.Done, two.Writes = [][]byte{[]byte(`"yes"`)}, true, one.Writes[:1]
	child := boundary("t", 2)
	child.Checkpoint.Channels = map[string]int64{"x": 2}
	child.Values = []checkpoint.Value{{Channel: "x", Data: big}}
	child.Results = []checkpoint.Result{two, {Task: "c", Node: "n", Error: "it broke"}}
	save(t, s, child)
	require.Empty(t, load(t, s, "t", "").Results, "results belong to the parent")
	got = load(t, s, "t", id("t", 1))
	require.Len(t, got.Results, 3)
	r, _ = got.Result("b")
	requireResult(t, two, r)
	require.False(t, r.Pending())
	r, _ = got.Result("c")
	require.Equal(t, "it broke", r.Error)
}

// testResultsOfFork: what a boundary brings of the tasks before it belongs to its parent, however far back that is.
func testResultsOfFork(t *testing.T, s checkpoint.Saver) {
	grow(t, s, "t", 3)
	fork := boundary("t", 4)
	fork.Checkpoint.Parent, fork.Checkpoint.ParentSeq = id("t", 1), 1
	fork.Results = []checkpoint.Result{{Task: "again", Node: "n", Done: true, Writes: []checkpoint.Write{{Channel: "x", Op: "set", Data: []byte("forked")}}}}
	save(t, s, fork)
	require.NoError(t, s.SaveResults(t.Context(), checkpoint.ResultSet{Thread: "t", Seq: 2, Results: []checkpoint.Result{{Task: "late", Node: "n", Done: true}}}))
	for seq, task := range map[int64]string{1: "again", 2: "late"} {
		got := load(t, s, "t", id("t", seq))
		require.Len(t, got.Results, 1, "seq %d", seq)
		require.Equal(t, task, got.Results[0].Task)
	}
	require.Empty(t, load(t, s, "t", id("t", 3)).Results)
	require.Empty(t, load(t, s, "t", "").Results)
}

func requireResult(t *testing.T, want, got checkpoint.Result) {
	t.Helper()
	require.Len(t, got.Writes, len(want.Writes))
	for i := range want.Writes {
		require.Equal(t, want.Writes[i].Channel, got.Writes[i].Channel)
		require.Equal(t, want.Writes[i].Op, got.Writes[i].Op)
		require.True(t, bytes.Equal(want.Writes[i].Data, got.Writes[i].Data), "write %d", i)
	}
	want.Writes, got.Writes = nil, nil
	require.Equal(t, want, got)
}
