package agent_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/llama-agent/llama-agent/agent"
	"github.com/llama-agent/llama-agent/lifecycle"
)

// drawTurns makes the turns of a conversation.
func drawTurns(p *rapid.T) []agent.Turn {
	turns := make([]agent.Turn, rapid.IntRange(0, 12).Draw(p, "turns"))
	text := rapid.StringOfN(rapid.RuneFrom([]rune("ab cdéñ漢字.?`\n{}\"0")), 1, 60, -1)
	for i := range turns {
		turns[i] = agent.Turn{Number: i + 1, Goal: "g" + text.Draw(p, "goal"), Answer: rapid.SampledFrom([]string{"", "Noted.", "`{}`"}).Draw(p, "answer")}
		for range rapid.IntRange(0, 2).Draw(p, "calls") {
			turns[i].Entries = append(turns[i].Entries, agent.Entry{Call: &agent.Call{Step: 1, Tool: "look", Arguments: []byte(`{"at":"x"}`), Outcome: agent.Outcome{Text: "r" + text.Draw(p, "result")}}})
		}
	}
	return turns
}

func drawLifecycle(p *rapid.T, records agent.Records) *agent.Lifecycle {
	l := agent.DefaultLifecycle(records)
	l.BudgetTokens = rapid.IntRange(0, 400).Draw(p, "budget")
	l.ReservedTokens = rapid.IntRange(0, 100).Draw(p, "reserved")
	l.ActivationTokens = rapid.IntRange(0, 300).Draw(p, "activation")
	l.HotTurns = rapid.IntRange(0, 5).Draw(p, "hot turns")
	l.HotRecords = rapid.IntRange(0, 5).Draw(p, "hot records")
	l.TriggerTokens = rapid.IntRange(0, 300).Draw(p, "trigger")
	l.MinCompactionBytes = rapid.IntRange(0, 400).Draw(p, "min bytes")
	l.RecallRecords = rapid.IntRange(0, 5).Draw(p, "recall")
	l.RecallTokens = rapid.IntRange(0, 200).Draw(p, "recall tokens")
	l.SummaryChars = rapid.IntRange(0, 200).Draw(p, "summary")
	return l
}

// inOrder returns a system with one of a kind per draw.
func countWords(turns []agent.Turn) int {
	n := 0
	for _, t := range turns {
		n += t.Tokens
	}
	return n
}

func TestProjectionProperties(t *testing.T) {
	t.Parallel()
	store := openRecords(t)
	draw := 0
	rapid.Check(t, func(p *rapid.T) {
		draw++
		owner := fmt.Sprintf("c-%d", draw)
		l := drawLifecycle(p, store)
		r := counted(t, l, nil)
		turns := drawTurns(p)
		r.remember(owner, turns...)
		goal := "a" + rapid.StringOfN(rapid.RuneFrom([]rune("abcd 漢字")), 0, 20, -1).Draw(p, "asked")
		b, events := r.runner.Project(t.Context(), owner, goal, turns)

		require.LessOrEqual(p, countWords(b.History), max(0, l.BudgetTokens-l.ReservedTokens), "the history is within the budget")
		require.Equal(p, turns[len(turns)-len(b.History):], append([]agent.Turn{}, b.History...), "the newest turns, whole")
		older := 0
		for i, q := range b.Recalled {
			if i > 0 {
				require.GreaterOrEqual(p, q.Turn, b.Recalled[i-1].Turn, "in the order of time")
			}
			if len(b.History) == 0 || q.Turn < b.History[0].Number {
				older++
			}
		}
		require.LessOrEqual(p, older, l.RecallRecords)
		if len(b.History) == len(turns) {
			require.Empty(p, events)
		}
		again, _ := r.runner.Project(t.Context(), owner, goal, turns)
		require.Equal(p, mustJSON(b), mustJSON(again), "the same input gives the same bytes")
	})
}

