//go:build cgo && !nollama

package llama

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/llama-agent/llama-agent/internal/testgguf"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// window is that of the models that have one, in tokens.
const window = 24

// random returns n tokens that are words.
func random(seed uint64, n int) []Token {
	source := rand.New(rand.NewPCG(seed, 0))
	out := make([]Token, n)
	for i := range out {
		out[i] = Token(261 + source.IntN(130))
	}
	return out
}

// near requires logits that differ by rounding only, as sums over cells in another order do, in 16 bits and with flash
// attention. A single cell that is missing makes 0.04.
func near(t require.TestingT, want, got []float32, msg ...any) { within(t, 0.01, want, got, msg...) }

func within(t require.TestingT, tolerance float64, want, got []float32, msg ...any) {
	require.Len(t, got, len(want), msg...)
	most := 0.0
	for i := range want {
		most = max(most, math.Abs(float64(want[i]-got[i])))
	}
	require.Less(t, most, tolerance, msg...)
}

func TestMemoryKinds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		file testgguf.File
		want MemoryKind
	}{
		{"llama", testgguf.Llama(), MemoryCells},
		{"gemma3", testgguf.Gemma3(window), MemoryWindow},
		{"mamba", testgguf.Mamba(), MemoryState},
		{"lfm2", testgguf.LFM2(), MemoryMixed},
		{"lfm2 with a window", testgguf.LFM2Window(window), MemoryMixed},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := load(t, c.file)
			require.Equal(t, c.want, m.Info().Memory)
			ctx := newContext(t, m, ContextParams{})
			toks := random(1, 60)
			want := feed(t, ctx, m, 0, 0, toks, 20)
			require.Greater(t, slices.Max(want), float32(0.1), "a word is the likeliest token")
			other := newContext(t, m, ContextParams{})
			toks[20] = 300 // out of every window, which one layer hands on to the next
			if got := feed(t, other, m, 0, 0, toks, 20); slices.Equal(want, got) {
				t.Fatal("the logits do not depend on an early token, so nothing can be seen in them")
			}

			parts := c.want == MemoryCells || c.want == MemoryWindow
			require.Equal(t, parts, ctx.SeqRemove(0, 40, -1))
			require.Equal(t, c.want != MemoryState, ctx.SeqCopy(0, 1, 0, 10))
			require.True(t, ctx.SeqRemove(1, 0, -1))
			require.True(t, ctx.SeqCopy(0, 1, 0, ctx.SeqPosMax(0)+1))
			require.Equal(t, ctx.SeqPosMax(0), ctx.SeqPosMax(1))
			require.True(t, ctx.SeqRemove(0, 0, -1))
			if parts {
				_, err := ctx.SaveTail(1)
				require.ErrorContains(t, err, "without a running state")
				require.Error(t, ctx.RestoreTail(1, 2, 4, make([]byte, 64)))
				_, err = ctx.SaveRange(1, 0, 4, make([]byte, 64))
				require.Error(t, err)
			} else {
				_, err := ctx.SaveRange(1, 0, 4, nil)
				require.Error(t, err)
			}
		})
	}
}

// What a layer with a window no longer sees is seen again from a branch before it. llama.cpp gives such cells to other
// sequences when the cache has holes, without a word.
func TestWindowsAreKept(t *testing.T) {
	t.Parallel()
	m := load(t, testgguf.Gemma3(window))
	text, question := random(1, 100), random(2, 7)
	fresh := newContext(t, m, ContextParams{Size: 512})
	feed(t, fresh, m, 0, 0, text[:50], 50)
	want := feed(t, fresh, m, 0, 50, question, 7)

	c := newContext(t, m, ContextParams{Size: 512})
	for seq, toks := range [][]Token{random(3, 100), random(4, 60), text, random(5, 100)} {
		feed(t, c, m, seq, 0, toks, 50)
	}
	require.True(t, c.SeqRemove(1, 0, -1)) // a hole, from which the search for free cells goes on
	feed(t, c, m, 1, 0, random(6, 150), 50)
	require.Equal(t, 0, c.SeqPosMin(2))
	require.True(t, c.SeqRemove(2, 50, -1))
	near(t, want, feed(t, c, m, 2, 50, question, 7))

	// The same through another sequence, and on from there.
	require.True(t, c.SeqRemove(0, 0, -1))
	require.True(t, c.SeqCopy(2, 0, 0, 50))
	near(t, want, feed(t, c, m, 0, 50, question, 7))
	near(t, feed(t, fresh, m, 0, 57, text, 50), feed(t, c, m, 0, 57, text, 50))
	for seq := range 4 {
		require.True(t, c.SeqRemove(seq, 0, -1))
	}
	feed(t, c, m, 0, 0, random(7, 512), 64) // all cells are free again
}

