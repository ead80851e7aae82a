package cells

import (
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// maxCellWidth is the widest thing that a terminal draws for one cell.
const maxCellWidth = 2

// Width returns how many columns a text takes in one row of a grid, after [CleanLine].
func Width(s string) int {
	_, n := clean(s, 0, rowEnd)
	return n
}

// width returns the columns of clean text.
func width(s string) int {
	n := 0
	for state := -1; s != ""; {
		if k := plain(s); k > 0 {
			s, n, state = s[k:], n+k, -1
			continue
		}
		var w int
		_, s, w, state = uniseg.FirstGraphemeClusterInString(s, state)
		n += w
	}
	return n
}

// next returns the first cluster of clean text, what follows it, its width and the state for the call on what follows.
func next(s string, state int) (cluster, rest string, width, newState int) {
	if isPlain(s) {
		return s[:1], s[1:], 1, -1
	}
	return uniseg.FirstGraphemeClusterInString(s, state)
}

// plain returns how many bytes at the beginning of s are ASCII letters that are clusters for certain: what follows each
// of them is ASCII too.
func plain(s string) int {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c >= 0x7f {
			return max(i-1, 0)
		}
	}
	return len(s)
}

// isPlain tells whether the first byte of s is a cluster of one column for certain.
func isPlain(s string) bool {
	return len(s) > 0 && s[0] >= 0x20 && s[0] < 0x7f && (len(s) == 1 || s[1] >= 0x20 && s[1] < 0x7f)
}

// Cluster returns the first grapheme cluster of any text as it is, what follows it, and the columns that it takes in a
// grid. The cluster is "" only where s is.
func Cluster(s string) (cluster, rest string, columns int) {
	if s == "" {
		return "", "", 0
	}
	if isPlain(s) {
		return s[:1], s[1:], 1
	}
	cluster, rest, _, _ = uniseg.FirstGraphemeClusterInString(s, -1)
	return cluster, rest, Width(cluster)
}

// pieces cuts a cluster into parts of one or two columns, which is what cells hold: a syllable with several marks that
// take a column each needs more than one cell.
func pieces(c string, w int, yield func(piece string, w int)) {
	for w > maxCellWidth {
		end, have := 0, 0
		for end < len(c) {
			_, size := utf8.DecodeRuneInString(c[end:])
			n := uniseg.StringWidth(c[:end+size])
			if end > 0 && n > maxCellWidth {
				break
			}
			end, have = end+size, n
		}
		if end == len(c) || have == 0 {
			break
		}
		yield(c[:end], have)
		c, w = c[end:], w-have
	}
	yield(c, min(max(w, 1), maxCellWidth))
}
