package benchmark

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestGroup(t *testing.T) {
	t.Parallel()
	half := sampleOf("a", "R0", 1, 3000, true)
	half.Right, half.Judged = 2, 5
	// One question of three was not answered: the two that were count as answers, and the sample as a harness error.
	lost := brokenOf("a", "R0", 3, Timeout)
	lost.Right, lost.Judged = 2, 2
	samples := []Sample{sampleOf("a", "R0", 0, 1000, true), half, brokenOf("a", "R0", 2, Crash), lost, sampleOf("a", "R0", 4, 2000, true)}
	var all []*Sample
	for i := range samples {
		all = append(all, &samples[i])
	}
	g := group("a", 6, all)
	require.Equal(t, []int{6, 5, 3, 2}, []int{g.Planned, g.Samples, g.Judged, g.Right})
	require.InDelta(t, 2.0/3, float64(g.Success.Value), 1e-12, "harness errors are no failures")
	require.Equal(t, []ClassCount{{Crash, 1}, {Timeout, 1}}, g.HarnessErrors)
	require.Equal(t, []int{6, 9}, []int{g.AnswersRight, g.AnswersJudged})
	require.Equal(t, 2, g.Metrics[0].N)
	require.InDelta(t, 1500, float64(g.Metrics[0].Mean.Value), 1e-9, "of right samples only")
}

func TestCompareSuccess(t *testing.T) {
	t.Parallel()
	var samples []Sample
	for i := range 7 { // a is lost always
		samples = append(samples, sampleOf("a", "R0", i, 100, true), sampleOf("a", "R1", i, 100, false))
	}
	for i := range 3 { // b is lost once, won twice
		samples = append(samples, sampleOf("b", "R0", i, 100, i == 0), sampleOf("b", "R1", i, 100, i != 0))
	}
	samples = append(samples, sampleOf("b", "R0", 3, 100, true), brokenOf("b", "R1", 3, Crash), sampleOf("b", "R0", 4, 100, true),
		sampleOf("b", "R0", 5, 100, true), sampleOf("b", "R1", 5, 100, true))
	r := resultsOf(7, samples...)
	c := compareRounds(r, r, "R0", "R1", r.Manifest.Cases).All.Success
	require.Equal(t, []int{11, 1, 8, 2, 0}, []int{c.Pairs, c.BothRight, c.OnlyBase, c.OnlyCurrent, c.BothWrong}, "without the broken one and the one without a partner")
	require.Equal(t, []int{1, 1}, []int{c.CasesLost, c.CasesWon})
	require.InDelta(t, 100*-6.0/11, float64(c.Points.Value), 1e-9)
	require.InDelta(t, 0.109375, float64(c.P), 1e-9, "2 × (1 + 10 + 45) / 1024")
	require.Equal(t, Unclear, c.Verdict)
	onlyA := compareRounds(r, r, "R0", "R1", []string{"a"}).All.Success
	require.Equal(t, Worse, onlyA.Verdict)
	require.Equal(t, Better, compareRounds(r, r, "R1", "R0", []string{"a"}).All.Success.Verdict)
	none := compareRounds(r, r, "R0", "R1", nil).All.Success
	require.Equal(t, CannotCompare, none.Verdict)
	require.False(t, none.P.Known())
}

