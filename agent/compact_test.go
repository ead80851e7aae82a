package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/agent"
	"github.com/llama-agent/llama-agent/graph/checkpoint"
	"github.com/llama-agent/llama-agent/lifecycle"
)

// unsent is a task that reads scrolls a, b, … of so many words, with no model call between the calls, so that the model has seen none
// of them when the review comes.
func unsent(t *testing.T, l *agent.Lifecycle, change func(*agent.Config), words ...int) (*rig, *agent.Report, []string) {
	t.Helper()
	var steps, names []string
	for i := range words {
		names = append(names, string(rune('a'+i)))
		steps = append(steps, "read|look|"+names[i])
	}
	r := counted(t, l, change, plan(steps...), review("done"), answer("read"))
	for i, n := range words {
		r.texts[names[i]] = scroll(names[i], n)
	}
	report := r.run("Goal.")
	require.Equal(t, agent.StatusDone, report.Status)
	return r, report, names
}

// reviewed tells what the review saw whole of a task by [unsent].
func reviewed(r *rig, names []string) string {
	return strings.Join(wholeIn(r.asked(askReview).flat(false), names...), "")
}

func TestCompactionTrigger(t *testing.T) {
	t.Parallel()
	const both = 2 * (100 + resultTokens)
	for _, c := range []struct {
		name   string
		change func(*agent.Lifecycle)
		whole  string
	}{
		{"results as large as the trigger stay", func(l *agent.Lifecycle) { l.TriggerTokens = both }, "ab"},
		{"a token less compacts", func(l *agent.Lifecycle) { l.TriggerTokens = both - 1 }, "b"},
		{"the share of the budget is the trigger where it is smaller", func(l *agent.Lifecycle) {
			l.TriggerTokens, l.BudgetTokens, l.TriggerRatio = both+100, 2*both, 0.5
		}, "ab"},
		{"a token less of it compacts", func(l *agent.Lifecycle) {
			l.TriggerTokens, l.BudgetTokens, l.TriggerRatio = both+100, 2*both-2, 0.5
		}, "b"},
		{"what is kept for the reply is not of the budget", func(l *agent.Lifecycle) {
			l.TriggerTokens, l.BudgetTokens, l.TriggerRatio, l.ReservedTokens = both+100, 2*both+1000, 0.5, 1000
		}, "ab"},
		{"a token more of it compacts", func(l *agent.Lifecycle) {
			l.TriggerTokens, l.BudgetTokens, l.TriggerRatio, l.ReservedTokens = both+100, 2*both+1000, 0.5, 1002
		}, "b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := tight(openRecords(t))
			c.change(l)
			r, _, names := unsent(t, l, nil, 100, 100)
			require.Equal(t, c.whole, reviewed(r, names))
			if c.whole == "ab" {
				require.Empty(t, contextEvents(r.events))
				return
			}
			data := lastEvent(t, r.events[:slices.IndexFunc(r.events, isReview)], agent.EventContextCompacted)
			require.Equal(t, both, data["tokens_before"])
			require.Less(t, data["tokens_after"], both)
			require.Equal(t, len(scroll("a", 100))+len(scroll("b", 100)), data["bytes_before"])
			require.Equal(t, 1, data["records"])
		})
	}
}

func isReview(e agent.Event) bool {
	n, ok := e.(agent.NodeStarted)
	return ok && n.Node == "reflector"
}

// The history of the conversation takes of the budget that results have.
func TestHistoryTakesOfTheBudgetOfResults(t *testing.T) {
	t.Parallel()
	const both, history = 2 * (100 + resultTokens), 500
	for _, budget := range []int{both + history, both + history - 1} {
		l := tight(openRecords(t))
		l.TriggerTokens, l.BudgetTokens = 100_000, budget
		r := counted(t, l, nil, plan("read|look|a", "read|look|b"), review("done"), answer("read"))
		r.texts["a"], r.texts["b"] = scroll("a", 100), scroll("b", 100)
		_, err := r.runner.Run(t.Context(), agent.Task{
			Goal: "Goal.", Owner: "c", Turn: 2, Background: agent.Background{History: []agent.Turn{{Number: 1, Goal: "x", Answer: "y", Tokens: history}}},
		})
		require.NoError(t, err)
		want := "ab"
		if budget < both+history {
			want = "b"
		}
		require.Equal(t, want, reviewed(r, []string{"a", "b"}))
	}
}

