package benchmark

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// sampleOf is a sample of one turn.
func sampleOf(id, round string, repetition, tokens int, right bool) Sample {
	s := Sample{Suite: "made", Case: id, Round: round, Repetition: repetition, Seed: 42 + repetition, Judged: 1}
	s.Turns = []Turn{{Number: 1, Cost: Cost{InputTokens: tokens, ModelCalls: 2}}}
	s.InputTokens, s.EvaluatedTokens, s.CompletionTokens, s.PeakKVTokens = tokens, tokens/2, 20, tokens/4
	s.CheckpointBytes, s.DatabaseBytes, s.StoredBytes = 2048, 10240, 20480
	s.DurationMS, s.ModelLoadMS, s.PeakRSSBytes, s.ModelCalls = 1500, 700, 3<<20, 2
	if right {
		s.Right = 1
	} else {
		s.Faults = []string{`the answer lacks "x"`}
	}
	return s
}

// brokenOf is one with a harness error.
func brokenOf(id, round string, repetition int, class ErrorClass) Sample {
	s := sampleOf(id, round, repetition, 70_000, false)
	s.Faults, s.Judged, s.ErrorClass, s.Error = nil, 0, class, "the program ended with exit status 2; stderr ends with:\npanic"
	return s
}

// resultsOf are results of samples, whose cases and rounds come in the order in which they have them.
func resultsOf(runs int, samples ...Sample) *Results {
	r := &Results{Samples: samples, Manifest: Manifest{
		SchemaVersion: SchemaVersion, Run: "run-1", Command: "ablation", Complete: true, Suite: SuiteInfo{Name: "made", File: "made.json", SHA256: "aa11", Seed: 42},
		MeasuredRuns: runs,
	}}
	for _, s := range samples {
		if !slices.Contains(r.Manifest.Cases, s.Case) {
			r.Manifest.Cases = append(r.Manifest.Cases, s.Case)
		}
		if !slices.ContainsFunc(r.Manifest.Rounds, func(i RoundInfo) bool { return i.Name == s.Round }) {
			r.Manifest.Rounds = append(r.Manifest.Rounds, RoundInfo{Name: s.Round, Switches: map[string]string{}})
		}
	}
	return r
}

func requireEstimate(t *testing.T, e Estimate, value, low, high float64) {
	t.Helper()
	require.InDelta(t, value, float64(e.Value), 1e-9)
	require.InDelta(t, low, float64(e.Low), 1e-9)
	require.InDelta(t, high, float64(e.High), 1e-9)
}

// The values are those of statsmodels 0.14, proportion_confint(method="wilson"). 81 of 263 is also an example of Newcombe
// (Statistics in Medicine 17, 1998, table I): 0.2553 to 0.3662.
func TestProportion(t *testing.T) {
	t.Parallel()
	requireEstimate(t, proportion(0, 5), 0, 0, 0.4344824648)
	requireEstimate(t, proportion(5, 5), 1, 0.5655175352, 1)
	requireEstimate(t, proportion(38, 45), 38.0/45, 0.7121609113, 0.9225457652)
	requireEstimate(t, proportion(81, 263), 81.0/263, 0.2552885199, 0.3662095770)
	requireEstimate(t, proportion(1, 1), 1, 0.2065493144, 1)
	require.False(t, proportion(0, 0).Value.Known() || proportion(0, 0).Bounded())
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 500).Draw(t, "trials")
		e := proportion(rapid.IntRange(0, n).Draw(t, "right"), n)
		require.True(t, 0 <= e.Low && e.Low <= e.Value && e.Value <= e.High && e.High <= 1 && e.Low < e.High, "%v", e)
	})
}

// The values are those of statsmodels 0.14, mcnemar(exact=True). 1 and 7 is the example of Fagerland, Lydersen and Laake (2013):
// p = 0.070.
func TestMcNemar(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lost, won int
		p         float64
	}{{1, 7, 0.0703125}, {7, 1, 0.0703125}, {0, 5, 0.0625}, {0, 6, 0.03125}, {3, 3, 1}, {10, 2, 0.0385742188}, {0, 0, 1}, {1, 0, 1}} {
		require.InDelta(t, c.p, mcnemar(c.lost, c.won), 1e-9, "%d and %d", c.lost, c.won)
	}
}

