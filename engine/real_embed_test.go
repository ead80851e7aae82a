//go:build cgo && !nollama

package engine

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/llama-agent/llama-agent/internal/testgguf"
	"github.com/llama-agent/llama-agent/internal/testmodel"
	"github.com/stretchr/testify/require"
)

// openEmbedder starts an embedder with a real model, closed at the end of the test.
func openEmbedder(t testing.TB, c EmbedConfig) *Embedder {
	t.Helper()
	c.Threads = 1
	e, err := OpenEmbedder(t.Context(), c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

func embed(t testing.TB, e *Embedder, texts ...string) [][]float32 {
	t.Helper()
	v, err := e.Embed(t.Context(), texts)
	require.NoError(t, err)
	require.Len(t, v, len(texts))
	for _, x := range v {
		require.Len(t, x, e.Dimensions())
	}
	return v
}

// cosine is the similarity of two vectors.
func cosine(v, w []float32) float64 {
	var product, lv, lw float64
	for i := range v {
		product += float64(v[i]) * float64(w[i])
		lv += float64(v[i]) * float64(v[i])
		lw += float64(w[i]) * float64(w[i])
	}
	return product / math.Sqrt(lv*lw)
}

func length(v []float32) float64 {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	return math.Sqrt(sum)
}

// sentences are pairs about the same matter.
var sentences = []string{
	"The cat sleeps on the warm sofa.", "A kitten is sleeping on the couch.",
	"The central bank raised its interest rates.", "Interest rates were increased by the central bank.",
	"How do I install this package with pip?", "Which command installs a Python package?",
}

func TestRealEmbeddings(t *testing.T) {
	e := openEmbedder(t, EmbedConfig{ModelPath: testmodel.Path(t, testmodel.Tiny)})
	require.Equal(t, 576, e.Dimensions())
	together := embed(t, e, append(slices.Clone(sentences), "")...)
	for i := range sentences {
		require.InDelta(t, 1, length(together[i]), 1e-5)
		partner := cosine(together[i], together[i^1])
		for j := range sentences {
			if j/2 != i/2 {
				require.Greater(t, partner, cosine(together[i], together[j]), "%q is nearer to %q than to %q", sentences[i], sentences[i^1], sentences[j])
			}
		}
		alone := embed(t, e, sentences[i])
		require.Greater(t, cosine(together[i], alone[0]), 0.999, sentences[i])
	}
	require.Zero(t, length(together[len(sentences)]), "an empty text")

	// Texts of one batch know nothing of each other, and nothing of an earlier batch stays.
	require.Equal(t, together, embed(t, e, append(slices.Clone(sentences), "")...))
}

func TestRealEmbeddingPooling(t *testing.T) {
	path := testmodel.Path(t, testmodel.Tiny)
	var got [][]float32
	for _, p := range []string{"auto", "mean", "last", "cls"} {
		got = append(got, embed(t, openEmbedder(t, EmbedConfig{ModelPath: path, Pooling: p, Unnormalized: true}), sentences[0])[0])
	}
	require.Equal(t, got[0], got[1], "the model says nothing")
	require.Less(t, cosine(got[1], got[2]), 0.99)
	require.Less(t, cosine(got[2], got[3]), 0.99)
	require.Greater(t, math.Abs(length(got[0])-1), 0.1, "not normalized")
}

func TestRealEmbeddingLimits(t *testing.T) {
	path := testmodel.Path(t, testmodel.Tiny)
	long := strings.Repeat("owl ", 100)
	e := openEmbedder(t, EmbedConfig{ModelPath: path, ContextSize: 40, BatchSize: 64})
	_, err := e.Embed(t.Context(), []string{"owl", long})
	var tooLong *TextTooLongError
	require.ErrorAs(t, err, &tooLong)
	require.Equal(t, 1, tooLong.Index)
	require.Equal(t, 40, tooLong.Limit)
	require.Greater(t, tooLong.Tokens, 90)
	embed(t, e, slices.Repeat([]string{strings.Repeat("owl ", 30)}, 5)...) // several batches

	cut := openEmbedder(t, EmbedConfig{ModelPath: path, ContextSize: 40, Truncate: true})
	v := embed(t, cut, long, long+"and more of it")
	require.Greater(t, cosine(v[0], v[1]), 0.9999)
}

func TestRealEmbeddingCancelAndClose(t *testing.T) {
	e := openEmbedder(t, EmbedConfig{ModelPath: testmodel.Path(t, testmodel.Tiny)})
	want := embed(t, e, sentences[0])
	many := slices.Repeat([]string{strings.Repeat("The owl sat in the oak. ", 60)}, 200)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := e.Embed(ctx, many)
		ended <- err
	}()
	embed(t, e, "waits for a batch of the other call")
	cancel()
	require.ErrorIs(t, await(t, ended, "end of the cancelled call"), context.Canceled)
	require.Equal(t, want, embed(t, e, sentences[0]))

	var wg sync.WaitGroup
	started := make(chan struct{}, 3)
	for range 3 {
		wg.Go(func() {
			started <- struct{}{}
			if _, err := e.Embed(context.Background(), many); err == nil {
				t.Error("200 long texts were embedded at once")
			} else {
				require.ErrorIs(t, err, ErrClosed)
			}
		})
	}
	await(t, started, "call")
	require.NoError(t, e.Close())
	wg.Wait()
	_, err := e.Embed(t.Context(), []string{"a"})
	require.ErrorIs(t, err, ErrClosed)
}

// An encoder sees all of a text at once, so what follows a word changes its vector. It has no memory, and its positions end
// at its context.
func TestRealEncoder(t *testing.T) {
	path := testgguf.BERT().Write(t, "bert.gguf")
	e := openEmbedder(t, EmbedConfig{ModelPath: path})
	require.Equal(t, 32, e.Dimensions())
	texts := []string{"owl", "the owl sat in the old oak", "the owl sat in the old river", "", "boy", "the old owl sat in the oak"}
	together := embed(t, e, texts...)
	for i, text := range texts {
		alone := embed(t, e, text)[0]
		if text == "" {
			require.Zero(t, length(together[i]))
			continue
		}
		require.InDelta(t, 1, length(together[i]), 1e-5)
		require.Greater(t, cosine(together[i], alone), 0.99999, text)
	}
	require.Less(t, cosine(together[1], together[2]), 0.9999, "the last word reaches the first token, which is pooled")
	require.Less(t, cosine(together[1], together[5]), 0.9999, "so do positions")

	mean := embed(t, openEmbedder(t, EmbedConfig{ModelPath: path, Pooling: "mean"}), texts[1])[0]
	require.Less(t, cosine(together[1], mean), 0.999, "the model says cls")

	// More than a batch, and texts as long as there are positions.
	longest := strings.TrimSpace(strings.Repeat("owl ", 62))
	v := embed(t, e, slices.Repeat([]string{longest}, 100)...)
	require.Greater(t, cosine(v[0], v[99]), 0.99999)
	for _, size := range []int{0, 64, 4096} {
		_, err := openEmbedder(t, EmbedConfig{ModelPath: path, ContextSize: size}).Embed(t.Context(), []string{longest + " owl"})
		var long *TextTooLongError
		require.ErrorAs(t, err, &long)
		require.Equal(t, TextTooLongError{Index: 0, Tokens: 65, Limit: 64}, *long)
	}
	cut := openEmbedder(t, EmbedConfig{ModelPath: path, Truncate: true})
	require.Greater(t, cosine(embed(t, cut, longest+" owl river boy")[0], v[0]), 0.99999)

	// Engine.Open says what it is.
	_, err := Open(t.Context(), Config{ModelPath: path})
	require.ErrorContains(t, err, "embedding model")
}

func TestRealEmbeddingFiles(t *testing.T) {
	bert := testgguf.BERT()
	bert.Pairs["bert.pooling_type"] = uint32(4)
	ranking := bert.Write(t, "rank.gguf")
	whole := testgguf.BERT().Bytes()
	cut := filepath.Join(t.TempDir(), "cut.gguf")
	require.NoError(t, os.WriteFile(cut, whole[:len(whole)-5000], 0o600))
	incomplete := testgguf.BERT()
	incomplete.Tensors = slices.DeleteFunc(incomplete.Tensors, func(t testgguf.Tensor) bool { return t.Name == "position_embd.weight" })
	for path, reason := range map[string]string{
		ranking: "ranking model", cut: "truncated", filepath.Join(t.TempDir(), "no.gguf"): "does not exist", incomplete.Write(t, "m.gguf"): "could not load",
	} {
		_, err := OpenEmbedder(t.Context(), EmbedConfig{ModelPath: path})
		var fe *ModelFileError
		require.ErrorAs(t, err, &fe, reason)
		require.Equal(t, path, fe.Path)
		require.ErrorContains(t, err, reason)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := OpenEmbedder(ctx, EmbedConfig{ModelPath: testgguf.BERT().Write(t, "m.gguf")})
	require.ErrorIs(t, err, context.Canceled)
}
