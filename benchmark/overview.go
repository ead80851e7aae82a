package benchmark

import "strings"

// RoundTotal sums up the samples of a round in the numbers that a person looks at first.
type RoundTotal struct {
	Round   string `json:"round"`
	Samples int    `json:"samples"`
	Right   int    `json:"right"`  // answers
	Judged  int    `json:"judged"` // answers; those that are missing because of an error are not among them
	Errors  int    `json:"errors"` // samples with a harness error

	// Means over the samples without an error; nil: there are none.
	Seconds         *float64 `json:"mean_seconds"` // without loading the model
	InputTokens     *float64 `json:"mean_input_tokens"`
	EvaluatedTokens *float64 `json:"mean_evaluated_tokens"`
}

// Totals sums up samples, by round in the order of rounds.
func Totals(rounds []Round, samples []Sample) []RoundTotal {
	totals := []RoundTotal{}
	for _, round := range rounds {
		t := RoundTotal{Round: round.Name}
		var ms, input, evaluated float64
		for i := range samples {
			s := &samples[i]
			if s.Round != round.Name {
				continue
			}
			t.Samples++
			t.Right += s.Right
			t.Judged += s.Judged
			if s.ErrorClass != "" {
				t.Errors++
				continue
			}
			ms += float64(s.DurationMS)
			input += float64(s.InputTokens)
			evaluated += float64(s.EvaluatedTokens)
		}
		if n := float64(t.Samples - t.Errors); n > 0 {
			seconds, in, ev := ms/1000/n, input/n, evaluated/n
			t.Seconds, t.InputTokens, t.EvaluatedTokens = &seconds, &in, &ev
		}
		totals = append(totals, t)
	}
	return totals
}

// lastLine is the last line of a text that says something.
func lastLine(text string) string {
	text = strings.TrimRight(text, "\n")
	return text[strings.LastIndexByte(text, '\n')+1:]
}
