package app

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/llms"

	"github.com/llama-agent/llama-agent/artifacts"
)

// stopping is a model that calls stop in place of the answer.
type stopping struct {
	*answers
	stop func()
}

func (m *stopping) GenerateContent(ctx context.Context, messages []llms.MessageContent, options ...llms.CallOption) (*llms.ContentResponse, error) {
	if m.stop != nil {
		m.stop()
		return nil, context.Canceled
	}
	return m.answers.GenerateContent(ctx, messages, options...)
}

func TestChoicesAreStoppedTasksAndOtherConversations(t *testing.T) {
	t.Parallel()
	m := &stopping{answers: &answers{}}
	chat := openChat(t, configure(t), m)
	list, err := chat.Choices(t.Context())
	require.NoError(t, err)
	require.Empty(t, list)
	first := ask(t, chat, "one").ConversationID
	enter(t, chat, "/new")
	ask(t, chat, "two")
	ctx, cancel := context.WithCancel(t.Context())
	m.stop = cancel
	out, err := chat.Do(ctx, "three")
	require.NoError(t, err)
	report, err := chat.Run(ctx, out.Task, nil)
	require.NoError(t, err)
	require.Equal(t, StatusInterrupted, report.Status)
	list, err = chat.Choices(t.Context())
	require.NoError(t, err)
	require.Len(t, list, 2, "what is done and where we are is no choice")
	require.Equal(t, []any{report.ThreadID, true, "interrupted", "three"}, []any{list[0].ID, list[0].Task, list[0].State, list[0].Title})
	require.Equal(t, []any{first, false, "1 turn", "one"}, []any{list[1].ID, list[1].Task, list[1].State, list[1].Title})

	turns, err := chat.Turns(t.Context())
	require.NoError(t, err)
	require.Len(t, turns, 2)
	require.Equal(t, "two", turns[0].Goal)
	enter(t, chat, "/new")
	turns, err = chat.Turns(t.Context())
	require.NoError(t, err)
	require.Empty(t, turns)
}

func TestCallsOfATurn(t *testing.T) {
	t.Parallel()
	c := configure(t)
	write(t, filepath.Join(c.Workspace, "a.txt"), "one\n")
	m := &scripted{t: t}
	chat := openChat(t, c, m)
	m.say(planned("read_file|a.txt"), says(`{"file_path":"a.txt"}`), says("It says one."))
	m.say(says(`{"decision":"done","missing":[],"reason":"x"}`))
	ask(t, chat, "what is in a.txt?")
	turns, err := chat.Turns(t.Context())
	require.NoError(t, err)
	calls := CallsOf(turns[0])
	require.Len(t, calls, 1)
	require.Equal(t, "read_file", calls[0].Tool)
	require.Contains(t, calls[0].Text, "one")
	require.Nil(t, CallsOf(Turn{Transcript: []byte(`{"entries": 1}`)}), "another version wrote it")
	require.Nil(t, CallsOf(Turn{}))
}

func TestStoredResultsOfTheChat(t *testing.T) {
	t.Parallel()
	chat := openChat(t, configure(t, "memory.artifact_virtualization=true"), &answers{})
	id := ask(t, chat, "hello").ConversationID
	stored, err := chat.app.artifacts.Put(t.Context(), id, artifacts.Source{Tool: "read_file"}, []byte("a\xff"))
	require.NoError(t, err)
	_, err = chat.app.artifacts.Put(t.Context(), "t-other", artifacts.Source{Tool: "read_file"}, []byte("b"))
	require.NoError(t, err)
	list, err := chat.StoredResults(t.Context())
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Equal(t, stored.Ref, list[0].Ref)
	_, content, err := chat.StoredResult(t.Context(), stored.Ref)
	require.NoError(t, err)
	require.Equal(t, "a\xff", string(content))
}

func TestFilesForCompletion(t *testing.T) {
	t.Parallel()
	c := configure(t, "tui.log_file=tui.log")
	for _, name := range []string{"b.txt", "a.txt", "sub/数据.csv", "sub/.hidden", "tui.log"} {
		write(t, filepath.Join(c.Workspace, filepath.FromSlash(name)), "x")
	}
	chat := openChat(t, c, &answers{})
	files, err := chat.Files(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"a.txt", "b.txt", "sub/数据.csv"}, files, "without the stores and the log of the agent itself")
	tools, err := chat.ToolNames()
	require.NoError(t, err)
	require.NotEmpty(t, tools)
	for _, tool := range tools {
		require.Empty(t, tool.Off)
		require.Contains(t, chat.Capabilities(), tool.Name)
	}
}

func TestModelFilesToChooseFrom(t *testing.T) {
	t.Parallel()
	c := configure(t)
	write(t, filepath.Join(c.Workspace, "models", "notes.gguf"), "no model")
	list, err := openChat(t, c, &answers{}).ModelFiles(t.Context())
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.NotEmpty(t, list[0].Problem)
}