// Results must fit the model's context too, whatever the budget.
func TestContextOfTheModelBoundsTheBudget(t *testing.T) {
	t.Parallel()
	l := tight(openRecords(t))
	l.TriggerTokens, l.ReservedTokens = 100_000, 100
	size := 1200
	r, _, names := unsent(t, l, func(c *agent.Config) {
		c.Model = sizedModel{c.Model.(sizedModel).fakeModel, size}
		c.Limits.MaxTokens = 50
	}, 400, 400, 100)
	require.NotEqual(t, "abc", reviewed(r, names))
	data := lastEvent(t, r.events, agent.EventContextCompacted)
	require.Less(t, data["budget_tokens"], size-100)
	require.Positive(t, data["budget_tokens"])
}

func TestOnlyLargeResultsAreCompacted(t *testing.T) {
	t.Parallel()
	bytes := len(scroll("a", 100))
	for min, whole := range map[int]string{bytes - 1: "b", bytes: "b", bytes + 1: "ab"} {
		l := tight(openRecords(t))
		l.MinCompactionBytes = min
		r, _, names := unsent(t, l, nil, 100, 100)
		require.Equal(t, whole, reviewed(r, names), "a minimum of %d bytes", min)
		if whole == "ab" {
			require.Equal(t, lifecycle.NothingEligible, lastEvent(t, r.events, agent.EventContextCompactionSkipped)["reason"])
			list, err := l.Records.List(t.Context(), thread, lifecycle.ListOptions{})
			require.NoError(t, err)
			require.Empty(t, list, "what is never compacted is not stored")
		}
	}
}

func TestOnlyWhatSavesEnoughIsCompacted(t *testing.T) {
	t.Parallel()
	r, _, _ := unsent(t, tight(openRecords(t)), nil, 100, 100)
	data := lastEvent(t, r.events[:slices.IndexFunc(r.events, isReview)], agent.EventContextCompacted)
	saved := float64(data["bytes_before"].(int)-data["bytes_after"].(int)) / float64(len(scroll("a", 100)))
	require.Greater(t, saved, 0.5)
	for _, c := range []struct {
		ratio float64
		whole string
	}{{saved - 1e-9, "b"}, {saved + 1e-9, "ab"}} {
		l := tight(openRecords(t))
		l.MinCompactionRatio = c.ratio
		r, _, names := unsent(t, l, nil, 100, 100)
		require.Equal(t, c.whole, reviewed(r, names), "a ratio of %v", c.ratio)
	}
}

func TestTheNewestResultsStayWhole(t *testing.T) {
	t.Parallel()
	for hot, whole := range map[int]string{0: "d", 1: "d", 2: "cd", 3: "cd", 4: "cd"} {
		l := tight(openRecords(t))
		l.HotRecords, l.TriggerTokens = hot, 500
		r, _, names := unsent(t, l, nil, 120, 120, 120, 120)
		require.Equal(t, whole, reviewed(r, names), "%d hot records: no more than fit three quarters of the trigger with the summaries of the others", hot)
	}
}

// What the model has read is only given up when the prompt gets shorter by more than must be read again.
func TestResultsThatWereReadAreCompactedOnlyWhenItPays(t *testing.T) {
	t.Parallel()
	run := func(change func(*agent.Lifecycle)) *rig {
		l := tight(openRecords(t))
		change(l)
		// Without a file in the plan the model is asked for the arguments of each call, and so reads the results before.
		r := counted(t, l, nil, plan("read|look", "read on|look"), args(`{"at":"a"}`), args(`{"at":"b"}`), review("done"), answer("read"))
		r.texts["a"], r.texts["b"] = scroll("a", 100), scroll("b", 100)
		r.run("Goal.")
		return r
	}
	r := run(func(*agent.Lifecycle) {})
	require.Equal(t, "ab", reviewed(r, []string{"a", "b"}))
	require.Equal(t, lifecycle.Prefill, lastEvent(t, r.events, agent.EventContextCompactionSkipped)["reason"])
	requirePrefixes(t, r.model.questions())

	const both = 2 * (100 + resultTokens)
	r = run(func(l *agent.Lifecycle) { l.BudgetTokens = both })
	require.Equal(t, "ab", reviewed(r, []string{"a", "b"}), "it fits the budget exactly")
	r = run(func(l *agent.Lifecycle) { l.BudgetTokens = both - 1 })
	require.Equal(t, "b", reviewed(r, []string{"a", "b"}), "beyond the budget it is compacted whatever it costs")
	requirePrefixes(t, r.model.questions()[:3])
}

