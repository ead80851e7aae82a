package engine

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/llama-agent/llama-agent/engine/kvstore"
	"github.com/llama-agent/llama-agent/engine/llama"
	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/llms"
)

// Tokens of the fake vocabulary: one for each byte, and these.
const (
	fakeEnd   llama.Token = 256 + iota // <|im_end|>, ends a generation
	fakeStart                          // <|im_start|>
	fakeBOS                            // <s>
	fakeVocab
)

var fakeControl = map[llama.Token]string{fakeEnd: "<|im_end|>", fakeStart: "<|im_start|>", fakeBOS: "<s>"}

// fakeModel has a vocabulary of bytes. Its replies are a function of the prompt alone, so a wrong reply means that the
// scheduler let the memory hold something else than the prompt.
type fakeModel struct {
	mem       *fakeMemory
	reply     func(prompt string) string // nil: hashReply
	render    func(r llama.ChatRequest) (string, error)
	caps      llama.ChatCaps
	info      llama.ModelInfo
	grammarOf func(schema string) (string, error)
	parse     func(text string, partial bool) (llama.ChatReply, error)
	samplers  atomic.Int32 // open ones
	newErr    error        // of NewSampler
}

func (m *fakeModel) Info() llama.ModelInfo         { return m.info }
func (m *fakeModel) Description() string           { return "fake" }
func (m *fakeModel) IsEOG(t llama.Token) bool      { return t == fakeEnd }
func (m *fakeModel) IsControl(t llama.Token) bool  { return t >= fakeEnd }
func (m *fakeModel) Caps() (llama.ChatCaps, error) { return m.caps, nil }

func (m *fakeModel) Tokenize(text string, _, parseSpecial bool) ([]llama.Token, error) {
	var out []llama.Token
next:
	for i := 0; i < len(text); {
		if parseSpecial {
			for t, s := range fakeControl {
				if strings.HasPrefix(text[i:], s) {
					out = append(out, t)
					i += len(s)
					continue next
				}
			}
		}
		out = append(out, llama.Token(text[i]))
		i++
	}
	return out, nil
}

func (m *fakeModel) AppendPiece(dst []byte, t llama.Token, special bool) []byte {
	if t < fakeEnd {
		return append(dst, byte(t))
	}
	if special {
		return append(dst, fakeControl[t]...)
	}
	return dst
}

func (m *fakeModel) SchemaToGrammar(schema []byte, _, _ int) (string, error) {
	if m.grammarOf != nil {
		return m.grammarOf(string(schema))
	}
	return "grammar of " + string(schema), nil
}

// chatML renders as ChatML does.
func chatML(r llama.ChatRequest) (string, error) {
	var b strings.Builder
	for _, m := range r.Messages {
		fmt.Fprintf(&b, "<|im_start|>%s\n%s", m.Role, m.Content)
		for _, c := range m.ToolCalls {
			fmt.Fprintf(&b, "[%s %s]", c.Function.Name, c.Function.Arguments)
		}
		b.WriteString("<|im_end|>\n")
	}
	b.WriteString("<|im_start|>assistant\n")
	return b.String(), nil
}

func (m *fakeModel) Render(r llama.ChatRequest) (llama.ChatPrompt, error) {
	render := m.render
	if render == nil {
		render = chatML
	}
	prompt, err := render(r)
	return llama.ChatPrompt{Prompt: prompt}, err
}

func (m *fakeModel) ParseReply(_ llama.ChatPrompt, text string, partial, _ bool) (llama.ChatReply, error) {
	if m.parse != nil {
		return m.parse(text, partial)
	}
	return llama.ChatReply{Content: text}, nil
}

func (m *fakeModel) NewSampler(llama.SamplerParams) (sampler, error) {
	if m.newErr != nil {
		return nil, m.newErr
	}
	m.samplers.Add(1)
	return &fakeSampler{model: m}, nil
}

// hashReply is 1 to 40 letters that depend on every byte of the prompt.
func hashReply(prompt string) string {
	h := fnv.New64a()
	h.Write([]byte(prompt))
	n := h.Sum64()
	out := make([]byte, 1+n%40)
	for i := range out {
		n = n*6364136223846793005 + 1442695040888963407
		out[i] = 'a' + byte(n>>59)%26
	}
	return string(out)
}

