package tui

import (
	"github.com/gdamore/tcell/v2"

	"github.com/llama-agent/llama-agent/tui/cells"
)

// Theme says which colours suit the terminal.
type Theme uint8

const (
	// ThemeTerminal uses the sixteen colours of the terminal's own palette, which suit it whatever its background is.
	ThemeTerminal Theme = iota
	// ThemeDark is for light text on a dark background.
	ThemeDark
	// ThemeLight is for dark text on a light background.
	ThemeLight
	// ThemePlain uses no colours, only bold, underlined and reversed text.
	ThemePlain
)

// color is the colour of a role. The default is the terminal's own.
func (t Theme) color(r cells.Role) tcell.Color {
	switch t {
	case ThemePlain:
		return tcell.ColorDefault
	case ThemeTerminal:
		return terminalColors[r]
	case ThemeDark:
		return darkColors[r]
	case ThemeLight:
		return lightColors[r]
	}
	return tcell.ColorDefault
}

// Roles that are missing have the colour of the text.
var (
	terminalColors = map[cells.Role]tcell.Color{
		cells.Accent: tcell.ColorTeal, cells.Good: tcell.ColorGreen, cells.Warn: tcell.ColorOlive, cells.Bad: tcell.ColorMaroon,
		cells.Code: tcell.ColorTeal, cells.Link: tcell.ColorNavy, cells.User: tcell.ColorPurple, cells.Title: tcell.ColorTeal,
	}
	darkColors = map[cells.Role]tcell.Color{
		cells.Muted: tcell.Color245, cells.Accent: tcell.Color80, cells.Good: tcell.Color114, cells.Warn: tcell.Color221,
		cells.Bad: tcell.Color210, cells.Code: tcell.Color152, cells.Quote: tcell.Color250, cells.Heading: tcell.Color255,
		cells.Link: tcell.Color111, cells.Border: tcell.Color240, cells.Title: tcell.Color80, cells.User: tcell.Color183,
		cells.Number: tcell.Color252,
	}
	lightColors = map[cells.Role]tcell.Color{
		cells.Muted: tcell.Color242, cells.Accent: tcell.Color30, cells.Good: tcell.Color28, cells.Warn: tcell.Color130,
		cells.Bad: tcell.Color124, cells.Code: tcell.Color24, cells.Quote: tcell.Color238, cells.Heading: tcell.Color232,
		cells.Link: tcell.Color26, cells.Border: tcell.Color248, cells.Title: tcell.Color30, cells.User: tcell.Color90,
		cells.Number: tcell.Color236,
	}
)

// style is what a style of a cell looks like.
func (t Theme) style(s cells.Style) tcell.Style {
	out := tcell.StyleDefault.Foreground(t.color(s.Role))
	if s.Role == cells.Muted && (t == ThemeTerminal || t == ThemePlain) {
		out = out.Dim(true)
	}
	if s.Role == cells.Bad && t == ThemePlain {
		out = out.Bold(true)
	}
	return out.Bold(s.Attr&cells.Bold != 0 || s.Role == cells.Bad && t == ThemePlain).Italic(s.Attr&cells.Italic != 0).
		Underline(s.Attr&cells.Underline != 0 || s.Role == cells.Link && t == ThemePlain).Reverse(s.Attr&cells.Reverse != 0).
		StrikeThrough(s.Attr&cells.Strike != 0).Dim(s.Attr&cells.Dim != 0 || s.Role == cells.Muted && (t == ThemeTerminal || t == ThemePlain))
}
