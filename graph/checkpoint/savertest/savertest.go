// Package savertest is the conformance suite of checkpoint savers.
//
// A saver's own tests call [Run]. The suite checks the methods of [checkpoint.Saver] and, for each optional interface of package
// checkpoint that the saver implements, that one too; a saver that implements no other passes without them.
package savertest

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/graph/checkpoint"
)

// epoch is the time of the first checkpoint in every test; savers must keep microseconds.
var epoch = time.Date(2024, 2, 29, 12, 0, 0, 123456000, time.UTC)

// Run runs the suite. open returns an empty saver that nobody else uses; it cleans up through t.
func Run(t *testing.T, open func(t *testing.T) checkpoint.Saver) {
	t.Helper()
	tests := []struct {
		name string
		run  func(*testing.T, checkpoint.Saver)
	}{
		{"RoundTrip", testRoundTrip},
		{"OddNames", testOddNames},
		{"NotFound", testNotFound},
		{"Values", testValues},
		{"ManyDeltas", testManyDeltas},
		{"Fork", testFork},
		{"Results", testResults},
		{"ResultsOfAFork", testResultsOfFork},
		{"SeveralBoundariesAreOne", testAtomic},
		{"SeqsGoUp", testSeqs},
		{"List", testList},
		{"History", testHistory},
		{"Namespaces", testNamespaces},
		{"CallerKeepsItsData", testIsolation},
		{"Concurrent", testConcurrent},
		{"Threads", testThreads},
		{"PagesOfThreads", testPages},
		{"Status", testStatus},
		{"Prune", testPrune},
		{"PruneKeepsWhatIsUsed", testPruneKeeps},
		{"PruneSubgraphs", testPruneSubgraphs},
		{"DeleteThread", testDelete},
		{"CopyThread", testCopy},
		{"CopyThreadRefuses", testCopyRefuses},
		{"Effects", testEffects},
		{"Lease", testLease},
		{"LeaseGuardsWrites", testFencing},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(t, open(t))
		})
	}
}

// optional returns s as an optional interface, and skips the test when the saver doesn't implement it.
func optional[T any](t *testing.T, s checkpoint.Saver) T {
	t.Helper()
	o, ok := s.(T)
	if !ok {
		t.Skipf("the saver is no %v", reflect.TypeFor[T]())
	}
	return o
}

// boundary returns checkpoint seq of a thread, a child of the one before.
func boundary(thread string, seq int64) checkpoint.Boundary {
	info := checkpoint.Info{
		Thread: thread, ID: id(thread, seq), Seq: seq, Step: int(seq) - 2, Source: checkpoint.SourceLoop,
		Nodes: []string{"n" + strconv.Itoa(int(seq))}, Next: []string{"next"}, Time: epoch.Add(time.Duration(seq) * time.Second), Bytes: 7,
	}
	if seq > 1 {
		info.Parent, info.ParentSeq = id(thread, seq-1), seq-1
	}
	return checkpoint.Boundary{
		Checkpoint: checkpoint.Checkpoint{
			Info: info, Run: "run", Shape: "shape", Channels: map[string]int64{},
			Tasks: []checkpoint.Task{{ID: "task" + strconv.Itoa(int(seq)), Node: "next"}},
		},
		ShapeText: "the shape",
	}
}

func id(thread string, seq int64) string {
	return fmt.Sprintf("%s-%d", thread, seq)
}

func save(t *testing.T, s checkpoint.Saver, bs ...checkpoint.Boundary) {
	t.Helper()
	require.NoError(t, s.Save(t.Context(), bs...))
}

func load(t *testing.T, s checkpoint.Saver, thread, id string) *checkpoint.Saved {
	t.Helper()
	saved, err := s.Load(t.Context(), checkpoint.Ref{Thread: thread, ID: id})
	require.NoError(t, err)
	return saved
}

// grow saves n checkpoints; each appends an item to "list" and sets "last".
func grow(t *testing.T, s checkpoint.Saver, thread string, n int) {
	t.Helper()
	for seq := int64(1); seq <= int64(n); seq++ {
		b := boundary(thread, seq)
		b.Checkpoint.Channels = map[string]int64{"list": seq, "last": seq, "first": 1}
		b.Values = []checkpoint.Value{
			{Channel: "last", Data: fmt.Appendf(nil, "last%d", seq)},
			{Channel: "list", Delta: true, Prev: seq - 1, Data: fmt.Appendf(nil, "item%d", seq)},
		}
		if seq == 1 {
			b.Values = append(b.Values, checkpoint.Value{Channel: "first", Data: []byte("once")})
		}
		save(t, s, b)
	}
}

func joined(parts [][]byte) string {
	return string(bytes.Join(parts, []byte(" ")))
}

func infos(t *testing.T, s checkpoint.Saver, q checkpoint.Query) []checkpoint.Info {
	t.Helper()
	var all []checkpoint.Info
	for info, err := range s.List(t.Context(), q) {
		require.NoError(t, err)
		all = append(all, info)
	}
	return all
}

// requireSaved compares checkpoints but for the order of their results.
func requireSaved(t *testing.T, want, got *checkpoint.Saved) {
	t.Helper()
	require.WithinDuration(t, want.Time, got.Time, 0)
	a, b := *want, *got
	a.Time, a.Results, b.Results = b.Time, nil, nil
	require.Equal(t, a, b)
	require.Len(t, got.Results, len(want.Results))
	for _, r := range want.Results {
		other, ok := got.Result(r.Task)
		require.True(t, ok, r.Task)
		requireResult(t, r, other)
	}
}

// requireFull finds fields that a test forgot to fill, so that no saver can forget them.
func requireFull(t *testing.T, v reflect.Value, path string) {
	t.Helper()
	require.False(t, v.IsZero(), "the suite doesn't fill %s", path)
	switch {
	case v.Type() == reflect.TypeFor[time.Time]():
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			requireFull(t, v.Field(i), path+"."+v.Type().Field(i).Name)
		}
	case v.Kind() == reflect.Slice:
		requireFull(t, v.Index(0), path+"[0]")
	}
}

// begin records an effect as begun and reports whether it is new.
func begin(ctx context.Context, t *testing.T, log checkpoint.EffectLog, key checkpoint.EffectKey) (checkpoint.Effect, bool) {
	t.Helper()
	e, fresh, err := log.BeginEffect(ctx, "", checkpoint.Effect{EffectKey: key, Seq: 3, Started: epoch})
	require.NoError(t, err)
	require.Equal(t, key, e.EffectKey)
	require.EqualValues(t, 3, e.Seq)
	require.WithinDuration(t, epoch, e.Started, 0)
	return e, fresh
}