// detokenize spells tokens out, control tokens too.
func detokenize(tokens []llama.Token) string {
	var m *fakeModel
	var b []byte
	for _, t := range tokens {
		b = m.AppendPiece(b, t, true)
	}
	return string(b)
}

type fakeSampler struct {
	model   *fakeModel
	prompt  []llama.Token // nil: nothing was sampled yet
	opening string        // accepted before that
	reply   string
	n       int
}

func (s *fakeSampler) Sample(row int) (llama.Token, error) {
	history, ok := s.model.mem.rows[row]
	if !ok {
		return -1, fmt.Errorf("row %d has no logits", row)
	}
	if s.prompt == nil {
		text := detokenize(history)
		if !s.model.mem.trusting && !strings.HasSuffix(text, s.opening) {
			return -1, fmt.Errorf("the sequence holds %q, without %q at its end", text, s.opening)
		}
		s.prompt = append([]llama.Token{}, history[:max(0, len(history)-len(s.opening))]...)
		f := s.model.reply
		if f == nil {
			f = hashReply
		}
		s.reply = f(detokenize(s.prompt))
		if !strings.HasPrefix(s.reply, s.opening) {
			return -1, fmt.Errorf("%q was forced, not %q", s.opening, s.reply)
		}
	} else if !s.model.mem.trusting {
		if got, want := detokenize(history), detokenize(s.prompt)+s.reply[:s.n]; got != want {
			return -1, fmt.Errorf("the sequence holds %q, not %q", got, want)
		}
	}
	s.n++
	if s.n > len(s.reply) {
		return fakeEnd, nil
	}
	return llama.Token(s.reply[s.n-1]), nil
}

// Accept refuses what the model would not have said.
func (s *fakeSampler) Accept(t llama.Token) error {
	if s.prompt == nil {
		s.opening += string(rune(t))
	} else if s.n >= len(s.reply) || llama.Token(s.reply[s.n]) != t {
		return fmt.Errorf("%q was forced after %q, not %q", rune(t), s.reply[:s.n], s.reply[s.n:])
	}
	s.n++
	return nil
}

func (s *fakeSampler) Close() { s.model.samplers.Add(-1) }

// fakeMemory keeps sequences of tokens in cells, as the unified KV cache does, and reports whatever llama.cpp would not
// accept. Except for the hooks and Abort only the owner goroutine may use it, which the race detector checks.
type fakeMemory struct {
	size, batch, micro int
	kind               llama.MemoryKind
	seqs               [][]*llama.Token // cells, shared by sequences after SeqCopy
	tails              [][]llama.Token  // what the running state of a sequence has seen, for kinds that have one
	tailErr            error            // of SaveTail and RestoreTail
	tailsSaved, wentTo int              // calls of these
	rows               map[int][]llama.Token
	aborted            atomic.Bool
	decoded            int // tokens, without those that an abort threw away
	decodes            int
	threads, single    int // that there are, and that compute a batch of one token
	saved, restored    int // calls and tokens
	saveErr            error
	restoreErr         error
	faults             []string
	trusting           bool // for benchmarks: nothing is checked, and samplers see no history

	// before is called before each micro-batch, with the tokens that it has; nil: nothing. It may block or call Abort.
	before func(first llama.Token, n int)
	// decodeErr gives the error of a decode; nil: none.
	decodeErr func(b *llama.Batch) error
}

func newFakeMemory(size, batch, sequences int) *fakeMemory {
	return &fakeMemory{size: size, batch: batch, micro: 8, seqs: make([][]*llama.Token, sequences), tails: make([][]llama.Token, sequences), rows: map[int][]llama.Token{}}
}

func (m *fakeMemory) fault(format string, args ...any) {
	m.faults = append(m.faults, fmt.Sprintf(format, args...))
}

func (m *fakeMemory) cells() int {
	used := map[*llama.Token]bool{}
	for _, s := range m.seqs {
		for _, c := range s {
			used[c] = true
		}
	}
	return len(used)
}