// Behind a change everything is read again, so that a further result costs nothing there.
func TestWhatStandsBehindACompactionIsNotRead(t *testing.T) {
	t.Parallel()
	l := tight(openRecords(t))
	l.HotRecords, l.TriggerTokens, l.BudgetTokens, l.SummaryChars = 2, 240, 245, 80
	r := counted(t, l, nil, plan("read|look", "read on|look", "read all|look", "read|look|d"), args(`{"at":"a"}`), args(`{"at":"b"}`), args(`{"at":"c"}`), review("done"), answer("read"))
	for name, n := range map[string]int{"a": 100, "b": 60, "c": 60, "d": 60} {
		r.texts[name] = scroll(name, n)
	}
	r.run("Goal.")
	compacted := []int{}
	for _, e := range eventsOf[agent.ContextEvent](r.events) {
		if e.Name == agent.EventContextCompacted {
			compacted = append(compacted, e.Data["records"].(int))
		}
	}
	require.Equal(t, []int{1, 2}, compacted, "the first because the budget is exceeded, the second because it is free then: %v", r.events)
	require.Equal(t, []string{"d"}, wholeIn(r.asked(askReview).flat(false), "a", "b", "c", "d"))
}

// Nothing is compacted after the answer: there is no prompt any more.
func TestNothingIsCompactedAfterTheAnswer(t *testing.T) {
	t.Parallel()
	r, _, _ := unsent(t, tight(openRecords(t)), nil, 100, 100)
	last := slices.IndexFunc(r.events, func(e agent.Event) bool { n, ok := e.(agent.NodeStarted); return ok && n.Node == "finalizer" })
	require.Empty(t, contextEvents(r.events[last:]))
	require.NotEmpty(t, contextEvents(r.events[:last]))
}

// Three results that no prompt showed are compacted for nothing, and pay for a summary of the one before that was read.
func TestGainPaysForWhatWasRead(t *testing.T) {
	t.Parallel()
	l := tight(openRecords(t))
	l.TriggerTokens = 260
	r := counted(t, l, nil,
		plan("read|look|a"), review("continue", "more"), plan("read|look|b", "read|look|c"), review("done"), answer("read"))
	for _, name := range []string{"a", "b", "c"} {
		r.texts[name] = scroll(name, 100)
	}
	r.run("Goal.")
	var reviews []question
	for _, q := range r.model.questions() {
		if q.kind == askReview {
			reviews = append(reviews, q)
		}
	}
	require.Equal(t, []string{"a"}, wholeIn(reviews[0].flat(false), "a", "b", "c"))
	require.Equal(t, []string{"c"}, wholeIn(reviews[1].flat(false), "a", "b", "c"))
}

func TestReasonsOfOldReviewsGoWithACompaction(t *testing.T) {
	t.Parallel()
	reason := func(n int) reply {
		return reply{ask: askReview, text: mustJSON(map[string]any{
			"decision": "continue", "missing": []string{fmt.Sprintf("part %d", n)}, "reason": fmt.Sprintf("because-%d", n),
		})}
	}
	for hot, want := range map[int][]string{0: {}, 1: {"because-3"}, 2: {"because-2", "because-3"}, 5: {"because-1", "because-2", "because-3"}} {
		l := tight(openRecords(t))
		l.HotNotes, l.TriggerTokens, l.BudgetTokens = hot, 440, 440
		r := counted(t, l, nil,
			plan("read|look|a"), reason(1), plan("read|look|b"), reason(2), plan("read|look|c"), reason(3), plan("read|look|d"), review("done"), answer("read"))
		for _, name := range []string{"a", "b", "c", "d"} {
			r.texts[name] = scroll(name, 101)
		}
		r.run("Goal.")
		questions := r.model.questions()
		last := questions[len(questions)-2]
		require.Equal(t, askReview, last.kind)
		prompt := last.flat(false)
		require.NotContains(t, prompt, "secret-a", "the budget was exceeded")
		got := []string{}
		for n := 1; n <= 3; n++ {
			require.Contains(t, prompt, fmt.Sprintf(`"missing":["part %d"]`, n), "what a review missed stays")
			if name := fmt.Sprintf("because-%d", n); strings.Contains(prompt, name) {
				got = append(got, name)
			}
		}
		require.Equal(t, want, got, "%d hot notes", hot)
		requirePrefixes(t, questions[:len(questions)-2])
	}
}

