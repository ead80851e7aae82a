package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/llms"

	"github.com/llama-agent/llama-agent/config"
	"github.com/llama-agent/llama-agent/engine"
	"github.com/llama-agent/llama-agent/tools"
)

// configure loads a configuration for a new workspace with the given "section.key=value" settings.
func configure(t *testing.T, settings ...string) *config.Config {
	t.Helper()
	return configureIn(t, t.TempDir(), settings...)
}

func configureIn(t *testing.T, dir string, settings ...string) *config.Config {
	t.Helper()
	o := config.Options{Dir: dir, UserConfigDir: filepath.Join(dir, "none")}
	for _, s := range settings {
		override, err := config.ParseOverride(s)
		require.NoError(t, err)
		o.Overrides = append(o.Overrides, override)
	}
	c, err := config.Load(o)
	require.NoError(t, err)
	return c
}

func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

// answers is a model that plans no tool and answers; it keeps what it was sent.
type answers struct {
	prompts []string
	closed  int
	failure error
}

func (m *answers) GenerateContent(_ context.Context, messages []llms.MessageContent, options ...llms.CallOption) (*llms.ContentResponse, error) {
	var o llms.CallOptions
	for _, option := range options {
		option(&o)
	}
	var prompt strings.Builder
	for _, message := range messages {
		for _, part := range message.Parts {
			prompt.WriteString(part.(llms.TextContent).Text + "\n")
		}
	}
	m.prompts = append(m.prompts, prompt.String())
	if f, ok := o.Metadata["prefill_progress"].(func(done, total int)); ok {
		f(1, 2)
	}
	text := "The answer."
	if o.Metadata["json_schema"] != nil {
		text = `{"steps":[{"do":"answer","tool":"none"}]}`
	}
	return &llms.ContentResponse{Choices: []*llms.ContentChoice{{Content: text, StopReason: "stop"}}}, m.failure
}

func (m *answers) Call(context.Context, string, ...llms.CallOption) (string, error) {
	return "", errors.ErrUnsupported
}

func (m *answers) Close() error { m.closed++; return nil }

func open(t *testing.T, c *config.Config, m *answers) *App {
	t.Helper()
	a, err := Open(t.Context(), Options{Config: c, OpenModel: func(context.Context, *config.Config, *slog.Logger, func(float32)) (Model, error) {
		return m, nil
	}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.Close()) })
	return a
}

func TestRunLoadsTheModelOnceAndCloseClosesIt(t *testing.T) {
	t.Parallel()
	m := &answers{}
	c := configure(t, "engine.lora=pirate.gguf=0.5")
	a := open(t, c, m)
	report, err := a.Run(t.Context(), Task{Goal: "hello", Thread: "t-1"})
	require.NoError(t, err)
	require.Equal(t, StatusDone, report.Status)
	require.Equal(t, "The answer.", report.Answer)
	require.Positive(t, report.CheckpointBytes)
	require.Positive(t, report.PeakRSSBytes)
	require.Equal(t, []string{"pirate.gguf=0.5"}, report.Adapters)
	_, err = a.Run(t.Context(), Task{Goal: "hello", Thread: "t-2"})
	require.NoError(t, err)
	require.FileExists(t, c.Agent.DBPath)

	report, err = a.Resume(t.Context(), "t-1", ResumeOptions{})
	require.NoError(t, err)
	require.Equal(t, "The answer.", report.Answer)
	require.NoError(t, a.Close())
	require.NoError(t, a.Close())
	require.Equal(t, 1, m.closed)
}

func TestWhatIsWrongWithATaskIsFoundBeforeTheModelIsLoaded(t *testing.T) {
	t.Parallel()
	loads := 0
	c := configure(t)
	a, err := Open(t.Context(), Options{Config: c, OpenModel: func(context.Context, *config.Config, *slog.Logger, func(float32)) (Model, error) {
		loads++
		return nil, errors.New("no such model")
	}})
	require.NoError(t, err)
	defer a.Close()
	_, err = a.Run(t.Context(), Task{Goal: "x", Tools: []string{"reed_file"}})
	require.True(t, IsToolError(err))
	_, err = a.Run(t.Context(), Task{Goal: "x", Attach: []string{"nowhere"}})
	require.ErrorContains(t, err, "no such file")
	_, err = a.Resume(t.Context(), "t-1", ResumeOptions{})
	require.ErrorContains(t, err, `there is no thread "t-1"`)
	require.Zero(t, loads)

	_, err = a.Run(t.Context(), Task{Goal: "x"})
	require.True(t, IsModelError(err))
	require.EqualError(t, err, "loading the model: no such model")
}

