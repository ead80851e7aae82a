package benchmark

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Outcome is what the judge needs of a finished task.
type Outcome struct {
	Status      string
	Answer      string
	Tools       []string // names of the calls that ran, in order
	ToolResults []string // their texts
	TurnCalls   []int    // how many of the calls each turn made; of a task with one turn it may be nil

	// The workspace before the first and after the last turn, as [FixtureDigest] tells it. Empty: nobody looked.
	FixturesBefore, FixturesAfter string
}

// Judge returns what is wrong with an outcome, one line for each failed check; nothing means that it is right.
func Judge(c Case, o Outcome) []string {
	var faults []string
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }

	if o.Status != c.ExpectedStatus {
		fault("status is %q instead of %q", o.Status, c.ExpectedStatus)
	}
	if strings.TrimSpace(o.Answer) == "" {
		fault("the answer is empty")
	}
	for _, want := range c.ExpectedContains {
		if !ContainsWord(o.Answer, want) {
			fault("the answer lacks %q", want)
		}
	}
	for _, any := range c.ExpectedAny {
		if !slices.ContainsFunc(any, func(want string) bool { return ContainsWord(o.Answer, want) }) {
			fault("the answer has none of %q", any)
		}
	}
	evidence := strings.Join(o.ToolResults, "\n")
	for _, want := range c.ExpectedToolResultContains {
		if !ContainsWord(evidence, want) {
			fault("no tool result has %q", want)
		}
	}
	for _, want := range c.ExpectedTools {
		if !slices.Contains(o.Tools, want) {
			fault("tool %s was not called", want)
		}
	}
	if missing, ok := subsequence(c.ExpectedToolSequence, o.Tools); !ok {
		fault("tool %s was not called in the expected order", missing)
	}
	for _, never := range c.ForbiddenTools {
		if slices.Contains(o.Tools, never) {
			fault("the forbidden tool %s was called", never)
		}
	}
	if len(o.Tools) < c.MinToolCalls {
		fault("%d tool calls, at least %d expected", len(o.Tools), c.MinToolCalls)
	}
	if c.MaxToolCalls != nil && len(o.Tools) > *c.MaxToolCalls {
		fault("%d tool calls, at most %d allowed", len(o.Tools), *c.MaxToolCalls)
	}
	turns := o.TurnCalls
	if turns == nil {
		turns = []int{len(o.Tools)}
	}
	for i, calls := range turns {
		if n := len(c.MaxToolCallsPerTurn); n > 0 && calls > c.MaxToolCallsPerTurn[min(i, n-1)] {
			fault("%d tool calls in turn %d, at most %d allowed", calls, i+1, c.MaxToolCallsPerTurn[min(i, n-1)])
		}
	}
	if c.FixturesUnchanged {
		switch {
		case o.FixturesBefore == "" || o.FixturesAfter == "":
			fault("nobody looked whether the fixtures are unchanged")
		case o.FixturesBefore != o.FixturesAfter:
			fault("the fixtures were changed")
		}
	}
	return faults
}

// subsequence reports whether want appears in got in order, and what is missing first.
func subsequence(want, got []string) (missing string, ok bool) {
	for _, w := range want {
		i := slices.Index(got, w)
		if i < 0 {
			return w, false
		}
		got = got[i+1:]
	}
	return "", true
}

// ContainsWord reports whether text has word, without regard to case, as a whole word: its neighbours are no letters,
// digits, '-' or '_' of the same kind of script. Han and kana signs are words of their own, so they bound others.
func ContainsWord(text, word string) bool {
	text, word = strings.ToLower(text), strings.ToLower(word)
	if word == "" {
		return true
	}
	for from := 0; ; {
		i := strings.Index(text[from:], word)
		if i < 0 {
			return false
		}
		i += from
		before, _ := utf8.DecodeLastRuneInString(text[:i])
		after, _ := utf8.DecodeRuneInString(text[i+len(word):])
		first, _ := utf8.DecodeRuneInString(word)
		last, _ := utf8.DecodeLastRuneInString(word)
		if !joined(before, first) && !joined(last, after) && !decimal(text[:i], text[i+len(word):], first, last) {
			return true
		}
		_, size := utf8.DecodeRuneInString(text[i:])
		from = i + size
	}
}

// joined reports whether two neighbours belong to one word.
func joined(a, b rune) bool { return wordRune(a) && wordRune(b) }

func wordRune(r rune) bool {
	if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) {
		return false
	}
	return r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r)
}

// decimal reports whether a number is only part of a longer one: 31 in 31.5, 9 in 1,009.
func decimal(before, after string, first, last rune) bool {
	separates := func(b byte) bool { return b == '.' || b == ',' }
	digit := func(b byte) bool { return '0' <= b && b <= '9' }
	n := len(before)
	return unicode.IsDigit(last) && len(after) >= 2 && separates(after[0]) && digit(after[1]) ||
		unicode.IsDigit(first) && n >= 2 && separates(before[n-1]) && digit(before[n-2])
}
