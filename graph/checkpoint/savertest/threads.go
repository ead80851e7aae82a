package savertest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/graph/checkpoint"
)

func testThreads(t *testing.T, s checkpoint.Saver) {
	lister := optional[checkpoint.ThreadLister](t, s)
	empty, err := lister.Threads(t.Context(), checkpoint.ThreadQuery{})
	require.NoError(t, err)
	require.Empty(t, empty)
	for _, name := range []string{"a", "b", "c"} {
		b := boundary(name, 1)
		b.Labels = map[string]string{"goal": "goal of " + name, "odd'\"$.": "x"}
		b.Checkpoint.Time = epoch // of all alike: order is that of writing
		save(t, s, b)
	}
	again := boundary("a", 2)
	again.Labels = map[string]string{"state": "done"}
	again.Checkpoint.Tasks, again.Checkpoint.Next = nil, nil
	save(t, s, again)

	all, err := lister.Threads(t.Context(), checkpoint.ThreadQuery{})
	require.NoError(t, err)
	require.Equal(t, []string{"a", "c", "b"}, ids(all))
	require.Equal(t, map[string]string{"goal": "goal of a", "state": "done", "odd'\"$.": "x"}, all[0].Labels)
	require.Equal(t, checkpoint.StatusDone, all[0].Status)
	require.Equal(t, checkpoint.StatusPending, all[1].Status)
	require.Equal(t, 0, all[0].Steps)
	require.Empty(t, all[0].Next)
	require.Equal(t, []string{"next"}, all[1].Next)
	require.WithinDuration(t, epoch, all[0].Created, 0)
	require.WithinDuration(t, again.Checkpoint.Time, all[0].Updated, 0)

	some, err := lister.Threads(t.Context(), checkpoint.ThreadQuery{Limit: 2})
	require.NoError(t, err)
	require.Equal(t, []string{"a", "c"}, ids(some))
	some, err = lister.Threads(t.Context(), checkpoint.ThreadQuery{Labels: map[string]string{"odd'\"$.": "x", "goal": "goal of b"}})
	require.NoError(t, err)
	require.Equal(t, []string{"b"}, ids(some))
	some, err = lister.Threads(t.Context(), checkpoint.ThreadQuery{Labels: map[string]string{"goal": "x"}})
	require.NoError(t, err)
	require.Empty(t, some)
}

func ids(threads []checkpoint.ThreadInfo) []string {
	var out []string
	for _, t := range threads {
		out = append(out, t.ID)
	}
	return out
}

func testStatus(t *testing.T, s checkpoint.Saver) {
	lister := optional[checkpoint.ThreadLister](t, s)
	status := func() checkpoint.Status {
		all, err := lister.Threads(t.Context(), checkpoint.ThreadQuery{})
		require.NoError(t, err)
		require.Len(t, all, 1)
		return all[0].Status
	}
	put := func(r checkpoint.Result) {
		require.NoError(t, s.SaveResults(t.Context(), checkpoint.ResultSet{Thread: "t", Seq: 1, Results: []checkpoint.Result{r}}))
	}
	save(t, s, boundary("t", 1))
	require.Equal(t, checkpoint.StatusPending, status())
	put(checkpoint.Result{Task: "x", Done: true})
	require.Equal(t, checkpoint.StatusPending, status())
	put(checkpoint.Result{Task: "task1", Error: "boom"})
	require.Equal(t, checkpoint.StatusFailed, status())
	put(checkpoint.Result{Task: "task1", Interrupts: []checkpoint.Interrupt{{ID: "i", Value: []byte(`1`)}}})
	require.Equal(t, checkpoint.StatusInterrupted, status())
	save(t, s, boundary("t", 2))
	require.Equal(t, checkpoint.StatusPending, status())
	if leaser, ok := s.(checkpoint.Leaser); ok {
		now := time.Now()
		require.NoError(t, leaser.Acquire(t.Context(), lease("t", "me", now, now.Add(time.Hour))))
		require.Equal(t, checkpoint.StatusRunning, status())
	}
}

func testPages(t *testing.T, s checkpoint.Saver) {
	lister := optional[checkpoint.ThreadLister](t, s)
	const n = 25
	for i := range n {
		b := boundary(fmt.Sprint("t", i), 1)
		b.Labels = map[string]string{"odd": fmt.Sprint(i%2 == 1)}
		save(t, s, b)
	}
	page := func(before int64, limit int, labels map[string]string) []checkpoint.ThreadInfo {
		infos, err := lister.Threads(t.Context(), checkpoint.ThreadQuery{Limit: limit, Before: before, Labels: labels})
		require.NoError(t, err)
		return infos
	}
	var before int64
	var all []string
	for {
		infos := page(before, 4, nil)
		if len(infos) == 0 {
			break
		}
		all = append(all, ids(infos)...)
		before = infos[len(infos)-1].Change
		if len(all) == 8 { // one that was listed and one that wasn't move to the front
			save(t, s, boundary("t20", 2), boundary("t3", 2))
		}
	}
	want := make([]string, 0, n)
	for i := n - 1; i >= 0; i-- {
		if i != 3 {
			want = append(want, fmt.Sprint("t", i))
		}
	}
	require.Equal(t, want, all, "no thread comes twice, and only one that changed meanwhile is missing")
	require.Equal(t, []string{"t3", "t20", "t24"}, ids(page(0, 3, nil)))
	odd := map[string]string{"odd": "true"}
	first := page(0, 3, odd)
	require.Equal(t, []string{"t3", "t23", "t21"}, ids(first))
	require.Equal(t, []string{"t19", "t17"}, ids(page(first[2].Change, 2, odd)))
	require.Len(t, page(first[2].Change, 0, odd), n/2-3)
}
