package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// A figure is a row for each peer and layout of the table.
type figure struct {
	title  string
	show   func(float64) string
	of     func(records []record) (value float64, known bool) // of one system in one layout
	needed map[string]map[string]float64                      // by layout, system: how many times llama-agent has to be better
	more   bool                                               // a higher value is better
	below  float64                                            // what llama-agent has to stay below; 0: nothing
}

func both(python, server, node float64) map[string]float64 {
	return map[string]float64{llamaPython: python, llamaServer: server, nodeLlama: node}
}

// figures are what is required of the engine, in the order of the table.
var figures = []figure{
	{
		title: "tasks done right", show: func(v float64) string { return fmt.Sprintf("%.0f %%", 100*v) }, of: rightShare, more: true,
		needed: map[string]map[string]float64{idiomatic: both(1, 1, 1), trunk: both(1, 1, 1)},
	},
	{
		title: "time per task", show: milliseconds, of: medianOf(kindTask, func(r record) float64 { return r.DurationMS }),
		needed: map[string]map[string]float64{idiomatic: both(5, 3, 3), trunk: both(2, 1.5, 1.5)},
	},
	{
		title: "prompt tokens evaluated per task", show: whole, of: medianOf(kindTask, func(r record) float64 { return float64(r.EvaluatedTokens) }),
		needed: map[string]map[string]float64{idiomatic: both(10, 5, 5), trunk: both(1, 1, 1)},
	},
	{
		title: "last prompt token to tool call", show: milliseconds, of: toolCall,
		needed: map[string]map[string]float64{idiomatic: both(2.5, 1.7, 1.7), trunk: both(2.5, 1.7, 1.7)},
	},
	{
		title: "kill -9 at 4k tokens to next token", show: milliseconds, of: medianOf(kindKill, func(r record) float64 { return r.RestartMS }),
		needed: map[string]map[string]float64{trunk: both(20, 20, 20)},
	},
	{
		title: "second run: time to first step", show: milliseconds, of: medianOf(kindSecond, func(r record) float64 { return r.FirstStepMS }),
		below: 1500,
	},
	{
		title: "second run: prompt tokens evaluated", show: whole, of: medianOf(kindSecond, func(r record) float64 { return float64(r.EvaluatedTokens) }),
		needed: map[string]map[string]float64{trunk: both(2, 2, 2)},
	},
	{
		title: "peak memory", show: megabytes, of: peakMemory,
		needed: map[string]map[string]float64{idiomatic: both(1, 1, 1), trunk: both(1, 1, 1)},
	},
	{title: "loading the model", show: milliseconds, of: loadTime},
}

func milliseconds(v float64) string {
	if v >= 1000 {
		return fmt.Sprintf("%.2f s", v/1000)
	}
	return fmt.Sprintf("%.0f ms", v)
}

func whole(v float64) string { return fmt.Sprintf("%.0f", v) }

func megabytes(v float64) string { return fmt.Sprintf("%.0f MB", v/1e6) }

// rightShare is the share of tasks that were done right. A task without a result was not.
func rightShare(records []record) (float64, bool) {
	right, all := 0, 0
	for _, r := range records {
		if r.Kind != kindTask {
			continue
		}
		all++
		if r.Right {
			right++
		}
	}
	if all == 0 {
		return 0, false
	}
	return float64(right) / float64(all), true
}

// medianOf is the median over records of one kind that have a result.
func medianOf(kind string, value func(record) float64) func([]record) (float64, bool) {
	return func(records []record) (float64, bool) {
		var values []float64
		for _, r := range records {
			if r.Kind == kind && r.Error == "" {
				values = append(values, value(r))
			}
		}
		return median(values)
	}
}

// toolCall is the median over all calls of all tasks.
func toolCall(records []record) (float64, bool) {
	var values []float64
	for _, r := range records {
		if r.Kind == kindTask {
			values = append(values, r.ToolCallMS...)
		}
	}
	return median(values)
}

// peakMemory is the most of any process.
func peakMemory(records []record) (float64, bool) {
	var most int64
	for _, r := range records {
		most = max(most, r.PeakRSSBytes)
	}
	return float64(most), most > 0
}

func loadTime(records []record) (float64, bool) {
	var values []float64
	for _, r := range records {
		if r.LoadMS > 0 {
			values = append(values, r.LoadMS)
		}
	}
	return median(values)
}

// median is the middle value, or the mean of the two in the middle.
func median(values []float64) (float64, bool) {
	if len(values) == 0 {
		return 0, false
	}
	sorted := slices.Sorted(slices.Values(values))
	half := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[half], true
	}
	return (sorted[half-1] + sorted[half]) / 2, true
}

