package agent_test

import (
	"context"
	"fmt"

	"github.com/tmc/langchaingo/llms"

	"github.com/llama-agent/llama-agent/agent"
	"github.com/llama-agent/llama-agent/tools"
)

// twoReplies is a model that plans one step without a tool and then answers.
type twoReplies struct{ n int }

func (m *twoReplies) GenerateContent(context.Context, []llms.MessageContent, ...llms.CallOption) (*llms.ContentResponse, error) {
	m.n++
	text := `{"steps":[{"file":"none","tool":"none","do":"add the numbers"}]}`
	if m.n == 2 {
		text = "17 + 25 = 42"
	}
	return &llms.ContentResponse{Choices: []*llms.ContentChoice{{Content: text, StopReason: "stop"}}}, nil
}

func (m *twoReplies) Call(ctx context.Context, prompt string, options ...llms.CallOption) (string, error) {
	return llms.GenerateFromSinglePrompt(ctx, m, prompt, options...)
}

func ExampleRunner_Run() {
	registry, err := tools.NewRegistry() // no tools
	if err != nil {
		fmt.Println(err)
		return
	}
	runner, err := agent.New(agent.Config{Model: &twoReplies{}, Tools: registry})
	if err != nil {
		fmt.Println(err)
		return
	}
	report, err := runner.Run(context.Background(), agent.Task{
		Goal: "What is 17 + 25?",
		Observe: func(e agent.Event) {
			if e, ok := e.(agent.NodeStarted); ok {
				fmt.Println(e.Node)
			}
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Status, report.Answer)
	// Output:
	// planner
	// executor
	// finalizer
	// done 17 + 25 = 42
}
