package engine

import (
	"testing"

	"github.com/llama-agent/llama-agent/engine/llama"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func toks(s string) []llama.Token {
	out := make([]llama.Token, len(s))
	for i := range s {
		out[i] = llama.Token(s[i])
	}
	return out
}

// cacheOf builds a cache; a text that begins with * is of a busy sequence. Later sequences were used later.
func cacheOf(canTrim bool, texts ...string) *seqCache {
	c := newSeqCache(len(texts), canTrim)
	for i, s := range texts {
		busy := len(s) > 0 && s[0] == '*'
		if busy {
			s = s[1:]
		}
		c.seqs[i].tokens, c.seqs[i].busy = toks(s), busy
		if s != "" || busy {
			c.touch(i)
		}
	}
	return c
}

func TestSeqCachePlace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		noTrim  bool
		seqs    []string
		prompt  string
		want    placement
		refused bool
	}{
		{name: "empty cache", seqs: []string{"", ""}, prompt: "abc", want: placement{0, 0, 0}},
		{name: "continue a whole sequence", seqs: []string{"xyz", "abc"}, prompt: "abcd", want: placement{1, 1, 3}},
		{name: "branch into an empty one", seqs: []string{"abcX", ""}, prompt: "abcd", want: placement{0, 1, 3}},
		{name: "branch into the least recently used", seqs: []string{"abcX", "old", "new"}, prompt: "abcd", want: placement{0, 1, 3}},
		{name: "the longest prefix", seqs: []string{"ab", "abcX", "a", ""}, prompt: "abcd", want: placement{1, 3, 3}},
		{name: "equal: the one that is used up whole", seqs: []string{"abcX", "abc", ""}, prompt: "abcd", want: placement{1, 1, 3}},
		{name: "one token is left to compute", seqs: []string{"abc", ""}, prompt: "abc", want: placement{0, 1, 2}},
		{name: "a prompt that a sequence goes beyond", seqs: []string{"abcdef", ""}, prompt: "abc", want: placement{0, 1, 2}},
		{name: "share with a busy one", seqs: []string{"*abc", ""}, prompt: "abcd", want: placement{0, 1, 3}},
		{name: "an idle twin before a busy one", seqs: []string{"*abc", "abc", ""}, prompt: "abcd", want: placement{1, 1, 3}},
		{name: "only its own tail is left to overwrite", seqs: []string{"*q", "abcX"}, prompt: "abcd", want: placement{1, 1, 3}},
		{name: "busy source, no other", seqs: []string{"*abc"}, prompt: "abcd", refused: true},
		{name: "all busy", seqs: []string{"*a", "*b"}, prompt: "c", refused: true},
		{name: "nothing in common", seqs: []string{"old", "new"}, prompt: "abc", want: placement{0, 0, 0}},
		{name: "one token", seqs: []string{"a", ""}, prompt: "a", want: placement{1, 1, 0}},
		{name: "no trim: whole sequence", noTrim: true, seqs: []string{"abc", "abcX"}, prompt: "abcd", want: placement{0, 0, 3}},
		{name: "no trim: no part of one", noTrim: true, seqs: []string{"abcX", ""}, prompt: "abcd", want: placement{1, 1, 0}},
		{name: "no trim: copy of a whole busy one", noTrim: true, seqs: []string{"*abc", ""}, prompt: "abcd", want: placement{0, 1, 3}},
		{name: "no trim: not the whole prompt", noTrim: true, seqs: []string{"abc", ""}, prompt: "abc", want: placement{1, 1, 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, ok := cacheOf(!c.noTrim, c.seqs...).place(toks(c.prompt))
			require.Equal(t, !c.refused, ok)
			require.Equal(t, c.want, got)
		})
	}
}

func TestSeqCacheEvictable(t *testing.T) {
	t.Parallel()
	require.Equal(t, -1, cacheOf(true, "", "*busy").evictable())
	require.Equal(t, 2, cacheOf(true, "", "*busy", "old", "new").evictable())
	c := cacheOf(true, "old", "new")
	c.touch(0)
	require.Equal(t, 1, c.evictable())
	require.Equal(t, 6, c.cachedTokens())
}

func TestSeqCacheProperty(t *testing.T) {
	t.Parallel()
	text := rapid.StringMatching(`[ab]{1,8}`)
	rapid.Check(t, func(rt *rapid.T) {
		c := newSeqCache(rapid.IntRange(1, 5).Draw(rt, "sequences"), rapid.Bool().Draw(rt, "canTrim"))
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			if rapid.IntRange(0, 2).Draw(rt, "op") == 0 {
				i := rapid.IntRange(0, len(c.seqs)-1).Draw(rt, "finished")
				c.seqs[i].busy = false
				c.touch(i)
				continue
			}
			prompt := toks(text.Draw(rt, "prompt"))
			longest, idle := 0, 0
			for _, s := range c.seqs {
				keep := min(commonPrefix(s.tokens, prompt), len(prompt)-1)
				if c.canTrim || keep == len(s.tokens) {
					longest = max(longest, keep)
				}
				if !s.busy {
					idle++
				}
			}
			p, ok := c.place(prompt)
			if !ok {
				require.Zero(rt, idle, "an idle sequence was not used")
				continue
			}
			src, dst := &c.seqs[p.src], &c.seqs[p.dst]
			require.False(rt, dst.busy)
			require.Less(rt, p.keep, len(prompt))
			require.Equal(rt, longest, p.keep, "a longer prefix was there")
			require.Equal(rt, prompt[:p.keep], append([]llama.Token{}, src.tokens[:p.keep]...))
			if !c.canTrim && p.keep > 0 {
				require.Len(rt, src.tokens, p.keep)
			}
			if p.src != p.dst || p.keep == 0 {
				for i, s := range c.seqs {
					if s.busy || i == p.dst || i == p.src && p.keep > 0 || len(dst.tokens) == 0 {
						continue
					}
					require.NotEmpty(rt, s.tokens, "an empty sequence was free")
					require.GreaterOrEqual(rt, s.lastUse, dst.lastUse, "an older sequence was free")
				}
			}
			reply := toks(text.Draw(rt, "reply"))
			dst.tokens = append(append([]llama.Token{}, prompt...), reply...)
			dst.busy = true
			c.touch(p.dst)
		}
	})
}
