package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/llms"
	"pgregory.net/rapid"
)

// byteCounter counts a token for every four bytes.
type byteCounter struct{ size int }

func (c byteCounter) ContextSize() int { return c.size }

func (c byteCounter) CountTokens(_ context.Context, messages []llms.MessageContent, _ ...llms.CallOption) (int, error) {
	n := 0
	for _, m := range messages {
		n += 4
		for _, p := range m.Parts {
			n += (len(p.(llms.TextContent).Text) + 3) / 4
		}
	}
	return n, nil
}

func callEntry(step int, tool, text string) Entry {
	return Entry{Call: &Call{Step: step, Iteration: 1, Tool: tool, Arguments: rawString("x"), ReadOnly: true, Outcome: Outcome{Text: text}}}
}

func flatten(messages []llms.MessageContent) string {
	var b strings.Builder
	for _, m := range messages {
		fmt.Fprintf(&b, "\n--- %s ---\n%s", m.Role, m.Parts[0].(llms.TextContent).Text)
	}
	return b.String()
}

func TestFitCutsTheLargestResultFirst(t *testing.T) {
	t.Parallel()
	large, small := strings.Repeat("large ", 1000), strings.Repeat("small ", 100)
	tr := trunk{system: "rules", workspace: "files", task: "the task", entries: []Entry{
		callEntry(1, "a", small), callEntry(2, "b", large), callEntry(3, "c", small),
	}}
	whole, err := byteCounter{}.CountTokens(context.Background(), tr.messages("go"))
	require.NoError(t, err)
	for _, room := range []int{whole, whole - 1, whole - 600} {
		fitted, err := tr.fit(context.Background(), byteCounter{size: room + 50}, "go", 50)
		require.NoError(t, err)
		text := flatten(fitted.messages("go"))
		require.Equal(t, 2, strings.Count(text, small[:len(small)-1]), "small results stay whole")
		require.Equal(t, room == whole, strings.Contains(text, large[:len(large)-1]), "room for %d of %d", room, whole)
		if room < whole {
			require.Contains(t, text, "bytes left out here")
			require.Contains(t, text, "```\nlarge large", "the head is kept")
			require.Contains(t, text, "large \n```", "the tail is kept")
		}
		require.Zero(t, fitted.fitting.Dropped)
	}
}

func TestFitDropsOldCallsWithTheirResultsAndNeverTheTask(t *testing.T) {
	t.Parallel()
	tr := trunk{system: "rules", workspace: "files", task: "the task"}
	for i := range 20 {
		tr.entries = append(tr.entries, callEntry(i+1, fmt.Sprintf("tool%d", i), strings.Repeat("x", 400)))
	}
	fitted, err := tr.fit(context.Background(), byteCounter{size: 600}, "go", 50)
	require.NoError(t, err)
	text := flatten(fitted.messages("go"))
	for _, part := range []string{"rules", "files", "the task", "go", "tool19", "earlier calls and their results were left out"} {
		require.Contains(t, text, part)
	}
	require.NotContains(t, text, "tool0\"")
	require.Equal(t, strings.Count(text, `{"tool":`), strings.Count(text, "Result of"), "call and result go together")

	var full *ContextError
	_, err = tr.fit(context.Background(), byteCounter{size: 60}, "go", 50)
	require.ErrorAs(t, err, &full)
	require.Equal(t, 60, full.ContextSize)
	require.Equal(t, 50, full.ReplyTokens)
	require.Contains(t, err.Error(), fmt.Sprint(full.PromptTokens))
}

func TestFitOnlyGetsStricter(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		tr := trunk{system: "rules", workspace: "files", task: "task"}
		counter := byteCounter{size: rapid.IntRange(300, 3000).Draw(t, "size")}
		for i := range rapid.IntRange(1, 8).Draw(t, "calls") {
			tr.entries = append(tr.entries, callEntry(i, "look", strings.Repeat("r", rapid.IntRange(0, 6000).Draw(t, "bytes"))))
			before := tr.fitting
			fitted, err := tr.fit(context.Background(), counter, "go", 100)
			if err != nil {
				t.Fatal(err)
			}
			again, _ := tr.fit(context.Background(), counter, "go", 100)
			if flatten(again.messages("go")) != flatten(fitted.messages("go")) {
				t.Fatal("the same input gave another prompt")
			}
			if n, _ := counter.CountTokens(context.Background(), fitted.messages("go")); n+100 > counter.size {
				t.Fatalf("%d tokens do not fit", n)
			}
			if fitted.fitting.Dropped < before.Dropped {
				t.Fatal("a dropped entry came back")
			}
			for i, limit := range before.Cuts {
				if now, ok := fitted.fitting.Cuts[i]; i >= fitted.fitting.Dropped && (!ok || now > limit) {
					t.Fatal("a cut result grew")
				}
			}
			tr = fitted
		}
	})
}

type brokenCounter struct{ byteCounter }

func (brokenCounter) CountTokens(context.Context, []llms.MessageContent, ...llms.CallOption) (int, error) {
	return 0, errors.New("no tokenizer")
}

func TestFitReportsACounterThatFails(t *testing.T) {
	t.Parallel()
	_, err := trunk{}.fit(context.Background(), brokenCounter{}, "go", 1)
	require.ErrorContains(t, err, "no tokenizer")
}

func TestCutMiddle(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("汉", 40)
	require.Equal(t, text, cutMiddle(text, 120))
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a汉🦙é]{0,60}`).Draw(t, "text")
		limit := rapid.IntRange(0, 200).Draw(t, "limit")
		got := cutMiddle(text, limit)
		if !utf8.ValidString(got) {
			t.Fatalf("%q is not valid", got)
		}
		if got == text {
			return
		}
		head, rest, ok := strings.Cut(got, "\n[... ")
		if !ok {
			t.Fatalf("no mark in %q", got)
		}
		count, tail, _ := strings.Cut(rest, " bytes left out here ...]\n")
		if !strings.HasPrefix(text, head) || !strings.HasSuffix(text, tail) {
			t.Fatalf("%q does not keep the ends of %q", got, text)
		}
		if count != fmt.Sprint(len(text)-len(head)-len(tail)) {
			t.Fatalf("%q counts wrongly", got)
		}
		if len(head)+len(tail) > limit {
			t.Fatalf("%q keeps more than %d bytes", got, limit)
		}
	})
}
