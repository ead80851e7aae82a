package lifecycle_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/llama-agent/llama-agent/lifecycle"
)

func TestRecall(t *testing.T) {
	t.Parallel()
	all := lifecycle.RecallLimits{TopK: 10, Tokens: 1000}
	for name, test := range map[string]struct {
		candidates []lifecycle.Candidate
		limits     lifecycle.RecallLimits
		want       []int
	}{
		"nothing": {nil, all, nil},
		"in the order of time, not of the score": {
			[]lifecycle.Candidate{{Importance: 0.5, Relevance: 1, Age: 9}, {Importance: 0.5, Relevance: 2, Age: 8}, {Importance: 0.5, Relevance: 3, Age: 7}},
			lifecycle.RecallLimits{TopK: 2, Tokens: 10}, []int{1, 2},
		},
		"only what is stated needs no relevance": {
			[]lifecycle.Candidate{{Importance: 0.59, Age: 1}, {Importance: 0.6, Age: 100}, {Importance: 1, Age: 5}}, all, []int{1, 2},
		},
		"importance": {
			[]lifecycle.Candidate{{Importance: 0.9, Relevance: 5, Age: 3}, {Importance: 0.4, Relevance: 5, Age: 3}}, lifecycle.RecallLimits{TopK: 1, Tokens: 10}, []int{0},
		},
		"recency": {
			[]lifecycle.Candidate{{Importance: 0.5, Relevance: 5, Age: 3}, {Importance: 0.5, Relevance: 5, Age: 2}}, lifecycle.RecallLimits{TopK: 1, Tokens: 10}, []int{1},
		},
		"an old match beats a young one without": {
			[]lifecycle.Candidate{{Importance: 0.6, Relevance: 1, Age: 1000}, {Importance: 1, Age: 1}}, lifecycle.RecallLimits{TopK: 1, Tokens: 10}, []int{0},
		},
		"equal ones: the later": {
			[]lifecycle.Candidate{{Importance: 0.5, Relevance: 5, Age: 3}, {Importance: 0.5, Relevance: 5, Age: 3}}, lifecycle.RecallLimits{TopK: 1, Tokens: 10}, []int{1},
		},
		"what does not fit is left out whole, and the next is tried": {
			[]lifecycle.Candidate{
				{Importance: 0.5, Relevance: 9, Age: 1, Tokens: 60}, {Importance: 0.5, Relevance: 8, Age: 1, Tokens: 50}, {Importance: 0.5, Relevance: 7, Age: 1, Tokens: 40},
			},
			lifecycle.RecallLimits{TopK: 2, Tokens: 100}, []int{0, 2},
		},
		"numbers that are none": {
			[]lifecycle.Candidate{{Importance: math.NaN(), Relevance: 1}, {Importance: 0.5, Relevance: math.Inf(1)}, {Importance: 0.5, Relevance: -1}, {Importance: 0.5, Relevance: 1, Age: -7, Tokens: -5}},
			all, []int{3},
		},
		"no room":     {[]lifecycle.Candidate{{Importance: 1, Age: 1, Tokens: 1}}, lifecycle.RecallLimits{TopK: 1}, nil},
		"none wanted": {[]lifecycle.Candidate{{Importance: 1, Age: 1}}, lifecycle.RecallLimits{Tokens: 10}, nil},
	} {
		require.Equal(t, test.want, lifecycle.Recall(test.candidates, test.limits), name)
	}
}

func TestRecallProperties(t *testing.T) {
	t.Parallel()
	candidate := rapid.Custom(func(r *rapid.T) lifecycle.Candidate {
		return lifecycle.Candidate{
			Importance: rapid.Float64Range(0, 1).Draw(r, "importance"), Relevance: rapid.SampledFrom([]float64{0, 0, 1e-6, 0.5, 3, 12}).Draw(r, "relevance"),
			Age: rapid.IntRange(1, 200).Draw(r, "age"), Tokens: rapid.IntRange(0, 300).Draw(r, "tokens"),
		}
	})
	rapid.Check(t, func(r *rapid.T) {
		candidates := rapid.SliceOf(candidate).Draw(r, "candidates")
		limits := lifecycle.RecallLimits{TopK: rapid.IntRange(0, 6).Draw(r, "k"), Tokens: rapid.IntRange(0, 600).Draw(r, "tokens")}
		got := lifecycle.Recall(candidates, limits)
		require.Equal(r, got, lifecycle.Recall(candidates, limits))
		require.True(r, slices.IsSorted(got))
		require.Len(r, slices.Compact(slices.Clone(got)), len(got))
		require.LessOrEqual(r, len(got), limits.TopK)
		used := 0
		for _, i := range got {
			used += candidates[i].Tokens
			require.True(r, candidates[i].Importance >= 0.6 || candidates[i].Relevance > 0)
		}
		require.LessOrEqual(r, used, limits.Tokens)
		if len(got) == limits.TopK {
			return
		}
		for i, c := range candidates {
			if !slices.Contains(got, i) && (c.Importance >= 0.6 || c.Importance > 0 && c.Relevance > 0) {
				require.Greater(r, c.Tokens, limits.Tokens-used, "candidate %d fits", i)
			}
		}
	})
}
