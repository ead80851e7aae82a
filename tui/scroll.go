package tui

import "github.com/llama-agent/llama-agent/tui/cells"

// source is something long that is shown in part: items of some lines each. Lines of an item are made when they are asked for, so that
// what is not visible costs nothing.
type source interface {
	count() int
	lines(i int) []cells.Line
}

// row is a visible line: which one of which item, and its text.
type row struct {
	item, line int
	text       cells.Line
}

// scroller says which part of a source is visible. The zero value shows the beginning.
type scroller struct {
	item, line int  // the first visible line, unless follow is set
	follow     bool // the end is visible, and stays so when the source grows
}

// window returns the lines that are visible in a height. When everything from the top on fits, the end is shown.
func (s *scroller) window(src source, height int) []row {
	if height <= 0 {
		return nil
	}
	if !s.follow {
		s.clamp(src)
		rows := forward(src, s.item, s.line, height)
		if len(rows) == height || s.item == 0 && s.line == 0 {
			return rows
		}
	}
	return backward(src, height)
}

// clamp brings the top back into a source that has changed.
func (s *scroller) clamp(src source) {
	n := src.count()
	if s.item >= n {
		s.item, s.line = max(n-1, 0), 0
	}
	if n > 0 && s.line > 0 {
		s.line = min(s.line, max(len(src.lines(s.item))-1, 0))
	}
}

// forward collects up to height lines from one on.
func forward(src source, item, line, height int) []row {
	rows := make([]row, 0, height)
	for ; item < src.count() && len(rows) < height; item++ {
		all := src.lines(item)
		for ; line < len(all) && len(rows) < height; line++ {
			rows = append(rows, row{item, line, all[line]})
		}
		line = 0
	}
	return rows
}

// backward collects the last height lines.
func backward(src source, height int) []row {
	var parts [][]row
	have := 0
	for item := src.count() - 1; item >= 0 && have < height; item-- {
		all := src.lines(item)
		from := max(len(all)-(height-have), 0)
		part := make([]row, 0, len(all)-from)
		for line := from; line < len(all); line++ {
			part = append(part, row{item, line, all[line]})
		}
		parts = append(parts, part)
		have += len(part)
	}
	rows := make([]row, 0, have)
	for i := len(parts) - 1; i >= 0; i-- {
		rows = append(rows, parts[i]...)
	}
	return rows
}

// by scrolls n lines, down when n is positive. Scrolling to the end makes the end stay visible.
func (s *scroller) by(src source, n, height int) {
	rows := s.window(src, height)
	if len(rows) == 0 {
		return
	}
	item, line := rows[0].item, rows[0].line
	if n < 0 {
		s.follow = false
		s.item, s.line = stepBack(src, item, line, -n)
		return
	}
	// The top may go down while a full window is left below it.
	ahead := forward(src, item, line, n+height)
	if len(ahead) < n+height {
		s.follow = true
		return
	}
	s.follow, s.item, s.line = false, ahead[n].item, ahead[n].line
}

// stepBack is the line n above another, or the first.
func stepBack(src source, item, line, n int) (int, int) {
	for n > line && item > 0 {
		n -= line + 1
		item--
		line = len(src.lines(item)) - 1
		if line < 0 { // an item without lines is stepped over
			line, n = 0, n+1
		}
	}
	return item, max(line-n, 0)
}

// to makes a line visible, a third below the top.
func (s *scroller) to(src source, item, line, height int) {
	for _, r := range s.window(src, height) {
		if r.item == item && r.line == line {
			return
		}
	}
	s.follow = false
	s.item, s.line = stepBack(src, item, line, height/3)
	if len(forward(src, s.item, s.line, height)) < height {
		s.follow = true
	}
}

// top shows the beginning, and bottom the end.
func (s *scroller) top()    { *s = scroller{} }
func (s *scroller) bottom() { *s = scroller{follow: true} }

// removed keeps what is visible when an item goes.
func (s *scroller) removed(item int) {
	switch {
	case s.follow || item > s.item:
	case item == s.item:
		s.line = 0
	default:
		s.item--
	}
}
