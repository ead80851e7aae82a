package main

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/tmc/langchaingo/llms"
)

// scripted stands in for a model. Like one it knows nothing but its prompt: the facts in the system message and the messages
// of the conversation. It streams its answer word by word.
type scripted struct{}

var _ llms.Model = scripted{}

// GenerateContent implements [llms.Model].
func (scripted) GenerateContent(ctx context.Context, prompt []llms.MessageContent, opts ...llms.CallOption) (*llms.ContentResponse, error) {
	var o llms.CallOptions
	for _, opt := range opts {
		opt(&o)
	}
	text := reply(prompt)
	for _, word := range strings.SplitAfter(text, " ") {
		if o.StreamingFunc == nil {
			break
		}
		if err := o.StreamingFunc(ctx, []byte(word)); err != nil {
			return nil, err
		}
	}
	return &llms.ContentResponse{Choices: []*llms.ContentChoice{{Content: text}}}, nil
}

// Call implements [llms.Model].
func (m scripted) Call(ctx context.Context, prompt string, opts ...llms.CallOption) (string, error) {
	return llms.GenerateFromSinglePrompt(ctx, m, prompt, opts...)
}

var (
	asksFact  = regexp.MustCompile(`(?i)\bmy ([\pL ]+)\?`)
	asksFirst = regexp.MustCompile(`(?i)\bsa(id|y)\b.*\?`)
)

func reply(prompt []llms.MessageContent) string {
	facts := textOf(prompt[0])
	var said []string
	for _, m := range prompt[1:] {
		if m.Role == llms.ChatMessageTypeHuman {
			said = append(said, textOf(m))
		}
	}
	last := said[len(said)-1]
	if m := asksFact.FindStringSubmatch(last); m != nil {
		for line := range strings.Lines(facts) {
			if strings.HasPrefix(strings.ToLower(line), "your "+strings.ToLower(m[1])+" is ") {
				return strings.TrimSpace(line)
			}
		}
		return fmt.Sprintf("You haven't told me your %s.", m[1])
	}
	if asksFirst.MatchString(last) && len(said) > 1 {
		return fmt.Sprintf("You began with %q.", said[0])
	}
	return fmt.Sprintf("I see. That was your message %d here.", len(said))
}

func textOf(m llms.MessageContent) string {
	var text strings.Builder
	for _, part := range m.Parts {
		if t, ok := part.(llms.TextContent); ok {
			text.WriteString(t.Text)
		}
	}
	return text.String()
}
