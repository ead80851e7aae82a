package cells

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"github.com/llama-agent/llama-agent/internal/hostile"
)

// TabWidth is the distance of tab stops in columns.
const TabWidth = 4

// maxClusterRunes bounds what is shown in one place: the longest emoji (a family of four with skin colours) has 11
// characters, the tallest syllables of Indic scripts have fewer. What is beyond it is replaced by an ellipsis.
const maxClusterRunes = 16

const ellipsis = "…"

// Clean returns s as text whose every cluster takes at least one column and none of which acts on a terminal or hides:
// what [hostile.Inert] makes visible is visible, tabs are spaces up to the next stop, a mark without a letter stands on a
// dotted circle, invisible characters between others are left out, and clusters of unreasonable size are cut. Line
// ends (LF, CR LF) stay; a lone CR is shown as ␍. Clean text stays as it is. The time is linear in the length of s.
func Clean(s string) string {
	out, _ := clean(s, 0, lines)
	return out
}

// CleanLine is Clean for text that has to stay in one line: line ends are shown as ␊.
func CleanLine(s string) string {
	out, _ := clean(s, 0, rowEnd)
	return out
}

// newlines says what becomes of line ends.
type newlines uint8

const (
	lines  newlines = iota // they stay
	rowEnd                 // they are shown, since the text is one row of a grid
)

// cleaned returns l with every span clean, without empty spans, and with neighbours of one style joined, so that what is
// measured is what is drawn.
func cleaned(l Line, mode newlines) Line {
	col, same := 0, true
	for i, s := range l {
		if s.Text == "" || i > 0 && l[i-1].Style == s.Style || !isClean(s.Text, mode) {
			same = false
			break
		}
	}
	if same {
		return l
	}
	out := make(Line, 0, len(l))
	for i := 0; i < len(l); {
		style, text := l[i].Style, l[i].Text
		j := i + 1
		for ; j < len(l) && (l[j].Style == style || l[j].Text == ""); j++ {
		}
		if j > i+1 {
			text = l[i:j].String()
		}
		if text, col = clean(text, col, mode); text != "" {
			if n := len(out); n > 0 && out[n-1].Style == style { // what stood between was empty
				text = out[n-1].Text + text
				out = out[:n-1]
			}
			out = append(out, Span{text, style})
		}
		i = j
	}
	return out
}

// clean returns s made clean, and the column behind it when it begins at column col.
func clean(s string, col int, mode newlines) (string, int) {
	if isClean(s, mode) {
		if mode == rowEnd || strings.IndexByte(s, '\n') < 0 {
			return s, col + width(s)
		}
		return s, width(s[strings.LastIndexByte(s, '\n')+1:])
	}
	s = hostile.Inert(s)
	var b strings.Builder
	b.Grow(len(s) + 16)
	at, dropped := col, false
	for state := -1; s != ""; {
		if s[0] == '\n' {
			if mode == rowEnd {
				b.WriteString("␊")
				at++
			} else {
				b.WriteByte('\n')
				at = 0
			}
			s, state = s[1:], -1
			continue
		}
		if s[0] == '\t' {
			n := TabWidth - at%TabWidth
			b.WriteString(spaces(n))
			s, state, at = s[1:], -1, at+n
			continue
		}
		var c string
		var w int
		c, s, w, state = uniseg.FirstGraphemeClusterInString(s, state)
		if c, w = cleanCluster(c, w); c == "" {
			dropped = true
			continue
		}
		b.WriteString(c)
		at += w
	}
	if dropped && !isClean(b.String(), mode) { // what stood apart may have become one cluster
		return clean(b.String(), col, mode)
	}
	return b.String(), at
}

