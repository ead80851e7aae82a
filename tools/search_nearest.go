package tools

import (
	"fmt"
	"path"
	"strings"

	"github.com/llama-agent/llama-agent/internal/excerpt"
)

// nearestChars is how much is shown of lines that only share words with a query.
const nearestChars = 400

// nearestLines returns the lines of a text that share most words with a query that no line contains, with the size of what is looked
// at bounded by [excerpt.MaxText], and whether one of them is likely to be what is looked for. A query of one word has nothing in common with other lines.
func nearestLines(path string, text []byte, query string) (out []SearchMatch, near bool) {
	pieces := excerpt.Nearest(text, query, nearestChars)
	for _, piece := range pieces {
		out = append(out, SearchMatch{Path: path, Line: piece.Line, Offset: int64(piece.Offset), Text: strings.ToValidUTF8(strings.TrimSpace(piece.Text), "\uFFFD")})
	}
	return out, excerpt.IsNear(pieces)
}

// writeNearest shows such lines below the news that there is no match.
func writeNearest(b *strings.Builder, lines []SearchMatch) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(b, ". %s that %s words with it:", plural(len(lines), "line"), map[bool]string{true: "shares", false: "share"}[len(lines) == 1])
	for _, m := range lines {
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
