package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// command is the program as a process of its own, in a new folder with a scripted model.
func command(t *testing.T, replies string, args ...string) *exec.Cmd {
	t.Helper()
	dir := t.TempDir()
	script := filepath.Join(dir, "model")
	require.NoError(t, os.WriteFile(script, []byte(replies), 0o600))
	return again(t, dir, args...)
}

func again(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Args = append([]string{"llama-agent"}, args...) // testscript.Main goes by this name
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "MODEL_SCRIPT="+filepath.Join(dir, "model"), "HOME="+dir, "XDG_CONFIG_HOME=")
	return cmd
}

func codeOf(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	require.NoError(t, err)
	return 0
}

const helloScript = `{"plan": [["Say hello", "none"]]}
{"answer": "Hello."}
`

func TestSecondInterruptEndsAtOnce(t *testing.T) {
	t.Parallel()
	cmd := command(t, `{"stuck": "stuck"}`, "run", "--thread", "t-1", "hello")
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	defer cmd.Process.Kill()
	waitFor(filepath.Join(cmd.Dir, "stuck"), func(path string) bool { _, err := os.Stat(path); return err == nil }, t.Fatalf)
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	lines := bufio.NewScanner(stderr)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "stopping; ") {
		continue
	}
	require.NoError(t, lines.Err())
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	rest, err := io.ReadAll(stderr)
	require.NoError(t, err)
	require.Equal(t, "ended at once\n", string(rest))
	require.Equal(t, exitInterrupted, codeOf(t, cmd.Wait()))

	out, err := again(t, cmd.Dir, "list-threads").Output()
	require.NoError(t, err)
	require.Regexp(t, `(?m)^t-1 +interrupted `, string(out), "the task is stored")
}

// closedPipe returns the write end of a pipe that nobody reads.
func closedPipe(t *testing.T) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, r.Close())
	t.Cleanup(func() { w.Close() })
	return w
}

func TestReaderThatGoesAway(t *testing.T) {
	t.Parallel()
	cmd := command(t, helloScript, "run", "--thread", "t-1", "hello")
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = closedPipe(t), &stderr
	require.Equal(t, exitFailure, codeOf(t, cmd.Run()), "the answer was not delivered")
	require.Contains(t, stderr.String(), "writing the answer: ")
	require.Contains(t, stderr.String(), "broken pipe; it is stored, see it with: llama-agent resume t-1\n")

	// A list is another matter: "| head" has what it wants.
	cmd = again(t, cmd.Dir, "list-threads")
	stderr.Reset()
	cmd.Stdout, cmd.Stderr = closedPipe(t), &stderr
	require.Equal(t, exitDone, codeOf(t, cmd.Run()))
	require.Empty(t, stderr.String())
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("there is no /dev/full here")
	}
	defer full.Close()
	cmd := command(t, helloScript, "tools")
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = full, &stderr
	require.Equal(t, exitFailure, codeOf(t, cmd.Run()))
	require.Contains(t, stderr.String(), "error: writing the result: ")
}

func TestInterruptWhileTheGoalIsAwaited(t *testing.T) {
	t.Parallel()
	cmd := command(t, helloScript, "run", "-")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	defer in.Close()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	require.NoError(t, cmd.Start())
	defer cmd.Process.Kill()
	// The write succeeds at once; the process is ready for signals when it has read it.
	_, err = in.Write(bytes.Repeat([]byte("x"), 1<<17))
	require.NoError(t, err)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.Equal(t, exitInterrupted, codeOf(t, cmd.Wait()))
	require.Equal(t, "interrupted\n", stderr.String())
}

func TestKilledTaskIsResumedWithoutRepeatingItself(t *testing.T) {
	t.Parallel()
	cmd := command(t, `{"plan": [["Count the lines", "count_lines"], ["Read it", "read_file"]]}
{"args": {"path": "a.txt"}}
{"stuck": "stuck"}
{"args": {"file_path": "a.txt"}}
{"answer": "1 line."}
`, "run", "--thread", "t-1", "hello")
	require.NoError(t, os.WriteFile(filepath.Join(cmd.Dir, "a.txt"), []byte("one\n"), 0o600))
	require.NoError(t, cmd.Start())
	waitFor(filepath.Join(cmd.Dir, "stuck"), func(path string) bool { _, err := os.Stat(path); return err == nil }, t.Fatalf)
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())

	resumed := again(t, cmd.Dir, "resume")
	var stderr bytes.Buffer
	resumed.Stderr = &stderr
	out, err := resumed.Output()
	require.NoError(t, err, stderr.String())
	require.Equal(t, "1 line.\n", string(out))
	require.NotContains(t, stderr.String(), "count_lines \"", "the finished step is not done again")
	require.Contains(t, stderr.String(), "read_file")
}

// killedInACall starts a task whose tool call has side effects as far as the program knows, and kills it in that call.
func killedInACall(t *testing.T) (dir string) {
	t.Helper()
	cmd := command(t, `{"plan": [["Wait", "execute_shell_command"]]}
{"args": {"command": "sleep 0.5"}}
{"answer": "Waited."}
`, "--verbose", "--set", "tools.shell.allowed_commands=sleep", "run", "--thread", "t-1", "hello")
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(stderr)
	for lines.Scan() && !strings.Contains(lines.Text(), "execute_shell_command begins") {
		continue
	}
	require.NoError(t, lines.Err())
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	return cmd.Dir
}

func TestACallOfUnknownOutcomeIsNotRepeatedUnasked(t *testing.T) {
	t.Parallel()
	dir := killedInACall(t)
	set := []string{"--set", "tools.shell.allowed_commands=sleep"}
	cmd := again(t, dir, append(set, "resume", "t-1")...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	require.Equal(t, exitFailed, codeOf(t, cmd.Run()), stderr.String())
	require.Contains(t, stderr.String(), "resume t-1 --retry-unknown\n")

	out, err := again(t, dir, append(set, "resume", "t-1", "--retry-unknown")...).Output()
	require.NoError(t, err)
	require.Equal(t, "Waited.\n", string(out))
}
