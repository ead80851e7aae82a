package app

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/llms"

	"github.com/llama-agent/llama-agent/artifacts"
	"github.com/llama-agent/llama-agent/config"
	"github.com/llama-agent/llama-agent/conversation"
	"github.com/llama-agent/llama-agent/engine"
)

func openChat(t *testing.T, c *config.Config, m Model) *Chat {
	t.Helper()
	return openChatWith(t, ChatOptions{Options: Options{Config: c, OpenModel: always(m)}})
}

func openChatWith(t *testing.T, o ChatOptions) *Chat {
	t.Helper()
	c, err := OpenChat(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

func always(m Model) OpenModel {
	return func(context.Context, *config.Config, *slog.Logger, func(float32)) (Model, error) { return m, nil }
}

// enter does an entry that needs no model.
func enter(t *testing.T, c *Chat, entry string) Output {
	t.Helper()
	out, err := c.Do(t.Context(), entry)
	require.NoError(t, err, entry)
	require.Equal(t, EffectNone, out.Effect, entry)
	return out
}

// ask does an entry that the model answers.
func ask(t *testing.T, c *Chat, entry string) *Report {
	t.Helper()
	out, err := c.Do(t.Context(), entry)
	require.NoError(t, err, entry)
	require.Equal(t, EffectTask, out.Effect, entry)
	report, err := c.Run(t.Context(), out.Task, nil)
	require.NoError(t, err, entry)
	return report
}

func refused(t *testing.T, c *Chat, entry, reason string) error {
	t.Helper()
	out, err := c.Do(t.Context(), entry)
	require.ErrorContains(t, err, reason, entry)
	require.Equal(t, Output{}, out)
	return err
}

func TestTurnsBelongToOneConversation(t *testing.T) {
	t.Parallel()
	m, c := &answers{}, configure(t)
	chat := openChat(t, c, m)
	id, next, err := chat.Conversation(t.Context())
	require.NoError(t, err)
	require.Equal(t, "", id)
	require.Equal(t, 1, next)
	require.Equal(t, []string{"the conversation has not begun"}, enter(t, chat, "/history").Lines)

	first := ask(t, chat, "one")
	require.Equal(t, StatusDone, first.Status)
	second := ask(t, chat, "//two")
	require.NotEmpty(t, first.ConversationID)
	require.Equal(t, first.ConversationID, second.ConversationID)
	turns := enter(t, chat, "/history").Turns
	require.Len(t, turns, 2)
	require.Equal(t, "/two", turns[1].Goal)
	require.Equal(t, "The answer.", turns[1].Answer)

	require.Equal(t, []string{"the next question begins a conversation"}, enter(t, chat, "/new").Lines)
	third := ask(t, chat, "three")
	require.NotEqual(t, first.ConversationID, third.ConversationID)
	require.Len(t, enter(t, chat, "/conversations").Table.Rows, 2)

	// Back to the first, which is the last one then, also after a restart.
	require.Contains(t, enter(t, chat, "/resume "+first.ConversationID).Lines[0], "the next question is turn 3")
	again := openChat(t, c, m)
	id, next, err = again.Conversation(t.Context())
	require.NoError(t, err)
	require.Equal(t, first.ConversationID, id)
	require.Equal(t, 3, next)
	for i := range shownTurns {
		ask(t, again, strings.Repeat("x", i+1))
	}
	out := enter(t, again, "/history")
	require.Len(t, out.Turns, shownTurns)
	require.Equal(t, "x", out.Turns[0].Goal)
	require.Contains(t, out.Lines[0], "the last 10 turns of 12")
}

func TestANewConversationWithAnID(t *testing.T) {
	t.Parallel()
	c := configure(t)
	o := ChatOptions{Options: Options{Config: c, OpenModel: always(&answers{})}, Conversation: "mine", New: true}
	chat := openChatWith(t, o)
	require.Empty(t, enter(t, chat, "/conversations").Table, "it begins with its first turn")
	require.Equal(t, "mine", ask(t, chat, "hello").ConversationID)
	require.Equal(t, "mine", ask(t, chat, "hello").ConversationID)
	_, err := OpenChat(t.Context(), o)
	require.ErrorContains(t, err, "the conversation mine exists already")

	// Another process takes the ID between the start and the first turn.
	o.Conversation = "other"
	late := openChatWith(t, o)
	_, err = chat.app.conversations.Create(t.Context(), "other")
	require.NoError(t, err)
	_, err = late.Run(t.Context(), ChatTask{Goal: "hello"}, nil)
	require.ErrorContains(t, err, "the conversation other exists already")
	require.False(t, late.Running())
}

func TestAModelThatCannotBeLoadedLeavesNoConversation(t *testing.T) {
	t.Parallel()
	failing := true
	m := &answers{}
	chat := openChatWith(t, ChatOptions{Options: Options{Config: configure(t), OpenModel: func(context.Context, *config.Config, *slog.Logger, func(float32)) (Model, error) {
		if failing {
			return nil, errors.New("no memory")
		}
		return m, nil
	}}})
	_, err := chat.Run(t.Context(), ChatTask{Goal: "hello"}, nil)
	require.ErrorContains(t, err, "no memory")
	require.True(t, IsModelError(err))
	require.Equal(t, []string{"no conversation was begun in this workspace"}, enter(t, chat, "/conversations").Lines)
	failing = false
	require.Equal(t, StatusDone, ask(t, chat, "hello").Status)
}

func TestCapabilities(t *testing.T) {
	t.Parallel()
	c := configure(t, "tools.enabled_tools=read_file,count_lines,count_word,house_style")
	write(t, filepath.Join(c.Workspace, "skills", "count.yaml"), "name: count-word\ndescription: Counts.\nread_only: true\narguments:\n  - {name: file, type: path}\ncommand: grep -c x {file}\n")
	write(t, filepath.Join(c.Workspace, "skills", "house-style", "SKILL.md"), "---\ndescription: How we write.\n---\nShort.\n")
	write(t, filepath.Join(c.Workspace, "skills", "off.yaml"), "name: off-skill\ndescription: Off.\ncommand: ls\n")
	write(t, filepath.Join(c.Workspace, "skills", "bad.yaml"), "name: bad\n")
	c = configureIn(t, c.Workspace, "tools.enabled_tools=read_file,count_lines,count_word,house_style", "tools.shell.allowed_commands=grep,ls")
	chat := openChat(t, c, &answers{})
	for entry, want := range map[string]ChatTask{
		"hello":                     {Goal: "hello"},
		"/tool read_file a b":       {Goal: "a b", Tools: []string{"read_file"}},
		"/read_file a":              {Goal: "a", Tools: []string{"read_file"}},
		"/skill count-word in a":    {Goal: "in a", Tools: []string{"count_word"}},
		"/count-word in a":          {Goal: "in a", Tools: []string{"count_word"}},
		"/skill house-style write":  {Goal: "write", Skill: "house_style"},
		"/house_style write":        {Goal: "write", Skill: "house_style"},
		"/tool house-style write":   {Goal: "write", Skill: "house_style"},
		"/tool count_lines /quit":   {Goal: "/quit", Tools: []string{"count_lines"}},
		"/skill count_word //slash": {Goal: "//slash", Tools: []string{"count_word"}},
	} {
		out, err := chat.Do(t.Context(), entry)
		require.NoError(t, err, entry)
		require.Equal(t, Output{Effect: EffectTask, Task: want}, out, entry)
	}
	refused(t, chat, "/tool red_file a", `there is no tool "red_file"; did you mean read_file?`)
	refused(t, chat, "/tool nonsense a", `there is no tool "nonsense"; see /tools`)
	refused(t, chat, "/skill read_file a", `there is no skill "read_file"; see /skills`)
	refused(t, chat, "/skill count-wrd a", "did you mean count_word?")
	refused(t, chat, "/skill off-skill a", "the skill off_skill is off: not in tools.enabled_tools")
	refused(t, chat, "/tool list_files a", "the tool list_files is off: not in tools.enabled_tools")
	require.Equal(t, StatusDone, ask(t, chat, "/tool read_file hello").Status)

	skills := enter(t, chat, "/skills")
	require.Len(t, skills.Table.Rows, 3)
	require.Len(t, skills.Lines, 1)
	require.Contains(t, skills.Lines[0], "left out: ")
	require.Contains(t, skills.Lines[0], "bad.yaml")
	for _, row := range enter(t, chat, "/tools").Table.Rows {
		if row[0] == "list_files" {
			require.Contains(t, row[2], "(off: not in tools.enabled_tools) ")
		}
	}
	none := filepath.Join(t.TempDir(), "none")
	require.Equal(t, []string{"no skills in " + none}, enter(t, openChat(t, configure(t, "tools.skills.dirs="+none), &answers{}), "/skills").Lines)
}

// blocking answers its first calls, then waits until it is cancelled, once.
type blocking struct {
	answers
	before  int
	blocked chan struct{}
}

func (m *blocking) GenerateContent(ctx context.Context, messages []llms.MessageContent, options ...llms.CallOption) (*llms.ContentResponse, error) {
	if m.before == 0 {
		m.before = -1
		close(m.blocked)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	m.before--
	return m.answers.GenerateContent(ctx, messages, options...)
}

func TestAnInterruptedTurnIsClosedAndCanGoOn(t *testing.T) {
	t.Parallel()
	m := &blocking{before: 1, blocked: make(chan struct{})}
	chat := openChat(t, configure(t), m)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan *Report)
	go func() {
		report, err := chat.Run(ctx, ChatTask{Goal: "one"}, nil)
		if err != nil {
			report = &Report{Answer: err.Error()}
		}
		done <- report
	}()
	<-m.blocked
	// Looking works meanwhile, all else waits.
	require.True(t, chat.Running())
	for _, entry := range []string{"/history", "/threads", "/conversations", "/stats", "/tools", "/memory", "/artifacts", "/config", "/model", "/help"} {
		enter(t, chat, entry)
	}
	require.Equal(t, "running", enter(t, chat, "/threads").Table.Rows[0][1])
	for _, entry := range []string{"two", "/new", "/resume", "/resume x", "/model x", "/tool read_file x"} {
		_, err := chat.Do(t.Context(), entry)
		require.ErrorIs(t, err, ErrBusy, entry)
	}
	_, err := chat.Run(t.Context(), ChatTask{Goal: "two"}, nil)
	require.ErrorIs(t, err, ErrBusy)
	out, err := chat.Do(t.Context(), "/cancel")
	require.NoError(t, err)
	require.Equal(t, EffectCancel, out.Effect)
	cancel()
	report := <-done
	require.Equal(t, StatusInterrupted, report.Status, report.Answer)
	require.Equal(t, []string{"nothing is running"}, enter(t, chat, "/cancel").Lines)

	turns := enter(t, chat, "/history").Turns
	require.Len(t, turns, 1)
	require.Equal(t, conversation.Interrupted, turns[0].Status)
	require.Empty(t, turns[0].Process)

	// The next turn works, and leaves the stopped one for later.
	require.Equal(t, StatusDone, ask(t, chat, "two").Status)
	out, err = chat.Do(t.Context(), "/resume")
	require.NoError(t, err)
	require.Equal(t, ChatTask{Thread: report.ThreadID}, out.Task)
	resumed, err := chat.Run(t.Context(), out.Task, nil)
	require.NoError(t, err)
	require.Equal(t, StatusDone, resumed.Status)
	require.Equal(t, report.ConversationID, resumed.ConversationID)
	turns = enter(t, chat, "/history").Turns
	require.Equal(t, conversation.Done, turns[0].Status)
	require.Equal(t, conversation.Done, turns[1].Status)
	err = refused(t, chat, "/resume", "is done")
	require.ErrorIs(t, err, ErrNothingToResume)
}

// stubborn gives replies in order; at an empty one it waits until it is cancelled. It sees no more to do than was planned.
type stubborn struct {
	answers
	replies []string
	blocked chan struct{}
}

func (m *stubborn) GenerateContent(ctx context.Context, _ []llms.MessageContent, options ...llms.CallOption) (*llms.ContentResponse, error) {
	var o llms.CallOptions
	for _, option := range options {
		option(&o)
	}
	schema, _ := o.Metadata["json_schema"].(json.RawMessage)
	text := m.replies[0]
	switch {
	case text == "":
		m.replies = m.replies[1:]
		close(m.blocked)
		<-ctx.Done()
		return nil, ctx.Err()
	case strings.Contains(string(schema), `"decision"`):
		text = `{"decision":"done","missing":[],"reason":"the reason"}`
	case strings.Contains(string(schema), `"tool"`) && !strings.Contains(string(schema), `"steps"`):
		text = `{"tool":"none"}`
	default:
		m.replies = m.replies[1:]
	}
	return &llms.ContentResponse{Choices: []*llms.ContentChoice{{Content: text, StopReason: "stop"}}}, nil
}

func TestWhatIsNotRepeatedIsNotCountedAgain(t *testing.T) {
	t.Parallel()
	c := configure(t)
	write(t, filepath.Join(c.Workspace, "a.txt"), "one\n")
	m := &stubborn{blocked: make(chan struct{}), replies: []string{
		`{"steps":[{"do":"count","tool":"count_lines"}]}`, `{"path":"missing.txt"}`, "", "The answer.",
	}}
	chat := openChat(t, c, m)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-m.blocked; cancel() }() // after a call that did not work
	counted, replayed := 0, 0
	count := func(e Event) {
		if e, ok := e.(ModelReplied); ok {
			counted++
			if e.Replayed {
				replayed++
			}
		}
	}
	report, err := chat.Run(ctx, ChatTask{Goal: "hello"}, count)
	require.NoError(t, err)
	require.Equal(t, StatusInterrupted, report.Status)
	resumed, err := chat.Run(t.Context(), ChatTask{Thread: report.ThreadID}, count)
	require.NoError(t, err)
	require.Equal(t, StatusDone, resumed.Status)
	require.Positive(t, replayed, "the arguments were chosen before the stop")
	require.Equal(t, []any{"model calls", counted - replayed}, enter(t, chat, "/stats").Table.Rows[0][:2])
}

func TestResumePrefersTheTurnOfTheConversation(t *testing.T) {
	t.Parallel()
	c := configure(t)
	stop := func(conversation, goal string) *Report {
		m := &blocking{blocked: make(chan struct{})}
		chat := openChatWith(t, ChatOptions{Options: Options{Config: c, OpenModel: always(m)}, Conversation: conversation, New: true})
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-m.blocked; cancel() }()
		report, err := chat.Run(ctx, ChatTask{Goal: goal}, nil)
		require.NoError(t, err)
		require.Equal(t, StatusInterrupted, report.Status)
		return report
	}
	mine, other := stop("mine", "one"), stop("other", "two")
	chat := openChatWith(t, ChatOptions{Options: Options{Config: c, OpenModel: always(&answers{})}, Conversation: "mine"})
	next := func(entry string) string {
		out, err := chat.Do(t.Context(), entry)
		require.NoError(t, err)
		return out.Task.Thread
	}
	require.Equal(t, mine.ThreadID, next("/resume"))
	require.Equal(t, other.ThreadID, next("/resume "+other.ThreadID))
	require.Equal(t, StatusDone, ask(t, chat, "/resume").Status)
	require.Equal(t, other.ThreadID, next("/resume"), "then the last one that was stopped")
	refused(t, chat, "/resume "+other.ThreadID+"x", "did you mean "+other.ThreadID+"?")
	refused(t, chat, "/resume othr", `there is no task or conversation "othr"; did you mean other?`)
	refused(t, chat, "/resume \x00", "see /threads and /conversations")
}

