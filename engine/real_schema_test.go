//go:build cgo && !nollama

package engine

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/llama-agent/llama-agent/internal/testmodel"
	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/llms"
)

// validate checks a reply against its schema, and that it is compact.
func validate(t *testing.T, schema, reply string) {
	t.Helper()
	var s jsonschema.Schema
	require.NoError(t, json.Unmarshal([]byte(schema), &s))
	r, err := s.Resolve(nil)
	require.NoError(t, err)
	var v any
	require.NoError(t, json.Unmarshal([]byte(reply), &v), "%s", reply)
	require.NoError(t, r.Validate(v), "%s: %s", schema, reply)
	inString := false
	for i, c := range reply {
		if c == '"' && (i == 0 || reply[i-1] != '\\') {
			inString = !inString
		}
		require.False(t, !inString && strings.ContainsRune(" \n\t", c), "a blank in %s", reply)
	}
}

func TestRealSchemas(t *testing.T) {
	e := open(t, testmodel.Tiny, func(c *Config) { c.MaxTokens = 200 })
	for _, schema := range []string{
		`{"type":"object","properties":{"color":{"enum":["red","green","dark blue"]}},"required":["color"]}`,
		`{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"object","properties":{"c":{"type":"boolean"}},"required":["c"]}},"required":["b"]}},"required":["a"]}`,
		`{"type":"object","properties":{"list":{"type":"array","items":{"type":"string","maxLength":8},"minItems":2,"maxItems":3}},"required":["list"]}`,
		`{"type":"array","items":{"type":"integer","minimum":0,"maximum":9},"minItems":1,"maxItems":4}`,
		`{"type":"object","properties":{"n":{"type":"integer","minimum":-5,"maximum":250}},"required":["n"]}`,
		`{"type":"object","properties":{"x":{"type":"number"}},"required":["x"]}`,
		`{"type":"object","properties":{"a":{"type":"integer","minimum":0,"maximum":9},"b":{"type":"boolean"},"c":{"type":"null"}},"required":["b"]}`,
		`{"anyOf":[{"type":"object","properties":{"tool":{"const":"read"},"path":{"type":"string","maxLength":12}},"required":["tool","path"]},{"type":"object","properties":{"answer":{"type":"string","maxLength":12}},"required":["answer"]}]}`,
		`{"type":"object","properties":{"s":{"type":"string","minLength":3,"maxLength":10}},"required":["s"]}`,
		`{"type":"object","properties":{"v":{"type":["string","null"],"maxLength":6}},"required":["v"]}`,
		`{"type":"object","properties":{"id":{"type":"string","pattern":"^[a-f]{4}-[0-9]{2}$"}},"required":["id"]}`,
		`{"$defs":{"step":{"type":"object","properties":{"do":{"type":"string","maxLength":10},"tool":{"enum":["read","list",null]}},"required":["do","tool"]}},"type":"object","properties":{"steps":{"type":"array","items":{"$ref":"#/$defs/step"},"minItems":1,"maxItems":2}},"required":["steps"]}`,
		`{"type":"object","properties":{},"additionalProperties":false}`,
	} {
		c := say(t, e, user("Make something up."), WithSchema(json.RawMessage(schema)))
		require.Equal(t, finishStop, c.StopReason, c.Content)
		validate(t, schema, c.Content)
	}
	c := say(t, e, user("An object with one number."), llms.WithJSONMode(), llms.WithMaxTokens(60))
	require.True(t, strings.HasPrefix(c.Content, "{"), c.Content)
	require.Equal(t, c.StopReason == finishStop, json.Valid([]byte(c.Content)))
}

// The smallest model has nothing to say to a plan, and still comes to an end.
func TestRealPlanEnds(t *testing.T) {
	e := open(t, testmodel.Tiny)
	const schema = `{"type":"object","properties":{"thought":{"type":"string","maxLength":80},"steps":{"type":"array","minItems":1,"maxItems":3,
		"items":{"type":"object","properties":{"do":{"type":"string","maxLength":60},"tool":{"enum":["list_files","read_file","none"]}},"required":["do","tool"]}}},
		"required":["thought","steps"]}`
	for _, text := range []string{"hi", "", "\n\n\n"} {
		c := say(t, e, user(text), WithSchema(json.RawMessage(schema)), llms.WithMaxTokens(256))
		require.Equal(t, finishStop, c.StopReason, c.Content)
		validate(t, schema, c.Content)
		require.Less(t, usage(c).CompletionTokens, 256)
	}
	cut := say(t, e, user("hi"), WithSchema(json.RawMessage(schema)), llms.WithMaxTokens(8))
	require.Equal(t, finishLength, cut.StopReason, "never an empty or cut success")
	require.Equal(t, 8, usage(cut).CompletionTokens)
}

func TestRealUnusableSchemas(t *testing.T) {
	e := open(t, testmodel.Tiny)
	for schema, path := range map[string]string{
		`{"type":"nosuch"}`:       "",
		`{"$ref":"#/$defs/gone"}`: "",
		`{`:                       "",
		`{"type":"object","properties":{"s":{"type":"string","minLength":5000}},"required":["s"]}`:                                          "/properties/s",
		`{"type":"object","properties":{"a":{"type":"string"},"l":{"type":"array","items":{"anyOf":[{"type":"null"},{"type":"nosuch"}]}}}}`: "/properties/l/items/anyOf/1",
		strings.Repeat(`{"items":`, 5000) + `{}` + strings.Repeat(`}`, 5000):                                                                strings.Repeat("/items", deepestPath),
	} {
		_, err := e.GenerateContent(t.Context(), user("hi"), WithSchema(json.RawMessage(schema)))
		var se *SchemaError
		require.ErrorAs(t, err, &se, "%.80s", schema)
		require.Equal(t, path, se.Path, "%.80s", schema)
		require.Contains(t, err.Error(), path)
		require.Less(t, len(err.Error()), 2000)
	}
	_, err := e.GenerateContent(t.Context(), user("hi"), llms.WithMetadata(map[string]any{metaSchema: 3}))
	require.ErrorContains(t, err, "use WithSchema")
	require.NotEmpty(t, say(t, e, user("hi")).Content)
}
