package benchmark

import (
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"
)

// Group sums up the samples of a case in a round, or of all cases.
type Group struct {
	Case          string        `json:"case_id,omitempty"` // empty: all cases
	Planned       int           `json:"planned"`           // samples that a complete run has
	Samples       int           `json:"samples"`           // that were measured
	Judged        int           `json:"judged"`            // of these, those without a harness error
	Right         int           `json:"right"`             // of these, those whose answers are all right
	Success       Estimate      `json:"success"`           // right / judged, with Wilson's interval
	HarnessErrors []ClassCount  `json:"harness_errors"`    // samples without all their answers, because the program did not give them
	AnswersRight  int           `json:"answers_right"`
	AnswersJudged int           `json:"answers_judged"`
	Metrics       []MetricStats `json:"metrics"` // over samples that are right
}

// ClassCount counts harness errors of a class.
type ClassCount struct {
	Class ErrorClass `json:"class"`
	Count int        `json:"count"`
}

// MetricStats describes the numbers of samples. They are in the unit of the metric's key.
type MetricStats struct {
	Metric string   `json:"metric"`
	N      int      `json:"n"`    // of which the number is known
	Mean   Estimate `json:"mean"` // with a bootstrap interval
	Median Number   `json:"median"`
	P95    Number   `json:"p95"`
	SD     Number   `json:"standard_deviation"` // of a sample: divided by n − 1
}

// judgeable reports whether the sample can be counted as right or wrong.
func (s *Sample) judgeable() bool { return s.ErrorClass == "" && s.Judged > 0 }

// group sums up samples that are sorted by case and repetition.
func group(id string, planned int, samples []*Sample) Group {
	g := Group{Case: id, Planned: planned, Samples: len(samples), HarnessErrors: []ClassCount{}}
	var right []*Sample
	for _, s := range samples {
		g.AnswersRight += s.Right
		g.AnswersJudged += s.Judged
		switch {
		case !s.judgeable():
			g.addError(s.ErrorClass)
			continue
		case s.AllRight():
			right = append(right, s)
		}
		g.Judged++
	}
	g.Right = len(right)
	g.Success = proportion(g.Right, g.Judged)
	slices.SortFunc(g.HarnessErrors, func(a, b ClassCount) int { return strings.Compare(string(a.Class), string(b.Class)) })
	g.Metrics = describe(right)
	return g
}

func (g *Group) addError(class ErrorClass) {
	if class == "" {
		class = NoResult
	}
	for i := range g.HarnessErrors {
		if g.HarnessErrors[i].Class == class {
			g.HarnessErrors[i].Count++
			return
		}
	}
	g.HarnessErrors = append(g.HarnessErrors, ClassCount{class, 1})
}

// errors is the number of samples with a harness error.
func (g *Group) errors() int { return g.Samples - g.Judged }

// describe returns the statistics of every metric over samples that are sorted by case and repetition.
func describe(samples []*Sample) []MetricStats {
	metrics := Metrics()
	described := make([]MetricStats, len(metrics))
	for i, m := range metrics {
		described[i] = m.describe(samples)
	}
	return described
}

func (m Metric) describe(samples []*Sample) MetricStats {
	var values []float64
	var byCase strata
	last := ""
	for _, s := range samples {
		value := m.value(s)
		if math.IsNaN(value) {
			continue
		}
		if len(values) == 0 || s.Case != last {
			byCase = append(byCase, nil)
		}
		last = s.Case
		values = append(values, value)
		byCase[len(byCase)-1] = append(byCase[len(byCase)-1], pair{current: value})
	}
	ordered := sorted(values)
	n := float64(len(values))
	d := MetricStats{Metric: m.Key, N: len(values), SD: unknown()}
	d.Mean = byCase.bootstrap(func(_, sum float64) float64 { return sum / n })[0]
	d.Median, d.P95 = Number(quantile(ordered, 0.5)), Number(quantile(ordered, 0.95))
	if len(values) > 1 {
		d.SD = Number(stat.StdDev(values, nil))
	}
	return d
}
