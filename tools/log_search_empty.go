package tools

import (
	"context"
	"fmt"
	"strings"

	"github.com/llama-agent/llama-agent/tools/internal/logline"
)

// frequentMessages is how many messages of a log are told when a search found nothing.
const frequentMessages = 3

// withoutMasks returns the query to search for instead of one that is a masked message as aggregate_log_errors shows them, and what
// to say about that.
func withoutMasks(query string) (literal, note string) {
	literal, masked := logline.LongestLiteral(query)
	if !masked || literal == "" {
		return "", ""
	}
	return literal, fmt.Sprintf("%q was searched for, because placeholders such as <n> stand in no line", literal)
}

// explainEmpty adds to a search that found nothing what may be meant: lines that share words with the query, else the most frequent
// messages of the log. It is a help only, so that an error adds nothing.
func (w *workspace) explainEmpty(ctx context.Context, r *LogSearchResult) {
	found := r.Total > 0 || r.OtherCase > 0 || r.Untimed > 0 || len(r.OtherLevels) > 0
	if r.Query == "" || found || r.Since != "" || r.Until != "" || r.LinesSearched == 0 {
		return
	}
	if r.Closest = w.nearestIn(ctx, r.Path, r.Query); len(r.Nearest) > 0 {
		if r.Level != anyLevel {
			r.AllWords = 0 // which is a number of lines of all levels
		}
		return
	}
	f, problem := w.openText(ctx, r.Path)
	if problem != nil {
		return
	}
	defer f.Close()
	tally := newTally()
	if err := f.runPass(tally); err != nil {
		return
	}
	r.Frequent = summarize(f, tally, frequentMessages).Patterns
}

// writeFrequent shows the messages of [workspace.explainEmpty].
func writeFrequent(b *strings.Builder, patterns []LogPattern) {
	if len(patterns) == 0 {
		return
	}
	b.WriteString(". Its most frequent errors and other messages:")
	for _, p := range patterns {
		fmt.Fprintf(b, "\n%d × %s, first in line %d: %s", p.Count, p.Level, p.FirstLine, clip(oneLine(p.Example), 200))
	}
}