// An aborted batch leaves nothing in the sequences that keep the cells of others.
func TestWindowsAfterAnAbort(t *testing.T) {
	t.Parallel()
	m := load(t, testgguf.Gemma3(window))
	text, question := random(1, 100), random(2, 7)
	c := newContext(t, m, ContextParams{})
	feed(t, c, m, 0, 0, text, 50)
	want := feed(t, c, m, 0, 100, question, 7)
	require.True(t, c.SeqRemove(0, 100, -1))
	for range 3 {
		c.Abort()
		var b Batch
		for i, tok := range question {
			b.Add(tok, 100+i, 0, true)
			b.Add(tok, i, 1, true)
		}
		require.ErrorIs(t, c.Decode(&b), ErrAborted)
		c.ResetAbort()
		require.Equal(t, 99, c.SeqPosMax(0))
		require.Equal(t, -1, c.SeqPosMax(1))
		near(t, want, feed(t, c, m, 0, 100, question, 7))
		require.True(t, c.SeqRemove(0, 100, -1))
	}
	require.ErrorIs(t, c.Decode(func() *Batch { var b Batch; b.Add(300, 7, 0, true); return &b }()), ErrBatch)
	near(t, want, feed(t, c, m, 0, 100, question, 7))
}

// states are the models whose memory cannot go back by itself.
func states() map[string]testgguf.File {
	return map[string]testgguf.File{"mamba": testgguf.Mamba(), "lfm2": testgguf.LFM2(), "lfm2 with a window": testgguf.LFM2Window(window)}
}

func TestTailsGiveTheSameLogits(t *testing.T) {
	t.Parallel()
	for name, file := range states() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := load(t, file)
			text, question := random(1, 120), random(2, 7)
			c := newContext(t, m, ContextParams{})
			feed(t, c, m, 0, 0, text[:50], 50)
			tail, err := c.SaveTail(0)
			require.NoError(t, err)
			want := feed(t, c, m, 0, 50, question, 7)
			feed(t, c, m, 0, 57, text[50:], 35)

			// Into another sequence, while the first one stays; cells have moved, nothing else.
			after := feed(t, c, m, 0, 127, question, 7)
			require.NoError(t, c.RestoreTail(0, 1, 50, tail))
			require.Equal(t, 49, c.SeqPosMax(1))
			near(t, want, feed(t, c, m, 1, 50, question, 7), "another sequence")
			require.Equal(t, 133, c.SeqPosMax(0))

			// In place, twice: the state is still that of position 50.
			for range 2 {
				require.NoError(t, c.RestoreTail(0, 0, 50, tail))
				near(t, want, feed(t, c, m, 0, 50, question, 7), "in place")
			}
			feed(t, c, m, 0, 57, text[50:], 35)
			near(t, after, feed(t, c, m, 0, 127, question, 7))

			// A copy of a whole sequence is one of its state too.
			require.NoError(t, c.RestoreTail(1, 1, 50, tail))
			require.True(t, c.SeqRemove(2, 0, -1))
			require.True(t, c.SeqCopy(1, 2, 0, 50))
			again, err := c.SaveTail(2)
			require.NoError(t, err)
			require.Equal(t, len(tail), len(again))
			near(t, want, feed(t, c, m, 2, 50, question, 7), "a copy")
			near(t, want, feed(t, c, m, 1, 50, question, 7), "its source")

			// A state needs the cells of a sequence, or none when there are no cells.
			fresh := newContext(t, m, ContextParams{})
			if m.Info().Memory == MemoryState {
				require.NoError(t, fresh.RestoreTail(-1, 3, 50, tail))
				require.Equal(t, want, feed(t, fresh, m, 3, 50, question, 7), "the same bits")
			} else {
				require.Error(t, fresh.RestoreTail(-1, 3, 50, tail))
				require.Error(t, fresh.RestoreTail(0, 3, 50, tail), "an empty source")
				feed(t, fresh, m, 0, 0, text[:49], 49)
				require.Error(t, fresh.RestoreTail(0, 3, 50, tail), "a source that is too short")
				require.Equal(t, -1, fresh.SeqPosMax(3))
			}
		})
	}
}