func (m *fakeMemory) check(b *llama.Batch) bool {
	if b.Len() < 1 || b.Len() > m.batch {
		m.fault("a batch of %d tokens", b.Len())
		return false
	}
	next := map[int]int{}
	for i := range b.Len() {
		t, pos, seq, _ := b.Row(i)
		if seq < 0 || seq >= len(m.seqs) || t < 0 || t >= fakeVocab {
			m.fault("token %d in sequence %d", t, seq)
			return false
		}
		want, ok := next[seq]
		if !ok {
			want = len(m.seqs[seq])
		}
		if pos != want {
			m.fault("position %d in sequence %d, which is at %d", pos, seq, want)
			return false
		}
		next[seq] = pos + 1
	}
	for seq := range next {
		if m.hasTail() && !slices.Equal(m.tails[seq], m.tokens(seq)) {
			m.fault("a batch for sequence %d, whose running state has seen other tokens", seq)
			return false
		}
	}
	return true
}

// hasTail is true for the kinds that the scheduler goes back in.
func (m *fakeMemory) hasTail() bool {
	return m.kind == llama.MemoryState || m.kind == llama.MemoryMixed || m.kind == llama.MemoryWhole
}

// spoilt is what a running state has seen that nobody knows.
const spoilt llama.Token = -7

// breakOff leaves a batch as llama.cpp does when it is aborted: running states have seen a part of the micro-batch, or, of
// several sequences, states have been moved only in part, and the cells of the micro-batch stay there.
func (m *fakeMemory) breakOff(b *llama.Batch, from, to int) {
	in := map[int]bool{}
	for i := range b.Len() {
		_, _, seq, _ := b.Row(i)
		in[seq] = true
	}
	for seq := range m.tails {
		if len(m.tails[seq]) > 0 && (in[seq] || len(in) > 1) {
			m.tails[seq] = append(slices.Clip(m.tails[seq]), spoilt)
		}
	}
	for i := from; i < to; i++ {
		t, pos, seq, _ := b.Row(i)
		if pos > 0 && (len(m.seqs[seq]) > 0 || len(m.tails[seq]) > 0) {
			m.seqs[seq] = append(m.seqs[seq], &t)
		}
	}
}

func (m *fakeMemory) Decode(b *llama.Batch) error {
	m.decodes++
	clear(m.rows)
	if !m.check(b) {
		return llama.ErrBatch
	}
	if m.decodeErr != nil {
		if err := m.decodeErr(b); err != nil {
			return err
		}
	}
	if !m.trusting && m.kind != llama.MemoryState && m.cells()+b.Len() > m.size {
		return llama.ErrNoRoom
	}
	for from := 0; from < b.Len(); from += m.micro {
		to := min(from+m.micro, b.Len())
		if m.before != nil {
			t, _, _, _ := b.Row(from)
			m.before(t, to-from)
		}
		if m.aborted.Load() {
			clear(m.rows)
			if m.hasTail() {
				m.breakOff(b, from, to)
			}
			return llama.ErrAborted
		}
		for i := from; i < to; i++ {
			t, _, seq, logits := b.Row(i)
			m.seqs[seq] = append(m.seqs[seq], &t)
			if m.hasTail() {
				m.tails[seq] = append(m.tails[seq], t)
			}
			m.decoded++
			if logits && m.trusting {
				m.rows[i] = nil
			} else if logits {
				m.rows[i] = m.tokens(seq)
			}
		}
	}
	return nil
}

func (m *fakeMemory) tokens(seq int) []llama.Token {
	out := make([]llama.Token, len(m.seqs[seq]))
	for i, c := range m.seqs[seq] {
		out[i] = *c
	}
	return out
}

func (m *fakeMemory) SeqRemove(seq, p0, p1 int) bool {
	if p1 >= 0 {
		m.fault("removing up to position %d", p1)
		return false
	}
	if p0 > 0 && p0 < len(m.seqs[seq]) && m.hasTail() {
		return false
	}
	if p0 == 0 {
		m.tails[seq] = nil
	}
	if p0 < len(m.seqs[seq]) {
		m.seqs[seq] = append([]*llama.Token(nil), m.seqs[seq][:p0]...)
	}
	return true
}

func (m *fakeMemory) SeqCopy(src, dst, p0, p1 int) bool {
	if p0 != 0 || p1 > len(m.seqs[src]) || len(m.seqs[dst]) > 0 || src == dst || m.hasTail() && p1 != len(m.seqs[src]) {
		m.fault("copying %d to %d of sequence %d to %d", p0, p1, src, dst)
		return false
	}
	m.seqs[dst] = append([]*llama.Token(nil), m.seqs[src][:p1]...)
	m.tails[dst] = slices.Clone(m.tails[src])
	return true
}

