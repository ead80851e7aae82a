//go:build cgo && !nollama

package llama

import (
	"slices"
	"testing"

	"github.com/llama-agent/llama-agent/internal/testgguf"
	"github.com/llama-agent/llama-agent/internal/testmodel"
	"github.com/stretchr/testify/require"
)

func embedding(t testing.TB, m *Model, p EmbeddingParams) *EmbeddingContext {
	t.Helper()
	p.Threads, p.FlashAttention = 1, -1
	c, err := NewEmbeddingContext(m, p)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// load reads a file of testgguf, freed at the end of the test.
func load(t testing.TB, f testgguf.File) *Model {
	t.Helper()
	Init(nil)
	m, err := LoadModel(t.Context(), f.Write(t, "m.gguf"), ModelParams{})
	require.NoError(t, err)
	t.Cleanup(m.Close)
	return m
}

// What llama.cpp would end the process for comes back as an error, and the context goes on.
func TestEmbedRefusesWhatWouldAbort(t *testing.T) {
	bert := load(t, testgguf.BERT())
	for name, m := range map[string]*Model{"decoder": model(t), "encoder": bert} {
		c := embedding(t, m, EmbeddingParams{Batch: 96, Texts: 4, Pooling: PoolMean})
		require.Equal(t, m.Info().Embedding, c.Dimensions())
		require.GreaterOrEqual(t, c.BatchSize(), 96)
		good := []Token{5, 6, 7}
		want, err := c.Embed([][]Token{good})
		require.NoError(t, err, name)
		for what, texts := range map[string][][]Token{
			"nothing": nil, "an empty text": {good, {}}, "more texts than sequences": slices.Repeat([][]Token{good}, 5),
			"a text longer than the batch": {slices.Repeat(good, 100)}, "more than a batch": slices.Repeat([][]Token{slices.Repeat(good, 20)}, 4),
			"a token that is none": {{5, 1 << 30}}, "a negative token": {{-1}},
		} {
			_, err := c.Embed(texts)
			require.ErrorIs(t, err, ErrBatch, "%s: %s", name, what)
		}
		_, err = c.Embed([][]Token{slices.Repeat(good, 30)}) // 90 tokens: the encoder has 64 positions
		require.Equal(t, name == "encoder", err != nil)
		again, err := c.Embed([][]Token{good})
		require.NoError(t, err)
		require.Equal(t, want, again, "nothing stays")

		c.Abort()
		_, err = c.Embed([][]Token{good})
		require.ErrorIs(t, err, ErrAborted)
		c.ResetAbort()
		again, err = c.Embed([][]Token{good})
		require.NoError(t, err)
		require.Equal(t, want, again)

		c.Close()
		c.Close()
		c.Abort()
		c.ResetAbort()
		_, err = c.Embed([][]Token{good})
		require.ErrorIs(t, err, ErrClosed)
	}
}

func TestEmbeddingContextParams(t *testing.T) {
	for _, p := range []EmbeddingParams{
		{Batch: 64, Texts: 4, Threads: 1}, {Batch: 64, Texts: 4, Threads: 1, Pooling: 4}, {Batch: 64, Texts: 0, Threads: 1, Pooling: PoolMean},
		{Batch: 64, Texts: 1000, Threads: 1, Pooling: PoolMean}, {Batch: 64, Texts: 4, Threads: 0, Pooling: PoolMean},
	} {
		_, err := NewEmbeddingContext(model(t), p)
		require.Error(t, err, "%+v", p)
	}
	small := embedding(t, model(t), EmbeddingParams{Batch: 1, Texts: 8, Pooling: PoolLast})
	_, err := small.Embed(slices.Repeat([][]Token{{5}}, 8))
	require.NoError(t, err, "room for one token of each text")
	_, err = NewEmbeddingContext(&Model{}, EmbeddingParams{Batch: 64, Texts: 4, Threads: 1, Pooling: PoolMean})
	require.ErrorIs(t, err, ErrClosed)
}

func TestAdapter(t *testing.T) {
	m, err := LoadModel(t.Context(), testmodel.Path(t, testmodel.Tiny), ModelParams{})
	require.NoError(t, err)
	t.Cleanup(m.Close)
	pirate := testgguf.LoRA("llama", 4, 0.5, map[string][2]int{"blk.0.attn_q.weight": {576, 576}, "blk.2.ffn_down.weight": {1536, 576}})
	a, err := m.LoadAdapter(pirate.Write(t, "pirate.gguf"))
	require.NoError(t, err)
	for _, wrong := range []testgguf.File{
		testgguf.BERT(), testgguf.LoRA("qwen2", 4, 0.5, nil), testgguf.LoRA("llama", 4, 0.5, map[string][2]int{"blk.0.attn_q.weight": {575, 576}}),
	} {
		_, err := m.LoadAdapter(wrong.Write(t, "wrong.gguf"))
		require.ErrorContains(t, err, "loading the LoRA adapter")
	}
	_, err = m.LoadAdapter("no such file.gguf")
	require.ErrorContains(t, err, "no such file.gguf")
	_, err = (&Model{}).LoadAdapter("a.gguf")
	require.ErrorIs(t, err, ErrClosed)

	text := tokens(t, m, passage)
	logits := func(adapters []*Adapter, scales []float32) []float32 {
		c := newContext(t, m, ContextParams{})
		require.NoError(t, c.SetAdapters(adapters, scales))
		return feed(t, c, m, 0, 0, text, 64)
	}
	base := logits(nil, nil)
	require.Equal(t, base, logits([]*Adapter{a}, []float32{0}))
	require.NotEqual(t, base, logits([]*Adapter{a}, []float32{1}))

	c := newContext(t, m, ContextParams{})
	require.NoError(t, c.SetAdapters([]*Adapter{a}, []float32{1}))
	require.NoError(t, c.SetAdapters(nil, nil))
	require.Equal(t, base, feed(t, c, m, 0, 0, text, 64), "taken off again")
	require.ErrorContains(t, c.SetAdapters([]*Adapter{a}, nil), "1 adapters and 0 scales")
	c.Close()
	require.Error(t, c.SetAdapters([]*Adapter{a}, []float32{1}))
}
