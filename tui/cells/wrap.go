package cells

import (
	"strings"

	"github.com/rivo/uniseg"
)

// Wrapping says how lines are broken.
type Wrapping struct {
	// Width is the greatest number of columns of a line. Nothing fits into 0 or less.
	Width int
	// First and Rest stand in front of the first and of all further lines, and count as part of the width. Where they
	// leave less than a quarter of the width to the text they are clipped.
	First, Rest Line
	// Indent repeats the spaces at the beginning of a line in front of what is broken off it.
	Indent bool
	// Cut breaks at the edge and nowhere else, and keeps all spaces, as code needs it.
	Cut bool
}

// Wrap breaks l into lines of at most width columns, at least one unless the width is 0 or less: between words and where
// the scripts without spaces allow it, and inside of words that are longer than a line, between clusters. Spaces at a
// break are left out. A line end in l begins a new line.
func Wrap(l Line, width int) []Line { return Wrapping{Width: width}.Lines(l) }

// Lines breaks l as [Wrap] does.
func (w Wrapping) Lines(l Line) []Line {
	if w.Width <= 0 {
		return nil
	}
	var out []Line
	first := w.First
	for _, row := range splitRows(cleaned(l, lines)) {
		out = w.paragraph(out, row, first)
		first = w.Rest
	}
	return out
}

// splitRows cuts a line at its line ends, which are left out.
func splitRows(l Line) []Line {
	var out []Line
	var row Line
	for _, s := range l {
		for {
			head, rest, more := strings.Cut(s.Text, "\n")
			if head != "" {
				row = append(row, Span{head, s.Style})
			}
			if !more {
				break
			}
			out, row, s.Text = append(out, row), nil, rest
		}
	}
	return append(out, row)
}

// paragraph appends the lines of text that has no line ends.
func (w Wrapping) paragraph(out []Line, l Line, first Line) []Line {
	b := breaker{text: l.String(), line: l, cut: w.Cut, state: -1}
	prefix, rest := w.prefix(first), w.prefix(w.Rest)
	if w.Indent {
		indent := len(b.text) - len(strings.TrimLeft(b.text, " "))
		if room := w.Width - rest.Width(); indent > room/2 {
			indent = room / 2
		}
		rest = Concat(rest, Plain(spaces(indent)))
	}
	for {
		row, more := b.next(w.Width - prefix.Width())
		out = append(out, Concat(prefix, row))
		if !more {
			return out
		}
		prefix = rest
	}
}

// prefix returns what of p leaves room for text.
func (w Wrapping) prefix(p Line) Line {
	if len(p) == 0 {
		return nil
	}
	return p.Clip(w.Width - max(w.Width/4, 1))
}

// breaker cuts one paragraph of clean text into lines, in time linear in its length.
type breaker struct {
	text string // of all spans
	line Line
	cut  bool

	pos         int // byte offset in text of what is left
	span, start int // the span that holds pos, and the offset of its beginning

	// The nearest place where Unicode allows a break is at segment, a byte offset; state is for what follows it.
	segment, state int
}

// next returns the next line of at most room columns, and whether there is more.
func (b *breaker) next(room int) (Line, bool) {
	room = max(room, 1)
	used, fit, resume := 0, 0, 0 // the last possible break is behind fit, and the next line begins at resume
	span, start := b.span, b.start
	for at := b.pos; at < len(b.text); {
		for at >= start+len(b.line[span].Text) {
			start += len(b.line[span].Text)
			span++
		}
		c, _, w, _ := next(b.line[span].Text[at-start:], -1)
		if used+w > room && (b.cut || c != " ") { // spaces may hang over: they will be left out
			row := b.breakAt(at, fit, resume, room)
			return row, b.pos < len(b.text)
		}
		at += len(c)
		used += w
		if b.cut || !b.mayBreak(at) {
			continue
		}
		end := at
		for end > b.pos && b.text[end-1] == ' ' {
			end--
		}
		if end > b.pos { // spaces at the beginning stay with what follows
			fit, resume = end, at
		}
	}
	row := b.take(len(b.text), len(b.text))
	if used > room {
		row = trimRight(row)
	}
	return row, false
}

// breakAt ends a line of which the cluster at offset at is the first that has no room.
func (b *breaker) breakAt(at, fit, resume, room int) Line {
	if fit > 0 {
		return b.take(fit, resume)
	}
	if at > b.pos {
		row := b.take(at, at)
		if row.Width() > room {
			return trimRight(row)
		}
		return row
	}
	// A cluster that is wider than a line: something has to stand for it.
	for at >= b.start+len(b.line[b.span].Text) {
		b.start += len(b.line[b.span].Text)
		b.span++
	}
	c, _, _, _ := next(b.line[b.span].Text[at-b.start:], -1)
	style := b.line[b.span].Style
	b.take(at+len(c), at+len(c))
	return Styled(ellipsis, style)
}

// mayBreak tells whether a line may end before the offset at. Offsets of successive calls grow, or begin again at the
// last place that was true.
func (b *breaker) mayBreak(at int) bool {
	for b.segment < at {
		segment, _, _, state := uniseg.FirstLineSegmentInString(b.text[b.segment:], b.state)
		b.segment += len(segment)
		b.state = state
	}
	return b.segment == at
}

// take returns what is left up to the offset end, and goes on at the offset resume.
func (b *breaker) take(end, resume int) Line {
	var row Line
	for b.pos < end {
		s := b.line[b.span]
		if to := min(end-b.start, len(s.Text)); to > b.pos-b.start {
			row = append(row, Span{s.Text[b.pos-b.start : to], s.Style})
			b.pos = b.start + to
		}
		if b.pos < end {
			b.start += len(s.Text)
			b.span++
		}
	}
	b.pos = resume
	for b.span < len(b.line) && b.pos >= b.start+len(b.line[b.span].Text) {
		b.start += len(b.line[b.span].Text)
		b.span++
	}
	return row
}

// trimRight leaves out spaces at the end.
func trimRight(l Line) Line {
	for n := len(l); n > 0; n-- {
		if text := strings.TrimRight(l[n-1].Text, " "); text != "" {
			return append(l[:n-1:n-1], Span{text, l[n-1].Style})
		}
	}
	return nil
}
