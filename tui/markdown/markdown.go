// Package markdown turns Markdown into styled lines of a width: CommonMark with the tables, strikethrough, task lists and
// bare links of GitHub. It is made for answers of language models, also unfinished ones (see [Stream]).
//
// Nothing that was written is hidden: HTML is shown as text, a link shows its address, and definitions of link references are
// paragraphs. A line end in a paragraph stays a line end, as chats show it. The text may be hostile: the lines hold
// no control characters (see [cells.Clean]), none is wider than asked, and time and memory are linear in the length
// of the text, since no block is understood as a whole beyond maxBlock bytes.
package markdown

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/llama-agent/llama-agent/tui/cells"
)

// Render returns the lines of a finished text, each at most width columns wide. There are none where the width is 0 or
// less, or where the text is blank.
func Render(source string, width int) []cells.Line {
	var s Stream
	s.Append(source)
	s.Finish()
	return s.Lines(width)
}

// maxDepth bounds how many quotations and lists are inside of each other; what is deeper is text.
const maxDepth = 24

// maxLinks bounds the links of a paragraph, since the work for each grows with what is behind it; further ones are text.
const maxLinks = 300

// maxTableCells bounds the cells of a table: every row of a table has all columns, so that few bytes could make many.
const maxTableCells = 10_000

// countedLinks is the key of a *linkCount. Goldmark numbers its keys without a lock, so that one is made before anything runs, not one a
// parser.
var countedLinks = parser.NewContextKey()

// newParser returns a parser of the Markdown of this package. A parser is not safe for concurrent use.
func newParser() parser.Parser {
	return parser.NewParser(
		parser.WithBlockParsers(
			util.Prioritized(parser.NewSetextHeadingParser(), 100),
			util.Prioritized(parser.NewThematicBreakParser(), 200),
			util.Prioritized(boundedDepth{parser.NewListParser()}, 300),
			util.Prioritized(parser.NewListItemParser(), 400),
			util.Prioritized(parser.NewCodeBlockParser(), 500),
			util.Prioritized(parser.NewATXHeadingParser(), 600),
			util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
			util.Prioritized(boundedDepth{parser.NewBlockquoteParser()}, 800),
			util.Prioritized(parser.NewParagraphParser(), 1000),
		),
		parser.WithInlineParsers(
			util.Prioritized(extension.NewTaskCheckBoxParser(), 0),
			util.Prioritized(parser.NewCodeSpanParser(), 100),
			util.Prioritized(boundedLinks{parser.NewLinkParser(), countedLinks}, 200),
			util.Prioritized(parser.NewAutoLinkParser(), 300),
			util.Prioritized(parser.NewEmphasisParser(), 500),
			util.Prioritized(extension.NewStrikethroughParser(), 500),
			util.Prioritized(extension.NewLinkifyParser(), 999),
		),
		parser.WithParagraphTransformers(
			util.Prioritized(boundedTables{extension.NewTableParagraphTransformer()}, 200),
		),
		parser.WithASTTransformers(
			util.Prioritized(extension.NewTableASTTransformer(), 0),
		),
	)
}

// boundedTables makes tables of paragraphs that do not become too many cells.
type boundedTables struct{ tables parser.ParagraphTransformer }

// Transform implements [parser.ParagraphTransformer].
func (b boundedTables) Transform(node *ast.Paragraph, reader text.Reader, pc parser.Context) {
	columns := 0
	for _, line := range node.Lines().Sliced(0, node.Lines().Len()) {
		columns = max(columns, bytes.Count(line.Value(reader.Source()), []byte{'|'}))
	}
	if columns > 0 && columns*node.Lines().Len() <= maxTableCells {
		b.tables.Transform(node, reader, pc)
	}
}

// boundedDepth opens blocks that hold others up to a depth.
type boundedDepth struct{ parser.BlockParser }

// Open implements [parser.BlockParser].
func (b boundedDepth) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	depth := 0
	for n := parent; n != nil; n = n.Parent() {
		switch n.(type) {
		case *ast.List, *ast.Blockquote:
			depth++
		}
	}
	if depth >= maxDepth {
		return nil, parser.NoChildren
	}
	return b.BlockParser.Open(parent, reader, pc)
}

// boundedLinks opens as many links as a block may have.
type boundedLinks struct {
	parser.InlineParser
	counted parser.ContextKey // of a *linkCount
}

// linkCount is how many links were opened in a block.
type linkCount struct {
	block ast.Node
	links int
}

// Parse implements [parser.InlineParser].
func (b boundedLinks) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	if block.Peek() == ']' {
		return b.InlineParser.Parse(parent, block, pc)
	}
	count, _ := pc.Get(b.counted).(*linkCount)
	if count == nil || count.block != parent {
		count = &linkCount{block: parent}
		pc.Set(b.counted, count)
	}
	if count.links++; count.links > maxLinks {
		return nil
	}
	return b.InlineParser.Parse(parent, block, pc)
}

// CloseBlock implements [parser.CloseBlocker], for links that are still open at the end of a block.
func (b boundedLinks) CloseBlock(parent ast.Node, block text.Reader, pc parser.Context) {
	if c, ok := b.InlineParser.(parser.CloseBlocker); ok {
		c.CloseBlock(parent, block, pc)
	}
}
