package engine

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/llama-agent/llama-agent/engine/gbnf"
	"github.com/llama-agent/llama-agent/engine/llama"
	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/llms"
)

// wordModel has a vocabulary of all bytes and some words; it cuts a text into the longest that fit.
type wordModel struct {
	*fakeModel
	words []string
	lead  string // put before every text, as tokenizers of some models do
	loads int
}

func (m *wordModel) Info() llama.ModelInfo {
	m.loads++
	return llama.ModelInfo{Vocab: int(fakeVocab) + len(m.words)}
}

func (m *wordModel) IsControl(t llama.Token) bool { return t >= fakeEnd && t < fakeVocab }

func (m *wordModel) AppendPiece(dst []byte, t llama.Token, special bool) []byte {
	if t >= fakeVocab {
		return append(dst, m.words[t-fakeVocab]...)
	}
	return m.fakeModel.AppendPiece(dst, t, special)
}

func (m *wordModel) Tokenize(text string, _, _ bool) ([]llama.Token, error) {
	text = m.lead + text
	var out []llama.Token
	for len(text) > 0 {
		best, n := llama.Token(text[0]), 1
		for i, w := range m.words {
			if len(w) > n && strings.HasPrefix(text, w) {
				best, n = fakeVocab+llama.Token(i), len(w)
			}
		}
		out = append(out, best)
		text = text[n:]
	}
	return out, nil
}

// forcedBy cuts a reply into what is sampled, given token by token, and what is forced in between, in brackets.
func forcedBy(t *testing.T, m *wordModel, grammar string, sampled ...string) string {
	t.Helper()
	g, err := gbnf.Parse(grammar)
	require.NoError(t, err)
	f := &forcer{vocab: newVocabulary(m), machine: g.Start()}
	var out strings.Builder
	step := func() {
		tokens, over := f.next()
		if len(tokens) > 0 {
			out.WriteString("[")
			for i, tok := range tokens {
				if i > 0 {
					out.WriteString("|")
				}
				out.Write(m.AppendPiece(nil, tok, true))
			}
			out.WriteString("]")
		}
		if over {
			out.WriteString(".")
		}
	}
	step()
	for _, s := range sampled {
		tokens, err := (&wordModel{fakeModel: m.fakeModel, words: m.words}).Tokenize(s, false, false)
		require.NoError(t, err)
		require.Len(t, tokens, 1, s)
		f.accept(tokens[0])
		out.WriteString(s)
		step()
	}
	return out.String()
}

const callGrammar = `root ::= "{\"tool\":" tool ",\"path\":\"" [^"\\]{0,9} "\"}"
tool ::= "\"read_file\"" | "\"read_lines\"" | "\"list\""`

func TestForcedTokens(t *testing.T) {
	t.Parallel()
	common := []string{`{"`, `":"`, `tool`, `path`, `","`, `read`, `list`, `file`, `lines`, `"}`}
	for name, c := range map[string]struct {
		words   []string
		sampled []string
		want    string
	}{
		"no longer tokens": {common, []string{"r", "l", "x", `"`},
			`[{"|tool|":"]r[e|a|d|_]l[i|n|e|s|","|path|":"]x"[}].`},
		"a token that reaches beyond": {append(common, `":"/`), []string{"list", `":"/`, "x", `"}`},
			`[{"|tool|":"]list[","|path]":"/x"}.`},
		"and the last token alone": {append(common, `":"/`), []string{"list", `":"`, "x", `"}`},
			`[{"|tool|":"]list[","|path]":"x"}.`},
		"a longer token that the grammar forbids": {append(common, `":"/`, `":"z`), []string{"list"},
			`[{"|tool|":"]list[","|path]`}, // in front of tool nothing is held back: a path may begin with / and z, a tool with neither
		"a token over two of the last": {append(common, `path":"/`), []string{"list"},
			`[{"|tool|":"]list[","]`},
		"the end needs no room": {append(common, `"}}`, `"}x`), []string{"list", `"`},
			`[{"|tool|":"]list[","|path|":"]"[}].`},
		"half a character": {append(common, "\":\"\xc3"), []string{`":"`, "list"},
			`[{"|tool]":"list[","|path]`}, // whichever character it is the start of
	} {
		m := &wordModel{fakeModel: &fakeModel{}, words: c.words}
		require.Equal(t, c.want, forcedBy(t, m, callGrammar, c.sampled...), name)
	}
}