// SaveTail writes the tokens that the state has seen.
func (m *fakeMemory) SaveTail(seq int) ([]byte, error) {
	if !m.hasTail() || m.kind == llama.MemoryWhole || len(m.seqs[seq]) == 0 || !slices.Equal(m.tails[seq], m.tokens(seq)) {
		m.fault("saving the running state of sequence %d", seq)
		return nil, errFake
	}
	if m.tailErr != nil {
		return nil, m.tailErr
	}
	m.tailsSaved++
	return encode(m.tails[seq]), nil
}

func (m *fakeMemory) RestoreTail(src, dst, end int, state []byte) error {
	tail := decode(state)
	cells := m.kind == llama.MemoryMixed
	if !m.hasTail() || m.kind == llama.MemoryWhole || end < 1 || len(tail) != end || cells != (src >= 0) ||
		cells && (len(m.seqs[src]) < end || !slices.Equal(m.tokens(src)[:end], tail)) {
		m.fault("going back to position %d of sequence %d in %d", end, src, dst)
		return errFake
	}
	if m.tailErr != nil {
		m.seqs[dst], m.tails[dst] = nil, nil
		return m.tailErr
	}
	m.wentTo++
	if cells {
		m.seqs[dst] = append([]*llama.Token(nil), m.seqs[src][:end]...)
	} else {
		m.seqs[dst] = nil
		for _, t := range tail {
			m.seqs[dst] = append(m.seqs[dst], &t)
		}
	}
	m.tails[dst] = tail
	return nil
}

func encode(tokens []llama.Token) []byte {
	var out []byte
	for _, t := range tokens {
		out = binary.LittleEndian.AppendUint32(out, uint32(t))
	}
	return out
}

func decode(state []byte) []llama.Token {
	out := make([]llama.Token, len(state)/4)
	for i := range out {
		out[i] = llama.Token(binary.LittleEndian.Uint32(state[4*i:]))
	}
	return out
}

// SaveRange writes the tokens themselves; with a running state all that it has seen, which are the same and those before.
func (m *fakeMemory) SaveRange(seq, p0, p1 int, tail []byte) ([]byte, error) {
	if m.hasTail() {
		cells := m.kind == llama.MemoryMixed
		if m.kind == llama.MemoryWhole || len(tail) != 4*p1 || cells && (p1 > len(m.seqs[seq]) || !slices.Equal(m.tokens(seq)[:p1], decode(tail))) {
			m.fault("saving %d to %d of sequence %d with the state of other tokens", p0, p1, seq)
			return nil, errFake
		}
		m.saved++
		return slices.Clone(tail), m.saveErr
	}
	if p0 < 0 || p0 >= p1 || p1 > len(m.seqs[seq]) {
		m.fault("saving %d to %d of sequence %d", p0, p1, seq)
		return nil, errFake
	}
	m.saved++
	if m.saveErr != nil {
		return nil, m.saveErr
	}
	return encode(m.tokens(seq)[p0:p1]), nil
}

func (m *fakeMemory) RestoreRange(seq, p0, p1 int, state []byte) error {
	tail := decode(state)
	if m.hasTail() {
		if len(tail) != p1 || m.kind == llama.MemoryMixed && !slices.Equal(m.tokens(seq), tail[:p0]) {
			m.fault("restoring %d to %d of sequence %d, which is at %d", p0, p1, seq, len(m.seqs[seq]))
			return errFake
		}
		if m.restoreErr == nil && m.kind == llama.MemoryState {
			m.seqs[seq], p0 = nil, 0
		}
		state = state[4*p0:]
	}
	if p0 != len(m.seqs[seq]) || len(state) != 4*(p1-p0) {
		m.fault("restoring %d to %d of sequence %d, which is at %d", p0, p1, seq, len(m.seqs[seq]))
		return errFake
	}
	if m.restoreErr != nil {
		return m.restoreErr
	}
	if m.cells()+p1-p0 > m.size {
		return llama.ErrNoRoom
	}
	for _, t := range decode(state) {
		m.seqs[seq] = append(m.seqs[seq], &t)
	}
	if m.hasTail() {
		m.tails[seq] = tail
	}
	m.restored += p1 - p0
	return nil
}

