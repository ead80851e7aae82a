package store

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// path leads from a value to fields of it.
type path []step

// step goes to the member name, to element index, or to all members or elements.
type step struct {
	kind  stepKind
	name  string
	index int
}

type stepKind int

const (
	stepName stepKind = iota
	stepIndex
	stepAll
)

// parsePath parses names separated by dots, each followed by any number of [0], [-1] or [*]; a backslash takes the
// character after it literally. "$" is the empty path.
func parsePath(text string) (path, error) {
	bad := func(reason string) (path, error) {
		return nil, &QueryError{What: "field " + shown(text), Reason: reason}
	}
	if text == "$" {
		return path{}, nil
	}
	if len(text) > MaxField {
		return bad(fmt.Sprintf("has %d bytes; at most %d are allowed", len(text), MaxField))
	}
	var p path
	for rest, first := text, true; first || rest != ""; first = false {
		if !first {
			if rest[0] != '.' {
				return bad("has a name right after a bracket; separate them by a dot")
			}
			rest = rest[1:]
		}
		name, after, ok := cutName(rest)
		if !ok {
			return bad("ends with a backslash; write two for a backslash in a name")
		}
		rest = after
		if name != "" {
			p = append(p, step{name: name})
		} else if !first || !strings.HasPrefix(rest, "[") {
			return bad(`has an empty name; separate names by single dots, as in "meta.title"`)
		}
		for strings.HasPrefix(rest, "[") {
			inner, after, ok := strings.Cut(rest[1:], "]")
			index, err := strconv.Atoi(inner)
			switch {
			case !ok:
				return bad(`has an open bracket; write \[ for a bracket in a name`)
			case inner == "*":
				p = append(p, step{kind: stepAll})
			case err == nil:
				p = append(p, step{kind: stepIndex, index: index})
			default:
				return bad(`has something else than a number or * in brackets; write \[ for a bracket in a name`)
			}
			rest = after
		}
	}
	return p, nil
}

// cutName returns the name that rest begins with, and what follows it. ok is false when rest ends within an escape.
func cutName(rest string) (name, after string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(rest); i++ {
		switch rest[i] {
		case '.', '[':
			return b.String(), rest[i:], true
		case '\\':
			if i++; i == len(rest) {
				return "", "", false
			}
		}
		b.WriteByte(rest[i])
	}
	return b.String(), "", true
}

// find returns the values that p leads to from v, which [json.Decoder] made. Members come sorted by name.
func (p path) find(v any) []any {
	found := []any{v}
	for _, s := range p {
		var next []any
		for _, v := range found {
			next = append(next, s.find(v)...)
		}
		found = next
	}
	return found
}

func (s step) find(v any) []any {
	switch v := v.(type) {
	case map[string]any:
		if s.kind == stepAll {
			return members(v)
		}
		if member, ok := v[s.name]; ok && s.kind == stepName {
			return []any{member}
		}
	case []any:
		if s.kind == stepAll {
			return v
		}
		i := s.index
		if i < 0 {
			i += len(v)
		}
		if s.kind == stepIndex && i >= 0 && i < len(v) {
			return []any{v[i]}
		}
	}
	return nil
}

func members(m map[string]any) []any {
	values := make([]any, 0, len(m))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		values = append(values, m[name])
	}
	return values
}
