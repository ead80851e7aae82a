package benchmark

import (
	"fmt"
	"math"
	"slices"
)

// Verdict says what a comparison shows.
type Verdict string

// Verdicts. A difference is clear when 0 is outside its 95 % interval or, for success, when the p value of the exact test is below 0.05.
const (
	Better        Verdict = "better"
	Worse         Verdict = "worse"
	Unclear       Verdict = "no clear difference"
	CannotCompare Verdict = "cannot compare"
)

// significance is the p value below which a difference of success is clear.
const significance = 1 - confidence

// RoundComparison compares samples of two rounds, pair by pair of the same case and repetition.
type RoundComparison struct {
	Base    string   `json:"base"`    // name of the round
	Current string   `json:"current"` // name of the round
	All     Paired   `json:"all"`     // over all cases that both have
	Cases   []Paired `json:"cases"`
}

// Paired is what pairs of samples show.
type Paired struct {
	Case      string        `json:"case_id,omitempty"` // empty: all cases
	Success   SuccessChange `json:"success"`
	BothRight []Change      `json:"both_right"`    // by metric, over pairs that are right on both sides
	Answered  []Change      `json:"both_answered"` // the same over pairs without a harness error, wrong answers included; no times
}

// SuccessChange compares success over the pairs that could be judged on both sides.
type SuccessChange struct {
	Pairs       int      `json:"pairs"`
	BothRight   int      `json:"both_right"`
	OnlyBase    int      `json:"only_base_right"`
	OnlyCurrent int      `json:"only_current_right"`
	BothWrong   int      `json:"both_wrong"`
	CasesLost   int      `json:"cases_lost"` // with more pairs right in base only than in current only
	CasesWon    int      `json:"cases_won"`
	Base        Number   `json:"base"`    // share of the pairs
	Current     Number   `json:"current"` // share of the pairs
	Points      Estimate `json:"points"`  // 100 × (current − base), with the interval of Bonett and Price
	P           Number   `json:"p"`       // of the exact McNemar test
	Verdict     Verdict  `json:"verdict"`
	Reason      string   `json:"reason,omitempty"` // why it cannot be compared
}

// Change compares a metric. Numbers are in the unit of the metric's key, and above 0 where current takes less.
type Change struct {
	Metric     string   `json:"metric"`
	Pairs      int      `json:"pairs"`      // of which both numbers are known
	Base       Number   `json:"base"`       // mean over the pairs
	Current    Number   `json:"current"`    // mean over the pairs
	Difference Estimate `json:"difference"` // mean of base − current, with a bootstrap interval
	Relative   Estimate `json:"relative"`   // (base − current) / base of the sums, with a bootstrap interval
	CasesMore  int      `json:"cases_more"` // in which current takes more than base
	CasesLess  int      `json:"cases_less"`
	Verdict    Verdict  `json:"verdict"`
	Reason     string   `json:"reason,omitempty"` // why it cannot be compared
}

// samplePair is the same case and repetition on both sides.
type samplePair struct{ base, current *Sample }

func (p samplePair) judgeable() bool { return p.base.judgeable() && p.current.judgeable() }
func (p samplePair) right() bool     { return p.base.AllRight() && p.current.AllRight() }

// pairUp finds pairs of the same case and repetition. Base is sorted by both, and so are the pairs.
func pairUp(base, current []*Sample) []samplePair {
	partners := map[sampleKey]*Sample{}
	for _, s := range current {
		partners[sampleKey{id: s.Case, repetition: s.Repetition}] = s
	}
	var pairs []samplePair
	for _, s := range base {
		if partner := partners[sampleKey{id: s.Case, repetition: s.Repetition}]; partner != nil {
			pairs = append(pairs, samplePair{s, partner})
		}
	}
	return pairs
}

// compareRounds compares two rounds, which may be of different runs, over cases.
func compareRounds(base, current *Results, baseRound, currentRound string, cases []string) RoundComparison {
	c := RoundComparison{Base: baseRound, Current: currentRound, Cases: []Paired{}}
	pairs := pairUp(base.of("", baseRound), current.of("", currentRound))
	pairs = slices.DeleteFunc(pairs, func(p samplePair) bool { return !slices.Contains(cases, p.base.Case) })
	c.All = paired("", pairs)
	for _, id := range cases {
		var own []samplePair
		for _, p := range pairs {
			if p.base.Case == id {
				own = append(own, p)
			}
		}
		c.Cases = append(c.Cases, paired(id, own))
	}
	return c
}