func TestAConversationInUse(t *testing.T) {
	t.Parallel()
	c := configure(t)
	m := &blocking{blocked: make(chan struct{})}
	first := openChat(t, c, m)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _, _ = first.Run(ctx, ChatTask{Goal: "one"}, nil) }()
	<-m.blocked
	second := openChat(t, c, &answers{})
	id, _, err := second.Conversation(t.Context())
	require.NoError(t, err)
	_, err = second.Run(t.Context(), ChatTask{Goal: "two"}, nil)
	require.EqualError(t, err, "the conversation "+id+" is in use: its turn 1 is still running; wait for it, or begin another with /new")
	enter(t, second, "/new")
	require.Equal(t, StatusDone, ask(t, second, "two").Status)
	cancel()
	<-done
	enter(t, second, "/resume "+id)
	require.Equal(t, StatusDone, ask(t, second, "two").Status)
}

func TestAConversationThatIsGone(t *testing.T) {
	t.Parallel()
	chat := openChat(t, configure(t), &answers{})
	id := ask(t, chat, "one").ConversationID
	_, err := chat.app.DeleteConversations(t.Context(), id)
	require.NoError(t, err)
	_, err = chat.Run(t.Context(), ChatTask{Goal: "two"}, nil)
	require.ErrorContains(t, err, "there is no conversation")
	enter(t, chat, "/new")
	require.Equal(t, StatusDone, ask(t, chat, "two").Status)
}

