package kvstore

import (
	"context"
	"crypto/sha256"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSums(t *testing.T) {
	t.Parallel()
	s, err := Open(t.TempDir(), 1<<20, func() time.Time { return time.Now().Add(time.Minute) }) // the file has settled
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "model")
	require.NoError(t, os.WriteFile(path, []byte("weights"), 0o600))
	stamp, err := StampOf(path)
	require.NoError(t, err)
	_, ok := s.KnownSum(stamp)
	require.False(t, ok)
	sum, err := s.Sum(t.Context(), stamp)
	require.NoError(t, err)
	require.Equal(t, Key(sha256.Sum256([]byte("weights"))), sum)
	known, ok := s.KnownSum(stamp)
	require.True(t, ok)
	require.Equal(t, sum, known)

	// Other content of the same size and time.
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.WriteFile(path, []byte("WEIGHTS"), 0o600))
	require.NoError(t, os.Chtimes(path, info.ModTime(), info.ModTime()))
	other, err := StampOf(path)
	require.NoError(t, err)
	_, ok = s.KnownSum(other)
	require.False(t, ok)
	_, err = s.Sum(t.Context(), stamp)
	require.ErrorIs(t, err, ErrChanged)

	for _, text := range []string{"", "12", string(make([]byte, 64)), sum.String() + "0"} {
		require.NoError(t, os.WriteFile(s.sumPath(stamp), []byte(text), 0o600))
		_, ok = s.KnownSum(stamp)
		require.False(t, ok, "%q", text)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = s.Sum(ctx, other)
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, os.Remove(path))
	_, err = s.Sum(t.Context(), other)
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = StampOf(path)
	require.Error(t, err)
}

// A file that was written a moment ago could be written again without a new stamp.
func TestFreshFilesAreNotRemembered(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "model")
	require.NoError(t, os.WriteFile(path, []byte("weights"), 0o600))
	stamp, err := StampOf(path)
	require.NoError(t, err)
	s, err := Open(t.TempDir(), 1<<20, func() time.Time { return stamp.changed.Add(settled / 2) })
	require.NoError(t, err)
	_, err = s.Sum(t.Context(), stamp)
	require.NoError(t, err)
	_, ok := s.KnownSum(stamp)
	require.False(t, ok)
}
