package tui

import (
	"strings"

	"github.com/llama-agent/llama-agent/tui/cells"
)

// input is what the user types.
type input struct{ typed string }

func newInput() *input { return &input{} }

func (in *input) empty() bool       { return in.typed == "" }
func (in *input) text() string      { return in.typed }
func (in *input) set(text string)   { in.typed = text }
func (in *input) paste(text string) { in.typed += text }
func (in *input) take() string {
	text := in.typed
	in.typed = ""
	return text
}
func (in *input) pressPopup(key) bool { return false }
func (in *input) press(k key) {
	switch {
	case k.name == "backspace":
		r := []rune(in.typed)
		in.typed = string(r[:max(len(r)-1, 0)])
	case k.name == "alt+enter":
		in.typed += "\n"
	default:
		in.typed += k.text
	}
}
func (in *input) height(int, int) int { return 1 + strings.Count(in.typed, "\n") }
func (in *input) lines(width, _ int) ([]cells.Line, int, int) {
	var out []cells.Line
	for line := range strings.SplitSeq(in.typed, "\n") {
		out = append(out, cells.Plain(line))
	}
	return out, out[len(out)-1].Width(), len(out) - 1
}
func (in *input) drawPopup(*cells.Grid, layout) {}
func (s *State) complete(bool)                  {}
