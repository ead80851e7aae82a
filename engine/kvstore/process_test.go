package kvstore

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The test binary runs itself as another process that uses a folder.
const (
	envRole = "KVSTORE_TEST_ROLE"
	envDir  = "KVSTORE_TEST_DIR"
)

const processLimit = 40_000

func TestMain(m *testing.M) {
	switch os.Getenv(envRole) {
	case "user":
		os.Exit(useStore())
	case "writer":
		writeForever()
	}
	os.Exit(m.Run())
}

// useStore puts and gets chunks that other processes put and evict at the same time.
func useStore() int {
	s, err := Open(os.Getenv(envDir), processLimit, time.Now)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	got := 0
	for round := range 300 {
		key, tokens, state := chunk(round*7%30, 2000)
		if b, err := s.Get(key, tokens); err == nil {
			got++
			if !bytes.Equal(b, state) {
				fmt.Fprintln(os.Stderr, "another state")
				return 1
			}
			s.Touch(key)
		} else if err := s.Put(key, tokens, state); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	if got == 0 {
		fmt.Fprintln(os.Stderr, "nothing was ever found")
		return 1
	}
	return 0
}

// writeForever tells when it is in the middle of writing a chunk, and stays there.
func writeForever() {
	s, err := Open(os.Getenv(envDir), processLimit, time.Now)
	if err != nil {
		os.Exit(1)
	}
	s.create = func(dir, pattern string) (file, error) {
		f, err := os.CreateTemp(dir, pattern)
		return &stuckFile{File: f}, err
	}
	key, tokens, state := chunk(1, 2000)
	_ = s.Put(key, tokens, state)
	os.Exit(1)
}

// stuckFile writes half of what it gets the second time, says so, and never returns.
type stuckFile struct {
	*os.File
	writes int
}

func (f *stuckFile) Write(p []byte) (int, error) {
	if f.writes++; f.writes == 1 {
		return f.File.Write(p)
	}
	_, _ = f.File.Write(p[:len(p)/2])
	fmt.Fprintln(os.Stdout, "writing")
	select {}
}

func self(t *testing.T, role, dir string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), exe, "-test.run=^$")
	cmd.Env = append(os.Environ(), envRole+"="+role, envDir+"="+dir)
	return cmd
}

func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var outs [3]bytes.Buffer
	var cmds [3]*exec.Cmd
	for i := range cmds {
		cmds[i] = self(t, "user", dir)
		cmds[i].Stderr = &outs[i]
		require.NoError(t, cmds[i].Start())
	}
	for i, cmd := range cmds {
		require.NoError(t, cmd.Wait(), outs[i].String())
	}
	s, _ := openAt(t, dir, processLimit)
	n, err := s.Bytes()
	require.NoError(t, err)
	require.LessOrEqual(t, n, processLimit+2*fileSize(3, 2000), "what two others put at the same moment")
	require.Positive(t, n)
}

func TestKilledWhileWriting(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := self(t, "writer", dir)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = io.ReadFull(out, make([]byte, 8))
	require.NoError(t, err)
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())

	s, err := Open(dir, processLimit, func() time.Time { return time.Now().Add(2 * staleTemp) })
	require.NoError(t, err)
	require.Len(t, files(t, s), 1, "what was written so far")
	key, tokens, state := chunk(1, 2000)
	require.False(t, s.Has(key))
	_, err = s.Get(key, tokens)
	require.ErrorIs(t, err, ErrMissing)
	require.NoError(t, s.Put(key, tokens, state))
	require.Len(t, files(t, s), 1, "the rest of the killed process is gone")
	got, err := s.Get(key, tokens)
	require.NoError(t, err)
	require.Equal(t, state, got)
}
