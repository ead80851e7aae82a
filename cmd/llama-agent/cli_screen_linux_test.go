package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// watched is a program on a terminal whose screen is read as a person sees it: an emulator obeys what the program writes.
type watched struct {
	*exec.Cmd
	pty    *os.File
	before unix.Termios
	closed chan struct{}

	mu  sync.Mutex // of the emulator and raw
	vt  *vt.Emulator
	raw bytes.Buffer // all that was written
}

func watch(t *testing.T, cmd *exec.Cmd, columns, rows int, environ ...string) *watched {
	t.Helper()
	pty, terminal := openTerminal(t, uint16(columns), uint16(rows))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
	cmd.Env = append(cmd.Env, "TERM=xterm-256color", "NO_COLOR=", "COLORFGBG=", "LANG=C.UTF-8")
	cmd.Env = append(cmd.Env, environ...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	w := &watched{Cmd: cmd, pty: pty, closed: make(chan struct{}), vt: vt.NewEmulator(columns, rows), before: modes(t, pty)}
	require.NoError(t, cmd.Start())
	terminal.Close()
	t.Cleanup(func() {
		cmd.Process.Kill()
		if replies, ok := w.vt.InputPipe().(io.Closer); ok { // its Close is not safe beside who reads the replies
			replies.Close()
		}
	})
	go func() { _, _ = io.Copy(pty, w.vt) }() // what the terminal replies to questions
	go func() {
		defer close(w.closed)
		_, _ = io.Copy(w, pty) // ends with an error when the program has ended
	}()
	return w
}

func modes(t *testing.T, terminal *os.File) unix.Termios {
	t.Helper()
	termios, err := unix.IoctlGetTermios(int(terminal.Fd()), unix.TCGETS)
	require.NoError(t, err)
	return *termios
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.raw.Write(p)
	return w.vt.Write(p)
}

// screen is what is visible, rows without spaces at their ends.
func (w *watched) screen() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var rows []string
	for row := range strings.SplitSeq(w.vt.String(), "\n") {
		rows = append(rows, strings.TrimRight(row, " "))
	}
	return strings.Join(rows, "\n")
}

func (w *watched) written() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.raw.String()
}

// until waits until the screen is as wanted.
func (w *watched) until(t *testing.T, what string, wanted func(screen string) bool) {
	t.Helper()
	waitFor(what, func(string) bool { return wanted(w.screen()) }, func(format string, args ...any) {
		t.Helper()
		t.Fatalf(format+"; the screen:\n%s\nthe end of what was written: %q", append(args, w.screen(), last(w.written(), 2000))...)
	})
}

func last(s string, n int) string { return s[max(0, len(s)-n):] }

// see waits until a text is on the screen.
func (w *watched) see(t *testing.T, text string) {
	t.Helper()
	w.until(t, text, func(screen string) bool { return strings.Contains(screen, text) })
}

// lose waits until a text is no longer on the screen.
func (w *watched) lose(t *testing.T, text string) {
	t.Helper()
	w.until(t, "the end of "+text, func(screen string) bool { return !strings.Contains(screen, text) })
}

func (w *watched) press(t *testing.T, keys string) {
	t.Helper()
	_, err := w.pty.WriteString(keys)
	require.NoError(t, err)
}

// resize changes the size of the terminal, of which the program is told by a signal.
func (w *watched) resize(t *testing.T, columns, rows int) {
	t.Helper()
	w.mu.Lock()
	w.vt.Resize(columns, rows)
	w.mu.Unlock()
	require.NoError(t, unix.IoctlSetWinsize(int(w.pty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: uint16(columns), Row: uint16(rows)}))
}

// end waits for the program, and checks that it leaves the terminal as it was.
func (w *watched) end(t *testing.T) int {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- w.Wait() }()
	var err error
	select {
	case err = <-ended:
	case <-time.After(time.Minute):
		t.Fatalf("the program does not end; the screen:\n%s", w.screen())
	}
	require.Equal(t, w.before, modes(t, w.pty), "the terminal's modes are those before")
	<-w.closed
	raw := w.written()
	for _, mode := range []string{"1049", "2004", "1000", "1002", "1006"} {
		on, off := strings.LastIndex(raw, "\x1b[?"+mode+"h"), strings.LastIndex(raw, "\x1b[?"+mode+"l")
		require.Less(t, on, max(off, 0)+1, "mode %s is switched off: %q", mode, last(raw, 500))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	require.False(t, w.vt.IsAltScreen())
	require.False(t, w.vt.CursorHidden())
	return codeOf(t, err)
}

const (
	ctrlQ = "\x11"
	ctrlF = "\x06"
	esc   = "\x1b"
	pgUp  = "\x1b[5~"
	f4    = "\x1bOS"
)
