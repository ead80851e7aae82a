package markdown

import (
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"

	"github.com/llama-agent/llama-agent/tui/cells"
)

// minText is the room that what stands in front of lines (the bar of a quotation, the bullet of an item) has to leave to the text;
// where it would be less, it is left out.
const minText = 6

var muted = cells.Style{Role: cells.Muted}

// block lays out one block in a width; depth counts the lists around it. glued says that lines of the same block
// stand before it.
func (d *document) block(n ast.Node, width, depth int, glued bool) []cells.Line {
	switch n := n.(type) {
	case *ast.Heading:
		return d.heading(n, width)
	case *ast.Paragraph, *ast.TextBlock:
		return cells.Wrap(d.inline(n, cells.Style{}), width)
	case *ast.CodeBlock:
		return d.code(n, "", width)
	case *ast.FencedCodeBlock:
		label := ""
		if n.Info != nil && !glued {
			label = string(n.Info.Segment.Value(d.source))
		}
		return d.code(n, label, width)
	case *ast.Blockquote:
		return d.quote(n, width, depth)
	case *ast.List:
		return d.list(n, width, depth)
	case *ast.ThematicBreak:
		return []cells.Line{cells.Styled(strings.Repeat("─", width), muted)}
	case *extast.Table:
		return d.table(n, width)
	}
	return cells.Wrap(cells.Plain(d.raw(n)), width)
}

// blocks lays out what is inside of another block, with blank lines where the text has them.
func (d *document) blocks(parent ast.Node, width, depth int) []cells.Line {
	var out []cells.Line
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		if n.PreviousSibling() != nil && n.HasBlankPreviousLines() {
			out = append(out, nil)
		}
		out = append(out, d.block(n, width, depth, false)...)
	}
	return out
}

func (d *document) heading(n *ast.Heading, width int) []cells.Line {
	style := cells.Style{Role: cells.Heading, Attr: cells.Bold}
	switch {
	case n.Level == 1:
		style = style.With(cells.Underline)
	case n.Level > 2:
		style.Attr = 0
	}
	return cells.Wrap(d.inline(n, style), width)
}

// code lays out a code block. Lines that are too long are broken between words where there are any, and what is broken
// off is marked.
func (d *document) code(n ast.Node, label string, width int) []cells.Line {
	style := cells.Style{Role: cells.Code}
	var out []cells.Line
	w := cells.Wrapping{Width: width, Indent: true}
	if width > minText+2 {
		w.First, w.Rest = cells.Plain("  "), cells.Styled("↳ ", muted)
	}
	if label = strings.TrimSpace(label); label != "" {
		out = append(out, cells.Concat(w.First, cells.Styled(label, muted.With(cells.Italic))).Clip(width))
	}
	for _, line := range d.lines(n) {
		out = append(out, w.Lines(cells.Styled(cells.CleanLine(line), style))...)
	}
	return out
}

// lines returns the lines of a block as they are written, without their ends and without blank lines behind the last.
func (d *document) lines(n ast.Node) []string {
	return strings.Split(strings.TrimRight(d.raw(n), "\n"), "\n")
}

// raw returns the text of a block as it is written.
func (d *document) raw(n ast.Node) string {
	if n.Type() == ast.TypeInline || n.Lines() == nil {
		return ""
	}
	return string(n.Lines().Value(d.source))
}

func (d *document) quote(n ast.Node, width, depth int) []cells.Line {
	bar := cells.Styled("│ ", cells.Style{Role: cells.Quote})
	lines := inside(width, bar, bar, func(width int) []cells.Line { return d.blocks(n, width, depth) })
	for i, l := range lines {
		lines[i] = l.Restyle(func(s cells.Style) cells.Style {
			if s.Role == cells.Text {
				s.Role = cells.Quote
			}
			return s
		})
	}
	return lines
}

func (d *document) list(n *ast.List, width, depth int) []cells.Line {
	var out []cells.Line
	var at joint
	for i, item := 0, n.FirstChild(); item != nil; i, item = i+1, item.NextSibling() {
		if i > 0 && item.HasBlankPreviousLines() {
			out = append(out, nil)
		}
		out = append(out, d.item(item, at.mark(unit{list: n, index: i}), width, depth)...)
	}
	return out
}

// mark returns the number of an item as it is shown, and "" for a bullet.
func (j joint) mark(u unit) string {
	if !u.list.IsOrdered() {
		return ""
	}
	return strconv.Itoa(j.ordinal(u)) + string(rune(u.list.Marker)) + " "
}

// item lays out an item of a list behind its number or bullet.
func (d *document) item(n ast.Node, mark string, width, depth int) []cells.Line {
	if mark == "" {
		bullets := []string{"• ", "◦ ", "▪ "}
		mark = bullets[depth%len(bullets)]
	}
	first := cells.Styled(mark, cells.Style{Role: cells.Accent})
	rest := cells.Plain(strings.Repeat(" ", first.Width()))
	return inside(width, first, rest, func(width int) []cells.Line {
		if lines := d.blocks(n, width, depth+1); len(lines) > 0 {
			return lines
		}
		return []cells.Line{nil}
	})
}

// inside lays something out behind first, and behind rest in all further lines; both have one width.
func inside(width int, first, rest cells.Line, layout func(width int) []cells.Line) []cells.Line {
	room := width - first.Width()
	if room < minText {
		return layout(width)
	}
	lines := layout(room)
	for i, l := range lines {
		if len(l) == 0 && i > 0 { // no spaces at the end
			l = cells.Styled(strings.TrimRight(rest.String(), " "), rest[0].Style)
		} else {
			l = cells.Concat(first, l)
		}
		lines[i], first = l, rest
	}
	return lines
}
