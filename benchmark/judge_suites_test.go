package benchmark

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

const otherTool = "another_tool"

// shippedCases calls do with every case of every suite, and with each of its questions.
func shippedCases(t *testing.T, do func(t *testing.T, c Case)) {
	paths, err := filepath.Glob("workloads/*.json")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(paths), 10)
	for _, path := range paths {
		s, err := Load(path)
		require.NoError(t, err)
		for _, c := range s.Cases {
			name := s.Name + "/" + c.ID
			for _, q := range c.Metadata.ConversationFinalTurns {
				t.Run(name+"/"+q.ID, func(t *testing.T) { do(t, c.forQuestion(q)) })
			}
			if len(c.Metadata.ConversationFinalTurns) == 0 {
				t.Run(name, func(t *testing.T) { do(t, c) })
			}
		}
	}
}

// said is what the answer must say: each word of expected_contains, then the first of each list of expected_any.
func said(c Case) []string {
	words := slices.Clone(c.ExpectedContains)
	for _, any := range c.ExpectedAny {
		words = append(words, any[0])
	}
	return words
}

func answerOf(words []string) string { return "It is: " + strings.Join(words, " ; ") + "." }

// rightOutcome has all that the case expects, and nothing more.
func rightOutcome(c Case) Outcome {
	o := Outcome{
		Status: c.ExpectedStatus, Answer: answerOf(said(c)), Tools: slices.Clone(c.ExpectedToolSequence),
		ToolResults: c.ExpectedToolResultContains, FixturesBefore: "same", FixturesAfter: "same",
	}
	if c.ExpectedStatus == AnyStatus {
		o.Status = "failed"
	}
	for _, tool := range c.ExpectedTools {
		if !slices.Contains(o.Tools, tool) {
			o.Tools = append(o.Tools, tool)
		}
	}
	for len(o.Tools) < c.MinToolCalls {
		o.Tools = append(o.Tools, otherTool)
	}
	return o.inTurns(c)
}

// inTurns spreads the calls over the turns, as many as each may have.
func (o Outcome) inTurns(c Case) Outcome {
	o.TurnCalls = make([]int, max(c.turnCount(), 1))
	turn := 0
	for range o.Tools {
		for n := len(c.MaxToolCallsPerTurn); n > 0 && turn < len(o.TurnCalls)-1 && o.TurnCalls[turn] >= c.MaxToolCallsPerTurn[min(turn, n-1)]; {
			turn++
		}
		o.TurnCalls[turn]++
	}
	return o
}

// nearMisses are what looks like the word and is not it.
func nearMisses(word string) []string {
	first, _ := utf8.DecodeRuneInString(word)
	last, size := utf8.DecodeLastRuneInString(word)
	misses := []string{strings.TrimSpace(word[:len(word)-size]), "?"}
	if wordRune(first) {
		misses = append(misses, "x"+word, "1"+word, "pre-"+word, "pre_"+word, "\uff11"+word)
	}
	if wordRune(last) {
		misses = append(misses, word+"s", word+"1", word+"-1", word+"_x", word+"\uff11", word+"ms")
	}
	if unicode.IsDigit(last) {
		misses = append(misses, word+".7", word+",0")
	}
	if unicode.IsDigit(first) {
		misses = append(misses, "7."+word, "2,"+word)
	}
	if regexp.MustCompile(`^[1-9]\d*$`).MatchString(word) {
		misses = append(misses, word+"00", "1,"+word[:1]+word)
	}
	return misses
}

