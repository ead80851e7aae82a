//go:build cgo && !nollama

package engine

import (
	"testing"
	"time"

	"github.com/llama-agent/llama-agent/internal/testmodel"
	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/llms"
)

// A text that is copied has large margins, which the rounding of larger batches does not reach.
func TestRealDrafts(t *testing.T) {
	const list = "reports/2024/quarter_1_summary.csv\nreports/2024/quarter_2_summary.csv\nreports/2024/quarter_3_summary.csv\nreports/2024/quarter_4_summary.csv\n"
	ask := user("Repeat these lines exactly, and nothing else:\n" + list)
	plain := open(t, testmodel.Small, func(c *Config) { c.MaxTokens = 80 })
	ahead := open(t, testmodel.Small, func(c *Config) { c.MaxTokens, c.Draft = 80, true })
	measured := ahead.sched.cost
	for _, temperature := range []float64{0, 0.3} {
		options := []llms.CallOption{llms.WithTemperature(temperature), llms.WithSeed(3)}
		want := say(t, plain, ask, options...)
		ahead.sched.cost = func(int) time.Duration { return time.Second } // whatever this machine says
		got := say(t, ahead, ask, options...)
		require.Equal(t, want.Content, got.Content)
		u := usage(got)
		t.Logf("%d tokens, %d of %d guesses right, decode %v instead of %v", u.CompletionTokens, u.AcceptedTokens, u.DraftedTokens, u.Decode, usage(want).Decode)
		require.Greater(t, u.AcceptedTokens, u.CompletionTokens/3)
		require.Equal(t, usage(want).CompletionTokens, u.CompletionTokens)

		ahead.sched.cost = measured
		got = say(t, ahead, ask, options...)
		u = usage(got)
		t.Logf("measured: %d tokens, %d of %d guesses right, decode %v", u.CompletionTokens, u.AcceptedTokens, u.DraftedTokens, u.Decode)
	}
}
