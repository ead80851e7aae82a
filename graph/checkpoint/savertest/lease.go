package savertest

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/graph/checkpoint"
)

// hold takes the lease of a thread and returns what ends it, or does neither when the saver grants none.
func hold(t *testing.T, s checkpoint.Saver, thread string) (held bool, release func()) {
	t.Helper()
	leaser, ok := s.(checkpoint.Leaser)
	if !ok {
		return false, func() {}
	}
	now := time.Now()
	require.NoError(t, leaser.Acquire(t.Context(), lease(thread, "me", now, now.Add(time.Hour))))
	return true, func() { require.NoError(t, leaser.Release(t.Context(), thread, "me")) }
}

func lease(thread, token string, from, until time.Time) checkpoint.Lease {
	return checkpoint.Lease{Thread: thread, Token: token, Owner: "owner of " + token, Process: checkpoint.CurrentProcess(), Acquired: from, Expires: until}
}

func testLease(t *testing.T, s checkpoint.Saver) {
	leaser := optional[checkpoint.Leaser](t, s)
	ctx, minute := t.Context(), time.Minute
	require.NoError(t, leaser.Acquire(ctx, lease("t", "a", epoch, epoch.Add(minute))))
	err := leaser.Acquire(ctx, lease("t", "b", epoch.Add(minute-1000), epoch.Add(2*minute)))
	var busy *checkpoint.BusyError
	require.ErrorAs(t, err, &busy)
	require.Equal(t, "owner of a", busy.Owner)
	require.Equal(t, "t", busy.Thread)
	require.WithinDuration(t, epoch, busy.Since, 0)
	require.NoError(t, leaser.Acquire(ctx, lease("u", "c", epoch, epoch.Add(minute))), "another thread is free")

	require.NoError(t, leaser.Renew(ctx, "t", "a", epoch.Add(2*minute)))
	require.ErrorIs(t, leaser.Acquire(ctx, lease("t", "b", epoch.Add(minute), epoch.Add(3*minute))), checkpoint.ErrThreadBusy)
	require.NoError(t, leaser.Acquire(ctx, lease("t", "b", epoch.Add(2*minute), epoch.Add(3*minute))), "an expired lease is free")
	require.ErrorIs(t, leaser.Renew(ctx, "t", "a", epoch.Add(9*minute)), checkpoint.ErrLeaseLost)
	require.NoError(t, leaser.Release(ctx, "t", "a"), "releasing a lost lease must not end the new one")
	require.ErrorIs(t, leaser.Acquire(ctx, lease("t", "d", epoch.Add(2*minute), epoch.Add(3*minute))), checkpoint.ErrThreadBusy)
	require.NoError(t, leaser.Release(ctx, "t", "b"))
	require.NoError(t, leaser.Release(ctx, "t", "b"))
	require.NoError(t, leaser.Acquire(ctx, lease("t", "d", epoch.Add(2*minute), epoch.Add(3*minute))))

	gone := lease("dead", "x", epoch, epoch.Add(minute))
	gone.Process.Start = "another start"
	require.NoError(t, leaser.Acquire(ctx, gone))
	require.NoError(t, leaser.Acquire(ctx, lease("dead", "y", epoch, epoch.Add(minute))), "the number belongs to another process now")
	far := lease("far", "x", epoch, epoch.Add(minute))
	far.Process.Host, far.Process.Start = "elsewhere", "another start"
	require.NoError(t, leaser.Acquire(ctx, far))
	require.ErrorIs(t, leaser.Acquire(ctx, lease("far", "y", epoch, epoch.Add(minute))), checkpoint.ErrThreadBusy,
		"nothing is known of processes on other hosts")
}

func testFencing(t *testing.T, s checkpoint.Saver) {
	leaser := optional[checkpoint.Leaser](t, s)
	ctx := t.Context()
	require.NoError(t, leaser.Acquire(ctx, lease("t", "old", epoch, epoch.Add(time.Minute))))
	b := boundary("t", 1)
	b.Lease = "old"
	save(t, s, b)
	require.NoError(t, leaser.Acquire(ctx, lease("t", "new", epoch.Add(time.Hour), epoch.Add(2*time.Hour))))

	late := boundary("t", 2)
	late.Lease = "old"
	require.ErrorIs(t, s.Save(ctx, late), checkpoint.ErrLeaseLost)
	require.ErrorIs(t, s.SaveResults(ctx, checkpoint.ResultSet{Thread: "t", Seq: 1, Lease: "old", Results: []checkpoint.Result{{Task: "x"}}}), checkpoint.ErrLeaseLost)
	if log, ok := s.(checkpoint.EffectLog); ok {
		key := checkpoint.EffectKey{Thread: "t", Task: "a", Key: "k"}
		_, _, err := log.BeginEffect(ctx, "old", checkpoint.Effect{EffectKey: key})
		require.ErrorIs(t, err, checkpoint.ErrLeaseLost)
		_, _, err = log.BeginEffect(ctx, "new", checkpoint.Effect{EffectKey: key})
		require.NoError(t, err)
		require.ErrorIs(t, log.FinishEffect(ctx, "old", key, nil), checkpoint.ErrLeaseLost)
		require.ErrorIs(t, log.AbandonEffect(ctx, "old", key), checkpoint.ErrLeaseLost)
	}
	require.EqualValues(t, 1, load(t, s, "t", "").Seq)
	late.Lease = "new"
	save(t, s, late)
	require.True(t, slices.ContainsFunc(infos(t, s, checkpoint.Query{Thread: "t"}), func(i checkpoint.Info) bool { return i.Seq == 2 }))
}