func TestRemember(t *testing.T) {
	t.Parallel()
	off := openChat(t, configure(t), &answers{})
	refused(t, off, "/remember port 8472", "memory.lifecycle_context is off")
	require.Equal(t, []string{"nothing is remembered here", "the model does not see what is remembered, because memory.lifecycle_context is off"}, enter(t, off, "/memory").Lines)

	m := &answers{}
	chat := openChat(t, configure(t, "memory.artifact_virtualization=true", "memory.lifecycle_context=true"), m)
	require.Equal(t, []string{"nothing is remembered here"}, enter(t, chat, "/memory").Lines)
	_, _, err := chat.app.AddMemory(t.Context(), "", "all", "of us")
	require.NoError(t, err)
	require.Contains(t, enter(t, chat, `/remember "deploy port" 8472 of course`).Lines[0], ": deploy port")
	require.Contains(t, enter(t, chat, `/remember "deploy port" 8473`).Lines[0], "deploy port, which was: 8472 of course")
	rows := enter(t, chat, "/memory").Table.Rows
	require.Len(t, rows, 2)
	require.Equal(t, []any{"all", "all"}, rows[0][:2])
	require.Equal(t, []any{"deploy port", "this conversation"}, rows[1][:2])
	require.Equal(t, "8473", rows[1][3])
	ask(t, chat, "hello")
	require.Contains(t, m.prompts[0], "deploy port: 8473")
	require.Len(t, enter(t, chat, "/conversations").Table.Rows, 1)

	enter(t, chat, "/new")
	require.Len(t, enter(t, chat, "/memory").Table.Rows, 1, "another conversation does not see it")
	refused(t, chat, "/remember "+strings.Repeat("k", 100)+" 1", "80")
}

