package telemetry

import (
	"context"
	"fmt"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// recordBeyondLimit writes more than the operating system lets a file have.
func recordBeyondLimit(dir string) error {
	signal.Ignore(syscall.SIGXFSZ)
	const limit = 4 << 10
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
		return err
	}
	told := &told{}
	r, err := Open(dir, Options{SampleInterval: -1, Logger: told.logger()})
	if err != nil {
		return err
	}
	task := r.Task("t")
	for range 100 {
		task.Event("p", "e", nil)
	}
	task.Tool("p", ToolCall{Tool: "small"})
	r.Close(context.Background())
	if len(told.lines()) != 1 || !strings.Contains(told.lines()[0], LifecycleFile) {
		return fmt.Errorf("told %q", told.lines())
	}
	return nil
}

func TestDiskThatIsReallyFull(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	out, err := command(dir, "record-beyond-limit").CombinedOutput()
	require.NoError(t, err, "%s", out)
	full := read(t, dir, LifecycleFile)
	require.Len(t, full, 4<<10)
	require.Len(t, objects(t, read(t, dir, ToolFile)), 1)

	r := openIn(t, dir, quiet(newClock(), &told{}))
	r.Task("t1")
	require.Equal(t, full+"\n"+begin+"\n", read(t, dir, LifecycleFile), "a later run goes on below the line that was cut")
}

// Neither a pipe without a reader nor one with it stops the run.
func TestPipeIsRefused(t *testing.T) {
	t.Parallel()
	dir, told := t.TempDir(), &told{}
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, LifecycleFile), 0o600))
	r := openIn(t, dir, quiet(newClock(), told))
	r.Task("t").End("done")
	require.Len(t, told.lines(), 1)
	require.Contains(t, told.lines()[0], "no regular file")
}
