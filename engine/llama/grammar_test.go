//go:build cgo && !nollama

package llama

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func takes(t *testing.T, grammar, text string) bool {
	t.Helper()
	ok, err := GrammarAccepts(model(t), grammar, text)
	require.NoError(t, err)
	return ok
}

func grammarOf(t *testing.T, schema string) string {
	t.Helper()
	g, err := SchemaToGrammar([]byte(schema), 50, 4)
	require.NoError(t, err)
	return g
}

func TestSchemaToGrammar(t *testing.T) {
	for _, c := range []struct {
		name, schema string
		good, bad    []string
	}{
		{"object", `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}},"required":["a","b"]}`,
			[]string{`{"a":"x","b":1}`, `{"a":"","b":-20}`, `{"a":"\"\\é漢","b":0}`},
			[]string{`{ "a":"x","b":1}`, `{"a": "x","b":1}`, "{\"a\":\"x\",\n\"b\":1}", `{"b":1,"a":"x"}`, `{"a":"x"}`, `{"a":"x","b":01}`, `{"a":"x","b":1}}`, `{"a":"x","b":1,"c":2}`, ``, `{}`}},
		{"blanks", `{"type":"object"}`, []string{`{}`, `{"a":[1,"x",null,{"b":true}]}`}, []string{`{` + strings.Repeat(" ", 1000), `{` + strings.Repeat(" ", 1000) + `}`, "{}\n", `{"a":1, "b":2}`}},
		{"property order", `{"type":"object","properties":{"z":{"type":"boolean"},"a":{"type":"null"}},"required":["z","a"]}`,
			[]string{`{"z":true,"a":null}`}, []string{`{"a":null,"z":true}`}},
		{"optional properties", `{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"},"c":{"type":"integer"}},"required":["b"]}`,
			[]string{`{"b":1}`, `{"b":2,"a":1}`, `{"b":1,"c":2}`, `{"b":2,"a":1,"c":3}`}, []string{`{"a":1}`, `{}`, `{"a":1,"b":2}`, `{"b":1,"c":2,"a":3}`}},
		{"enum and const", `{"type":"object","properties":{"e":{"enum":["red","dark blue",3]},"k":{"const":"v"}},"required":["e","k"]}`,
			[]string{`{"e":"dark blue","k":"v"}`, `{"e":3,"k":"v"}`}, []string{`{"e":"blue","k":"v"}`, `{"e":"red","k":"w"}`}},
		{"integer range", `{"type":"object","properties":{"n":{"type":"integer","minimum":1,"maximum":12}},"required":["n"]}`,
			[]string{`{"n":1}`, `{"n":12}`, `{"n":7}`}, []string{`{"n":0}`, `{"n":13}`, `{"n":-1}`, `{"n":100}`}},
		{"string length", `{"type":"object","properties":{"s":{"type":"string","minLength":2,"maxLength":3}},"required":["s"]}`,
			[]string{`{"s":"ab"}`, `{"s":"漢字é"}`}, []string{`{"s":"a"}`, `{"s":"abcd"}`}},
		{"anyOf", `{"anyOf":[{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]},{"type":"object","properties":{"b":{"type":"string"}},"required":["b"]}]}`,
			[]string{`{"a":1}`, `{"b":"x"}`}, []string{`{"a":"x"}`, `{}`}},
		{"nested", `{"type":"object","properties":{"o":{"type":"object","properties":{"l":{"type":"array","items":{"type":"string"},"minItems":1}},"required":["l"]}},"required":["o"]}`,
			[]string{`{"o":{"l":["x"]}}`, `{"o":{"l":["x","y"]}}`}, []string{`{"o":{"l":[]}}`, `{"o":{}}`, `{"o":{"l":["x", "y"]}}`}},
		{"definitions", `{"$defs":{"p":{"type":"object","properties":{"x":{"type":"string"}},"required":["x"]}},"type":"object","properties":{"p":{"$ref":"#/$defs/p"}},"required":["p"]}`,
			[]string{`{"p":{"x":"a"}}`}, []string{`{"p":{"x":1}}`, `{"p":{"x":"` + strings.Repeat("a", 51) + `"}}`}},
		{"pattern", `{"type":"object","properties":{"s":{"type":"string","pattern":"^[a-z]{2,3}$"}},"required":["s"]}`,
			[]string{`{"s":"ab"}`}, []string{`{"s":"abcd"}`, `{"s":"A"}`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := grammarOf(t, c.schema)
			for _, s := range c.good {
				require.True(t, json.Valid([]byte(s)), s)
				require.True(t, takes(t, g, s), "%s\n%s", s, g)
			}
			for _, s := range c.bad {
				require.False(t, takes(t, g, s), "%.80s\n%s", s, g)
			}
		})
	}
}

