package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/llama-agent/llama-agent/engine/llama"
	"github.com/tmc/langchaingo/llms"
)

// chatMessages turns langchaingo's messages into the template's.
func chatMessages(messages []llms.MessageContent) ([]llama.ChatMessage, error) {
	if len(messages) == 0 {
		return nil, errors.New("engine: a call without messages")
	}
	var out []llama.ChatMessage
	for i, m := range messages {
		role, err := roleOf(m.Role)
		if err != nil {
			return nil, fmt.Errorf("engine: message %d: %w", i, err)
		}
		msg := llama.ChatMessage{Role: role}
		var text []string
		for _, part := range m.Parts {
			switch p := part.(type) {
			case llms.TextContent:
				text = append(text, p.Text)
			case llms.ToolCall:
				if p.FunctionCall == nil {
					return nil, fmt.Errorf("engine: message %d: a tool call without a function", i)
				}
				msg.ToolCalls = append(msg.ToolCalls, llama.ChatToolCall{
					ID: p.ID, Type: "function",
					Function: llama.ChatFunction{Name: p.FunctionCall.Name, Arguments: p.FunctionCall.Arguments},
				})
			case llms.ToolCallResponse:
				// One message a result, however many a message holds.
				out = append(out, llama.ChatMessage{Role: "tool", Content: p.Content, ToolCallID: p.ToolCallID, Name: p.Name})
			default:
				return nil, fmt.Errorf("engine: message %d: content of type %T is not supported, only text and tool calls", i, part)
			}
		}
		msg.Content = strings.Join(text, "\n")
		if msg.Role == "tool" && len(text) == 0 {
			continue
		}
		out = append(out, msg)
	}
	return out, nil
}

func roleOf(t llms.ChatMessageType) (string, error) {
	switch t {
	case llms.ChatMessageTypeSystem:
		return "system", nil
	case llms.ChatMessageTypeHuman, llms.ChatMessageTypeGeneric:
		return "user", nil
	case llms.ChatMessageTypeAI:
		return "assistant", nil
	case llms.ChatMessageTypeTool, llms.ChatMessageTypeFunction:
		return "tool", nil
	}
	return "", fmt.Errorf("unknown role %q", t)
}

// rewrite is a change of a conversation for templates that cannot render it as it is.
type rewrite struct {
	name string
	fn   func([]llama.ChatMessage) []llama.ChatMessage
}

// rewrites, from the mildest to the strongest; each is tried on top of the ones before it.
var rewrites = []rewrite{
	{"tool messages become text", foldTools},
	{"neighbouring messages of one role become one", mergeTurns},
	{"the system text becomes part of the first user message", foldSystem},
}

// render applies the chat template and tokenises the result. A template that raises an error or loses a message gets a
// rewritten conversation; what was rewritten is logged once.
func (e *Engine) render(req llama.ChatRequest) (llama.ChatPrompt, []llama.Token, error) {
	esc := newEscaper(e.control, req)
	req = esc.request(req)
	p, err := e.renderChecked(req)
	var used []string
	for _, rw := range rewrites {
		if err == nil {
			break
		}
		used = append(used, rw.name)
		req.Messages = rw.fn(req.Messages)
		p, err = e.renderChecked(req)
	}
	if err != nil {
		return p, nil, fmt.Errorf("engine: the model's chat template cannot render this conversation: %w", err)
	}
	if len(used) > 0 {
		e.noteOnce("the chat template cannot render this conversation as it is: " + strings.Join(used, "; "))
	}
	tokens, err := e.tokenize(esc, p.Prompt)
	return p, tokens, err
}

// noteOnce logs a notice the first time it comes up.
func (e *Engine) noteOnce(text string) {
	if _, seen := e.noted.LoadOrStore(text, true); !seen {
		e.cfg.Logger.Warn(text, "model", e.cfg.ModelPath)
	}
}

var errLost = errors.New("it leaves out a message")

func (e *Engine) renderChecked(req llama.ChatRequest) (llama.ChatPrompt, error) {
	p, err := e.model.Render(req)
	if err != nil {
		return p, err
	}
	for _, m := range req.Messages {
		// Templates may strip the reasoning of an assistant's message, so only its calls are looked for.
		if m.Role != "assistant" && !strings.Contains(p.Prompt, strings.TrimSpace(m.Content)) {
			return p, fmt.Errorf("%w of role %s", errLost, m.Role)
		}
		for _, c := range m.ToolCalls {
			if !strings.Contains(p.Prompt, c.Function.Name) {
				return p, fmt.Errorf("%w with a call of %s", errLost, c.Function.Name)
			}
		}
	}
	return p, nil
}

// foldTools writes calls and results as text.
func foldTools(messages []llama.ChatMessage) []llama.ChatMessage {
	out := slices.Clone(messages)
	for i, m := range out {
		if len(m.ToolCalls) > 0 {
			var b strings.Builder
			b.WriteString(m.Content)
			for _, c := range m.ToolCalls {
				if b.Len() > 0 {
					b.WriteByte('\n')
				}
				b.WriteString(structuredCall(c.Function.Name, c.Function.Arguments))
			}
			out[i].Content, out[i].ToolCalls = b.String(), nil
		}
		if m.Role == "tool" {
			out[i] = llama.ChatMessage{Role: "user", Content: "Result of " + m.Name + ":\n" + m.Content}
		}
	}
	return out
}