func TestTailsThatAreRefused(t *testing.T) {
	t.Parallel()
	for name, file := range states() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := load(t, file)
			c := newContext(t, m, ContextParams{})
			text, question := random(1, 50), random(2, 7)
			feed(t, c, m, 0, 0, text, 50)
			tail, err := c.SaveTail(0)
			require.NoError(t, err)
			want := feed(t, c, m, 0, 50, question, 7)
			for _, bad := range []int{1, 2, 3, -1, 4, 400} {
				_, err := c.SaveTail(bad)
				require.Error(t, err, "%d", bad)
			}
			for _, bad := range [][3]int{{0, 1, 0}, {0, 1, -3}, {0, 4, 50}, {0, -1, 50}, {4, 1, 50}, {-2, 1, 50}} {
				require.Error(t, c.RestoreTail(bad[0], bad[1], bad[2], tail), "%v", bad)
			}
			for _, end := range []int{1, 49, 51, 57, 58, 1 << 30} {
				require.Error(t, c.RestoreTail(0, 1, end, tail), "%d", end)
				require.Equal(t, -1, c.SeqPosMax(1))
			}
			for _, n := range []int{0, 1, 15, 16, 40, len(tail) / 2, len(tail) - 1} {
				require.Error(t, c.RestoreTail(0, 1, 50, tail[:n]), "%d bytes", n)
				require.Equal(t, -1, c.SeqPosMax(1))
			}
			require.Error(t, c.RestoreTail(0, 1, 50, append(slices.Clone(tail), 0)))
			require.NoError(t, c.RestoreTail(0, 1, 50, tail))
			near(t, want, feed(t, c, m, 1, 50, question, 7))
			c.Close()
			_, err = c.SaveTail(0)
			require.Error(t, err)
			require.Error(t, c.RestoreTail(0, 1, 50, tail))
		})
	}
}

// A store keeps the cells of a range together with the running state at its end.
func TestRangesWithTails(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"mamba", "lfm2"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := load(t, states()[name])
			text, question := random(1, 80), random(2, 7)
			c := newContext(t, m, ContextParams{})
			feed(t, c, m, 0, 0, text[:30], 30)
			at30, err := c.SaveTail(0)
			require.NoError(t, err)
			feed(t, c, m, 0, 30, text[30:], 50)
			at80, err := c.SaveTail(0)
			require.NoError(t, err)
			want := feed(t, c, m, 0, 80, question, 7)

			first, err := c.SaveRange(0, 0, 30, at30)
			require.NoError(t, err)
			second, err := c.SaveRange(0, 30, 80, at80)
			require.NoError(t, err)
			_, err = c.SaveRange(0, 0, 31, at30)
			require.Error(t, err, "a state of another position")
			_, err = c.SaveRange(0, 0, 30, nil)
			require.Error(t, err)
			require.Equal(t, 86, c.SeqPosMax(0), "the source stays")

			fresh := newContext(t, m, ContextParams{})
			require.NoError(t, fresh.RestoreRange(2, 0, 30, first))
			require.Error(t, fresh.RestoreRange(2, 30, 79, second))
			require.Equal(t, 29, fresh.SeqPosMax(2))
			require.NoError(t, fresh.RestoreRange(2, 30, 80, second))
			require.Equal(t, want, feed(t, fresh, m, 2, 80, question, 7), "the same bits")

			half := newContext(t, m, ContextParams{})
			require.NoError(t, half.RestoreRange(0, 0, 30, first))
			feed(t, half, m, 0, 30, text[30:], 50)
			require.Equal(t, want, feed(t, half, m, 0, 80, question, 7))
		})
	}
	m := load(t, testgguf.LFM2Window(window))
	c := newContext(t, m, ContextParams{})
	feed(t, c, m, 0, 0, random(1, 30), 30)
	tail, err := c.SaveTail(0)
	require.NoError(t, err)
	_, err = c.SaveRange(0, 0, 30, tail)
	require.ErrorContains(t, err, "does not give a part", "its windows would be there twice")
}

