package benchmark

import (
	"math"
	"slices"
)

// Summary is all statistics of a run, as summary.json has them.
type Summary struct {
	SchemaVersion int               `json:"schema_version"`
	Run           string            `json:"run"`
	Suite         SuiteInfo         `json:"suite"`
	Complete      bool              `json:"complete"` // no sample of the plan is missing
	Missing       int               `json:"missing"`  // samples of the plan
	Rounds        []RoundSummary    `json:"rounds"`   // R0, R1, R2, and then others as the manifest has them
	Common        CommonSummary     `json:"common"`
	Comparisons   []RoundComparison `json:"comparisons"` // of each round with the one before it, and of the last with the first
	Growth        []Growth          `json:"prompt_growth"`
	Notes         []string          `json:"notes"`
}

// RoundSummary is one round.
type RoundSummary struct {
	Round string  `json:"round"`
	All   Group   `json:"all"`
	Cases []Group `json:"cases"`
}

// CommonSummary describes the samples that are right in every round: of these, the numbers of rounds can stand side by side. A
// number that is not known in one round is left out in all.
type CommonSummary struct {
	Samples int             `json:"samples"` // of each round
	Rounds  [][]MetricStats `json:"rounds"`  // by round, by metric
}

// Growth is how large prompts are along conversations of a case in a round.
type Growth struct {
	Case  string       `json:"case_id"`
	Round string       `json:"round"`
	Turns []TurnPrompt `json:"turns"` // 1, 2, 4, 8 and so on, and the last
}

// TurnPrompt is the size of prompts in one turn.
type TurnPrompt struct {
	Turn   int    `json:"turn"`   // from 1
	Tokens Number `json:"tokens"` // mean of one prompt: input tokens of the turn by its model calls
}

// Summarize computes all statistics. The order of the samples does not matter.
func (r *Results) Summarize() *Summary {
	missing := r.incomplete()
	s := &Summary{
		SchemaVersion: SchemaVersion, Run: r.Manifest.Run, Suite: r.Manifest.Suite, Missing: missing, Complete: missing == 0,
		Comparisons: []RoundComparison{}, Growth: []Growth{}, Notes: append([]string{}, r.Notes...),
	}
	rounds, cases, runs := r.rounds(), r.Manifest.Cases, r.Manifest.MeasuredRuns
	for _, round := range rounds {
		summary := RoundSummary{Round: round, All: group("", runs*len(cases), r.of("", round)), Cases: []Group{}}
		for _, id := range cases {
			summary.Cases = append(summary.Cases, group(id, runs, r.of(id, round)))
		}
		s.Rounds = append(s.Rounds, summary)
	}
	s.Common = r.common(rounds)
	for i := 1; i < len(rounds); i++ {
		s.Comparisons = append(s.Comparisons, compareRounds(r, r, rounds[i-1], rounds[i], cases))
	}
	if len(rounds) > 2 {
		s.Comparisons = append(s.Comparisons, compareRounds(r, r, rounds[0], rounds[len(rounds)-1], cases))
	}
	for _, id := range cases {
		for _, round := range rounds {
			if turns := growth(r.of(id, round)); len(turns) > 0 {
				s.Growth = append(s.Growth, Growth{id, round, turns})
			}
		}
	}
	return s
}

func (r *Results) common(rounds []string) CommonSummary {
	// inAll chooses the samples of a round whose counterparts in all rounds are right and, with a metric, known.
	inAll := func(round string, value func(*Sample) float64) []*Sample {
		seen := map[sampleKey]int{}
		key := func(s *Sample) sampleKey { return sampleKey{id: s.Case, repetition: s.Repetition} }
		for i := range r.Samples {
			if s := &r.Samples[i]; s.AllRight() && (value == nil || !math.IsNaN(value(s))) {
				seen[key(s)]++
			}
		}
		return slices.DeleteFunc(r.of("", round), func(s *Sample) bool { return seen[key(s)] < len(rounds) })
	}
	c := CommonSummary{Rounds: [][]MetricStats{}}
	for _, round := range rounds {
		c.Samples = len(inAll(round, nil))
		var described []MetricStats
		for _, m := range Metrics() {
			described = append(described, m.describe(inAll(round, m.value)))
		}
		c.Rounds = append(c.Rounds, described)
	}
	return c
}

// growth is nil for samples of single turns.
func growth(samples []*Sample) []TurnPrompt {
	last := 0
	for _, s := range samples {
		for _, t := range s.Turns {
			last = max(last, t.Number)
		}
	}
	if last < 2 {
		return nil
	}
	var turns []TurnPrompt
	for n := 1; n < last; n *= 2 {
		turns = append(turns, TurnPrompt{n, meanPrompt(samples, n)})
	}
	return append(turns, TurnPrompt{last, meanPrompt(samples, last)})
}

// meanPrompt is the mean size of a prompt in a turn of the samples that have no harness error. Several questions at the end
// of a conversation are all its last turn.
func meanPrompt(samples []*Sample, turn int) Number {
	tokens, calls := 0, 0
	for _, s := range samples {
		if s.ErrorClass != "" {
			continue
		}
		for _, t := range s.Turns {
			if t.Number == turn {
				tokens += t.InputTokens
				calls += t.ModelCalls
			}
		}
	}
	if calls == 0 {
		return unknown()
	}
	return Number(float64(tokens) / float64(calls))
}
