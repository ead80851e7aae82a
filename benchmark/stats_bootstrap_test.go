package benchmark

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func mean(n int) func(_, sum float64) float64 {
	return func(_, sum float64) float64 { return sum / float64(n) }
}

func saved(base, current float64) float64 {
	if base == 0 {
		return math.NaN()
	}
	return (base - current) / base
}

// Five pairs have 3,125 draws. The ends are the quantiles of all of them (itertools.product and numpy.quantile) at the level that
// scipy gives for five: norm.cdf(−sqrt(5/4) × t.ppf(0.975, 4)) = 0.0009541.
func TestBootstrap(t *testing.T) {
	t.Parallel()
	low, high, ok := strata{make([]pair, 5)}.levels()
	require.True(t, ok)
	require.InDelta(t, 0.0009541005519, low, 1e-9)
	require.InDelta(t, 1-0.0009541005519, high, 1e-9)
	low, _, _ = strata{make([]pair, 20), make([]pair, 25)}.levels()
	require.InDelta(t, lowLevel(43, 45), low, 1e-9)

	one := strata{{{current: 1}, {current: 2}, {current: 4}, {current: 8}, {current: 16}}}
	e := one.bootstrap(mean(5))[0]
	require.InDelta(t, 6.2, float64(e.Value), 1e-12)
	require.InDelta(t, 1.2, float64(e.Low), 0.2)
	require.InDelta(t, 14.4, float64(e.High), 1.6, "the next value that draws have is 1.6 away")

	e = strata{{{100, 50}, {200, 120}, {300, 90}, {400, 300}, {500, 100}}}.bootstrap(saved)[0]
	require.InDelta(t, 0.56, float64(e.Value), 1e-12)
	require.InDelta(t, 0.26470588, float64(e.Low), 0.02)
	require.InDelta(t, 0.78695652, float64(e.High), 0.02)
}

// lowLevel is the formula with the t quantile of scipy for 43 degrees of freedom, t.ppf(0.975, 43) = 2.0166921992.
func lowLevel(degrees, n float64) float64 {
	z := -2.0166921992 * math.Sqrt(n/degrees)
	return 0.5 * math.Erfc(-z/math.Sqrt2)
}

func TestBootstrapIsWithinCases(t *testing.T) {
	t.Parallel()
	// Two cases that cost very different, each always the same: repeating them gives the same.
	fixed := strata{{{current: 10}, {current: 10}, {current: 10}}, {{current: 1000}, {current: 1000}, {current: 1000}}}
	e := fixed.bootstrap(mean(6))[0]
	requireEstimate(t, e, 505, 505, 505)
	// As five repetitions of one case, they are no more than a guess.
	e = strata{append(fixed[0][:3:3], fixed[1]...)}.bootstrap(mean(6))[0]
	require.Less(t, float64(e.Low), 200.0)
}

func TestBootstrapOfTooFew(t *testing.T) {
	t.Parallel()
	for _, s := range []strata{
		{}, {{{1, 2}}}, {{{1, 2}, {1, 2}, {1, 2}, {1, 2}}}, {{{1, 2}, {1, 2}}, {{1, 2}, {1, 2}}, {{1, 2}, {1, 2}}}, {{{1, 2}}, {{1, 2}}, {{1, 2}}, {{1, 2}}},
	} {
		require.False(t, s.bootstrap(saved)[0].Bounded(), "%v", s)
	}
	require.True(t, strata{{{1, 2}}, {{1, 2}}, {{1, 3}}, {{1, 2}}, {{1, 2}}}.bootstrap(saved)[0].Bounded(), "cases with one pair are joined")
	require.Equal(t, strata{{{1, 2}, {3, 4}, {5, 6}}}, strata{{{1, 2}, {3, 4}}, {}, {{5, 6}}}.collapsed())
	nothing := strata{{{0, 1}, {0, 2}, {0, 3}, {0, 4}, {0, 5}}}.bootstrap(saved)[0]
	require.False(t, nothing.Value.Known() || nothing.Bounded())
}

func TestBootstrapContainsItsEstimate(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.IntRange(0, 1_000_000)
		s := strata{}
		for range rapid.IntRange(1, 4).Draw(t, "cases") {
			var own []pair
			for range rapid.IntRange(1, 8).Draw(t, "repetitions") {
				own = append(own, pair{float64(value.Draw(t, "base")), float64(value.Draw(t, "current"))})
			}
			s = append(s, own)
		}
		n := float64(s.count())
		for _, e := range s.bootstrap(saved, func(base, current float64) float64 { return (base - current) / n }) {
			if e.Bounded() {
				require.True(t, e.Low <= e.Value && e.Value <= e.High, "%v of %v", e, s)
			}
		}
		require.Equal(t, fmt.Sprint(s.bootstrap(mean(1))), fmt.Sprint(s.bootstrap(mean(1))), "the draws are the same each time")
	})
}
