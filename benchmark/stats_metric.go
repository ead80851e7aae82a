package benchmark

import "math"

// Metric is a number of a sample. Of every metric, less is better.
type Metric struct {
	Key    string // its name in JSON, with the unit in which it is measured
	Name   string // for people
	Unit   string // in which it is shown; empty: it is a count that its name tells
	Scale  float64
	Digits int  // after the decimal point, where it is shown
	Timing bool // it is a time, which a wrong answer tells nothing about

	value func(*Sample) float64 // NaN: not known
}

// Metrics are the numbers of statistics, in the order in which they are shown.
func Metrics() []Metric {
	// A right answer that took no tokens, time or memory was not measured: what a program does not report is 0.
	known := func(of func(*Sample) int64) func(*Sample) float64 {
		return func(s *Sample) float64 {
			if n := of(s); n > 0 {
				return float64(n)
			}
			return math.NaN()
		}
	}
	count := func(of func(*Sample) int) func(*Sample) float64 {
		return known(func(s *Sample) int64 { return int64(of(s)) })
	}
	return []Metric{
		{Key: "input_tokens", Name: "input tokens", Scale: 1, value: count(func(s *Sample) int { return s.InputTokens })},
		{Key: "evaluated_tokens", Name: "evaluated tokens", Scale: 1, value: count(func(s *Sample) int { return s.EvaluatedTokens })},
		{Key: "completion_tokens", Name: "completion tokens", Scale: 1, value: count(func(s *Sample) int { return s.CompletionTokens })},
		{Key: "peak_kv_tokens", Name: "peak KV", Unit: "tokens", Scale: 1, value: count(func(s *Sample) int { return s.PeakKVTokens })},
		{Key: "duration_ms", Name: "latency", Unit: "s", Scale: 1000, Digits: 1, Timing: true, value: known(func(s *Sample) int64 { return s.DurationMS })},
		{Key: "model_load_ms", Name: "model load", Unit: "s", Scale: 1000, Digits: 1, Timing: true, value: known(func(s *Sample) int64 { return s.ModelLoadMS })},
		{Key: "peak_rss_bytes", Name: "peak memory (RSS)", Unit: "MiB", Scale: 1 << 20, value: known(func(s *Sample) int64 { return s.PeakRSSBytes })},
		{Key: "checkpoint_bytes", Name: "checkpoints", Unit: "KiB", Scale: 1 << 10, value: known(func(s *Sample) int64 { return s.CheckpointBytes })},
		{Key: "database_bytes", Name: "databases", Unit: "KiB", Scale: 1 << 10, value: known(func(s *Sample) int64 { return s.DatabaseBytes })},
		{Key: "stored_bytes", Name: "databases and contents", Unit: "KiB", Scale: 1 << 10, value: known(func(s *Sample) int64 { return s.StoredBytes })},
		{Key: "model_calls", Name: "model calls", Scale: 1, Digits: 1, value: count(func(s *Sample) int { return s.ModelCalls })},
		{Key: "tool_calls", Name: "tool calls", Scale: 1, Digits: 1, value: func(s *Sample) float64 { return float64(s.ToolCalls) }},
	}
}

// title is the name with the unit in which it is shown.
func (m Metric) title() string {
	if m.Unit == "" {
		return m.Name
	}
	return m.Name + ", " + m.Unit
}

// shown is the number in the unit in which it is shown.
func (m Metric) shown(n Number) string { return fixed(n/Number(m.Scale), m.Digits) }