// cleanCluster returns what is shown for one grapheme cluster, "" for nothing, and its width.
func cleanCluster(c string, w int) (string, int) {
	first, size := utf8.DecodeRuneInString(c)
	switch {
	case first == '⸺' || first == '⸻': // libraries count 3 and 4 columns, terminals 1: nobody can draw straight with them
		c = strings.Repeat("—", 2+int(first-'⸺')) + c[size:]
		w = uniseg.StringWidth(c)
	case w == 0 && unicode.Is(unicode.M, first) && !isInvisible(first):
		c = "◌" + c
		w = uniseg.StringWidth(c)
	case w == 0 && isInvisible(first):
		return "", 0
	case w == 0:
		c = fmt.Sprintf("<U+%04X>", first) + c[size:]
		w = uniseg.StringWidth(c)
	}
	if len(c) > maxClusterRunes && utf8.RuneCountInString(c) > maxClusterRunes {
		n := 0
		for i := range c {
			if n == maxClusterRunes {
				c = c[:i] + ellipsis
				break
			}
			n++
		}
		w = uniseg.StringWidth(c)
	}
	return c, w
}

// isInvisible tells characters that take no column and may be left out where they join nothing.
func isInvisible(r rune) bool {
	return unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r) || r == 0x034f || r == 0x17b4 || r == 0x17b5
}

// isClean tells whether clean would return s.
func isClean(s string, mode newlines) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= utf8.RuneSelf {
			return isCleanUnicode(s[i:], i > 0 && s[i-1] != '\n', mode)
		}
		if c < 0x20 && (c != '\n' || mode == rowEnd) || c == 0x7f {
			return false
		}
	}
	return true
}

// isCleanUnicode is isClean for any text. before says that a plain character stands before s.
func isCleanUnicode(s string, before bool, mode newlines) bool {
	if !utf8.ValidString(s) {
		return false
	}
	marks := 0
	for _, r := range s {
		switch {
		case r >= 0x20 && r < 0x7f, r >= 0x3400 && r <= 0x9fff, r >= 0xac00 && r <= 0xd7a3, r >= 0xff01 && r <= 0xff5e:
			marks, before = 0, true
			continue
		case r == '\n' && mode == lines:
			marks, before = 0, false
			continue
		case r < 0x20, r == 0x7f, r == 0x2028, r == 0x2029, r == 0x2e3a, r == 0x2e3b, hostile.IsHidden(r):
			return false
		}
		if !joins(r) {
			marks, before = 0, true
			continue
		}
		// Whether a joining character has something to join is a question for the segmentation.
		if marks++; !before || marks > 1 || !unicode.Is(unicode.Mn, r) || isInvisible(r) {
			return isCleanSlow(s, mode)
		}
	}
	return true
}

// joins tells characters that can be part of a cluster with others, or that have no width of their own.
func joins(r rune) bool {
	switch {
	case r < 0x300:
		return r == 0xad
	case r == 0x0d4e, r == 0x0e33, r == 0x0eb3, r >= 0x11000 && r <= 0x11fff: // parts of syllables that are letters
		return true
	case r >= 0xfff0 && r <= 0xfff8, r >= 0xe0000 && r <= 0xe0fff: // not assigned, and without a width
		return true
	case r >= 0x1100 && r <= 0x11ff, r >= 0xa960 && r <= 0xa97f, r >= 0xd7b0 && r <= 0xd7ff: // letters of Hangul syllables
		return true
	case r >= 0x1f1e6 && r <= 0x1f1ff, r >= 0x1f3fb && r <= 0x1f3ff:
		return true
	}
	return unicode.In(r, unicode.M, unicode.Cf, unicode.Other_Grapheme_Extend, unicode.Prepended_Concatenation_Mark)
}

// isCleanSlow looks at every cluster of s, which is valid UTF-8.
func isCleanSlow(s string, mode newlines) bool {
	for state := -1; s != ""; {
		if s[0] == '\n' && mode == lines {
			s, state = s[1:], -1
			continue
		}
		if s[0] < 0x20 || s[0] == 0x7f {
			return false
		}
		var c string
		var w int
		c, s, w, state = uniseg.FirstGraphemeClusterInString(s, state)
		if shown, _ := cleanCluster(c, w); shown != c || hostile.Inert(c) != c {
			return false
		}
	}
	return true
}