func TestCompareMetric(t *testing.T) {
	t.Parallel()
	samples := []Sample{sampleOf("a", "R0", 5, 9000, true), sampleOf("a", "R1", 5, 10, false), sampleOf("a", "R0", 6, 9000, true), brokenOf("a", "R1", 6, Timeout)}
	base, current := []int{100, 200, 300, 400, 500}, []int{50, 120, 90, 300, 100}
	for i := range 5 {
		was, is := sampleOf("a", "R0", i, base[i], true), sampleOf("a", "R1", i, current[i], true)
		was.DurationMS, is.DurationMS = 1000, 2000
		is.PeakRSSBytes = 0
		if i < 3 {
			is.CheckpointBytes = 0
		}
		is.ToolCalls = 3
		samples = append(samples, was, is)
	}
	r := resultsOf(7, samples...)
	p := compareRounds(r, r, "R0", "R1", []string{"a"}).All
	by := func(key string, changes []Change) Change {
		for _, c := range changes {
			if c.Metric == key {
				return c
			}
		}
		return Change{}
	}
	input := by("input_tokens", p.BothRight)
	require.Equal(t, 5, input.Pairs)
	require.InDelta(t, 300, float64(input.Base), 1e-9)
	require.InDelta(t, 132, float64(input.Current), 1e-9)
	require.InDelta(t, 168, float64(input.Difference.Value), 1e-9)
	require.InDelta(t, 0.56, float64(input.Relative.Value), 1e-9)
	require.Equal(t, Better, input.Verdict)
	require.Equal(t, []int{0, 1}, []int{input.CasesMore, input.CasesLess})
	require.Equal(t, 6, by("input_tokens", p.Answered).Pairs, "a wrong answer is an answer, a harness error is none")
	require.Equal(t, Worse, by("duration_ms", p.BothRight).Verdict)
	require.Empty(t, by("duration_ms", p.Answered).Metric, "the time of a wrong answer is not compared")
	require.Equal(t, Unclear, by("model_calls", p.BothRight).Verdict)
	rss := by("peak_rss_bytes", p.BothRight)
	require.Equal(t, CannotCompare, rss.Verdict)
	require.Contains(t, rss.Reason, "not measured")
	few := by("checkpoint_bytes", p.BothRight)
	require.Equal(t, 2, few.Pairs)
	require.Equal(t, CannotCompare, few.Verdict)
	require.Contains(t, few.Reason, "2 pairs are too few")
	calls := by("tool_calls", p.BothRight)
	require.Equal(t, Worse, calls.Verdict, "from nothing to three")
	require.False(t, calls.Relative.Value.Known() || calls.Relative.Bounded(), "nothing is no base of a share")
	require.InDelta(t, -3, float64(calls.Difference.Value), 1e-9)
}

func TestRoundsAreComparedInTheirOwnOrder(t *testing.T) {
	t.Parallel()
	s := resultsOf(1, sampleOf("a", "own", 0, 1, true), sampleOf("a", "R2", 0, 1, true), sampleOf("a", "R0", 0, 1, true), sampleOf("a", "R1", 0, 1, true)).Summarize()
	require.Equal(t, []string{"R0", "R1", "R2", "own"}, s.roundNames())
	var compared []string
	for _, c := range s.Comparisons {
		compared = append(compared, c.Current+" against "+c.Base)
	}
	require.Equal(t, []string{"R1 against R0", "R2 against R1", "own against R2", "own against R0"}, compared)
}

func TestCommonSamples(t *testing.T) {
	t.Parallel()
	s := resultsOf(2, sampleOf("small", "R0", 0, 100, true), sampleOf("small", "R1", 0, 90, true),
		sampleOf("large", "R0", 0, 10_000, false), sampleOf("large", "R1", 0, 500, true), sampleOf("small", "R0", 1, 300, true)).Summarize()
	require.Equal(t, 1, s.Common.Samples)
	require.InDelta(t, 100, float64(s.Common.Rounds[0][0].Mean.Value), 1e-9)
	require.InDelta(t, 90, float64(s.Common.Rounds[1][0].Mean.Value), 1e-9)
	require.Equal(t, 3, s.Missing)
	require.False(t, s.Complete)

	unmeasured := sampleOf("b", "R0", 0, 300, true)
	unmeasured.PeakKVTokens = 0
	s = resultsOf(1, sampleOf("a", "R0", 0, 100, true), unmeasured, sampleOf("a", "R1", 0, 100, true), sampleOf("b", "R1", 0, 900, true)).Summarize()
	require.Equal(t, 2, s.Common.Samples)
	require.InDelta(t, 500, float64(s.Common.Rounds[1][0].Mean.Value), 1e-9)
	require.InDelta(t, 25, float64(s.Common.Rounds[1][3].Mean.Value), 1e-9, "what one round does not know is left out in both")
}

