package benchmark

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Table is samples of some rounds as Markdown: what each case took in each round, what each round saves compared with the one
// before it, how prompts grow along conversations, and which samples have faults or errors. Cases and rounds come in the order in which
// the samples have them first.
func Table(title string, samples []Sample) string {
	v := view{samples: samples}
	for i := range samples {
		if s := &samples[i]; !slices.Contains(v.cases, s.Case) {
			v.cases = append(v.cases, s.Case)
		}
		if s := &samples[i]; !slices.Contains(v.rounds, s.Round) {
			v.rounds = append(v.rounds, s.Round)
		}
	}
	fmt.Fprintf(&v.Builder, "# %s\n", title)
	v.costs()
	v.reductions()
	v.growth()
	v.problems()
	return v.String()
}

type view struct {
	strings.Builder
	samples       []Sample
	cases, rounds []string
}

// of returns the samples of a case in a round; an empty case stands for all.
func (v *view) of(id, round string) []Sample {
	var chosen []Sample
	for _, s := range v.samples {
		if (id == "" || s.Case == id) && s.Round == round {
			chosen = append(chosen, s)
		}
	}
	return chosen
}

// rows are the cases, then all of them together.
func (v *view) rows() []string {
	if len(v.cases) < 2 {
		return v.cases
	}
	return append(slices.Clone(v.cases), "")
}

func (v *view) row(cells ...string) { fmt.Fprintf(v, "| %s |\n", strings.Join(cells, " | ")) }

// head begins a table: the first columns are text, the rest are numbers.
func (v *view) head(texts int, names ...string) {
	v.WriteByte('\n')
	v.row(names...)
	rules := make([]string, len(names))
	for i := range rules {
		rules[i] = "---:"
		if i < texts {
			rules[i] = "---"
		}
	}
	v.row(rules...)
}

func (v *view) costs() {
	metrics := Metrics()
	names := []string{"case", "round", "samples", "right answers", "errors"}
	for _, m := range metrics {
		names = append(names, m.Name)
	}
	v.head(2, names...)
	for _, id := range v.rows() {
		for _, round := range v.rounds {
			c := summarize(v.of(id, round))
			if c.Samples == 0 {
				continue
			}
			cells := []string{caseName(id), round, strconv.Itoa(c.Samples), fmt.Sprintf("%d of %d", c.Right, c.Judged), strconv.Itoa(c.Errors)}
			for j, m := range metrics {
				cells = append(cells, number(c.Means[j], m.Digits, ""))
			}
			v.row(cells...)
		}
	}
	v.WriteString("\nMeans over samples without an error, wrong answers included. Tokens, checkpoints, calls and latency are added up over the " +
		"turns of a sample; loading the model is not part of the latency.\n")
}

func (v *view) reductions() {
	if len(v.rounds) < 2 {
		return
	}
	metrics := Metrics()
	names := []string{"case", "rounds", "pairs", "number of pairs"}
	for _, m := range metrics {
		name, _, _ := strings.Cut(m.Name, ",")
		names = append(names, name)
	}
	v.head(3, names...)
	for _, id := range v.rows() {
		for i, round := range v.rounds[1:] {
			base := v.rounds[i]
			for _, right := range []bool{false, true} {
				r := reduce(v.of(id, base), v.of(id, round), right)
				which := "all"
				if right {
					which = "both right"
				}
				cells := []string{caseName(id), round + " vs " + base, which, strconv.Itoa(r.Pairs)}
				for _, share := range r.Shares {
					cells = append(cells, number(100*share, 1, " %"))
				}
				v.row(cells...)
			}
		}
	}
	v.WriteString("\nReduction = (base − current) / base, over pairs of the same case and repetition without an error; below 0 is more.\n")
}

// growth shows the largest prompt of turns 1, 2, 4, 8 and so on and of the last, to see whether prompts grow with the
// conversation.
func (v *view) growth() {
	last := 0
	for _, s := range v.samples {
		for _, t := range s.Turns {
			last = max(last, t.Number)
		}
	}
	if last < 2 {
		return
	}
	names := []string{"case", "round"}
	var shown []int
	for n := 1; n < last; n *= 2 {
		shown = append(shown, n)
	}
	for _, n := range append(shown, 0) {
		name := "turn " + strconv.Itoa(n)
		if n == 0 {
			name = "last turn"
		}
		names = append(names, name)
	}
	v.head(2, names...)
	for _, id := range v.cases {
		for _, round := range v.rounds {
			samples := v.of(id, round)
			if !slices.ContainsFunc(samples, func(s Sample) bool { return len(s.Turns) > 1 }) {
				continue
			}
			cells := []string{caseName(id), round}
			for _, n := range shown {
				cells = append(cells, number(meanPrompt(samples, n), 0, ""))
			}
			v.row(append(cells, number(meanPrompt(samples, 0), 0, ""))...)
		}
	}
	v.WriteString("\nMean tokens of one prompt in a turn: its input tokens by its model calls.\n")
}

// meanPrompt is the mean size of a prompt in one turn of the samples, from 1; 0 is the last turn, also of several questions.
func meanPrompt(samples []Sample, turn int) float64 {
	tokens, calls := 0, 0
	for _, s := range samples {
		if s.ErrorClass != "" {
			continue
		}
		last := s.Turns[len(s.Turns)-1].Number
		for _, t := range s.Turns {
			if t.Number == turn || turn == 0 && t.Number == last {
				tokens += t.InputTokens
				calls += t.ModelCalls
			}
		}
	}
	if calls == 0 {
		return math.NaN()
	}
	return float64(tokens) / float64(calls)
}

func (v *view) problems() {
	var lines []string
	for _, s := range v.samples {
		where := fmt.Sprintf("%s, %s, repetition %d: ", s.Case, s.Round, s.Repetition)
		if s.ErrorClass != "" {
			first, _, _ := strings.Cut(s.Error, stderrIntro)
			lines = append(lines, where+string(s.ErrorClass)+": "+first)
		}
		for _, fault := range s.Faults {
			lines = append(lines, where+fault)
		}
		if s.PeakKVError != "" {
			lines = append(lines, where+s.PeakKVError)
		}
	}
	if len(lines) == 0 {
		return
	}
	v.WriteString("\nFaults and errors:\n\n")
	for _, line := range lines {
		fmt.Fprintf(v, "- %s\n", line)
	}
}

func caseName(id string) string {
	if id == "" {
		return "**all**"
	}
	return id
}

func number(x float64, digits int, unit string) string {
	if math.IsNaN(x) {
		return "–"
	}
	return strconv.FormatFloat(x, 'f', digits, 64) + unit
}
