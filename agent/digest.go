package agent

import (
	"strings"

	"github.com/llama-agent/llama-agent/internal/excerpt"
	"github.com/llama-agent/llama-agent/templates"
)

// A small model leaves values out when they lie far apart in a long prompt. When several results are large, the request for the answer
// repeats of each the line that shares most with what the result is for, so that they stand together and near to the question.
const (
	digestResults = 3    // large results from which on lines are repeated; fewer are read well enough
	digestBytes   = 2048 // of a result that is large
	digestChars   = 200  // that are repeated of each
)

// digest returns the lines to repeat, in the order of their results.
func (w *work) digest() []templates.SourceData {
	var out []templates.SourceData
	for _, c := range w.calls() {
		if c.Skipped || c.Guide || c.Error != nil || len(c.Text) < digestBytes {
			continue
		}
		if line := nearestLine(c.Text, w.stepText(c.Step), w.task.Goal); line != "" {
			out = append(out, templates.SourceData{Name: w.source(&c), Line: oneLine(line)})
		}
	}
	if len(out) < digestResults {
		return nil
	}
	return out
}

// nearestLine is the line of a text that is likely to be about the step, else about the task, or "".
func nearestLine(text, step, goal string) string {
	for _, about := range []string{step, goal + "\n" + step} {
		best := excerpt.Piece{}
		for _, p := range excerpt.Nearest([]byte(text), about, digestChars) {
			if p.Share > best.Share {
				best = p
			}
		}
		if best.Share >= excerpt.Near {
			return strings.TrimSpace(best.Text)
		}
	}
	return ""
}

// source names what a call read.
func (w *work) source(c *Call) string {
	for _, s := range w.plan {
		if s.Number == c.Step && s.File != "" {
			return oneLine(s.File)
		}
	}
	return c.name()
}