// TestEveryExpectationCanFail takes, for every case that there is, an outcome that is right, breaks one expectation after the
// other, and sees exactly that one named.
func TestEveryExpectationCanFail(t *testing.T) {
	t.Parallel()
	broken := map[string]int{}
	shippedCases(t, func(t *testing.T, c Case) {
		require.Empty(t, Judge(c, rightOutcome(c)))
		fails := func(check string, change func(*Outcome), faults ...string) {
			t.Helper()
			o := rightOutcome(c)
			change(&o)
			require.ElementsMatch(t, faults, Judge(c, o), "%s: %+v", check, o)
			broken[check]++
		}
		status := fmt.Sprintf("status is %q instead of %q", "interrupted", c.ExpectedStatus)
		if c.ExpectedStatus == AnyStatus {
			status = `status is "interrupted" instead of "done" or "failed"`
		}
		fails("status", func(o *Outcome) { o.Status = "interrupted" }, status)
		failsOnAnswers(c, fails)
		failsOnTools(c, fails)
		if c.FixturesUnchanged {
			fails("unchanged", func(o *Outcome) { o.FixturesAfter = "other" }, "the fixtures were changed")
			fails("unchanged", func(o *Outcome) { o.FixturesAfter = "" }, "nobody looked whether the fixtures are unchanged")
			fails("unchanged", func(o *Outcome) { o.FixturesBefore, o.FixturesAfter = "", "" }, "nobody looked whether the fixtures are unchanged")
		}
	})
	for _, check := range []string{"status", "empty", "contains", "any", "tools", "order", "minimum", "maximum", "per turn", "unchanged"} {
		require.Greater(t, broken[check], 1, "%s: no suite uses this check", check)
	}
}

type failing func(check string, change func(*Outcome), faults ...string)

func failsOnAnswers(c Case, fails failing) {
	words := said(c)
	lacks := func(i int) string {
		if i < len(c.ExpectedContains) {
			return fmt.Sprintf("the answer lacks %q", words[i])
		}
		return fmt.Sprintf("the answer has none of %q", c.ExpectedAny[i-len(c.ExpectedContains)])
	}
	check := func(i int) string {
		if i < len(c.ExpectedContains) {
			return "contains"
		}
		return "any"
	}
	all := []string{"the answer is empty"}
	for i, word := range words {
		all = append(all, lacks(i))
		for _, miss := range nearMisses(word) {
			changed := slices.Clone(words)
			changed[i] = miss
			if i >= len(c.ExpectedContains) && slices.ContainsFunc(c.ExpectedAny[i-len(c.ExpectedContains)], func(other string) bool { return ContainsWord(miss, other) }) {
				continue // another way to say it
			}
			fails(check(i), func(o *Outcome) { o.Answer = answerOf(changed) }, lacks(i))
		}
	}
	fails("empty", func(o *Outcome) { o.Answer = " \n\t" }, all...)
}

func failsOnTools(c Case, fails failing) {
	for _, want := range c.ExpectedToolResultContains {
		fails("evidence", func(o *Outcome) {
			o.ToolResults = slices.DeleteFunc(slices.Clone(o.ToolResults), func(s string) bool { return s == want })
		}, fmt.Sprintf("no tool result has %q", want))
	}
	for _, want := range c.ExpectedTools {
		faults := []string{"tool " + want + " was not called"}
		if slices.Contains(c.ExpectedToolSequence, want) {
			faults = append(faults, "tool "+want+" was not called in the expected order")
		}
		fails("tools", func(o *Outcome) {
			for i, tool := range o.Tools {
				if tool == want {
					o.Tools[i] = otherTool
				}
			}
		}, faults...)
	}
	if n := len(c.ExpectedToolSequence); n > 1 {
		fails("order", func(o *Outcome) { slices.Reverse(o.Tools) }, "tool "+c.ExpectedToolSequence[1]+" was not called in the expected order")
	}
	for _, never := range c.ForbiddenTools {
		fails("forbidden", func(o *Outcome) { o.Tools[0] = never }, "the forbidden tool "+never+" was called")
	}
	if c.MinToolCalls > 0 && len(c.ExpectedTools) == 0 && len(c.ExpectedToolSequence) == 0 {
		fails("minimum", func(o *Outcome) { o.Tools = o.Tools[1:]; *o = o.inTurns(c) },
			fmt.Sprintf("%d tool calls, at least %d expected", c.MinToolCalls-1, c.MinToolCalls))
	}
	if c.MaxToolCalls != nil {
		fails("maximum", func(o *Outcome) {
			for len(o.Tools) <= *c.MaxToolCalls {
				o.Tools = append(o.Tools, otherTool)
			}
			*o = o.inTurns(c)
		}, fmt.Sprintf("%d tool calls, at most %d allowed", *c.MaxToolCalls+1, *c.MaxToolCalls))
	}
	for i, most := range c.MaxToolCallsPerTurn {
		fails("per turn", func(o *Outcome) { o.TurnCalls[i] = most + 1 }, fmt.Sprintf("%d tool calls in turn %d, at most %d allowed", most+1, i+1, most))
	}
}
