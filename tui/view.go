package tui

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/llama-agent/llama-agent/internal/human"
	"github.com/llama-agent/llama-agent/tui/cells"
)

// cursor is where the terminal shows its cursor.
type cursor struct {
	x, y  int
	shown bool
}

func muted(text string) cells.Line  { return cells.Styled(text, cells.Style{Role: cells.Muted}) }
func accent(text string) cells.Line { return cells.Styled(text, cells.Style{Role: cells.Accent}) }

// draw shows the State in a grid of the size of the terminal.
func (s *State) draw() (*cells.Grid, cursor) {
	g := cells.NewGrid(s.width, s.height)
	l := s.layout()
	if l.tooSmall {
		text := fmt.Sprintf("too small: %d×%d needed", leastWidth, leastHeight)
		g.DrawLines(cells.Wrap(cells.Plain(text), s.width))
		return g, cursor{}
	}
	s.drawTitle(g.Sub(l.title))
	if l.sidebar.Width > 0 {
		s.drawSidebar(g.Sub(l.sidebar), l.sidebarAlone)
	}
	if !l.sidebarAlone || s.document != nil {
		s.drawMain(g.Sub(l.main))
	}
	g.Draw(0, l.activity.Y, s.activityLine(s.width))
	g.Draw(0, l.rule.Y, cells.Styled(strings.Repeat("─", s.width), cells.Style{Role: cells.Border}))
	at := s.drawInput(g, l)
	return g, s.drawOverlays(g, l, at)
}

func (s *State) drawTitle(g *cells.Grid) {
	w, _ := g.Size()
	name := cells.Styled(" llama-agent", cells.Style{Role: cells.Title, Attr: cells.Bold})
	var facts []string
	if s.document != nil {
		facts = append(facts, s.document.title)
	} else {
		if s.status.Model != "" {
			facts = append(facts, strings.TrimSuffix(filepath.Base(s.status.Model), ".gguf"))
		}
		if n := s.turnNumber(); n > 0 {
			facts = append(facts, fmt.Sprintf("turn %d", n))
		}
		if s.status.Conversation != "" {
			facts = append(facts, s.status.Conversation)
		}
	}
	rest := muted("  " + oneLine(strings.Join(facts, " · "))).Clip(max(w-name.Width()-1, 0))
	g.Draw(0, 0, cells.Concat(name, rest))
}

// drawMain shows the document or the transcript.
func (s *State) drawMain(g *cells.Grid) {
	_, h := g.Size()
	src, _ := s.viewed()
	rows := s.scroller().window(src, h)
	if s.document == nil && len(s.entries) == 0 {
		s.drawWelcome(g)
		return
	}
	for y, r := range rows {
		text := r.text
		if s.find != nil && s.find.typed != "" {
			text = highlight(text, s.find.typed)
		}
		g.Draw(0, y, text)
		if s.document == nil && s.mode == modeBrowse && r.item == s.selected {
			g.Draw(0, y, accent("▌"))
		}
	}
}

func (s *State) drawWelcome(g *cells.Grid) {
	_, h := g.Size()
	lines := []cells.Line{
		cells.Concat(cells.Plain("  "), cells.Styled("Ask something, or say what to do.", cells.Style{Role: cells.Heading, Attr: cells.Bold})),
		nil,
		cells.Concat(accent("  /help"), muted("  lists the commands")),
		cells.Concat(accent("  F1   "), muted("  shows the keys")),
		cells.Concat(accent("  @    "), muted("  completes the name of a file")),
	}
	for y, line := range lines[:min(len(lines), h)] {
		g.Draw(0, min(y+1, h-1), line)
	}
}

// spinner turns while something is under way.
func spinner(now time.Time) string {
	const turns = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
	frames := []rune(turns)
	return string(frames[int(now.UnixMilli()/100)%len(frames)])
}

// activityLine tells what is under way, or what there is to know.
func (s *State) activityLine(width int) cells.Line {
	var left, right cells.Line
	a := s.activity
	switch {
	case s.find != nil && s.find.typing:
		return s.findLine(width)
	case s.notice != "":
		left = muted("  " + s.notice)
	case a.work != workNone:
		left = cells.Concat(accent(spinner(s.now)+" "), cells.Plain(s.activityText()))
	case s.armed:
		left = cells.Styled("  Ctrl-C again leaves", cells.Style{Role: cells.Warn})
	case s.document != nil:
		left = muted("  Esc closes · / finds · y copies")
	case s.mode == modeBrowse:
		left = muted("  Enter opens · o whole · y copies · / finds · Esc back")
	case s.model == modelMissing:
		left = cells.Styled("  no model; choose one with /model", cells.Style{Role: cells.Warn})
	case !s.scroll.follow && len(s.entries) > 0:
		left = muted("  Ctrl-End goes to the end")
	default:
		left = muted("  Enter sends · F1 keys")
	}
	if n := len(s.queue); n > 0 {
		right = cells.Concat(right, muted(human.Count(n)+" waiting "))
	}
	if a.work != workNone {
		right = cells.Concat(right, muted(clock(s.now.Sub(a.began))+" "))
	}
	if place := s.place(); place != "" {
		right = cells.Concat(right, muted(place+" "))
	}
	room := max(width-right.Width(), 0)
	return cells.Concat(left.Pad(room), right).Clip(width)
}

// place says how far what is viewed is scrolled; empty when that is plain to see.
func (s *State) place() string {
	src, height := s.viewed()
	sc := s.scroller()
	if n := src.count(); n > 0 && (s.document != nil || !sc.follow) {
		rows := sc.window(src, height)
		if len(rows) > 0 && (rows[0].item > 0 || rows[0].line > 0 || len(rows) == height) {
			return fmt.Sprintf("%d%%", 100*(rows[len(rows)-1].item+1)/n)
		}
	}
	return ""
}

