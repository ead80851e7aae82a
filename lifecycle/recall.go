package lifecycle

import (
	"cmp"
	"math"
	"slices"
)

// The constants of [Recall]. They are this program's own choice, not taken from a publication.
const (
	// recencyDecay makes age count for little: a turn is worth 0.94 of its importance after one turn, 0.81 after ten and 0.68
	// after a hundred. What was said long ago is what recalling is for, so that age only decides between about equal ones.
	recencyDecay = 0.1
	// statedImportance is the importance from which on a candidate may be recalled without a word in common with the query. It is
	// what [Importance] gives a turn in which the user says something instead of asking.
	statedImportance = 0.6
	// statedFloor is the share of its score that such a candidate has without any relevance: enough to fill room that is left, and
	// never enough to displace a good match of about the same importance.
	statedFloor = 0.1
)

// A Candidate is something older that may be shown again.
type Candidate struct {
	Importance float64 // 0 to 1; see [Importance]
	Relevance  float64 // to what is asked now, such as the score of a [Hit]; 0: no word in common
	Age        int     // turns ago, from 1
	Tokens     int     // that showing it takes
}

// RecallLimits bound [Recall].
type RecallLimits struct {
	TopK   int // candidates
	Tokens int // of all of them together
}

// Recall returns the indexes of the candidates that are worth showing again, in ascending order. They are the best TopK by
//
//	importance × recency × (floor + (1 − floor) × relevance ÷ highest relevance)
//
// where recency is 1 ÷ (1 + 0.1 × ln(1 + age)), and floor is 0.1 for a candidate of importance 0.6 or more: what a user stated is
// found even without a word in common. For others floor is 0; they need a relevance. Of equal ones the later is better.
// One that does not fit what is left of the tokens is left out whole, and the next best is tried.
func Recall(candidates []Candidate, limits RecallLimits) []int {
	highest := 0.0
	for _, c := range candidates {
		highest = max(highest, positive(c.Relevance))
	}
	scores := make([]float64, len(candidates))
	var order []int
	for i, c := range candidates {
		if scores[i] = c.score(highest); scores[i] > 0 {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(b, a))
	})
	var taken []int
	left := limits.Tokens
	for _, i := range order {
		if len(taken) >= limits.TopK {
			break
		}
		if need := max(0, candidates[i].Tokens); need <= left {
			left -= need
			taken = append(taken, i)
		}
	}
	slices.Sort(taken)
	return taken
}

// score implements the formula of [Recall].
func (c Candidate) score(highest float64) float64 {
	floor, relevance := 0.0, 0.0
	if c.Importance >= statedImportance {
		floor = statedFloor
	}
	if highest > 0 {
		relevance = positive(c.Relevance) / highest
	}
	recency := 1 / (1 + recencyDecay*math.Log(1+float64(max(0, c.Age))))
	return min(1, positive(c.Importance)) * recency * (floor + (1-floor)*relevance)
}

// positive takes what is no usable number for 0.
func positive(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) || x < 0 {
		return 0
	}
	return x
}
