package benchmark

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// pair is one number of the same case and repetition on both sides.
type pair struct{ base, current float64 }

// strata are pairs by case.
type strata [][]pair

// Bootstrap intervals draw this many times. The ends lie at levels down to 0.001 (see levels), where ten draws must be beyond.
const resamples = 10_000

// minDegrees of freedom are needed for an interval: five repetitions of one case, or two of four. The most different of fewer
// repetitions would lie closer together than 95 % of what one can expect.
const minDegrees = 4

// bootstrapSeed makes intervals of the same samples the same.
const bootstrapSeed = 1

// count is the number of pairs.
func (s strata) count() int {
	n := 0
	for _, pairs := range s {
		n += len(pairs)
	}
	return n
}

// sums are those of both sides.
func (s strata) sums() (base, current float64) {
	for _, pairs := range s {
		for _, p := range pairs {
			base += p.base
			current += p.current
		}
	}
	return base, current
}

// collapsed joins cases that have a single pair, which says nothing about repetitions, as surveys collapse strata (Wolter,
// Introduction to Variance Estimation, 2nd ed., 2007, section 2.5): differences between these cases then widen the interval.
func (s strata) collapsed() strata {
	var several strata
	var single []pair
	for _, pairs := range s {
		switch len(pairs) {
		case 0:
		case 1:
			single = append(single, pairs[0])
		default:
			several = append(several, pairs)
		}
	}
	switch {
	case len(single) == 1 && len(several) > 0:
		last := len(several) - 1
		several[last] = append(slices.Clone(several[last]), single...)
	case len(single) > 0:
		several = append(several, single)
	}
	return several
}

// bootstrap returns each statistic of the sums of both sides with its interval. Pairs are drawn with replacement within each
// case, because the cases of a suite are chosen and not drawn; the ends are percentiles of what the draws give (Efron and
// Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13). With few repetitions these are too narrow, so their levels
// are expanded as Hesterberg does (What Teachers Should Know About the Bootstrap, The American Statistician 69, 2015, section
// 5.3). Draws for which a statistic is not known count as none. The order of cases and pairs must be that of the caller's
// data, not that of its samples.
func (s strata) bootstrap(statistics ...func(base, current float64) float64) []Estimate {
	estimates := make([]Estimate, len(statistics))
	base, current := s.sums()
	for i, statistic := range statistics {
		estimates[i] = noEstimate()
		if s.count() > 0 {
			estimates[i].Value = Number(statistic(base, current))
		}
	}
	drawn := s.collapsed()
	low, high, ok := drawn.levels()
	if !ok {
		return estimates
	}
	if drawn.uniform() {
		for i, e := range estimates {
			estimates[i] = Estimate{e.Value, e.Value, e.Value} // as all draws would say
		}
		return estimates
	}
	rng := random(bootstrapSeed, "bootstrap")
	values := make([][]float64, len(statistics))
	for range resamples {
		base, current = 0, 0
		for _, pairs := range drawn {
			for range pairs {
				p := pairs[rng.IntN(len(pairs))]
				base += p.base
				current += p.current
			}
		}
		for i, statistic := range statistics {
			if v := statistic(base, current); !math.IsNaN(v) && !math.IsInf(v, 0) {
				values[i] = append(values[i], v)
			}
		}
	}
	for i := range estimates {
		if !estimates[i].Value.Known() {
			continue
		}
		slices.Sort(values[i])
		estimates[i].Low, estimates[i].High = Number(quantile(values[i], low)), Number(quantile(values[i], high))
	}
	return estimates
}

// uniform reports whether all pairs of each case are equal.
func (s strata) uniform() bool {
	for _, pairs := range s {
		for _, p := range pairs {
			if p != pairs[0] {
				return false
			}
		}
	}
	return true
}

// levels are those of the percentiles that end an interval; not ok: there are too few pairs for one.
func (s strata) levels() (low, high float64, ok bool) {
	n := s.count()
	degrees := n - len(s)
	if degrees < minDegrees {
		return 0, 0, false
	}
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(degrees)}.Quantile((1 + confidence) / 2)
	low = distuv.UnitNormal.CDF(-t * math.Sqrt(float64(n)/float64(degrees)))
	return low, 1 - low, true
}
