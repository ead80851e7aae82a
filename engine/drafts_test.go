package engine

import (
	"strings"
	"testing"
	"time"

	"github.com/llama-agent/llama-agent/engine/llama"
	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/llms"
	"pgregory.net/rapid"
)

func TestDraftLength(t *testing.T) {
	t.Parallel()
	// cost of a batch: one step, and each further token a share of it
	costs := func(share float64) func(int) time.Duration {
		return func(n int) time.Duration { return time.Duration(float64(time.Second) * (1 + share*float64(n-1))) }
	}
	for _, c := range []struct {
		rate    float64
		guesses int
		cost    func(int) time.Duration
		want    int
	}{
		{1, 9, costs(0.1), 7},
		{1, 6, costs(0.1), 3},
		{1, 2, costs(0.1), 1},
		{1, 0, costs(0.1), 0},
		{1, 9, costs(0.7), 7},
		{0.9, 9, costs(0.7), 1},
		{0.7, 9, costs(0.7), 0},
		{0.5, 9, costs(0.1), 3},
		{0, 9, costs(0.01), 0},
		{1, 9, costs(1.2), 0}, // as some kernels are
		{1, 9, costs(0.96), 0},
		{1, 9, func(int) time.Duration { return 0 }, 0},
		{firstRate, 9, func(n int) time.Duration { return time.Duration(n&1) * time.Second }, 0}, // nothing is tried at first
		{0.9, 1, func(n int) time.Duration { return time.Duration(n&1) * time.Second }, 1},       // not known, and worth a try
	} {
		require.Equal(t, c.want, draftLength(c.rate, c.guesses, c.cost), "%+v", c)
	}
}

func TestDraftsGuess(t *testing.T) {
	t.Parallel()
	tokens := func(s string) (out []llama.Token) {
		for _, c := range s {
			out = append(out, llama.Token(c))
		}
		return out
	}
	stop := func(t llama.Token) bool { return t == '|' }
	for _, c := range [][3]string{
		{"xabcdefgh yabc", "", "defgh yabc"},
		{"xabcde zabcfg a", "bc", "fg abc"}, // the last place
		{"xabc|d", "abc", ""},
		{"xabcd|e", "abc", "d"},
		{"xyz", "", ""},
		{"ab", "", ""},
		{"", "", ""},
		{"aaaaa", "", "a"},
	} {
		d := &drafts{}
		d.look(tokens(c[0]), tokens(c[1]), stop)
		require.Equal(t, c[2], detokenize(d.next), c)
	}

	d := &drafts{next: tokens("abcx"), rate: 0.5}
	d.said('a', true)
	require.InDelta(t, 0.5625, d.rate, 1e-9)
	d.said('b', false)
	require.InDelta(t, 0.5625, d.rate, 1e-9, "what is forced proves nothing")
	require.Equal(t, "cx", detokenize(d.next))
	d.look(tokens("cxc"), nil, stop)
	require.Equal(t, "cx", detokenize(d.next), "a guess is kept as long as it is right")
	d.said('x', true)
	require.Empty(t, d.next)
	require.Less(t, d.rate, 0.5625)
	d.said('y', true)
}

// copies is a fake reply that repeats parts of its prompt, with something new in between.
func copies(prompt string) string {
	h := hashReply(prompt)
	var b strings.Builder
	for i, c := range h {
		at := int(c) * 7 % len(prompt)
		b.WriteString(strings.Map(func(c rune) rune {
			if c < 'a' || c > 'z' {
				return 'q'
			}
			return c
		}, prompt[at:min(at+4+i, len(prompt))]))
		b.WriteRune(c)
	}
	return b.String()[:min(b.Len(), 40)]
}

