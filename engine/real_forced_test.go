//go:build cgo && !nollama

package engine

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/llama-agent/llama-agent/engine/gbnf"
	"github.com/llama-agent/llama-agent/engine/llama"
	"github.com/llama-agent/llama-agent/internal/testmodel"
	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/llms"
)

var forcedSchemas = []string{
	`{"type":"object","properties":{"color":{"enum":["red","green","dark blue"]}},"required":["color"]}`,
	`{"type":"object","properties":{"tool":{"enum":["read_file","read_lines","list_files","query_database"]},"path":{"type":"string","maxLength":40},"lines":{"type":"integer","minimum":1,"maximum":500}},"required":["tool","path"]}`,
	`{"type":"object","properties":{"thought":{"type":"string","maxLength":80},"steps":{"type":"array","minItems":1,"maxItems":3,"items":{"type":"object","properties":{"do":{"type":"string","maxLength":60},"tool":{"enum":["list_files","read_file","none"]}},"required":["do","tool"]}}},"required":["thought","steps"]}`,
	`{"anyOf":[{"type":"object","properties":{"tool":{"const":"query_database"},"arguments":{"type":"object","properties":{"database":{"type":"string","maxLength":30},"sql":{"type":"string","maxLength":120}},"required":["database","sql"]}},"required":["tool","arguments"]},{"type":"object","properties":{"answer":{"type":"string","maxLength":60}},"required":["answer"]}]}`,
	`{"type":"object","properties":{"id":{"type":"string","pattern":"^[a-f]{4}-[0-9]{2}$"},"ok":{"type":"boolean"},"n":{"type":"number"},"v":{"type":["string","null"],"maxLength":6}},"required":["id","ok","n","v"]}`,
	`{"type":"array","items":{"type":"integer","minimum":0,"maximum":9},"minItems":1,"maxItems":4}`,
	`{"type":"object","properties":{"verdict":{"enum":["done","continue","fail"]},"why":{"type":"string","maxLength":100}},"required":["verdict","why"]}`,
}

var forcedHints = []string{
	`{"color":"..."}`, `{"tool":"...","path":"...","lines":10}`, `{"thought":"...","steps":[{"do":"...","tool":"..."}]}`,
	`{"tool":"query_database","arguments":{"database":"...","sql":"..."}} or {"answer":"..."}`, `{"id":"abcd-12","ok":true,"n":5,"v":null}`, `[1,2,3]`, `{"verdict":"...","why":"..."}`,
}

var forcedPrompts = []string{
	"Find the total of paid orders in shop.db, table orders(id, status, total).",
	"List the files of /var/log and read the newest one.",
	"Make something up.",
	"What does \"src/main.go\" do? Say it in French: élégance.",
}

// Small models tie often, and a batch of several tokens is computed with other rounding than one after the other, so texts
// may part; most do not. What must hold always: the reply fits the schema, and the same call gives the same text.
func TestRealForcedReplies(t *testing.T) {
	limit := func(c *Config) { c.MaxTokens = 160 }
	on := open(t, testmodel.Tiny, limit)
	off := open(t, testmodel.Tiny, limit, func(c *Config) { c.SampleLiterals = true })
	var forced, sampled Usage
	same, all := 0, 0
	for _, p := range forcedPrompts {
		for i, schema := range forcedSchemas {
			ask := user(p + "\nReply with JSON of this form, compact: " + forcedHints[i])
			var streamed strings.Builder
			x := say(t, on, ask, WithSchema(json.RawMessage(schema)), collect(&streamed))
			y := say(t, off, ask, WithSchema(json.RawMessage(schema)))
			require.Equal(t, x.Content, streamed.String())
			if x.StopReason == finishStop {
				validate(t, schema, x.Content)
			}
			g, err := on.grammar.get(on.model, schema)
			require.NoError(t, err)
			requireTaken(t, g.parsed, x)
			requireTaken(t, g.parsed, y)
			require.Zero(t, usage(y).ForcedTokens)
			forced, sampled = forced.Add(usage(x)), sampled.Add(usage(y))
			all++
			if x.Content == y.Content {
				same++
			}
		}
	}
	t.Logf("%d of %d texts are the same; %d of %d tokens were forced", same, all, forced.ForcedTokens, forced.CompletionTokens)
	require.Greater(t, same, all/2)
	require.Greater(t, forced.ForcedTokens, forced.CompletionTokens/4)
	require.Positive(t, sampled.CompletionTokens)
}

