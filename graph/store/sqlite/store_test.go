package sqlite_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/llama-agent/llama-agent/graph/store"
	"github.com/llama-agent/llama-agent/graph/store/sqlite"
	"github.com/llama-agent/llama-agent/graph/store/storetest"
)

func TestMain(m *testing.M) {
	if path, ok := os.LookupEnv(childPath); ok {
		fmt.Fprintln(os.Stderr, child(path))
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

func open(t testing.TB, path string, opts sqlite.Options) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func fresh(t *testing.T, clock func() time.Time) store.Store {
	return open(t, filepath.Join(t.TempDir(), "store.sqlite"), sqlite.Options{Options: store.Options{Clock: clock}, Synchronous: sqlite.Off})
}

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, fresh)
}

func TestRandomOperationsAsInMemory(t *testing.T) {
	t.Parallel()
	storetest.Random(t, fresh, true)
}

// FuzzSearch writes any text and searches for any other: what the full-text index finds must be what looking at the tokens
// finds, and nothing in a query can be an error.
func FuzzSearch(f *testing.F) {
	for _, seed := range [][2]string{
		{"I like pizza", `"pizza* OR NEAR(a b) NOT {c} : ^d + "`}, {"用户喜欢冰淇淋", "冰淇淋"}, {"naïve Zürich ﾃﾚﾋﾞ", "テレビ \x00\xff"}, {"서울에서 ข้าว", "ข้าว 서"},
	} {
		f.Add(seed[0], seed[1], true)
		f.Add(seed[0], seed[1], false)
	}
	s, err := sqlite.Open(f.Context(), filepath.Join(f.TempDir(), "fuzz.sqlite"), sqlite.Options{Synchronous: sqlite.Off})
	require.NoError(f, err)
	f.Cleanup(func() { require.NoError(f, s.Close()) })
	m := store.NewMemory(store.Options{})
	f.Fuzz(func(t *testing.T, text, query string, all bool) {
		op := store.Put(store.Namespace{"a", "b"}, "k", map[string]string{"text": text})
		require.Equal(t, m.Write(t.Context(), op), s.Write(t.Context(), op))
		for _, q := range []store.Query{{Text: query, All: all}, {Text: text, All: all}, {Namespace: store.Namespace{"a"}, Text: query}} {
			want, err := m.Search(t.Context(), q)
			require.NoError(t, err)
			got, err := s.Search(t.Context(), q)
			require.NoError(t, err)
			require.Len(t, got, len(want))
			if len(got) > 0 {
				require.InEpsilon(t, want[0].Score, got[0].Score, 1e-9)
			}
		}
	})
}