// Whatever is guessed, the text is that of a call without guesses, and the memory holds nothing else.
func TestDraftsChangeNothing(t *testing.T) {
	t.Parallel()
	accepted := 0
	rapid.Check(t, func(rt *rapid.T) {
		plain := rapid.Bool().Draw(rt, "plain")
		trim := rapid.IntRange(0, 9).Draw(rt, "trim") > 0
		abortEvery := rapid.SampledFrom([]int{0, 23, 60}).Draw(rt, "abortEvery")
		reply := func(prompt string) string {
			if plain {
				return copies(prompt)
			}
			return `{"name":"` + copies(prompt) + `","n":7,"end":true}`
		}
		n := 0
		r := newRig(t, 600, func(r *rig, c *Config) {
			c.Draft, c.BatchSize = true, rapid.IntRange(1, 40).Draw(rt, "batch")
			r.model.reply = reply
			r.model.grammarOf = func(string) (string, error) { return namedGrammar, nil }
			r.mem.micro = rapid.IntRange(1, 16).Draw(rt, "micro")
			if !trim {
				r.mem.kind = llama.MemoryMixed
			}
			r.mem.before = func(llama.Token, int) {
				if n++; trim && abortEvery > 0 && n%abortEvery == 0 {
					r.mem.Abort()
				}
			}
		})
		r.sched.cost = func(int) time.Duration { return time.Second } // any number of tokens at the price of one
		for range 3 {
			text := strings.Repeat(rapid.StringMatching(`[a-e]{3,12}`).Draw(rt, "text"), rapid.IntRange(1, 5).Draw(rt, "times"))
			options := []llms.CallOption{llms.WithMaxTokens(rapid.IntRange(1, 90).Draw(rt, "most"))}
			if !plain {
				options = append(options, anySchema)
			}
			resp, err := r.GenerateContent(t.Context(), user(text), options...)
			if err != nil {
				rt.Fatal(err)
			}
			got, u := resp.Choices[0].Content, UsageOf(resp)
			whole := reply(promptOf(text))
			if got != whole && (got != whole[:len(got)] || resp.Choices[0].StopReason != finishLength) {
				rt.Fatalf("got %q, not %q", got, whole)
			}
			if u.AcceptedTokens > u.DraftedTokens || u.AcceptedTokens > u.CompletionTokens || !trim && u.DraftedTokens > 0 {
				rt.Fatalf("%+v", u)
			}
			accepted += u.AcceptedTokens
		}
		require.NoError(rt, r.Close())
		require.Empty(rt, r.mem.faults)
		for i, seq := range r.sched.cache.seqs {
			require.Equal(rt, detokenize(r.mem.tokens(i)), detokenize(seq.tokens))
		}
	})
	require.Positive(t, accepted)
}

func TestDraftsSaveBatches(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("abcdefghijklmnopqrstuvwxyz", 3)
	count := func(adjust func(*Config), cost time.Duration) (decodes int, u Usage) {
		r := newRig(t, 4096, func(r *rig, c *Config) {
			adjust(c)
			c.BatchSize = 512
			r.model.reply = func(string) string { return "xyzabc" + long }
		})
		r.sched.cost = func(n int) time.Duration { return time.Second + time.Duration(n-1)*cost }
		got, u, err := r.ask(t.Context(), long)
		require.NoError(t, err)
		require.Equal(t, "xyzabc"+long, got)
		return r.mem.decodes, u
	}
	off, u := count(func(*Config) {}, 0)
	require.Zero(t, u.DraftedTokens)
	on, u := count(func(c *Config) { c.Draft = true }, 0)
	require.Less(t, on, off/3)
	require.Greater(t, u.AcceptedTokens, len(long)/2)
	dear, u := count(func(c *Config) { c.Draft = true }, time.Second)
	require.Equal(t, off, dear)
	require.Zero(t, u.DraftedTokens, "where it saves nothing, nothing is computed ahead")
}

// The rows of other calls are surer to be needed than guesses.
func TestDraftsAreForLoneCalls(t *testing.T) {
	t.Parallel()
	mem := newFakeMemory(4096, 512, 4)
	mem.threads = 1
	text := strings.Repeat("abcdefgh", 5)
	m := &fakeModel{mem: mem, reply: func(prompt string) string { return text[:len(prompt)/2] }}
	s := newScheduler(m, mem, Config{Threads: 1, Parallel: 2}.withDefaults())
	s.cost = func(int) time.Duration { return time.Second }
	add := func(prompt string) *request {
		tokens, err := m.Tokenize(prompt, false, false)
		require.NoError(t, err)
		r := &request{ctx: t.Context(), prompt: tokens, maxTokens: 100, events: make(chan event, 500), drafts: &drafts{rate: 1}}
		s.waiting = append(s.waiting, r)
		return r
	}
	long, short := add(text+text[:20]), add(text[:30])
	for len(s.active)+len(s.waiting) > 1 {
		s.admit()
		s.tick()
	}
	require.Zero(t, long.usage.DraftedTokens+short.usage.DraftedTokens)
	for len(s.active) > 0 {
		s.tick()
	}
	require.Positive(t, long.usage.AcceptedTokens, "it is alone now")
	require.Empty(t, mem.faults)
}
