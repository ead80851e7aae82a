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
	for y, line := range s.sidebarLines(width) {
		if y >= h {
			break
		}
		g.Draw(left, y, line.Clip(width))
	}
}

// sidebarLines are the status, the most important first.
func (s *State) sidebarLines(width int) []cells.Line {
	pair := func(name, value string) cells.Line {
		value = cells.Styled(value, cells.Style{Role: cells.Number}).Clip(max(width-cells.Width(name)-1, 0)).String()
		return cells.Concat(muted(name), cells.Styled(value, cells.Style{Role: cells.Number}).AlignRight(max(width-cells.Width(name), 0)))
	}
	head := func(name string) cells.Line {
		return cells.Styled(name, cells.Style{Role: cells.Heading, Attr: cells.Bold})
	}
	count := func(name string, n int) cells.Line { return pair(name, human.Count(n)) }
	st := s.status
	model := "none"
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
	out := []cells.Line{
		head("Model"), cells.Plain(oneLine(model)), pair("state", s.modelText()), pair("phase", s.phaseText()), nil,
		head("Conversation"), cells.Plain(oneLine(conversation)), count("turn", st.NextTurn), nil,
		head("Tokens"), count("sent", all.PromptTokens), count("cached", all.CachedTokens), count("evaluated", all.EvaluatedTokens),
		count("sampled", all.CompletionTokens-all.ForcedTokens), count("forced", all.ForcedTokens),
		pair("reading", rateText(s.rates.read)), pair("writing", rateText(s.rates.written)), nil,
	}
	out = append(out, s.kvLines(width, head, pair)...)
	gpu := human.Bytes(st.GPU)
	if st.GPUUnknown != "" {
		gpu = "none"
	}
	rss := "not known"
	if st.RSS > 0 {
		rss = human.Bytes(st.RSS)
	}
	return append(out, nil, head("Machine"), pair("memory", rss), pair("GPU", gpu),
		pair("R1 large results", onOff(st.Virtualization)), pair("R2 lifecycle", onOff(st.Lifecycle)))
}

// kvLines are how much of the KV cache the last call took.
func (s *State) kvLines(width int, head func(string) cells.Line, pair func(string, string) cells.Line) []cells.Line {
	if s.status.ContextSize == 0 {
		return []cells.Line{head("KV cache"), muted("no model is loaded")}
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
		head("KV cache"), cells.Bar(width, share, cells.Style{Role: role}, cells.Style{Role: cells.Muted}),
		pair("used", fmt.Sprintf("%s of %s", human.Count(s.kvUsed), human.Count(s.status.ContextSize))),
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
	return human.Count(int(n)) + " tokens/s"
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}
