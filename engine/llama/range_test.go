//go:build cgo && !nollama

package llama

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// ranged is a context with a text at sequence 0, cut at 16 and 40, and the logits of a question after it.
func ranged(t *testing.T) (m *Model, c *Context, toks, question []Token, want []float32) {
	t.Helper()
	m = model(t)
	c = newContext(t, m, ContextParams{})
	toks, question = tokens(t, m, passage)[:40], tokens(t, m, " How many stones were there?")
	feed(t, c, m, 0, 0, toks, 16, 24)
	want = feed(t, c, m, 0, len(toks), question, len(question))
	return m, c, toks, question, want
}

func TestRangesGiveTheSameLogits(t *testing.T) {
	t.Parallel()
	m, c, toks, question, want := ranged(t)
	before := c.SeqPosMax(0)
	first, err := c.SaveRange(0, 0, 16, nil)
	require.NoError(t, err)
	second, err := c.SaveRange(0, 16, 40, nil)
	require.NoError(t, err)
	require.Equal(t, before, c.SeqPosMax(0), "the source stays")

	// In a fresh context the states take the same cells.
	fresh := newContext(t, m, ContextParams{Sequences: 2})
	require.NoError(t, fresh.RestoreRange(1, 0, 16, first))
	require.NoError(t, fresh.RestoreRange(1, 16, 40, second))
	require.Equal(t, []int{0, 39, -1}, []int{fresh.SeqPosMin(1), fresh.SeqPosMax(1), fresh.SeqPosMax(0)})
	require.Equal(t, want, feed(t, fresh, m, 1, 40, question, len(question)))

	// A half restored, the other computed with the same cut.
	half := newContext(t, m, ContextParams{})
	require.NoError(t, half.RestoreRange(0, 0, 16, first))
	feed(t, half, m, 0, 16, toks[16:], 24)
	require.Equal(t, want, feed(t, half, m, 0, 40, question, len(question)))

	// The source goes on as before.
	require.True(t, c.SeqRemove(0, 40, -1))
	require.Equal(t, want, feed(t, c, m, 0, 40, question, len(question)))
}

func TestRangesThatAreRefused(t *testing.T) {
	t.Parallel()
	m, c, _, question, want := ranged(t)
	for _, r := range [][3]int{{0, 40, 4000}, {0, 5, 5}, {0, 7, 3}, {0, -1, 5}, {1, 0, 4}, {-1, 0, 4}, {4, 0, 4}, {300, 0, 4}, {0, 0, 1 << 30}} {
		_, err := c.SaveRange(r[0], r[1], r[2], nil)
		require.Error(t, err, "%v", r)
	}
	state, err := c.SaveRange(0, 16, 40, nil)
	require.NoError(t, err)
	end := c.SeqPosMax(0)
	refuse := func(what string, seq, p0, p1 int, state []byte) {
		require.Error(t, c.RestoreRange(seq, p0, p1, state), what)
		require.Equal(t, end, c.SeqPosMax(0), what)
		require.Equal(t, -1, c.SeqPosMax(1), what)
	}
	changed := func(at int, v uint32) []byte {
		out := slices.Clone(state)
		binary.LittleEndian.PutUint32(out[at:], v)
		return out
	}
	refuse("a sequence that ends elsewhere", 1, 16, 40, state)
	refuse("a sequence that is longer", 0, 16, 40, state)
	refuse("positions of another range", 1, 0, 24, state)
	refuse("fewer positions", 0, end+1, end+10, state)
	refuse("no state", 1, 0, 24, nil)
	refuse("a bad sequence", 4, 16, 40, state)
	for _, n := range []int{1, 12, 16, 20, len(state) / 2, len(state) - 1} {
		refuse("a cut state", 1, 0, 24, state[:n])
	}
	refuse("a longer state", 1, 0, 24, append(slices.Clone(state), 0))
	// llama.cpp would take the last of these at its word and allocate 100 GB.
	for at, v := range map[int]uint32{0: 1, 8: 2, 12: 0xFFFFFFFF} {
		refuse("a changed head", 1, 0, 24, changed(at, v))
	}
	require.True(t, c.SeqRemove(0, 40, -1))
	require.Equal(t, want, feed(t, c, m, 0, 40, question, len(question)), "nothing was changed")

}

func TestRangesWithoutRoom(t *testing.T) {
	t.Parallel()
	m, c, _, _, _ := ranged(t)
	state, err := c.SaveRange(0, 0, 40, nil)
	require.NoError(t, err)
	full := newContext(t, m, ContextParams{Size: 256})
	for seq := range 3 {
		feed(t, full, m, seq, 0, slices.Repeat([]Token{1}, 75), 64)
	}
	require.ErrorIs(t, full.RestoreRange(3, 0, 40, state), ErrNoRoom)
	require.Equal(t, -1, full.SeqPosMax(3))
	require.True(t, full.SeqRemove(1, 0, -1))
	require.NoError(t, full.RestoreRange(3, 0, 40, state))
	require.Equal(t, 39, full.SeqPosMax(3))

	closed, err := NewContext(m, ContextParams{Size: 64, Batch: 16, MicroBatch: 16, Sequences: 1, Threads: 1})
	require.NoError(t, err)
	closed.Close()
	_, err = closed.SaveRange(0, 0, 1, nil)
	require.Error(t, err)
	require.Error(t, closed.RestoreRange(0, 0, 40, state))
}

// Whatever the bytes are, restoring them neither kills the process nor leaves something behind when it fails. The head
// past the count is not searched: a store verifies what it gives.
func TestRangesOfRandomBytes(t *testing.T) {
	t.Parallel()
	_, c, _, _, _ := ranged(t)
	state, err := c.SaveRange(0, 0, 4, nil)
	require.NoError(t, err)
	rapid.Check(t, func(t *rapid.T) {
		bytes := slices.Clone(state)
		for range rapid.IntRange(1, 4).Draw(t, "changes") {
			bytes[rapid.IntRange(0, 100).Draw(t, "at")] = rapid.Byte().Draw(t, "value")
		}
		if c.RestoreRange(1, 0, 4, bytes) != nil {
			if c.SeqPosMax(1) != -1 {
				t.Fatalf("a refused state left position %d", c.SeqPosMax(1))
			}
			return
		}
		if c.SeqPosMin(1) != 0 || c.SeqPosMax(1) != 3 {
			t.Fatalf("the sequence holds %d to %d", c.SeqPosMin(1), c.SeqPosMax(1))
		}
		c.SeqRemove(1, 0, -1)
	})
}
