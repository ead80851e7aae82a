package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/llms"
)

func TestUsageOf(t *testing.T) {
	t.Parallel()
	full := Usage{PromptTokens: 10, CachedTokens: 7, EvaluatedTokens: 3, CompletionTokens: 4, TTFT: time.Second}
	for _, c := range []struct {
		name string
		info map[string]any
		want Usage
	}{
		{"of this engine", full.info(), full},
		{"of an OpenAI client", map[string]any{"PromptTokens": 10, "PromptCachedTokens": 4, "CompletionTokens": 2},
			Usage{PromptTokens: 10, CachedTokens: 4, EvaluatedTokens: 6, CompletionTokens: 2}},
		{"of a client with other numbers", map[string]any{"PromptTokens": int64(10), "CompletionTokens": 2.0},
			Usage{PromptTokens: 10, EvaluatedTokens: 10, CompletionTokens: 2}},
		{"of a client that tells nothing", map[string]any{"PromptTokens": "many"}, Usage{}},
		{"without any", nil, Usage{}},
	} {
		got := UsageOf(&llms.ContentResponse{Choices: []*llms.ContentChoice{{GenerationInfo: c.info}}})
		require.Equal(t, c.want, got, c.name)
	}
	require.Zero(t, UsageOf(nil))
	require.Zero(t, UsageOf(&llms.ContentResponse{}))
	require.Equal(t, 14, full.info()["TotalTokens"])
}

func TestUsageAdd(t *testing.T) {
	t.Parallel()
	u := Usage{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
	require.Equal(t, Usage{2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24}, u.Add(u))
	require.Equal(t, u, u.Add(Usage{}))
}