// nosySaver keeps all that it is told to store.
type nosySaver struct {
	*checkpoint.Memory
	mu     sync.Mutex
	stored []string
}

func (s *nosySaver) FinishEffect(ctx context.Context, lease string, key checkpoint.EffectKey, result []byte) error {
	s.mu.Lock()
	s.stored = append(s.stored, string(result))
	s.mu.Unlock()
	return s.Memory.FinishEffect(ctx, lease, key, result)
}

func (s *nosySaver) Save(ctx context.Context, boundaries ...checkpoint.Boundary) error {
	s.mu.Lock()
	s.stored = append(s.stored, mustJSON(boundaries))
	s.mu.Unlock()
	return s.Memory.Save(ctx, boundaries...)
}

func TestCheckpointsHoldNoLargeText(t *testing.T) {
	t.Parallel()
	for _, compacts := range []bool{true, false} {
		saver := &nosySaver{Memory: checkpoint.NewMemory()}
		l := tight(openRecords(t))
		l.CompactsCheckpoints = compacts
		r, report, names := unsent(t, l, func(c *agent.Config) { c.Saver = saver }, 500, 500, 500)
		for b, err := range r.runner.History(t.Context(), thread) {
			require.NoError(t, err)
			state := mustJSON(b.State)
			if compacts {
				require.NotContains(t, state, "secret-")
			} else if b.Status == agent.StatusDone {
				require.Equal(t, 2*3, strings.Count(state, "secret-"), "text and object of each")
			}
		}
		if compacts {
			require.NotContains(t, strings.Join(saver.stored, "\n"), "secret-", "nor does anything else that is stored of the task")
		}
		for i, name := range names {
			want, err := json.Marshal(map[string]any{"text": scroll(name, 500)})
			require.NoError(t, err)
			require.Equal(t, string(want), string(report.Calls[i].Result), "the report has the whole")
		}
		again, err := r.runner.Resume(t.Context(), thread, agent.ResumeOptions{})
		require.NoError(t, err)
		require.Equal(t, mustJSON(report), mustJSON(again))
	}
}

// A call that watches something gives another large result each time; each stays what it was.
func TestResultsOfEqualCallsAreKeptApart(t *testing.T) {
	t.Parallel()
	l := tight(openRecords(t))
	l.TriggerTokens = 100_000
	r := counted(t, l, nil,
		plan("read|look|a"), review("continue", "again"), plan("read again|look|a"), review("continue", "again"), plan("read once more|look|a"), review("done"), answer("read"))
	r.texts["a"] = scroll("first", 100)
	looks := 0
	r.hold = func(context.Context, string) error {
		looks++
		r.texts["a"] = scroll([]string{"first", "second", "third"}[looks-1], 100)
		return nil
	}
	report := r.run("Goal.")
	require.Len(t, report.Calls, 3)
	require.Empty(t, eventsOf[agent.ContextEvent](r.events), "nothing is lost")
	for i, name := range []string{"first", "second", "third"} {
		require.Contains(t, string(report.Calls[i].Result), "secret-"+name)
	}
	last := r.model.questions()[len(r.model.questions())-1]
	require.Equal(t, []string{"first", "second", "third"}, wholeIn(last.flat(false), "first", "second", "third"))
	requirePrefixes(t, r.model.questions())
}

// What the state holds of a result decides nothing: with and without a lifecycle context a plan is trusted alike.
func TestAPlanIsTrustedWhateverTheCheckpointsHold(t *testing.T) {
	t.Parallel()
	for name, ends := range map[string][]string{"a": {askPlan, askAnswer}, "lost": {askPlan, askChoice, askReview, askAnswer}} {
		for _, l := range []*agent.Lifecycle{nil, tight(openRecords(t))} {
			r := counted(t, l, func(c *agent.Config) { c.TrustPlan = true })
			r.model.always = map[string]reply{
				askPlan: plan("read|look|" + name), askAnswer: answer("read"), askReview: review("failed"), askChoice: choose("none"),
			}
			r.texts["a"] = scroll("a", 500)
			r.run("Goal.")
			require.Equal(t, ends, r.model.kinds(), "%s, %v", name, l != nil)
		}
	}
}
