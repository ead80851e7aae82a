package agent_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/agent"
	"github.com/llama-agent/llama-agent/lifecycle"
)

// said are turns in which the user says these things, each of so many tokens.
func said(tokens int, texts ...string) []agent.Turn {
	turns := make([]agent.Turn, len(texts))
	for i, text := range texts {
		turns[i] = agent.Turn{Number: i + 1, Goal: text, Answer: "Noted.", Tokens: tokens}
	}
	return turns
}

// chat is what a conversation of so many turns about nothing says.
func chat(n int) []string {
	texts := make([]string, n)
	for i := range texts {
		texts[i] = fmt.Sprintf("chatter number %d", i+1)
	}
	return texts
}

func numbers(turns []agent.Turn) []int {
	out := []int{}
	for _, t := range turns {
		out = append(out, t.Number)
	}
	return out
}

// remember puts turns into the store of a rig, as if they had ended.
func (r *rig) remember(owner string, turns ...agent.Turn) {
	r.t.Helper()
	for _, turn := range turns {
		require.NoError(r.t, r.runner.Remember(r.t.Context(), owner, turn))
	}
}

func names(events []agent.Event) []string { return contextEvents(events) }

func TestWithoutALifecycleTheNewestTurnsAreShown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		turns, tokens int
		want          []int
	}{
		{8, 1000, []int{1, 2, 3, 4, 5}},
		{5, 500, []int{1, 2, 3, 4, 5}},
		{4, 500, []int{2, 3, 4, 5}},
		{5, 499, []int{2, 3, 4, 5}},
		{8, 200, []int{4, 5}},
		{8, 199, []int{5}},
		{8, 99, []int{}},
		{0, 1000, []int{}},
	} {
		r := newRig(t, func(config *agent.Config) { config.History = agent.HistoryLimits{Turns: c.turns, Tokens: c.tokens} })
		b, events := r.runner.Project(t.Context(), "c", "x", said(100, chat(5)...))
		require.Equal(t, c.want, numbers(b.History), "%d turns, %d tokens", c.turns, c.tokens)
		require.Empty(t, b.Recalled)
		if len(c.want) == 5 {
			require.Empty(t, events)
			continue
		}
		require.Equal(t, []agent.Event{agent.ContextEvent{Name: agent.EventContextBudgetApplied, Data: map[string]any{
			"turns": 5, "turns_shown": len(c.want), "tokens_before": 500, "tokens_after": 100 * len(c.want),
		}}}, events)
	}
}

// A turn that does not fit hides those before it, so that what is shown has no hole.
func TestATurnThatIsTooLargeHidesThoseBeforeIt(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *agent.Config) { c.History = agent.HistoryLimits{Turns: 8, Tokens: 250} })
	turns := said(100, chat(4)...)
	turns[1].Tokens = 251
	b, _ := r.runner.Project(t.Context(), "c", "x", turns)
	require.Equal(t, []int{3, 4}, numbers(b.History))
}

func TestTokensOfATurnAreCountedWhenTheyAreNotKnown(t *testing.T) {
	t.Parallel()
	r := counted(t, agent.DefaultLifecycle(openRecords(t)), nil)
	turns := []agent.Turn{{Number: 1, Goal: "one two three", Answer: "four five"}}
	b, _ := r.runner.Project(t.Context(), "c", "x", turns)
	require.Equal(t, len(strings.Fields("Task: one two three four five"))+2*4, b.History[0].Tokens)
}

func TestActivation(t *testing.T) {
	t.Parallel()
	l := agent.DefaultLifecycle(openRecords(t))
	l.HotTurns = 2
	r := counted(t, l, nil)
	turns := said(100, chat(5)...)
	l.ActivationTokens = 500
	b, events := r.runner.Project(t.Context(), "c", "x", turns)
	require.Equal(t, []int{1, 2, 3, 4, 5}, numbers(b.History))
	require.Empty(t, events)
	l.ActivationTokens = 499
	b, events = r.runner.Project(t.Context(), "c", "x", turns)
	require.Equal(t, []int{4, 5}, numbers(b.History))
	require.Equal(t, []string{agent.EventContextBudgetApplied}, names(events))
	l.HotTurns, l.BudgetTokens, l.ReservedTokens = 5, 1100, 700
	b, _ = r.runner.Project(t.Context(), "c", "x", turns)
	require.Equal(t, []int{2, 3, 4, 5}, numbers(b.History), "hot turns too must fit the budget without what is kept for the reply")
}