func TestAnotherModel(t *testing.T) {
	t.Parallel()
	c := configure(t, "engine.model_path=first.gguf", "memory.artifact_virtualization=true", "memory.lifecycle_context=true")
	models := map[string]*answers{"first.gguf": {}, "second.gguf": {}}
	loads := 0
	o := ChatOptions{Options: Options{Config: c, OpenModel: func(_ context.Context, c *config.Config, _ *slog.Logger, _ func(float32)) (Model, error) {
		loads++
		return models[filepath.Base(c.Engine.ModelPath)], nil
	}}}
	o.WithModel = func(path string) (*config.Config, error) {
		if path == "bad" {
			return nil, errors.New("bad path")
		}
		return configureIn(t, c.Workspace, "engine.model_path="+path, "memory.artifact_virtualization=true", "memory.lifecycle_context=true"), nil
	}
	chat := openChatWith(t, o)
	require.Contains(t, enter(t, chat, "/model").Lines[0], "first.gguf (loaded with the next question)")
	id := ask(t, chat, "one").ConversationID
	require.Contains(t, enter(t, chat, "/model").Lines[0], "first.gguf (loaded)")
	ask(t, chat, "two")
	require.Equal(t, 1, loads)

	refused(t, chat, "/model bad", "bad path")
	require.Zero(t, models["first.gguf"].closed, "all stays as it is")
	enter(t, chat, "/model second.gguf")
	require.Equal(t, 1, models["first.gguf"].closed)
	require.Contains(t, enter(t, chat, "/model").Lines[0], "second.gguf (loaded with the next question)")
	require.Equal(t, id, ask(t, chat, "three").ConversationID, "the conversation goes on")
	require.NotEmpty(t, models["second.gguf"].prompts)
	require.Len(t, enter(t, chat, "/history").Turns, 3)

	refused(t, openChat(t, configure(t), &answers{}), "/model x", "can't be changed here")
}

