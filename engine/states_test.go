package engine

import (
	"slices"
	"strings"
	"testing"

	"github.com/llama-agent/llama-agent/engine/llama"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func always(*savedState) bool { return true }

func stateOf(text string, bytes int) *savedState {
	return &savedState{tokens: toks(text), data: make([]byte, bytes)}
}

func textsOf(c *stateCache) []string {
	var out []string
	for _, s := range c.list {
		out = append(out, detokenize(s.tokens))
	}
	slices.Sort(out)
	return out
}

func TestStateCache(t *testing.T) {
	t.Parallel()
	c := newStateCache(100)
	require.Nil(t, c.longest(toks("abc"), always))
	for _, s := range []string{"a", "ab", "abcd", "x"} {
		c.add(stateOf(s, 20), always)
	}
	require.Equal(t, "ab", detokenize(c.longest(toks("abc"), always).tokens))
	require.Equal(t, "abcd", detokenize(c.longest(toks("abcd"), always).tokens))
	require.Equal(t, "a", detokenize(c.longest(toks("abc"), func(s *savedState) bool { return len(s.tokens) < 2 }).tokens))
	require.Nil(t, c.longest(toks("y"), always))
	require.Nil(t, c.find(toks("abc")))
	require.NotNil(t, c.find(toks("abcd")))

	c.add(stateOf("ab", 30), always)
	require.EqualValues(t, 90, c.bytes, "the same tokens are there once")
	c.add(stateOf("abz", 20), always) // a is used as the start of abz, ab was added last
	require.Equal(t, []string{"a", "ab", "abz", "x"}, textsOf(c), "abcd was used longest ago")
	c.use(c.find(toks("x")))
	c.add(stateOf("abzz", 25), always)
	require.Equal(t, []string{"a", "abz", "abzz", "x"}, textsOf(c))
	c.add(stateOf("k", 20), func(s *savedState) bool { return detokenize(s.tokens) != "abzz" })
	require.Equal(t, []string{"a", "abz", "k", "x"}, textsOf(c), "one that is of no use goes first")
	c.add(stateOf("large", 101), always)
	require.Equal(t, []string{"a", "abz", "k", "x"}, textsOf(c))
	c.drop(stateOf("a", 1))
	require.Len(t, c.list, 4, "a state that is not there")
	c.add(stateOf("all", 100), always)
	require.Equal(t, []string{"all"}, textsOf(c))

	many := newStateCache(1 << 20)
	for i := range mostStates + 10 {
		many.add(stateOf("s"+strings.Repeat("t", i), 1), always)
	}
	require.Len(t, many.list, mostStates)
	require.NotNil(t, many.find(toks("s")), "the shortest is the start of all")
	require.Nil(t, many.find(toks("st")))
}

// Beside a plain list in order of use, which does the same the slow way.
func TestStateCacheProperty(t *testing.T) {
	t.Parallel()
	type entry struct {
		text string
		size int
	}
	text := rapid.StringMatching(`[ab]{1,5}`)
	rapid.Check(t, func(rt *rapid.T) {
		most := rapid.IntRange(1, 60).Draw(rt, "most")
		c := newStateCache(int64(most))
		var naive []entry // used longest ago first
		toEnd := func(text string) {
			i := slices.IndexFunc(naive, func(e entry) bool { return e.text == text })
			e := naive[i]
			naive = append(slices.Delete(naive, i, i+1), e)
		}
		use := func(text string) {
			toEnd(text)
			for n := 1; n < len(text); n++ {
				if slices.ContainsFunc(naive, func(e entry) bool { return e.text == text[:n] }) {
					toEnd(text[:n])
					return
				}
			}
		}
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			s := text.Draw(rt, "text")
			switch rapid.IntRange(0, 2).Draw(rt, "op") {
			case 0, 1:
				size := rapid.IntRange(1, 25).Draw(rt, "size")
				c.add(stateOf(s, size), always)
				if size > most {
					break
				}
				naive = slices.DeleteFunc(naive, func(e entry) bool { return e.text == s })
				naive = append(naive, entry{s, size})
				use(s)
				for {
					sum := 0
					for _, e := range naive {
						sum += e.size
					}
					if sum <= most {
						break
					}
					i := slices.IndexFunc(naive, func(e entry) bool { return e.text != s })
					naive = slices.Delete(naive, i, i+1)
				}
			case 2:
				want := ""
				for _, e := range naive {
					if strings.HasPrefix(s, e.text) && len(e.text) > len(want) {
						want = e.text
					}
				}
				got := c.longest(toks(s), always)
				if want == "" {
					require.Nil(rt, got)
					break
				}
				require.NotNil(rt, got)
				require.Equal(rt, want, detokenize(got.tokens))
				c.use(got)
				use(want)
			}
			var texts []string
			sum := int64(0)
			for _, e := range naive {
				texts = append(texts, e.text)
				sum += int64(e.size)
			}
			slices.Sort(texts)
			require.Equal(rt, texts, textsOf(c))
			require.Equal(rt, sum, c.bytes)
		}
	})
}

func TestBoundaries(t *testing.T) {
	t.Parallel()
	control := func(t llama.Token) bool { return t == '<' }
	prompt := toks(strings.Repeat("s", 600) + "<" + strings.Repeat("u", 600) + "<" + strings.Repeat("v", 600))
	for _, c := range []struct{ cuts, want []int }{
		{nil, nil},
		{[]int{256, 512}, []int{256, 512}},
		{[]int{256, 512, 600}, []int{600}},
		{[]int{256, 512, 600, 856, 1112}, []int{600, 856, 1112}},
		{[]int{256, 512, 600, 856, 1112, 1201, 1457}, []int{600, 1201, 1457}},
	} {
		require.Equal(t, c.want, boundaries(prompt, c.cuts, control), "%v", c.cuts)
	}
}
