package benchmark

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// fakeHarness is a harness in a process of its own, in the folder and with the goals of args after the largest size of a file, 0
// for any. It resumes a run that is there.
func fakeHarness(args []string) int {
	t := &panicking{}
	if limit, err := strconv.ParseUint(args[0], 10, 64); err == nil && limit > 0 {
		signal.Ignore(syscall.SIGXFSZ)
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
			return 1
		}
	}
	c := tryIn(t, args[1], args[2:]...)
	c.Report = func(string) error { return nil }
	if _, err := c.Start(context.Background(), c.root); err != nil {
		os.Stderr.WriteString(err.Error())
		return 1
	}
	return 0
}

// panicking ends a process that is no test.
type panicking struct{ testing.TB }

func (*panicking) Helper()                        {}
func (*panicking) Errorf(format string, _ ...any) { panic(format) }
func (*panicking) FailNow()                       { panic("failed") }

func harness(t *testing.T, limit int, dir string, goals ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], append([]string{strconv.Itoa(limit), dir}, goals...)...)
	cmd.Env = []string{fakeEnv + "=harness", "PATH=" + os.Getenv("PATH")}
	return cmd
}

// TestKilledHarness kills the harness in the middle of a sample, and sees no sample lost or doubled after it was resumed, and the
// program gone that was at work.
func TestKilledHarness(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := tryIn(t, dir, "answer", "gate", "failed")
	cmd := harness(t, 0, dir, "answer", "gate", "failed")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	require.NoError(t, cmd.Start())
	waitForFile(t, c.gate+".reached")
	_, err := c.Resume(t.Context(), c.folder())
	require.ErrorIs(t, err, ErrInUse)
	require.ErrorContains(t, err, "process "+strconv.Itoa(cmd.Process.Pid))
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	require.Empty(t, stderr.String())
	lock, err := os.Open(c.gate + ".lock")
	require.NoError(t, err)
	defer lock.Close()
	require.Eventually(t, func() bool { return syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil },
		20*time.Second, time.Millisecond, "the program of the sample goes with the harness")

	require.NoError(t, os.WriteFile(c.gate, nil, 0o600))
	done, err := c.Resume(t.Context(), c.folder())
	require.NoError(t, err)
	require.Equal(t, 2, done.Before)
	c.requireWhole(t)
	require.Len(t, c.calls(t), 13, "only what was interrupted is done again")
}

// TestFileThatCannotGrow ends a write in the middle, and sees the file as it was before it.
func TestFileThatCannotGrow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := tryIn(t, dir, "answer", "failed")
	out, err := harness(t, 5000, dir, "answer", "failed").CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), `task_results.jsonl": file too large`)
	text := c.read(t, samplesFile)
	written := labels(t, text)
	require.NotEmpty(t, written)
	require.Less(t, len(written), 8)
	require.Equal(t, byte('\n'), text[len(text)-1])
	require.Equal(t, written, labels(t, c.read(t, "kv_metrics.csv")), "nor are there records of a sample that is not there")
	done, err := c.Resume(t.Context(), c.folder())
	require.NoError(t, err)
	require.Equal(t, len(written), done.Before)
	require.Empty(t, c.told[0].Notes, "there was nothing to repair")
	c.requireWhole(t)
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	c := try(t, "answer", "failed")
	c.Tell = func(p Progress) {
		if p.Sample == nil {
			require.NoError(t, os.Symlink("/dev/full", filepath.Join(p.Folder, failuresFile)))
		}
	}
	done, err := c.Start(t.Context(), c.root)
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.ErrorContains(t, err, `failures.jsonl": no space left on device`)
	require.Len(t, done.Samples, 2)
	require.False(t, done.Complete)
	require.Equal(t, []label{{"c0", "R0", 0}, {"c0", "R1", 0}}, labels(t, c.read(t, "inference_events.jsonl")))
	require.NoError(t, os.Remove(filepath.Join(c.folder(), failuresFile)))
	c.Tell = nil
	_, err = c.Resume(t.Context(), c.folder())
	require.NoError(t, err)
	c.requireWhole(t)

	c = try(t, "answer", "disk full")
	done, err = c.Start(t.Context(), c.root)
	require.ErrorIs(t, err, ErrDiskFull)
	require.Len(t, done.Samples, 2, "a sample that found no room says nothing")
}