func TestAFileThatIsNoModelIsRefused(t *testing.T) {
	t.Parallel()
	c := configure(t)
	write(t, filepath.Join(c.Workspace, "notes.gguf"), "some notes")
	chat := openChatWith(t, ChatOptions{Options: Options{Config: c}, WithModel: func(path string) (*config.Config, error) {
		return configureIn(t, c.Workspace, "engine.model_path="+filepath.Join(c.Workspace, path)), nil
	}})
	refused(t, chat, "/model notes.gguf", "it is not a GGUF file")
	refused(t, chat, "/model nowhere.gguf", "does not exist")
	require.Contains(t, enter(t, chat, "/model").Lines[0], "no model is configured")
}

func TestStats(t *testing.T) {
	t.Parallel()
	chat := openChat(t, configure(t, "engine.model_path=m.gguf"), counting{&answers{}})
	require.Equal(t, []any{"model calls", 0, 0}, enter(t, chat, "/stats").Table.Rows[0])
	ask(t, chat, "one")
	ask(t, chat, "two")
	out := enter(t, chat, "/stats")
	require.Equal(t, [][]any{
		{"model calls", 4, 2}, {"tokens sent", 400, 200}, {"tokens cached", 120, 60}, {"tokens from disk", 80, 40}, {"tokens evaluated", 280, 140},
		{"tokens written", 40, 20}, {"tokens sampled", 24, 12}, {"tokens forced", 16, 8},
	}, out.Table.Rows)
	text := strings.Join(out.Lines, "\n")
	require.Contains(t, text, "m.gguf (loaded)")
	require.Contains(t, text, "the next turn is 3; turns of this session: 2")
	require.Contains(t, text, "700 tokens/s read, 200 tokens/s written")
	require.Contains(t, text, "R1 (large results outside the prompt): off, R2 (lifecycle context): off")
	// A turn of another session counts for the conversation only, and a task that has ended costs nothing to look at.
	again := openChat(t, chat.Config(), &answers{})
	last := enter(t, again, "/threads").Table.Rows[0][0].(string)
	ask(t, again, "/resume "+last)
	text = strings.Join(enter(t, again, "/stats").Lines, "\n")
	require.Contains(t, text, "the next turn is 3; turns of this session: 0")
	require.Contains(t, text, "speed: not known")
	require.NotContains(t, text, "LoRA")
	adapted := openChat(t, configure(t, "engine.model_path=m.gguf", "engine.lora=pirate.gguf=0.5,off.gguf=0"), &answers{})
	require.Regexp(t, `m\.gguf.*, with the LoRA adapters pirate\.gguf=0\.5$`, enter(t, adapted, "/stats").Lines[0])
}

