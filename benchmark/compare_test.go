package benchmark

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// runOf is a run of two cases, five times each, in one round, with all numbers times factor.
func runOf(round string, factor float64) *Results {
	var samples []Sample
	for i := range 5 {
		for k, id := range []string{"a", "b"} {
			samples = append(samples, sampleOf(id, round, i, int(factor*float64(1000*(k+1)+10*i)), true))
		}
	}
	return resultsOf(5, samples...)
}

func changeOf(c Paired, key string) Change {
	for _, each := range c.BothRight {
		if each.Metric == key {
			return each
		}
	}
	return Change{}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	base, current := runOf("R0", 1), runOf("R0", 0.5)
	current.Manifest.Run = "run-2"
	current.Manifest.Model.Name, current.Manifest.Program.Commit = "other.gguf", "c0ffee"
	current.Manifest.Config = map[string]string{"engine.n_ctx": "8192"}
	for i := range 3 {
		current.Samples[2*i].Right = 0
	}
	c, err := Compare(base, current, "")
	require.NoError(t, err)
	require.Empty(t, c.NoVerdicts)
	require.Equal(t, []Difference{{"model name", "", "other.gguf"}, {"configuration engine.n_ctx", "(not there)", "8192"}, {"program commit", "", "c0ffee"}}, c.Differences)
	require.Len(t, c.Cautions, 3)
	require.Contains(t, c.Cautions[0], "at different times")
	require.Contains(t, c.Cautions[1], "Several of model")
	require.Contains(t, c.Cautions[2], "tokenizers")
	require.Len(t, c.Rounds, 1)
	r := c.Rounds[0]
	require.Equal(t, []int{10, 7, 3, 0}, []int{r.All.Success.Pairs, r.All.Success.BothRight, r.All.Success.OnlyBase, r.All.Success.OnlyCurrent})
	require.InDelta(t, 0.25, float64(r.All.Success.P), 1e-9)
	require.Equal(t, Unclear, r.All.Success.Verdict)
	input := changeOf(r.All, "input_tokens")
	require.Equal(t, 7, input.Pairs)
	require.InDelta(t, 0.5, float64(input.Relative.Value), 1e-3)
	require.Equal(t, Better, input.Verdict)
	require.Equal(t, []string{"a", "b"}, []string{r.Cases[0].Case, r.Cases[1].Case})

	back, err := Compare(current, base, "R0")
	require.NoError(t, err)
	require.Equal(t, Worse, changeOf(back.Rounds[0].All, "input_tokens").Verdict)
	require.InDelta(t, -1, float64(changeOf(back.Rounds[0].All, "input_tokens").Relative.Value), 1e-3, "half of it saved is twice as much the other way round")
}

func TestComparisonOfOtherSuites(t *testing.T) {
	t.Parallel()
	base, current := runOf("R0", 1), runOf("R0", 0.5)
	current.Manifest.Suite.SHA256 = "bb22"
	c, err := Compare(base, current, "")
	require.NoError(t, err)
	require.Contains(t, c.NoVerdicts, "the suite files differ")
	r := c.Rounds[0]
	for _, p := range append(r.Cases, r.All) {
		require.Equal(t, CannotCompare, p.Success.Verdict)
		for _, each := range append(p.BothRight, p.Answered...) {
			require.Equal(t, CannotCompare, each.Verdict)
			require.NotEmpty(t, each.Reason)
		}
	}
	require.InDelta(t, 0.5, float64(changeOf(r.All, "input_tokens").Relative.Value), 1e-3, "the numbers are there")
	text := c.Markdown()
	require.Contains(t, text, "**No verdicts: the suite files differ")
	require.NotContains(t, text, string("**better**"))

	current.Manifest.Suite.SHA256 = ""
	c, err = Compare(base, current, "")
	require.NoError(t, err)
	require.Contains(t, c.NoVerdicts, "no hash")
}

func TestComparisonOfSomeCases(t *testing.T) {
	t.Parallel()
	base, current := runOf("R0", 1), runOf("R0", 0.5)
	extra := sampleOf("c", "R0", 0, 1_000_000, true)
	base.Samples, base.Manifest.Cases = append(base.Samples, extra), append(base.Manifest.Cases, "c")
	current.Samples, current.Manifest.Cases = current.Samples[:0:0], []string{"b", "d"}
	for i, s := range runOf("R0", 0.5).Samples {
		if s.Case == "b" && i < 8 {
			current.Samples = append(current.Samples, s)
		}
	}
	c, err := Compare(base, current, "")
	require.NoError(t, err)
	require.Equal(t, [][]string{{"a", "c"}, {"d"}}, [][]string{c.OnlyBase, c.OnlyCurrent})
	require.Equal(t, 4, c.Rounds[0].All.Success.Pairs)
	require.Len(t, c.Rounds[0].Cases, 1)
	require.Contains(t, strings.Join(c.Cautions, "\n"), "The second run is not complete: 6 samples are missing.")
	require.Contains(t, c.Markdown(), "- Only in A, and left out: a, c.\n- Only in B, and left out: d.\n")

	current.Manifest.Cases, current.Samples = []string{"d"}, nil
	c, err = Compare(base, current, "")
	require.NoError(t, err)
	require.Equal(t, "the runs have no case in common", c.NoVerdicts)
	require.NotContains(t, jsonOf(t, c)+c.Markdown(), "NaN")
}