func TestForcedTokensOfTokenizersWithALead(t *testing.T) {
	t.Parallel()
	m := &wordModel{fakeModel: &fakeModel{}, words: []string{`{"`, ` {"`, `":"`}, lead: " "}
	require.Equal(t, `[{"|t|o|o|l|":"]`, forcedBy(t, m, callGrammar))
	m.words = append(m.words, " \n{\"") // the lead cannot be told from the text
	require.Empty(t, forcedBy(t, m, callGrammar), "what cannot be spelt is sampled")
}

func TestVocabularyIsReadOnce(t *testing.T) {
	t.Parallel()
	m := &wordModel{fakeModel: &fakeModel{}, words: []string{"ab", "abc", "abd", "abd", "b"}}
	v := newVocabulary(m)
	for range 3 {
		require.Equal(t, []string{"b", "bc", "bd"}, v.tails("a"))
		require.Equal(t, []string{"c", "d"}, v.tails("ab"))
		require.Empty(t, v.tails("abc"))
		require.Empty(t, v.tails("x"))
		require.Empty(t, v.tails("<|im_start|"), "control tokens are no text")
	}
	require.Equal(t, 1, m.loads)
	for i := range knownTails + 10 {
		v.tails(strings.Repeat("y", i))
	}
	require.LessOrEqual(t, len(v.known), knownTails)
}

const namedGrammar = `root ::= "{\"name\":\"" [a-z]{1,40} "\",\"n\":" [0-9] ",\"end\":true}"`

// named is the fake reply as the grammar above allows it.
func named(prompt string) string { return `{"name":"` + hashReply(prompt) + `","n":7,"end":true}` }

// forcingRig has a model that answers by namedGrammar, with a schema and without.
func forcingRig(t testing.TB, size int, adjust func(*rig, *Config)) *rig {
	return newRig(t, size, func(r *rig, c *Config) {
		r.model.reply = named
		r.model.grammarOf = func(string) (string, error) { return namedGrammar, nil }
		if adjust != nil {
			adjust(r, c)
		}
	})
}

var anySchema = WithSchema(json.RawMessage(`{"type":"object"}`))

func TestForcedRepliesAreTheSampledOnes(t *testing.T) {
	t.Parallel()
	for _, batch := range []int{1, 3, 32, 512} {
		on := forcingRig(t, 4096, func(_ *rig, c *Config) { c.BatchSize = batch })
		off := forcingRig(t, 4096, func(_ *rig, c *Config) { c.BatchSize = batch; c.SampleLiterals = true })
		for _, text := range []string{"one", "two", strings.Repeat("three", 30), "one"} {
			var streamed strings.Builder
			got, u, err := on.ask(t.Context(), text, anySchema, collectText(&streamed))
			require.NoError(t, err)
			want, v, err := off.ask(t.Context(), text, anySchema)
			require.NoError(t, err)
			require.Equal(t, named(promptOf(text)), want)
			require.Equal(t, want, got)
			require.Equal(t, want, streamed.String())
			require.Equal(t, v.CompletionTokens, u.CompletionTokens)
			require.Equal(t, len(`{"name":"`)+len(`,"n":`)+len(`,"end":true}`), u.ForcedTokens)
			require.Zero(t, v.ForcedTokens)
			require.Equal(t, u.PromptTokens, u.CachedTokens+u.EvaluatedTokens)
		}
		if batch == 512 {
			// The prompt and the start, then one batch for each letter and one for what follows the quote; the digit
			// and the rest are not computed.
			before := on.mem.decodes
			_, _, err := on.ask(t.Context(), "four", anySchema)
			require.NoError(t, err)
			require.Equal(t, 1+len(hashReply(promptOf("four")))+1, on.mem.decodes-before)
			require.Less(t, on.mem.decodes, off.mem.decodes)
		}
	}
}

