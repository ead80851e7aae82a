package markdown

import (
	"strings"
	"unicode"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"

	"github.com/llama-agent/llama-agent/tui/cells"
)

const (
	// columnGap stands between columns, and ruleGap in the rule below the header.
	columnGap = " │ "
	ruleGap   = "─┼─"
	// minColumn is how far a column of words may shrink before the table becomes a list of records.
	minColumn = 8
)

// grid is a table before it is laid out. Every row has as many cells as the header.
type grid struct {
	header  []cells.Line
	rows    [][]cells.Line
	columns []column
}

// column is what a column needs and how it is aligned.
type column struct {
	align   extast.Alignment
	numbers bool // all cells that are not empty are numbers, which are never broken
	natural int  // the width of the widest cell
	least   int
	width   int
}

// table lays out a table: with columns as wide as their cells where there is room, with narrower ones whose cells have
// several lines where there is less, and as one record a row below that.
func (d *document) table(n *extast.Table, width int) []cells.Line {
	g := d.grid(n)
	if len(g.columns) == 0 {
		return nil
	}
	if !g.fit(width) {
		return g.records(width)
	}
	return g.layout()
}

func (d *document) grid(n *extast.Table) grid {
	var g grid
	bold := cells.Style{Role: cells.Heading, Attr: cells.Bold}
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		style := cells.Style{}
		_, header := row.(*extast.TableHeader)
		if header {
			style = bold
		}
		var line []cells.Line
		for c := row.FirstChild(); c != nil; c = c.NextSibling() {
			line = append(line, d.cell(c, style))
		}
		if header {
			g.header = line
		} else {
			g.rows = append(g.rows, line)
		}
	}
	for i := range g.header {
		c := column{numbers: true, align: extast.AlignNone}
		if i < len(n.Alignments) {
			c.align = n.Alignments[i]
		}
		g.columns = append(g.columns, c)
	}
	for i := range g.columns {
		g.measure(i)
	}
	return g
}

// cell returns a cell as one line; the widths of what follows count on clean text.
func (d *document) cell(n ast.Node, style cells.Style) cells.Line {
	line := d.inline(n, style)
	for i, s := range line {
		line[i].Text = cells.CleanLine(s.Text)
	}
	return line
}

// measure sets what column i needs.
func (g *grid) measure(i int) {
	c := &g.columns[i]
	filled := 0
	for _, row := range g.rows {
		if i >= len(row) {
			continue
		}
		c.natural = max(c.natural, row[i].Width())
		if text := strings.TrimSpace(row[i].String()); text != "" {
			switch kind := numberKind(text); kind {
			case isNumber:
				filled++
			case isText:
				c.numbers = false
			}
		}
	}
	c.numbers = c.numbers && filled > 0
	c.least = min(c.natural, minColumn)
	if c.numbers {
		c.least = c.natural
		if c.align == extast.AlignNone {
			c.align = extast.AlignRight
		}
	}
	head := g.header[i].Width()
	c.least = max(c.least, min(head, minColumn), 1)
	c.natural = max(c.natural, head, c.least)
}

// fit chooses the widths of the columns and tells whether all fit: as wide as they need to be, and the widest narrower
// until they fit.
func (g *grid) fit(width int) bool {
	room := width - (len(g.columns)-1)*len([]rune(columnGap))
	least, natural := 0, 0
	for _, c := range g.columns {
		least += c.least
		natural += c.natural
	}
	if least > room {
		return false
	}
	limit := room
	if natural > room {
		// The greatest width to which all columns can be limited.
		low, high := 1, room
		for low < high {
			mid := (low + high + 1) / 2
			if g.limited(mid) <= room {
				low = mid
			} else {
				high = mid - 1
			}
		}
		limit = low
	}
	left := room - g.limited(limit)
	for i := range g.columns {
		c := &g.columns[i]
		c.width = max(min(c.natural, limit), c.least)
		if left > 0 && c.width < c.natural { // what is left over is less than a column each
			c.width++
			left--
		}
	}
	return true
}

