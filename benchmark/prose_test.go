package benchmark

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTextsAreComplete sees every list filled with different entries, and every slot known.
func TestTextsAreComplete(t *testing.T) {
	t.Parallel()
	slot := regexp.MustCompile(`\{([a-z]*)\}`)
	for name, l := range languages() {
		for what, list := range map[string][]string{
			"situations": l.Situations, "closings": l.Closings, "questions": l.Questions, "lines": l.Lines, "sentences": l.Sentences,
		} {
			sorted := slices.Clone(list)
			slices.Sort(sorted)
			require.Len(t, slices.Compact(sorted), len(list), "%s %s", name, what)
			require.Greater(t, len(list), 5, "%s %s", name, what)
		}
		require.GreaterOrEqual(t, len(l.Questions)*len(l.Closings), maxFillerTurns, "enough fillers that differ")
		for _, form := range slices.Concat(l.Lines, l.Sentences, []string{l.Heading}) {
			for _, found := range slot.FindAllStringSubmatch(form, -1) {
				if !slices.Contains([]string{"big", "small", "digit"}, found[1]) {
					require.NotEmpty(t, l.Words[found[1]], "%s: %s", name, form)
				}
			}
			require.Equal(t, strings.Count(form, "{"), len(slot.FindAllString(form, -1)), form)
		}
		require.Equal(t, []string{"{situation}", "{question}", "{closing}"}, slot.FindAllString(l.Lead, -1))
		require.Equal(t, []string{"{question}", "{closing}"}, slot.FindAllString(l.Plain, -1))
	}
}

func TestProse(t *testing.T) {
	t.Parallel()
	p := prose{language: languages()["en"], forms: []string{"a {small}", "b {digit}{big}", "{person}"}, rng: random(1, "x")}
	for range 50 {
		var firsts []string
		for range 3 {
			s := p.sentence()
			require.Regexp(t, `^(a [1-9]\d?|b [2-9][1-9]\d\d|[A-Z]\. [A-Z][a-z]+)$`, s)
			firsts = append(firsts, s[:1])
		}
		require.Contains(t, firsts, "a")
		require.Contains(t, firsts, "b")
	}
	require.Equal(t, languages()["zh"], languageOf("see 水 here"))
	require.Equal(t, languages()["en"], languageOf("see water here, ñ, カ"))
	require.NotEqual(t, random(1, "a", "bc").Uint64(), random(1, "ab", "c").Uint64())
}
