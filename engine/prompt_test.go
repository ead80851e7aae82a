package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/llama-agent/llama-agent/engine/llama"
	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/llms"
)

// conversation has every role: system, user, assistant with a call, tool, user.
func conversation() []llms.MessageContent {
	return []llms.MessageContent{
		llms.TextParts(llms.ChatMessageTypeSystem, "You are terse."),
		llms.TextParts(llms.ChatMessageTypeHuman, "How many of the 14 files are large?"),
		{Role: llms.ChatMessageTypeAI, Parts: []llms.ContentPart{llms.ToolCall{
			ID: "c1", Type: "function", FunctionCall: &llms.FunctionCall{Name: "count", Arguments: `{"kind":"large"}`},
		}}},
		{Role: llms.ChatMessageTypeTool, Parts: []llms.ContentPart{llms.ToolCallResponse{ToolCallID: "c1", Name: "count", Content: "4"}}},
		llms.TextParts(llms.ChatMessageTypeHuman, "So?"),
	}
}

func TestChatMessages(t *testing.T) {
	t.Parallel()
	got, err := chatMessages(conversation())
	require.NoError(t, err)
	require.Equal(t, []llama.ChatMessage{
		{Role: "system", Content: "You are terse."},
		{Role: "user", Content: "How many of the 14 files are large?"},
		{Role: "assistant", ToolCalls: []llama.ChatToolCall{{ID: "c1", Type: "function", Function: llama.ChatFunction{Name: "count", Arguments: `{"kind":"large"}`}}}},
		{Role: "tool", Content: "4", ToolCallID: "c1", Name: "count"},
		{Role: "user", Content: "So?"},
	}, got)

	got, err = chatMessages([]llms.MessageContent{
		{Role: llms.ChatMessageTypeGeneric, Parts: []llms.ContentPart{llms.TextPart("a"), llms.TextPart("b")}},
		{Role: llms.ChatMessageTypeTool, Parts: []llms.ContentPart{
			llms.ToolCallResponse{ToolCallID: "1", Content: "x"}, llms.ToolCallResponse{ToolCallID: "2", Content: "y"},
		}},
	})
	require.NoError(t, err)
	require.Equal(t, []llama.ChatMessage{
		{Role: "user", Content: "a\nb"}, {Role: "tool", Content: "x", ToolCallID: "1"}, {Role: "tool", Content: "y", ToolCallID: "2"},
	}, got)
}

func TestChatMessagesErrors(t *testing.T) {
	t.Parallel()
	for message, in := range map[string][]llms.MessageContent{
		"without messages":        nil,
		`message 1: unknown role`: {user("a")[0], llms.TextParts("oracle", "b")},
		"not supported":           {{Role: llms.ChatMessageTypeHuman, Parts: []llms.ContentPart{llms.ImageURLPart("x")}}},
		"without a function":      {{Role: llms.ChatMessageTypeAI, Parts: []llms.ContentPart{llms.ToolCall{ID: "1"}}}},
	} {
		_, err := chatMessages(in)
		require.ErrorContains(t, err, message)
	}
}

// templateOf renders messages that pass a check; roles without a format are left out.
func templateOf(refuse func([]llama.ChatMessage) error, formats map[string]string) func(llama.ChatRequest) (string, error) {
	return func(r llama.ChatRequest) (string, error) {
		if err := refuse(r.Messages); err != nil {
			return "", err
		}
		var b strings.Builder
		for _, m := range r.Messages {
			if f, ok := formats[m.Role]; ok {
				fmt.Fprintf(&b, f, m.Content)
				if m.Role == "assistant" && formats["call"] != "" {
					for _, c := range m.ToolCalls {
						fmt.Fprintf(&b, formats["call"], c.Function.Name)
					}
				}
			}
		}
		return b.String() + "A:", nil
	}
}

func anything([]llama.ChatMessage) error { return nil }

func noSystem(messages []llama.ChatMessage) error {
	for _, m := range messages {
		if m.Role == "system" {
			return errors.New("system role is not supported")
		}
	}
	return nil
}

func alternating(messages []llama.ChatMessage) error {
	for i, m := range messages {
		if want := []string{"user", "assistant"}[i%2]; m.Role != want {
			return fmt.Errorf("message %d is of role %s", i, m.Role)
		}
	}
	return nil
}