// paired compares pairs that are sorted by case.
func paired(id string, pairs []samplePair) Paired {
	p := Paired{Case: id, Success: compareSuccess(pairs)}
	var right, answered []samplePair
	for _, each := range pairs {
		if each.judgeable() {
			answered = append(answered, each)
		}
		if each.right() {
			right = append(right, each)
		}
	}
	for _, m := range Metrics() {
		p.BothRight = append(p.BothRight, compareMetric(m, right, "no pair is right on both sides"))
		if !m.Timing {
			p.Answered = append(p.Answered, compareMetric(m, answered, "no pair has an answer on both sides"))
		}
	}
	return p
}

func compareSuccess(pairs []samplePair) SuccessChange {
	c := SuccessChange{Base: unknown(), Current: unknown(), P: unknown()}
	balance := map[string]int{} // by case, pairs won less pairs lost
	for _, p := range pairs {
		if !p.judgeable() {
			continue
		}
		c.Pairs++
		switch base, current := p.base.AllRight(), p.current.AllRight(); {
		case base && current:
			c.BothRight++
		case base:
			c.OnlyBase++
			balance[p.base.Case]--
		case current:
			c.OnlyCurrent++
			balance[p.base.Case]++
		default:
			c.BothWrong++
		}
	}
	for _, b := range balance {
		switch {
		case b < 0:
			c.CasesLost++
		case b > 0:
			c.CasesWon++
		}
	}
	c.Points = pairedDifference(c.OnlyBase, c.OnlyCurrent, c.Pairs).scaled(100)
	if c.Pairs == 0 {
		c.Verdict, c.Reason = CannotCompare, "no pair has an answer on both sides"
		return c
	}
	c.Base, c.Current = Number(float64(c.BothRight+c.OnlyBase)/float64(c.Pairs)), Number(float64(c.BothRight+c.OnlyCurrent)/float64(c.Pairs))
	c.P = Number(mcnemar(c.OnlyBase, c.OnlyCurrent))
	switch {
	case c.P >= significance:
		c.Verdict = Unclear
	case c.OnlyCurrent > c.OnlyBase:
		c.Verdict = Better
	default:
		c.Verdict = Worse
	}
	return c
}

// compareMetric compares pairs that are sorted by case; none says why there may be none.
func compareMetric(m Metric, pairs []samplePair, none string) Change {
	c := Change{Metric: m.Key, Base: unknown(), Current: unknown(), Difference: noEstimate(), Relative: noEstimate(), Verdict: CannotCompare}
	var byCase strata
	last := ""
	for _, p := range pairs {
		base, current := m.value(p.base), m.value(p.current)
		if math.IsNaN(base) || math.IsNaN(current) {
			continue
		}
		if len(byCase) == 0 || p.base.Case != last {
			byCase = append(byCase, nil)
		}
		last = p.base.Case
		byCase[len(byCase)-1] = append(byCase[len(byCase)-1], pair{base, current})
	}
	c.Pairs = byCase.count()
	switch {
	case len(pairs) == 0:
		c.Reason = none
		return c
	case c.Pairs == 0:
		c.Reason = "it was not measured on both sides of any pair"
		return c
	}
	for _, own := range byCase {
		switch base, current := (strata{own}).sums(); {
		case current > base:
			c.CasesMore++
		case current < base:
			c.CasesLess++
		}
	}
	n := float64(c.Pairs)
	base, current := byCase.sums()
	c.Base, c.Current = Number(base/n), Number(current/n)
	estimates := byCase.bootstrap(
		func(base, current float64) float64 { return (base - current) / n },
		func(base, current float64) float64 {
			if base == 0 {
				return math.NaN()
			}
			return (base - current) / base
		},
	)
	c.Difference, c.Relative = estimates[0], estimates[1]
	switch {
	case !c.Difference.Bounded():
		c.Reason = fmt.Sprintf("%s too few for an interval; measure 5 repetitions or more", plural(c.Pairs, "pair is", "pairs are"))
	case c.Difference.Low > 0:
		c.Verdict = Better
	case c.Difference.High < 0:
		c.Verdict = Worse
	default:
		c.Verdict = Unclear
	}
	return c
}

// plural counts things.
func plural(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}
