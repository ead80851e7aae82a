package sqlite_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

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

func BenchmarkThreads(b *testing.B) {
	s, err := sqlite.Open(context.Background(), filepath.Join(b.TempDir(), "many.sqlite"), sqlite.Options{Synchronous: sqlite.Off})
	require.NoError(b, err)
	defer func() { require.NoError(b, s.Close()) }()
	const threads = 10_000
	for i := range threads {
		require.NoError(b, s.Save(context.Background(), checkpoint.Boundary{Checkpoint: checkpoint.Checkpoint{
			Info: checkpoint.Info{Thread: fmt.Sprint("t", i), ID: "1", Seq: 1, Time: clock}}}))
	}
	b.Run("list20", func(b *testing.B) {
		for b.Loop() {
			if got, err := s.Threads(context.Background(), checkpoint.ThreadQuery{Limit: 20}); err != nil || len(got) != 20 {
				b.Fatal(len(got), err)
			}
		}
	})
	b.Run("load", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			if _, err := s.Load(context.Background(), checkpoint.Ref{Thread: fmt.Sprint("t", i%threads)}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("delete", func(b *testing.B) {
		i := 0
		for ; b.Loop() && i < threads; i++ {
			if _, err := s.DeleteThread(context.Background(), fmt.Sprint("t", i)); err != nil {
				b.Fatal(err)
			}
		}
	})
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