func TestGrowth(t *testing.T) {
	t.Parallel()
	talk := sampleOf("talk", "R0", 0, 0, true)
	talk.Turns = nil
	for i, tokens := range []int{200, 400, 600, 800, 1000, 1020} {
		talk.Turns = append(talk.Turns, Turn{Number: min(i+1, 5), Cost: Cost{InputTokens: tokens, ModelCalls: 2}}) // two questions
	}
	broken := brokenOf("talk", "R0", 1, Crash)
	broken.Turns = []Turn{{Number: 1, Cost: Cost{InputTokens: 7, ModelCalls: 1}}}
	s := resultsOf(2, talk, broken, sampleOf("goal", "R0", 0, 1, true)).Summarize()
	require.Equal(t, []Growth{{"talk", "R0", []TurnPrompt{{1, 100}, {2, 200}, {4, 400}, {5, 505}}}}, s.Growth)
}

func TestOrderOfSamplesDoesNotMatter(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var samples []Sample
		for _, id := range []string{"a", "b"} {
			for _, round := range []string{"R0", "R1"} {
				for i := range 3 {
					s := sampleOf(id, round, i, rapid.IntRange(1, 9999).Draw(t, "tokens"), rapid.IntRange(0, 4).Draw(t, "right") > 0)
					if rapid.IntRange(0, 9).Draw(t, "broken") == 0 {
						s = brokenOf(id, round, i, Crash)
					}
					samples = append(samples, s)
				}
			}
		}
		r := resultsOf(3, samples...)
		want := r.Summarize()
		mixed := &Results{Manifest: r.Manifest, Samples: rapid.Permutation(samples).Draw(t, "order")}
		require.Equal(t, jsonOf(t, want), jsonOf(t, mixed.Summarize()))
		require.Equal(t, r.Markdown(), mixed.Markdown())
		// The other way round, what was won is lost.
		there, back := want.Comparisons[0].All.Success, compareRounds(r, r, "R1", "R0", r.Manifest.Cases).All.Success
		require.Equal(t, []int{there.OnlyBase, there.OnlyCurrent}, []int{back.OnlyCurrent, back.OnlyBase})
		require.Equal(t, jsonOf(t, there.P), jsonOf(t, back.P), "unknown both times when no pair is whole")
		if there.Pairs > 0 {
			require.InDelta(t, float64(there.Points.Value), float64(-back.Points.Value), 1e-9)
		}
	})
}

func jsonOf(t require.TestingT, v any) string {
	data, err := json.MarshalIndent(v, "", " ")
	require.NoError(t, err)
	return string(data)
}

// TestHostileNumbers sees that whatever samples hold, statistics are numbers or null.
func TestHostileNumbers(t *testing.T) {
	t.Parallel()
	for name, samples := range map[string][]Sample{
		"only errors": {brokenOf("a", "R0", 0, Crash), brokenOf("a", "R1", 0, NoResult)},
		"all wrong":   {sampleOf("a", "R0", 0, 0, false), sampleOf("a", "R1", 0, 0, false)},
		"zeros":       {sampleOf("a", "R0", 0, 0, true), sampleOf("a", "R1", 0, 0, true)},
	} {
		r := resultsOf(1, samples...)
		data := jsonOf(t, r.Summarize())
		require.NotContains(t, data, "NaN", name)
		for _, word := range []string{"NaN", "Inf"} {
			require.NotContains(t, r.Markdown(), word, name)
		}
		for _, c := range r.Summarize().charts() {
			require.NotContains(t, string(c.svg()), "NaN", fmt.Sprint(name, c.file))
		}
	}
}

func TestWhatMayBeChanceIsNoDifference(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		current []int
		verdict Verdict
	}{
		"less on average": {[]int{900, 1100, 700, 1050, 800}, Unclear},
		"more on average": {[]int{1100, 900, 1300, 950, 1200}, Unclear},
		"less each time":  {[]int{900, 910, 890, 905, 880}, Better},
		"more each time":  {[]int{1100, 1090, 1110, 1095, 1120}, Worse},
	} {
		var samples []Sample
		for i, tokens := range c.current {
			samples = append(samples, sampleOf("a", "R0", i, 1000, true), sampleOf("a", "R1", i, tokens, true))
		}
		r := resultsOf(5, samples...)
		input := compareRounds(r, r, "R0", "R1", []string{"a"}).All.BothRight[0]
		require.Equal(t, c.verdict, input.Verdict, "%s: %v", name, input.Difference)
	}
}
