package tui

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/llama-agent/llama-agent/internal/human"
	"github.com/llama-agent/llama-agent/tui/cells"
)

// drawSidebar shows the status. Alone it takes the place of the transcript and has no border.
func (s *State) drawSidebar(g *cells.Grid, alone bool) {
	w, h := g.Size()
	left := 2
	if alone {
		left = 1
	} else {
		for y := range h {
			g.Draw(0, y, cells.Styled("│", cells.Style{Role: cells.Border}))
		}
	}
	width := max(w-left-1, 0)
	for y, line := range s.sidebarLines(width, h) {
		if y >= h {
			break
		}
		g.Draw(left, y, line.Clip(width))
	}
}

// sidebarLines are the status in at most a height where that can be: first the lines between groups give way, then their titles.
func (s *State) sidebarLines(width, height int) []cells.Line {
	groups := s.sidebarGroups(width)
	lines, titles := 0, len(groups)
	for _, g := range groups {
		lines += len(g.lines)
	}
	var out []cells.Line
	for i, g := range groups {
		if i > 0 && lines+titles+len(groups)-1 <= height {
			out = append(out, nil)
		}
		if lines+titles <= height {
			out = append(out, cells.Styled(g.title, cells.Style{Role: cells.Heading, Attr: cells.Bold}))
		}
		out = append(out, g.lines...)
	}
	return out
}

// group is some lines of the sidebar with a title.
type group struct {
	title string
	lines []cells.Line
}

// pair is a name at the left and a value at the right.
func pair(width int, name, value string) cells.Line {
	room := max(width-cells.Width(name), 0)
	return cells.Concat(muted(name), cells.Styled(value, cells.Style{Role: cells.Number}).Clip(max(room-1, 0)).AlignRight(room)).Clip(width)
}

func (s *State) sidebarGroups(width int) []group {
	row := func(name, value string) cells.Line { return pair(width, name, value) }
	count := func(name string, n int) cells.Line { return row(name, human.Count(n)) }
	st := s.status
	model := "no model"
	if st.Model != "" {
		model = strings.TrimSuffix(filepath.Base(st.Model), ".gguf")
	}
	conversation := st.Conversation
	if conversation == "" {
		conversation = "not begun"
	}
	all := st.Session
	if s.activity.work == workTask { // the task under way is added to the session when it ends
		all = all.Plus(s.spent)
	}
	gpu := human.Bytes(st.GPU)
	if st.GPUUnknown != "" {
		gpu = "none known"
	}
	rss := "not known"
	if st.RSS > 0 {
		rss = human.Bytes(st.RSS)
	}
	return []group{
		{"Model", []cells.Line{cells.Plain(oneLine(model)).Clip(width), row("state", s.modelText()), row("phase", s.phaseText())}},
		{"Conversation", []cells.Line{cells.Plain(oneLine(conversation)).Clip(width), count("turn", s.turnNumber())}},
		{"Tokens", []cells.Line{
			count("sent", all.PromptTokens), count("cached", all.CachedTokens), count("evaluated", all.EvaluatedTokens),
			count("sampled", all.CompletionTokens-all.ForcedTokens), count("forced", all.ForcedTokens),
			row("read, written /s", rateText(s.rates.read)+", "+rateText(s.rates.written)),
		}},
		{"KV cache", s.kvLines(width)},
		{"Machine", []cells.Line{
			row("memory", rss), row("GPU", gpu), row("R1 large results", onOff(st.Virtualization)), row("R2 lifecycle", onOff(st.Lifecycle)),
		}},
	}
}

// kvLines are how much of the KV cache the last call took.
func (s *State) kvLines(width int) []cells.Line {
	if s.status.ContextSize == 0 {
		return []cells.Line{pair(width, "KV", "not known")}
	}
	share := float64(s.kvUsed) / float64(s.status.ContextSize)
	role := cells.Good
	switch {
	case share > 0.9:
		role = cells.Bad
	case share > 0.7:
		role = cells.Warn
	}
	return []cells.Line{
		cells.Bar(width, share, cells.Style{Role: role}, cells.Style{Role: cells.Muted}),
		pair(width, "KV", fmt.Sprintf("%s of %s", human.Count(s.kvUsed), human.Count(s.status.ContextSize))),
	}
}

func (s *State) modelText() string {
	switch {
	case s.activity.work == workLoading:
		return fmt.Sprintf("loading %d %%", int(s.activity.share*100))
	case s.model == modelMissing:
		return "cannot be loaded"
	case s.model == modelReady || s.status.Loaded:
		return "ready"
	}
	return "not loaded"
}

func (s *State) phaseText() string {
	switch {
	case s.activity.stopping:
		return "stopping"
	case s.activity.work == workTask && s.activity.writing:
		return "answering"
	case s.activity.work == workTask && s.activity.phase != "":
		return s.activity.phase
	case s.activity.work == workTask:
		return "beginning"
	}
	return "idle"
}

func rateText(n int64) string {
	if n == 0 {
		return "–"
	}
	return human.Count(int(n))
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}
