package tui

import (
	"strings"
	"unicode/utf8"

	"github.com/llama-agent/llama-agent/tui/cells"
)

// pieceBytes is how much of a line is broken at once: a line of a megabyte is made of many pieces, of which only visible ones are
// looked at.
const pieceBytes = 4096

// document is a text that takes the place of the transcript.
type document struct {
	title, ref string
	text       string
	pieces     []string // of the text's lines
	scroll     scroller
	width      int
	kept       map[int][]cells.Line
}

func newDocument(title, ref, text string) *document {
	d := &document{title: title, ref: ref, text: text, kept: map[int][]cells.Line{}}
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		for len(line) > pieceBytes {
			at := pieceBytes
			for at > pieceBytes-utf8.UTFMax && !utf8.RuneStart(line[at]) {
				at--
			}
			d.pieces = append(d.pieces, line[:at])
			line = line[at:]
		}
		d.pieces = append(d.pieces, strings.TrimSuffix(line, "\r"))
	}
	return d
}

// prepare says how wide lines may be.
func (d *document) prepare(width int) {
	if width != d.width || len(d.kept) > kept {
		d.width = width
		clear(d.kept)
	}
}

func (d *document) count() int { return len(d.pieces) }

func (d *document) lines(i int) []cells.Line {
	lines, ok := d.kept[i]
	if !ok {
		lines = cells.Wrapping{Width: max(d.width, 1), Indent: true}.Lines(cells.Plain(d.pieces[i]))
		if len(lines) == 0 {
			lines = []cells.Line{nil}
		}
		d.kept[i] = lines
	}
	return lines
}

func (s *State) pressDocument(k key) []effect {
	d := s.document
	switch {
	case k.name == "esc" || k.text == "q" || k.name == "f1":
		if s.find != nil {
			s.find = nil
			return nil
		}
		s.document = nil
	case k.name == "up" || k.text == "k":
		s.scrollBy(-1)
	case k.name == "down" || k.text == "j" || k.name == "enter":
		s.scrollBy(1)
	case k.text == " ":
		_, height := s.viewed()
		s.scrollBy(max(height-1, 1))
	case k.text == "b":
		_, height := s.viewed()
		s.scrollBy(-max(height-1, 1))
	case k.name == "home" || k.text == "g":
		d.scroll.top()
	case k.name == "end" || k.text == "G":
		d.scroll.bottom()
	case k.text == "/":
		s.startFind()
	case k.text == "n":
		s.findNext(1)
	case k.text == "N":
		s.findNext(-1)
	case k.text == "y":
		s.notice = "copied, if the terminal allows it"
		return []effect{copyEffect{d.text}}
	}
	return nil
}
