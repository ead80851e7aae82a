package lifecycle_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/llama-agent/llama-agent/lifecycle"
)

func sum(tokens []int) int {
	n := 0
	for _, t := range tokens {
		n += t
	}
	return n
}

func TestWindow(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		tokens []int
		limits lifecycle.WindowLimits
		starts []int // after each turn
	}{
		"grows, then jumps": {
			[]int{100, 100, 100, 100, 100, 100, 100, 100}, lifecycle.WindowLimits{Hot: 2, Activation: 400, Budget: 1000},
			[]int{0, 0, 0, 0, 3, 3, 3, 6},
		},
		"hot turns beyond the activation": {
			[]int{300, 300, 300, 300}, lifecycle.WindowLimits{Hot: 2, Activation: 400, Budget: 1000}, []int{0, 0, 1, 2},
		},
		"hot turns beyond the budget": {
			[]int{300, 300, 300, 900, 10}, lifecycle.WindowLimits{Hot: 4, Activation: 400, Budget: 700}, []int{0, 0, 1, 4, 4},
		},
		"the activation is beyond the budget": {
			[]int{100, 100, 100, 100}, lifecycle.WindowLimits{Hot: 1, Activation: 1000, Budget: 250}, []int{0, 0, 2, 2},
		},
		"one turn too large":  {[]int{10, 5000, 10}, lifecycle.WindowLimits{Hot: 2, Activation: 100, Budget: 1000}, []int{0, 2, 2}},
		"no hot turns":        {[]int{60, 60, 60}, lifecycle.WindowLimits{Activation: 100, Budget: 1000}, []int{0, 2, 2}},
		"nothing is allowed":  {[]int{1, 0, 1}, lifecycle.WindowLimits{}, []int{1, 1, 3}},
		"negative is nothing": {[]int{5, -3, 5}, lifecycle.WindowLimits{Hot: -1, Activation: -1, Budget: 10}, []int{1, 1, 3}},
	} {
		for i, want := range test.starts {
			require.Equal(t, want, lifecycle.Window(test.tokens[:i+1], test.limits), "%s: after turn %d", name, i)
		}
	}
	require.Zero(t, lifecycle.Window(nil, lifecycle.WindowLimits{Hot: 4, Activation: 10, Budget: 10}))
}

func TestWindowProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		tokens := rapid.SliceOfN(rapid.IntRange(0, 500), 0, 60).Draw(r, "tokens")
		limits := lifecycle.WindowLimits{
			Hot: rapid.IntRange(0, 6).Draw(r, "hot"), Activation: rapid.IntRange(0, 2000).Draw(r, "activation"), Budget: rapid.IntRange(0, 3000).Draw(r, "budget"),
		}
		before := 0
		for n := range len(tokens) + 1 {
			start := lifecycle.Window(tokens[:n], limits)
			require.Equal(r, start, lifecycle.Window(tokens[:n], limits))
			require.GreaterOrEqual(r, start, before, "never backwards")
			require.LessOrEqual(r, start, n)
			shown := sum(tokens[start:n])
			require.LessOrEqual(r, shown, limits.Budget)
			hot := max(0, n-limits.Hot)
			if sum(tokens[hot:n]) <= limits.Budget {
				require.LessOrEqual(r, start, max(hot, before), "hot turns that fit are shown")
			}
			if n > 0 && sum(tokens[before:n]) <= min(limits.Activation, limits.Budget) {
				require.Equal(r, before, start, "no jump without need")
			}
			if start > before {
				require.GreaterOrEqual(r, start, hot, "a jump goes as far as it may")
			}
			before = start
		}
	})
}

func TestLatest(t *testing.T) {
	t.Parallel()
	tokens := []int{10, 20, 500, 30, 40}
	for _, test := range []struct{ turns, budget, want int }{
		{8, 1000, 0}, {2, 1000, 3}, {8, 70, 3}, {8, 69, 4}, {8, 569, 3}, {8, 570, 2}, {8, 39, 5}, {0, 1000, 5}, {-1, 1000, 5}, {8, -1, 5}, {8, 0, 5},
	} {
		require.Equal(t, test.want, lifecycle.Latest(tokens, test.turns, test.budget), "%+v", test)
	}
	require.Zero(t, lifecycle.Latest(nil, 3, 100))
	require.Equal(t, 1, lifecycle.Latest([]int{5, 0, 0}, 8, 0), "what takes nothing fits")
}

func TestLatestProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		tokens := rapid.SliceOf(rapid.IntRange(0, 100)).Draw(r, "tokens")
		turns, budget := rapid.IntRange(0, 10).Draw(r, "turns"), rapid.IntRange(0, 400).Draw(r, "budget")
		start := lifecycle.Latest(tokens, turns, budget)
		require.LessOrEqual(r, len(tokens)-start, turns)
		require.LessOrEqual(r, sum(tokens[start:]), budget)
		if start > 0 && len(tokens)-start < turns {
			require.Greater(r, sum(tokens[start-1:]), budget, "no other turn fits")
		}
	})
}
