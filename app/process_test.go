package app

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/llms"
	"go.uber.org/goleak"

	"github.com/llama-agent/llama-agent/config"
	"github.com/llama-agent/llama-agent/conversation"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("APP_TEST_TURN_IN"); dir != "" {
		if err := turnForever(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// endless is a model that says that it was asked, and then works on.
type endless struct{}

func (endless) GenerateContent(context.Context, []llms.MessageContent, ...llms.CallOption) (*llms.ContentResponse, error) {
	fmt.Println("asked")
	_, err := os.Stdin.Read(make([]byte, 1)) // until the process is killed
	return nil, err
}

func (endless) Call(context.Context, string, ...llms.CallOption) (string, error) { return "", nil }
func (endless) Close() error                                                     { return nil }

// turnForever is another process in the middle of a turn.
func turnForever(dir string) error {
	c, err := config.Load(config.Options{Dir: dir, UserConfigDir: filepath.Join(dir, "none")})
	if err != nil {
		return err
	}
	a, err := Open(context.Background(), Options{Config: c, OpenModel: func(context.Context, *config.Config, *slog.Logger, func(float32)) (Model, error) {
		return endless{}, nil
	}})
	if err != nil {
		return err
	}
	_, err = a.Continue(context.Background(), TurnTask{Goal: "Two."})
	return err
}

func TestTurnOfAnotherProcess(t *testing.T) {
	t.Parallel()
	m := &scripted{t: t}
	c := configure(t)
	a := openScripted(t, c, m)
	id := turn(t, a, m, TurnTask{Goal: "One."}, talk("First.")...).ConversationID

	child := exec.Command(os.Args[0], "-test.run=^$")
	child.Env = append(os.Environ(), "APP_TEST_TURN_IN="+c.Workspace)
	child.Stderr = os.Stderr
	stdin, err := child.StdinPipe()
	require.NoError(t, err)
	defer stdin.Close()
	stdout, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "asked\n", line)

	require.Equal(t, "done running", statuses(turnsOf(t, a, id)))
	thread := turnsOf(t, a, id)[1].Thread
	busy := "the conversation " + id + " is in use: its turn 2 is still running; wait for it, or begin another with --new"
	_, err = a.Continue(t.Context(), TurnTask{Goal: "Three."})
	require.EqualError(t, err, busy)
	_, err = a.Resume(t.Context(), thread, ResumeOptions{})
	require.Error(t, err)
	_, err = a.DeleteConversations(t.Context(), id)
	require.EqualError(t, err, busy)
	_, err = a.Delete(t.Context(), thread)
	require.Error(t, err)
	require.Equal(t, "done running", statuses(turnsOf(t, a, id)), "nothing of it was touched")
	other := turn(t, a, m, TurnTask{Goal: "Elsewhere.", New: true}, talk("Well.")...)
	require.NotEqual(t, id, other.ConversationID)

	require.NoError(t, child.Process.Kill())
	require.Error(t, child.Wait())
	require.Equal(t, "done interrupted", statuses(turnsOf(t, a, id)))
	list, err := a.Conversations(t.Context(), 0)
	require.NoError(t, err)
	require.Equal(t, conversation.Interrupted, list[1].Status)

	turn(t, a, m, TurnTask{Goal: "Three.", Conversation: id}, talk("Third.")...)
	require.Contains(t, m.last(), "Task: Two.\n--- ai ---\n(This was stopped before there was an answer.)")
	m.say(talk("Second.")...)
	report, err := a.Resume(t.Context(), thread, ResumeOptions{})
	require.NoError(t, err)
	require.Equal(t, "Second.", report.Answer)
	require.Equal(t, "done done done", statuses(turnsOf(t, a, id)))
}

// A turn whose process ended is dropped with its task, also when nobody has noticed yet.
func TestTurnOfAProcessThatIsGoneIsDropped(t *testing.T) {
	t.Parallel()
	m := &scripted{t: t}
	c := configure(t)
	a := openScripted(t, c, m)
	id := turn(t, a, m, TurnTask{Goal: "One."}, talk("First.")...).ConversationID
	child := exec.Command(os.Args[0], "-test.run=^$")
	child.Env = append(os.Environ(), "APP_TEST_TURN_IN="+c.Workspace)
	stdin, err := child.StdinPipe()
	require.NoError(t, err)
	defer stdin.Close()
	stdout, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	_, err = bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	require.NoError(t, child.Process.Kill())
	require.Error(t, child.Wait())
	_, err = a.Delete(t.Context(), turnsOf(t, a, id)[1].Thread)
	require.NoError(t, err)
	require.Equal(t, "done", statuses(turnsOf(t, a, id)))
	deleted, err := a.DeleteConversations(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, []DeletedConversation{{id, 1}}, deleted)
}