func TestTemplatesThatCannotRenderTheConversation(t *testing.T) {
	t.Parallel()
	all := map[string]string{"system": "S:%s\n", "user": "U:%s\n", "assistant": "A:%s\n", "tool": "T:%s\n", "call": "[%s]"}
	noTool := map[string]string{"system": "S:%s\n", "user": "U:%s\n", "assistant": "A:%s\n"}
	for _, c := range []struct {
		name     string
		template func(llama.ChatRequest) (string, error)
		want     string
		noted    []string
	}{
		{name: "renders all", template: templateOf(anything, all),
			want: "S:You are terse.\nU:How many of the 14 files are large?\nA:\n[count]T:4\nU:So?\nA:"},
		{name: "raises on system", template: templateOf(noSystem, all), noted: []string{rewriteSystem.name},
			want: "U:You are terse.\n\nHow many of the 14 files are large?\nA:\n[count]T:4\nU:So?\nA:"},
		{name: "drops system", template: templateOf(anything, map[string]string{"user": "U:%s\n", "assistant": "A:%s\n", "tool": "T:%s\n", "call": "[%s]"}),
			noted: []string{rewriteSystem.name},
			want:  "U:You are terse.\n\nHow many of the 14 files are large?\nA:\n[count]T:4\nU:So?\nA:"},
		{name: "user and assistant in turn", template: templateOf(alternating, noTool), noted: []string{rewriteSystem.name, rewriteTools.name, rewriteTurns.name},
			want: "U:You are terse.\n\nHow many of the 14 files are large?\nA:{\"tool\":\"count\",\"arguments\":{\"kind\":\"large\"}}\nU:Result of count:\n4\n\nSo?\nA:"},
		{name: "no tool branch", template: templateOf(anything, noTool), noted: []string{rewriteTools.name},
			want: "S:You are terse.\nU:How many of the 14 files are large?\nA:{\"tool\":\"count\",\"arguments\":{\"kind\":\"large\"}}\nU:Result of count:\n4\nU:So?\nA:"},
		{name: "calls but no results", template: templateOf(anything, map[string]string{"system": "S:%s\n", "user": "U:%s\n", "assistant": "A:%s\n", "call": "[%s]\n"}),
			noted: []string{rewriteTools.name},
			want:  "S:You are terse.\nU:How many of the 14 files are large?\nA:{\"tool\":\"count\",\"arguments\":{\"kind\":\"large\"}}\nU:Result of count:\n4\nU:So?\nA:"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			r := newRig(t, 4096, func(r *rig, cfg *Config) {
				r.model.render = c.template
				cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
			})
			for range 2 {
				resp, err := r.GenerateContent(t.Context(), conversation())
				require.NoError(t, err)
				require.Equal(t, hashReply(c.want), resp.Choices[0].Content, "the prompt is not %q", c.want)
			}
			for _, rw := range []rewrite{rewriteSystem, rewriteTools, rewriteTurns} {
				times := 0
				for _, n := range c.noted {
					if n == rw.name {
						times = 1
					}
				}
				require.Equal(t, times, strings.Count(log.String(), rw.name), "%s in %s", rw.name, log.String())
			}
		})
	}
}

func TestTemplateThatRendersNothingUseful(t *testing.T) {
	t.Parallel()
	r := newRig(t, 4096, func(r *rig, _ *Config) {
		r.model.render = func(llama.ChatRequest) (string, error) { return "constant", nil }
	})
	_, _, err := r.ask(t.Context(), "hi")
	require.ErrorIs(t, err, errLost)
	r.model.render = func(llama.ChatRequest) (string, error) { return "", errFake }
	_, _, err = r.ask(t.Context(), "hi")
	require.ErrorIs(t, err, errFake)
	r.model.render = func(llama.ChatRequest) (string, error) { return "", nil }
	_, _, err = r.ask(t.Context(), "")
	require.ErrorContains(t, err, "prompt is empty")
	r.model.render = nil
	_, _, err = r.ask(t.Context(), "")
	require.NoError(t, err, "an empty message is none of the engine's business")
}

func TestModelWithoutTemplateIsNoted(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	newRig(t, 512, func(r *rig, c *Config) {
		r.model.caps.Explicit = false
		c.Logger = slog.New(slog.NewTextHandler(&log, nil))
	})
	require.Equal(t, 1, strings.Count(log.String(), "ChatML is used"))
}