// counting reports what calls cost.
type counting struct{ *answers }

func (m counting) GenerateContent(ctx context.Context, messages []llms.MessageContent, options ...llms.CallOption) (*llms.ContentResponse, error) {
	r, err := m.answers.GenerateContent(ctx, messages, options...)
	r.Choices[0].GenerationInfo = map[string]any{"Usage": engine.Usage{
		PromptTokens: 100, CachedTokens: 30, RestoredTokens: 20, EvaluatedTokens: 70, CompletionTokens: 10, ForcedTokens: 4,
		Prefill: 100 * time.Millisecond, Decode: 50 * time.Millisecond,
	}}
	return r, err
}

func TestSwitchesAndSettings(t *testing.T) {
	t.Parallel()
	chat := openChat(t, configure(t), &answers{})
	require.Equal(t, []string{"showing the thoughts of the model: off"}, enter(t, chat, "/thinking").Lines)
	require.Contains(t, enter(t, chat, "/thinking on").Lines[0], "on; but they are shown by the full-screen interface only")
	shown := openChatWith(t, ChatOptions{Options: Options{Config: configure(t), OpenModel: always(&answers{}), Thinking: func(string) {}}})
	require.Contains(t, enter(t, shown, "/thinking on").Lines[0], "on; but models are told not to think")
	require.True(t, chat.ShowThinking())
	enter(t, chat, "/thinking off")
	require.False(t, chat.ShowThinking())
	refused(t, chat, "/thinking maybe", "/thinking maybe: say on or off")
	require.True(t, openChat(t, configure(t, "tui.show_thinking=true"), &answers{}).ShowThinking())

	rows := enter(t, chat, "/config").Table.Rows
	require.Len(t, rows, len(chat.Config().Values()))
	require.Contains(t, rows, []any{"agent.max_iterations", "6", "default"})

	out, err := chat.Do(t.Context(), "/quit")
	require.NoError(t, err)
	require.Equal(t, Output{Effect: EffectQuit}, out)
	out, err = chat.Do(t.Context(), "/clear")
	require.NoError(t, err)
	require.Equal(t, Output{Effect: EffectClear}, out)
	require.Equal(t, Output{}, enter(t, chat, " \n "))
}

