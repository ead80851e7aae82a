package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// openTerminal returns both ends of a pseudo-terminal of the given size; see pty(7).
func openTerminal(t *testing.T, columns, rows uint16) (screen, terminal *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("there are no pseudo-terminals here: %v", err)
	}
	t.Cleanup(func() { screen.Close() })
	require.NoError(t, unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(t, err)
	require.NoError(t, unix.IoctlSetWinsize(int(terminal.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: columns, Row: rows}))
	return screen, terminal
}

// onTerminal runs a command with stdout and stderr on a terminal and returns what reached it.
func onTerminal(t *testing.T, cmd *exec.Cmd, columns uint16) string {
	t.Helper()
	screen, terminal := openTerminal(t, columns, 24)
	cmd.Stdout, cmd.Stderr = terminal, terminal
	require.NoError(t, cmd.Start())
	terminal.Close()
	var out bytes.Buffer
	_, err := io.Copy(&out, screen)
	if !errors.Is(err, syscall.EIO) { // the terminal's way to say that its last user has closed it
		require.NoError(t, err)
	}
	require.NoError(t, cmd.Wait(), out.String())
	return strings.ReplaceAll(out.String(), "\r\n", "\n")
}

const hostileReplies = `{"plan": [["Say \u001b[2J hello", "none"]]}
{"answer": "Hello \u001b]0;t\u0007 world."}
`

func TestTerminal(t *testing.T) {
	t.Parallel()
	cmd := command(t, hostileReplies, "run", "--thread", "t-1", "hello")
	cmd.Env = append(cmd.Env, "TERM=xterm", "NO_COLOR=")
	out := onTerminal(t, cmd, 80)
	require.Contains(t, out, "\x1b[2mthread t-1\x1b[0m\n")
	require.Contains(t, out, "\x1b[2m  1. Say ␛[2J hello\x1b[0m\n")
	require.Contains(t, out, "\r\x1b[Kloading the model: 50 %\r\x1b[K")
	require.Contains(t, out, "\r\x1b[KHello ␛]0;t␇ world.\n", "the answer stands on a line of its own")
	require.Equal(t, 1, strings.Count(out, "world."), "the answer is not repeated")
	ours := regexp.MustCompile("\r\x1b\\[K|\x1b\\[2m|\x1b\\[0m")
	require.NotContains(t, ours.ReplaceAllString(out, ""), "\x1b")
	require.NotContains(t, ours.ReplaceAllString(out, ""), "\r")
}

func TestTerminalWithoutColor(t *testing.T) {
	t.Parallel()
	cmd := command(t, hostileReplies, "run", "--thread", "t-1", "hello")
	cmd.Env = append(cmd.Env, "TERM=xterm", "NO_COLOR=1")
	out := onTerminal(t, cmd, 80)
	require.Contains(t, out, "thread t-1\nplan\n  1. Say ␛[2J hello\n")
	require.NotContains(t, out, "\x1b")
	require.NotContains(t, out, "\r")
}

func TestLinesFitTheTerminal(t *testing.T) {
	t.Parallel()
	cmd := command(t, helloScript, "run", "--thread", "t-1", strings.Repeat("数一数 orders ", 20))
	require.NoError(t, cmd.Run())
	for _, columns := range []uint16{40, 80} {
		for _, args := range [][]string{{"list-threads"}, {"tools"}, {"history", "t-1"}} {
			out := onTerminal(t, again(t, cmd.Dir, args...), columns)
			for line := range strings.Lines(out) {
				require.LessOrEqual(t, width(strings.TrimRight(line, "\n")), int(columns), "%v: %q", args, line)
			}
		}
	}
	out, err := again(t, cmd.Dir, "list-threads").Output()
	require.NoError(t, err)
	require.Contains(t, string(out), strings.TrimSpace(strings.Repeat("数一数 orders ", 5)), "what goes to a pipe is not cut")
}

func TestTheUserIsAskedAboutAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	cmd := again(t, killedInACall(t), "--set", "tools.shell.allowed_commands=sleep", "resume", "t-1")
	screen, terminal := openTerminal(t, 80, 24)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
	require.NoError(t, cmd.Start())
	terminal.Close()
	_, err := screen.WriteString("y\n") // the terminal keeps it until the question is asked
	require.NoError(t, err)
	var out bytes.Buffer
	_, _ = io.Copy(&out, screen)
	require.NoError(t, cmd.Wait(), out.String())
	require.Contains(t, out.String(), "Run it again? [y/N]")
	require.Contains(t, out.String(), "Waited.")
}