// The window moves in jumps, so that most prompts begin like the one before.
func TestTheWindowJumps(t *testing.T) {
	t.Parallel()
	l := agent.DefaultLifecycle(openRecords(t))
	l.HotTurns, l.ActivationTokens = 2, 400
	r := counted(t, l, nil)
	var first []int
	for n := 1; n <= 9; n++ {
		b, _ := r.runner.Project(t.Context(), "c", "x", said(100, chat(n)...))
		first = append(first, b.History[0].Number)
	}
	require.Equal(t, []int{1, 1, 1, 1, 4, 4, 4, 7, 7}, first)
}

// recalling makes a conversation whose last turn alone is shown, so that all others can only be recalled.
func recalling(t *testing.T, change func(*agent.Lifecycle), texts ...string) (*rig, []agent.Turn) {
	t.Helper()
	l := agent.DefaultLifecycle(openRecords(t))
	l.HotTurns, l.ActivationTokens = 1, 150
	if change != nil {
		change(l)
	}
	r := counted(t, l, nil)
	turns := said(100, texts...)
	r.remember("c", turns...)
	return r, turns
}

func recalledTurns(b agent.Background) []int {
	out := []int{}
	for _, q := range b.Recalled {
		out = append(out, q.Turn)
	}
	return out
}

func TestRecallTakesTheBest(t *testing.T) {
	t.Parallel()
	texts := []string{"The harbour master is Olga.", "What is a harbour?", "The harbour has 14 cranes and pier 7.", "Rain again.", "Nothing else."}
	// A statement without a word in common is worth more than a question that only has the commonest word.
	for k, want := range map[int][]int{0: {}, 1: {3}, 2: {1, 3}, 3: {1, 3, 4}, 4: {1, 2, 3, 4}} {
		r, turns := recalling(t, func(l *agent.Lifecycle) { l.RecallRecords = k }, texts...)
		b, events := r.runner.Project(t.Context(), "c", "How many cranes has the harbour?", turns)
		require.Equal(t, []int{5}, numbers(b.History))
		require.Equal(t, want, recalledTurns(b), "the best %d, in the order of time", k)
		if k == 0 {
			require.Equal(t, []string{agent.EventContextBudgetApplied}, names(events))
		} else {
			require.Equal(t, []string{agent.EventContextBudgetApplied, agent.EventContextRecalled}, names(events))
			require.Equal(t, k, lastEvent(t, events, agent.EventContextRecalled)["records"])
		}
	}
}

func TestRecallFitsItsTokens(t *testing.T) {
	t.Parallel()
	const goal = "How many cranes has the harbour?"
	texts := []string{"The harbour has 14 cranes and pier 7.", "Rain again.", "Rain again?"}
	recall := func(tokens int) (agent.Background, []agent.Event) {
		r, turns := recalling(t, func(l *agent.Lifecycle) { l.RecallRecords, l.RecallTokens = 1, tokens }, texts...)
		return r.runner.Project(t.Context(), "c", goal, turns)
	}
	b, events := recall(1000)
	require.Equal(t, []int{1}, recalledTurns(b))
	need := lastEvent(t, events, agent.EventContextRecalled)["tokens"].(int)
	require.Positive(t, need)
	b, _ = recall(need)
	require.Equal(t, []int{1}, recalledTurns(b))
	b, _ = recall(need - 1)
	require.NotContains(t, recalledTurns(b), 1, "what does not fit is left out whole")
}

