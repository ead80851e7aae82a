package benchmark

import (
	"fmt"
	"slices"
)

// namedChart is a chart and its file in the folder of charts.
type namedChart struct {
	file string
	barChart
}

// charts are the pictures of the report.
func (s *Summary) charts() []namedChart {
	charts := []namedChart{{"success.svg", s.successChart()}}
	for _, c := range []struct{ file, key string }{
		{"latency.svg", "duration_ms"}, {"input_tokens.svg", "input_tokens"}, {"evaluated_tokens.svg", "evaluated_tokens"},
		{"peak_kv.svg", "peak_kv_tokens"}, {"memory.svg", "peak_rss_bytes"}, {"checkpoints.svg", "checkpoint_bytes"},
	} {
		metrics := Metrics()
		i := slices.IndexFunc(metrics, func(m Metric) bool { return m.Key == c.key })
		charts = append(charts, namedChart{c.file, s.metricChart(metrics[i], i)})
	}
	return charts
}

// allCases names the group that stands for all of them.
const allCases = "all cases"

func (s *Summary) roundNames() []string {
	names := make([]string, len(s.Rounds))
	for i, r := range s.Rounds {
		names[i] = r.Round
	}
	return names
}

func (s *Summary) successChart() barChart {
	c := barChart{
		title: "Success by case and round", subtitle: "Samples whose answers are all right, of those that could be judged; whiskers: 95 % interval (Wilson).",
		axis: "samples right, %", end: 100, series: s.roundNames(),
	}
	add := func(label string, apart bool, of func(RoundSummary) Group) {
		g := barGroup{label: label, apart: apart}
		for _, r := range s.Rounds {
			own := of(r)
			each := bar{Estimate: own.Success.scaled(100), text: "none judged"}
			if own.Judged > 0 {
				each.text = fmt.Sprintf("%s %% (%d of %d)", fixed(each.Value, 0), own.Right, own.Judged)
			}
			each.about = fmt.Sprintf("%s, %s: %s%s", label, r.Round, each.text, between(each.Estimate, 0, " %"))
			if n := own.errors(); n > 0 {
				each.about += ", " + plural(n, "harness error", "harness errors")
			}
			g.bars = append(g.bars, each)
		}
		c.groups = append(c.groups, g)
	}
	s.eachCase(add)
	return c
}

// eachCase calls add for all cases together, when there are several, and for each.
func (s *Summary) eachCase(add func(label string, apart bool, of func(RoundSummary) Group)) {
	if len(s.Rounds) == 0 {
		return
	}
	cases := s.Rounds[0].Cases
	if len(cases) > 1 {
		add(allCases, true, func(r RoundSummary) Group { return r.All })
	}
	for i := range cases {
		add(cases[i].Case, false, func(r RoundSummary) Group { return r.Cases[i] })
	}
}

// metricChart shows means over samples that are right and, for all cases together, over those that are right in every round.
func (s *Summary) metricChart(m Metric, at int) barChart {
	c := barChart{
		title: sentence(m.Name) + " by case and round", axis: m.title(), series: s.roundNames(),
		subtitle: "Means over samples that are right; whiskers: 95 % interval (bootstrap). Less is better.",
	}
	if len(s.Rounds) > 1 {
		c.subtitle = "Means over samples that are right (all cases: right in every round); whiskers: 95 % interval (bootstrap). Less is better."
	}
	if m.Unit == "" {
		c.axis = m.Name + " of a sample"
	}
	s.eachCase(func(label string, apart bool, of func(RoundSummary) Group) {
		g := barGroup{label: label, apart: apart}
		for i, r := range s.Rounds {
			own := of(r)
			stats, right := own.Metrics[at], own.Right
			if apart {
				stats, right = s.Common.Rounds[i][at], s.Common.Samples
			}
			each := bar{Estimate: stats.Mean.scaled(1 / m.Scale), text: "not measured"}
			if right == 0 {
				each.text = "none right"
			}
			unit := ""
			if m.Unit != "" {
				unit = " " + m.Unit
			}
			if stats.N > 0 {
				each.text = fixed(each.Value, m.Digits) + unit
			}
			each.about = fmt.Sprintf("%s, %s: %s%s, from %s", label, r.Round, each.text, between(each.Estimate, m.Digits, unit), plural(stats.N, "sample", "samples"))
			g.bars = append(g.bars, each)
		}
		c.groups = append(c.groups, g)
	})
	return c
}

// between tells the interval, if there is one.
func between(e Estimate, digits int, unit string) string {
	if !e.Bounded() {
		return ""
	}
	return fmt.Sprintf(", 95 %% interval %s to %s%s", fixed(e.Low, digits), fixed(e.High, digits), unit)
}
