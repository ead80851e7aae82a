package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/llms"

	"github.com/llama-agent/llama-agent/config"
)

func TestLoadingAheadOfTheFirstTurn(t *testing.T) {
	t.Parallel()
	missing := fmt.Errorf("%w", ErrNoModel)
	loads := 0
	chat := openChatWith(t, ChatOptions{Options: Options{
		Config: configure(t, "engine.model_path=m.gguf", "memory.artifact_virtualization=true"),
		OpenModel: func(context.Context, *config.Config, *slog.Logger, func(float32)) (Model, error) {
			loads++
			return sized{counting{&answers{}}}, missing
		},
	}})
	require.ErrorIs(t, chat.Load(t.Context()), ErrNoModel)
	s, err := chat.Status(t.Context())
	require.NoError(t, err)
	require.False(t, s.Loaded)
	require.True(t, strings.HasSuffix(s.Model, "m.gguf"))
	require.Equal(t, 1, s.NextTurn)

	missing = nil
	require.NoError(t, chat.Load(t.Context()))
	require.NoError(t, chat.Load(t.Context()), "it is loaded once")
	require.Equal(t, 2, loads)
	s, err = chat.Status(t.Context())
	require.NoError(t, err)
	require.True(t, s.Loaded)
	require.Equal(t, 4096, s.ContextSize)
	require.True(t, s.Virtualization)
	require.False(t, s.Lifecycle)
	require.Positive(t, s.RSS)
	require.Empty(t, s.Conversation)

	report := ask(t, chat, "hello")
	require.Equal(t, 2, loads)
	s, err = chat.Status(t.Context())
	require.NoError(t, err)
	require.Equal(t, report.ConversationID, s.Conversation)
	require.Equal(t, []int{2, 1, 200, 200}, []int{s.NextTurn, s.Turns, s.Session.PromptTokens, s.Last.PromptTokens})
}

// sized is a model that tells the size of its context.
type sized struct{ counting }

func (sized) ContextSize() int { return 4096 }

func (sized) CountTokens(context.Context, []llms.MessageContent, ...llms.CallOption) (int, error) {
	return 10, nil
}

func TestNothingElseRunsWhileTheModelIsLoaded(t *testing.T) {
	t.Parallel()
	begun, ended := make(chan struct{}), make(chan error)
	chat := openChatWith(t, ChatOptions{Options: Options{
		Config: configure(t),
		OpenModel: func(ctx context.Context, _ *config.Config, _ *slog.Logger, _ func(float32)) (Model, error) {
			close(begun)
			<-ctx.Done()
			return nil, ctx.Err()
		},
	}})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { ended <- chat.Load(ctx) }()
	<-begun
	_, err := chat.Do(t.Context(), "hello")
	require.ErrorIs(t, err, ErrBusy)
	_, err = chat.Status(t.Context())
	require.NoError(t, err)
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	require.False(t, chat.Running())
}

// thoughtful thinks before it answers, and asks those who ask with a function of their own.
type thoughtful struct{ *answers }

func (m thoughtful) GenerateContent(ctx context.Context, messages []llms.MessageContent, options ...llms.CallOption) (*llms.ContentResponse, error) {
	var o llms.CallOptions
	for _, option := range options {
		option(&o)
	}
	if f := o.StreamingReasoningFunc; f != nil {
		if err := errors.Join(f(ctx, []byte("hm "), nil), f(ctx, nil, []byte("The"))); err != nil {
			return nil, err
		}
	}
	return m.answers.GenerateContent(ctx, messages, options...)
}

func TestThoughtsAreTold(t *testing.T) {
	t.Parallel()
	for setting, want := range map[string]string{"false": "hm hm ", "true": ""} {
		told := ""
		chat := openChatWith(t, ChatOptions{Options: Options{
			Config: configure(t, "engine.disable_thinking="+setting), OpenModel: always(thoughtful{&answers{}}), Thinking: func(text string) { told += text },
		}})
		require.Equal(t, "The answer.", ask(t, chat, "hello").Answer)
		require.Equal(t, want, told, "a plan and an answer, with disable_thinking = %s", setting)
	}
	var own string
	model := withThinking(thoughtful{&answers{}}, func(string) {})
	_, err := model.GenerateContent(t.Context(), nil, llms.WithStreamingReasoningFunc(func(_ context.Context, a, b []byte) error {
		own += string(a) + string(b)
		return nil
	}))
	require.NoError(t, err)
	require.Equal(t, "hm The", own, "a caller's own function is called too")
}

func TestTheLogIsKeptSmall(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "data", "tui.log")
	add := func(text string) {
		f, err := OpenLog(path)
		require.NoError(t, err)
		_, err = f.WriteString(text)
		require.NoError(t, errors.Join(err, f.Close()))
	}
	add("one\n")
	add("two\n")
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "one\ntwo\n", string(data))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	require.NoError(t, os.Truncate(path, maxLogBytes+1))
	add("three\n")
	data, err = os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "three\n", string(data))
	require.FileExists(t, path+".old")

	_, err = OpenLog(filepath.Join(path, "below-a-file", "tui.log"))
	require.ErrorContains(t, err, "tui.log_file")
}