// requireTaken requires that the forcing grammar allows what llama.cpp's did.
func requireTaken(t *testing.T, g *gbnf.Grammar, c *llms.ContentChoice) {
	t.Helper()
	m := g.Start()
	require.True(t, m.Push([]byte(c.Content)), c.Content)
	require.Equal(t, c.StopReason == finishStop, m.MayEnd(), c.Content)
}

func TestRealForcedRepliesRepeat(t *testing.T) {
	for _, temperature := range []float64{0, 1.2} {
		texts := map[string]bool{}
		for range 2 {
			e := open(t, testmodel.Tiny, func(c *Config) { c.MaxTokens = 60 })
			var text string
			for _, schema := range forcedSchemas[:4] {
				text += say(t, e, user("Make something up."), WithSchema(json.RawMessage(schema)), llms.WithTemperature(temperature), llms.WithSeed(7)).Content
			}
			texts[text] = true
			require.NoError(t, e.Close())
		}
		require.Len(t, texts, 1, "temperature %v", temperature)
	}
}

// What a machine writes when it goes its own way through a grammar, llama.cpp allows too; and what is forced, llama.cpp
// allows nothing else for.
func TestRealGrammarsAgree(t *testing.T) {
	m, err := llama.LoadModel(t.Context(), testmodel.Path(t, testmodel.Tiny), llama.ModelParams{VocabOnly: true})
	require.NoError(t, err)
	t.Cleanup(m.Close)
	chars := []string{`"`, `a`, `f`, `e`, `0`, `1`, `9`, `-`, `.`, `,`, `:`, `{`, `}`, `[`, `]`, `\`, `n`, `u`, `t`, `r`, `l`, `é`, `漢`, ` `, "\n", `_`, `d`, `s`}
	random := rand.New(rand.NewPCG(1, 2))
	for _, schema := range append([]string{`{"type":"object"}`, `{"type":"array"}`, `{"type":"object","properties":{"d":{"type":"string","format":"date"},"x":{"const":"é\\\"\n"}},"required":["x"],"additionalProperties":true}`}, forcedSchemas...) {
		text, err := llama.SchemaToGrammar([]byte(schema), 12, 3)
		require.NoError(t, err)
		g, err := gbnf.Parse(text)
		require.NoError(t, err, "%s", text)
		for range 60 {
			whole := wander(g, random, chars)
			ok, err := llama.GrammarAccepts(m, text, whole)
			require.NoError(t, err)
			require.True(t, ok, "%s: %s\n%s", schema, whole, text)
			at, c := random.IntN(len(whole)), chars[random.IntN(len(chars))]
			damaged := whole[:at] + c + whole[at+random.IntN(2):]
			if !utf8.ValidString(damaged) {
				continue
			}
			ok, err = llama.GrammarAccepts(m, text, damaged)
			require.NoError(t, err)
			machine := g.Start()
			require.Equal(t, ok, machine.Push([]byte(damaged)) && machine.MayEnd(), "%s: %s\n%s", schema, damaged, text)
		}
	}
}

// wander writes a text that a grammar allows.
func wander(g *gbnf.Grammar, random *rand.Rand, chars []string) string {
	m := g.Start()
	var out []byte
	for !m.Over() && (!m.MayEnd() || random.IntN(4) > 0) {
		next := m.Forced()
		if len(next) == 0 {
			var may []string
			for _, c := range chars {
				if m.Allows([]byte(c)) {
					may = append(may, c)
				}
			}
			next = []byte(may[random.IntN(len(may))])
		}
		m.Push(next)
		out = append(out, next...)
	}
	return string(out)
}