// mergeTurns joins neighbours of one role, for templates that demand alternation.
func mergeTurns(messages []llama.ChatMessage) []llama.ChatMessage {
	var out []llama.ChatMessage
	for _, m := range messages {
		if n := len(out); n > 0 && out[n-1].Role == m.Role && len(m.ToolCalls) == 0 && len(out[n-1].ToolCalls) == 0 && m.Role != "tool" {
			out[n-1].Content += "\n\n" + m.Content
			continue
		}
		out = append(out, m)
	}
	return out
}

// foldSystem moves system text into the first user message.
func foldSystem(messages []llama.ChatMessage) []llama.ChatMessage {
	var system []string
	var out []llama.ChatMessage
	for _, m := range messages {
		if m.Role == "system" {
			system = append(system, m.Content)
			continue
		}
		out = append(out, m)
	}
	if len(system) == 0 {
		return messages
	}
	text := strings.Join(system, "\n\n")
	for i := range out {
		if out[i].Role == "user" {
			out[i].Content = text + "\n\n" + out[i].Content
			return out
		}
	}
	return append([]llama.ChatMessage{{Role: "user", Content: text}}, out...)
}

// escaper keeps text from becoming control tokens. Each spelling of a control token in a message is replaced by a mark
// before the template runs; after it, the text is cut at the marks and the spellings are tokenised as plain text. All
// other text is tokenised in one piece with its surroundings, as the model saw it in training.
type escaper struct {
	control []string
	mark    string // begins and ends a mark; occurs nowhere in the messages
	found   []string
}

// markRunes are private-use characters; one of their repetitions is free in any text.
const markRune = "\uE0F1"

func newEscaper(control []string, req llama.ChatRequest) *escaper {
	e := &escaper{control: control, mark: markRune}
	longest := 0
	eachText(&req, func(s string) string {
		longest = max(longest, longestRun(s, markRune))
		return s
	})
	e.mark = strings.Repeat(markRune, longest+1)
	return e
}

func longestRun(s, unit string) int {
	longest := 0
	for {
		i := strings.Index(s, unit)
		if i < 0 {
			return longest
		}
		n := 0
		for s = s[i:]; strings.HasPrefix(s, unit); s = s[len(unit):] {
			n++
		}
		longest = max(longest, n)
	}
}

// request returns a copy of the request with every text escaped.
func (e *escaper) request(req llama.ChatRequest) llama.ChatRequest {
	req.Messages = slices.Clone(req.Messages)
	for i := range req.Messages {
		req.Messages[i].ToolCalls = slices.Clone(req.Messages[i].ToolCalls)
	}
	req.Tools = slices.Clone(req.Tools)
	eachText(&req, e.escape)
	return req
}

// eachText maps every text of a request that can come from outside.
func eachText(req *llama.ChatRequest, fn func(string) string) {
	for i := range req.Messages {
		m := &req.Messages[i]
		m.Content = fn(m.Content)
		for j := range m.ToolCalls {
			m.ToolCalls[j].Function.Arguments = fn(m.ToolCalls[j].Function.Arguments)
		}
	}
	for i := range req.Tools {
		f := &req.Tools[i].Function
		f.Description = fn(f.Description)
	}
}

// escape replaces spellings of control tokens, the longest at each place first.
func (e *escaper) escape(s string) string {
	var b strings.Builder
	for {
		at, spelling := -1, ""
		for _, c := range e.control {
			i := strings.Index(s, c)
			if i >= 0 && (at < 0 || i < at || i == at && len(c) > len(spelling)) {
				at, spelling = i, c
			}
		}
		if at < 0 {
			if b.Len() == 0 {
				return s
			}
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:at])
		fmt.Fprintf(&b, "%s%d%s", e.mark, len(e.found), e.mark)
		e.found = append(e.found, spelling)
		s = s[at+len(spelling):]
	}
}

// tokenize cuts a rendered prompt at the marks and tokenises the parts, with exactly one BOS where the model wants it.
func (e *Engine) tokenize(esc *escaper, prompt string) ([]llama.Token, error) {
	info := e.model.Info()
	var tokens []llama.Token
	add := func(text string, parseSpecial bool) error {
		if text == "" {
			return nil
		}
		t, err := e.model.Tokenize(text, false, parseSpecial)
		tokens = append(tokens, t...)
		return err
	}
	for i := range esc.found {
		mark := fmt.Sprintf("%s%d%s", esc.mark, i, esc.mark)
		// A template may drop or repeat a text, so marks can be missing or out of order; what is left is found below.
		before, after, ok := strings.Cut(prompt, mark)
		if !ok {
			continue
		}
		if err := errors.Join(add(before, true), add(esc.found[i], false)); err != nil {
			return nil, err
		}
		prompt = after
	}
	if err := add(prompt, true); err != nil {
		return nil, err
	}
	if info.AddBOS && info.BOS >= 0 && (len(tokens) == 0 || tokens[0] != info.BOS) {
		tokens = append([]llama.Token{info.BOS}, tokens...)
	}
	for len(tokens) > 1 && info.BOS >= 0 && tokens[0] == info.BOS && tokens[1] == info.BOS {
		tokens = tokens[1:]
	}
	return tokens, nil
}
