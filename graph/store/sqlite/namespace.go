package sqlite

import (
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/llama-agent/llama-agent/graph/store"
	"github.com/llama-agent/llama-agent/graph/store/fulltext"
)

// encode writes each element and a zero byte after it. Elements hold no zero byte, so the codes sort as the namespaces do.
func encode(ns store.Namespace) []byte {
	code := []byte{} // not nil, which the database would take for null
	for _, e := range ns {
		code = append(append(code, e...), 0)
	}
	return code
}

func decode(code []byte) (store.Namespace, error) {
	elements, ended := bytes.CutSuffix(code, []byte{0})
	if !ended {
		return nil, errors.New("a stored namespace is damaged")
	}
	return strings.Split(string(elements), "\x00"), nil
}

// after returns the first code that is not of a namespace in or below that of code, which is not empty.
func after(code []byte) []byte {
	return append(bytes.Clone(code[:len(code)-1]), 1)
}

// bounds returns the range of the codes in and below a prefix, the second one excluded.
func bounds(prefix store.Namespace) (low, high []byte) {
	low = encode(prefix)
	if len(low) == 0 {
		return low, []byte{0xFF} // not part of UTF-8
	}
	return low, after(low)
}

// scope is the token of all items in or below a namespace, in the full-text index. Two namespaces with the same one would
// only cost time: their items are told apart afterwards.
func scope(ns store.Namespace) string {
	h := fnv.New64a()
	_, _ = h.Write(encode(ns)) // never fails
	return fmt.Sprintf("%016x", h.Sum64())
}

// scopes returns the tokens of a namespace and all above it.
func scopes(ns store.Namespace) string {
	tokens := make([]string, len(ns))
	for i := range ns {
		tokens[i] = scope(ns[:i+1])
	}
	return strings.Join(tokens, " ")
}

// expression returns the FTS5 expression of a query with text, or false when nothing can fit it. Tokens hold letters, digits
// and marks only, so nothing of the text can be taken for syntax.
func expression(q store.Query) (string, bool) {
	text := fulltext.Parse(q.Text, q.All)
	if len(text.Terms) == 0 {
		return "", false
	}
	terms := make([]string, len(text.Terms))
	for i, term := range text.Terms {
		phrases := make([]string, len(term))
		for j, p := range term {
			phrases[j] = `"` + strings.Join(p.Tokens, " ") + `"`
			if p.Prefix {
				phrases[j] += " *"
			}
		}
		terms[i] = "(" + strings.Join(phrases, " OR ") + ")"
	}
	glue := " OR "
	if text.All {
		glue = " AND "
	}
	match := "body : (" + strings.Join(terms, glue) + ")"
	if len(q.Namespace) > 0 {
		match = `scope : "` + scope(q.Namespace) + `" AND ` + match
	}
	return match, true
}