// limited returns how wide all columns are together when none is wider than limit without need.
func (g *grid) limited(limit int) int {
	sum := 0
	for _, c := range g.columns {
		sum += max(min(c.natural, limit), c.least)
	}
	return sum
}

func (g *grid) layout() []cells.Line {
	out := g.row(g.header)
	var rule strings.Builder
	for i, c := range g.columns {
		if i > 0 {
			rule.WriteString(ruleGap)
		}
		rule.WriteString(strings.Repeat("─", c.width))
	}
	line := cells.Styled(rule.String(), muted)
	out = append(out, line)
	body := make([][]cells.Line, len(g.rows))
	tall := false
	for i, row := range g.rows {
		body[i] = g.row(row)
		tall = tall || len(body[i]) > 1
	}
	for i, lines := range body {
		if i > 0 && tall { // otherwise nobody sees where a row begins
			out = append(out, line)
		}
		out = append(out, lines...)
	}
	return out
}

// row lays out one row, in as many lines as its tallest cell has.
func (g *grid) row(row []cells.Line) []cells.Line {
	wrapped := make([][]cells.Line, len(g.columns))
	height := 1
	for i, c := range g.columns {
		if i < len(row) {
			wrapped[i] = cells.Wrap(row[i], c.width)
		}
		height = max(height, len(wrapped[i]))
	}
	out := make([]cells.Line, 0, height)
	for y := range height {
		var parts []cells.Line
		for i, c := range g.columns {
			var cell cells.Line
			if y < len(wrapped[i]) {
				cell = wrapped[i][y]
			}
			if i > 0 {
				parts = append(parts, cells.Styled(columnGap, muted))
			}
			parts = append(parts, aligned(cell, c))
		}
		out = append(out, cells.Concat(parts...))
	}
	return out
}

func aligned(l cells.Line, c column) cells.Line {
	switch c.align {
	case extast.AlignRight:
		return l.AlignRight(c.width)
	case extast.AlignCenter:
		return l.Center(c.width)
	}
	return l.Pad(c.width)
}

// records lays out a table that is too wide: every row as lines of "column: value", without its empty cells.
func (g *grid) records(width int) []cells.Line {
	if len(g.rows) == 0 {
		g.rows = [][]cells.Line{nil}
	}
	var out []cells.Line
	for i, row := range g.rows {
		if i > 0 {
			out = append(out, cells.Styled(strings.Repeat("─", min(width, minColumn)), muted))
		}
		for k, head := range g.header {
			var cell cells.Line
			if k < len(row) {
				cell = row[k]
			}
			if len(cell) == 0 && len(row) > 0 {
				continue
			}
			if len(head) > 0 {
				cell = cells.Concat(head, cells.Styled(": ", muted), cell)
			}
			out = append(out, cells.Wrapping{Width: width, Rest: cells.Plain("  ")}.Lines(cell)...)
		}
	}
	return out
}

// numeric tells what a cell is for the alignment of its column.
type numeric uint8

const (
	isText numeric = iota
	isNumber
	isNothing // a sign for a missing value
)

// maxUnit is the longest unit behind a number, such as tok/s.
const maxUnit = 6

// numberKind tells numbers with their sign, currency, separators, unit and percent sign from other text.
func numberKind(text string) numeric {
	switch strings.ToLower(text) {
	case "-", "–", "—", "n/a", "na", "nan":
		return isNothing
	}
	rest := strings.TrimLeft(text, "+-−±~≈<>≤≥$€£¥₹ ")
	digits, letters := 0, 0
	for _, r := range rest {
		switch {
		case unicode.IsDigit(r) && letters == 0:
			digits++
		case digits == 0, r == ' ' && letters > 0:
			return isText
		case strings.ContainsRune(".,_'’:/%‰ \u00a0\u202f+-−", r):
		case unicode.IsLetter(r) || strings.ContainsRune("°€$£¥²³", r) || unicode.IsDigit(r):
			if letters++; letters > maxUnit {
				return isText
			}
		default:
			return isText
		}
	}
	if digits == 0 {
		return isText
	}
	return isNumber
}
