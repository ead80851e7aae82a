package savertest

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/graph/checkpoint"
)

func testList(t *testing.T, s checkpoint.Saver) {
	const n = 250
	for seq := int64(1); seq <= n; seq++ {
		save(t, s, boundary("t", seq))
	}
	all := infos(t, s, checkpoint.Query{Thread: "t"})
	require.Len(t, all, n)
	for i, info := range all {
		want := boundary("t", int64(n-i)).Checkpoint.Info
		require.WithinDuration(t, want.Time, info.Time, 0)
		info.Time = want.Time
		require.Equal(t, want, info)
	}
	require.Len(t, infos(t, s, checkpoint.Query{Thread: "t", Limit: 120}), 120)
	count := 0
	for _, err := range s.List(t.Context(), checkpoint.Query{Thread: "t"}) {
		require.NoError(t, err)
		if count++; count == 3 {
			break
		}
	}
	require.Equal(t, 3, count)

	// A consumer may use the saver while it lists.
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for info, err := range s.List(context.Background(), checkpoint.Query{Thread: "t", Limit: 5}) {
				if err == nil {
					_, err = s.Load(context.Background(), checkpoint.Ref{Thread: "t", ID: info.ID})
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

func testHistory(t *testing.T, s checkpoint.Saver) {
	historian := optional[checkpoint.Historian](t, s)
	history := func(q checkpoint.Query) (all []*checkpoint.Saved) {
		for saved, err := range historian.History(t.Context(), q) {
			require.NoError(t, err)
			all = append(all, saved)
		}
		return all
	}
	require.Empty(t, history(checkpoint.Query{Thread: "nobody"}))
	const n = 130
	grow(t, s, "t", n)
	fork := boundary("t", n+1)
	fork.Checkpoint.Parent, fork.Checkpoint.ParentSeq = id("t", 70), 70
	fork.Checkpoint.Channels = map[string]int64{"list": n + 1, "big": n + 1}
	fork.Values = []checkpoint.Value{{Channel: "list", Delta: true, Prev: 70, Data: []byte("branch")}, {Channel: "big", Data: make([]byte, 5000)}}
	fork.Results = []checkpoint.Result{{Task: "again", Done: true}}
	next := boundary("t", n+2)
	next.Checkpoint.Channels = map[string]int64{"list": n + 2, "big": n + 1}
	next.Values = []checkpoint.Value{{Channel: "list", Delta: true, Prev: n + 1, Data: []byte("twig")}}
	next.Results = []checkpoint.Result{{Task: "next", Done: true}}
	sub := boundary("t", 1)
	sub.Checkpoint.Namespace, sub.Checkpoint.ID = "sub", "sub-1"
	save(t, s, fork, next, sub)
	require.NoError(t, s.SaveResults(t.Context(), checkpoint.ResultSet{Thread: "t", Seq: n + 2, Results: []checkpoint.Result{{Task: "last", Done: true}}}))

	all := history(checkpoint.Query{Thread: "t"})
	require.Len(t, all, n+2)
	for i, saved := range all {
		require.EqualValues(t, n+2-i, saved.Seq)
		requireSaved(t, load(t, s, "t", saved.ID), saved)
	}
	require.Len(t, history(checkpoint.Query{Thread: "t", Limit: 105}), 105)
	inner := history(checkpoint.Query{Thread: "t", Namespace: "sub"})
	require.Len(t, inner, 1)
	require.Equal(t, "sub-1", inner[0].ID)
	for _, err := range historian.History(t.Context(), checkpoint.Query{Thread: "t"}) { // a consumer may stop
		require.NoError(t, err)
		break
	}
}