// clock is a time as minutes and seconds.
func clock(d time.Duration) string {
	seconds := int(max(d, 0) / time.Second)
	return fmt.Sprintf("%d:%02d", seconds/60, seconds%60)
}

// activityText is the phase and how fast it goes.
func (s *State) activityText() string {
	a := s.activity
	if a.stopping {
		return "stopping; Ctrl-C again leaves"
	}
	if a.work == workLoading || a.share > 0 && a.share < 1 {
		return fmt.Sprintf("loading the model: %d %%", int(a.share*100))
	}
	parts := []string{a.phase}
	if a.phase == "" {
		parts[0] = "beginning"
	}
	if a.writing {
		parts[0] = "answering"
	}
	if reading := a.reading(s.now); reading != "" {
		parts = append(parts, reading)
	}
	if n := a.speed(s.now); n > 0 {
		parts = append(parts, fmt.Sprintf("about %d tokens/s", n))
	}
	return strings.Join(parts, " · ")
}

func (s *State) findLine(width int) cells.Line {
	text := cells.Concat(accent("  find: "), cells.Plain(oneLine(s.find.typed)), cells.Styled("▏", cells.Style{Role: cells.Accent}))
	if s.find.missing && s.find.typed != "" {
		text = cells.Concat(text, cells.Styled("  not found", cells.Style{Role: cells.Warn}))
	}
	return text.Clip(width)
}

// drawInput shows the input and returns where its cursor is.
func (s *State) drawInput(g *cells.Grid, l layout) cursor {
	part := g.Sub(l.input)
	part.Draw(0, 0, accent("›"))
	lines, x, y := s.input.lines(l.input.Width-gutter, l.input.Height)
	part.Sub(cells.Rect{X: gutter, Y: 0, Width: l.input.Width - gutter, Height: l.input.Height}).DrawLines(lines)
	if s.input.empty() && s.activity.work != workNone {
		part.Draw(gutter, 0, muted("what you send now waits for its turn").Clip(l.input.Width-gutter))
	}
	active := s.mode == modeInput && s.document == nil && (s.find == nil || !s.find.typing)
	return cursor{x: l.input.X + gutter + x, y: l.input.Y + y, shown: active}
}

// drawOverlays shows what lies above the rest, the question above all.
func (s *State) drawOverlays(g *cells.Grid, l layout, at cursor) cursor {
	switch {
	case s.question != nil:
		s.drawQuestion(g)
		return cursor{}
	case s.picker != nil:
		return s.drawPicker(g, l)
	}
	if at.shown {
		s.input.drawPopup(g, l)
	}
	return at
}

// drawQuestion shows a question in a box that nothing can cover.
func (s *State) drawQuestion(g *cells.Grid) {
	width := min(s.width-2, 70)
	lines := cells.Wrap(cells.Plain(oneLine(s.question.text)), max(width-4, 1))
	most := max(s.height-4, 1)
	lines = lines[:min(len(lines), most)]
	inner := box(g, s.width, s.height, width, len(lines)+1, "Question", cells.Warn)
	inner.DrawLines(lines)
	_, h := inner.Size()
	inner.Draw(0, h-1, cells.Concat(accent("y"), cells.Plain(" yes   "), accent("n"), cells.Plain(" no")))
}

// box draws a frame in the middle of the screen and returns what is inside of it, with a margin of a column.
func box(g *cells.Grid, screenWidth, screenHeight, width, lines int, title string, role cells.Role) *cells.Grid {
	height := min(lines+2, screenHeight)
	width = min(width, screenWidth)
	r := cells.Rect{X: (screenWidth - width) / 2, Y: (screenHeight - height) / 2, Width: width, Height: height}
	g.Sub(r).Fill(cells.Style{})
	inner := g.Box(r, cells.Rounded(), cells.Styled(title, cells.Style{Role: cells.Title, Attr: cells.Bold}), cells.Style{Role: role})
	w, h := inner.Size()
	return inner.Sub(cells.Rect{X: 1, Y: 0, Width: max(w-2, 0), Height: h})
}

// keyTexts are what the keys do, for F1.
var keyTexts = [][2]string{
	{"Enter", "send"}, {"Alt-Enter, Ctrl-J", "new line"}, {"Up, Down", "earlier entries"}, {"Tab", "complete"},
	{"@", "complete a file"}, {"Ctrl-C", "stop the turn; again: leave"}, {"Ctrl-Q", "leave"}, {"PgUp, PgDn, wheel", "scroll"},
	{"Ctrl-Home, Ctrl-End", "beginning, end"}, {"F1", "these keys"}, {"F2", "thoughts"}, {"F3", "sidebar"}, {"F4", "select an entry, then:"},
	{"  Enter, o", "open it here, open all"}, {"  y", "copy it"}, {"  /, n, N", "find, go on, go back"}, {"F5", "select text with the mouse"},
	{"Ctrl-F", "find"}, {"Ctrl-L", "clear the screen"}, {"Ctrl-Z", "suspend"}, {"/help", "list the commands"},
}

// showKeys opens a document about the keys.
func (s *State) showKeys() {
	names := 0
	for _, k := range keyTexts {
		names = max(names, cells.Width(k[0]))
	}
	var b strings.Builder
	for _, k := range keyTexts {
		fmt.Fprintf(&b, "%-*s  %s\n", names, k[0], k[1])
	}
	s.document = newDocument("keys", "", b.String())
}
