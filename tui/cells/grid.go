package cells

import "strings"

// Cell is one place of a grid.
type Cell struct {
	// Text is one grapheme cluster, or "" in the right half of a wide one and in a cell that nothing was drawn on.
	Text string
	// Width is 1 or 2 columns, and 0 in the right half of a wide cluster.
	Width int
	Style Style
}

var blank = Cell{Text: " ", Width: 1}

// Rect is a part of a grid in columns and rows. Parts outside of a grid are left out wherever a Rect is used.
type Rect struct{ X, Y, Width, Height int }

// Inset returns what is left of r inside a margin of dx columns and dy rows on each side; it is never negative.
func (r Rect) Inset(dx, dy int) Rect {
	return Rect{r.X + dx, r.Y + dy, max(r.Width-2*dx, 0), max(r.Height-2*dy, 0)}
}

// Grid is a rectangle of cells, or a window into a larger one (see [Grid.Sub]). It is not safe for concurrent use while
// somebody draws.
//
// Whatever is drawn, every row is exactly as wide as the grid: a wide cluster takes two neighbouring cells or none, and
// the half of one that is drawn over becomes a space.
type Grid struct {
	page *page
	area Rect
}

// page holds the cells that all windows of a grid share.
type page struct {
	width, height int
	cells         []Cell
}

// NewGrid returns a grid of spaces. Negative sizes count as 0.
func NewGrid(width, height int) *Grid {
	width, height = max(width, 0), max(height, 0)
	p := &page{width: width, height: height, cells: make([]Cell, width*height)}
	for i := range p.cells {
		p.cells[i] = blank
	}
	return &Grid{page: p, area: Rect{0, 0, width, height}}
}

// Size returns the width in columns and the height in rows.
func (g *Grid) Size() (width, height int) { return g.area.Width, g.area.Height }

// Sub returns the part r of g as a grid with its own origin. Both draw on the same cells, but the part cannot draw
// outside of itself.
func (g *Grid) Sub(r Rect) *Grid {
	x0, y0 := min(max(r.X, 0), g.area.Width), min(max(r.Y, 0), g.area.Height)
	x1, y1 := min(max(r.X+r.Width, x0), g.area.Width), min(max(r.Y+r.Height, y0), g.area.Height)
	return &Grid{page: g.page, area: Rect{g.area.X + x0, g.area.Y + y0, x1 - x0, y1 - y0}}
}

// At returns a cell; outside of the grid, a space.
func (g *Grid) At(x, y int) Cell {
	if x < 0 || y < 0 || x >= g.area.Width || y >= g.area.Height {
		return blank
	}
	return g.page.cells[(g.area.Y+y)*g.page.width+g.area.X+x]
}

// Draw puts a line at column x of row y and returns the column behind it. What is left or right of the grid, or above or
// below it, is left out, also a wide cluster of which only half would fit: a space stands there.
func (g *Grid) Draw(x, y int, l Line) int {
	if y < 0 || y >= g.area.Height {
		return x + l.Width()
	}
	for _, s := range cleaned(l, rowEnd) {
		for rest, state := s.Text, -1; rest != ""; {
			if x >= g.area.Width {
				return x
			}
			var c string
			var w int
			c, rest, w, state = next(rest, state)
			pieces(c, w, func(piece string, w int) {
				g.set(x, y, piece, w, s.Style)
				x += w
			})
		}
	}
	return x
}

// DrawLines puts lines under one another from row 0 on, as many as there are rows, and returns how many it drew.
func (g *Grid) DrawLines(lines []Line) int {
	n := min(len(lines), g.area.Height)
	for y, l := range lines[:n] {
		g.Draw(0, y, l)
	}
	return n
}

// Fill makes every cell a space in a style.
func (g *Grid) Fill(style Style) {
	for y := range g.area.Height {
		for x := range g.area.Width {
			g.set(x, y, " ", 1, style)
		}
	}
}

// Restyle replaces the style of the cells of r by what f makes of it, for example to mark a selection.
func (g *Grid) Restyle(r Rect, f func(Style) Style) {
	sub := g.Sub(r)
	for y := range sub.area.Height {
		row := (sub.area.Y+y)*sub.page.width + sub.area.X
		for i := row; i < row+sub.area.Width; i++ {
			sub.page.cells[i].Style = f(sub.page.cells[i].Style)
		}
	}
}

// set puts a piece of w columns at x, y, where y is inside of the grid.
func (g *Grid) set(x, y int, text string, w int, style Style) {
	if x < 0 || x+w > g.area.Width {
		for i := max(x, 0); i < min(x+w, g.area.Width); i++ {
			g.put(i, y, Cell{" ", 1, style})
		}
		return
	}
	g.put(x, y, Cell{text, w, style})
	if w == maxCellWidth {
		g.put(x+1, y, Cell{"", 0, style})
	}
}

// put writes one cell and makes a space of the other half of a wide cluster that it covers.
func (g *Grid) put(x, y int, c Cell) {
	row := (g.area.Y + y) * g.page.width
	x += g.area.X
	cells := g.page.cells[row : row+g.page.width]
	if cells[x].Width == 0 && c.Width != 0 && x > 0 {
		cells[x-1].Text, cells[x-1].Width = " ", 1
	}
	if cells[x].Width == maxCellWidth && x+1 < len(cells) {
		cells[x+1].Text, cells[x+1].Width = " ", 1
	}
	cells[x] = c
}

// String returns the rows without their styles and without spaces at their ends, each ended by a newline.
func (g *Grid) String() string {
	var b strings.Builder
	for y := range g.area.Height {
		var row strings.Builder
		for x := range g.area.Width {
			row.WriteString(g.At(x, y).Text)
		}
		b.WriteString(strings.TrimRight(row.String(), " "))
		b.WriteByte('\n')
	}
	return b.String()
}

// Marked returns the rows as String does, with the style of each stretch that is not ordinary: {heading+bold}Title{}.
// It is for tests and not meant to be read back.
func (g *Grid) Marked() string {
	var b strings.Builder
	for y := range g.area.Height {
		var row Line
		for x := 0; x < g.area.Width; x++ {
			if c := g.At(x, y); c.Text != "" {
				row = row.add(c.Text, c.Style)
			}
		}
		b.WriteString(strings.TrimRight(row.Marked(), " "))
		b.WriteByte('\n')
	}
	return b.String()
}
