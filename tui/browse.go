package tui

import "github.com/llama-agent/llama-agent/tui/cells"

// transcript is the entries as a source of lines.
type transcript struct{ s *State }

func (t transcript) count() int               { return len(t.s.entries) }
func (t transcript) lines(i int) []cells.Line { return t.s.renderer.lines(t.s.entries[i], t.s.now) }

// viewed is what keys scroll: the document that is open, or the transcript; and how many lines of it are visible.
func (s *State) viewed() (source, int) {
	l := s.layout()
	if s.document != nil {
		s.document.prepare(l.main.Width)
		return s.document, l.main.Height
	}
	s.renderer.prepare(l.main.Width, s.thinking)
	return transcript{s}, l.main.Height
}

func (s *State) scroller() *scroller {
	if s.document != nil {
		return &s.document.scroll
	}
	return &s.scroll
}

func (s *State) scrollBy(n int) {
	src, height := s.viewed()
	s.scroller().by(src, n, height)
}

// toggleBrowse goes from the input to the transcript, where an entry is selected, and back.
func (s *State) toggleBrowse() {
	if s.mode == modeBrowse || len(s.entries) == 0 {
		s.mode = modeInput
		return
	}
	s.mode = modeBrowse
	src, height := s.viewed()
	s.selected = len(s.entries) - 1
	if rows := s.scroll.window(src, height); len(rows) > 0 {
		s.selected = rows[len(rows)-1].item
	}
	// Whoever looks wants to open something.
	for i := s.selected; i >= max(s.selected-height, 0); i-- {
		if s.entries[i].kind == kindCall {
			s.selected = i
			break
		}
	}
	s.reveal()
}

// reveal scrolls to the selected entry.
func (s *State) reveal() {
	src, height := s.viewed()
	if s.document == nil && s.selected < len(s.entries) {
		s.scroll.to(src, s.selected, 0, height)
	}
}

// choose selects another entry, skipping those that are not shown.
func (s *State) choose(step int) {
	src, _ := s.viewed()
	for i := s.selected + step; i >= 0 && i < len(s.entries); i += step {
		if len(src.lines(i)) > 0 {
			s.selected = i
			break
		}
	}
	s.reveal()
}

func (s *State) pressBrowse(k key) []effect {
	s.selected = min(s.selected, len(s.entries)-1)
	if s.selected < 0 {
		s.mode = modeInput
		return nil
	}
	e := s.entries[s.selected]
	switch {
	case k.name == "esc" || k.text == "q":
		s.mode = modeInput
		s.find = nil
		s.scroll.bottom()
	case k.name == "up" || k.text == "k":
		s.choose(-1)
	case k.name == "down" || k.text == "j":
		s.choose(1)
	case k.name == "home" || k.text == "g":
		s.selected = -1
		s.choose(1)
	case k.name == "end" || k.text == "G":
		s.selected = len(s.entries)
		s.choose(-1)
	case k.name == "enter" || k.text == " ":
		s.unfold(s.selected)
	case k.text == "o":
		return s.openEntry(e)
	case k.text == "y":
		s.notice = "copied, if the terminal allows it"
		return []effect{copyEffect{e.plain()}}
	case k.text == "/":
		s.startFind()
	case k.text == "n":
		s.findNext(1)
	case k.text == "N":
		s.findNext(-1)
	case k.text != "": // whoever types wants to type
		s.mode = modeInput
		return s.pressInput(k)
	}
	return nil
}

// unfold shows an entry longer or shorter.
func (s *State) unfold(i int) {
	e := s.entries[i]
	if !e.expandable() {
		return
	}
	e.open = !e.open
	e.touch()
	s.selected = i
	if s.scroll.follow || e.open {
		s.reveal()
	}
}

// openEntry shows all of an entry in a document of its own.
func (s *State) openEntry(e *entry) []effect {
	if e.kind == kindCall && e.call.Artifact != "" {
		return []effect{documentEffect{e.call.Artifact}}
	}
	title := map[entryKind]string{
		kindUser: "question", kindThought: "thought", kindPlan: "plan", kindAnswer: "answer", kindNote: "note", kindError: "error",
		kindOutput: "output", kindSummary: "summary",
	}[e.kind]
	text := e.plain()
	if e.kind == kindCall {
		title, text = e.call.Tool+" "+argumentText(e.call.Arguments), resultText(e.call)
	}
	s.document = newDocument(title, "", text)
	return nil
}

// click does what the left button means at a place.
func (s *State) click(x, y int) []effect {
	if s.question != nil {
		return nil
	}
	l := s.layout()
	if s.picker != nil {
		return s.clickPicker(x, y)
	}
	switch {
	case s.document != nil:
		return nil
	case s.mode == modeInput && s.input.clickPopup(l, x, y):
		return nil
	case inside(l.input, x, y):
		s.mode = modeInput
		s.input.click(x-l.input.X-gutter, y-l.input.Y)
		return nil
	case !inside(l.main, x, y):
		return nil
	}
	src, height := s.viewed()
	rows := s.scroll.window(src, height)
	if i := y - l.main.Y; i < len(rows) {
		s.unfold(rows[i].item)
	}
	return nil
}

// wheel scrolls what is under the mouse.
func (s *State) wheel(_, _, lines int) {
	switch {
	case s.question != nil:
	case s.picker != nil:
		s.picker.choose(lines)
	default:
		s.scrollBy(lines)
	}
}

func inside(r cells.Rect, x, y int) bool {
	return x >= r.X && x < r.X+r.Width && y >= r.Y && y < r.Y+r.Height
}
