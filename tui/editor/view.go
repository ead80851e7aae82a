package editor

import (
	"github.com/llama-agent/llama-agent/tui/cells"
)

// View is what of the input is shown.
type View struct {
	// Lines are the rows that are visible, at most as many as asked for.
	Lines []cells.Line
	// X and Y are the cell of the cursor in Lines; it is inside of the width and height that were asked for.
	X, Y int
	// Top is the number of rows above the first one that is visible, and Rows that of all.
	Top, Rows int
}

// view is how the input was shown last.
type view struct {
	width int // in columns, with the one that the cursor may need at the end of a row; 0 when it never was
	top   int // the first row that is visible
}

// View returns what is shown in a width and a height, scrolled so that the cursor is visible and no row is left empty
// without need. The last column is kept free for the cursor, and for the space behind a word. Rows are broken behind spaces and beside wide
// characters; every character is in exactly one row. There is nothing where width or height is less than 1.
func (e *Editor) View(width, height int) View {
	e.init()
	if width < 1 || height < 1 {
		return View{}
	}
	e.view.width = width
	row, above, rows := 0, 0, 0
	for i := range e.lines.text {
		l := e.layoutOf(i)
		if i == e.cursor.line {
			row = l.row(e.cursor.at)
			above = rows
		}
		rows += len(l.starts)
	}
	row += above
	e.view.top = min(e.view.top, row, max(rows-height, 0))
	e.view.top = max(e.view.top, row-height+1)
	v := View{Top: e.view.top, Rows: rows, Y: row - e.view.top}
	v.X = min(e.column(e.cursor), width-1)
	skip := e.view.top
	for i, text := range e.lines.text {
		l := e.layoutOf(i)
		if skip >= len(l.starts) {
			skip -= len(l.starts)
			continue
		}
		for r := skip; r < len(l.starts) && len(v.Lines) < height; r++ {
			v.Lines = append(v.Lines, show(l.text(text, r), l.width))
		}
		if skip = 0; len(v.Lines) == height {
			break
		}
	}
	return v
}

// Up goes to the row above, or back in the history from the first row.
func (e *Editor) Up() {
	if e.init(); e.history.browsing || !e.vertical(-1) {
		e.HistoryBack()
	}
}

// Down goes to the row below, or forward in the history from the last row.
func (e *Editor) Down() {
	if e.init(); e.history.browsing || !e.vertical(1) {
		e.HistoryForward()
	}
}

// vertical goes one row up or down, to the column from which such moves began, and tells whether there is a row.
func (e *Editor) vertical(step int) bool {
	line, row := e.cursor.line, e.layoutOf(e.cursor.line).row(e.cursor.at)+step
	if row < 0 {
		if line--; line < 0 {
			return false
		}
		row = len(e.layoutOf(line).starts) - 1
	} else if row >= len(e.layoutOf(line).starts) {
		if line++; line == len(e.lines.text) {
			return false
		}
		row = 0
	}
	goal := e.goal
	if goal < 0 {
		goal = e.column(e.cursor)
	}
	e.move(e.placeAt(line, row, goal))
	e.goal = goal
	return true
}

// Click puts the cursor at a cell of what [Editor.View] returned last, or as near as there is text.
func (e *Editor) Click(x, y int) {
	e.init()
	y = max(y+e.view.top, 0)
	for i := range e.lines.text {
		n := len(e.layoutOf(i).starts)
		if y < n {
			e.move(e.placeAt(i, y, max(x, 0)))
			return
		}
		y -= n
	}
	e.move(e.lines.end())
}

// placeAt returns the place in a row of a line that is nearest to a column without being behind it.
func (e *Editor) placeAt(line, row, column int) place {
	l := e.layoutOf(line)
	text, start := l.text(e.lines.text[line], row), l.starts[row]
	at, x := 0, 0
	for at < len(text) {
		c, _, n := glyph(text[at:], x, l.width)
		if x+n > column {
			break
		}
		at, x = at+len(c), x+n
	}
	if at == len(text) && row < len(l.starts)-1 && at > 0 { // behind the last character is the next row
		at = boundaryBefore(text, at)
	}
	return place{line, start + at}
}

// column returns the column of a place in its row.
func (e *Editor) column(p place) int {
	l := e.layoutOf(p.line)
	row := l.row(p.at)
	text := e.lines.text[p.line][l.starts[row]:p.at]
	x := 0
	for text != "" {
		c, _, n := glyph(text, x, l.width)
		text, x = text[len(c):], x+n
	}
	return x
}

// layoutOf returns the layout of a line in the width of the last view.
func (e *Editor) layoutOf(line int) *layout {
	width := max(e.view.width-1, 1)
	if e.view.width == 0 {
		width = 1 << 30
	}
	l := e.lines.layout[line]
	if l == nil || l.width != width || l.hang != (e.view.width > 1) {
		l = newLayout(e.lines.text[line], width, e.view.width > 1)
		e.lines.layout[line] = l
	}
	return l
}

// show returns the cells of a row; what is not shown as it is, is muted.
func show(text string, width int) cells.Line {
	var out cells.Line
	plain, x := 0, 0
	for at := 0; at < len(text); {
		c, shown, n := glyph(text[at:], x, width)
		if shown != c {
			out = appendPlain(out, text[plain:at])
			out = append(out, cells.Span{Text: shown, Style: cells.Style{Role: cells.Muted}})
			plain = at + len(c)
		}
		at, x = at+len(c), x+n
	}
	return appendPlain(out, text[plain:])
}

func appendPlain(l cells.Line, text string) cells.Line {
	if text == "" {
		return l
	}
	return append(l, cells.Span{Text: text})
}
