package tools

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/llama-agent/llama-agent/internal/hostile"
)

// InertText returns s as text that cannot drive a terminal or hide from a reader; see [hostile.Inert].
func InertText(s string) string { return hostile.Inert(s) }

// oneLine returns a name as it is shown in a line of its own or in a list: line ends in it become ␊ and ␍, so that a name cannot pass
// for further lines.
func oneLine(name string) string {
	return strings.NewReplacer("\n", "␊", "\r", "␍").Replace(name)
}

// validText returns s with bytes that are not UTF-8 written as \xE9, and nothing else changed.
func validText(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			fmt.Fprintf(&b, `\x%02X`, s[i])
		} else {
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	return b.String()
}

// cutBytes returns the longest head of s of at most limit bytes that ends between characters.
func cutBytes(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	end := max(limit, 0)
	for back := 0; end > 0 && back < utf8.UTFMax && !utf8.RuneStart(s[end]); back++ {
		end--
	}
	return s[:end]
}

// cutChars returns the head of s of at most limit characters.
func cutChars(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	n := 0
	for i := range s {
		if n == limit {
			return s[:i]
		}
		n++
	}
	return s
}

// clip shortens s to limit characters, with an ellipsis in place of the rest.
func clip(s string, limit int) string {
	head := cutChars(s, limit)
	if len(head) == len(s) {
		return s
	}
	return cutChars(s, limit-1) + "…"
}

// capText cuts text at limit characters, at a line end when one is near, and says how many bytes are left out.
func capText(text string, limit int) string {
	head := cutChars(text, limit)
	if len(head) == len(text) {
		return text
	}
	if i := strings.LastIndexByte(head, '\n'); i > len(head)-400 && i > 0 {
		head = head[:i]
	}
	return fmt.Sprintf("%s\n[%d more bytes left out]", head, len(text)-len(head))
}

// plural returns "1 line", "2 lines".
func plural[N int | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if stem, ok := strings.CutSuffix(noun, "ch"); ok {
		return fmt.Sprintf("%d %sches", n, stem)
	}
	if stem, ok := strings.CutSuffix(noun, "y"); ok {
		return fmt.Sprintf("%d %sies", n, stem)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// byteSize writes a size exactly, and rounded from 10 KB on: 48 bytes, 49152 bytes (48.0 KB).
func byteSize(n int64) string {
	const unit = 1024
	if n < 10*unit {
		return plural(n, "byte")
	}
	value, units := float64(n)/unit, []string{"KB", "MB", "GB", "TB"}
	for value >= unit && len(units) > 1 {
		value, units = value/unit, units[1:]
	}
	return fmt.Sprintf("%d bytes (%.1f %s)", n, value, units[0])
}
