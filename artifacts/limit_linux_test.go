package artifacts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/internal/sqlitedb/sqlitedbtest"
)

// putBeyondLimit puts more than the operating system lets a file have.
func putBeyondLimit(dir string) error {
	ctx := context.Background()
	s, err := Open(ctx, dir, Options{})
	if err != nil {
		return err
	}
	signal.Ignore(syscall.SIGXFSZ)
	const limit = 1 << 20
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
		return err
	}
	_, err = s.Put(ctx, "me", Source{Tool: "t"}, bytes.Repeat([]byte("x"), limit+1))
	if !errors.Is(err, ErrFull) || !errors.Is(err, syscall.EFBIG) {
		return fmt.Errorf("the error is %w", err)
	}
	_, err = s.Put(ctx, "me", Source{Tool: "t"}, []byte("small"))
	return errors.Join(err, s.Close())
}

func TestDiskThatIsReallyFull(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	out, err := sqlitedbtest.Command(dir, "put-beyond-limit").CombinedOutput()
	require.NoError(t, err, "%s", out)
	s := openIn(t, dir, Options{})
	list, err := s.List(t.Context(), "me", 0)
	require.NoError(t, err)
	require.Len(t, list, 1)
	requireContent(t, s, list[0], "small")
	require.Len(t, contentFiles(t, s), 1)
}
