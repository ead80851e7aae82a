package benchmark

import (
	"fmt"
	"slices"
	"strings"
)

// AnyStatus as the expected status stands for done and failed. It is for tasks that cannot be done: whether the agent calls it
// done to have refused one is a matter of taste.
const AnyStatus = "any"

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

	switch {
	case c.ExpectedStatus == AnyStatus && o.Status != "done" && o.Status != "failed":
		fault("status is %q instead of \"done\" or \"failed\"", o.Status)
	case c.ExpectedStatus != AnyStatus && o.Status != c.ExpectedStatus:
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
