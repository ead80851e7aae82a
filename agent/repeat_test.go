package agent

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// history reads calls from a short form: "tool=result" with "!" for a side effect, "/" between plans, "~" for a refused call
// and "?" for one that the tool's schema refused.
func history(text string) []Call {
	var calls []Call
	for i, part := range strings.Split(text, "/") {
		for _, word := range strings.Fields(part) {
			tool, result, _ := strings.Cut(word, "=")
			name := strings.Trim(tool, "!~?")
			c := Call{Step: 1, Iteration: i + 1, Tool: name, Arguments: json.RawMessage("{}"), Outcome: Outcome{Text: result}, ReadOnly: !strings.Contains(tool, "!"), Skipped: strings.Contains(tool, "~")}
			c.Rejected = strings.Contains(tool, "?")
			calls = append(calls, c)
		}
	}
	return calls
}

func TestRepeated(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, history string
		iteration     int
		want          bool
	}{
		{"first call", "", 1, false},
		{"other call", "B=1", 1, false},
		{"same call", "A=1", 1, true},
		{"same call after a read", "A=1 B=1", 1, true},
		{"same call after a refusal", "A=1 ~A", 1, true},
		{"same call after a side effect", "A=1 !B=1", 1, false},
		{"same call after its own side effect", "!A=1", 1, true},
		{"side effect before it", "!B=1 A=1", 1, true},
		{"side effect that was refused by its schema", "A=1 !?B=1", 1, true},
		{"side effect that was refused as a repeat", "A=1 !~B=1", 1, true},
		{"a new plan may look once more", "A=1 /", 2, false},
		{"a new plan looked once more in vain", "A=1 / A=1", 2, true},
		{"a third plan after that", "A=1 / A=1 /", 3, true},
		{"a changing thing", "A=1 / A=2", 2, false},
		{"a thing that stopped changing", "A=1 / A=2 / A=2", 3, true},
		{"side effects in turn", "!A=1 !B=1", 1, false},
		{"side effects in turn without effect", "!A=1 !B=1 !A=1 !B=1", 1, true},
		{"side effects in turn with effect", "!A=1 !B=1 !A=2 !B=2", 1, false},
	} {
		_, got := repeated(history(test.history), "A", json.RawMessage("{}"), test.iteration)
		require.Equal(t, test.want, got, test.name)
	}
	_, got := repeated(history("A=1"), "A", json.RawMessage(`{"x":1}`), 1)
	require.False(t, got, "other arguments")
}

func TestBroughtSomething(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"A=1 /":         false,
		"A=1 / ~A=told": false,
		"A=1 / A=1":     false,
		"A=1 / A=2":     true,
		"A=1 / B=1":     true,
		"/ A=1":         true,
	} {
		require.Equal(t, want, broughtSomething(history(text), 2), text)
	}
}

func TestStepsThatAPlanRepeatsAreLeftOut(t *testing.T) {
	t.Parallel()
	first, other := plannedStep{NoFile, "A", "search the message"}, plannedStep{"a.txt", "A", "search the message"}
	again := plannedStep{"", "A", "Search  the message"}
	require.Equal(t, []plannedStep{first, other}, distinct([]plannedStep{first, other, again, first, other}))
}