func (m *fakeMemory) SeqPosMax(seq int) int { return len(m.seqs[seq]) - 1 }
func (m *fakeMemory) Abort()                { m.aborted.Store(true) }
func (m *fakeMemory) ResetAbort()           { m.aborted.Store(false) }
func (m *fakeMemory) Size() int             { return m.size }
func (m *fakeMemory) BatchSize() int        { return m.batch }

func (m *fakeMemory) Clear() {
	for i := range m.seqs {
		m.seqs[i], m.tails[i] = nil, nil
	}
}

func (m *fakeMemory) SetThreads(single, batch int) {
	if single < 1 || batch < 1 || single > m.threads || batch > m.threads {
		m.fault("%d and %d of %d threads", single, batch, m.threads)
	}
	m.single = single
}

// rig is an engine with a fake model and memory.
type rig struct {
	*Engine
	model *fakeModel
	mem   *fakeMemory
	kept  *shelf
	freed atomic.Int32
}

// newRig starts an engine. adjust may change everything before; nil: nothing. The engine is closed at the end of the
// test and must then have kept llama.cpp's rules.
func newRig(t testing.TB, size int, adjust func(*rig, *Config)) *rig {
	t.Helper()
	c := Config{ModelPath: "fake.gguf", BatchSize: 32, Threads: 1, Parallel: 3}
	r := &rig{}
	r.mem = newFakeMemory(size, c.BatchSize, c.Parallel+cachedSequences)
	r.model = &fakeModel{mem: r.mem, caps: llama.ChatCaps{Explicit: true}, info: llama.ModelInfo{BOS: -1, Vocab: int(fakeVocab)}}
	if adjust != nil {
		adjust(r, &c)
	}
	r.mem.batch = c.BatchSize
	r.model.info.Memory = r.mem.kind
	c = c.withDefaults()
	r.mem.threads = c.Threads
	require.NoError(t, c.validate())
	var err error
	if c.KVStorePath != "" && r.kept == nil {
		r.kept = openShelf(c, knownFile(t, c.KVStorePath), []string{"fake"})
	}
	r.Engine, err = newEngine(c, r.model, r.mem, func() { r.freed.Add(1) }, r.kept)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, r.Close())
		require.EqualValues(t, 1, r.freed.Load())
		require.Empty(t, r.mem.faults)
		require.Zero(t, r.model.samplers.Load(), "samplers that nobody closed")
	})
	return r
}

// knownFile is a stamped file that a store has read before, so that a shelf on it works from its first call on.
func knownFile(t testing.TB, dir string) []kvstore.Stamp {
	t.Helper()
	stamp, err := kvstore.StampOf("fake_test.go")
	require.NoError(t, err)
	if store, err := kvstore.Open(dir, 1<<20, time.Now); err == nil {
		_, err = store.Sum(t.Context(), stamp)
		require.NoError(t, err)
	}
	return []kvstore.Stamp{stamp}
}

// logged is a logger whose lines can be read.
type logged struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func (l *logged) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// ask sends one user message, with others before it, and returns the reply's text and usage.
func (r *rig) ask(ctx context.Context, text string, options ...llms.CallOption) (string, Usage, error) {
	resp, err := r.GenerateContent(ctx, user(text), options...)
	if err != nil {
		return "", Usage{}, err
	}
	return resp.Choices[0].Content, UsageOf(resp), nil
}

// want is the right reply to one user message.
func want(text string) string { return hashReply(promptOf(text)) }

// promptOf is the prompt with one user message.
func promptOf(text string) string {
	p, _ := chatML(llama.ChatRequest{Messages: []llama.ChatMessage{{Role: "user", Content: text}}})
	return p
}

func user(text string) []llms.MessageContent {
	return []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeHuman, text)}
}

var errFake = errors.New("made to fail")

// soon bounds waiting in tests that would otherwise hang when they fail.
const soon = 30 * time.Second

// await waits for a signal.
func await[T any](t testing.TB, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(soon):
		t.Fatalf("no %s", what)
		panic("unreachable")
	}
}