func collectText(b *strings.Builder) llms.CallOption {
	return llms.WithStreamingFunc(func(_ context.Context, chunk []byte) error { b.Write(chunk); return nil })
}

func TestForcedRepliesEndAtTheTokenLimit(t *testing.T) {
	t.Parallel()
	on := forcingRig(t, 4096, nil)
	whole := named(promptOf("hi"))
	for n := 1; n <= len(whole); n++ {
		resp, err := on.GenerateContent(t.Context(), user("hi"), anySchema, llms.WithMaxTokens(n))
		require.NoError(t, err)
		require.Equal(t, whole[:n], resp.Choices[0].Content)
		require.Equal(t, n, UsageOf(resp).CompletionTokens)
		finish := finishLength
		if n == len(whole) {
			finish = finishStop
		}
		require.Equal(t, finish, resp.Choices[0].StopReason)
	}
}

func TestStopWordsEndForcedText(t *testing.T) {
	t.Parallel()
	on := forcingRig(t, 4096, nil)
	for _, stop := range []string{`name`, `end`, `":`} {
		got, _, err := on.ask(t.Context(), "hi", anySchema, llms.WithStopWords([]string{stop}))
		require.NoError(t, err)
		want, _, _ := strings.Cut(named(promptOf("hi")), stop)
		require.Equal(t, want, got)
	}
	got, _, err := on.ask(t.Context(), "hi", anySchema)
	require.NoError(t, err)
	require.Equal(t, named(promptOf("hi")), got, "the memory is as it should be")
}

func TestRepliesWithoutAChoiceNeedNoModel(t *testing.T) {
	t.Parallel()
	r := newRig(t, 4096, func(r *rig, _ *Config) {
		r.model.grammarOf = func(string) (string, error) { return `root ::= "{\"ok\":true}"`, nil }
	})
	var streamed strings.Builder
	got, u, err := r.ask(t.Context(), "hi", anySchema, collectText(&streamed))
	require.NoError(t, err)
	require.Equal(t, `{"ok":true}`, got)
	require.Equal(t, got, streamed.String())
	require.Equal(t, Usage{PromptTokens: u.PromptTokens, CompletionTokens: 11, ForcedTokens: 11, Queue: u.Queue}, u)
	require.Zero(t, r.mem.decodes)
	resp, err := r.GenerateContent(t.Context(), user("hi"), anySchema, llms.WithMaxTokens(3))
	require.NoError(t, err)
	require.Equal(t, `{"o`, resp.Choices[0].Content)
	require.Equal(t, finishLength, resp.Choices[0].StopReason)
}

func TestGrammarsThatOnlyLlamaReadsAreSampled(t *testing.T) {
	t.Parallel()
	r := forcingRig(t, 4096, func(r *rig, _ *Config) {
		r.model.grammarOf = func(string) (string, error) { return `root ::= <[5]> "x"`, nil }
	})
	got, u, err := r.ask(t.Context(), "hi", anySchema)
	require.NoError(t, err)
	require.Equal(t, named(promptOf("hi")), got)
	require.Zero(t, u.ForcedTokens)
}

func TestRefusedForcedTokensFailTheCall(t *testing.T) {
	t.Parallel()
	r := forcingRig(t, 4096, nil)
	for _, grammar := range []string{`root ::= "x" [a-z]`, `root ::= "{\"name\":\"" [a-z] "!!" [a-z]`} {
		r.grammar.known = nil
		r.model.grammarOf = func(string) (string, error) { return grammar, nil }
		_, _, err := r.ask(t.Context(), "hi", anySchema)
		require.Error(t, err, grammar)
		got, _, err := r.ask(t.Context(), "hi")
		require.NoError(t, err)
		require.Equal(t, named(promptOf("hi")), got)
	}
}