// The prompt has the newest statement last, also when it is among the turns that are shown anyway.
func TestALaterCorrectionStandsBehindWhatIsRecalled(t *testing.T) {
	t.Parallel()
	texts := []string{"The deploy port of Heron is 8472.", "Rain again.", "I was wrong: the deploy port of Heron is 9031."}
	r, turns := recalling(t, nil, texts...)
	b, _ := r.runner.Project(t.Context(), "c", "Which deploy port has Heron?", turns)
	require.Equal(t, []int{3}, numbers(b.History))
	require.Equal(t, []int{1, 2, 3}, recalledTurns(b), "%v", b.Recalled)
	require.Contains(t, b.Recalled[len(b.Recalled)-1].Text, "9031")

	r, turns = recalling(t, nil, "The deploy port of Heron is 8472.", "Rain again.", "Lunch was good.")
	b, _ = r.runner.Project(t.Context(), "c", "Which deploy port has Heron?", turns)
	require.NotContains(t, recalledTurns(b), 3, "what has nothing to do with it is not quoted twice")

	r, turns = recalling(t, nil, "The deploy port of Heron is 8472.", "Rain again.", "The deploy port of Heron is 9031. "+strings.Repeat("x", 420))
	b, _ = r.runner.Project(t.Context(), "c", "Which deploy port has Heron?", turns)
	require.NotContains(t, recalledTurns(b), 3, "a long turn is not quoted twice")
}

// When not even the newest turn fits the budget, all can be recalled.
func TestATurnLargerThanTheBudgetCanBeRecalled(t *testing.T) {
	t.Parallel()
	r, turns := recalling(t, nil, "Rain again?", "The harbour has 14 cranes.")
	turns[1].Tokens = 20_000
	b, _ := r.runner.Project(t.Context(), "c", "How many cranes has the harbour?", turns)
	require.Empty(t, b.History)
	require.Equal(t, []int{2}, recalledTurns(b))
}

func TestEvidenceOfOldTurnsIsRecalled(t *testing.T) {
	t.Parallel()
	r, turns := recalling(t, nil, "Who owes us?", "Rain again?", "Lunch.")
	turns[0].Entries = []agent.Entry{
		{Call: &agent.Call{Step: 1, Tool: "look", Arguments: []byte(`{"at":"ledger"}`), Outcome: agent.Outcome{Text: "balance of Quandt: 412 EUR"}}},
		{Call: &agent.Call{Step: 1, Tool: "look", Arguments: []byte(`{"at":"lost"}`), Outcome: agent.Outcome{Text: "there is no Quandt", Error: &agent.CallError{Kind: "not_found", Message: "there is no Quandt"}}}},
	}
	r.remember("c", turns[0])
	b, _ := r.runner.Project(t.Context(), "c", "What is the balance of Quandt?", turns)
	require.Len(t, b.Recalled, 1, "%v", b.Recalled)
	q := b.Recalled[0]
	require.Equal(t, 1, q.Turn)
	require.Equal(t, `look {"at":"ledger"}`, q.Tool)
	require.True(t, strings.HasPrefix(q.Ref, lifecycle.Scheme))
	require.Equal(t, "balance of Quandt: 412 EUR", q.Text)
}

func TestAnotherConversationIsNotRecalled(t *testing.T) {
	t.Parallel()
	r, turns := recalling(t, nil, chat(3)...)
	r.remember("another", said(1, "The harbour has 14 cranes.")...)
	b, _ := r.runner.Project(t.Context(), "c", "How many cranes has the harbour?", turns)
	for _, q := range b.Recalled {
		require.NotContains(t, q.Text, "cranes")
	}
}

// A long conversation has more records than are weighed at once; what a search finds is weighed in any case.
func TestRecallInALongConversation(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("stores thousands of records")
	}
	store := openRecords(t)
	l := agent.DefaultLifecycle(store)
	l.HotTurns, l.ActivationTokens = 1, 150
	r := counted(t, l, nil)
	texts := chat(2105)
	texts[2], texts[2100] = "The harbour master is Olga.", "The harbour has 14 cranes."
	turns := said(100, texts...)
	r.remember("c", turns...)
	b, _ := r.runner.Project(t.Context(), "c", "cranes", turns)
	require.Contains(t, recalledTurns(b), 2101)
	b, _ = r.runner.Project(t.Context(), "c", "master", turns)
	require.Contains(t, recalledTurns(b), 3)
	b, _ = r.runner.Project(t.Context(), "c", "zzz", turns)
	require.Equal(t, []int{2102, 2103, 2104}, recalledTurns(b), "of what has no word in common the newest")
}

