package engine

import (
	"cmp"
	"encoding/json"
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

var (
	rewriteTools  = rewrite{"tool messages become text", foldTools}
	rewriteTurns  = rewrite{"neighbouring messages of one role become one", mergeTurns}
	rewriteSystem = rewrite{"the system text becomes part of the first user message", foldSystem}
)

// rewritings are tried in order, those that change less first.
var rewritings = [][]rewrite{
	{},
	{rewriteTurns},
	{rewriteSystem},
	{rewriteSystem, rewriteTurns},
	{rewriteTools},
	{rewriteTools, rewriteTurns},
	{rewriteTools, rewriteSystem},
	{rewriteTools, rewriteSystem, rewriteTurns},
}

// render applies the chat template and tokenises the result. A template that raises an error or loses a message gets a
// rewritten conversation; what was rewritten is logged once.
func (e *Engine) render(req llama.ChatRequest) (llama.ChatPrompt, []llama.Token, error) {
	req = copyRequest(req)
	if !req.Thinking {
		req.Schema = nil // the template makes a grammar of it, which only replies with reasoning need; see constrain
	}
	esc := newEscaper(e.control, req)
	esc.request(&req)
	var first error
	for _, rewrites := range rewritings {
		try := req
		names := make([]string, 0, len(rewrites))
		for _, rw := range rewrites {
			try.Messages = rw.fn(try.Messages)
			names = append(names, rw.name)
		}
		p, err := e.renderChecked(try)
		if err != nil {
			first = cmp.Or(first, err)
			continue
		}
		if len(names) > 0 {
			e.noteOnce("the chat template cannot render this conversation as it is: " + strings.Join(names, "; "))
		}
		tokens, err := e.tokenize(esc, p.Prompt)
		return p, tokens, err
	}
	return llama.ChatPrompt{}, nil, fmt.Errorf("engine: the model's chat template cannot render this conversation: %w", first)
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
	return p, lostMessage(p.Prompt, req.Messages)
}

// lostMessage finds a message that a rendered prompt leaves out. A short text such as "4" may well be there by accident,
// so the texts have to come in order. Two things may be elsewhere: templates move the system text, and they strip the
// reasoning of an assistant's message, so only its calls are looked for.
func lostMessage(prompt string, messages []llama.ChatMessage) error {
	rest := prompt
	for _, m := range messages {
		switch text := strings.TrimSpace(m.Content); m.Role {
		case "assistant":
		case "system":
			if _, ok := cutAfter(prompt, text); !ok {
				return fmt.Errorf("%w of role system", errLost)
			}
		default:
			var ok bool
			if rest, ok = cutAfter(rest, text); !ok {
				return fmt.Errorf("%w of role %s", errLost, m.Role)
			}
		}
		for _, c := range m.ToolCalls {
			var ok bool
			if rest, ok = cutAfter(rest, c.Function.Name); !ok {
				return fmt.Errorf("%w with a call of %s", errLost, c.Function.Name)
			}
		}
	}
	return nil
}

// cutAfter returns what follows text in a prompt. Some templates write the results of tools as JSON strings.
func cutAfter(prompt, text string) (rest string, ok bool) {
	if _, rest, ok = strings.Cut(prompt, text); ok {
		return rest, true
	}
	var quoted strings.Builder
	enc := json.NewEncoder(&quoted)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(text); err != nil {
		return "", false
	}
	_, rest, ok = strings.Cut(prompt, strings.Trim(quoted.String(), "\"\n"))
	return rest, ok
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
			label := "Result:\n"
			if m.Name != "" {
				label = "Result of " + m.Name + ":\n"
			}
			out[i] = llama.ChatMessage{Role: "user", Content: label + m.Content}
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

// tokenize cuts a rendered prompt at the marks and tokenises the parts, with exactly one BOS where the model wants it.
func (e *Engine) tokenize(esc *escaper, prompt string) ([]llama.Token, error) {
	info := e.model.Info()
	var tokens []llama.Token
	for rest, more := prompt, true; more; {
		var before, spelling string
		before, spelling, rest, more = esc.next(rest)
		for i, text := range []string{before, spelling} {
			if text == "" {
				continue
			}
			t, err := e.model.Tokenize(text, false, i == 0)
			if err != nil {
				return nil, err
			}
			tokens = append(tokens, t...)
		}
	}
	if info.AddBOS && info.BOS >= 0 && (len(tokens) == 0 || tokens[0] != info.BOS) {
		tokens = append([]llama.Token{info.BOS}, tokens...)
	}
	for len(tokens) > 1 && info.BOS >= 0 && tokens[0] == info.BOS && tokens[1] == info.BOS {
		tokens = tokens[1:]
	}
	return tokens, nil
}
