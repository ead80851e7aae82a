package benchmark

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func conversationCase(seedTurn string, fillers, chars int) Case {
	return Case{ID: "talk", Metadata: Metadata{
		ConversationSeedTurn: seedTurn, ConversationFillerTurns: fillers, ConversationFillerChars: chars,
		ConversationCorrectionTurn: "correction", ConversationCorrectionAfter: 1, ConversationFinalTurn: "final",
	}}
}

func TestScriptOfAConversation(t *testing.T) {
	t.Parallel()
	c := conversationCase("My name is Ann.", 5, 100)
	for after := 1; after <= 6; after++ {
		c.Metadata.ConversationCorrectionAfter = after
		turns := c.Script(42).Turns
		require.Len(t, turns, 8)
		require.Equal(t, c.turnCount(), len(turns))
		require.Equal(t, "My name is Ann.", turns[0])
		require.Equal(t, "final", turns[7])
		require.Equal(t, "correction", turns[after], "it follows turn %d, counted from 1", after)
	}
	require.Equal(t, c.Script(42), c.Script(42))
	require.NotEqual(t, c.Script(42), c.Script(43))
	other := c
	other.ID = "other"
	require.NotEqual(t, c.Script(42), other.Script(42))

	require.Equal(t, Script{Turns: []string{"g"}}, (&Case{Goal: "g"}).Script(1))
	require.Equal(t, Script{Turns: []string{"a", "b"}}, (&Case{Turns: []string{"a", "b"}}).Script(1))
	asked := conversationCase("s", 0, 0)
	asked.Metadata.ConversationFinalTurn = ""
	asked.Metadata.ConversationFinalTurns = []Question{{ID: "q", Text: "x"}, {ID: "r", Text: "y"}}
	require.Equal(t, Script{Turns: []string{"s", "correction"}, Questions: asked.Metadata.ConversationFinalTurns}, asked.Script(1))
	require.Equal(t, 3, asked.turnCount())
}

// TestFillers sees them varied, of the size asked for, in the language of the conversation, and without anything to remember.
func TestFillers(t *testing.T) {
	t.Parallel()
	for seedTurn, sizes := range map[string][]int{"My name is Ann.": {100, 160, 250, 600}, "我叫安。": {40, 60, 120, 200}} {
		l := languageOf(seedTurn)
		for _, chars := range sizes {
			c := conversationCase(seedTurn, maxFillerTurns, chars)
			turns := c.Script(42).Turns[2 : 2+maxFillerTurns]
			sorted := slices.Clone(turns)
			slices.Sort(sorted)
			require.Len(t, slices.Compact(sorted), maxFillerTurns, "no turn comes twice")
			total := 0
			for i, turn := range turns {
				n := utf8.RuneCountInString(turn)
				total += n
				require.InDelta(t, chars, n, 50, turn)
				require.Equal(t, 1, strings.Count(turn, "?")+strings.Count(turn, "？"), turn)
				require.NotRegexp(t, `[0-9/@{}]|\bmy name\b|prefer`, turn)
				if i < len(l.Questions) {
					asks := func(q string) bool { return strings.Contains(turn, q) }
					require.True(t, slices.ContainsFunc(l.Questions, asks))
					for _, earlier := range turns[:i] {
						require.False(t, slices.ContainsFunc(l.Questions, func(q string) bool { return asks(q) && strings.Contains(earlier, q) }),
							"every question comes once before any comes again: %s", turn)
					}
				}
			}
			require.InEpsilon(t, chars, total/len(turns), 0.25, "the mean of %d", chars)
		}
	}
}

func TestForQuestion(t *testing.T) {
	t.Parallel()
	c := Case{ExpectedContains: []string{"a"}, ExpectedAny: [][]string{{"b"}}, ExpectedStatus: "done"}
	first := c.forQuestion(Question{ExpectedContains: []string{"c"}, ExpectedAny: [][]string{{"d", "e"}}})
	second := c.forQuestion(Question{ExpectedContains: []string{"f"}})
	require.Equal(t, []string{"a", "c"}, first.ExpectedContains)
	require.Equal(t, [][]string{{"b"}, {"d", "e"}}, first.ExpectedAny)
	require.Equal(t, []string{"a", "f"}, second.ExpectedContains)
	require.Equal(t, [][]string{{"b"}}, second.ExpectedAny)
	require.Equal(t, []string{"a"}, c.ExpectedContains)
}
