package tools

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/llama-agent/llama-agent/internal/excerpt"
)

// nearestChars is how much is shown of lines that only share words with a query.
const nearestChars = 400

// A Closest is what comes closest to a query that no line contains.
type Closest struct {
	// Nearest are the lines that share most words with the query. They are no matches.
	Nearest []SearchMatch `json:"nearest,omitempty"`
	// AllWords is how many lines have all words of the query, in any order; 0 when none has, or the text is too long to be looked through.
	AllWords int  `json:"all_words,omitempty"`
	Near     bool `json:"near,omitempty"` // one of them is likely to be what is looked for
}

// closest looks for the words of a query, with the size of what is looked at bounded by [excerpt.MaxText]. A query of one word has nothing
// in common with other lines.
func closest(path string, text []byte, query string) Closest {
	pieces := excerpt.Nearest(text, query, nearestChars)
	out := Closest{Near: excerpt.IsNear(pieces)}
	for _, piece := range pieces {
		out.Nearest = append(out.Nearest, SearchMatch{Path: path, Line: piece.Line, Offset: int64(piece.Offset), Text: strings.ToValidUTF8(strings.TrimSpace(piece.Text), "\uFFFD")})
	}
	if len(text) < excerpt.MaxText {
		out.AllWords = linesWithAll(text, query)
	}
	return out
}

// noMatch is how a search says that no line has its query. Where lines have its words in another order, their number comes first: a small
// model takes what is listed for all there is.
func (c Closest) noMatch(query string) string {
	switch c.AllWords {
	case 0:
		return fmt.Sprintf("0 lines contain %q", query)
	case 1:
		return fmt.Sprintf("1 line has all words of %q, though not in this order,", query)
	}
	return fmt.Sprintf("%d lines have all words of %q, though not in this order,", c.AllWords, query)
}

// linesWithAll counts the lines in which all words of a query stand, whatever their letter case. One word is none of its business.
func linesWithAll(text []byte, query string) int {
	words := strings.FieldsFunc(strings.ToLower(query), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' })
	if len(words) < 2 {
		return 0
	}
	count := 0
	for line := range strings.Lines(strings.ToLower(string(text))) {
		if !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(line, word) }) {
			count++
		}
	}
	return count
}

// writeNearest shows such lines below the news that there is no match.
func writeNearest(b *strings.Builder, c Closest) {
	if len(c.Nearest) == 0 {
		return
	}
	if c.AllWords > 0 {
		fmt.Fprintf(b, "; %d of them and of lines near to it:", len(c.Nearest))
	} else {
		fmt.Fprintf(b, ". %s that %s words with it:", plural(len(c.Nearest), "line"), map[bool]string{true: "shares", false: "share"}[len(c.Nearest) == 1])
	}
	for _, m := range c.Nearest {
		writeMatch(b, m, "")
	}
}

// searchForItsName refuses a search of a file for the file's own name, which no line had: a small model writes that when it does not know
// yet what stands in the file. reader is the tool that shows it.
func searchForItsName(file, query, reader string) *Error {
	name := strings.TrimSpace(query)
	if name != file && name != path.Base(file) && name != strings.TrimSuffix(path.Base(file), path.Ext(file)) {
		return nil
	}
	return &Error{
		Kind:    KindWrongKind,
		Message: fmt.Sprintf("%q is the name of the file itself, which none of its lines holds", clip(name, 80)),
		Fix:     fmt.Sprintf("use %s to see what it says, or search for words that stand in it", reader),
		Instead: reader,
	}
}
