package engine

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/llama-agent/llama-agent/engine/llama"
	"github.com/tmc/langchaingo/llms"
)

// toolMode says how a call offers its tools.
type toolMode int

const (
	toolsNone       toolMode = iota
	toolsNative              // the template's own format
	toolsStructured          // listed in the system text, the reply is a JSON object
)

// nativeTools reports whether the chat template describes tools and renders calls by itself.
func (e *Engine) nativeTools() bool {
	return e.caps.Explicit && e.caps.Supports["supports_tools"] && e.caps.Supports["supports_tool_calls"]
}

// addTools puts the tools of a call into the request.
func (e *Engine) addTools(req *llama.ChatRequest, opts llms.CallOptions) (toolMode, error) {
	tools, choice, err := offeredTools(opts)
	if err != nil || len(tools) == 0 {
		return toolsNone, err
	}
	if req.Schema != nil {
		return toolsNone, fmt.Errorf("engine: a call has both tools and a schema for the reply; give one of them")
	}
	if e.cfg.ToolFormat == "native" && !e.nativeTools() {
		// llama.cpp would leave the tools out of the prompt and the reply unconstrained.
		e.noteOnce("the chat template has no format for tools; tool_format = structured is used")
	}
	if e.cfg.ToolFormat != "structured" && e.nativeTools() {
		req.Tools, req.ToolChoice = tools, choice
		return toolsNative, nil
	}
	req.Messages = append([]llama.ChatMessage{{Role: "system", Content: describeTools(tools, choice)}}, req.Messages...)
	req.Schema, err = structuredSchema(tools, choice)
	return toolsStructured, err
}

// freeText is the part of the root rule by which common lets a model write any text before a call that is required.
var freeText = regexp.MustCompile(`(?m)^(root ::= .*?)until-\d+\? (tool-calls?)$`)

// requireCall makes the reply begin with the call. Small models otherwise write the call as prose, never get to the real
// one and end at the token limit.
func requireCall(grammar string) string { return freeText.ReplaceAllString(grammar, "$1$2") }

// toolName keeps what a grammar, a template or a control token could read otherwise out of names.
var toolName = regexp.MustCompile(`^[\pL\pN_.:/-]{1,128}$`)

// offeredTools reads tools and choice; no tools come back when the choice is "none".
func offeredTools(opts llms.CallOptions) (tools []llama.ChatTool, choice string, err error) {
	choice, named := "auto", ""
	switch c := opts.ToolChoice.(type) {
	case nil:
	case string:
		if c != "" {
			choice = c
		}
	case llms.ToolChoice:
		if c.Function != nil {
			named = c.Function.Name
		}
	case *llms.ToolChoice:
		if c != nil && c.Function != nil {
			named = c.Function.Name
		}
	default:
		return nil, "", fmt.Errorf("engine: a tool choice of type %T; use a string or llms.ToolChoice", c)
	}
	switch choice {
	case "none":
		return nil, choice, nil
	case "auto", "required":
	default:
		named = choice
	}
	if named != "" {
		choice = "required"
	}
	var names []string
	for _, t := range opts.Tools {
		if t.Function == nil {
			return nil, "", fmt.Errorf("engine: a tool without a function")
		}
		if !toolName.MatchString(t.Function.Name) {
			return nil, "", fmt.Errorf("engine: tool name %q is not 1 to 128 letters, digits, '_', '-', '.', ':' or '/'", shorten(t.Function.Name, 150))
		}
		names = append(names, t.Function.Name)
		if named != "" && t.Function.Name != named {
			continue
		}
		params, err := json.Marshal(t.Function.Parameters)
		if err != nil {
			return nil, "", fmt.Errorf("engine: parameters of tool %s: %w", t.Function.Name, err)
		}
		if t.Function.Parameters == nil {
			params = []byte(`{"type":"object","properties":{},"additionalProperties":false}`)
		}
		ct := llama.ChatTool{Type: "function"}
		ct.Function.Name, ct.Function.Description, ct.Function.Parameters = t.Function.Name, t.Function.Description, params
		tools = append(tools, ct)
	}
	if named != "" && len(tools) == 0 {
		return nil, "", fmt.Errorf("engine: the tool choice names %q, which is not offered (offered: %s)", named, strings.Join(names, ", "))
	}
	return tools, choice, nil
}

// describeTools is the system text of the structured format.
func describeTools(tools []llama.ChatTool, choice string) string {
	var b strings.Builder
	b.WriteString("You can call these tools:\n")
	for _, t := range tools {
		fmt.Fprintf(&b, "- %s: %s\n  arguments: %s\n", t.Function.Name, t.Function.Description, t.Function.Parameters)
	}
	b.WriteString("Reply with one JSON object: {\"tool\": NAME, \"arguments\": {…}} to call a tool")
	if choice == "auto" {
		b.WriteString(", or {\"answer\": TEXT} to answer")
	}
	b.WriteString(".")
	return b.String()
}

// structuredSchema allows one call of one of the tools, or an answer when the choice is auto.
func structuredSchema(tools []llama.ChatTool, choice string) (json.RawMessage, error) {
	var variants []json.RawMessage
	for _, t := range tools {
		name, err := json.Marshal(t.Function.Name)
		if err != nil {
			return nil, err
		}
		variants = append(variants, json.RawMessage(fmt.Sprintf(
			`{"type":"object","properties":{"tool":{"const":%s},"arguments":%s},"required":["tool","arguments"],"additionalProperties":false}`,
			name, t.Function.Parameters)))
	}
	if choice == "auto" {
		variants = append(variants, json.RawMessage(fmt.Sprintf(
			`{"type":"object","properties":{"answer":{"type":"string","maxLength":%d}},"required":["answer"],"additionalProperties":false}`, maxStringRunes)))
	}
	return json.Marshal(map[string][]json.RawMessage{"anyOf": variants})
}

// structuredCall writes a call as the structured format does.
func structuredCall(name, arguments string) string {
	if !json.Valid([]byte(arguments)) {
		arguments = "{}"
	}
	n, _ := json.Marshal(name) // a string always encodes
	return fmt.Sprintf(`{"tool":%s,"arguments":%s}`, n, arguments)
}

// readStructured takes a reply in the structured format apart. A cut reply gives no call.
func readStructured(choice *llms.ContentChoice) {
	var reply struct {
		Tool      string          `json:"tool"`
		Arguments json.RawMessage `json:"arguments"`
		Answer    *string         `json:"answer"`
	}
	if json.Unmarshal([]byte(choice.Content), &reply) != nil {
		return
	}
	if reply.Answer != nil {
		choice.Content = *reply.Answer
		return
	}
	choice.Content = ""
	addCall(choice, "", reply.Tool, string(reply.Arguments), 0)
}

// addCall adds a tool call whose arguments are whole.
func addCall(choice *llms.ContentChoice, id, name, arguments string, index int) {
	if arguments == "" {
		arguments = "{}"
	}
	if name == "" || !json.Valid([]byte(arguments)) {
		return
	}
	if id == "" {
		id = fmt.Sprintf("call_%d", index+1)
	}
	choice.ToolCalls = append(choice.ToolCalls, llms.ToolCall{
		ID: id, Type: "function", FunctionCall: &llms.FunctionCall{Name: name, Arguments: arguments},
	})
}
