package sqlite_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/llama-agent/llama-agent/graph/store"
	"github.com/llama-agent/llama-agent/graph/store/sqlite"
	"github.com/llama-agent/llama-agent/graph/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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
