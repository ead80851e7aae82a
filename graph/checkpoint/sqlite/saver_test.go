package sqlite_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/graph/checkpoint"
	"github.com/llama-agent/llama-agent/graph/checkpoint/savertest"
	"github.com/llama-agent/llama-agent/graph/checkpoint/sqlite"
)

func open(t testing.TB, path string, opts sqlite.Options) *sqlite.Saver {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func TestConformance(t *testing.T) {
	t.Parallel()
	savertest.Run(t, func(t *testing.T) checkpoint.Saver {
		return open(t, filepath.Join(t.TempDir(), "checkpoints.sqlite"), sqlite.Options{})
	})
}

// TestCancelEndsTheWaitForTheLock: while another process writes, whatever a saver does waits, but no longer than its context.
func TestCancelEndsTheWaitForTheLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.sqlite")
	s := open(t, path, sqlite.Options{BusyTimeout: time.Hour})
	fill(t, s, "t", 1)
	lock, err := raw(t, path).Conn(t.Context())
	require.NoError(t, err)
	defer lock.Close()
	_, err = lock.ExecContext(t.Context(), "BEGIN IMMEDIATE")
	require.NoError(t, err)
	key := paid("t")
	for name, write := range map[string]func(context.Context) error{
		"Save":        func(ctx context.Context) error { return s.Save(ctx, checkpoint.Boundary{}) },
		"SaveResults": func(ctx context.Context) error { return s.SaveResults(ctx, checkpoint.ResultSet{Thread: "t", Seq: 1}) },
		"Acquire":     func(ctx context.Context) error { return s.Acquire(ctx, holder("x")) },
		"Renew":       func(ctx context.Context) error { return s.Renew(ctx, "t", "x", clock) },
		"Release":     func(ctx context.Context) error { return s.Release(ctx, "t", "x") },
		"BeginEffect": func(ctx context.Context) error {
			_, _, err := s.BeginEffect(ctx, "", checkpoint.Effect{EffectKey: key})
			return err
		},
		"FinishEffect":  func(ctx context.Context) error { return s.FinishEffect(ctx, "", key, nil) },
		"AbandonEffect": func(ctx context.Context) error { return s.AbandonEffect(ctx, "", key) },
		"Prune":         func(ctx context.Context) error { _, err := s.Prune(ctx, "t", 1); return err },
		"DeleteThread":  func(ctx context.Context) error { _, err := s.DeleteThread(ctx, "t"); return err },
		"CopyThread":    func(ctx context.Context) error { return s.CopyThread(ctx, "t", "u") },
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		require.ErrorIs(t, write(ctx), context.DeadlineExceeded, name)
		cancel()
	}
	_, err = s.Load(t.Context(), checkpoint.Ref{Thread: "t"})
	require.NoError(t, err, "who reads doesn't wait")
	_, err = lock.ExecContext(t.Context(), "ROLLBACK")
	require.NoError(t, err)
	_, err = s.DeleteThread(t.Context(), "t")
	require.NoError(t, err)
}

// TestDeletedThreadsGiveSpaceBack deletes many threads, small ones and a large one, of a file that holds others too.
func TestDeletedThreadsGiveSpaceBack(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.sqlite")
	s := open(t, path, sqlite.Options{Synchronous: sqlite.Off})
	pages := func() (all, free int) {
		db := raw(t, path)
		require.NoError(t, db.QueryRow("PRAGMA page_count").Scan(&all))
		require.NoError(t, db.QueryRow("PRAGMA freelist_count").Scan(&free))
		return all, free
	}
	fill(t, s, "kept", 3)
	empty, _ := pages()
	many(t, s, 300, 3)
	fill(t, s, "large", 400)
	full, _ := pages()
	require.Greater(t, full, empty*10)
	for i := range 300 {
		_, err := s.DeleteThread(t.Context(), threadName(i))
		require.NoError(t, err)
	}
	freed, err := s.DeleteThread(t.Context(), "large")
	require.NoError(t, err)
	require.Equal(t, 400, freed.Checkpoints)
	left, free := pages()
	require.Less(t, left, empty*2)
	require.Less(t, free, empty)
	_, err = s.Load(t.Context(), checkpoint.Ref{Thread: "kept"})
	require.NoError(t, err)
}

func BenchmarkOpen(b *testing.B) {
	path := filepath.Join(b.TempDir(), "x.sqlite")
	for b.Loop() {
		s, err := sqlite.Open(context.Background(), path, sqlite.Options{})
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