func TestRoundsThatAreCompared(t *testing.T) {
	t.Parallel()
	three := resultsOf(1, sampleOf("a", "R2", 0, 1, true), sampleOf("a", "R0", 0, 1, true), sampleOf("a", "own", 0, 1, true))
	two := resultsOf(1, sampleOf("a", "R0", 0, 1, true), sampleOf("a", "R2", 0, 1, true))
	c, err := Compare(three, two, "")
	require.NoError(t, err)
	require.Len(t, c.Rounds, 2)
	require.Equal(t, []string{"R0", "R2"}, []string{c.Rounds[0].Base, c.Rounds[1].Current})
	require.Equal(t, []string{"own"}, c.RoundsOnly)
	c, err = Compare(three, two, "R2")
	require.NoError(t, err)
	require.Len(t, c.Rounds, 1)
	_, err = Compare(three, two, "own")
	require.ErrorIs(t, err, ErrNoCommonRound)
	require.ErrorContains(t, err, `the second run has no round "own"; it has R0, R2`)

	one, other := resultsOf(1, sampleOf("a", "mine", 0, 1, true)), resultsOf(1, sampleOf("a", "yours", 0, 1, true))
	one.Manifest.Rounds[0].Switches = map[string]string{"engine.n_ctx": "1"}
	c, err = Compare(one, other, "")
	require.NoError(t, err)
	require.Equal(t, "mine yours", c.Rounds[0].Base+" "+c.Rounds[0].Current)
	require.Contains(t, c.Markdown(), "## Round yours against round mine\n")
	require.Equal(t, []Difference{{"configuration of mine and yours: engine.n_ctx", "1", "(not there)"}}, c.Differences)
	_, err = Compare(one, two, "")
	require.ErrorIs(t, err, ErrNoCommonRound)
	require.ErrorContains(t, err, "the first run has mine, the second has R0, R2")
}

func TestRepeatability(t *testing.T) {
	t.Parallel()
	base, current := runOf("R0", 1), runOf("R0", 1)
	c, err := Compare(base, current, "")
	require.NoError(t, err)
	require.Equal(t, Repeatability{Pairs: 10, SameSuccess: 10, SameTokens: 10, DifferSample: []string{}}, c.Rounds[0].Repeat)
	require.Contains(t, c.Markdown(), "**all equal**. Success is equal in 10 of 10, token counts (input, evaluated, completion) in 10 of 10.")
	require.Contains(t, c.Markdown(), "Nothing: suite, model, configuration, program and host are the same.")

	current.Samples[0].EvaluatedTokens++
	current.Samples[1].Right, current.Samples[1].Faults = 0, []string{"x"}
	current.Samples[2] = brokenOf("a", "R0", 1, Crash)
	current.Samples[2].InputTokens, current.Samples[2].EvaluatedTokens = base.Samples[2].InputTokens, base.Samples[2].EvaluatedTokens
	current.Samples[3].Seed = 7
	c, err = Compare(base, current, "")
	require.NoError(t, err)
	require.Equal(t, Repeatability{Pairs: 9, SameSuccess: 7, SameTokens: 8, DifferSample: []string{
		"a #0: 500 and 501 evaluated tokens", "a #1: 1 of 1 right and crash", "b #0: 1 of 1 right and 0 of 1 right",
	}}, c.Rounds[0].Repeat)
	require.Contains(t, c.Markdown(), "**not all equal**")

	for i := range current.Samples {
		current.Samples[i].Seed += 1000
		current.Samples[i].InputTokens++
	}
	current.Manifest.Suite.Seed = 1042
	c, err = Compare(base, current, "")
	require.NoError(t, err)
	require.Zero(t, c.Rounds[0].Repeat.Pairs)
	require.Contains(t, c.Markdown(), "no sample has the same case, repetition and seed")
	require.Contains(t, strings.Join(c.Cautions, "\n"), "The seeds differ")
	for i := range current.Samples {
		current.Samples[i].Seed = base.Samples[i].Seed
	}
	c, err = Compare(base, current, "")
	require.NoError(t, err)
	require.Len(t, c.Rounds[0].Repeat.DifferSample, maxDiffer)
}

// TestComparison compares the whole text with testdata/compare.md; write it anew with -update-golden, and read it.
func TestComparison(t *testing.T) {
	t.Parallel()
	base, current := made(), made()
	current.Manifest.Run, current.Manifest.Program.Commit, current.Manifest.Host.CPUs = "run-2", "0123456789abcdef", 4
	current.Manifest.Rounds = append(current.Manifest.Rounds, RoundInfo{Name: "R2"})
	for i := range current.Samples {
		s := &current.Samples[i]
		s.InputTokens -= s.InputTokens / 10
		s.DurationMS += int64(i%3) * 100
		s.PeakRSSBytes += int64(i) << 20
	}
	c, err := Compare(base, current, "")
	require.NoError(t, err)
	requireGolden(t, "compare.md", c.Markdown())
	data, err := json.Marshal(c)
	require.NoError(t, err)
	var back Comparison
	require.NoError(t, json.Unmarshal(data, &back))
	require.Equal(t, jsonOf(t, c), jsonOf(t, back), "all of it can be read again")
}

// TestComparisonIsOfPairs shuffles both runs, which changes nothing.
func TestComparisonIsOfPairs(t *testing.T) {
	t.Parallel()
	base, current := runOf("R0", 1), runOf("R0", 0.9)
	want, err := Compare(base, current, "")
	require.NoError(t, err)
	rapid.Check(t, func(t *rapid.T) {
		was := &Results{Manifest: base.Manifest, Samples: rapid.Permutation(base.Samples).Draw(t, "base")}
		is := &Results{Manifest: current.Manifest, Samples: rapid.Permutation(current.Samples).Draw(t, "current")}
		got, err := Compare(was, is, "")
		require.NoError(t, err)
		require.Equal(t, want.Rounds[0].All.Success, got.Rounds[0].All.Success)
		require.Equal(t, jsonOf(t, want), jsonOf(t, got))
	})
}