// Tasks in conversations with any limits: the strict model refuses nothing, what is remembered is always there, and prompts continue each
// other except where something was compacted or left out.
func TestConversationProperties(t *testing.T) {
	t.Parallel()
	store := openRecords(t)
	draw := 0
	rapid.Check(t, func(p *rapid.T) {
		draw++
		owner := fmt.Sprintf("c-%d", draw)
		size := rapid.IntRange(250, 3000).Draw(p, "context")
		l := drawLifecycle(p, store)
		var steps []string
		script := []reply{}
		results := rapid.SliceOfN(rapid.IntRange(1, 120), 1, 6).Draw(p, "results")
		asked := rapid.Bool().Draw(p, "asked for arguments")
		for i := range results {
			if asked {
				steps = append(steps, fmt.Sprintf("read %d|look", i))
				script = append(script, args(fmt.Sprintf(`{"at":"%d"}`, i)))
			} else {
				steps = append(steps, fmt.Sprintf("read|look|%d", i))
			}
		}
		script = append([]reply{plan(steps...)}, script...)
		r := counted(t, l, func(c *agent.Config) {
			c.Model, c.Limits.MaxTokens = sizedModel{c.Model.(sizedModel).fakeModel, size}, 20
		}, append(script, review("done"), answer("fine"))...)
		for i, n := range results {
			r.texts[fmt.Sprint(i)] = scroll(fmt.Sprint(i), n)
		}
		turns := drawTurns(p)
		r.remember(owner, turns...)
		memories := rapid.SliceOfN(rapid.StringMatching(`k: [a-z\n\r\t]{1,20}v`), 0, 4).Draw(p, "memories")
		b, _ := r.runner.Project(t.Context(), owner, "goal", turns)
		report, err := r.runner.Run(t.Context(), agent.Task{
			Goal: "goal", Thread: fmt.Sprintf("t-%d", draw), Owner: owner, Turn: len(turns) + 1, Background: b, Facts: agent.Facts{Remembered: memories}, Observe: r.observe,
		})
		require.NoError(p, err)
		require.False(p, t.Failed(), "the strict model refused a prompt")
		questions := r.model.questions()
		for _, q := range questions {
			for _, m := range memories {
				line := strings.NewReplacer("\n", " ", "\r", " ", "\t", " ").Replace(m)
				require.Contains(p, q.flat(false), "\n- "+line)
			}
			require.Contains(p, q.flat(false), "Task: goal")
		}
		if report.Status != agent.StatusDone {
			require.Equal(p, agent.KindContext, report.Error.Kind, report.Error.Message)
			return
		}
		changes := 0
		for _, e := range contextEvents(r.events) {
			if e == agent.EventContextCompacted {
				changes++
			}
		}
		if changes == 0 && len(report.Notes) == 0 {
			requirePrefixes(p, questions)
		}
		for i := range results {
			require.Contains(p, string(report.Calls[i].Result), fmt.Sprintf("secret-%d", i))
		}
	})
}

func TestAnyTextIsRestoredByteForByte(t *testing.T) {
	t.Parallel()
	store := openRecords(t)
	n := 0
	rapid.Check(t, func(p *rapid.T) {
		n++
		text := string(rapid.SliceOfN(rapid.Byte(), 0, 3000).Draw(p, "text"))
		if rapid.Bool().Draw(p, "repeated") {
			text = strings.Repeat(text, 20)
		}
		ctx, owner := t.Context(), fmt.Sprintf("o-%d", n)
		r := counted(t, agent.DefaultLifecycle(store), nil)
		require.NoError(p, r.runner.Remember(ctx, owner, agent.Turn{Number: 1, Goal: "g", Entries: []agent.Entry{{Call: &agent.Call{Tool: "look", Arguments: []byte("{}"), Outcome: agent.Outcome{Text: text}}}}}))
		list, err := store.List(ctx, owner, lifecycle.ListOptions{Kinds: []lifecycle.Kind{lifecycle.KindEvidence}})
		require.NoError(p, err)
		require.Len(p, list, 1)
		whole, err := store.Get(ctx, []string{owner}, list[0].Ref)
		require.NoError(p, err)
		require.Equal(p, []byte(text), []byte(whole.Text))
		// What a prompt quotes of it is text all the same.
		b, _ := r.runner.Project(ctx, owner, text, []agent.Turn{{Number: 1, Goal: "g", Answer: "a", Tokens: 100_000}})
		for _, q := range b.Recalled {
			require.True(p, utf8.ValidString(q.Text), "%q", q.Text)
		}
	})
}

// The same for the result of a tool, through checkpoints that hold its summary only.
func TestAnyResultIsRestoredByteForByte(t *testing.T) {
	t.Parallel()
	store := openRecords(t)
	n := 0
	rapid.Check(t, func(p *rapid.T) {
		n++
		text := "x" + string(rapid.SliceOfN(rapid.Byte(), 0, 2000).Draw(p, "text"))
		id := fmt.Sprintf("t-%d", n)
		r := counted(t, tight(store), nil, plan("read|look|a", "read|look|stone"), review("done"), answer("fine"))
		r.texts["a"] = text
		report, err := r.runner.Run(t.Context(), agent.Task{Goal: "Goal.", Thread: id})
		require.NoError(p, err)
		require.False(p, t.Failed(), "the strict model refused a prompt")
		require.Equal(p, agent.StatusDone, report.Status)
		again, err := r.runner.Resume(t.Context(), id, agent.ResumeOptions{})
		require.NoError(p, err)
		require.Equal(p, mustJSON(report), mustJSON(again))
		plain := newRig(t, nil, plan("read|look|a", "read|look|stone"), review("done"), answer("fine"))
		plain.texts["a"] = text
		want, err := plain.runner.Run(t.Context(), agent.Task{Goal: "Goal.", Thread: id})
		require.NoError(p, err)
		require.Equal(p, string(want.Calls[0].Result), string(report.Calls[0].Result), "as without a lifecycle context")
	})
}
