//go:build unix

package benchmark

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestNoProcessIsLeft stops a sample while the program and a child of it work, and sees both gone.
func TestNoProcessIsLeft(t *testing.T) {
	t.Parallel()
	r, c := fakeRunner(t, "hang"), Case{ID: "a", Goal: "g", ExpectedStatus: "done"}
	r.Keep = true
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := r.Sample(ctx, c, Rounds()[0], 0)
		ended <- err
	}()
	var found []string
	require.Eventually(t, func() bool {
		found, _ = filepath.Glob(filepath.Join(r.Folder, "*", "fixtures", "hanging"))
		return len(found) == 1
	}, time.Minute, 5*time.Millisecond)
	lock, err := os.Open(filepath.Join(filepath.Dir(found[0]), "locked"))
	require.NoError(t, err)
	defer lock.Close()
	require.ErrorIs(t, syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB), syscall.EWOULDBLOCK, "the child lives")

	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	require.Eventually(t, func() bool {
		err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		require.True(t, err == nil || errors.Is(err, syscall.EWOULDBLOCK))
		return err == nil
	}, 20*time.Second, time.Millisecond, "the child was killed with the program")
}

func TestPeakRSSIsMeasured(t *testing.T) {
	t.Parallel()
	r := fakeRunner(t, "answer")
	s, err := r.Sample(t.Context(), Case{ID: "a", Goal: "g", ExpectedStatus: "done"}, Rounds()[0], 0)
	require.NoError(t, err)
	require.Greater(t, s.PeakRSSBytes, int64(1<<20), "bytes of a Go program")
	require.Less(t, s.PeakRSSBytes, int64(8<<30))
}
