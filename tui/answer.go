package tui

import "github.com/llama-agent/llama-agent/tui/cells"

// growing is the rendering of an answer.
type growing struct{}

func (r *renderer) answer(e *entry, _ *rendered) []cells.Line {
	return r.wrap("  ", cells.Text, cells.Plain(e.text))
}
