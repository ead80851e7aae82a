package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/llama-agent/llama-agent/engine/llama"
	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/llms"
)

var (
	// kinds are all kinds of memory.
	kinds = []llama.MemoryKind{llama.MemoryCells, llama.MemoryWindow, llama.MemoryState, llama.MemoryMixed, llama.MemoryWhole}
	// stateful are those that go back to saved states.
	stateful = []llama.MemoryKind{llama.MemoryState, llama.MemoryMixed}
)

// ofKind makes a rig have a kind of memory, and adjusts it further.
func ofKind(kind llama.MemoryKind, adjust func(*rig, *Config)) func(*rig, *Config) {
	return func(r *rig, c *Config) {
		r.mem.kind = kind
		c.BatchSize = 512
		if adjust != nil {
			adjust(r, c)
		}
	}
}

// eachStateful runs a test for both kinds.
func eachStateful(t *testing.T, test func(t *testing.T, kind llama.MemoryKind)) {
	t.Parallel()
	for _, kind := range stateful {
		t.Run(fmt.Sprint(kind), func(t *testing.T) {
			t.Parallel()
			test(t, kind)
		})
	}
}

func TestStatesOfPrompts(t *testing.T) {
	eachStateful(t, func(t *testing.T, kind llama.MemoryKind) {
		r := newRig(t, 8192, ofKind(kind, nil))
		u := r.tell(t, system(trunk, "one"))
		require.Zero(t, u.CachedTokens)
		require.Equal(t, u.PromptTokens, r.mem.decoded-u.CompletionTokens)

		// Another question: all but that comes from the state at the end of the system text.
		before := r.mem.decoded
		second := r.tell(t, system(trunk, "two"))
		require.Greater(t, second.CachedTokens, len(trunk))
		require.Less(t, second.EvaluatedTokens, 60)
		require.Equal(t, second.EvaluatedTokens, r.mem.decoded-before-second.CompletionTokens, "no more was computed than is told")

		// The same question again: all but the token whose logits are needed.
		require.Equal(t, 1, r.tell(t, system(trunk, "one")).EvaluatedTokens)

		// A reply that comes back in other words is computed, and nothing before it.
		talk := append(system(trunk, "one"), llms.TextParts(llms.ChatMessageTypeAI, "not what it said"), llms.TextParts(llms.ChatMessageTypeHuman, "and?"))
		require.Equal(t, u.PromptTokens-1, r.tell(t, talk).CachedTokens)
		// One that comes back as it was is in the sequence that goes on.
		resp, err := r.GenerateContent(t.Context(), system(trunk, "three"))
		require.NoError(t, err)
		talk = append(system(trunk, "three"), llms.TextParts(llms.ChatMessageTypeAI, resp.Choices[0].Content), llms.TextParts(llms.ChatMessageTypeHuman, "and?"))
		require.GreaterOrEqual(t, r.tell(t, talk).CachedTokens, UsageOf(resp).PromptTokens+len(resp.Choices[0].Content)-1)

		s := r.Stats()
		require.Equal(t, len(r.sched.states.list), s.States)
		require.Equal(t, r.sched.states.bytes, s.StateBytes)
		require.Positive(t, s.StateBytes)
	})
}

// Cells of other sequences push out those that states need; then the states are of no use, and go first.
func TestStatesWithoutTheirCells(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1200, ofKind(llama.MemoryMixed, nil))
	r.tell(t, system(trunk, "one"))
	for i := range 4 {
		r.tell(t, user(strings.Repeat(fmt.Sprint(i), 900)))
	}
	u := r.tell(t, system(trunk, "two"))
	require.Zero(t, u.CachedTokens)
	require.Greater(t, r.tell(t, system(trunk, "three")).CachedTokens, len(trunk))
	// A recurrent model has no cells, so its states outlive the sequences.
	r = newRig(t, 1200, ofKind(llama.MemoryState, func(_ *rig, c *Config) { c.Parallel = 1 }))
	r.tell(t, system(trunk, "one"))
	for i := range 20 {
		r.tell(t, user(strings.Repeat(fmt.Sprint(i), 30)))
	}
	require.Greater(t, r.tell(t, system(trunk, "two")).CachedTokens, len(trunk))
}

func TestStatesHaveALimit(t *testing.T) {
	eachStateful(t, func(t *testing.T, kind llama.MemoryKind) {
		limit := int64(3 * 4 * 800)
		r := newRig(t, 8192, ofKind(kind, func(_ *rig, c *Config) { c.StateMaxBytes = limit }))
		for i := range 12 {
			u := r.tell(t, system(trunk, fmt.Sprint("question ", i)))
			require.LessOrEqual(t, r.Stats().StateBytes, limit)
			require.Equal(t, i > 0, u.CachedTokens > len(trunk), "the state of the system text goes last (%d)", i)
		}
		none := newRig(t, 8192, ofKind(kind, func(_ *rig, c *Config) { c.StateMaxBytes = 1 }))
		for range 2 {
			require.Less(t, none.tell(t, system(trunk, "x")).CachedTokens, 1)
		}
		require.Zero(t, none.Stats().States)
	})
	require.ErrorContains(t, Config{ModelPath: "m", StateMaxBytes: -1}.withDefaults().validate(), "-1 for running states is negative")
}