// verdict is how a figure of llama-agent stands beside that of a peer.
type verdict struct {
	ratio    float64 // how many times better llama-agent is
	compared bool    // there is a ratio
	required string  // empty: nothing is
	met      bool
}

func (f *figure) judge(ours, theirs float64, layout, system string) verdict {
	v := verdict{}
	better, worse := theirs, ours
	if f.more {
		better, worse = ours, theirs
	}
	switch {
	case worse > 0:
		v.ratio, v.compared = better/worse, true
	case better == worse: // both are 0
		v.ratio, v.compared = 1, true
	}
	if f.below > 0 {
		v.required, v.met = "< "+f.show(f.below), ours < f.below
		return v
	}
	if needed := f.needed[layout][system]; needed > 0 {
		v.required = fmt.Sprintf("%gx", needed)
		// Nothing at all is any number of times better than something.
		v.met = !v.compared || v.ratio >= needed
	}
	return v
}

// side is a system in one layout.
type side struct{ system, layout string }

// writeTable prints the figures in Markdown, and how many of the required ones were missed.
func writeTable(w io.Writer, list []record) error {
	by := map[side][]record{}
	for _, r := range list {
		by[side{r.System, r.Layout}] = append(by[side{r.System, r.Layout}], r)
	}
	us := by[side{own, ownLayout}]
	if len(us) == 0 {
		return fmt.Errorf("the results have nothing of %s", own)
	}
	head := []string{"figure", own, "peer", "layout", "peer's", "ratio", "required", ""}
	rows := [][]string{head}
	missed, judged := 0, 0
	for i := range figures {
		f := &figures[i]
		ours, known := f.of(us)
		if !known {
			rows = append(rows, []string{f.title, "no result", "", "", "", "", "", ""})
			continue
		}
		for _, s := range sides(by) {
			theirs, known := f.of(by[s])
			if !known {
				continue
			}
			v := f.judge(ours, theirs, s.layout, s.system)
			row := []string{f.title, f.show(ours), s.system, s.layout, f.show(theirs), "", v.required, ""}
			if v.compared {
				row[5] = fmt.Sprintf("%.2fx", v.ratio)
			}
			if v.required != "" {
				judged++
				row[7] = "met"
				if !v.met {
					missed++
					row[7] = "MISSED"
				}
			}
			rows = append(rows, row)
		}
		if rows[len(rows)-1][0] != f.title { // no peer has it
			rows = append(rows, []string{f.title, f.show(ours), "", "", "", "", "", ""})
		}
	}
	var b strings.Builder
	writeRows(&b, rows)
	fmt.Fprintf(&b, "\nTimes are without loading the model, except after kill -9. A ratio is how many times better %s is; figures are medians.\n", own)
	writeVersions(&b, by)
	writeFailures(&b, list)
	fmt.Fprintf(&b, "%d of %d required figures missed\n", missed, judged)
	_, err := io.WriteString(w, b.String())
	return err
}

// sides are the peers that have results, in the order of the requirements.
func sides(by map[side][]record) []side {
	var list []side
	for _, system := range []string{llamaPython, llamaServer, nodeLlama} {
		for _, layout := range []string{idiomatic, trunk} {
			if len(by[side{system, layout}]) > 0 {
				list = append(list, side{system, layout})
			}
		}
	}
	return list
}

func writeRows(b *strings.Builder, rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	number := []bool{false, true, false, false, true, true, true, false}
	for i, row := range rows {
		for j, cell := range row {
			space := strings.Repeat(" ", widths[j]-len([]rune(cell)))
			if number[j] {
				cell = space + cell
			} else {
				cell += space
			}
			b.WriteString("| " + cell + " ")
		}
		b.WriteString("|\n")
		if i > 0 {
			continue
		}
		for j, width := range widths {
			rule := strings.Repeat("-", width+1) + "-"
			if number[j] {
				rule = strings.Repeat("-", width+1) + ":"
			}
			b.WriteString("|" + rule)
		}
		b.WriteString("|\n")
	}
}

// writeVersions names the peers with the versions of their libraries.
func writeVersions(b *strings.Builder, by map[side][]record) {
	var names []string
	for _, s := range sides(by) {
		for _, r := range by[s] {
			if r.Version != "" && !slices.Contains(names, r.Version) {
				names = append(names, r.Version)
			}
		}
	}
	if len(names) > 0 {
		fmt.Fprintf(b, "Peers: %s.\n", strings.Join(names, "; "))
	}
}

// writeFailures tells of what has no result: it is in no median.
func writeFailures(b *strings.Builder, list []record) {
	for _, r := range list {
		if r.Error != "" {
			fmt.Fprintf(b, "No result: %s, %s layout, %s: %s\n", r.System, r.Layout, cmp.Or(r.Case, r.Kind), strings.Join(strings.Fields(r.Error), " "))
		}
	}
}
