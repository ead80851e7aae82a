package markdown

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"

	"github.com/llama-agent/llama-agent/tui/cells"
)

// maxBlock is how many bytes of one block (a paragraph, a code block, an item of a list) are understood as a whole. A
// longer one is shown in parts, which is why a long text that grows costs the same for every piece.
const maxBlock = 8 << 10

// shownReturn stands for a carriage return without a line feed, which could have hidden what was before it.
const shownReturn = "␍"

// Stream is Markdown that is still being written. What is finished is laid out once; only the last block is laid out
// again when text was appended. The zero value is an empty text. A Stream is not safe for concurrent use.
//
// Until [Stream.Finish] the end of the text is shown as what it seems to become: an open code block is code, half a
// table is a table, and emphasis that is not closed is emphasis. After it the lines are those that [Render] returns for
// the whole text, however it arrived.
type Stream struct {
	source   []byte
	held     bool // a carriage return that is not in source yet, since a line feed may follow
	finished bool

	parser parser.Parser
	parsed int // bytes that were given to the parser, which is most of the work
	width  int
	done   []cells.Line // of source[:cut]
	cut    int          // the beginning of the last block that may still change
	seen   int          // up to where complete lines were looked at for a further cut
	joint  joint        // what the lines in done mean for the next ones

	all   []cells.Line // the last result
	valid bool         // all is what Lines has to return for width
}

// Append adds text at the end. Pieces may be cut anywhere, also inside of a character.
func (s *Stream) Append(piece string) {
	if piece == "" {
		return
	}
	s.valid = false
	if s.held && piece[0] != '\n' {
		s.source = append(s.source, shownReturn...)
	}
	s.held = false
	if strings.IndexByte(piece, '\r') < 0 {
		s.source = append(s.source, piece...)
		return
	}
	piece = strings.ReplaceAll(piece, "\r\n", "\n")
	if piece[len(piece)-1] == '\r' {
		piece, s.held = piece[:len(piece)-1], true
	}
	s.source = append(s.source, strings.ReplaceAll(piece, "\r", shownReturn)...)
}

// Finish says that nothing follows. Text that is appended nevertheless is shown as if nothing had been said.
func (s *Stream) Finish() {
	s.finished, s.valid = true, false
}

// Lines returns the text in lines of at most width columns. The slice and its lines belong to the stream until the next call
// of one of its methods, and must not be changed. With an unchanged text and width the call costs nothing, with text
// that was appended it costs the layout of the last block, and with another width the layout of everything.
func (s *Stream) Lines(width int) []cells.Line {
	if width <= 0 {
		return nil
	}
	if s.valid && s.width == width {
		return s.all
	}
	if s.parser == nil {
		s.parser = newParser()
	}
	if s.width != width {
		s.width, s.done, s.cut, s.seen, s.joint = width, nil, 0, 0, joint{}
	}
	s.advance()
	rest := s.tail()
	if !s.finished {
		rest = mend(rest)
	}
	d := s.parse([]byte(s.joint.prefix + rest))
	lines, _ := d.render(d.units, s.joint)
	s.all, s.valid = append(s.done, lines...), true
	return s.all
}

// tail returns what is behind the cut, without a character of which only a part has arrived.
func (s *Stream) tail() string {
	rest := s.source[s.cut:]
	switch {
	case !s.finished:
		return string(rest[:wholeRunes(rest)])
	case s.held:
		return string(rest) + shownReturn
	}
	return string(rest)
}

// advance lays out the blocks that cannot change any more. Where they end depends on the text alone and not on the
// pieces in which it came: only complete lines are looked at, and what is behind a block does not change it.
func (s *Stream) advance() {
	for {
		window := s.source[s.cut:]
		full := len(window) >= maxBlock
		if full {
			window = window[:maxBlock]
		}
		complete := bytes.LastIndexByte(window, '\n') + 1
		if !full && s.cut+complete <= s.seen {
			return
		}
		s.seen = s.cut + complete
		if complete > 0 && s.cutBlocks(complete) {
			continue
		}
		if !full {
			return
		}
		if complete < maxBlock/2 { // a line without end
			complete = wholeRunes(window)
		}
		s.cutInside(complete)
	}
}

// cutBlocks lays out all blocks but the last one of the next n bytes, which are complete lines, and tells whether there
// was one.
func (s *Stream) cutBlocks(n int) bool {
	d := s.parse(append([]byte(s.joint.prefix), s.source[s.cut:s.cut+n]...))
	last := len(d.units) - 1
	if last <= 0 {
		return false
	}
	at := d.units[last].start - len(s.joint.prefix)
	if at <= 0 {
		return false
	}
	lines, joint := d.render(d.units[:last], s.joint)
	joint.continues(d.units[last])
	joint.blank = d.blankBefore(d.units[last].start)
	s.move(at, lines, joint)
	return true
}

// cutInside lays out the next n bytes, which are a part of one block.
func (s *Stream) cutInside(n int) {
	d := s.parse(append([]byte(s.joint.prefix), s.source[s.cut:s.cut+n]...))
	lines, joint := d.render(d.units, s.joint)
	joint.glued, joint.prefix = true, d.opening()
	s.move(n, lines, joint)
}

func (s *Stream) move(n int, lines []cells.Line, joint joint) {
	s.done = append(s.done, lines...)
	s.cut += n
	s.seen = s.cut
	s.joint = joint
}

// parse returns the blocks of a part of the text.
func (s *Stream) parse(source []byte) *document {
	s.parsed += len(source)
	d := &document{source: source, width: s.width}
	d.units = d.split(s.tree(source))
	return d
}

// tree parses a part of the text. Where the parser fails, which would be a bug of it, the part is a paragraph of plain text: an answer
// must not end the program that shows it.
func (s *Stream) tree(source []byte) (root ast.Node) {
	defer func() {
		if recover() != nil {
			root = plainTree(source)
			s.parser = newParser() // what it held is of no use any more
		}
	}()
	return s.parser.Parse(text.NewReader(source))
}

// plainTree returns a document of one paragraph that holds the source as it is.
func plainTree(source []byte) ast.Node {
	root, paragraph := ast.NewDocument(), ast.NewParagraph()
	paragraph.SetPos(0)
	root.AppendChild(root, paragraph)
	for start := 0; start < len(source); {
		end := len(source)
		if n := bytes.IndexByte(source[start:], '\n'); n >= 0 {
			end = start + n
		}
		line := ast.NewTextSegment(text.NewSegment(start, end))
		line.SetSoftLineBreak(end+1 < len(source))
		line.SetRaw(true)
		paragraph.AppendChild(paragraph, line)
		start = end + 1
	}
	return root
}

// wholeRunes returns how many bytes of b are left without a character at the end of which only a part is there.
func wholeRunes(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if last := b[len(b)-n:]; utf8.RuneStart(last[0]) {
			if utf8.FullRune(last) {
				return len(b)
			}
			return len(b) - n
		}
	}
	return len(b)
}