// No string and no list can go on for ever, whatever the schema leaves open.
func TestGrammarsAreBounded(t *testing.T) {
	long, list := `"`+strings.Repeat("a", 51)+`"`, `[1,1,1,1,1]`
	object := `{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1}`
	for _, c := range []struct{ schema, good, bad string }{
		{`{"type":"object","properties":{"v":{"type":"string"}},"required":["v"]}`, `{"v":"a"}`, `{"v":` + long + `}`},
		{`{"type":"object","properties":{"v":{"type":["string","null"]}},"required":["v"]}`, `{"v":"a"}`, `{"v":` + long + `}`},
		{`{"type":"object","properties":{"v":{"type":"array","items":{"type":"integer"}}},"required":["v"]}`, `{"v":[1,1,1,1]}`, `{"v":` + list + `}`},
		{`{"type":"object","properties":{"v":{"type":"array"}},"required":["v"]}`, `{"v":[1,1,1,1]}`, `{"v":` + list + `}`},
		{`{"type":"object","properties":{"v":{"description":"anything"}},"required":["v"]}`, `{"v":"a"}`, `{"v":` + long + `}`},
		{`{"type":"object","properties":{"v":{"description":"anything"}},"required":["v"]}`, `{"v":[1]}`, `{"v":[1,1,1,1,1,1,1]}`},
		{`{"type":"object","properties":{"v":{"type":"object"}},"required":["v"]}`, `{"v":{}}`, `{"v":` + object + `}`},
		{`{"type":"object"}`, `{"a":1}`, object},
		{`{"type":"object","additionalProperties":{"type":"integer"}}`, `{"a":1}`, object},
		{`{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"],"additionalProperties":true}`, `{"x":1,"a":1}`, `{"x":1,` + object[1:]},
		{`{"type":"object","properties":{"v":{"type":"string","pattern":"not anchored"}},"required":["v"]}`, `{"v":"a"}`, `{"v":` + long + `}`},
		{`{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"],"additionalProperties":true}`, `{"x":1,"a":1}`, `{"x":1,` + long + `:1}`},
		{`{"type":"object","properties":{"xy":{"type":"integer"}},"required":["xy"],"additionalProperties":true}`, `{"xy":1,"xyz":1}`, `{"xy":1,"xy":1}`},
		{`{"type":"object","properties":{"v":{"type":"string","format":"uri"}},"required":["v"]}`, `{"v":"a"}`, `{"v":` + long + `}`},
		{`{"type":"object","properties":{"v":{"type":"string","maxLength":100000}},"required":["v"]}`, `{"v":"a"}`, `{"v":` + long + `}`},
		{`{"type":"object","properties":{"v":{"type":"array","maxItems":100000,"items":{"type":"null"}}},"required":["v"]}`, `{"v":[null]}`, `{"v":[` + strings.Repeat("null,", 5000) + `null]}`},
		{`{"allOf":[{"type":"object","properties":{"v":{"type":"string"}},"required":["v"]}]}`, `{"v":"a"}`, `{"v":` + long + `}`},
		{`{"type":"object","properties":{"v":{"minLength":1}},"required":["v"]}`, `{"v":"a"}`, `{"v":` + long + `}`},
		{`{"type":"object","properties":{"v":{"type":"string","minLength":60}},"required":["v"]}`, `{"v":"` + strings.Repeat("a", 60) + `"}`, `{"v":` + long + `}`},
	} {
		g := grammarOf(t, c.schema)
		require.True(t, takes(t, g, c.good), "%s: %s\n%s", c.schema, c.good, g)
		require.False(t, takes(t, g, c.bad), "%s: %.80s\n%s", c.schema, c.bad, g)
	}
}

func TestSchemasThatCannotBecomeGrammars(t *testing.T) {
	for _, schema := range []string{
		``, `{`, `nonsense`, `{"type":"nosuch"}`, `{"$ref":"#/$defs/gone"}`, `{"type":"string","pattern":"^(unclosed$"}`,
		strings.Repeat(`{"items":`, 100_000) + `{}` + strings.Repeat(`}`, 100_000),
		strings.Repeat(`[`, 100_000) + strings.Repeat(`]`, 100_000),
	} {
		_, err := SchemaToGrammar([]byte(schema), 50, 4)
		require.ErrorContains(t, err, "grammar", "%.60s", schema)
	}
}

func TestAcceptingTokens(t *testing.T) {
	m := model(t)
	for _, text := range []string{"x", "ab!", ""} {
		s, err := NewSampler(m, SamplerParams{Grammar: `root ::= "ab" [c-d]`, GrammarKind: GrammarUser})
		require.NoError(t, err)
		good, err := m.Tokenize("ab", false, false)
		require.NoError(t, err)
		tokens, err := m.Tokenize(text, false, false)
		require.NoError(t, err)
		if text == "" {
			tokens = []Token{m.Info().EOS} // llama.cpp would abort the process
		}
		var refused error
		for _, tok := range tokens {
			if refused = s.Accept(tok); refused != nil {
				break
			}
		}
		require.Error(t, refused, text)
		if text == "" {
			require.NoError(t, s.Accept(good[0]), "an end is refused without harm")
		} else {
			require.ErrorContains(t, s.Accept(good[0]), "broken")
		}
		for _, bad := range []Token{-1, Token(m.Info().Vocab)} {
			require.Error(t, s.Accept(bad))
		}
		s.Close()
		require.ErrorIs(t, s.Accept(good[0]), ErrClosed)
	}
}