func TestStoredResultsOfTheConversation(t *testing.T) {
	t.Parallel()
	chat := openChat(t, configure(t, "memory.artifact_virtualization=true"), &answers{})
	require.Equal(t, []string{"no result is stored for this conversation"}, enter(t, chat, "/artifacts").Lines)
	id := ask(t, chat, "hello").ConversationID
	put := func(owner, content string) string {
		stored, err := chat.app.artifacts.Put(t.Context(), owner, artifacts.Source{Tool: "read_file"}, []byte(content))
		require.NoError(t, err)
		return stored.Ref
	}
	text := strings.Repeat("字", shownChars) + "the end"
	ref, binary := put(id, text), put(id, "a\xff\x00b")
	other := put("t-other", "something else")
	rows := enter(t, chat, "/artifacts").Table.Rows
	require.Len(t, rows, 2)
	out := enter(t, chat, "/artifacts "+ref)
	require.Equal(t, strings.Repeat("字", shownChars), out.Lines[1])
	require.Contains(t, out.Lines[2], "and 7 characters more; see all with: llama-agent artifacts show "+ref)
	require.Contains(t, enter(t, chat, "/artifacts "+binary).Lines[1], "it is no text")
	require.Equal(t, "something else", enter(t, chat, "/artifacts "+other).Lines[1])
	refused(t, chat, "/artifacts artifact://nothing", "there is no stored result")
	enter(t, chat, "/new")
	require.Equal(t, "3 belong to others; see them with: llama-agent artifacts list", enter(t, chat, "/artifacts").Lines[1])
}

func TestListsAreCut(t *testing.T) {
	t.Parallel()
	chat := openChat(t, configure(t), &answers{})
	require.Equal(t, []string{"no task was run in this workspace"}, enter(t, chat, "/threads").Lines)
	for range shownRows + 1 {
		ask(t, chat, "hello")
	}
	out := enter(t, chat, "/threads")
	require.Len(t, out.Table.Rows, shownRows)
	require.Equal(t, []string{"there are more; see all with: llama-agent list-threads --limit 0"}, out.Lines)
	require.IsType(t, time.Time{}, out.Table.Rows[0][3])
	_, err := json.Marshal(out)
	require.NoError(t, err)
}
