//go:build unix

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// piped is a chat that is under way, with pipes for input and output.
type piped struct {
	*exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr *said
}

// said keeps what is written to it, for readers beside the writer.
type said struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func start(t *testing.T, cmd *exec.Cmd) *piped {
	t.Helper()
	p := &piped{Cmd: cmd, stderr: &said{}}
	var err error
	p.in, err = cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	p.out = bufio.NewReader(out)
	cmd.Stderr = p.stderr
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill() })
	return p
}

func (p *piped) say(t *testing.T, line string) {
	t.Helper()
	_, err := io.WriteString(p.in, line+"\n")
	require.NoError(t, err)
}

// hear returns the next line of the answers.
func (p *piped) hear(t *testing.T) string {
	t.Helper()
	line, err := p.out.ReadString('\n')
	require.NoError(t, err, p.stderr)
	return strings.TrimSuffix(line, "\n")
}

// end returns what else is written to stdout, and the exit code.
func (p *piped) end(t *testing.T) (rest string, code int) {
	t.Helper()
	data, err := io.ReadAll(p.out)
	require.NoError(t, err)
	return string(data), codeOf(t, p.Wait())
}

func (p *piped) waitFile(t *testing.T, name string) {
	t.Helper()
	waitFor(filepath.Join(p.Dir, name), func(path string) bool { _, err := os.Stat(path); return err == nil }, t.Fatalf)
}

// turnsOf are the stored turns of a conversation.
func turnsOf(t *testing.T, dir, conversation string) (turns []struct{ Status, Goal, Answer string }) {
	t.Helper()
	out, err := again(t, dir, "--json", "history", conversation).Output()
	require.NoError(t, err)
	var history struct {
		Turns []struct{ Status, Goal, Answer string }
	}
	require.NoError(t, json.Unmarshal(out, &history))
	return history.Turns
}

func TestInterruptStopsTheTurnOnly(t *testing.T) {
	t.Parallel()
	p := start(t, command(t, `{"plan": [["Say", "none"]]}
{"wait": "waiting"}
{"plan": [["Say", "none"]]}
{"answer": "Two."}
{"answer": "One."}
{"plan": [["Say", "none"]]}
{"wait": "waiting-again"}
{"answer": "Three."}
`, "chat", "--new", "--conversation-id", "c-1"))
	p.say(t, "one")
	p.waitFile(t, "waiting")
	require.NoError(t, p.Process.Signal(os.Interrupt))
	p.say(t, "two")
	require.Equal(t, "Two.", p.hear(t))
	turns := turnsOf(t, p.Dir, "c-1")
	require.Equal(t, "interrupted", turns[0].Status)
	require.Equal(t, "done", turns[1].Status)
	p.say(t, "/resume")
	require.Equal(t, "One.", p.hear(t))
	// The end of the input does not cut a turn short.
	p.say(t, "three")
	p.waitFile(t, "waiting-again")
	require.NoError(t, p.in.Close())
	require.NoError(t, p.Process.Signal(os.Interrupt))
	rest, code := p.end(t)
	require.Empty(t, rest)
	require.Equal(t, exitDone, code, "to be stopped is no failure: %s", p.stderr)
	require.Equal(t, 2, strings.Count(p.stderr.String(), "interrupted; go on with /resume\n"))

	// Another process goes on where this one was stopped.
	p = start(t, again(t, p.Dir, "chat"))
	p.say(t, "/resume")
	require.Equal(t, "Three.", p.hear(t))
	require.NoError(t, p.in.Close())
	_, code = p.end(t)
	require.Equal(t, exitDone, code)
	turns = turnsOf(t, p.Dir, "c-1")
	require.Len(t, turns, 3)
	for i, answer := range []string{"One.", "Two.", "Three."} {
		require.Equal(t, "done", turns[i].Status)
		require.Equal(t, answer, turns[i].Answer)
	}
}

func TestInterruptWhileTheChatLoadsTheModel(t *testing.T) {
	t.Parallel()
	cmd := command(t, helloScript, "chat", "--new", "--conversation-id", "c-1")
	cmd.Env = append(cmd.Env, "MODEL_LOADS_UNTIL_CANCELLED="+filepath.Join(cmd.Dir, "loading"))
	p := start(t, cmd)
	p.say(t, "one")
	p.waitFile(t, "loading")
	require.NoError(t, p.Process.Signal(os.Interrupt))
	p.say(t, "/conversations")
	require.NoError(t, p.in.Close())
	rest, code := p.end(t)
	require.Empty(t, rest)
	require.Equal(t, exitDone, code, p.stderr)
	require.Contains(t, p.stderr.String(), "interrupted before it began; ask again\nno conversation was begun in this workspace\n")
}

