package artifacts

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/llama-agent/llama-agent/internal/hostile"
)

// show returns content as valid UTF-8 that cannot drive a terminal or hide from a reader: control characters other than tab and
// newline become their Unicode pictures, other invisible format characters become <U+202E>, bytes that are not UTF-8 become \xE9,
// and CR LF becomes LF. It leaves nothing for a later pass of the same kind to change, so that limits in characters hold.
func show(content []byte) string {
	var b strings.Builder
	b.Grow(len(content))
	for i := 0; i < len(content); {
		text, size := showChar(content[i:])
		b.WriteString(text)
		i += size
	}
	return b.String()
}

// showChar shows the first character of content, which must not be empty, and returns its size in bytes. CR LF is one character
// here.
func showChar(content []byte) (text string, size int) {
	r, size := utf8.DecodeRune(content)
	switch {
	case r == utf8.RuneError && size == 1:
		return fmt.Sprintf(`\x%02X`, content[0]), 1
	case r == '\r' && len(content) > 1 && content[1] == '\n':
		return "\n", 2
	case r == '\n' || r == '\t':
		return string(r), size
	case r < 0x20:
		return string(0x2400 + r), size
	case r == 0x7f:
		return "\u2421", size
	case hostile.IsHidden(r):
		return fmt.Sprintf("<U+%04X>", r), size
	}
	return string(content[:size]), size
}

// oneLine shows s in one line of at most limit bytes, cut between characters with an ellipsis.
func oneLine(s string, limit int) string {
	const ellipsis = "…"
	var b strings.Builder
	fits := 0 // the longest beginning that leaves room for the ellipsis
	for i := 0; i < len(s); {
		text, size := showChar([]byte(s[i:min(len(s), i+utf8.UTFMax)]))
		if text == "\n" || text == "\t" {
			text = " "
		}
		if b.Len()+len(text) > limit {
			return b.String()[:fits] + ellipsis
		}
		b.WriteString(text)
		if b.Len() <= limit-len(ellipsis) {
			fits = b.Len()
		}
		i += size
	}
	return b.String()
}