func TestExtendPlan(t *testing.T) {
	t.Parallel()
	old := []Step{
		{Number: 1, Do: "Look  here", Tool: "A", State: StepDone, Iteration: 1},
		{Number: 2, Do: "think", Tool: NoTool, State: StepDone, Iteration: 1},
		{Number: 3, Do: "fail", Tool: "B", State: StepFailed, Iteration: 1},
		{Number: 4, Do: "later", Tool: "C", State: StepPending, Iteration: 1},
	}
	planned := []plannedStep{{Do: "look here", Tool: "A"}, {NoFile, NoTool, "Think"}, {Do: "fail", Tool: "B"}, {Do: "later", Tool: "C"}}
	state := func(steps []Step) string {
		var b []string
		for _, s := range steps {
			b = append(b, string(s.State)+" "+s.Tool)
		}
		return strings.Join(b, ", ")
	}
	kept := "done A, done none, failed B, dropped C, "
	require.Equal(t, kept+"pending A, pending B, pending C", state(extendPlan(old, planned, 2, history("A=1"))), "A may have changed")
	require.Equal(t, kept+"pending B, pending C", state(extendPlan(old, planned, 2, history("A=1 / A=1"))), "A is settled")
	stuck := []Call{{Step: 3, Tool: "B", Outcome: Outcome{Error: &CallError{}}}, {Step: 3, Tool: "B", Skipped: true}}
	require.Equal(t, kept+"pending A, pending C", state(extendPlan(old, planned, 2, stuck)), "B would only fail again")
	require.Equal(t, StepPending, old[3].State, "the plan before is not changed")
	elsewhere := []plannedStep{{File: "b.txt", Tool: "A", Do: "look here"}}
	require.Equal(t, kept+"pending A", state(extendPlan(old, elsewhere, 2, history("A=1 / A=1"))), "another file is another step")
	require.Equal(t, "b.txt", extendPlan(old, elsewhere, 2, nil)[4].File)
	next := extendPlan(old, planned, 2, nil)
	require.Equal(t, 5, next[4].Number)
	require.Equal(t, 2, next[4].Iteration)
}

func TestNeedsReview(t *testing.T) {
	t.Parallel()
	done := []Step{{Number: 1, Tool: "A", State: StepDone}, {Number: 2, Tool: NoTool, State: StepDone}, {Number: 3, Tool: "B", State: StepDropped}}
	failed := []Step{{Number: 1, Tool: "A", State: StepFailed}}
	pending := append(slices.Clone(done), Step{Number: 4, Tool: "A", State: StepPending})
	call := func(result string) Call {
		return Call{Step: 1, Tool: "A", Outcome: Outcome{Result: json.RawMessage(result)}}
	}
	bad := call(`{}`)
	bad.Error = &CallError{Kind: "failed"}
	for _, test := range []struct {
		name  string
		plan  []Step
		calls []Call
		want  bool
	}{
		{"whole result", done, []Call{call(`{"rows":[[0]],"truncated":false,"at_end":true}`)}, false},
		{"repaired call", done, []Call{bad, call(`{"text":"x"}`)}, false},
		{"cut result", done, []Call{call(`{"rows":[[0]],"truncated":true}`)}, true},
		{"part of a file", done, []Call{call(`{"content":"x","at_end":false}`)}, true},
		{"nothing found", done, []Call{call(`{"matches":[]}`)}, true},
		{"no object", done, []Call{call(``)}, true},
		{"ended by a refused repeat", done, []Call{call(`{}`), bad}, true},
		{"failed step", failed, []Call{bad}, true},
		{"step that is left", pending, []Call{call(`{}`)}, true},
	} {
		require.Equal(t, test.want, needsReview(test.plan, test.calls), test.name)
	}
}

func TestUnfinishedRune(t *testing.T) {
	t.Parallel()
	text := "a é 漢 🦙"
	for i := range len(text) + 1 {
		whole := text[:i-unfinishedRune([]byte(text[:i]))]
		require.True(t, strings.HasPrefix(text, whole))
		require.Equal(t, strings.ToValidUTF8(whole, ""), whole)
		require.Less(t, i-len(whole), 4)
	}
	require.Zero(t, unfinishedRune([]byte("\x80\x80\x80\x80")), "stray bytes are not waited for")
}

func TestParseFailureReadsItsOwnText(t *testing.T) {
	t.Parallel()
	for _, kind := range failureKinds {
		f := &Failure{Node: "executor", Kind: kind, Message: "rate limit: model: slow"}
		require.Equal(t, f, parseFailure("executor", f.Error()))
	}
	require.Equal(t, KindInternal, parseFailure("executor", "panic: boom").Kind)
}

func TestBudgetOfARetryBeginsAnew(t *testing.T) {
	t.Parallel()
	c := counters{spent: spent{Iterations: 6, Calls: 24, ElapsedMS: 1000}}.excuse()
	require.Zero(t, c.iterations()+c.calls()+int(c.elapsed()))
	c.Calls++
	require.Equal(t, 1, c.calls())
	require.Equal(t, 25, c.Calls)

	var back counters
	require.NoError(t, json.Unmarshal([]byte(compactJSON(c)), &back))
	require.Equal(t, c, back, "as it is stored")
}
