package engine

import (
	"slices"
	"strings"
	"testing"

	"github.com/llama-agent/llama-agent/engine/llama"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func isFakeControl(t llama.Token) bool { return t >= fakeEnd }
func isFakeEnd(t llama.Token) bool     { return t == fakeEnd }

// letters makes tokens: letters for text, | for the token that ends a message.
func letters(text string) []llama.Token {
	out := make([]llama.Token, 0, len(text))
	for _, b := range []byte(text) {
		if b == '|' {
			out = append(out, fakeEnd)
		} else {
			out = append(out, llama.Token(b))
		}
	}
	return out
}

func TestCuts(t *testing.T) {
	t.Parallel()
	a := func(n int) string { return strings.Repeat("a", n) }
	for _, c := range []struct {
		name, text string
		cuts       []int
		worth      int
	}{
		{"short", a(20) + "|" + a(5), nil, 0},
		{"one message", a(40) + "|" + a(5), nil, 0},
		{"two messages", a(40) + "|" + a(60) + "|" + a(5), []int{40}, 1},
		{"a short message between", a(40) + "|" + a(3) + "|" + a(60) + "|" + a(5), []int{40}, 1},
		{"control tokens in a row", a(40) + "|||" + a(60), []int{40}, 1},
		{"a long message", a(600), []int{256, 512}, 2},
		{"a long last message", a(40) + "|" + a(600) + "|" + a(3), []int{40, 296, 552}, 3},
		{"nothing after the last cut", a(40) + "|" + a(60) + "|", []int{40}, 1},
		{"a cut needs a token after it", a(256), nil, 0},
		{"no end", a(300), []int{256}, 1},
	} {
		p := letters(c.text)
		got := cuts(p, isFakeControl, isFakeEnd)
		require.Equal(t, c.cuts, got, c.name)
		require.Equal(t, c.worth, worthKeeping(p, got, isFakeEnd), c.name)
	}
}

func TestCutsOfCommonStarts(t *testing.T) {
	t.Parallel()
	text := rapid.StringMatching(`([ab]{0,80}\|){0,8}[ab]{0,300}`)
	rapid.Check(t, func(rt *rapid.T) {
		start := text.Draw(rt, "start")
		p, q := letters(start+text.Draw(rt, "one")), letters(start+text.Draw(rt, "other"))
		cp, cq := cuts(p, isFakeControl, isFakeEnd), cuts(q, isFakeControl, isFakeEnd)
		n := min(commonPrefix(p, q), lastFakeEnd(p), lastFakeEnd(q))
		below := func(cuts []int) []int { return cuts[:len(cuts)-countFrom(cuts, n)] }
		require.Equal(rt, append([]int{}, below(cp)...), append([]int{}, below(cq)...))
		last := 0
		for _, c := range cp {
			require.LessOrEqual(rt, c-last, prefillChunk)
			require.GreaterOrEqual(rt, c-last, minCut)
			last = c
		}
		require.LessOrEqual(rt, len(p)-last-1, prefillChunk)
		require.Less(rt, last, max(len(p), 1))
	})
}

// lastFakeEnd is where the last message ends, or the length of a prompt without one.
func lastFakeEnd(p []llama.Token) int {
	for i := len(p) - 1; i >= 0; i-- {
		if isFakeEnd(p[i]) {
			return i
		}
	}
	return len(p)
}

// countFrom counts the cuts at n and after it.
func countFrom(cuts []int, n int) int {
	i, _ := slices.BinarySearch(cuts, n)
	return len(cuts) - i
}

func TestExactPrefix(t *testing.T) {
	t.Parallel()
	cuts := []int{40, 100, 300}
	for _, c := range []struct{ exact, keep, want int }{
		{0, 0, 0}, {300, 300, 300}, {300, 320, 300}, {100, 300, 100}, {300, 299, 100}, {300, 100, 40}, {100, 100, 100},
		{300, 40, 0}, {50, 50, 40}, {0, 300, 0}, {300, 0, 0},
	} {
		require.Equal(t, c.want, exactPrefix(cuts, c.exact, c.keep), "%+v", c)
	}
}
