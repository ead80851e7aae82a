package savertest

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/graph/checkpoint"
)

func testPrune(t *testing.T, s checkpoint.Saver) {
	pruner := optional[checkpoint.Pruner](t, s)
	_, err := pruner.Prune(t.Context(), "nobody", 1)
	require.ErrorIs(t, err, checkpoint.ErrNotFound)
	for seq := int64(1); seq <= 20; seq++ {
		b := boundary("t", seq)
		unique := strings.Repeat(strconv.Itoa(int(seq))+" ", 3000)
		b.Checkpoint.Channels = map[string]int64{"list": seq, "big": seq, "first": 1}
		b.Values = []checkpoint.Value{
			{Channel: "list", Delta: true, Prev: seq - 1, Data: fmt.Appendf(nil, "item%d", seq)},
			{Channel: "big", Data: []byte(unique)},
		}
		if seq == 1 {
			b.Values = append(b.Values, checkpoint.Value{Channel: "first", Data: bytes.Repeat([]byte("first"), 1000)})
		}
		b.Results = []checkpoint.Result{{Task: "r", Done: true, Writes: []checkpoint.Write{{Channel: "big", Op: "set", Data: []byte(unique)}}}}
		save(t, s, b)
	}
	grow(t, s, "other", 2)
	want := load(t, s, "t", id("t", 19))
	freed, err := pruner.Prune(t.Context(), "t", 2)
	require.NoError(t, err)
	require.Equal(t, 18, freed.Checkpoints)
	require.Greater(t, freed.Bytes, int64(100_000))
	left := infos(t, s, checkpoint.Query{Thread: "t"})
	require.Len(t, left, 2)
	require.EqualValues(t, 20, left[0].Seq)
	got := load(t, s, "t", id("t", 19))
	require.Equal(t, want, got, "what is kept must not change")
	_, err = s.Load(t.Context(), checkpoint.Ref{Thread: "t", ID: id("t", 18)})
	require.ErrorIs(t, err, checkpoint.ErrNotFound)
	require.Len(t, infos(t, s, checkpoint.Query{Thread: "other"}), 2)

	freed, err = pruner.Prune(t.Context(), "t", 0)
	require.NoError(t, err)
	require.Equal(t, 1, freed.Checkpoints, "the newest checkpoint stays")
	save(t, s, boundary("t", 21))
}

// testPruneKeeps: whatever a kept checkpoint needs stays, however old: in forks, in every namespace, large and small.
func testPruneKeeps(t *testing.T, s checkpoint.Saver) {
	pruner := optional[checkpoint.Pruner](t, s)
	const n = 12
	var newest string
	for _, namespace := range []string{"", "sub"} {
		for seq := int64(1); seq <= n; seq++ {
			b := boundary("t", seq)
			b.Checkpoint.Namespace, b.Checkpoint.ID = namespace, fmt.Sprint(namespace, "#", seq)
			newest = b.Checkpoint.ID
			b.Checkpoint.Channels = map[string]int64{"list": seq, "early": min(seq, 3), "large": min(seq, 4)}
			b.Values = []checkpoint.Value{{Channel: "list", Delta: true, Prev: seq - 1, Data: []byte(strings.Repeat(fmt.Sprint(seq), int(seq)*400))}}
			if seq <= 3 {
				b.Values = append(b.Values, checkpoint.Value{Channel: "early", Data: fmt.Append(nil, "early", seq)})
			}
			if seq <= 4 {
				b.Values = append(b.Values, checkpoint.Value{Channel: "large", Data: bytes.Repeat(fmt.Append(nil, seq), 6000)})
			}
			b.Results = []checkpoint.Result{{Task: "r", Done: true, Writes: []checkpoint.Write{{Channel: "list", Op: "add", Data: b.Values[0].Data}}}}
			if seq == n { // a fork of an early checkpoint
				b.Checkpoint.ParentSeq, b.Values[0].Prev = 2, 2
			}
			save(t, s, b)
		}
	}
	refs := []checkpoint.Ref{{Thread: "t"}, {Thread: "t", ID: "#11"}, {Thread: "t", Namespace: "sub"}, {Thread: "t", Namespace: "sub", ID: "sub#11"}}
	var want []*checkpoint.Saved
	for _, ref := range refs {
		saved, err := s.Load(t.Context(), ref)
		require.NoError(t, err)
		want = append(want, saved)
	}
	require.NoError(t, s.SaveResults(t.Context(), checkpoint.ResultSet{Thread: "t", Seq: n, Results: []checkpoint.Result{
		{Task: "pending", Done: true, Writes: []checkpoint.Write{{Channel: "x", Op: "set", Data: bytes.Repeat([]byte("p"), 5000)}}}}}))
	for keep := 2; keep >= 1; keep-- {
		freed, err := pruner.Prune(t.Context(), "t", keep)
		require.NoError(t, err)
		require.Positive(t, freed.Checkpoints)
		again, err := pruner.Prune(t.Context(), "t", keep)
		require.NoError(t, err)
		require.Zero(t, again.Checkpoints, "there is nothing left to prune")
		for i, ref := range refs {
			got, err := s.Load(t.Context(), ref)
			if keep == 1 && ref.ID != "" {
				require.ErrorIs(t, err, checkpoint.ErrNotFound)
				continue
			}
			require.NoError(t, err)
			require.Equal(t, want[i].Values, got.Values, "%v, keeping %d", ref, keep)
		}
		_, ok := load(t, s, "t", "").Result("pending")
		require.True(t, ok, "results of a kept checkpoint stay")
	}
	_, err := s.Load(t.Context(), checkpoint.Ref{Thread: "t", Namespace: "sub", ID: newest})
	require.NoError(t, err)
}

