// Package editor is the input of the full-screen interface as a model: a text of several lines with a cursor, undo,
// history, a layout in cells, and the popup that completes words. It reads no keys and draws on no terminal.
//
// The text is kept byte for byte: what [Editor.Submit] returns is what was typed, whatever it is. Only what is shown is
// made inert. The cursor stands between grapheme clusters, so no key takes half a character away.
package editor

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/llama-agent/llama-agent/tui/cells"
)

// place is a position in the text: a line and an offset in bytes in it.
type place struct{ line, at int }

// lines is a text cut at its line ends, at least one line. Every line has its layout beside it; nil where it has to
// be made.
type lines struct {
	text   []string
	layout []*layout
}

func newLines(text string) lines {
	l := lines{text: strings.Split(text, "\n")}
	l.layout = make([]*layout, len(l.text))
	return l
}

func (l *lines) String() string { return strings.Join(l.text, "\n") }

// end returns the place behind the last character.
func (l *lines) end() place {
	last := len(l.text) - 1
	return place{last, len(l.text[last])}
}

// between returns the text from one place to another.
func (l *lines) between(from, to place) string {
	if from.line == to.line {
		return l.text[from.line][from.at:to.at]
	}
	var b strings.Builder
	b.WriteString(l.text[from.line][from.at:])
	for _, line := range l.text[from.line+1 : to.line] {
		b.WriteByte('\n')
		b.WriteString(line)
	}
	b.WriteByte('\n')
	b.WriteString(l.text[to.line][:to.at])
	return b.String()
}

// replace puts text in place of what is between two places, and returns the place behind it. The time is that of
// the text, of the first and the last line, and of moving the lines behind them.
func (l *lines) replace(from, to place, text string) place {
	if from.line == to.line && strings.IndexByte(text, '\n') < 0 {
		return l.replaceInLine(from, to.at-from.at, text)
	}
	head, tail := l.text[from.line][:from.at], l.text[to.line][to.at:]
	fresh := strings.Split(text, "\n")
	last := len(fresh) - 1
	end := from.behind(text)
	fresh[0] = head + fresh[0]
	fresh[last] += tail
	l.text = slices.Replace(l.text, from.line, to.line+1, fresh...)
	l.layout = slices.Replace(l.layout, from.line, to.line+1, make([]*layout, len(fresh))...)
	return end
}

// replaceInLine is replace for a change of size bytes that leaves the lines as they are.
func (l *lines) replaceInLine(from place, size int, text string) place {
	line := l.text[from.line]
	line = line[:from.at] + text + line[from.at+size:]
	l.text[from.line] = line
	if old := l.layout[from.line]; old != nil {
		l.layout[from.line] = old.changed(line, from.at, size, len(text))
	}
	return place{from.line, from.at + len(text)}
}

// behind returns the end of the text when it is put at a place.
func (p place) behind(text string) place {
	n := strings.Count(text, "\n")
	if n == 0 {
		return place{p.line, p.at + len(text)}
	}
	return place{p.line + n, len(text) - strings.LastIndexByte(text, '\n') - 1}
}

// boundary returns the first cluster boundary of a line at or behind an offset.
func boundary(line string, at int) int {
	for i := certain(line, at); i < len(line); {
		if i >= at {
			return i
		}
		c, _, _ := cells.Cluster(line[i:])
		i += len(c)
	}
	return len(line)
}

// boundaryBefore returns the last cluster boundary of a line in front of an offset, which is greater than 0.
func boundaryBefore(line string, at int) int {
	last := 0
	for i := certain(line, at-1); i < at; {
		last = i
		c, _, _ := cells.Cluster(line[i:])
		i += len(c)
	}
	return last
}

// certain returns an offset at or in front of another one that is a cluster boundary for certain, as near as that can be told
// without looking at the whole line: between two characters of scripts whose characters stand alone.
func certain(line string, at int) int {
	at = min(at, len(line))
	for at > 0 && at < len(line) && !utf8.RuneStart(line[at]) {
		at--
	}
	for at > 0 {
		before, size := utf8.DecodeLastRuneInString(line[:at])
		if at < len(line) && standsAlone(before) {
			if behind, _ := utf8.DecodeRuneInString(line[at:]); standsAlone(behind) {
				return at
			}
		}
		at -= size
	}
	return 0
}

func standsAlone(r rune) bool {
	return r >= 0x20 && r < 0x7f || r >= 0x3400 && r <= 0x9fff || r >= 0xac00 && r <= 0xd7a3
}
