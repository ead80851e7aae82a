package tui

import (
	"strings"
	"unicode/utf8"

	"github.com/llama-agent/llama-agent/tui/cells"
)

// picker is a list to choose from. What is typed narrows it.
type picker struct {
	list     listKind
	rows     []choice
	typed    string
	shown    []int // of rows, those that fit what is typed
	selected int   // of shown
}

// pick opens a list, or says that there is nothing in it.
func (s *State) pick(list listKind, rows []choice) {
	if len(rows) == 0 {
		s.note(map[listKind]string{
			listResume: "there is no stopped task and no other conversation", listModels: "no model files were found; give the path: /model PATH",
			listArtifacts: "no result is stored for this conversation",
		}[list])
		return
	}
	s.picker = &picker{list: list, rows: rows}
	s.picker.filter("")
}

// filter narrows the list to rows that have all words.
func (p *picker) filter(typed string) {
	p.typed, p.selected = typed, 0
	p.shown = p.shown[:0]
	for i, row := range p.rows {
		text := strings.Join(row.cells, " ")
		fits := true
		for word := range strings.FieldsSeq(typed) {
			fits = fits && foldContains(text, word)
		}
		if fits {
			p.shown = append(p.shown, i)
		}
	}
}

func (p *picker) choose(step int) {
	p.selected = min(max(p.selected+step, 0), max(len(p.shown)-1, 0))
}

func (s *State) pressPicker(k key) []effect {
	p := s.picker
	switch {
	case k.name == "esc":
		s.picker = nil
	case k.name == "up":
		p.choose(-1)
	case k.name == "down" || k.name == "tab":
		p.choose(1)
	case k.name == "pgup":
		p.choose(-10)
	case k.name == "pgdn":
		p.choose(10)
	case k.name == "home":
		p.choose(-len(p.rows))
	case k.name == "end":
		p.choose(len(p.rows))
	case k.name == "backspace":
		if p.typed != "" {
			_, size := utf8.DecodeLastRuneInString(p.typed)
			p.filter(p.typed[:len(p.typed)-size])
		}
	case k.name == "ctrl+u":
		p.filter("")
	case k.name == "enter":
		return s.picked()
	case k.text != "":
		p.filter(p.typed + k.text)
	}
	return nil
}

// picked does what the selected row stands for.
func (s *State) picked() []effect {
	p := s.picker
	if len(p.shown) == 0 {
		return nil
	}
	chosen := p.rows[p.shown[p.selected]]
	s.picker = nil
	if chosen.broken != "" {
		s.failed(chosen.broken)
		return nil
	}
	switch p.list {
	case listResume:
		return s.enter("/resume " + chosen.value)
	case listModels:
		return s.enter(`/model "` + chosen.value + `"`)
	case listArtifacts:
		return []effect{documentEffect{chosen.value}}
	}
	return nil
}

// pickerTitles say what a list is.
var pickerTitles = map[listKind]string{listResume: "Go on with", listModels: "Models", listArtifacts: "Stored results"}

// pickerBox is where the list is on the screen, and how many rows of it are visible.
func (s *State) pickerBox() (width, lines int) {
	return min(s.width, 100), min(len(s.picker.rows)+1, max(s.height-4, 2))
}

func (s *State) drawPicker(g *cells.Grid, _ layout) cursor {
	p := s.picker
	width, lines := s.pickerBox()
	inner := box(g, s.width, s.height, width, lines, pickerTitles[p.list], cells.Border)
	w, h := inner.Size()
	hint := muted("type to narrow, Enter chooses, Esc closes")
	if p.typed != "" {
		hint = cells.Concat(accent("› "), cells.Plain(oneLine(p.typed)))
	}
	inner.Draw(0, 0, hint.Clip(w))
	visible := max(h-1, 1)
	top := p.top(visible)
	widths := p.widths(w)
	for y := range min(visible, len(p.shown)-top) {
		at := top + y
		row := p.rows[p.shown[at]]
		line := pickerRow(row, widths).Clip(w)
		if at == p.selected {
			line = line.Pad(w).Restyle(func(cells.Style) cells.Style { return cells.Style{Role: cells.Selection, Attr: cells.Reverse} })
		}
		inner.Draw(0, 1+y, line)
	}
	if len(p.shown) == 0 {
		inner.Draw(0, 1, muted("nothing fits"))
	}
	return cursor{}
}

// top is the first visible row, when some are: the list is turned a page at a time.
func (p *picker) top(visible int) int { return p.selected / max(visible, 1) * max(visible, 1) }

// widths are those of the columns; the last one takes what is left.
func (p *picker) widths(width int) []int {
	var widths []int
	for _, row := range p.rows {
		for j, text := range row.cells {
			if j == len(widths) {
				widths = append(widths, 0)
			}
			widths[j] = min(max(widths[j], cells.Width(oneLine(text))), max(width/2, 1))
		}
	}
	return widths
}

func pickerRow(row choice, widths []int) cells.Line {
	var out cells.Line
	for j, text := range row.cells {
		if j > 0 {
			out = cells.Concat(out, cells.Plain("  "))
		}
		cell := cells.Plain(oneLine(text))
		if row.broken != "" {
			cell = muted(oneLine(text))
		}
		switch {
		case j < len(row.right) && row.right[j]:
			cell = cell.AlignRight(widths[j])
		case j < len(row.cells)-1:
			cell = cell.Pad(widths[j])
		}
		out = cells.Concat(out, cell)
	}
	return out
}

// clickPicker chooses the row at a place, and closes the list beside it.
func (s *State) clickPicker(_, y int) []effect {
	width, lines := s.pickerBox()
	height := min(lines+2, s.height)
	top := (s.height-height)/2 + 2
	visible := height - 3
	at := s.picker.top(visible) + y - top
	if width <= 0 || y < top || at >= len(s.picker.shown) || y >= top+visible {
		s.picker = nil
		return nil
	}
	s.picker.selected = at
	return s.picked()
}
