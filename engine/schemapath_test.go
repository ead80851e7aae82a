package engine

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFaultyPart(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]string{
		`{"bad":1}`:                              "",
		`not JSON`:                               "",
		`[1]`:                                    "",
		`{"properties":{"a":{},"b":{"bad":1}}}`:  "/properties/b",
		`{"properties":{"a/b~":{"bad":1}}}`:      "/properties/a~1b~0",
		`{"items":{"items":{"bad":1}}}`:          "/items/items",
		`{"anyOf":[{},{"items":{"bad":1}},{}]}`:  "/anyOf/1/items",
		`{"additionalProperties":{"bad":1}}`:     "/additionalProperties",
		`{"properties":{"a":{"items":{"x":1}}}}`: "",
		`{"$defs":{"d":{"bad":1}},"properties":{"a":{"$ref":"#/$defs/d"}}}`:                             "/$defs/d",
		`{"$defs":{"d":{"properties":{"a":{},"b":{"bad":1}}}},"properties":{"a":{"$ref":"#/$defs/d"}}}`: "/$defs/d/properties/b",
		`{"properties":{"a":{"$ref":"#/properties/b","bad":1},"b":{}}}`:                                 "", // not to be looked at alone
		`{"x":1,"properties":{"a":{"properties":{"bad":{"type":"string"}}},"b":true,"c":{"bad":"x"}}}`:  "/properties/a",
		strings.Repeat(`{"items":`, 50) + `{"bad":1}` + strings.Repeat(`}`, 50):                         strings.Repeat("/items", deepestPath),
	} {
		got := faultyPart([]byte(schema), func(s []byte) bool { return bytes.Contains(s, []byte(`"bad"`)) })
		require.Equal(t, want, got, schema)
	}
}
