package engine

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/llama-agent/llama-agent/engine/llama"
	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/llms"
)

func tool(name string, parameters any) llms.Tool {
	return llms.Tool{Type: "function", Function: &llms.FunctionDefinition{Name: name, Description: "the tool " + name, Parameters: parameters}}
}

func TestOfferedTools(t *testing.T) {
	t.Parallel()
	two := []llms.Tool{tool("read", nil), tool("write", map[string]any{"type": "object"})}
	named := llms.ToolChoice{Type: "function", Function: &llms.FunctionReference{Name: "write"}}
	for _, c := range []struct {
		name   string
		choice any
		want   string
		tools  []string
	}{
		{"unset", nil, "auto", []string{"read", "write"}},
		{"empty", "", "auto", []string{"read", "write"}},
		{"auto", "auto", "auto", []string{"read", "write"}},
		{"required", "required", "required", []string{"read", "write"}},
		{"none", "none", "none", nil},
		{"name as text", "read", "required", []string{"read"}},
		{"named", named, "required", []string{"write"}},
		{"pointer", &named, "required", []string{"write"}},
		{"choice without function", llms.ToolChoice{}, "auto", []string{"read", "write"}},
	} {
		tools, choice, err := offeredTools(llms.CallOptions{Tools: two, ToolChoice: c.choice})
		require.NoError(t, err, c.name)
		require.Equal(t, c.want, choice, c.name)
		var names []string
		for _, tl := range tools {
			names = append(names, tl.Function.Name)
			require.True(t, json.Valid(tl.Function.Parameters), c.name)
		}
		require.Equal(t, c.tools, names, c.name)
	}
	for message, o := range map[string]llms.CallOptions{
		`names "erase", which is not offered (offered: read, write)`: {Tools: two, ToolChoice: "erase"},
		"a tool choice of type int":                                  {Tools: two, ToolChoice: 3},
		"a tool without a function":                                  {Tools: []llms.Tool{{}}},
		"parameters of tool f":                                       {Tools: []llms.Tool{tool("f", func() {})}},
		`tool name "a b"`:                                            {Tools: []llms.Tool{tool("a b", nil)}},
		`tool name "f<|im_end|>"`:                                    {Tools: []llms.Tool{tool("f<|im_end|>", nil)}},
		`is not 1 to 128 letters`:                                    {Tools: []llms.Tool{tool("", nil)}},
	} {
		_, _, err := offeredTools(o)
		require.ErrorContains(t, err, message)
	}
}

func TestToolsAndSchemaExclude(t *testing.T) {
	t.Parallel()
	r := newRig(t, 4096, nil)
	_, _, err := r.ask(t.Context(), "hi", llms.WithTools([]llms.Tool{tool("f", nil)}), WithSchema(json.RawMessage(`{}`)))
	require.ErrorContains(t, err, "both tools and a schema")
}

func TestRequireCall(t *testing.T) {
	t.Parallel()
	require.Equal(t, "a ::= b\nroot ::= start tool-calls\nc ::= d", requireCall("a ::= b\nroot ::= start until-12? tool-calls\nc ::= d"))
	for _, same := range []string{"", "root ::= tool-call", "root ::= until-1? other"} {
		require.Equal(t, same, requireCall(same))
	}
}

func TestStructuredReplies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, reply   string
		content, call string
		stop          string
		maxTokens     int
	}{
		{name: "call", reply: `{"tool":"f","arguments":{"a":1}}`, call: `f {"a":1}`, stop: "tool_calls"},
		{name: "answer", reply: `{"answer":"a \"b\""}`, content: `a "b"`, stop: "stop"},
		{name: "empty answer", reply: `{"answer":""}`, stop: "stop"},
		{name: "cut in the arguments", reply: `{"tool":"f","arguments":{"a":1}}`, maxTokens: 28, content: `{"tool":"f","arguments":{"a"`, stop: "length"},
		{name: "cut before the last brace", reply: `{"tool":"f","arguments":{"a":1}}`, maxTokens: 31, content: `{"tool":"f","arguments":{"a":1}`, stop: "length"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 4096, func(r *rig, _ *Config) { r.model.reply = func(string) string { return c.reply } })
			streamed := ""
			resp, err := r.GenerateContent(t.Context(), user("hi"), llms.WithTools([]llms.Tool{tool("f", nil)}), llms.WithMaxTokens(c.maxTokens),
				llms.WithStreamingFunc(func(_ context.Context, b []byte) error { streamed += string(b); return nil }))
			require.NoError(t, err)
			choice := resp.Choices[0]
			require.Equal(t, c.content, choice.Content)
			require.Equal(t, c.content, streamed)
			require.Equal(t, c.stop, choice.StopReason)
			if c.call == "" {
				require.Empty(t, choice.ToolCalls)
				require.Nil(t, choice.FuncCall)
				return
			}
			require.Len(t, choice.ToolCalls, 1)
			require.Equal(t, c.call, choice.FuncCall.Name+" "+choice.FuncCall.Arguments)
			require.Equal(t, "call_1", choice.ToolCalls[0].ID)
		})
	}
}