// The values were computed from the formula of Bonett and Price with numpy; 1, 7 of 21 pairs is the example of Fagerland,
// Lydersen and Laake (2014).
func TestPairedDifference(t *testing.T) {
	t.Parallel()
	requireEstimate(t, pairedDifference(1, 7, 21), 6.0/21, 0.0133798238, 0.5083593067)
	requireEstimate(t, pairedDifference(7, 1, 21), -6.0/21, -0.5083593067, -0.0133798238)
	requireEstimate(t, pairedDifference(0, 0, 5), 0, -0.3959725212, 0.3959725212)
	requireEstimate(t, pairedDifference(0, 5, 5), 1, 0.1958359852, 1)
	require.False(t, pairedDifference(0, 0, 0).Value.Known())
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 200).Draw(t, "pairs")
		lost := rapid.IntRange(0, n).Draw(t, "lost")
		e := pairedDifference(lost, rapid.IntRange(0, n-lost).Draw(t, "won"), n)
		require.True(t, -1 <= e.Low && e.Low <= e.Value && e.Value <= e.High && e.High <= 1, "%v", e)
	})
}

// The values are those of numpy 2 for the same numbers.
func TestDescribe(t *testing.T) {
	t.Parallel()
	var samples []*Sample
	for i, n := range []int{3, 1, 4, 1, 5, 9, 2, 6, 5, 3} {
		s := sampleOf("a", "R0", i, n, true)
		samples = append(samples, &s)
	}
	d := describe(samples)[0]
	require.Equal(t, "input_tokens", d.Metric)
	require.Equal(t, 10, d.N)
	require.InDelta(t, 3.9, float64(d.Mean.Value), 1e-12)
	require.InDelta(t, 3.5, float64(d.Median), 1e-12)
	require.InDelta(t, 7.65, float64(d.P95), 1e-12)
	require.InDelta(t, 2.4698178070, float64(d.SD), 1e-9)
	require.True(t, d.Mean.Low < d.Mean.Value && d.Mean.Value < d.Mean.High)

	one := describe(samples[:1])[0]
	require.EqualValues(t, []Number{3, 3, 3}, []Number{one.Mean.Value, one.Median, one.P95})
	require.False(t, one.SD.Known() || one.Mean.Bounded())
	none := describe(nil)[0]
	require.False(t, none.Mean.Value.Known() || none.Median.Known() || none.P95.Known() || none.SD.Known())
}

func TestQuantile(t *testing.T) {
	t.Parallel()
	require.InDelta(t, 2.5, quantile([]float64{1, 2, 3, 4}, 0.5), 1e-12)
	require.InDelta(t, 1.3, quantile([]float64{1, 2, 3, 4}, 0.1), 1e-12)
	require.InDelta(t, 4, quantile([]float64{1, 2, 3, 4}, 1), 1e-12)
	require.InDelta(t, 1, quantile([]float64{1, 2, 3, 4}, 0), 1e-12)
	require.True(t, math.IsNaN(quantile(nil, 0.5)))
}

func TestNumbersInJSON(t *testing.T) {
	t.Parallel()
	data, err := json.Marshal([]Number{unknown(), Number(math.Inf(1)), 0.1 + 0.2, -1.0 / 3, 123456789012, Number(math.Copysign(0, -1))})
	require.NoError(t, err)
	require.Equal(t, `[null,null,0.3,-0.333333333333,123456789012,0]`, string(data))
	var back []Number
	require.NoError(t, json.Unmarshal(data, &back))
	require.False(t, back[0].Known())
	require.InDelta(t, 0.3, float64(back[2]), 1e-12)
	require.Error(t, json.Unmarshal([]byte(`["x"]`), &back))
}