// Chunks of a model with windows hold all cells when they are no longer than the window, and are refused when not: a branch
// from within one would miss some.
func TestRangesOfWindows(t *testing.T) {
	t.Parallel()
	m := load(t, testgguf.Gemma3(window))
	text, question := random(1, 60), random(2, 7)
	c := newContext(t, m, ContextParams{})
	feed(t, c, m, 0, 0, text, 20)
	want := feed(t, c, m, 0, 60, question, 7)
	fresh := newContext(t, m, ContextParams{})
	for p := 0; p < 60; p += 20 {
		state, err := c.SaveRange(0, p, p+20, nil)
		require.NoError(t, err)
		require.NoError(t, fresh.RestoreRange(1, p, p+20, state))
	}
	require.Equal(t, 0, fresh.SeqPosMin(1))
	require.Equal(t, want, feed(t, fresh, m, 1, 60, question, 7), "the same bits")
	require.True(t, fresh.SeqRemove(1, 60, -1))
	require.True(t, fresh.SeqRemove(1, 33, -1))
	require.True(t, c.SeqRemove(0, 33, -1))
	near(t, feed(t, c, m, 0, 33, question, 7), feed(t, fresh, m, 1, 33, question, 7))

	long, err := newContextWith(t, m, text).SaveRange(0, 0, 60, nil)
	if err == nil {
		require.Error(t, fresh.RestoreRange(2, 0, 60, long))
		require.Equal(t, -1, fresh.SeqPosMax(2))
	}
}

func newContextWith(t *testing.T, m *Model, text []Token) *Context {
	c := newContext(t, m, ContextParams{})
	feed(t, c, m, 0, 0, text, 20)
	return c
}

