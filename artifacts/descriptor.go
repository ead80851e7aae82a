package artifacts

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/llama-agent/llama-agent/internal/excerpt"
)

// Limits say how much of an artifact its descriptor shows. They are taken as they are: 0 shows nothing.
type Limits struct {
	PreviewChars int // characters of the content: half from its beginning, half from its end, and up to half as many from between
	SummaryChars int // characters of facts
}

// DefaultLimits are 1,200 characters of content and 600 of facts.
func DefaultLimits() Limits { return Limits{PreviewChars: 1200, SummaryChars: 600} }

// maxDescriptorName is how much of the name a descriptor shows, in bytes.
const maxDescriptorName = 60

// Descriptor returns what a model sees in place of a large result: the reference, what it is, the facts, the beginning and the end
// of the content, the lines between that share most words with what it is needed for, and how to search and read the rest. Besides
// facts and content it has at most 600 bytes. It depends on nothing but its input, and not on the owner or on times, so that a
// prompt with it stays the same. It is valid UTF-8 that is safe to show. content must be that of a; about may be empty.
func Descriptor(a Artifact, content []byte, limits Limits, about string) string {
	text, _ := Describe(a, content, limits, about)
	return text
}

// Describe returns the [Descriptor], and whether one of the lines that it shows from between is likely to be what it is needed for.
func Describe(a Artifact, content []byte, limits Limits, about string) (text string, near bool) {
	var b strings.Builder
	fmt.Fprintf(&b, "[large result of %s", a.Tool)
	if a.Name != "" {
		fmt.Fprintf(&b, " (%s)", oneLine(a.Name, maxDescriptorName))
	}
	fmt.Fprintf(&b, ", stored as %s: %s, %s, %s]\n", a.Ref, plural(len(content), "byte"), plural(a.Lines, "line"), a.ContentType)
	b.WriteString(a.Summary(limits.SummaryChars))
	if !a.Encoding.Readable() {
		fmt.Fprintf(&b, "[the content is %s; it cannot be shown, searched or read as text]", a.Encoding)
		return b.String(), false
	}
	p := newPreview(content, limits.PreviewChars)
	p.write(&b)
	near = p.writeNearest(&b, about, limits.PreviewChars/2)
	if p.whole() {
		return strings.TrimSuffix(b.String(), "\n"), true
	}
	fmt.Fprintf(&b, "[to find something in it: search_artifact with artifact_id %q; to read on: retrieve_artifact with it and %s]",
		a.Ref, p.readOn())
	return b.String(), near
}

// preview is the beginning and the end of a content.
type preview struct {
	content     []byte
	head, tail  int // where the beginning ends, and where the end begins
	first, last string
	headLines   int // lines of the beginning, a cut one included
	tailLine    int // number of the line that the end begins in
	lines       int
}

func newPreview(content []byte, chars int) preview {
	p := preview{content: content, tail: len(content), lines: countLines(content)}
	if chars > 0 {
		p.first, p.head = headOf(content, chars-chars/2)
		p.last, p.tail = tailOf(content, p.head, chars/2)
	}
	if p.tail <= p.head { // nothing lies between
		p.first, p.last, p.head, p.tail = p.first+p.last, "", len(content), len(content)
	}
	p.headLines = countLines(content[:p.head])
	p.tailLine = 1 + bytes.Count(content[:p.tail], []byte{'\n'})
	return p
}

func (p preview) whole() bool { return p.head == len(p.content) }

// readOn says from where to read what follows the beginning.
func (p preview) readOn() string {
	if p.head > 0 && p.content[p.head-1] != '\n' {
		return fmt.Sprintf("offset %d", p.head)
	}
	return fmt.Sprintf("start_line %d", p.headLines+1)
}

func (p preview) write(b *strings.Builder) {
	switch {
	case len(p.content) == 0:
		b.WriteString("[the content is empty]")
		return
	case p.whole():
		b.WriteString("--- all of it:\n")
		writeLine(b, p.first)
		return
	}
	if p.first != "" {
		fmt.Fprintf(b, "--- %s:\n", lineRange(1, p.headLines))
		writeLine(b, p.first)
	}
	fmt.Fprintf(b, "--- %s left out", plural(p.tail-p.head, "byte"))
	if p.last != "" {
		fmt.Fprintf(b, "; %s:\n", lineRange(p.tailLine, p.lines))
		writeLine(b, p.last)
	} else {
		b.WriteByte('\n')
	}
}

// writeNearest shows lines that share words with about, wherever they stand, and reports whether one is near. Each line of about is a
// question of its own.
func (p preview) writeNearest(b *strings.Builder, about string, chars int) (near bool) {
	if p.whole() || p.tail <= p.head {
		return false
	}
	pieces := excerpt.First(p.content, chars, append(strings.Split(about, "\n"), about)...)
	if len(pieces) == 0 {
		return false
	}
	fmt.Fprintf(b, "--- nearest to the task:\n")
	for _, piece := range pieces {
		text := []rune(strings.TrimSpace(show([]byte(piece.Text))))
		if len(text) > chars { // control characters take more when they are shown
			text = text[:chars]
		}
		chars -= len(text)
		fmt.Fprintf(b, "line %d: %s\n", piece.Line, string(text))
	}
	return excerpt.IsNear(pieces)
}

func lineRange(from, to int) string {
	if from == to {
		return fmt.Sprintf("line %d", from)
	}
	return fmt.Sprintf("lines %d to %d", from, to)
}

// writeLine writes text so that the next one begins a line.
func writeLine(b *strings.Builder, text string) {
	b.WriteString(text)
	if !strings.HasSuffix(text, "\n") {
		b.WriteByte('\n')
	}
}

// headOf shows the beginning of content in at most limit characters: whole lines, unless that would give away more than half of
// them. It returns how many bytes that are.
func headOf(content []byte, limit int) (text string, size int) {
	var b strings.Builder
	lineText, lineSize := 0, 0 // up to the last line end
	chars, lineChars := 0, 0
	for size < len(content) {
		char, n := showChar(content[size:])
		width := utf8.RuneCountInString(char)
		if chars+width > limit {
			break
		}
		b.WriteString(char)
		chars, size = chars+width, size+n
		if char == "\n" {
			lineText, lineSize, lineChars = b.Len(), size, chars
		}
	}
	if size < len(content) && lineSize > 0 && lineChars*2 >= limit {
		return b.String()[:lineText], lineSize
	}
	return b.String(), size
}

// tailOf shows the end of content, not before from, in at most limit characters: whole lines, unless that would give away more
// than half of them. It returns where it begins.
func tailOf(content []byte, from, limit int) (text string, start int) {
	start = len(content)
	lineStart, lineChars := start, 0 // of the first whole line
	chars := 0
	for start > from {
		_, n := utf8.DecodeLastRune(content[from:start])
		if bytes.HasSuffix(content[from:start], []byte("\r\n")) {
			n = 2
		}
		char, _ := showChar(content[start-n:])
		width := utf8.RuneCountInString(char)
		if chars+width > limit {
			break
		}
		if char == "\n" {
			lineStart, lineChars = start, chars
		}
		chars, start = chars+width, start-n
	}
	if start == from {
		return show(content[start:]), start
	}
	if content[start-1] != '\n' && lineStart < len(content) && lineChars*2 >= limit {
		start = lineStart
	}
	return show(content[start:]), start
}