func TestTheModelIsToldOfFilesButNotOfOurStores(t *testing.T) {
	t.Parallel()
	m := &answers{}
	c := configure(t, "agent.db_path=tasks.sqlite", "tui.log_file=tui.log")
	write(t, filepath.Join(c.Workspace, "orders.csv"), "id\n1\n")
	write(t, filepath.Join(c.Workspace, "tui.log"), "x\n")
	write(t, filepath.Join(c.Workspace, "data/kv/abc.txt"), "x\n")
	a := open(t, c, m)
	_, err := a.Run(t.Context(), Task{Goal: "hello", Attach: []string{"orders.csv"}})
	require.NoError(t, err)
	require.Contains(t, m.prompts[0], "orders.csv")
	for _, own := range []string{"tasks.sqlite", "tui.log", "abc.txt"} {
		require.NotContains(t, m.prompts[0], own)
	}
	facts, err := a.facts(t.Context(), "", "", []string{"orders.csv"})
	require.NoError(t, err)
	require.Equal(t, []string{"orders.csv"}, facts.Attached)
	require.Len(t, facts.Files, 1)
	require.Zero(t, facts.FilesLeftOut)
}

func TestManyFilesAreCounted(t *testing.T) {
	t.Parallel()
	c := configure(t)
	for i := range shownFiles + 5 {
		write(t, filepath.Join(c.Workspace, "f", string(rune('a'+i/26))+string(rune('a'+i%26))), "x")
	}
	facts, err := open(t, c, &answers{}).facts(t.Context(), "", "", nil)
	require.NoError(t, err)
	require.Len(t, facts.Files, shownFiles)
	require.Equal(t, 5, facts.FilesLeftOut)
}

func TestANewFolderForStoresIgnoresItself(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, makeFolder(filepath.Join(dir, "a/b")))
	text, err := os.ReadFile(filepath.Join(dir, "a/b/.gitignore"))
	require.NoError(t, err)
	require.Equal(t, "*\n", string(text))
	require.NoError(t, makeFolder(dir))
	require.NoFileExists(t, filepath.Join(dir, ".gitignore"), "a folder of the user's is left as it is")
}

func TestAttached(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	write(t, filepath.Join(outside, "a.txt"), "x")
	c := configure(t)
	write(t, filepath.Join(c.Workspace, "in/b.txt"), "x")
	require.NoError(t, os.Symlink(filepath.Join(outside, "a.txt"), filepath.Join(c.Workspace, "link")))

	shown, err := attached(c, filepath.Join(c.Workspace, "in/b.txt"))
	require.NoError(t, err)
	require.Equal(t, "in/b.txt", shown)
	_, err = attached(c, filepath.Join(outside, "a.txt"))
	require.ErrorContains(t, err, "outside the folders that tools may read")
	_, err = attached(c, "link")
	require.ErrorContains(t, err, "outside the folders that tools may read", "a link leads out")

	c = configureIn(t, c.Workspace, "tools.file.allowed_roots="+outside)
	shown, err = attached(c, filepath.Join(outside, "a.txt"))
	require.NoError(t, err)
	target, err := filepath.EvalSymlinks(filepath.Join(outside, "a.txt"))
	require.NoError(t, err)
	require.Equal(t, target, shown)
}

func TestPrefillIsTold(t *testing.T) {
	t.Parallel()
	var told []int
	m := withPrefill(&answers{}, func(done, total int) { told = append(told, done, total) })
	_, err := m.GenerateContent(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, []int{1, 2}, told)
	_, counts := m.(tokenCounter)
	require.False(t, counts)
	m = withPrefill(&countingAnswers{}, func(int, int) {})
	counter, counts := m.(tokenCounter)
	require.True(t, counts, "what else the model can do is not hidden")
	require.Equal(t, 77, counter.ContextSize())
}

type countingAnswers struct{ answers }

func (*countingAnswers) ContextSize() int { return 77 }
func (*countingAnswers) CountTokens(context.Context, []llms.MessageContent, ...llms.CallOption) (int, error) {
	return 1, nil
}

func TestPromptsAreLogged(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	at := func(level slog.Level) *slog.Logger {
		return slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: level}))
	}
	plain := &answers{}
	require.Same(t, plain, withPromptLog(plain, at(slog.LevelInfo)), "nothing stands in between when nothing is logged")
	m := withPromptLog(&countingAnswers{}, at(slog.LevelDebug))
	_, counts := m.(tokenCounter)
	require.True(t, counts, "what else the model can do is not hidden")
	_, err := m.GenerateContent(t.Context(), []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeHuman, "What is it?")})
	require.NoError(t, err)
	require.Contains(t, log.String(), `prompt="[human]\nWhat is it?\n"`)
}

