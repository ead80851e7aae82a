package engine

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/llama-agent/llama-agent/engine/llama"
	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/embeddings"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

// fakeVectors gives each text the vector of its length and the sum of its tokens. Except for Abort only one goroutine at a
// time may use it, which the race detector checks.
type fakeVectors struct {
	room    int
	batches [][]int // texts' lengths
	aborted atomic.Bool
	abort   chan struct{} // is sent each Abort; nil: nothing
	before  func()        // of each Embed; nil: nothing
	err     error
	bad     bool // gives what is no number
}

func (v *fakeVectors) Dimensions() int { return 2 }
func (v *fakeVectors) BatchSize() int  { return v.room }
func (v *fakeVectors) ResetAbort()     { v.aborted.Store(false) }

func (v *fakeVectors) Abort() {
	v.aborted.Store(true)
	if v.abort != nil {
		v.abort <- struct{}{}
	}
}

func (v *fakeVectors) Embed(texts [][]llama.Token) ([][]float32, error) {
	var lengths []int
	var out [][]float32
	total := 0
	for _, t := range texts {
		sum := 0
		for _, x := range t {
			sum += int(x)
		}
		lengths, total = append(lengths, len(t)), total+len(t)
		out = append(out, []float32{float32(len(t)), float32(sum)})
	}
	if total > v.room || len(texts) > textsPerBatch || slices.Contains(lengths, 0) {
		return nil, fmt.Errorf("%w: %v", llama.ErrBatch, lengths)
	}
	v.batches = append(v.batches, lengths)
	if v.before != nil {
		v.before()
	}
	if v.aborted.Load() {
		return nil, llama.ErrAborted
	}
	if v.bad {
		out[0][0] = float32(math.NaN())
	}
	return out, v.err
}

// bracketing is a tokenizer of bytes that puts a control token before and behind each text.
type bracketing struct{ fakeModel }

func (m *bracketing) Tokenize(text string, addSpecial, parseSpecial bool) ([]llama.Token, error) {
	out, err := m.fakeModel.Tokenize(strings.TrimSpace(text), addSpecial, parseSpecial)
	return append(append([]llama.Token{fakeBOS}, out...), fakeEnd), err
}

func newFakeEmbedder(t testing.TB, c EmbedConfig, v *fakeVectors) *Embedder {
	t.Helper()
	if v.room == 0 {
		v.room = 16
	}
	m := &bracketing{fakeModel{info: llama.ModelInfo{BOS: fakeBOS, EOS: fakeEnd, ContextTrain: 8}}}
	var freed atomic.Int32
	e := newEmbedder(c.withDefaults(), m, v, func() { freed.Add(1) })
	t.Cleanup(func() {
		require.NoError(t, e.Close())
		require.NoError(t, e.Close())
		require.EqualValues(t, 1, freed.Load())
	})
	return e
}

// raw is the vector that fakeVectors gives a text.
func raw(text string) []float32 {
	sum := int(fakeBOS + fakeEnd)
	for _, b := range []byte(text) {
		sum += int(b)
	}
	return []float32{float32(len(text) + 2), float32(sum)}
}

func TestEmbedKeepsTheOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		texts := rapid.SliceOfN(rapid.StringMatching(`[a-z]{0,6}`), 0, 80).Draw(r, "texts")
		v := &fakeVectors{room: rapid.IntRange(8, 200).Draw(r, "room")}
		e := newEmbedder(EmbedConfig{Unnormalized: true}.withDefaults(), &bracketing{fakeModel{info: llama.ModelInfo{ContextTrain: 8}}}, v, func() {})
		got, err := e.Embed(context.Background(), texts)
		require.NoError(r, err)
		require.NoError(r, e.Close())
		require.Len(r, got, len(texts))
		for i, text := range texts {
			want := raw(text)
			if text == "" {
				want = []float32{0, 0}
			}
			require.Equal(r, want, got[i])
		}
		for i, batch := range v.batches { // none could have taken the next one's first text
			if i+1 < len(v.batches) && len(batch) < textsPerBatch {
				total := v.batches[i+1][0]
				for _, n := range batch {
					total += n
				}
				require.Greater(r, total, v.room)
			}
		}
	})
}

func TestEmbedNormalizes(t *testing.T) {
	t.Parallel()
	e := newFakeEmbedder(t, EmbedConfig{}, &fakeVectors{})
	got, err := e.Embed(t.Context(), []string{"owl", "", " \n"})
	require.NoError(t, err)
	require.InDelta(t, 1, math.Hypot(float64(got[0][0]), float64(got[0][1])), 1e-6)
	require.InDelta(t, raw("owl")[1]/raw("owl")[0], got[0][1]/got[0][0], 1e-3, "the direction stays")
	require.Equal(t, [][]float32{{0, 0}, {0, 0}}, got[1:], "nothing is left of blanks")
	require.Equal(t, 2, e.Dimensions())
	none, err := e.Embed(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, none)
}

