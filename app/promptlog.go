package app

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/tmc/langchaingo/llms"
)

// withPromptLog makes a model log at level debug what it is asked and what it replies, whole, for whoever wants to know why it did
// something. At other levels it returns the model itself.
func withPromptLog(m llms.Model, log *slog.Logger) llms.Model {
	if !log.Enabled(context.Background(), slog.LevelDebug) {
		return m
	}
	return countedBy(m, loggedModel{m, log})
}

type loggedModel struct {
	llms.Model
	log *slog.Logger
}

func (m loggedModel) GenerateContent(ctx context.Context, messages []llms.MessageContent, options ...llms.CallOption) (*llms.ContentResponse, error) {
	r, err := m.Model.GenerateContent(ctx, messages, options...)
	reply := ""
	if r != nil && len(r.Choices) > 0 {
		reply = r.Choices[0].Content
	}
	m.log.DebugContext(ctx, "model call", "prompt", promptText(messages), "reply", reply, "error", err)
	return r, err
}

// promptText is a prompt for people, the role in a line before each message.
func promptText(messages []llms.MessageContent) string {
	var b strings.Builder
	for _, m := range messages {
		fmt.Fprintf(&b, "[%s]\n", m.Role)
		for _, part := range m.Parts {
			if text, ok := part.(llms.TextContent); ok {
				b.WriteString(text.Text)
			} else {
				fmt.Fprintf(&b, "(%T)", part)
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}