// Whatever is dropped, copied, saved and gone back to, a sequence answers as a fresh one with the same tokens.
func TestMemoryKindsProperty(t *testing.T) {
	t.Parallel()
	type saved struct {
		tokens []Token
		tail   []byte
	}
	for name, file := range map[string]testgguf.File{"gemma3": testgguf.Gemma3(window), "mamba": testgguf.Mamba(), "lfm2": testgguf.LFM2(), "lfm2 with a window": testgguf.LFM2Window(window)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := load(t, file)
			stateful := m.Info().Memory != MemoryWindow
			rapid.Check(t, func(t *rapid.T) {
				const sequences = 3
				open := func() *Context {
					c, err := NewContext(m, ContextParams{Size: 256, Batch: 64, MicroBatch: 16, Sequences: sequences, Threads: 1, FlashAttention: 0, KVType: KVF32})
					require.NoError(t, err)
					return c
				}
				c := open()
				defer c.Close()
				fresh := open()
				defer fresh.Close()
				var held [sequences][]Token
				var tails []saved
				say := func(c *Context, seq, pos int, toks []Token) []float32 {
					var b Batch
					row := 0
					for i, tok := range toks {
						row = b.Add(tok, pos+i, seq, i == len(toks)-1)
					}
					require.NoError(t, c.Decode(&b))
					return c.Logits(row, m.Info().Vocab)
				}
				for range rapid.IntRange(5, 25).Draw(t, "steps") {
					seq := rapid.IntRange(0, sequences-1).Draw(t, "seq")
					other := rapid.IntRange(0, sequences-1).Draw(t, "other")
					switch rapid.IntRange(0, 4).Draw(t, "op") {
					case 0, 1:
						toks := random(rapid.Uint64().Draw(t, "seed"), rapid.IntRange(1, 30).Draw(t, "n"))
						if len(held[seq])+len(toks) > 75 {
							require.True(t, c.SeqRemove(seq, 0, -1))
							held[seq] = nil
						}
						got := say(c, seq, len(held[seq]), toks)
						held[seq] = append(slices.Clone(held[seq]), toks...)
						fresh.Clear()
						for rest, pos := held[seq], 0; len(rest) > 0; {
							n := min(len(rest), 64)
							want := say(fresh, 0, pos, rest[:n])
							if rest, pos = rest[n:], pos+n; len(rest) == 0 {
								within(t, 0.005, want, got) // Gemma looks up an activation in 16 bits
							}
						}
					case 2:
						if other == seq {
							continue
						}
						require.True(t, c.SeqRemove(other, 0, -1))
						held[other] = nil
						end := len(held[seq])
						if !stateful && end > 0 {
							end = rapid.IntRange(0, end).Draw(t, "end")
						}
						if end > 0 {
							require.True(t, c.SeqCopy(seq, other, 0, end))
							held[other] = held[seq][:end]
						}
					case 3:
						if stateful && len(held[seq]) > 0 {
							tail, err := c.SaveTail(seq)
							require.NoError(t, err)
							tails = append(tails, saved{held[seq], tail})
						} else if end := rapid.IntRange(0, len(held[seq])).Draw(t, "end"); !stateful {
							require.True(t, c.SeqRemove(seq, end, -1))
							held[seq] = held[seq][:end]
						}
					case 4:
						for _, s := range tails {
							if end := len(s.tokens); len(held[seq]) >= end && slices.Equal(held[seq][:end], s.tokens) {
								require.NoError(t, c.RestoreTail(seq, other, end, s.tail))
								held[other] = s.tokens
								break
							}
						}
					}
				}
			})
		})
	}
}

// A batch of several micro-batches in a cache with holes: llama.cpp gives cells to the last of them before it has computed the
// first, which still sees those.
func TestWindowsOfSeveralMicroBatches(t *testing.T) {
	t.Parallel()
	for name, file := range map[string]testgguf.File{"gemma3": testgguf.Gemma3(window), "lfm2": testgguf.LFM2Window(window)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := load(t, file)
			small := ContextParams{Size: 256, Batch: 64, MicroBatch: 16}
			text, filler := random(1, 48), random(2, 40)
			want := feed(t, newContext(t, m, small), m, 0, 0, text, 1)
			c := newContext(t, m, small)
			feed(t, c, m, 0, 0, text[:3], 3)
			feed(t, c, m, 1, 0, filler[:7], 7)
			feed(t, c, m, 0, 3, text[3:22], 19)
			if m.Info().Memory == MemoryMixed {
				tail, err := c.SaveTail(0)
				require.NoError(t, err)
				feed(t, c, m, 1, 7, filler[7:], 33)
				feed(t, c, m, 0, 22, filler[:6], 6)
				require.True(t, c.SeqRemove(1, 0, -1))
				require.NoError(t, c.RestoreTail(0, 0, 22, tail))
			} else {
				feed(t, c, m, 1, 7, filler[7:], 33)
				feed(t, c, m, 0, 22, filler[:6], 6)
				require.True(t, c.SeqRemove(1, 0, -1))
				require.True(t, c.SeqRemove(0, 22, -1))
			}
			near(t, want, feed(t, c, m, 0, 22, text[22:], 26))
		})
	}
}