func TestRememberingAgainChangesNothing(t *testing.T) {
	t.Parallel()
	store := openRecords(t)
	r := counted(t, agent.DefaultLifecycle(store), nil)
	turn := agent.Turn{Number: 4, Goal: "Look.", Answer: "Seen.", Entries: []agent.Entry{
		{Call: &agent.Call{Tool: "look", Arguments: []byte(`{}`), Outcome: agent.Outcome{Text: "twelve"}}},
		{Call: &agent.Call{Tool: "look", Arguments: []byte(`{"at":"x"}`), Outcome: agent.Outcome{Text: "in the store already", Record: "memory://0000000000000"}}},
	}}
	r.remember("c", turn, turn)
	list, err := store.List(t.Context(), "c", lifecycle.ListOptions{WithText: true})
	require.NoError(t, err)
	require.Len(t, list, 2)
	require.Equal(t, "User: Look.\nAnswer: Seen.", list[0].Text)
	require.Equal(t, "twelve", list[1].Text)
	require.EqualValues(t, 4, list[0].Order)

	plain := newRig(t, nil)
	require.NoError(t, plain.runner.Remember(t.Context(), "c", turn), "without a lifecycle it does nothing")
}

func TestProjectWithABrokenStore(t *testing.T) {
	t.Parallel()
	for _, operation := range []string{"List", "Search"} {
		broken := &brokenRecords{Records: openRecords(t)}
		l := agent.DefaultLifecycle(broken)
		l.HotTurns, l.ActivationTokens = 1, 150
		r := counted(t, l, nil)
		turns := said(100, "The harbour has 14 cranes.", "Rain.", "Lunch.")
		r.remember("c", turns...)
		broken.failing(operation, errBroken)
		b, events := r.runner.Project(t.Context(), "c", "How many cranes?", turns)
		require.Equal(t, []int{3}, numbers(b.History), "the turns are shown all the same")
		require.Empty(t, b.Recalled)
		require.Equal(t, []string{agent.EventContextBudgetApplied, agent.EventContextStoreError}, names(events))
		require.Contains(t, lastEvent(t, events, agent.EventContextStoreError)["error"], errBroken.Error())
	}
}

// However small the context is: what is remembered, the task and the newest turn that fits are there.
func TestAHistoryLargerThanTheContext(t *testing.T) {
	t.Parallel()
	r := counted(t, nil, func(c *agent.Config) {
		c.Model, c.Limits.MaxTokens = sizedModel{c.Model.(sizedModel).fakeModel, 950}, 50
	}, plan("read|look|a"), review("done"), answer("fine"))
	r.texts["a"] = scroll("a", 50)
	background := agent.Background{
		History: []agent.Turn{
			{Number: 1, Goal: "first " + scroll("one", 300), Answer: "Noted.", Tokens: 310},
			{Number: 2, Goal: "second " + scroll("two", 300), Answer: "Noted.", Tokens: 310},
			{Number: 3, Goal: "third", Answer: "Noted.", Tokens: 10},
		},
		Recalled: []agent.Recalled{{Turn: 1, Text: "quoted"}},
	}
	memories := agent.Facts{Remembered: []string{"name: Bruno"}}
	report, err := r.runner.Run(t.Context(), agent.Task{Goal: "And now?", Owner: "c", Turn: 4, Background: background, Facts: memories, Observe: r.observe})
	require.NoError(t, err)
	require.Equal(t, agent.StatusDone, report.Status, "%v", report.Error)
	for _, q := range r.model.questions() {
		prompt := q.flat(false)
		require.NotContains(t, prompt, "secret-one", "the oldest turn goes first")
		for _, part := range []string{"third", "quoted", "name: Bruno", "Task: And now?"} {
			require.Contains(t, prompt, part)
		}
	}
	require.Len(t, report.Notes, 1)
	require.Contains(t, report.Notes[0], "context is full (950 tokens)")
	require.Regexp(t, `the oldest (\d turns|turn) of the conversation`, report.Notes[0])
	requirePrefixes(t, r.model.questions())
	require.Contains(t, r.asked(askReview).flat(false), "secret-a", "results are of more use than old turns")
}

