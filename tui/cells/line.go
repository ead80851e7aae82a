package cells

import "strings"

// Span is text in one style.
type Span struct {
	Text  string
	Style Style
}

// Line is text in several styles. Functions of this package return new lines and change none that they are given; the
// spans that they return may share the text of their input.
type Line []Span

// Plain returns a line of ordinary text.
func Plain(text string) Line { return Styled(text, Style{}) }

// Styled returns a line in one style; without text, an empty line.
func Styled(text string, style Style) Line {
	if text == "" {
		return nil
	}
	return Line{{text, style}}
}

// Concat returns the lines behind one another as one line.
func Concat(lines ...Line) Line {
	var n int
	for _, l := range lines {
		n += len(l)
	}
	out := make(Line, 0, n)
	for _, l := range lines {
		for _, s := range l {
			out = out.add(s.Text, s.Style)
		}
	}
	return out
}

// String returns the text of the line without its styles and as it was given.
func (l Line) String() string {
	if len(l) == 1 {
		return l[0].Text
	}
	var b strings.Builder
	for _, s := range l {
		b.WriteString(s.Text)
	}
	return b.String()
}

// Width returns how many columns the line takes in a grid.
func (l Line) Width() int {
	n := 0
	for _, s := range cleaned(l, rowEnd) {
		n += width(s.Text)
	}
	return n
}

// Clip returns the line in at most width columns. A line that is longer ends in an ellipsis in the style of what it
// replaces. No cluster is split.
func (l Line) Clip(width int) Line {
	if width <= 0 {
		return nil
	}
	l = cleaned(l, rowEnd)
	// The last place where an ellipsis still fits.
	span, offset, used := 0, 0, 0
	for i, s := range l {
		for rest, state := s.Text, -1; rest != ""; {
			at := len(s.Text) - len(rest)
			if used < width {
				span, offset = i, at
			}
			var w int
			_, rest, w, state = next(rest, state)
			if used+w > width {
				return append(l[:span:span], Span{l[span].Text[:offset], l[span].Style}).add(ellipsis, l[span].Style)
			}
			used += w
		}
	}
	return l
}

// Pad returns the line in exactly width columns: clipped, or followed by spaces.
func (l Line) Pad(width int) Line {
	out := l.Clip(width)
	return out.add(spaces(width-out.Width()), Style{})
}

// AlignRight returns the line in exactly width columns: clipped, or preceded by spaces.
func (l Line) AlignRight(width int) Line {
	out := l.Clip(width)
	return Concat(Plain(spaces(width-out.Width())), out)
}

// Center returns the line in exactly width columns, in the middle of them; an odd space is at the right.
func (l Line) Center(width int) Line {
	out := l.Clip(width)
	room := max(width-out.Width(), 0)
	return Concat(Plain(spaces(room/2)), out, Plain(spaces(room-room/2)))
}

// Restyle returns the line with every style replaced by what f makes of it.
func (l Line) Restyle(f func(Style) Style) Line {
	out := make(Line, 0, len(l))
	for _, s := range l {
		out = out.add(s.Text, f(s.Style))
	}
	return out
}

// Marked returns the text with the style of each stretch that is not ordinary, for tests: {heading+bold}Title{}.
func (l Line) Marked() string {
	var b strings.Builder
	for _, s := range l {
		if s.Style == (Style{}) {
			b.WriteString(s.Text)
			continue
		}
		b.WriteString("{" + s.Style.String() + "}" + s.Text + "{}")
	}
	return b.String()
}

// add appends text, to the last span where the styles are the same. It never writes into the text of a span, but may
// write behind the end of l, as append does.
func (l Line) add(text string, style Style) Line {
	if text == "" {
		return l
	}
	if n := len(l); n > 0 && l[n-1].Style == style {
		joined := append(Line(nil), l...)
		joined[n-1].Text += text
		return joined
	}
	return append(l, Span{text, style})
}

func spaces(n int) string {
	if n <= 0 {
		return ""
	}
	return strings.Repeat(" ", n)
}
