package savertest

import (
	"bytes"
	"context"
	"errors"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/graph/checkpoint"
)

// full returns a boundary with something in every field.
func full(thread string) checkpoint.Boundary {
	b := boundary(thread, 2)
	big := bytes.Repeat([]byte("0123456789"), 1000)
	cp := &b.Checkpoint
	cp.Step, cp.Above = 7, 5
	cp.Joins = map[string][]string{"a+b→c": {"a"}}
	cp.Ran = []string{"ran"}
	cp.Tasks = []checkpoint.Task{
		{ID: "1", Node: "w", Send: true, Joined: true, Private: []checkpoint.Write{{Channel: "x", Op: "set", Data: []byte(`{"a":"<&>"}`)}}},
		{ID: "2", Node: "w", Send: true, Private: []checkpoint.Write{{Channel: "x", Op: "set", Data: big}, {Channel: "y", Op: "add", Data: []byte{0, 255, '"', '\n'}}}},
		{ID: "3", Node: "plain"},
	}
	cp.Waiting = []checkpoint.Task{{ID: "0", Node: "last", Send: true, Joined: true, Private: cp.Tasks[0].Private}, {Node: "later"}}
	cp.Next = []string{"w", "w", "plain"}
	cp.Channels = map[string]int64{"v": 2, "big": 2}
	b.Values = []checkpoint.Value{{Channel: "v", Data: []byte("value")}, {Channel: "big", Data: big}}
	return b
}

func testRoundTrip(t *testing.T, s checkpoint.Saver) {
	b := full("t")
	save(t, s, boundary("t", 1), b)
	cp := b.Checkpoint
	cp.Namespace = "that of the root is empty"
	requireFull(t, reflect.ValueOf(cp), "Checkpoint")

	got := load(t, s, "t", "")
	require.WithinDuration(t, b.Checkpoint.Time, got.Time, 0)
	got.Time = b.Checkpoint.Time
	require.Equal(t, b.Checkpoint, got.Checkpoint)
	require.Equal(t, map[string][][]byte{"v": {[]byte("value")}, "big": {b.Values[1].Data}}, got.Values)
	require.Equal(t, "the shape", got.ShapeText)
	require.Empty(t, got.Results)
	require.EqualValues(t, 2, got.LastSeq)
	require.Equal(t, got.Checkpoint, load(t, s, "t", id("t", 2)).Checkpoint)
	require.NoError(t, s.Save(t.Context()), "nothing to save")
}

// testOddNames: every string may be in every name, and none is another.
func testOddNames(t *testing.T, s checkpoint.Saver) {
	odd := []string{"a", "A", "a ", "a\x00", "a/b", "a:b|c", "'; DROP TABLE x; --", `"$.x"`, "%", "日本語 ü", strings.Repeat("long", 300),
		"01890a5d-ac96-774b-bcce-b302099a8057", "01890A5D-AC96-774B-BCCE-B302099A8057", "0123456789abcdef", "0123456789ABCDEF"}
	for i, name := range odd {
		b := boundary(name, 1)
		b.Checkpoint.Channels = map[string]int64{name: 1}
		b.Checkpoint.Nodes = []string{name}
		b.Checkpoint.Run = name
		b.Checkpoint.Tasks = []checkpoint.Task{{ID: name, Node: name}}
		b.Values = []checkpoint.Value{{Channel: name, Data: []byte(strconv.Itoa(i))}}
		b.Labels = map[string]string{name: name}
		sub := b
		b.Checkpoint.ID = name
		sub.Checkpoint.Namespace, sub.Checkpoint.ID = name, "sub "+name
		save(t, s, b, sub)
		require.NoError(t, s.SaveResults(t.Context(), checkpoint.ResultSet{Thread: name, Seq: 1, Results: []checkpoint.Result{{Task: name, Node: name, Done: true}}}))
	}
	for i, name := range odd {
		for _, ref := range []checkpoint.Ref{{Thread: name}, {Thread: name, ID: name}, {Thread: name, Namespace: name}} {
			got, err := s.Load(t.Context(), ref)
			require.NoError(t, err, "%q", ref)
			require.Equal(t, name, got.Thread)
			require.Equal(t, ref.Namespace, got.Namespace)
			require.Equal(t, []string{name}, got.Nodes)
			require.Equal(t, name, got.Run)
			require.Equal(t, []checkpoint.Task{{ID: name, Node: name}}, got.Tasks)
			require.Equal(t, strconv.Itoa(i), joined(got.Values[name]))
			if ref.Namespace == "" {
				require.Equal(t, name, got.ID)
				_, done := got.Result(name)
				require.True(t, done)
			}
		}
	}
}