func TestStructuredSchema(t *testing.T) {
	t.Parallel()
	tools, choice, err := offeredTools(llms.CallOptions{Tools: []llms.Tool{tool("f", nil), tool("g", nil)}})
	require.NoError(t, err)
	s, err := structuredSchema(tools, choice)
	require.NoError(t, err)
	var got struct {
		AnyOf []struct {
			Properties map[string]any `json:"properties"`
		} `json:"anyOf"`
	}
	require.NoError(t, json.Unmarshal(s, &got))
	require.Len(t, got.AnyOf, 3, "two tools or an answer")
	require.Contains(t, got.AnyOf[2].Properties, "answer")
	require.Contains(t, describeTools(tools, "auto"), `"answer"`)

	s, err = structuredSchema(tools, "required")
	require.NoError(t, err)
	require.NotContains(t, string(s), "answer")
	require.NotContains(t, describeTools(tools, "required"), "answer")
}

// nativeRig has a model whose template describes tools; replies are read by parse.
func nativeRig(t *testing.T, reply string, parse func(text string, partial bool) (llama.ChatReply, error)) *rig {
	return newRig(t, 4096, func(r *rig, _ *Config) {
		r.model.caps.Supports = map[string]bool{"supports_tools": true, "supports_tool_calls": true}
		r.model.reply = func(string) string { return reply }
		r.model.parse = parse
	})
}

func replyWith(content string, calls ...[2]string) llama.ChatReply {
	r := llama.ChatReply{Content: content}
	for _, c := range calls {
		r.ToolCalls = append(r.ToolCalls, struct {
			ID        string `json:"id"`
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		}{Name: c[0], Arguments: c[1]})
	}
	return r
}

func TestNativeCallWithoutGrammar(t *testing.T) {
	t.Parallel()
	r := nativeRig(t, "prose", nil)
	_, _, err := r.ask(t.Context(), "hi", llms.WithTools([]llms.Tool{tool("f", nil)}), llms.WithToolChoice("required"))
	require.ErrorContains(t, err, "no grammar for a required tool call")
}

// A call that the token limit cut off must never look like a whole one.
func TestCutNativeCallsAreLeftOut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		calls [][2]string
		want  int
	}{
		{"cut before the arguments", [][2]string{{"f", ""}}, 0},
		{"cut in the arguments", [][2]string{{"f", `{"a":`}}, 0},
		{"cut after the arguments", [][2]string{{"f", `{"a":1}`}}, 1},
		{"a whole one and a cut one", [][2]string{{"f", `{"a":1}`}, {"g", `{"b":"x`}}, 1},
	} {
		r := nativeRig(t, strings.Repeat("x", 50), func(_ string, partial bool) (llama.ChatReply, error) {
			if !partial {
				return llama.ChatReply{}, errFake
			}
			return replyWith("", c.calls...), nil
		})
		resp, err := r.GenerateContent(t.Context(), user("hi"), llms.WithTools([]llms.Tool{tool("f", nil)}), llms.WithMaxTokens(20))
		require.NoError(t, err)
		require.Len(t, resp.Choices[0].ToolCalls, c.want, c.name)
		require.Equal(t, "length", resp.Choices[0].StopReason, c.name)
	}
}

func TestNativeCallWithoutArguments(t *testing.T) {
	t.Parallel()
	r := nativeRig(t, "call", func(string, bool) (llama.ChatReply, error) { return replyWith("", [2]string{"f", ""}), nil })
	resp, err := r.GenerateContent(t.Context(), user("hi"), llms.WithTools([]llms.Tool{tool("f", nil)}))
	require.NoError(t, err)
	require.Equal(t, "tool_calls", resp.Choices[0].StopReason)
	require.Equal(t, "{}", resp.Choices[0].FuncCall.Arguments)
	require.True(t, r.Info().NativeTools)
}

func TestReplyThatBreaksItsFormatIsText(t *testing.T) {
	t.Parallel()
	r := nativeRig(t, "<tool_call>nonsense", func(string, bool) (llama.ChatReply, error) { return llama.ChatReply{}, errFake })
	streamed := ""
	resp, err := r.GenerateContent(t.Context(), user("hi"), llms.WithTools([]llms.Tool{tool("f", nil)}),
		llms.WithStreamingFunc(func(_ context.Context, b []byte) error { streamed += string(b); return nil }))
	require.NoError(t, err)
	require.Equal(t, "<tool_call>nonsense", resp.Choices[0].Content)
	require.Equal(t, resp.Choices[0].Content, streamed)
}

func TestReasoningIsStreamedApart(t *testing.T) {
	t.Parallel()
	r := nativeRig(t, "think/answer", func(text string, _ bool) (llama.ChatReply, error) {
		thought, content, _ := strings.Cut(text, "/")
		return llama.ChatReply{Reasoning: thought, Content: content}, nil
	})
	var thought, content string
	resp, err := r.GenerateContent(t.Context(), user("hi"), llms.WithTools([]llms.Tool{tool("f", nil)}),
		llms.WithStreamingReasoningFunc(func(_ context.Context, a, b []byte) error {
			thought += string(a)
			content += string(b)
			return nil
		}))
	require.NoError(t, err)
	require.Equal(t, []string{"think", "answer"}, []string{thought, content})
	require.Equal(t, []string{"think", "answer"}, []string{resp.Choices[0].ReasoningContent, resp.Choices[0].Content})
}