func testDelete(t *testing.T, s checkpoint.Saver) {
	pruner := optional[checkpoint.Pruner](t, s)
	grow(t, s, "t", 3)
	grow(t, s, "other", 1)
	if held, release := hold(t, s, "t"); held {
		_, err := pruner.DeleteThread(t.Context(), "t")
		require.ErrorIs(t, err, checkpoint.ErrThreadBusy)
		_, err = pruner.Prune(t.Context(), "t", 1)
		require.ErrorIs(t, err, checkpoint.ErrThreadBusy)
		release()
	}
	freed, err := pruner.DeleteThread(t.Context(), "t")
	require.NoError(t, err)
	require.Equal(t, 3, freed.Checkpoints)
	require.Positive(t, freed.Bytes)
	_, err = s.Load(t.Context(), checkpoint.Ref{Thread: "t"})
	require.ErrorIs(t, err, checkpoint.ErrNotFound)
	_, err = pruner.DeleteThread(t.Context(), "t")
	require.ErrorIs(t, err, checkpoint.ErrNotFound)
	require.EqualValues(t, 1, load(t, s, "other", "").Seq)
	grow(t, s, "t", 1)
	require.EqualValues(t, 1, load(t, s, "t", "").LastSeq)
}

// testPruneSubgraphs: what belongs to a task goes when no checkpoint lists the task any more, at all levels.
func testPruneSubgraphs(t *testing.T, s checkpoint.Saver) {
	pruner := optional[checkpoint.Pruner](t, s)
	put := func(namespace string, seq int64, tasks ...string) {
		b := boundary("t", seq)
		b.Checkpoint.Namespace, b.Checkpoint.ID = namespace, fmt.Sprint(namespace, "#", seq)
		for _, id := range tasks {
			b.Checkpoint.Tasks = append(b.Checkpoint.Tasks, checkpoint.Task{ID: id, Node: "n"})
		}
		save(t, s, b)
	}
	put("", 1, "old")
	put("sub:old", 1, "oldinner")
	put("sub:old|in:oldinner", 1)
	put("", 2, "new")
	put("sub:new", 1, "newfirst")
	put("sub:new|in:newfirst", 1)
	put("sub:new", 2, "newlast")
	put("sub:new|in:newlast", 1)
	put("sub:new|in:newlast|1", 1)
	put("own", 1)
	freed, err := pruner.Prune(t.Context(), "t", 1)
	require.NoError(t, err)
	require.Equal(t, 5, freed.Checkpoints)
	for namespace, want := range map[string]int{
		"": 1, "sub:old": 0, "sub:old|in:oldinner": 0, "sub:new": 1, "sub:new|in:newfirst": 0, "sub:new|in:newlast": 1, "sub:new|in:newlast|1": 1, "own": 1,
	} {
		require.Len(t, infos(t, s, checkpoint.Query{Thread: "t", Namespace: namespace}), want, "namespace %q", namespace)
	}
	put("sub:old", 1) // as if it had never been there
}
