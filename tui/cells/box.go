package cells

import "strings"

// Frame is what a box is drawn with.
type Frame struct {
	Horizontal, Vertical, TopLeft, TopRight, BottomLeft, BottomRight string
}

// Rounded is a frame of thin lines with round corners.
func Rounded() Frame { return Frame{"─", "│", "╭", "╮", "╰", "╯"} }

// ASCII is a frame of characters that every terminal has.
func ASCII() Frame { return Frame{"-", "|", "+", "+", "+", "+"} }

// Box draws a frame around r with a title in its upper edge, and returns the part inside. Where r is too small for a
// frame (fewer than 2 columns or rows) nothing is drawn and the part inside is empty.
func (g *Grid) Box(r Rect, frame Frame, title Line, style Style) *Grid {
	sub := g.Sub(r)
	w, h := sub.Size()
	if w < 2 || h < 2 {
		return g.Sub(Rect{})
	}
	for x := 1; x < w-1; x++ {
		sub.Draw(x, 0, Styled(frame.Horizontal, style))
		sub.Draw(x, h-1, Styled(frame.Horizontal, style))
	}
	for y := 1; y < h-1; y++ {
		sub.Draw(0, y, Styled(frame.Vertical, style))
		sub.Draw(w-1, y, Styled(frame.Vertical, style))
	}
	sub.Draw(0, 0, Styled(frame.TopLeft, style))
	sub.Draw(w-1, 0, Styled(frame.TopRight, style))
	sub.Draw(0, h-1, Styled(frame.BottomLeft, style))
	sub.Draw(w-1, h-1, Styled(frame.BottomRight, style))
	if len(title) > 0 && w > 6 {
		sub.Draw(2, 0, Concat(Styled(" ", style), title.Clip(w-6), Styled(" ", style)))
	}
	return sub.Sub(Rect{1, 1, w - 2, h - 2})
}

// Bar returns a line of exactly width columns of which a share from 0 to 1 is filled, to an eighth of a column. Shares
// outside are taken as the nearest of both, and what is not a number as 0.
func Bar(width int, share float64, full, empty Style) Line {
	if width <= 0 {
		return nil
	}
	if !(share > 0) {
		share = 0
	}
	eighths := int(min(share, 1)*float64(width)*8 + 0.5)
	filled := strings.Repeat("█", eighths/8)
	if part := eighths % 8; part > 0 {
		filled += string(rune(0x2590 - part)) // ▏ is U+258F, ▉ is U+2589
	}
	bar := Styled(filled, full)
	return bar.add(strings.Repeat("░", max(width-bar.Width(), 0)), empty)
}
