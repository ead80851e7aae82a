//go:build cgo && !nollama

package engine

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/llama-agent/llama-agent/internal/testmodel"
	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/llms"
)

func weatherAndSum() []llms.Tool {
	object := func(s string) any { return json.RawMessage(s) }
	return []llms.Tool{
		tool("get_weather", object(`{"type":"object","properties":{"city":{"type":"string","maxLength":20}},"required":["city"],"additionalProperties":false}`)),
		tool("add", object(`{"type":"object","properties":{"a":{"type":"integer","minimum":0,"maximum":99},"b":{"type":"integer","minimum":0,"maximum":99}},"required":["a","b"],"additionalProperties":false}`)),
	}
}

// checkCall checks a call against the tools that were offered.
func checkCall(t *testing.T, c *llms.ContentChoice) {
	t.Helper()
	require.NotEmpty(t, c.ToolCalls, c.Content)
	require.Equal(t, "tool_calls", c.StopReason)
	require.Equal(t, c.ToolCalls[0].FunctionCall, c.FuncCall)
	for _, call := range c.ToolCalls {
		require.NotEmpty(t, call.ID)
		require.Contains(t, []string{"get_weather", "add"}, call.FunctionCall.Name)
		var args map[string]any
		require.NoError(t, json.Unmarshal([]byte(call.FunctionCall.Arguments), &args), call.FunctionCall.Arguments)
		keys := map[string]int{"get_weather": 1, "add": 2}[call.FunctionCall.Name]
		require.Len(t, args, keys, call.FunctionCall.Arguments)
	}
}

func TestRealTools(t *testing.T) {
	for _, c := range []struct{ name, model, format string }{
		{"structured", testmodel.Tiny, "auto"}, // its template has no tools
		{"native", testmodel.Small, "native"},
		{"structured although native", testmodel.Small, "structured"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := open(t, c.model, func(cfg *Config) { cfg.ToolFormat, cfg.MaxTokens = c.format, 80 })
			tools := llms.WithTools(weatherAndSum())
			ask := user("What is the weather in Oslo?")

			required := say(t, e, ask, tools, llms.WithToolChoice("required"))
			checkCall(t, required)
			require.Equal(t, required.FuncCall, say(t, e, ask, tools, llms.WithToolChoice("required")).FuncCall, "the same at temperature 0")

			named := say(t, e, ask, tools, llms.WithToolChoice(llms.ToolChoice{Type: "function", Function: &llms.FunctionReference{Name: "add"}}))
			checkCall(t, named)
			require.Equal(t, "add", named.FuncCall.Name)

			none := say(t, e, ask, tools, llms.WithToolChoice("none"), llms.WithMaxTokens(5))
			require.Empty(t, none.ToolCalls)
			require.NotEmpty(t, none.Content)

			var streamed strings.Builder
			auto := say(t, e, user("Say hello."), tools, collect(&streamed), llms.WithMaxTokens(40))
			require.Equal(t, auto.Content, streamed.String(), "content is streamed whole, calls are not")
			if len(auto.ToolCalls) > 0 {
				checkCall(t, auto)
			}

			// A reply that the limit cuts is no call, wherever that is.
			full := usage(required).CompletionTokens
			for n := 1; n < full; n += 1 + full/6 {
				cut := say(t, e, ask, tools, llms.WithToolChoice("required"), llms.WithMaxTokens(n))
				require.Equal(t, finishLength, cut.StopReason)
				for _, call := range cut.ToolCalls { // whole, with only the end mark cut
					require.Equal(t, required.FuncCall, call.FunctionCall)
				}
			}

			// The call and its result go back into a prompt.
			back := append(ask, llms.MessageContent{Role: llms.ChatMessageTypeAI, Parts: []llms.ContentPart{required.ToolCalls[0]}},
				llms.MessageContent{Role: llms.ChatMessageTypeTool, Parts: []llms.ContentPart{llms.ToolCallResponse{
					ToolCallID: required.ToolCalls[0].ID, Name: required.FuncCall.Name, Content: "Snow, -7 degrees"}}})
			n, err := e.CountTokens(t.Context(), back, tools)
			require.NoError(t, err)
			reply := say(t, e, back, tools, llms.WithMaxTokens(8))
			require.Equal(t, n, usage(reply).PromptTokens)
			require.Greater(t, usage(reply).CachedTokens, usage(required).PromptTokens/2)
		})
	}
}

// The native format of a template that has none is another one, not a reply that ignores the tools.
func TestRealNativeFormatWithoutTemplateSupport(t *testing.T) {
	var log logged
	e := open(t, testmodel.Tiny, func(c *Config) { c.ToolFormat, c.MaxTokens, c.Logger = "native", 80, log.logger() })
	for range 2 {
		checkCall(t, say(t, e, user("What is 3 plus 4?"), llms.WithTools(weatherAndSum()), llms.WithToolChoice("required")))
	}
	require.Equal(t, 1, strings.Count(log.String(), "no format for tools"))
}

func TestRealStarterCallsATool(t *testing.T) {
	e := open(t, testmodel.Starter, func(c *Config) { c.MaxTokens = 60 })
	require.True(t, e.Info().NativeTools)
	require.Contains(t, controlSpellings(e.model), "<|im_end|>")
	c := say(t, e, user("What is the weather in Oslo?"), llms.WithTools(weatherAndSum()), llms.WithToolChoice("required"))
	checkCall(t, c)
	require.Equal(t, "get_weather", c.FuncCall.Name)
	require.JSONEq(t, `{"city":"Oslo"}`, c.FuncCall.Arguments)
}

func TestRealToolsThatCannotBeOffered(t *testing.T) {
	for _, format := range []string{"structured", "native"} {
		e := open(t, testmodel.Small, func(c *Config) { c.ToolFormat = format })
		for _, bad := range []string{`{"type":"nosuch"}`, `{"type":"object","properties":{"a":{"$ref":"#/gone"}}}`, strings.Repeat(`{"items":`, 5000) + `{}` + strings.Repeat(`}`, 5000)} {
			_, err := e.GenerateContent(t.Context(), user("hi"), llms.WithTools([]llms.Tool{tool("f", json.RawMessage(bad))}), llms.WithToolChoice("required"))
			require.Error(t, err, "%s %.60s", format, bad)
		}
		require.NotEmpty(t, say(t, e, user("hi"), llms.WithMaxTokens(3)).Content)
	}
}
