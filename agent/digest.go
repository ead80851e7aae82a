package agent

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/llama-agent/llama-agent/internal/excerpt"
	"github.com/llama-agent/llama-agent/templates"
)

// A small model leaves values out when they lie far apart in a long prompt. When several results are large, the request for the answer
// repeats of each the line that shares most with what the result is for, so that they stand together and near to the question.
const (
	digestResults  = 3    // large results from which on lines are repeated; fewer are read well enough
	digestBytes    = 2048 // of a result that is large
	digestChars    = 200  // of a line
	digestSearched = 600  // characters of lines among which the best are chosen
	leastShare     = 0.03 // of a line that is repeated: below it lines share only words such as "the"
	hardlyWorse    = 1.35 // how much more the best line may share than one that is repeated beside it
)

// digest returns the lines to repeat, in the order of their results.
func (w *work) digest() []templates.SourceData {
	var large []Call
	for _, c := range w.calls() {
		if !c.Skipped && !c.Guide && c.Error == nil && len(c.Text) >= digestBytes {
			large = append(large, c)
		}
	}
	if len(large) < digestResults {
		return nil
	}
	var out []templates.SourceData
	subject := w.subject()
	for _, c := range large {
		for _, line := range nearestLines(c.Text, w.stepOf(&c).Do, subject) {
			out = append(out, templates.SourceData{Name: w.source(&c), Line: line})
		}
	}
	return out
}

// nearestLines are the lines of a text that share most with the step, else with the task: the best one, and the next when it is hardly
// worse. How much they share says little here: a long task in few words of the text has a small share of each line.
func nearestLines(text, step, goal string) []string {
	pieces := excerpt.First([]byte(text), digestSearched, step, goal, goal+"\n"+step)
	slices.SortStableFunc(pieces, func(a, b excerpt.Piece) int { return cmp.Compare(b.Share, a.Share) })
	var lines []string
	for _, p := range pieces[:min(len(pieces), 2)] {
		if p.Share < leastShare || p.Share*hardlyWorse < pieces[0].Share {
			break
		}
		lines = append(lines, clip(oneLine(strings.TrimSpace(p.Text)), digestChars))
	}
	return lines
}

// source names what a call read.
func (w *work) source(c *Call) string {
	if file := w.stepOf(c).File; file != "" {
		return oneLine(file)
	}
	return c.name()
}

// sums adds up what calls of one tool counted in several places, because a small model adds numbers wrongly: by convention a result
// says in "total" how many of what was asked for there are. Each tool has a line such as "count_lines, total: 15 + 9 = 24".
func (w *work) sums() []string {
	totals := map[string][]int64{}
	var names []string
	seen := map[string]bool{}
	for _, c := range w.calls() {
		var result struct {
			Total *int64 `json:"total"`
		}
		if c.Skipped || c.Error != nil || seen[c.key()] || json.Unmarshal(c.Result, &result) != nil || result.Total == nil {
			continue
		}
		seen[c.key()] = true
		if !slices.Contains(names, c.Tool) {
			names = append(names, c.Tool)
		}
		totals[c.Tool] = append(totals[c.Tool], *result.Total)
	}
	var out []string
	for _, name := range names {
		if len(totals[name]) < 2 {
			continue
		}
		sum, parts := int64(0), make([]string, len(totals[name]))
		for i, n := range totals[name] {
			sum += n
			parts[i] = strconv.FormatInt(n, 10)
		}
		out = append(out, fmt.Sprintf("%s, total: %s = %d", oneLine(name), strings.Join(parts, " + "), sum))
	}
	return out
}