func TestEngineConfig(t *testing.T) {
	t.Parallel()
	_, err := engineConfig(configure(t))
	require.ErrorIs(t, err, ErrNoModel)
	_, err = engineConfig(configure(t, "engine.model_path=m.gguf", "engine.chat_template=nowhere.jinja"))
	require.True(t, IsModelError(err))
	require.ErrorContains(t, err, "check engine.chat_template")
	require.True(t, IsModelError(fmt.Errorf("loading: %w", &engine.AdapterError{Path: "a.gguf"})))

	c := configure(t, "engine.model_path=m.gguf", "engine.lora=a.gguf,b.gguf=0.5,c.gguf=0", "engine.chat_template=t.jinja", "engine.top_k=-1", "engine.seed=7", "engine.disable_thinking=false")
	write(t, c.Engine.ChatTemplate, "{{ messages }}")
	e, err := engineConfig(c)
	require.NoError(t, err)
	require.Equal(t, "{{ messages }}", e.ChatTemplate)
	require.Equal(t, filepath.Join(c.Workspace, "m.gguf"), e.ModelPath)
	require.Equal(t, []engine.Adapter{
		{Path: filepath.Join(c.Workspace, "a.gguf"), Scale: 1}, {Path: filepath.Join(c.Workspace, "b.gguf"), Scale: 0.5}, {Path: filepath.Join(c.Workspace, "c.gguf")},
	}, e.Adapters)
	require.Equal(t, []string{"a.gguf", "b.gguf=0.5"}, adapterNames(c))
	require.Zero(t, e.TopK)
	require.Equal(t, 7, e.Seed)
	require.True(t, e.Thinking)
	require.Equal(t, 512, e.MaxTokens)
	require.Equal(t, filepath.Join(c.Workspace, "data/kv"), e.KVStorePath)
	require.EqualValues(t, 4<<30, e.KVStoreMaxBytes)
}

type slowTool struct{ tools.Tool }

func (slowTool) Call(ctx context.Context, _ json.RawMessage) (tools.Result, error) {
	<-ctx.Done()
	return tools.Result{}, ctx.Err()
}

func TestFamilyTimeLimit(t *testing.T) {
	t.Parallel()
	tool := timed(time.Millisecond, []tools.Tool{slowTool{tools.Files(tools.FileOptions{Workspace: t.TempDir()})[0]}})[0]
	_, err := tool.Call(t.Context(), nil)
	var timeout *tools.Error
	require.ErrorAs(t, err, &timeout)
	require.Equal(t, tools.KindTimeout, timeout.Kind)

	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = tool.Call(cancelled, nil)
	require.ErrorIs(t, err, context.Canceled, "the caller's own end is no time-out")
}

func TestDescribeTools(t *testing.T) {
	t.Parallel()
	list, err := DescribeTools(configure(t, "tools.enabled_tools=read_file,query_sqlite", "tools.shell.allowed_commands="))
	require.NoError(t, err)
	off := map[string]string{}
	for _, tool := range list {
		off[tool.Name] = tool.Off
		require.NotNil(t, tool.Limits, tool.Name)
		require.NotEmpty(t, tool.Arguments, tool.Name)
	}
	require.Empty(t, off["read_file"])
	require.Equal(t, "not in tools.enabled_tools", off["list_files"])
	require.Equal(t, "tools.shell.allowed_commands is empty", off["execute_shell_command"])
}

func TestPrune(t *testing.T) {
	t.Parallel()
	a := open(t, configure(t), &answers{})
	for _, id := range []string{"t-1", "t-2"} {
		_, err := a.Run(t.Context(), Task{Goal: "hello", Thread: id})
		require.NoError(t, err)
	}
	before, err := a.History(t.Context(), "t-1")
	require.NoError(t, err)
	require.Greater(t, len(before), 2)
	pruned, err := a.Prune(t.Context(), 2)
	require.NoError(t, err)
	require.Equal(t, 2, pruned.Threads)
	require.Equal(t, 2*(len(before)-2), pruned.Checkpoints)
	after, err := a.History(t.Context(), "t-1")
	require.NoError(t, err)
	require.Len(t, after, 2)
	require.Equal(t, before[0].ID, after[0].ID, "the newest stay")
}