// A lone call is cancelled in the middle of a batch, which spoils the running state; the next one goes back.
func TestCancelAndGoBack(t *testing.T) {
	eachStateful(t, func(t *testing.T, kind llama.MemoryKind) {
		var reached, proceed chan struct{}
		r := newRig(t, 8192, ofKind(kind, func(r *rig, _ *Config) { reached, proceed = stopAt(r) }))
		r.tell(t, system(trunk, "one"))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		marks := "two" + strings.Repeat("a", 50) + string(marked) + strings.Repeat("b", 50)
		go func() {
			_, err := r.GenerateContent(ctx, system(trunk, marks))
			done <- err
		}()
		await(t, reached, "prefill")
		cancel()
		require.Eventually(t, r.mem.aborted.Load, soon, soon/1e6)
		close(proceed)
		require.ErrorIs(t, await(t, done, "end of the call"), context.Canceled)
		r.mem.before = nil
		u := r.tell(t, system(trunk, marks))
		require.Greater(t, u.CachedTokens, len(trunk))
		require.Less(t, u.CachedTokens, len(trunk)+40)
	})
}

// manual is a scheduler that a test moves on step by step.
type manual struct {
	*scheduler
	mem   *fakeMemory
	model *fakeModel
}

func newManual(kind llama.MemoryKind) *manual {
	mem := newFakeMemory(8192, 512, 4)
	mem.threads, mem.kind = 1, kind
	m := &fakeModel{mem: mem, info: llama.ModelInfo{Memory: kind}}
	return &manual{newScheduler(m, mem, Config{ModelPath: "m", Threads: 1, Parallel: 3}.withDefaults()), mem, m}
}

// add queues a request for a system text and a question.
func (m *manual) add(ctx context.Context, question string) *request {
	prompt, _ := chatML(llama.ChatRequest{Messages: []llama.ChatMessage{{Role: "system", Content: trunk}, {Role: "user", Content: question}}})
	tokens, _ := m.model.Tokenize(prompt, false, true)
	at := cuts(tokens, isFakeControl, isFakeEnd)
	at = boundaries(tokens, at[:worthKeeping(tokens, at, isFakeEnd)], isFakeControl)
	r := &request{ctx: ctx, prompt: tokens, cuts: at, worth: len(at), maxTokens: 60, events: make(chan event, 500), queued: m.now()}
	m.waiting = append(m.waiting, r)
	return r
}

func (m *manual) step() {
	m.dropCancelled()
	m.admit()
	m.tick()
}

// finish goes on until a request has ended, and returns its text and error.
func (m *manual) finish(t *testing.T, r *request) (string, error) {
	t.Helper()
	var text strings.Builder
	for range 10_000 {
		for len(r.events) > 0 {
			if e := <-r.events; e.end {
				require.Empty(t, m.mem.faults)
				return text.String(), e.err
			} else {
				text.WriteString(e.delta)
			}
		}
		m.step()
	}
	t.Fatal("a request without an end")
	return "", nil
}

// A call beside others is cancelled at the end of its batch: to break that off would cost all of them their states.
func TestCancelBesideOthers(t *testing.T) {
	eachStateful(t, func(t *testing.T, kind llama.MemoryKind) {
		m := newManual(kind)
		m.model.reply = func(string) string { return strings.Repeat("y", 50) }
		ctx, cancel := context.WithCancel(t.Context())
		goes, stays := m.add(ctx, "goes"), m.add(t.Context(), "stays")
		for stays.written < 3 || goes.written < 3 {
			m.step()
		}
		cancel()
		m.cancel(goes)
		require.False(t, m.mem.aborted.Load())
		before := m.mem.decoded
		_, err := m.finish(t, goes)
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, before+1, m.mem.decoded, "the next batch is that of the other one")
		text, err := m.finish(t, stays)
		require.NoError(t, err)
		require.Equal(t, strings.Repeat("y", 50), text)
		require.Zero(t, m.mem.wentTo)

		// One that is alone is broken off.
		ctx, cancel = context.WithCancel(t.Context())
		alone := m.add(ctx, "alone")
		m.step()
		cancel()
		m.cancel(alone)
		require.True(t, m.mem.aborted.Load())
		_, err = m.finish(t, alone)
		require.ErrorIs(t, err, context.Canceled)
	})
}