func testNotFound(t *testing.T, s checkpoint.Saver) {
	_, err := s.Load(t.Context(), checkpoint.Ref{Thread: "nobody"})
	require.ErrorIs(t, err, checkpoint.ErrNotFound)
	require.ErrorContains(t, err, "nobody")
	save(t, s, boundary("t", 1))
	_, err = s.Load(t.Context(), checkpoint.Ref{Thread: "t", ID: "other"})
	require.ErrorIs(t, err, checkpoint.ErrNotFound)
	require.ErrorContains(t, err, "other")
	_, err = s.Load(t.Context(), checkpoint.Ref{Thread: "t", Namespace: "sub"})
	require.ErrorIs(t, err, checkpoint.ErrNotFound)
	for info, err := range s.List(t.Context(), checkpoint.Query{Thread: "nobody"}) {
		t.Fatalf("an unknown thread has no checkpoints, got %v, %v", info, err)
	}
	require.ErrorIs(t, s.SaveResults(t.Context(), checkpoint.ResultSet{Thread: "nobody", Seq: 1}), checkpoint.ErrNotFound)
	require.ErrorIs(t, s.SaveResults(t.Context(), checkpoint.ResultSet{Thread: "t", Namespace: "sub", Seq: 1}), checkpoint.ErrNotFound)
}

func testAtomic(t *testing.T, s checkpoint.Saver) {
	first, second := boundary("t", 1), boundary("t", 2)
	second.Results = []checkpoint.Result{{Task: "task1", Done: true}}
	save(t, s, first, second)
	require.Len(t, load(t, s, "t", id("t", 1)).Results, 1)

	taken := boundary("t", 2)
	taken.Checkpoint.ID = "another"
	err := s.Save(t.Context(), boundary("t", 3), taken)
	require.ErrorIs(t, err, checkpoint.ErrExists)
	require.EqualValues(t, 2, load(t, s, "t", "").Seq, "nothing of a failed Save may be left")

	sameID := boundary("t", 3)
	sameID.Checkpoint.ID = id("t", 1)
	require.ErrorIs(t, s.Save(t.Context(), sameID), checkpoint.ErrExists)
	sameID.Checkpoint.Namespace = "sub"
	require.ErrorIs(t, s.Save(t.Context(), sameID), checkpoint.ErrExists, "IDs are unique in a thread, not in a namespace")
	save(t, s, boundary("t", 3))
}

func testSeqs(t *testing.T, s checkpoint.Saver) {
	first, second := boundary("t", 5), boundary("t", 9) // some may be left out
	first.Checkpoint.Parent, first.Checkpoint.ParentSeq = "", 0
	second.Checkpoint.Parent, second.Checkpoint.ParentSeq = first.Checkpoint.ID, 5
	save(t, s, first, second)
	require.EqualValues(t, 9, load(t, s, "t", "").LastSeq)
	for _, seq := range []int64{1, 5, 7, 9} {
		b := boundary("t", seq)
		b.Checkpoint.ID = "another"
		require.ErrorIs(t, s.Save(t.Context(), b), checkpoint.ErrExists, "seq %d", seq)
	}
	require.EqualValues(t, 9, load(t, s, "t", id("t", 5)).LastSeq)
	require.Len(t, infos(t, s, checkpoint.Query{Thread: "t"}), 2)
}

func testConcurrent(t *testing.T, s checkpoint.Saver) {
	const threads, each = 4, 25
	var wg sync.WaitGroup
	for i := range threads {
		wg.Go(func() {
			for seq := int64(1); seq <= each; seq++ {
				if err := s.Save(context.Background(), boundary("t"+strconv.Itoa(i), seq)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for i := range threads {
		require.Len(t, infos(t, s, checkpoint.Query{Thread: "t" + strconv.Itoa(i)}), each)
	}

	// Of several writers of one place in a thread exactly one succeeds.
	var mu sync.Mutex
	won := 0
	for i := range threads {
		wg.Go(func() {
			b := boundary("t0", each+1)
			b.Checkpoint.ID = "racer" + strconv.Itoa(i)
			err := s.Save(context.Background(), b)
			if err != nil && !errors.Is(err, checkpoint.ErrExists) {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				won++
			}
		})
	}
	wg.Wait()
	require.Equal(t, 1, won)
}

func testNamespaces(t *testing.T, s checkpoint.Saver) {
	root := boundary("t", 1)
	sub := boundary("t", 1)
	sub.Checkpoint.Namespace, sub.Checkpoint.ID = "sub", "sub-1"
	sub.Checkpoint.Channels = map[string]int64{"v": 1}
	sub.Values = []checkpoint.Value{{Channel: "v", Data: []byte("inner")}}
	save(t, s, sub, root) // in either order
	require.Empty(t, load(t, s, "t", "").Values)
	got, err := s.Load(t.Context(), checkpoint.Ref{Thread: "t", Namespace: "sub"})
	require.NoError(t, err)
	require.Equal(t, "inner", joined(got.Values["v"]))
	require.Equal(t, "sub", got.Namespace)
	require.Len(t, infos(t, s, checkpoint.Query{Thread: "t"}), 1)
	require.Len(t, infos(t, s, checkpoint.Query{Thread: "t", Namespace: "sub"}), 1)
	_, err = s.Load(t.Context(), checkpoint.Ref{Thread: "t", ID: "sub-1"})
	require.ErrorIs(t, err, checkpoint.ErrNotFound, "it is in another namespace")
	require.NoError(t, s.SaveResults(t.Context(), checkpoint.ResultSet{Thread: "t", Namespace: "sub", Seq: 1, Results: []checkpoint.Result{{Task: "x", Done: true}}}))
	require.Empty(t, load(t, s, "t", "").Results)
	got, err = s.Load(t.Context(), checkpoint.Ref{Thread: "t", Namespace: "sub"})
	require.NoError(t, err)
	require.Len(t, got.Results, 1)
}
