package markdown

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"

	"github.com/llama-agent/llama-agent/tui/cells"
)

// document is a parsed part of the text, to be laid out in a width.
type document struct {
	source []byte
	width  int
	units  []unit
}

// unit is a part of a document that is laid out without a look at others: a block, or an item of a list. What follows a
// unit does not change it.
type unit struct {
	start int        // the offset of its first line
	nodes []ast.Node // more than one where a paragraph and a table were written without a blank line between them
	list  *ast.List  // of which nodes[0] is an item
	index int        // of the item in the list
}

// joint is what the lines so far mean for the lines that follow.
type joint struct {
	any    bool   // there are lines
	blank  bool   // in the text, a blank line is between the lines so far and what follows
	para   bool   // the last block is a paragraph
	item   bool   // what follows is a further item of the list so far
	number int    // the number of that item
	glued  bool   // what follows is a part of the same block as the last lines
	prefix string // what has to be read in front of what follows, so that it is understood as a part of that block
}

// split returns the units of a document in their order.
func (d *document) split(root ast.Node) []unit {
	var units []unit
	for n := root.FirstChild(); n != nil; n = n.NextSibling() {
		if list, ok := n.(*ast.List); ok {
			for i, item := 0, n.FirstChild(); item != nil; i, item = i+1, item.NextSibling() {
				units = append(units, unit{d.lineStart(item), []ast.Node{item}, list, i})
			}
			continue
		}
		start := d.lineStart(n)
		if last := len(units) - 1; last >= 0 && units[last].start >= start {
			units[last].nodes = append(units[last].nodes, n)
			continue
		}
		units = append(units, unit{start: start, nodes: []ast.Node{n}})
	}
	return units
}

// lineStart returns the offset of the first line of a block.
func (d *document) lineStart(n ast.Node) int {
	at := n.Pos()
	if n.Lines() != nil && n.Lines().Len() > 0 { // the position of some headings is that of the line below them
		if first := n.Lines().At(0).Start; at < 0 || first < at {
			at = first
		}
	}
	at = min(max(at, 0), len(d.source))
	return bytes.LastIndexByte(d.source[:at], '\n') + 1
}

// blankBefore tells whether the line before an offset is blank.
func (d *document) blankBefore(offset int) bool {
	if offset <= 0 {
		return false
	}
	before := d.source[:offset-1]
	return len(bytes.TrimSpace(before[bytes.LastIndexByte(before, '\n')+1:])) == 0
}

// render lays out units of which the first stands at a joint, and returns the joint behind the last.
func (d *document) render(units []unit, at joint) ([]cells.Line, joint) {
	var out []cells.Line
	for i, u := range units {
		if i > 0 {
			at.blank = d.blankBefore(u.start)
			at.continues(u)
		}
		if at.any && !at.glued && at.separate(u) {
			out = append(out, nil)
		}
		var lines []cells.Line
		if u.list != nil {
			lines = d.item(u.nodes[0], at.mark(u), d.width, 0)
		} else {
			for k, n := range u.nodes {
				if k > 0 {
					lines = append(lines, nil)
				}
				lines = append(lines, d.block(n, d.width, 0, at.glued)...)
			}
		}
		out = append(out, lines...)
		at = at.after(u)
	}
	return out, at
}

// separate tells whether a blank line is shown before u: between blocks always, but a list may follow its introduction
// closely, and items each other, as they do in the text.
func (j joint) separate(u unit) bool {
	if u.list != nil && (j.para || j.item) {
		return j.blank
	}
	return true
}

// continues sets in a joint between two units of a document whether the second is an item of the list of the first.
func (j *joint) continues(u unit) { j.item = u.list != nil && u.index > 0 }

// after returns the joint behind u.
func (j joint) after(u unit) joint {
	next := joint{any: true}
	if u.list != nil {
		next.number = j.ordinal(u) + 1
		return next
	}
	_, next.para = u.nodes[len(u.nodes)-1].(*ast.Paragraph)
	return next
}

// ordinal returns the number of an item.
func (j joint) ordinal(u unit) int {
	if j.item {
		return j.number
	}
	return u.list.Start + u.index
}

// opening returns what has to be read before a further part of the last block: the opening of a code block that
// is not closed, the header of a table.
func (d *document) opening() string {
	if len(d.units) == 0 {
		return ""
	}
	u := d.units[len(d.units)-1]
	switch n := u.nodes[len(u.nodes)-1].(type) {
	case *ast.FencedCodeBlock:
		fence := d.line(d.lineStart(n))
		if d.openFence(fence) {
			return fence
		}
	case *extast.Table:
		if n.FirstChild() == nil {
			return ""
		}
		start := d.lineStart(n.FirstChild())
		header := d.line(start)
		header += d.line(start + len(header))
		if len(header) < maxBlock/8 {
			return header
		}
	}
	return ""
}

// line returns the line that begins at an offset, with its end.
func (d *document) line(start int) string {
	rest := d.source[min(start, len(d.source)):]
	if end := bytes.IndexByte(rest, '\n'); end >= 0 {
		return string(rest[:end+1])
	}
	return ""
}

// openFence tells whether the last line does not close the code block that a line opens.
func (d *document) openFence(opening string) bool {
	text := bytes.TrimRight(d.source, "\n")
	last := text[bytes.LastIndexByte(text, '\n')+1:]
	fence := fenceOf(opening)
	closing := bytes.TrimLeft(last, " ")
	return len(last)-len(closing) > 3 || !bytes.HasPrefix(closing, []byte(fence)) ||
		len(bytes.Trim(closing, fence[:1]+" \t")) > 0
}

// fenceOf returns the run of backticks or tildes that opens a code block, at least three, and "" where none does.
func fenceOf(line string) string {
	text := line
	for i := 0; i < 3 && text != "" && text[0] == ' '; i++ {
		text = text[1:]
	}
	n := 0
	for n < len(text) && (text[0] == '`' || text[0] == '~') && text[n] == text[0] {
		n++
	}
	if n < 3 || text[0] == '`' && bytes.IndexByte([]byte(text[n:]), '`') >= 0 {
		return ""
	}
	return text[:n]
}
