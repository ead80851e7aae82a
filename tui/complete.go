package tui

import (
	"slices"
	"strings"

	"github.com/llama-agent/llama-agent/app"
	"github.com/llama-agent/llama-agent/tui/cells"
	"github.com/llama-agent/llama-agent/tui/editor"
)

// popupRows is how many matches are visible at once.
const popupRows = 8

// complete offers what the word at the cursor can become. Commands, their arguments and what follows an @ are offered by themselves,
// file names also when they are asked for; the only match is taken at once then.
func (s *State) complete(asked bool) {
	in := s.input
	query, candidates := s.candidates(asked)
	if candidates == nil {
		in.popup.Close()
		return
	}
	in.popup.Update(query, candidates)
	if asked && len(in.popup.Matches()) == 1 {
		in.popup.Accept(&in.editor)
	}
}

// candidates are what the word at the cursor can become, and what they have to fit.
func (s *State) candidates(asked bool) (string, []editor.Candidate) {
	query, _, first := s.input.editor.Word()
	text := s.input.text()
	switch {
	case first && strings.HasPrefix(query, "//"):
		return "", nil
	case first && strings.HasPrefix(query, "/"):
		return query, s.words.commands()
	case strings.HasPrefix(query, "@"):
		return query[1:], candidatesOf("file", s.words.files)
	}
	if rest, ok := strings.CutPrefix(text, "/"); ok && !first && !strings.Contains(text, "\n") {
		if command, argument, _ := strings.Cut(rest, " "); !strings.Contains(strings.TrimLeft(argument, " "), " ") {
			if list := s.words.arguments(command); list != nil {
				return query, list
			}
		}
	}
	if asked && query != "" {
		return query, candidatesOf("file", s.words.files)
	}
	return "", nil
}

// commands are those of app and one for each tool.
func (w words) commands() []editor.Candidate {
	var out []editor.Candidate
	for _, c := range app.SlashCommands() {
		suffix := ""
		if c.Arguments != "" {
			suffix = " "
		}
		out = append(out, editor.Candidate{Kind: "command", Text: "/" + c.Name, Description: c.About, Suffix: suffix})
	}
	for _, list := range [][]word{w.skills, w.tools} {
		for _, t := range list {
			out = append(out, editor.Candidate{Kind: "tool", Text: "/" + t.text, Description: t.about, Suffix: " "})
		}
	}
	return out
}

// arguments are what the first argument of a command can be; nil when nothing is known of it.
func (w words) arguments(command string) []editor.Candidate {
	switch command {
	case "tool":
		return candidatesOf("tool", slices.Concat(w.skills, w.tools))
	case "skill":
		return candidatesOf("skill", w.skills)
	case "resume":
		return candidatesOf("conversation", w.conversations)
	case "artifacts":
		return candidatesOf("result", w.artifacts)
	case "thinking":
		return candidatesOf("", []word{{"on", "show what the model thinks"}, {"off", "hide it"}})
	case "model":
		var models []word
		for _, f := range w.files {
			if strings.HasSuffix(f.text, ".gguf") {
				models = append(models, f)
			}
		}
		return candidatesOf("model", models)
	}
	return nil
}

// candidatesOf are words of a kind; never nil. A name with spaces can be completed too, but not in part.
func candidatesOf(kind string, list []word) []editor.Candidate {
	out := make([]editor.Candidate, 0, len(list))
	for _, w := range list {
		out = append(out, editor.Candidate{Kind: kind, Text: w.text, Description: w.about, Suffix: " "})
	}
	return out
}

// pressPopup does a key when there is something to choose from, and reports whether it was for the popup.
func (in *input) pressPopup(k key) bool {
	chosen, open := in.popup.Selected()
	if !open {
		return false
	}
	switch k.name {
	case "up", "ctrl+p":
		in.popup.Move(-1)
	case "down", "ctrl+n":
		in.popup.Move(1)
	case "shift+tab":
		in.popup.Move(-1)
	case "esc":
		in.popup.Dismiss()
	case "enter":
		if query, _, _ := in.editor.Word(); query == chosen.Text { // it is complete: what was typed is sent
			in.popup.Close()
			return false
		}
		in.popup.Accept(&in.editor)
	case "tab":
		in.popup.Accept(&in.editor)
	default:
		return false
	}
	return true
}

// popupBox is where the popup is on the screen; empty when it is closed or there is no room.
func (in *input) popupBox(l layout) cells.Rect {
	n := min(len(in.popup.Matches()), popupRows, l.activity.Y-l.title.Height-2)
	if n <= 0 {
		return cells.Rect{}
	}
	width := 0
	matches, _, _ := in.popup.Window(n)
	for _, m := range matches {
		width = max(width, cells.Width(m.Text)+cells.Width(m.Description)+6)
	}
	return cells.Rect{X: 0, Y: l.rule.Y - n - 2, Width: min(max(width, 24), l.rule.Width), Height: n + 2}
}

// drawPopup shows what the word can become, above the input.
func (in *input) drawPopup(g *cells.Grid, l layout) {
	r := in.popupBox(l)
	if r.Height == 0 {
		return
	}
	g.Sub(r).Fill(cells.Style{})
	inner := g.Box(r, cells.Rounded(), nil, cells.Style{Role: cells.Border})
	w, h := inner.Size()
	matches, _, selected := in.popup.Window(h)
	names := 0
	for _, m := range matches {
		names = max(names, min(cells.Width(m.Text), max(w*2/3, 1)))
	}
	for y, m := range matches {
		line := cells.Concat(cells.Plain(" "), cells.Plain(m.Text).Pad(names), muted("  "+oneLine(m.Description))).Clip(max(w-1, 0)).Pad(w)
		if y == selected {
			line = line.Restyle(func(cells.Style) cells.Style { return cells.Style{Role: cells.Selection, Attr: cells.Reverse} })
		}
		inner.Draw(0, y, line)
	}
}

// clickPopup takes the match at a place, and reports whether there is one.
func (in *input) clickPopup(l layout, x, y int) bool {
	r := in.popupBox(l)
	if r.Height == 0 || !inside(r, x, y) {
		return false
	}
	_, first, _ := in.popup.Window(r.Height - 2)
	if in.popup.Select(first + y - r.Y - 1) {
		in.popup.Accept(&in.editor)
	}
	return true
}
