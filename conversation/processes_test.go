package conversation

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/internal/sqlitedb"
	"github.com/llama-agent/llama-agent/internal/sqlitedb/sqlitedbtest"
)

const childTurns = 200

// child is another process on the same file.
func child(path string, does []string) error {
	ctx := context.Background()
	s, err := Open(ctx, path, Options{Synchronous: sqlitedb.Normal})
	if err != nil {
		return err
	}
	switch does[0] {
	case "append":
		err = appendTurns(ctx, s, does[1])
	case "begin":
		_, err = s.Begin(ctx, "c1", "t1", "goal of a process that dies", "the child")
		fmt.Println("begun")
		if err == nil {
			_, err = os.Stdin.Read(make([]byte, 1)) // until it is killed
		}
	default:
		err = fmt.Errorf("a child cannot %q", does[0])
	}
	if err != nil {
		return err
	}
	return s.Close()
}

// appendTurns says so after each turn.
func appendTurns(ctx context.Context, s *Store, id string) error {
	if _, err := s.Create(ctx, id); err != nil {
		return err
	}
	for i := range childTurns {
		thread := fmt.Sprintf("%s-t%d", id, i+1)
		if _, err := s.Begin(ctx, id, thread, "goal of "+thread, id); err != nil {
			return err
		}
		if err := s.Finish(ctx, thread, Outcome{Status: Done, Answer: "answer of " + thread, Process: id}); err != nil {
			return err
		}
		fmt.Println(i + 1)
	}
	return nil
}

func command(path string, does ...string) (*exec.Cmd, *strings.Builder) {
	cmd, stderr := sqlitedbtest.Command(path, does...), &strings.Builder{}
	cmd.Stderr = stderr
	return cmd, stderr
}

// Two processes begin with the same new file and append turns to conversations of their own, while a third one takes the lock of
// writers again and again. They wait for it, and nothing is lost.
func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "conversations.sqlite")
	ids := []string{"c-one", "c-two"}
	cmds, lines := make([]*exec.Cmd, 2), make([]*bufio.Scanner, 2)
	stderrs := make([]*strings.Builder, 2)
	for i, id := range ids {
		cmds[i], stderrs[i] = command(path, "append", id)
		out, err := cmds[i].StdoutPipe()
		require.NoError(t, err)
		lines[i] = bufio.NewScanner(out)
		require.NoError(t, cmds[i].Start())
	}
	s := openAt(t, path, Options{Synchronous: sqlitedb.Normal})
	for n := range childTurns {
		for i := range ids {
			require.True(t, lines[i].Scan(), "%s", stderrs[i])
		}
		if n%20 == 0 {
			lock, err := s.db.Write.BeginTx(t.Context(), nil)
			require.NoError(t, err)
			for _, id := range ids {
				c, err := s.Get(t.Context(), id) // who reads doesn't wait
				require.NoError(t, err)
				require.Greater(t, c.Turns, n)
			}
			require.NoError(t, lock.Rollback())
		}
	}
	for i, id := range ids {
		require.NoError(t, cmds[i].Wait(), "%s", stderrs[i])
		turns, err := s.Turns(t.Context(), id, TurnQuery{})
		require.NoError(t, err)
		require.Len(t, turns, childTurns)
		for j, turn := range turns {
			thread := fmt.Sprintf("%s-t%d", id, j+1)
			require.Equal(t, Turn{Conversation: id, Number: j + 1, Thread: thread, Goal: "goal of " + thread, Answer: "answer of " + thread,
				Status: Done, Started: turn.Started, Finished: turn.Finished}, turn)
		}
	}
	require.Equal(t, "ok", sqlitedbtest.Value[string](t, s.db, "PRAGMA integrity_check"))
}

// A turn whose process was killed is still running for others, who find out, and then it can be resumed.
func TestKilledProcess(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "conversations.sqlite")
	s := openAt(t, path, Options{})
	create(t, s, "c1")
	cmd, stderr := command(path, "begin")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	defer in.Close()
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	require.True(t, bufio.NewScanner(out).Scan(), "%s", stderr)
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())

	_, err = s.Begin(t.Context(), "c1", "t2", "goal", "me")
	var running *RunningError
	require.ErrorAs(t, err, &running)
	require.Equal(t, "the child", running.Turn.Process)
	require.Equal(t, "goal of a process that dies", running.Turn.Goal)
	require.NoError(t, s.Interrupt(t.Context(), running.Turn.Thread, running.Turn.Process))
	require.Equal(t, Interrupted, get(t, s, "c1").Status)
	_, err = s.Reopen(t.Context(), "t1", "me")
	require.NoError(t, err)
	finish(t, s, "t1", Outcome{Status: Done, Answer: "resumed", Process: "me"})
	require.Equal(t, 2, begin(t, s, "c1", "t2", "goal").Number)
}

// Who writes waits while another connection holds the lock, and sees what was written under it.
func TestWriterWaits(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "conversations.sqlite")
	s, other := openAt(t, path, Options{BusyTimeout: time.Hour}), openAt(t, path, Options{})
	lock, err := other.db.Write.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	_, err = lock.ExecContext(t.Context(), "INSERT INTO conversations (id, title, created, updated, changed, numbers) VALUES ('c1', '', 0, 0, 1, 0)")
	require.NoError(t, err)
	begun := make(chan error, 1)
	go func() {
		_, err := s.Begin(t.Context(), "c1", "t1", "goal", "p")
		begun <- err
	}()
	require.Eventually(t, func() bool { return s.db.Write.Stats().InUse == 1 }, 10*time.Second, time.Millisecond, "it waits for the lock")
	require.Empty(t, begun)
	require.NoError(t, lock.Commit())
	require.NoError(t, <-begun)
	require.Equal(t, 1, get(t, s, "c1").Turns)
}

// A lock that is held for longer than the busy timeout, or than the caller waits, is an error that names the file.
func TestLocked(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "conversations.sqlite")
	s, other := openAt(t, path, Options{BusyTimeout: 20 * time.Millisecond}), openAt(t, path, Options{})
	fill(t, s)
	lock, err := other.db.Write.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	reads, writes := everyCall(t.Context(), s)
	for name, err := range reads {
		require.NoError(t, err, name)
	}
	for name, err := range writes {
		require.ErrorIs(t, err, ErrLocked, name)
		require.ErrorContains(t, err, path, name)
	}
	patient := openAt(t, path, Options{BusyTimeout: time.Hour})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err = patient.Begin(ctx, "c1", "t3", "goal", "p")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NoError(t, lock.Rollback())
	require.Equal(t, 3, begin(t, s, "c1", "t3", "goal").Number)
}
