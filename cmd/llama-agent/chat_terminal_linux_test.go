package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// typed is a program on a terminal of its own, with somebody who types and looks.
type typed struct {
	*exec.Cmd
	screen *os.File
	mu     sync.Mutex
	shown  bytes.Buffer
	closed chan struct{}
}

func startTyped(t *testing.T, cmd *exec.Cmd) *typed {
	t.Helper()
	screen, terminal := openTerminal(t, 100, 24)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
	cmd.Env = append(cmd.Env, "TERM=xterm", "NO_COLOR=")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true} // so that Ctrl-C arrives as a signal
	require.NoError(t, cmd.Start())
	terminal.Close()
	p := &typed{Cmd: cmd, screen: screen, closed: make(chan struct{})}
	t.Cleanup(func() { cmd.Process.Kill() })
	go func() {
		defer close(p.closed)
		_, _ = io.Copy(p, screen) // ends with an error when the program has ended
	}()
	return p
}

func (p *typed) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.shown.Write(text)
}

func (p *typed) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.ReplaceAll(p.shown.String(), "\r\n", "\n")
}

// see waits until the screen has shown a text so many times.
func (p *typed) see(t *testing.T, text string, times int) {
	t.Helper()
	waitFor(text, func(text string) bool { return strings.Count(p.text(), text) >= times }, func(format string, args ...any) {
		t.Helper()
		t.Fatalf(format+"; the screen: %q", append(args, p.text())...)
	})
}

func (p *typed) press(t *testing.T, keys string) {
	t.Helper()
	_, err := p.screen.WriteString(keys)
	require.NoError(t, err)
}

func (p *typed) end(t *testing.T) int {
	t.Helper()
	<-p.closed
	return codeOf(t, p.Wait())
}

const (
	ctrlC = "\x03"
	ctrlD = "\x04"
)

func TestChatOnATerminal(t *testing.T) {
	t.Parallel()
	p := startTyped(t, command(t, `{"plan": [["Say \u001b[2J", "none"]]}
{"answer": "One \u001b]0;t\u0007 time."}
{"fail": "gone"}
{"fail": "gone"}
{"fail": "gone"}
`, "chat", "--new", "--conversation-id", "c-1"))
	p.see(t, "a new conversation; /help lists the commands, Ctrl-D leaves", 1)
	p.see(t, "1> ", 1)
	p.press(t, "o\\\n")
	p.see(t, "… ", 1)
	p.press(t, "ne\n")
	p.see(t, "One ␛]0;t␇ time.\n", 1)
	p.see(t, "2> ", 1)
	p.press(t, "/history\n")
	p.see(t, "> o\n> ne\nOne ␛]0;t␇ time.\n", 1)
	p.press(t, "fails\n")
	p.see(t, "the task failed (model)", 1)
	p.press(t, "/clear\n")
	p.see(t, "\x1b[H\x1b[2J", 1)
	p.see(t, "3> ", 2)
	p.press(t, ctrlD)
	require.Zero(t, p.end(t), "on a terminal a failed turn was seen")
	out := p.text()
	require.Equal(t, 2, strings.Count(out, " time."), "streamed once, and once in the history")
	require.Contains(t, out, "loading the model: 50 %")
	ours := regexp.MustCompile("\r\x1b\\[K|\x1b\\[(2|31|0)m|\x1b\\[H\x1b\\[2J")
	require.NotContains(t, ours.ReplaceAllString(out, ""), "\x1b")
	require.True(t, strings.HasSuffix(out, "3> \n"), "the shell's prompt has a line of its own: %q", out)
}

func TestCtrlCOnATerminal(t *testing.T) {
	t.Parallel()
	p := startTyped(t, command(t, `{"plan": [["Say", "none"]]}
{"wait": "waiting"}
{"plan": [["Say", "none"]]}
{"wait": "waiting-2"}
{"plan": [["Say", "none"]]}
{"answer": "Last."}
`, "chat", "--new", "--conversation-id", "c-1"))
	p.see(t, "1> ", 1)
	p.press(t, "one\n")
	waitFor(p.Dir+"/waiting", readable, t.Fatalf)
	p.press(t, ctrlC)
	p.see(t, "interrupted; go on with /resume", 1)
	p.see(t, "2> ", 1)
	// What is typed meanwhile waits, but /cancel.
	p.press(t, "two\n")
	waitFor(p.Dir+"/waiting-2", readable, t.Fatalf)
	p.press(t, "three\n/cancel\n")
	p.see(t, "interrupted; go on with /resume", 2)
	p.see(t, "Last.\n", 1)
	p.see(t, "4> ", 1)
	// Within an entry it takes back what was typed, at the prompt it leaves.
	p.press(t, "half\\\n")
	p.see(t, "… ", 1)
	p.press(t, ctrlC)
	p.see(t, "4> ", 2)
	p.press(t, ctrlC)
	require.Equal(t, exitInterrupted, p.end(t))
	require.True(t, strings.HasSuffix(p.text(), "interrupted\x1b[0m\n"), "%q", p.text())
	turns := turnsOf(t, p.Dir, "c-1")
	require.Len(t, turns, 3)
	for i, status := range []string{"interrupted", "interrupted", "done"} {
		require.Equal(t, status, turns[i].Status)
	}
	require.Equal(t, "three", turns[2].Goal)
}

func readable(path string) bool { _, err := os.Stat(path); return err == nil }

func TestTheChatAsksAboutAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	dir := killedInACall(t)
	p := startTyped(t, again(t, dir, "--set", "tools.shell.allowed_commands=sleep", "chat"))
	p.see(t, "1> ", 1)
	p.press(t, "/resume\n")
	p.see(t, "Run it again? [y/N] ", 1)
	p.press(t, "n\n")
	p.see(t, "--retry-unknown", 1)
	p.press(t, "/resume t-1\n")
	p.see(t, "Run it again? [y/N] ", 2)
	p.press(t, "y\n")
	p.see(t, "Waited.\n", 1)
	p.press(t, "/quit\n")
	require.Zero(t, p.end(t))
}