func TestLostMessage(t *testing.T) {
	t.Parallel()
	call := llama.ChatMessage{Role: "assistant", ToolCalls: []llama.ChatToolCall{{Function: llama.ChatFunction{Name: "count"}}}}
	tool := func(s string) llama.ChatMessage { return llama.ChatMessage{Role: "tool", Content: s} }
	human := func(s string) llama.ChatMessage { return llama.ChatMessage{Role: "user", Content: s} }
	for _, c := range []struct {
		name     string
		prompt   string
		messages []llama.ChatMessage
		lost     string
	}{
		{"trimmed", "U:hi\n", []llama.ChatMessage{human("  hi \n")}, ""},
		{"result as a JSON string", `U:q count T:"a \"b\"\n<c>"`, []llama.ChatMessage{human("q"), call, tool("a \"b\"\n<c>")}, ""},
		{"system moved to the end", "U:hi\nS:sys", []llama.ChatMessage{{Role: "system", Content: "sys"}, human("hi")}, ""},
		{"reasoning stripped", "U:hi\nA:", []llama.ChatMessage{human("hi"), {Role: "assistant", Content: "<think>…</think>"}}, ""},
		{"result only by accident", "U:14 files\ncount\nU:and?", []llama.ChatMessage{human("14 files"), call, tool("4"), human("and?")}, "role tool"},
		{"call only in the list of tools", "tools: count\nU:q\nT:4", []llama.ChatMessage{human("q"), call, tool("4")}, "call of count"},
		{"system", "U:hi", []llama.ChatMessage{{Role: "system", Content: "sys"}, human("hi")}, "role system"},
		{"user", "S:sys", []llama.ChatMessage{{Role: "system", Content: "sys"}, human("hi")}, "role user"},
	} {
		err := lostMessage(c.prompt, c.messages)
		if c.lost == "" {
			require.NoError(t, err, c.name)
		} else {
			require.ErrorIs(t, err, errLost, c.name)
			require.ErrorContains(t, err, c.lost, c.name)
		}
	}
}

func TestRewritesLeaveTheirInputAlone(t *testing.T) {
	t.Parallel()
	messages, err := chatMessages(conversation())
	require.NoError(t, err)
	before, err := json.Marshal(messages)
	require.NoError(t, err)
	for _, rws := range rewritings {
		got := messages
		for _, rw := range rws {
			got = rw.fn(got)
		}
		require.NotEmpty(t, got)
		after, err := json.Marshal(messages)
		require.NoError(t, err)
		require.JSONEq(t, string(before), string(after))
	}
}

func TestFoldsWithoutAUserMessage(t *testing.T) {
	t.Parallel()
	sys := []llama.ChatMessage{{Role: "system", Content: "a"}, {Role: "system", Content: "b"}}
	require.Equal(t, []llama.ChatMessage{{Role: "user", Content: "a\n\nb"}}, foldSystem(sys))
	require.Equal(t, []llama.ChatMessage{{Role: "system", Content: "a\n\nb"}}, mergeTurns(sys))
	require.Equal(t, []llama.ChatMessage{{Role: "user", Content: "Result:\nx"}}, foldTools([]llama.ChatMessage{{Role: "tool", Content: "x"}}))
	require.Equal(t, `{"tool":"f","arguments":{}}`, structuredCall("f", "{cut"))
}

// Whether the template writes BOS or not, and whether the model wants one: never two.
func TestOneBOS(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		template string
		addBOS   bool
		want     int
	}{{"", true, 1}, {"<s>", true, 1}, {"<s><s>", true, 1}, {"", false, 0}, {"<s>", false, 1}} {
		r := newRig(t, 512, func(r *rig, _ *Config) {
			r.model.info.BOS, r.model.info.AddBOS = fakeBOS, c.addBOS
			r.model.render = func(req llama.ChatRequest) (string, error) { return c.template + req.Messages[0].Content, nil }
		})
		_, tokens, err := r.render(llama.ChatRequest{Messages: []llama.ChatMessage{{Role: "user", Content: "a<s>"}}})
		require.NoError(t, err)
		n := 0
		for _, tok := range tokens {
			if tok == fakeBOS {
				n++
			}
		}
		require.Equal(t, c.want, n, "%+v", c)
		require.Equal(t, c.want > 0, tokens[0] == fakeBOS)
	}
}
