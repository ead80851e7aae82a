package sqlite_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/llama-agent/llama-agent/graph/checkpoint"
	"github.com/llama-agent/llama-agent/graph/checkpoint/sqlite"
)

// The tests of several processes run this test binary again with these variables.
const (
	childPath = "SQLITE_TEST_CHILD_PATH"
	childDoes = "SQLITE_TEST_CHILD_DOES" // "write THREAD N" or "hold THREAD"
)

func TestMain(m *testing.M) {
	if path, ok := os.LookupEnv(childPath); ok {
		if err := child(path, strings.Fields(os.Getenv(childDoes))); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// child writes n checkpoints to a thread, or takes the thread's lease and never lets go.
func child(path string, does []string) error {
	ctx := context.Background()
	s, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return err
	}
	thread := does[1]
	if does[0] == "hold" {
		now := time.Now()
		err := s.Acquire(ctx, checkpoint.Lease{Thread: thread, Token: "child", Owner: "the child", Process: checkpoint.CurrentProcess(),
			Acquired: now, Expires: now.Add(time.Hour)})
		if err != nil {
			return err
		}
		fmt.Println("held")
		time.Sleep(time.Hour)
	}
	var n int64
	if _, err := fmt.Sscan(does[2], &n); err != nil {
		return err
	}
	for seq := int64(1); seq <= n; seq++ {
		err := s.Save(ctx, checkpoint.Boundary{Checkpoint: checkpoint.Checkpoint{
			Info: checkpoint.Info{Thread: thread, ID: fmt.Sprint(seq), Seq: seq, ParentSeq: seq - 1, Time: time.Now()}}})
		if err != nil {
			return err
		}
	}
	return s.Close()
}

func command(path, does string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childPath+"="+path, childDoes+"="+does)
	return cmd
}

func TestTwoProcessesWriteAtOnce(t *testing.T) {
	t.Parallel()
	const each = 200
	path := filepath.Join(t.TempDir(), "shared.sqlite")
	var cmds []*exec.Cmd
	var outs []*strings.Builder
	for _, thread := range []string{"one", "two"} {
		cmd, out := command(path, fmt.Sprintf("write %s %d", thread, each)), &strings.Builder{}
		cmd.Stdout, cmd.Stderr = out, out
		require.NoError(t, cmd.Start())
		cmds, outs = append(cmds, cmd), append(outs, out)
	}
	for i, cmd := range cmds {
		require.NoError(t, cmd.Wait(), "%s", outs[i])
	}
	s := open(t, path, sqlite.Options{})
	for _, thread := range []string{"one", "two"} {
		n := 0
		for _, err := range s.List(t.Context(), checkpoint.Query{Thread: thread}) {
			require.NoError(t, err)
			n++
		}
		require.Equal(t, each, n, thread)
	}
}

// TestLeaseOfAnotherProcess kills the owner of a lease: until then the thread is busy, from then on it is free.
func TestLeaseOfAnotherProcess(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "shared.sqlite")
	s := open(t, path, sqlite.Options{})
	cmd := command(path, "hold t")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line := make([]byte, 5)
	_, err = out.Read(line)
	require.NoError(t, err)
	require.Equal(t, "held\n", string(line))

	now := time.Now()
	mine := checkpoint.Lease{Thread: "t", Token: "mine", Owner: "test", Process: checkpoint.CurrentProcess(), Acquired: now, Expires: now.Add(time.Minute)}
	err = s.Acquire(t.Context(), mine)
	var busy *checkpoint.BusyError
	require.ErrorAs(t, err, &busy)
	require.Equal(t, "the child", busy.Owner)

	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	require.NoError(t, s.Acquire(t.Context(), mine), "the owner is dead, whatever its lease says")
	require.ErrorIs(t, s.Renew(t.Context(), "t", "child", now.Add(time.Hour)), checkpoint.ErrLeaseLost)
}
