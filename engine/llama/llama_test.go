//go:build cgo && !nollama

package llama

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/llama-agent/llama-agent/internal/testmodel"
	"github.com/stretchr/testify/require"
)

var tiny struct {
	sync.Mutex
	model *Model
}

// model is the one that the tests of this package share.
func model(t testing.TB) *Model {
	t.Helper()
	path := testmodel.Path(t, testmodel.Tiny)
	tiny.Lock()
	defer tiny.Unlock()
	if tiny.model == nil {
		Init(nil)
		m, err := LoadModel(context.Background(), path, ModelParams{})
		require.NoError(t, err)
		tiny.model = m
	}
	return tiny.model
}

func newContext(t testing.TB, m *Model, p ContextParams) *Context {
	t.Helper()
	if p.Size == 0 {
		p.Size = 1024
	}
	if p.Batch == 0 {
		p.Batch = 256
	}
	if p.MicroBatch == 0 {
		p.MicroBatch = 64
	}
	if p.Sequences == 0 {
		p.Sequences = 4
	}
	// One thread: with two, a busy machine makes each token wait for the other one.
	p.Threads, p.FlashAttention, p.KVType = 1, 1, KVF16
	c, err := NewContext(m, p)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

const passage = "The owl sat in the old oak and said nothing for a long while. Then it turned its head and looked at the river, " +
	"where the miller's boy was counting stones. There were eleven of them, and one was green."

func tokens(t testing.TB, m *Model, text string) []Token {
	t.Helper()
	out, err := m.Tokenize(text, false, false)
	require.NoError(t, err)
	return out
}

// feed decodes tokens from a position on in batches of the given sizes, the last repeated, and returns the logits of the
// last token.
func feed(t testing.TB, c *Context, m *Model, seq, pos int, toks []Token, cuts ...int) []float32 {
	t.Helper()
	var b Batch
	for row := 0; len(toks) > 0; {
		n := min(cuts[0], len(toks))
		if len(cuts) > 1 {
			cuts = cuts[1:]
		}
		b.Reset()
		for i, tok := range toks[:n] {
			row = b.Add(tok, pos+i, seq, i == n-1)
		}
		require.NoError(t, c.Decode(&b))
		toks, pos = toks[n:], pos+n
		if len(toks) == 0 {
			return c.Logits(row, m.Info().Vocab)
		}
	}
	return nil
}

func TestModel(t *testing.T) {
	m := model(t)
	info := m.Info()
	require.Equal(t, 30, info.Layers)
	require.Positive(t, info.Vocab)
	require.False(t, info.Recurrent || info.Hybrid || info.Encoder || info.Diffusion)
	require.Contains(t, m.Description(), "llama")
	arch, ok := m.Meta("general.architecture")
	require.True(t, ok)
	require.Equal(t, "llama", arch)
	_, ok = m.Meta("no.such.key")
	require.False(t, ok)
	require.NotEmpty(t, Version())
	require.NotEmpty(t, Devices())
}

func TestTokenize(t *testing.T) {
	m := model(t)
	for _, text := range []string{"", "hello", " two  spaces ", "🦙漢字é\n\t", "\x00", "a\x00b", strings.Repeat("word ", 3000), "<|im_end|>"} {
		toks, err := m.Tokenize(text, false, false)
		require.NoError(t, err)
		var back []byte
		for _, tok := range toks {
			require.False(t, m.IsControl(tok), "%q", text)
			back = m.AppendPiece(back, tok, false)
		}
		require.Equal(t, text, string(back))
	}
	special, err := m.Tokenize("<|im_end|>", false, true)
	require.NoError(t, err)
	require.Len(t, special, 1)
	require.True(t, m.IsControl(special[0]))
	require.True(t, m.IsEOG(special[0]))
	require.Empty(t, m.AppendPiece(nil, special[0], false))
	require.Equal(t, "<|im_end|>", string(m.AppendPiece(nil, special[0], true)))
	for _, bad := range []Token{-1, 1 << 30} {
		require.Empty(t, m.AppendPiece(nil, bad, true))
		require.False(t, m.IsControl(bad) || m.IsEOG(bad))
	}
}

func TestBranchesAndStatesAreExact(t *testing.T) {
	m := model(t)
	prefix, a, b := tokens(t, m, passage), tokens(t, m, " It was the"), tokens(t, m, " Nobody knew who")
	run := func(prepare func(c *Context) int) []float32 {
		c := newContext(t, m, ContextParams{})
		return feed(t, c, m, prepare(c), len(prefix), b, 100)
	}
	want := run(func(c *Context) int {
		feed(t, c, m, 0, 0, prefix, 20)
		return 0
	})

	require.Equal(t, want, run(func(c *Context) int {
		feed(t, c, m, 0, 0, prefix, 20)
		require.True(t, c.SeqCopy(0, 1, 0, len(prefix)))
		feed(t, c, m, 0, len(prefix), a, 100)
		return 1
	}), "a copied prefix, with the other branch alive")

	require.Equal(t, want, run(func(c *Context) int {
		feed(t, c, m, 0, 0, prefix, 20)
		feed(t, c, m, 0, len(prefix), a, 100)
		require.True(t, c.SeqRemove(0, len(prefix), -1))
		require.Equal(t, len(prefix)-1, c.SeqPosMax(0))
		return 0
	}), "a tail that was removed")

	require.Equal(t, want, run(func(c *Context) int {
		from := newContext(t, m, ContextParams{Size: 512})
		feed(t, from, m, 2, 0, prefix, 20)
		state, err := from.SeqState(2)
		require.NoError(t, err)
		require.NoError(t, c.SetSeqState(3, state))
		require.Equal(t, []int{0, len(prefix) - 1}, []int{c.SeqPosMin(3), c.SeqPosMax(3)})
		return 3
	}), "a state from another context")
}

func TestStatesThatAreRefused(t *testing.T) {
	m := model(t)
	prefix := tokens(t, m, passage)
	c := newContext(t, m, ContextParams{})
	feed(t, c, m, 0, 0, prefix, 100)
	state, err := c.SeqState(0)
	require.NoError(t, err)
	for name, bad := range map[string][]byte{"empty": nil, "half": state[:len(state)/2], "20 bytes": state[:20]} {
		require.Error(t, c.SetSeqState(1, bad), name)
		require.Equal(t, -1, c.SeqPosMax(1), name)
	}
	require.Error(t, c.SetSeqState(99, state))
	_, err = c.SeqState(-1)
	require.Error(t, err)
	require.NotNil(t, feed(t, c, m, 0, len(prefix), tokens(t, m, " and"), 10), "the context still works")
}

func TestAbortAndRedo(t *testing.T) {
	m := model(t)
	prompt := tokens(t, m, strings.Repeat(passage+" ", 4))[:128]
	want := feed(t, newContext(t, m, ContextParams{}), m, 0, 0, prompt, 128)
	c := newContext(t, m, ContextParams{})
	var b Batch
	for i, tok := range prompt {
		b.Add(tok, i, 0, i == len(prompt)-1)
	}
	c.Abort()
	require.ErrorIs(t, c.Decode(&b), ErrAborted)
	require.ErrorIs(t, c.Decode(&b), ErrAborted, "until it is taken back")
	require.Equal(t, -1, c.SeqPosMax(0))
	c.ResetAbort()

	for range 20 { // aborts at different places
		stop := make(chan struct{})
		go func() { c.Abort(); close(stop) }()
		err := c.Decode(&b)
		<-stop
		c.ResetAbort()
		if err != nil {
			require.ErrorIs(t, err, ErrAborted)
			require.Less(t, c.SeqPosMax(0), len(prompt)-1)
		}
		require.True(t, c.SeqRemove(0, 0, -1))
	}
	require.NoError(t, c.Decode(&b))
	require.Equal(t, want, c.Logits(len(prompt)-1, m.Info().Vocab))
}

func TestDecodeRefusesWhatLlamaCannotTake(t *testing.T) {
	m := model(t)
	c := newContext(t, m, ContextParams{Size: 256, Batch: 128})
	one := func(tok Token, pos, seq int) error {
		var b Batch
		b.Add(tok, pos, seq, true)
		return c.Decode(&b)
	}
	require.ErrorIs(t, c.Decode(&Batch{}), ErrBatch)
	for name, err := range map[string]error{
		"negative token": one(-1, 0, 0), "token beyond the vocabulary": one(Token(m.Info().Vocab), 0, 0),
		"negative sequence": one(1, 0, -1), "sequence beyond the last": one(1, 0, 4), "negative position": one(1, -1, 0),
	} {
		require.ErrorIs(t, err, ErrBatch, name)
	}
	var b Batch
	for i := range 129 {
		b.Add(1, i, 0, false)
	}
	require.ErrorIs(t, c.Decode(&b), ErrBatch, "more than a batch")

	require.NoError(t, one(1, 0, 0))
	require.ErrorIs(t, one(1, 5, 0), ErrBatch, "a gap")
	require.NoError(t, one(1, 1, 0))
	require.Nil(t, c.Logits(7, m.Info().Vocab))

	// More tokens than cells: nothing changes, and there is room again after a removal.
	b.Reset()
	for i := range 128 {
		b.Add(1, i, 1, i == 127)
	}
	require.NoError(t, c.Decode(&b))
	b.Reset()
	for i := range 128 {
		b.Add(1, i, 2, i == 127)
	}
	require.ErrorIs(t, c.Decode(&b), ErrNoRoom)
	require.Equal(t, -1, c.SeqPosMax(2))
	require.True(t, c.SeqRemove(1, 0, -1))
	require.NoError(t, c.Decode(&b))

	require.False(t, c.SeqCopy(0, 0, 0, 1))
	require.False(t, c.SeqCopy(0, 300, 0, 1))
	require.False(t, c.SeqRemove(-1, 0, -1))
	require.Equal(t, -1, c.SeqPosMax(300))
	c.Clear()
	require.Equal(t, -1, c.SeqPosMax(2))
}

func TestContextParamsThatAreRefused(t *testing.T) {
	m := model(t)
	for name, p := range map[string]ContextParams{
		"no sequences": {Size: 256, Batch: 32, MicroBatch: 32, Threads: 1, KVType: KVF16},
		"sequences":    {Size: 256, Batch: 32, MicroBatch: 32, Threads: 1, KVType: KVF16, Sequences: 1000},
		"no threads":   {Size: 256, Batch: 32, MicroBatch: 32, KVType: KVF16, Sequences: 1},
		"threads":      {Size: 256, Batch: 32, MicroBatch: 32, Threads: 100_000, KVType: KVF16, Sequences: 1},
	} {
		_, err := NewContext(m, p)
		require.Error(t, err, name)
	}
	for _, p := range []ContextParams{{Size: 8, Batch: 1, Sequences: 200}, {Size: 300, Batch: 2000, MicroBatch: 5000}, {Batch: 1, MicroBatch: 1}} {
		small := newContext(t, m, p)
		require.NotNil(t, feed(t, small, m, 0, 0, tokens(t, m, "a b c d"), 2), "%+v", p)
	}
	c := newContext(t, m, ContextParams{})
	c.SetThreads(0, 1000) // brought into range
	require.NotNil(t, feed(t, c, m, 0, 0, tokens(t, m, "a b c"), 10))
}

// Everything of a closed thing gives an error or an empty value.
func TestClosed(t *testing.T) {
	path := testmodel.Path(t, testmodel.Tiny)
	m, err := LoadModel(t.Context(), path, ModelParams{VocabOnly: true})
	require.NoError(t, err)
	tmpl, err := NewChatTemplate(m, "")
	require.NoError(t, err)
	tmpl.Close()
	tmpl.Close()
	m.Close()
	m.Close()
	_, err = tmpl.Caps()
	require.ErrorIs(t, err, ErrClosed)
	_, err = tmpl.Render(ChatRequest{})
	require.ErrorIs(t, err, ErrClosed)
	_, err = m.Tokenize("a", false, false)
	require.ErrorIs(t, err, ErrClosed)
	_, err = NewContext(m, ContextParams{})
	require.ErrorIs(t, err, ErrClosed)
	_, err = NewChatTemplate(m, "")
	require.ErrorIs(t, err, ErrClosed)
	_, err = NewSampler(m, SamplerParams{})
	require.ErrorIs(t, err, ErrClosed)
	require.Empty(t, m.Description())
	require.Empty(t, m.AppendPiece(nil, 1, true))
	require.False(t, m.IsEOG(1) || m.IsControl(1))
	_, ok := m.Meta("general.architecture")
	require.False(t, ok)

	live := model(t)
	s, err := NewSampler(live, SamplerParams{})
	require.NoError(t, err)
	c := newContext(t, live, ContextParams{Size: 256})
	c.Close()
	c.Close()
	var b Batch
	b.Add(1, 0, 0, true)
	require.ErrorIs(t, c.Decode(&b), ErrClosed)
	c.Abort()
	c.ResetAbort()
	c.Clear()
	c.SetThreads(1, 1)
	require.Zero(t, c.Size()+c.BatchSize())
	require.Nil(t, c.Logits(0, 10))
	require.False(t, c.CanShift() || c.SeqRemove(0, 0, -1) || c.SeqCopy(0, 1, 0, -1))
	require.Equal(t, -2, c.SeqPosMax(0)+c.SeqPosMin(0))
	_, err = c.SeqState(0)
	require.Error(t, err)
	require.Error(t, c.SetSeqState(0, []byte{1}))
	_, err = s.Sample(c, 0)
	require.ErrorIs(t, err, ErrClosed)
	s.Close()
	s.Close()
	_, err = s.Sample(c, 0)
	require.ErrorIs(t, err, ErrClosed)
}

func TestLoadProgressAndCancel(t *testing.T) {
	path := testmodel.Path(t, testmodel.Tiny)
	var got []float32
	m, err := LoadModel(t.Context(), path, ModelParams{Progress: func(p float32) { got = append(got, p) }})
	require.NoError(t, err)
	m.Close()
	require.NotEmpty(t, got)
	require.IsNonDecreasing(t, got)
	require.EqualValues(t, 1, got[len(got)-1])

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = LoadModel(ctx, path, ModelParams{})
	require.ErrorIs(t, err, context.Canceled)

	for range 10 { // at different places of the load
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { cancel(); close(done) }()
		m, err := LoadModel(ctx, path, ModelParams{})
		<-done
		if err == nil {
			m.Close()
		} else {
			require.ErrorIs(t, err, context.Canceled)
		}
	}
}

func TestLoadErrors(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text.gguf")
	require.NoError(t, os.WriteFile(text, []byte("not a model"), 0o644))
	for _, path := range []string{text, t.TempDir(), "no-such-file.gguf"} {
		_, err := LoadModel(t.Context(), path, ModelParams{})
		require.ErrorContains(t, err, path)
	}
}

// lines collects what is logged.
type lines struct {
	mu   sync.Mutex
	text []string
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, string(p))
	return len(p), nil
}

func TestLogGoesToTheLogger(t *testing.T) {
	m := model(t)
	var l lines
	Init(slog.New(slog.NewTextHandler(&l, &slog.HandlerOptions{Level: slog.LevelDebug})))
	defer Init(nil)
	newContext(t, m, ContextParams{Size: 256})
	l.mu.Lock()
	defer l.mu.Unlock()
	require.NotEmpty(t, l.text)
	require.Contains(t, strings.Join(l.text, ""), "source=llama.cpp")
	for _, line := range l.text {
		require.Equal(t, 1, strings.Count(line, "\n"))
	}
}

func TestErrBuf(t *testing.T) {
	var e errBuf
	require.ErrorContains(t, e.err("doing x"), "llama: doing x: unknown error")
	require.False(t, errors.Is(e.err("x"), ErrClosed))
}

func TestBuild(t *testing.T) {
	t.Parallel()
	b := Build()
	require.Contains(t, b, Version()+" ")
	require.Greater(t, strings.Count(b, "="), 2, "features of the processor: %s", b)
}
