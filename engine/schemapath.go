package engine

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// deepestPath bounds the steps of a path; what is wrong deeper is named by its surroundings.
const deepestPath = 20

// anyRef finds what the references of a schema point to.
var anyRef = regexp.MustCompile(`"\$ref"\s*:\s*"([^"]*)"`)

// faultyPart is the JSON pointer of the smallest part of a schema that is faulty by itself; empty: it is the whole, or no
// JSON object.
func faultyPart(schema []byte, faulty func(schema []byte) bool) string {
	var root map[string]json.RawMessage
	if json.Unmarshal(schema, &root) != nil {
		return ""
	}
	path, at := "", root
	for range deepestPath {
		step, part := faultyChild(at, root, faulty)
		if part == nil {
			break
		}
		path, at = path+step, part
	}
	return path
}

func faultyChild(at, root map[string]json.RawMessage, faulty func([]byte) bool) (step string, part map[string]json.RawMessage) {
	for _, c := range schemaChildren(at) {
		var child map[string]json.RawMessage
		if json.Unmarshal(c.schema, &child) != nil || !standsAlone(c.schema) {
			continue
		}
		alone := maps.Clone(child)
		for _, key := range []string{"$defs", "definitions"} {
			// Only where they are needed: one that is faulty itself makes every part with it so.
			if defs, ok := root[key]; ok && anyRef.Match(c.schema) {
				alone[key] = defs
			}
		}
		if text, err := json.Marshal(alone); err == nil && faulty(text) {
			return c.step, child
		}
	}
	return "", nil
}

// standsAlone reports whether a part refers to nothing but definitions.
func standsAlone(part []byte) bool {
	for _, m := range anyRef.FindAllSubmatch(part, -1) {
		if to := string(m[1]); !strings.HasPrefix(to, "#/$defs/") && !strings.HasPrefix(to, "#/definitions/") {
			return false
		}
	}
	return true
}

type schemaChild struct {
	step   string // of a JSON pointer
	schema json.RawMessage
}

// schemaChildren lists the schemas in a schema, those of maps by their names.
func schemaChildren(s map[string]json.RawMessage) []schemaChild {
	var out []schemaChild
	for _, key := range []string{"$defs", "definitions", "properties"} {
		var named map[string]json.RawMessage
		if json.Unmarshal(s[key], &named) == nil {
			for _, name := range slices.Sorted(maps.Keys(named)) {
				out = append(out, schemaChild{"/" + key + "/" + pointerEscapes.Replace(name), named[name]})
			}
		}
	}
	for _, key := range []string{"items", "prefixItems", "anyOf", "oneOf", "allOf", "additionalProperties"} {
		var list []json.RawMessage
		if json.Unmarshal(s[key], &list) != nil {
			if one, ok := s[key]; ok {
				out = append(out, schemaChild{"/" + key, one})
			}
			continue
		}
		for i, one := range list {
			out = append(out, schemaChild{fmt.Sprintf("/%s/%d", key, i), one})
		}
	}
	return out
}

// pointerEscapes are those of RFC 6901.
var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")
