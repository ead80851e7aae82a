package benchmark

import "strings"

// Failure is a sample that is not right, as it stands in failures.jsonl.
type Failure struct {
	Case       string     `json:"case_id"`
	Round      string     `json:"round"`
	Repetition int        `json:"repetition"`
	ErrorClass ErrorClass `json:"error_class"` // empty: the answer was judged, and is wrong
	Error      string     `json:"error"`
	Faults     []string   `json:"faults"`
	Status     string     `json:"status"`
	Reason     string     `json:"reason"` // the program's own, for a failed task
	Answer     string     `json:"answer"`
	Stderr     string     `json:"stderr"` // the end of it, of the turn with the error, else of the last one
}

// failure tells why a sample is not right; ok is false when it is.
func (s *Sample) failure() (_ Failure, ok bool) {
	if s.AllRight() {
		return Failure{}, false
	}
	why, _, _ := strings.Cut(s.Error, stderrIntro)
	f := Failure{
		Case: s.Case, Round: s.Round, Repetition: s.Repetition, ErrorClass: s.ErrorClass, Error: why, Faults: s.Faults, Status: s.Status, Answer: s.Answer,
	}
	for i := range s.Turns {
		t := &s.Turns[i]
		f.Stderr, f.Reason = t.stderr, t.Failure
		if t.ErrorClass != "" {
			break
		}
	}
	return f, true
}

// fullDisk reports whether the program ended because it found no room, by its last words: that is a matter of the machine.
func (s *Sample) fullDisk() bool {
	for _, t := range s.Turns {
		if t.ErrorClass == "" && t.Failure == "" {
			continue
		}
		last := lastLine(t.stderr) // what the model was told must not count
		for _, words := range []string{"no space left on device", "database or disk is full"} {
			if strings.HasPrefix(last, "error: ") && strings.Contains(last, words) {
				return true
			}
		}
	}
	return false
}
