package app

import (
	"context"

	"github.com/tmc/langchaingo/llms"
)

// withThinking makes every call of a model tell what it thinks before it replies, piece by piece. Without tell it returns the model
// itself; a model that does not know the option ignores it.
func withThinking(m llms.Model, tell func(text string)) llms.Model {
	if tell == nil {
		return m
	}
	return countedBy(m, thinkingModel{m, tell})
}

type thinkingModel struct {
	llms.Model
	tell func(text string)
}

func (m thinkingModel) GenerateContent(ctx context.Context, messages []llms.MessageContent, options ...llms.CallOption) (*llms.ContentResponse, error) {
	var asked llms.CallOptions
	for _, option := range options {
		option(&asked)
	}
	thinking := llms.WithStreamingReasoningFunc(func(ctx context.Context, thought, content []byte) error {
		if len(thought) > 0 {
			m.tell(string(thought))
		}
		if asked.StreamingReasoningFunc != nil {
			return asked.StreamingReasoningFunc(ctx, thought, content)
		}
		return nil
	})
	return m.Model.GenerateContent(ctx, messages, append(options[:len(options):len(options)], thinking)...)
}