// A batch of two calls is broken off, or fails. What is computed again begins at a saved state, also for calls and sequences
// that were not in the batch; the states in the memory are not trusted.
func TestBatchesThatAreNotFinished(t *testing.T) {
	eachStateful(t, func(t *testing.T, kind llama.MemoryKind) {
		for _, failure := range []error{llama.ErrAborted, llama.ErrDecode, llama.ErrBatch} {
			m := newManual(kind)
			idle := m.add(t.Context(), "idle")
			_, err := m.finish(t, idle)
			require.NoError(t, err)
			spoken := slices.Clone(m.cache.seqs[idle.seq].tokens)
			one, two := m.add(t.Context(), "one"), m.add(t.Context(), "two")
			for one.written == 0 || two.written == 0 {
				m.step()
			}
			m.mem.decodeErr = func(b *llama.Batch) error {
				require.Len(t, m.in, 2)
				m.mem.decodeErr = nil
				if failure != llama.ErrBatch { //nolint:errorlint // the sentinel itself
					m.mem.breakOff(b, 0, b.Len())
				}
				return failure
			}
			before := m.mem.decoded
			for r, q := range map[*request]string{one: "one", two: "two"} {
				text, err := m.finish(t, r)
				if failure != llama.ErrAborted { //nolint:errorlint // the sentinel itself
					require.ErrorIs(t, err, failure)
					continue
				}
				require.NoError(t, err)
				require.Equal(t, hashReply(detokenize(r.prompt[:r.usage.PromptTokens])), text, q)
				require.Equal(t, r.usage.PromptTokens, r.usage.CachedTokens+r.usage.EvaluatedTokens)
			}
			require.Less(t, m.mem.decoded-before, 300, "the system text was not computed again")
			// The next one goes on after the idle sequence when nothing happened to that, and else begins at a state.
			after := m.add(t.Context(), "idle")
			after.prompt = append(slices.Clone(spoken), toks("and on")...)
			text, err := m.finish(t, after)
			require.NoError(t, err)
			require.Equal(t, hashReply(detokenize(after.prompt)), text)
			require.Equal(t, failure == llama.ErrBatch, after.usage.CachedTokens == len(spoken)) //nolint:errorlint // the sentinel itself
			require.GreaterOrEqual(t, after.usage.CachedTokens, idle.usage.PromptTokens-1)
		}
	})
}

// Whatever the memory refuses, replies are right.
func TestStatesThatAreRefused(t *testing.T) {
	eachStateful(t, func(t *testing.T, kind llama.MemoryKind) {
		var log logged
		r := newRig(t, 8192, ofKind(kind, func(r *rig, c *Config) { c.Logger = log.logger(); r.mem.tailErr = errFake }))
		r.tell(t, system(trunk, "one"))
		require.Zero(t, r.Stats().States)
		require.Contains(t, log.String(), "is not kept")
		r.mem.tailErr = nil
		r.tell(t, system(trunk, "two"))
		r.mem.tailErr = errFake
		u := r.tell(t, system(trunk, "three"))
		require.Zero(t, u.CachedTokens)
		require.Contains(t, log.String(), "is not used")
		r.mem.tailErr = nil
		r.tell(t, system(trunk, "four"))
		require.Greater(t, r.tell(t, system(trunk, "five")).CachedTokens, len(trunk))
	})
}

// Another process restores states from disk, goes on from them, and branches where it has restored one.
func TestStatesOnDisk(t *testing.T) {
	eachStateful(t, func(t *testing.T, kind llama.MemoryKind) {
		dir := t.TempDir()
		with := ofKind(kind, withStore(dir, nil))
		talk := append(system(trunk, "one"), llms.TextParts(llms.ChatMessageTypeAI, strings.Repeat("r", 60)), llms.TextParts(llms.ChatMessageTypeHuman, strings.Repeat("q", 60)))
		r := newRig(t, 8192, with)
		r.tell(t, talk)
		require.NoError(t, r.Close())
		require.Len(t, chunkFiles(t, dir), 2, "the ends of the system text and of the reply")

		r = newRig(t, 8192, with)
		u := r.tell(t, append(slices.Clone(talk), llms.TextParts(llms.ChatMessageTypeAI, "s"), llms.TextParts(llms.ChatMessageTypeHuman, "next")))
		require.Greater(t, u.RestoredTokens, len(trunk)+60)
		require.Equal(t, u.RestoredTokens, u.CachedTokens)
		require.Less(t, u.EvaluatedTokens, 150)
		u = r.tell(t, system(trunk, "two"))
		if kind == llama.MemoryMixed {
			require.Zero(t, u.RestoredTokens, "the state was passed on the way")
		}
		require.Greater(t, u.CachedTokens, len(trunk))
		require.NoError(t, r.Close())

		// A damaged chunk is computed.
		damage(t, dir)
		r = newRig(t, 8192, with)
		require.Zero(t, r.tell(t, talk).RestoredTokens)
	})
}