func TestEmbedLongTexts(t *testing.T) {
	t.Parallel()
	v := &fakeVectors{}
	e := newFakeEmbedder(t, EmbedConfig{}, v)
	_, err := e.Embed(t.Context(), []string{"short", "far too long"})
	var long *TextTooLongError
	require.ErrorAs(t, err, &long)
	require.Equal(t, TextTooLongError{Index: 1, Tokens: 14, Limit: 8}, *long)
	require.ErrorContains(t, err, "text 1 has 14 tokens")
	require.Empty(t, v.batches, "nothing was computed")

	cut := newFakeEmbedder(t, EmbedConfig{Truncate: true, Unnormalized: true}, &fakeVectors{})
	got, err := cut.Embed(t.Context(), []string{"far too long", "short"})
	require.NoError(t, err)
	require.Equal(t, [][]float32{raw("far to"), raw("short")}, got, "the control token behind the text stays")

	tiny := newFakeEmbedder(t, EmbedConfig{Truncate: true, Unnormalized: true, ContextSize: 1}, &fakeVectors{})
	got, err = tiny.Embed(t.Context(), []string{"far"})
	require.NoError(t, err)
	require.Equal(t, []float32{1, float32(fakeBOS)}, got[0])
}

func TestEmbedTextIsData(t *testing.T) {
	t.Parallel()
	e := newFakeEmbedder(t, EmbedConfig{Unnormalized: true, Truncate: true}, &fakeVectors{})
	got, err := e.Embed(t.Context(), []string{"<s>", "a\xffb"})
	require.NoError(t, err)
	require.Equal(t, [][]float32{raw("<s>"), raw("a\uFFFDb")}, got)
}

func TestEmbedErrors(t *testing.T) {
	t.Parallel()
	_, err := newFakeEmbedder(t, EmbedConfig{}, &fakeVectors{err: llama.ErrDecode}).Embed(t.Context(), []string{"a"})
	require.ErrorIs(t, err, llama.ErrDecode)
	_, err = newFakeEmbedder(t, EmbedConfig{}, &fakeVectors{bad: true}).Embed(t.Context(), []string{"", "a"})
	require.ErrorContains(t, err, "text 1 holds what is no number")
}

func TestEmbedCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	v := &fakeVectors{abort: make(chan struct{})}
	v.before = func() {
		if len(v.batches) == 2 {
			cancel()
			await(t, v.abort, "abort")
		}
	}
	e := newFakeEmbedder(t, EmbedConfig{Unnormalized: true}, v)
	texts := slices.Repeat([]string{"12345"}, 10)
	_, err := e.Embed(ctx, texts)
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, v.batches, 2)
	_, err = e.Embed(ctx, texts)
	require.ErrorIs(t, err, context.Canceled, "before it began")
	require.Len(t, v.batches, 2)
	v.before = nil
	got, err := e.Embed(t.Context(), texts)
	require.NoError(t, err, "the abort was of the other call")
	require.Equal(t, raw("12345"), got[9])
}

func TestEmbedClose(t *testing.T) {
	t.Parallel()
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	computing, ended := make(chan struct{}), make(chan error)
	v := &fakeVectors{room: 16, abort: make(chan struct{})}
	v.before = func() {
		close(computing)
		await(t, v.abort, "abort by Close")
	}
	e := newEmbedder(EmbedConfig{}.withDefaults(), &bracketing{fakeModel{info: llama.ModelInfo{ContextTrain: 8}}}, v, func() {})
	go func() {
		_, err := e.Embed(context.Background(), []string{"a"})
		ended <- err
	}()
	await(t, computing, "batch")
	require.NoError(t, e.Close())
	require.ErrorIs(t, await(t, ended, "end of the call"), ErrClosed)
	_, err := e.Embed(t.Context(), []string{"a"})
	require.ErrorIs(t, err, ErrClosed)
}

func TestEmbedOfManyCallers(t *testing.T) {
	t.Parallel()
	e := newFakeEmbedder(t, EmbedConfig{Unnormalized: true}, &fakeVectors{})
	client, err := embeddings.NewEmbedder(embeddings.EmbedderClientFunc(e.Embed))
	require.NoError(t, err)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			text := strings.Repeat("x", i%6+1)
			got, err := client.EmbedDocuments(t.Context(), slices.Repeat([]string{text}, 20))
			if err != nil || len(got) != 20 || !slices.Equal(got[19], raw(text)) {
				t.Errorf("%q: %v, %v", text, got, err)
			}
		})
	}
	wg.Wait()
}

func TestEmbedConfig(t *testing.T) {
	t.Parallel()
	require.Equal(t, []int{512, 384, 512, 100, 64, 2000}, []int{
		EmbedConfig{}.textSize(0), EmbedConfig{}.textSize(384), EmbedConfig{}.textSize(8192), EmbedConfig{ContextSize: 100}.textSize(384),
		EmbedConfig{ContextSize: 100}.textSize(64), EmbedConfig{ContextSize: 2000}.textSize(0),
	})
	require.Equal(t, 1, batchTexts(llama.ModelInfo{Hybrid: true}))
	_, err := OpenEmbedder(t.Context(), EmbedConfig{ContextSize: -1, BatchSize: -1, Threads: 1 << 20, Pooling: "max", FlashAttention: "maybe"})
	for _, part := range []string{"no model file", "context size -1", "batch size -1", "threads = 1048576", `pooling "max"`, `flash attention "maybe"`} {
		require.ErrorContains(t, err, part)
	}
	path := filepath.Join(t.TempDir(), "nowhere.gguf")
	_, err = OpenEmbedder(t.Context(), EmbedConfig{ModelPath: path})
	if !Available {
		require.ErrorIs(t, err, ErrNoLlama)
		return
	}
	var fe *ModelFileError
	require.ErrorAs(t, err, &fe)
	require.Equal(t, path, fe.Path)
}
