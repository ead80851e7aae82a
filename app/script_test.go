package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/llms"

	"github.com/llama-agent/llama-agent/config"
)

// scripted is a model that gives replies in order, and keeps what it was sent.
type scripted struct {
	t       *testing.T
	replies []scriptedReply
	prompts []string
	schemas []string
	missing error // the model cannot be loaded
}

type scriptedReply struct {
	text   string
	err    error
	during func()
}

// planned is a plan of steps "tool|file".
func planned(steps ...string) scriptedReply {
	list := []map[string]string{}
	for _, s := range steps {
		tool, file, _ := strings.Cut(s, "|")
		list = append(list, map[string]string{"file": file, "tool": tool, "do": "do it"})
	}
	text, err := json.Marshal(map[string]any{"steps": list})
	if err != nil {
		panic(err)
	}
	return scriptedReply{text: string(text)}
}

func says(text string) scriptedReply { return scriptedReply{text: text} }

// talk is a turn without a tool.
func talk(answer string) []scriptedReply { return []scriptedReply{planned("none|none"), says(answer)} }

func (m *scripted) say(replies ...scriptedReply) { m.replies = append(m.replies, replies...) }

func (m *scripted) GenerateContent(ctx context.Context, messages []llms.MessageContent, options ...llms.CallOption) (*llms.ContentResponse, error) {
	var o llms.CallOptions
	for _, option := range options {
		option(&o)
	}
	var prompt strings.Builder
	for _, message := range messages {
		fmt.Fprintf(&prompt, "--- %s ---\n", message.Role)
		for _, part := range message.Parts {
			prompt.WriteString(part.(llms.TextContent).Text + "\n")
		}
	}
	schema, _ := o.Metadata["json_schema"].(json.RawMessage)
	m.prompts, m.schemas = append(m.prompts, prompt.String()), append(m.schemas, string(schema))
	if len(m.replies) == 0 {
		m.t.Errorf("prompt %d is not in the script:\n%s", len(m.prompts), &prompt)
		return nil, errors.New("the script is over")
	}
	r := m.replies[0]
	m.replies = m.replies[1:]
	if r.during != nil {
		r.during()
	}
	if err := errors.Join(ctx.Err(), r.err); err != nil {
		return nil, err
	}
	return &llms.ContentResponse{Choices: []*llms.ContentChoice{{Content: r.text, StopReason: "stop"}}}, nil
}

func (m *scripted) Call(context.Context, string, ...llms.CallOption) (string, error) {
	return "", errors.ErrUnsupported
}

func (m *scripted) Close() error { return nil }

// last is the last prompt.
func (m *scripted) last() string { return m.prompts[len(m.prompts)-1] }

// first is the first prompt since the one numbered from.
func (m *scripted) since(from int) string { return strings.Join(m.prompts[from:], "\n=====\n") }

func openScripted(t *testing.T, c *config.Config, m *scripted) *App {
	t.Helper()
	a, err := Open(t.Context(), Options{Config: c, OpenModel: func(context.Context, *config.Config, *slog.Logger, func(float32)) (Model, error) {
		return m, m.missing
	}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.Close()) })
	return a
}

// turn does a turn that must end with this answer.
func turn(t *testing.T, a *App, m *scripted, task TurnTask, replies ...scriptedReply) *Report {
	t.Helper()
	m.say(replies...)
	report, err := a.Continue(t.Context(), task)
	require.NoError(t, err)
	require.Empty(t, m.replies, "replies that were not asked for")
	require.Equal(t, StatusDone, report.Status, "%v", report.Error)
	require.Equal(t, replies[len(replies)-1].text, report.Answer)
	return report
}