func TestTwoInterruptsOfATurnEndTheChat(t *testing.T) {
	t.Parallel()
	p := start(t, command(t, `{"plan": [["Say", "none"]]}
{"stuck": "stuck"}
`, "chat", "--new", "--conversation-id", "c-1"))
	p.say(t, "one\nnever asked")
	p.waitFile(t, "stuck")
	require.NoError(t, p.Process.Signal(os.Interrupt))
	waitFor("stopping; Ctrl-C again", func(text string) bool { return strings.Contains(p.stderr.String(), text) }, t.Fatalf)
	require.NoError(t, p.Process.Signal(os.Interrupt))
	rest, code := p.end(t)
	require.Empty(t, rest)
	require.Equal(t, exitInterrupted, code)
	require.True(t, strings.HasSuffix(p.stderr.String(), "\nended at once\n"), p.stderr)
	turns := turnsOf(t, p.Dir, "c-1")
	require.Len(t, turns, 1)
	require.Equal(t, "interrupted", turns[0].Status, "the process that ran it is gone")
}

func TestSignalsBetweenTurnsAndTermination(t *testing.T) {
	t.Parallel()
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		p := start(t, command(t, helloScript, "chat"))
		p.say(t, "hello")
		require.Equal(t, "Hello.", p.hear(t))
		// The summary follows the answer; the next question is awaited when a refused line was told.
		p.say(t, "/nonsense")
		waitFor("no command", func(text string) bool { return strings.Contains(p.stderr.String(), text) }, t.Fatalf)
		require.NoError(t, p.Process.Signal(signal))
		rest, code := p.end(t)
		require.Empty(t, rest)
		require.Equal(t, exitInterrupted, code, signal)
		require.True(t, strings.HasSuffix(p.stderr.String(), "\ninterrupted\n"), p.stderr)
	}

	p := start(t, command(t, `{"plan": [["Say", "none"]]}
{"wait": "waiting"}
`, "chat", "--seed", "7"))
	p.say(t, "one\nnever asked")
	p.waitFile(t, "waiting")
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	rest, code := p.end(t)
	require.Empty(t, rest)
	require.Equal(t, exitInterrupted, code)
	require.Regexp(t, `error: interrupted, the state is saved; resume with: llama-agent --seed 7 resume t-[0-9a-f-]+\n$`, p.stderr.String())
}

// TestTwoChatsOnOneConversation: the second says why it can't and stays usable.
func TestTwoChatsOnOneConversation(t *testing.T) {
	t.Parallel()
	first := start(t, command(t, `{"plan": [["Say", "none"]]}
{"wait": "waiting"}
{"plan": [["Say", "none"]]}
{"answer": "Elsewhere."}
{"plan": [["Say", "none"]]}
{"answer": "Back."}
`, "chat", "--new", "--conversation-id", "c-1"))
	first.say(t, "one")
	first.waitFile(t, "waiting")
	second := start(t, again(t, first.Dir, "chat"))
	second.say(t, "two\n/new\nthree")
	require.Equal(t, "Elsewhere.", second.hear(t))
	require.NoError(t, first.in.Close())
	require.NoError(t, first.Process.Signal(os.Interrupt))
	_, code := first.end(t)
	require.Equal(t, exitDone, code)
	second.say(t, "/resume c-1\nfour")
	require.Equal(t, "Back.", second.hear(t))
	require.NoError(t, second.in.Close())
	_, code = second.end(t)
	require.Equal(t, exitFailure, code, "one line could not be done")
	require.Contains(t, second.stderr.String(), "error: the conversation c-1 is in use: its turn 1 is still running; wait for it, or begin another with /new\n")
	turns := turnsOf(t, first.Dir, "c-1")
	require.Len(t, turns, 2)
	require.Equal(t, "four", turns[1].Goal)
}

func TestAChatWhoseReaderGoesAway(t *testing.T) {
	t.Parallel()
	cmd := command(t, helloScript, "chat")
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("hello\nnever asked\n"), closedPipe(t), &stderr
	require.Equal(t, exitFailure, codeOf(t, cmd.Run()))
	require.Contains(t, stderr.String(), "broken pipe; it is stored, see it with: llama-agent resume t-")
}
