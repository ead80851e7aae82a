package hostile

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Inert returns s as valid UTF-8 that cannot drive a terminal or hide from a reader: control characters other than
// tab and newline become their Unicode pictures (ESC is ␛), other invisible format characters that change direction or
// carry hidden text become <U+202E>, and bytes that are not UTF-8 become \xE9. CR LF becomes LF. What is inert stays
// as it is.
func Inert(s string) string {
	if isInert(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02X`, s[i])
		case r == '\r' && i+1 < len(s) && s[i+1] == '\n':
		case r == '\n' || r == '\t':
			b.WriteRune(r)
		case r < 0x20:
			b.WriteRune(0x2400 + r)
		case r == 0x7f:
			b.WriteRune('\u2421')
		case IsHidden(r):
			fmt.Fprintf(&b, "<U+%04X>", r)
		default:
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	return b.String()
}

func isInert(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c >= 0x80 {
			return isInertUnicode(s[i:])
		} else if c < 0x20 && c != '\n' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

func isInertUnicode(s string) bool {
	if !utf8.ValidString(s) {
		return false
	}
	for _, r := range s {
		if r < 0x20 && r != '\n' && r != '\t' || r == 0x7f || IsHidden(r) {
			return false
		}
	}
	return true
}
