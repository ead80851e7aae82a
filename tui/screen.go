package tui

import (
	"strings"
	"unicode"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"

	"github.com/llama-agent/llama-agent/tui/cells"
)

// maxPaste bounds what is pasted at once, in bytes. An entry must not be larger.
const maxPaste = 1 << 20

// screen is a terminal whose pastes arrive as one piece of text, whatever line ends they have.
type screen struct {
	tcell.Screen
	pasted func(text string)

	pasting bool
	buffer  strings.Builder
}

// Init does nothing: the terminal was taken by who made the screen, and could tell then why it can't be.
func (s *screen) Init() error { return nil }

// PollEvent waits for an event other than a part of a paste.
func (s *screen) PollEvent() tcell.Event {
	for {
		event := s.Screen.PollEvent()
		switch e := event.(type) {
		case *tcell.EventPaste:
			if e.Start() {
				s.pasting = true
				s.buffer.Reset()
				continue
			}
			s.pasting = false
			s.pasted(s.buffer.String())
			continue
		case *tcell.EventKey:
			if s.pasting {
				s.collect(e)
				continue
			}
		}
		return event
	}
}

// collect adds a key of a paste. Keys that are no text are what a terminal made of control characters; they are left out.
func (s *screen) collect(e *tcell.EventKey) {
	if s.buffer.Len() >= maxPaste {
		return
	}
	switch e.Key() {
	case tcell.KeyRune:
		s.buffer.WriteRune(e.Rune())
	case tcell.KeyEnter, tcell.KeyCtrlJ: // terminals send the one or the other for a line end
		s.buffer.WriteByte('\n')
	case tcell.KeyTab:
		s.buffer.WriteByte('\t')
	}
}

// canvas is the one primitive of the interface: it copies the grid of the State to the terminal.
type canvas struct {
	*tview.Box
	theme Theme
	// paint returns what is shown in a terminal of a size.
	paint func(width, height int) (*cells.Grid, cursor)
	mouse func(m message)
}

// Draw copies the grid.
func (c *canvas) Draw(to tcell.Screen) {
	width, height := to.Size()
	grid, at := c.paint(width, height)
	for y := range height {
		for x := 0; x < width; x++ {
			cell := grid.At(x, y)
			if cell.Text == "" {
				continue // the right half of a wide one
			}
			to.Put(x, y, cell.Text, c.theme.style(cell.Style))
		}
	}
	if at.shown && at.x < width && at.y < height {
		to.ShowCursor(at.x, at.y)
	} else {
		to.HideCursor()
	}
}

// wheelLines is how far one turn of the wheel scrolls.
const wheelLines = 3

// MouseHandler turns the mouse into messages. Moving it does nothing, so that nothing is drawn.
func (c *canvas) MouseHandler() func(tview.MouseAction, *tcell.EventMouse, func(tview.Primitive)) (bool, tview.Primitive) {
	return func(action tview.MouseAction, event *tcell.EventMouse, _ func(tview.Primitive)) (bool, tview.Primitive) {
		x, y := event.Position()
		switch action { //nolint:exhaustive // the others mean nothing here
		case tview.MouseLeftClick, tview.MouseLeftDoubleClick:
			c.mouse(clickMsg{x, y})
		case tview.MouseScrollUp:
			c.mouse(wheelMsg{x, y, -wheelLines})
		case tview.MouseScrollDown:
			c.mouse(wheelMsg{x, y, wheelLines})
		default:
			return false, nil
		}
		return true, nil
	}
}

// keyNames are keys without a text.
var keyNames = map[tcell.Key]string{
	tcell.KeyEnter: "enter", tcell.KeyTab: "tab", tcell.KeyBacktab: "shift+tab", tcell.KeyEsc: "esc", tcell.KeyBackspace: "backspace", tcell.KeyBackspace2: "backspace",
	tcell.KeyDelete: "delete", tcell.KeyUp: "up", tcell.KeyDown: "down", tcell.KeyLeft: "left", tcell.KeyRight: "right",
	tcell.KeyHome: "home", tcell.KeyEnd: "end", tcell.KeyPgUp: "pgup", tcell.KeyPgDn: "pgdn",
	tcell.KeyF1: "f1", tcell.KeyF2: "f2", tcell.KeyF3: "f3", tcell.KeyF4: "f4", tcell.KeyF5: "f5",
}

// keyOf translates a key of the terminal; false for one that means nothing.
func keyOf(e *tcell.EventKey) (key, bool) {
	mod := ""
	if e.Modifiers()&tcell.ModCtrl != 0 {
		mod = "ctrl+"
	}
	if e.Modifiers()&tcell.ModAlt != 0 {
		mod += "alt+"
	}
	if name, ok := keyNames[e.Key()]; ok {
		if mod == "ctrl+" && e.Key() <= tcell.KeyDEL { // they are control characters themselves
			mod = ""
		}
		if e.Key() == tcell.KeyEnter && e.Modifiers()&tcell.ModShift != 0 {
			mod = "shift+"
		}
		return key{name: mod + name}, true
	}
	switch {
	case e.Key() == tcell.KeyRune && mod == "" && unicode.IsPrint(e.Rune()):
		return key{text: string(e.Rune())}, true
	case e.Key() == tcell.KeyRune && mod == "":
		return key{text: string(e.Rune())}, e.Rune() >= ' '
	case e.Key() == tcell.KeyRune && mod == "ctrl+alt+" && (e.Rune() == 'm' || e.Rune() == 'j'): // what tcell makes of Escape and a line end
		return key{name: "alt+enter"}, true
	case e.Key() == tcell.KeyRune:
		return key{name: mod + string(e.Rune())}, true
	case e.Key() == tcell.KeyCtrlUnderscore:
		return key{name: "ctrl+_"}, true
	case e.Key() >= tcell.KeyCtrlA && e.Key() <= tcell.KeyCtrlZ:
		return key{name: "ctrl+" + string(rune('a'+e.Key()-tcell.KeyCtrlA))}, true
	}
	return key{}, false
}
