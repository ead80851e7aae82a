package engine

import (
	"time"

	"github.com/tmc/langchaingo/llms"
)

// Usage is what one call cost. Tokens are the model's; PromptTokens = CachedTokens + EvaluatedTokens unless the call
// ended during its prefill.
type Usage struct {
	PromptTokens     int           // of the rendered prompt
	CachedTokens     int           // of these, not computed by this call
	RestoredTokens   int           // of the cached ones, read from the KV store on disk
	EvaluatedTokens  int           // of these, computed by this call
	CompletionTokens int           // of the reply, without the end-of-generation token
	ForcedTokens     int           // of these, put into the reply without sampling
	DraftedTokens    int           // guessed ahead
	AcceptedTokens   int           // guessed ahead and right
	Queue            time.Duration // from the call to its first batch
	Prefill          time.Duration // from then to the first token's logits
	Decode           time.Duration // from then to the end
	TTFT             time.Duration // from the call to the first sampled token
}

// Add sums two usages; the times too.
func (u Usage) Add(v Usage) Usage {
	u.PromptTokens += v.PromptTokens
	u.CachedTokens += v.CachedTokens
	u.RestoredTokens += v.RestoredTokens
	u.EvaluatedTokens += v.EvaluatedTokens
	u.CompletionTokens += v.CompletionTokens
	u.ForcedTokens += v.ForcedTokens
	u.DraftedTokens += v.DraftedTokens
	u.AcceptedTokens += v.AcceptedTokens
	u.Queue += v.Queue
	u.Prefill += v.Prefill
	u.Decode += v.Decode
	u.TTFT += v.TTFT
	return u
}

// Keys of GenerationInfo. The first four are those that langchaingo's OpenAI client uses.
const (
	keyPrompt     = "PromptTokens"
	keyCompletion = "CompletionTokens"
	keyTotal      = "TotalTokens"
	keyCached     = "PromptCachedTokens"
	keyUsage      = "Usage"
)

func (u Usage) info() map[string]any {
	return map[string]any{
		keyPrompt: u.PromptTokens, keyCompletion: u.CompletionTokens, keyTotal: u.PromptTokens + u.CompletionTokens,
		keyCached: u.CachedTokens, keyUsage: u,
	}
}

// UsageOf reads the usage of a response, of this engine or of another llms.Model that fills in GenerationInfo as
// langchaingo's OpenAI client does; what a model doesn't tell is 0.
func UsageOf(r *llms.ContentResponse) Usage {
	if r == nil || len(r.Choices) == 0 {
		return Usage{}
	}
	info := r.Choices[0].GenerationInfo
	if u, ok := info[keyUsage].(Usage); ok {
		return u
	}
	u := Usage{PromptTokens: intOf(info[keyPrompt]), CachedTokens: intOf(info[keyCached]), CompletionTokens: intOf(info[keyCompletion])}
	u.EvaluatedTokens = u.PromptTokens - u.CachedTokens
	return u
}

func intOf(v any) int {
	switch n := v.(type) {
	case int:
		return n
	case int64:
		return int(n)
	case float64:
		return int(n)
	}
	return 0
}