// What is remembered stays when there is room for nothing else, and what does not fit then is an error with counts.
func TestMemoriesAreNeverDropped(t *testing.T) {
	t.Parallel()
	var memories []string
	for i := range 20 {
		memories = append(memories, fmt.Sprintf("fact %d: it is %d", i, 7000+i))
	}
	sent := 0
	for size := 200; size < 1100; size += 25 {
		r := counted(t, nil, func(c *agent.Config) {
			c.Model, c.Limits.MaxTokens = sizedModel{c.Model.(sizedModel).fakeModel, size}, 20
		})
		r.model.always = map[string]reply{askPlan: plan("read|look|a"), askReview: review("done"), askAnswer: answer("fine"), askArgs: args(`{"at":"a"}`), askChoice: choose("none")}
		r.texts["a"] = scroll("a", 2000)
		report, err := r.runner.Run(t.Context(), agent.Task{
			Goal: "And now?", Owner: "c", Turn: 2, Facts: agent.Facts{Remembered: memories},
			Background: agent.Background{History: said(0, scroll("one", 200)), Recalled: []agent.Recalled{{Turn: 1, Text: scroll("two", 200)}}},
		})
		require.NoError(t, err)
		for _, q := range r.model.questions() {
			sent++
			for _, m := range memories {
				require.Contains(t, q.flat(false), "- "+m+"\n")
			}
			require.Contains(t, q.flat(false), "Task: And now?")
		}
		if report.Status != agent.StatusDone {
			require.Equal(t, agent.KindContext, report.Error.Kind)
		}
	}
	require.Greater(t, sent, 20)
}

func TestRememberMissingPutsOnlyWhatIsNotThere(t *testing.T) {
	t.Parallel()
	store := openRecords(t)
	broken := &brokenRecords{Records: store}
	r := counted(t, agent.DefaultLifecycle(broken), nil)
	turns := said(100, "The harbour has 14 cranes.", "Rain.", "Lunch.")
	turns[1].Entries = []agent.Entry{{Call: &agent.Call{Tool: "look", Arguments: []byte(`{}`), Outcome: agent.Outcome{Text: "it rains"}}}}
	require.NoError(t, r.runner.RememberMissing(t.Context(), "c", turns))
	all, err := store.List(t.Context(), "c", lifecycle.ListOptions{WithText: true})
	require.NoError(t, err)
	require.Len(t, all, 4)

	broken.failing("Put", errBroken)
	require.NoError(t, r.runner.RememberMissing(t.Context(), "c", turns), "nothing is to be put")
	require.ErrorIs(t, r.runner.RememberMissing(t.Context(), "another", turns[:1]), errBroken)
	broken.failing("Put", nil)
	broken.failing("List", errBroken)
	require.ErrorIs(t, r.runner.RememberMissing(t.Context(), "c", turns), errBroken)
	broken.failing("List", fmt.Errorf("listing: %w", lifecycle.ErrDamaged))
	require.NoError(t, store.RemoveRecord(t.Context(), "c", all[0].Ref))
	require.NoError(t, r.runner.RememberMissing(t.Context(), "c", turns), "what cannot be listed is put")
	broken.failing("List", nil)

	for _, record := range all[1:3] { // a turn and what its call found
		require.NoError(t, store.RemoveRecord(t.Context(), "c", record.Ref))
	}
	turns[2].Answer = "Another answer."
	require.NoError(t, r.runner.RememberMissing(t.Context(), "c", turns))
	again, err := store.List(t.Context(), "c", lifecycle.ListOptions{WithText: true})
	require.NoError(t, err)
	texts := []string{}
	for _, record := range again {
		texts = append(texts, record.Text)
	}
	slices.Sort(texts)
	require.Equal(t, []string{
		"User: Lunch.\nAnswer: Another answer.", "User: Rain.\nAnswer: Noted.", "User: The harbour has 14 cranes.\nAnswer: Noted.", "it rains",
	}, texts)

	plain := newRig(t, nil)
	require.NoError(t, plain.runner.RememberMissing(t.Context(), "c", turns), "without a lifecycle it does nothing")
}
