package benchmark

import (
	"fmt"
	"strconv"
)

// byCase tells what each case took in each round and what each round saves.
func (d *reportWriter) byCase() {
	d.heading(2, "By case")
	metrics := Metrics()
	names := []string{"case", "round", "samples right", "answers right", "harness errors"}
	for _, m := range metrics {
		names = append(names, m.title())
	}
	d.head(2, names...)
	row := func(name string, round string, g *Group) {
		cells := []string{
			name, literal(round), fmt.Sprintf("%d of %d", g.Right, g.Judged), fmt.Sprintf("%d of %d", g.AnswersRight, g.AnswersJudged), classes(g),
		}
		for i, m := range metrics {
			cells = append(cells, m.shown(g.Metrics[i].Mean.Value))
		}
		d.row(cells...)
	}
	for i, id := range d.Manifest.Cases {
		for _, r := range d.Rounds {
			if r.Cases[i].Samples > 0 {
				row(literal(id), r.Round, &r.Cases[i])
			}
		}
	}
	d.paragraph("Means over samples that are right. Tokens, checkpoints, calls and latency are added up over the turns of a sample; loading the model is not part of the latency.")
	d.savedByCase()
}

func (d *reportWriter) savedByCase() {
	if len(d.Comparisons) == 0 {
		return
	}
	metrics := Metrics()
	names := []string{"case", "rounds", "pairs", "number of pairs"}
	for _, m := range metrics {
		names = append(names, m.Name)
	}
	d.head(3, names...)
	row := func(name, rounds, which string, pairs int, changes []Change) {
		cells := []string{name, rounds, which, strconv.Itoa(pairs)}
		for _, m := range metrics {
			text := "–"
			for _, c := range changes {
				if c.Metric == m.Key {
					text = percent(c.Relative.Value, 1)
				}
			}
			cells = append(cells, text)
		}
		d.row(cells...)
	}
	rows := func(name string, of func(*RoundComparison) *Paired) {
		for i := range d.Comparisons {
			c := &d.Comparisons[i]
			p := of(c)
			rounds := fmt.Sprintf("%s against %s", literal(c.Current), literal(c.Base))
			if p.Success.BothRight > 0 || p.Case == "" {
				row(name, rounds, "both right", p.Success.BothRight, p.BothRight)
			}
			if some := p.Success.BothRight; some == 0 || p.Case == "" && some < p.Success.Pairs {
				row(name, rounds, "all answered", p.Success.Pairs, p.Answered)
			}
		}
	}
	for i, id := range d.Manifest.Cases {
		rows(literal(id), func(c *RoundComparison) *Paired { return &c.Cases[i] })
	}
	if len(d.Manifest.Cases) > 1 {
		rows("**all**", func(c *RoundComparison) *Paired { return &c.All })
	}
	d.paragraph("Saved = (base − current) / base, below 0 is more. All answered: wrong answers are included, which may have cost more or less for being wrong; times are left out. " +
		"Cases without a pair that is right in both rounds have these only.")
}

// spread tells how samples of a round differ.
func (d *reportWriter) spread() {
	d.heading(2, "Spread")
	d.head(2, "metric", "round", "samples", "mean (95 % interval)", "median", "95th percentile", "standard deviation")
	for i, m := range Metrics() {
		for _, r := range d.Rounds {
			stats := r.All.Metrics[i]
			if stats.N == 0 {
				continue
			}
			d.row(m.title(), literal(r.Round), strconv.Itoa(stats.N), interval(stats.Mean.scaled(1/m.Scale), m.Digits, ""),
				m.shown(stats.Median), m.shown(stats.P95), m.shown(stats.SD))
		}
	}
	d.paragraph("Over samples of all cases that are right; rounds that get other samples right have other tasks in these numbers. Those of each case are in " + summaryFile + ".")
}

// growth shows whether prompts grow with the conversation.
func (d *reportWriter) growth() {
	if len(d.Growth) == 0 {
		return
	}
	d.heading(2, "Growth of prompts")
	names := []string{"case", "round"}
	most := 0
	for _, g := range d.Growth {
		most = max(most, len(g.Turns))
	}
	for i := range most - 1 {
		names = append(names, "turn "+strconv.Itoa(1<<i))
	}
	d.head(2, append(names, "last turn")...)
	for _, g := range d.Growth {
		cells := []string{literal(g.Case), literal(g.Round)}
		last := len(g.Turns) - 1
		for i := range most - 1 {
			text := ""
			if i < last {
				text = fixed(g.Turns[i].Tokens, 0)
			}
			cells = append(cells, text)
		}
		d.row(append(cells, fixed(g.Turns[last].Tokens, 0))...)
	}
	d.paragraph("Mean tokens of one prompt in a turn: its input tokens by its model calls.")
}
