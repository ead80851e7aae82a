package agent

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/tmc/langchaingo/llms"
)

// meter counts the tokens of messages for one model, whose template must stay the same. It is safe for concurrent use.
type meter struct {
	model llms.Model
	// frame is the count of the messages that stand around those that are counted, which are the same at each count: 0 until it is known.
	// Who counts it at the same time comes to the same number.
	frame atomic.Int64
}

// bytesPerToken is what tokenizers make of most texts at the least; for models that do not count.
const bytesPerToken = 3

// count returns how many tokens messages add to a prompt, by the model's own template and tokenizer when it tells, else an estimate that
// is rather too high. Each count is one rendering of the template, and the first one is two.
func (m *meter) count(ctx context.Context, messages []llms.MessageContent) int {
	if counter, ok := m.model.(tokenCounter); ok {
		if n, err := m.ask(ctx, counter, messages); err == nil {
			return n
		}
	}
	return (textBytes(messages) + bytesPerToken - 1) / bytesPerToken
}

// textBytes is how long the texts of messages are together.
func textBytes(messages []llms.MessageContent) int {
	n := 0
	for _, m := range messages {
		for _, part := range m.Parts {
			if text, ok := part.(llms.TextContent); ok {
				n += len(text.Text)
			}
		}
	}
	return n
}

// ask counts by the model.
func (m *meter) ask(ctx context.Context, counter tokenCounter, messages []llms.MessageContent) (int, error) {
	// A template may put more around the first message than around the others, so that a message before takes that.
	before := []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeSystem, "x"), llms.TextParts(llms.ChatMessageTypeHuman, "x"), llms.TextParts(llms.ChatMessageTypeAI, "x")}
	last := llms.TextParts(llms.ChatMessageTypeHuman, "x")
	with := slices.Concat(before, messages)
	closed := messages[len(messages)-1].Role == llms.ChatMessageTypeHuman
	if !closed {
		with = append(with, last)
	}
	n, err := counter.CountTokens(ctx, with)
	if err != nil {
		return 0, err
	}
	frame := m.frame.Load()
	if frame == 0 {
		counted, err := counter.CountTokens(ctx, append(before, last))
		if err != nil {
			return 0, err
		}
		frame = int64(counted)
		m.frame.Store(frame)
	}
	if closed {
		n++ // the x of the message in its place
	}
	return max(0, n-int(frame)), nil
}
