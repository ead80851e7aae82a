package benchmark

import (
	"math"
	"slices"
)

// Metric is a number of a sample that rounds are compared by. Less is better.
type Metric struct {
	Name   string
	Digits int                   // after the decimal point, where it is shown
	Value  func(*Sample) float64 // NaN: not known
}

// Metrics are the numbers of the table, in its order.
func Metrics() []Metric {
	count := func(name string, of func(*Sample) int) Metric {
		return Metric{name, 0, func(s *Sample) float64 { return float64(of(s)) }}
	}
	// known leaves out what nobody measured: neither a KV cache nor a process is empty.
	known := func(value float64) float64 {
		if value == 0 {
			return math.NaN()
		}
		return value
	}
	return []Metric{
		count("input tokens", func(s *Sample) int { return s.InputTokens }),
		count("evaluated tokens", func(s *Sample) int { return s.EvaluatedTokens }),
		{"peak KV, tokens", 0, func(s *Sample) float64 { return known(float64(s.PeakKVTokens)) }},
		{"checkpoints, KiB", 0, func(s *Sample) float64 { return float64(s.CheckpointBytes) / 1024 }},
		{"databases, KiB", 0, func(s *Sample) float64 { return float64(s.DatabaseBytes) / 1024 }},
		{"latency, s", 1, func(s *Sample) float64 { return float64(s.DurationMS) / 1000 }},
		{"peak RSS, MiB", 0, func(s *Sample) float64 { return known(float64(s.PeakRSSBytes) / (1 << 20)) }},
		count("model calls", func(s *Sample) int { return s.ModelCalls }),
		count("tool calls", func(s *Sample) int { return s.ToolCalls }),
	}
}

// Cell sums up samples of one round.
type Cell struct {
	Samples int
	Right   int       // answers
	Judged  int       // answers
	Errors  int       // samples that lack an answer because the program did not give one
	Means   []float64 // by metric, over the samples without an error; NaN: not known of all of them, or there are none
}

// summarize makes a cell of samples.
func summarize(samples []Sample) Cell {
	metrics := Metrics()
	c := Cell{Samples: len(samples), Means: make([]float64, len(metrics))}
	for i := range samples {
		s := &samples[i]
		c.Right += s.Right
		c.Judged += s.Judged
		if s.ErrorClass != "" {
			c.Errors++
			continue
		}
		for j, m := range metrics {
			c.Means[j] += m.Value(s)
		}
	}
	for j := range c.Means {
		c.Means[j] /= float64(c.Samples - c.Errors) // 0 of 0 is NaN
	}
	return c
}

// Reduction compares samples of two rounds, pair by pair of the same case and repetition.
type Reduction struct {
	Pairs  int
	Shares []float64 // by metric: (base − current) / base of the sums over all pairs; NaN: not known, or the base is 0
}

// reduce compares the pairs in which no answer is missing or, with right, in which moreover all answers are right.
func reduce(base, current []Sample, right bool) Reduction {
	metrics := Metrics()
	usable := func(s *Sample) bool { return s.ErrorClass == "" && (!right || s.AllRight()) }
	was, is := make([]float64, len(metrics)), make([]float64, len(metrics))
	r := Reduction{Shares: make([]float64, len(metrics))}
	for i := range base {
		b := &base[i]
		at := slices.IndexFunc(current, func(c Sample) bool { return c.Case == b.Case && c.Repetition == b.Repetition })
		if at < 0 || !usable(b) || !usable(&current[at]) {
			continue
		}
		r.Pairs++
		for j, m := range metrics {
			was[j] += m.Value(b)
			is[j] += m.Value(&current[at])
		}
	}
	for j := range metrics {
		r.Shares[j] = math.NaN()
		if was[j] > 0 {
			r.Shares[j] = (was[j] - is[j]) / was[j]
		}
	}
	return r
}
