//go:build cgo && !nollama

package engine

import (
	"context"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/llama-agent/llama-agent/engine/llama"
	"github.com/llama-agent/llama-agent/internal/testmodel"
	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/llms"
)

// open starts an engine with a real model, closed at the end of the test. One thread: with two, a busy machine makes
// each token wait for the other thread.
func open(t testing.TB, model string, adjust ...func(*Config)) *Engine {
	t.Helper()
	c := Config{ModelPath: testmodel.Path(t, model), ContextSize: 1024, Threads: 1, MaxTokens: 24}
	for _, f := range adjust {
		f(&c)
	}
	e, err := Open(t.Context(), c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

// say generates one reply.
func say(t testing.TB, e *Engine, messages []llms.MessageContent, options ...llms.CallOption) *llms.ContentChoice {
	t.Helper()
	resp, err := e.GenerateContent(t.Context(), messages, options...)
	require.NoError(t, err)
	require.Len(t, resp.Choices, 1)
	return resp.Choices[0]
}

func usage(c *llms.ContentChoice) Usage {
	return UsageOf(&llms.ContentResponse{Choices: []*llms.ContentChoice{c}})
}

// collect returns an option that streams into b.
func collect(b *strings.Builder) llms.CallOption {
	return llms.WithStreamingFunc(func(_ context.Context, chunk []byte) error { b.Write(chunk); return nil })
}

func TestRealStreamingEqualsFinalText(t *testing.T) {
	e := open(t, testmodel.Tiny)
	prompt := user("Repeat exactly: 🦙漢字é")
	var whole strings.Builder
	full := say(t, e, prompt, collect(&whole), llms.WithMaxTokens(12))
	require.NotEmpty(t, full.Content)
	require.Equal(t, full.Content, whole.String())
	for n := 1; n <= 12; n++ {
		var streamed strings.Builder
		c := say(t, e, prompt, collect(&streamed), llms.WithMaxTokens(n))
		require.Equal(t, c.Content, streamed.String())
		require.True(t, utf8.ValidString(c.Content))
		require.NotContains(t, c.Content, "\uFFFD")
		require.True(t, strings.HasPrefix(full.Content, c.Content), "%q is no start of %q", c.Content, full.Content)
		require.Equal(t, c.Content, say(t, e, prompt, llms.WithMaxTokens(n)).Content, "the same without streaming")
		if u := usage(c); c.StopReason == finishLength {
			require.Equal(t, n, u.CompletionTokens)
		} else {
			require.Less(t, u.CompletionTokens, n+1)
		}
	}
}

// Characters of several tokens, whatever the model would like to say: the grammar leaves it no choice.
func TestRealBrokenCharacters(t *testing.T) {
	e := open(t, testmodel.Tiny)
	schema := []byte(`{"type":"object","properties":{"s":{"const":"🦙漢字é"}},"required":["s"]}`)
	const want = `{"s":"🦙漢字é"}`
	tokens := usage(say(t, e, user("hi"), WithSchema(schema))).CompletionTokens
	require.Greater(t, tokens, 8, "the characters are cut into several tokens")
	for n := 1; n <= tokens; n++ {
		var streamed strings.Builder
		c := say(t, e, user("hi"), WithSchema(schema), collect(&streamed), llms.WithMaxTokens(n))
		require.Equal(t, c.Content, streamed.String())
		require.True(t, strings.HasPrefix(want, c.Content), "%q", c.Content)
		require.Equal(t, n == tokens, c.Content == want)
		require.Equal(t, map[bool]string{true: "stop", false: "length"}[n == tokens], c.StopReason)
	}
}

func TestRealSeedsAndStops(t *testing.T) {
	e := open(t, testmodel.Tiny)
	prompt := user("Write one sentence about the sea.")
	hot := []llms.CallOption{llms.WithTemperature(1.2), llms.WithTopP(0.95), llms.WithTopK(50), llms.WithSeed(7)}
	first := say(t, e, prompt, hot...)
	require.Equal(t, first.Content, say(t, e, prompt, hot...).Content, "the same seed")
	other := map[string]bool{}
	for seed := range 4 {
		other[say(t, e, prompt, append(hot, llms.WithSeed(100+seed))...).Content] = true
	}
	require.Greater(t, len(other), 1, "other seeds")
	random := map[string]bool{}
	for range 4 {
		random[say(t, e, prompt, append(hot, llms.WithSeed(-1-len(random)))...).Content] = true
	}
	require.Greater(t, len(random), 1, "a seed for each call")

	greedy := say(t, e, prompt)
	require.Equal(t, greedy.Content, say(t, e, prompt).Content)
	require.Greater(t, len(greedy.Content), 20)
	word := greedy.Content[8:12]
	before, _, _ := strings.Cut(greedy.Content, word)
	var streamed strings.Builder
	stopped := say(t, e, prompt, llms.WithStopWords([]string{"no such thing", word}), collect(&streamed))
	require.Equal(t, before, stopped.Content)
	require.Equal(t, before, streamed.String())
	require.Equal(t, finishStop, stopped.StopReason)
}

func TestRealRepeatPenaltyChangesTheText(t *testing.T) {
	e := open(t, testmodel.Tiny)
	prompt := user("Say the word owl ten times.")
	require.NotEqual(t, say(t, e, prompt).Content, say(t, e, prompt, llms.WithRepetitionPenalty(1.8)).Content)
}

func TestRealPrefixReuse(t *testing.T) {
	e := open(t, testmodel.Tiny)
	talk := []llms.MessageContent{
		llms.TextParts(llms.ChatMessageTypeSystem, "You answer shortly. "+strings.Repeat("The owl sat in the oak. ", 15)),
		llms.TextParts(llms.ChatMessageTypeHuman, "Who sat there?"),
	}
	one := say(t, e, talk)
	u1 := usage(one)
	require.Zero(t, u1.CachedTokens)
	require.Equal(t, u1.PromptTokens, u1.EvaluatedTokens)
	n, err := e.CountTokens(t.Context(), talk)
	require.NoError(t, err)
	require.Equal(t, u1.PromptTokens, n)

	talk = append(talk, llms.TextParts(llms.ChatMessageTypeAI, one.Content), llms.TextParts(llms.ChatMessageTypeHuman, "Where?"))
	two := say(t, e, talk)
	u2 := usage(two)
	require.GreaterOrEqual(t, u2.CachedTokens, u1.PromptTokens)
	require.Equal(t, u2.PromptTokens, u2.CachedTokens+u2.EvaluatedTokens)
	require.LessOrEqual(t, u2.EvaluatedTokens, u2.PromptTokens-u1.PromptTokens)

	again := say(t, e, talk)
	require.Equal(t, 1, usage(again).EvaluatedTokens)
	require.Positive(t, u1.TTFT)
	require.Positive(t, u1.Prefill)
	require.Positive(t, u1.Decode)

	// Beside a running call that holds the prefix.
	fresh := open(t, testmodel.Tiny)
	require.Equal(t, one.Content, say(t, fresh, talk[:2]).Content, "another engine says the same")
}

func TestRealParallelCalls(t *testing.T) {
	e := open(t, testmodel.Tiny, func(c *Config) { c.Parallel = 3 })
	questions := []string{"Name a colour.", "Name an animal.", "Name a city.", "Name a fruit.", "Name a river."}
	var wg sync.WaitGroup
	for _, q := range questions {
		for range 2 {
			wg.Go(func() {
				var streamed strings.Builder
				resp, err := e.GenerateContent(t.Context(), user(q), collect(&streamed), llms.WithMaxTokens(10))
				if err != nil || resp.Choices[0].Content != streamed.String() || streamed.Len() == 0 {
					t.Errorf("%s: %v, streamed %q", q, err, streamed.String())
				}
			})
		}
	}
	wg.Wait()
}

func TestRealCacheTypes(t *testing.T) {
	for _, c := range []Config{{KVCacheType: "q8_0"}, {KVCacheType: "f32"}, {FlashAttention: "off"}, {FlashAttention: "on", KVCacheType: "q4_0"}} {
		e := open(t, testmodel.Tiny, func(o *Config) { o.KVCacheType, o.FlashAttention, o.ContextSize = c.KVCacheType, c.FlashAttention, 256 })
		require.NotEmpty(t, say(t, e, user("Hi."), llms.WithMaxTokens(3)).Content)
	}
	_, err := Open(t.Context(), Config{ModelPath: testmodel.Path(t, testmodel.Tiny), ContextSize: 256, FlashAttention: "off", KVCacheType: "q4_0"})
	require.ErrorContains(t, err, "creating a context of 256 tokens", "a quantised cache needs flash attention")
}

func TestRealInfo(t *testing.T) {
	e := open(t, testmodel.Tiny, func(c *Config) { c.ContextSize = 0 })
	i := e.Info()
	require.Equal(t, []int{30, 3, 64, 8192}, []int{i.Layers, i.HeadsKV, i.HeadSize, i.ContextTrain})
	require.Equal(t, 8192, e.ContextSize(), "the model's own")
	require.True(t, i.ChatTemplate)
	require.InDelta(t, 135e6, float64(i.Parameters), 5e6)
	require.NotEmpty(t, Build().Version)
	require.Equal(t, llama.Backend, Build().Backend)
	text, err := e.Call(t.Context(), "Hi!", llms.WithMaxTokens(5))
	require.NoError(t, err)
	require.NotEmpty(t, text)
	require.Positive(t, e.Stats().CachedTokens)
	require.Equal(t, 8192, e.Stats().ContextSize)
}
