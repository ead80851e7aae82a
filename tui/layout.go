package tui

import "github.com/llama-agent/llama-agent/tui/cells"

const (
	leastWidth, leastHeight = 20, 6 // of a terminal that something can be shown in
	sidebarWidth            = 30    // with its border
	roomForSidebar          = 76    // columns from which on the sidebar is shown without being asked for
	roomBesideSidebar       = 30    // columns that are left to the rest
)

// layout is where the parts of the interface are. Parts that are not shown are empty.
type layout struct {
	tooSmall                           bool
	title, main, activity, rule, input cells.Rect
	sidebar                            cells.Rect
	sidebarAlone                       bool // it takes the place of the transcript
	inputHeight                        int
}

// layout divides the terminal.
func (s *State) layout() layout {
	w, h := s.width, s.height
	if w < leastWidth || h < leastHeight {
		return layout{tooSmall: true}
	}
	l := layout{inputHeight: s.input.height(w-gutter, max((h-4)/3, 1))}
	l.title = cells.Rect{X: 0, Y: 0, Width: w, Height: 1}
	top := 1
	bottom := h - l.inputHeight - 2
	l.main = cells.Rect{X: 0, Y: top, Width: w, Height: bottom - top}
	l.activity = cells.Rect{X: 0, Y: bottom, Width: w, Height: 1}
	l.rule = cells.Rect{X: 0, Y: bottom + 1, Width: w, Height: 1}
	l.input = cells.Rect{X: 0, Y: bottom + 2, Width: w, Height: l.inputHeight}
	if !s.sidebarVisible() {
		return l
	}
	if w < sidebarWidth+roomBesideSidebar {
		l.sidebar, l.sidebarAlone = l.main, true
		return l
	}
	l.main.Width -= sidebarWidth + 1 // a margin, so that text does not touch the border
	l.sidebar = cells.Rect{X: w - sidebarWidth, Y: top, Width: sidebarWidth, Height: l.main.Height}
	return l
}

func (s *State) sidebarVisible() bool {
	switch s.sidebar {
	case sidebarShown:
		return true
	case sidebarHidden:
		return false
	case sidebarAuto:
	}
	return s.settings.Sidebar && s.width >= roomForSidebar
}

func (s *State) toggleSidebar() {
	if s.sidebarVisible() {
		s.sidebar = sidebarHidden
	} else {
		s.sidebar = sidebarShown
	}
}
