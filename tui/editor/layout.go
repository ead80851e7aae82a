package editor

import (
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/llama-agent/llama-agent/tui/cells"
)

// layout is how one line is cut into rows. It is not changed once it is made.
type layout struct {
	width  int   // of the text, in columns
	hang   bool  // a space may stand in the column behind
	starts []int // the offset of each row, the first being 0
}

// newLayout cuts a line into rows of a width. With hang, the space behind a word that fills a row stands in the column of the
// cursor.
func newLayout(text string, width int, hang bool) *layout {
	l := &layout{width: width, hang: hang, starts: []int{0}}
	if len(text) <= width && isASCII(text) {
		return l
	}
	for start := l.rowEnd(text, 0); start < len(text); start = l.rowEnd(text, start) {
		l.starts = append(l.starts, start)
	}
	return l
}

// changed returns the layout of a line of which size bytes at an offset were replaced by fresh ones: only the rows
// that the change can touch are made anew. l is not changed.
func (l *layout) changed(text string, at, size, fresh int) *layout {
	// A word of the row before may move into the one before that, when what follows the word is not too wide any more.
	keep := max(l.row(at)-2, 0) + 1
	out := &layout{width: l.width, hang: l.hang, starts: append(make([]int, 0, len(l.starts)+1), l.starts[:keep]...)}
	next := keep // the first old row that may begin where a new one does
	for start := out.rowEnd(text, out.starts[keep-1]); start < len(text); start = out.rowEnd(text, start) {
		old := start - fresh + size // where it was before the change
		for next < len(l.starts) && l.starts[next] < old {
			next++
		}
		if start >= at+fresh && next < len(l.starts) && l.starts[next] == old {
			for _, s := range l.starts[next:] { // from here on everything is as it was
				out.starts = append(out.starts, s+fresh-size)
			}
			return out
		}
		out.starts = append(out.starts, start)
	}
	return out
}

// rowEnd returns the offset behind the row that begins at start. It depends on nothing before start.
func (l *layout) rowEnd(text string, start int) int {
	x, breakAt, wide := 0, start, false // breakAt is the last offset in the row where it may end
	for at := start; at < len(text); {
		c, _, n := glyph(text[at:], x, l.width)
		if at > start && (wide || n == 2) {
			breakAt = at
		}
		if x+n > l.width && at > start && !(l.hang && c == " " && x == l.width) {
			if breakAt > start {
				return breakAt
			}
			return at
		}
		x, at, wide = x+n, at+len(c), n == 2
		if c == " " || c == "\t" {
			breakAt = at
		}
	}
	return len(text)
}

// row returns the row in which a place is shown; between two rows that is the beginning of the second.
func (l *layout) row(at int) int {
	return sort.Search(len(l.starts), func(i int) bool { return l.starts[i] > at }) - 1
}

// text returns the text of a row.
func (l *layout) text(line string, row int) string {
	if row+1 < len(l.starts) {
		return line[l.starts[row]:l.starts[row+1]]
	}
	return line[l.starts[row]:]
}

// glyph returns the first cluster of a text that is not empty, what is shown for it at a column, and how many columns that takes:
// at least one, and not more than width.
func glyph(text string, x, width int) (cluster, shown string, columns int) {
	cluster, _, columns = cells.Cluster(text)
	if len(cluster) == 1 && cluster[0] >= 0x20 && cluster[0] < 0x7f {
		return cluster, cluster, 1
	}
	switch shown = cells.CleanLine(cluster); {
	case cluster == "\t":
		columns = min(cells.TabWidth-x%cells.TabWidth, max(width-x, 1))
		return cluster, strings.Repeat(" ", columns), columns
	case shown == "": // what is invisible elsewhere can be deleted here
		r, _ := utf8.DecodeRuneInString(cluster)
		shown = fmt.Sprintf("<U+%04X>", r)
		columns = len(shown)
	}
	if columns > width {
		return cluster, "…", 1
	}
	return cluster, shown, columns
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] >= 0x7f {
			return false
		}
	}
	return true
}
