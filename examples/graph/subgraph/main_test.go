package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func start(t *testing.T, o options) string {
	t.Helper()
	var out strings.Builder
	require.NoError(t, run(t.Context(), o, &out))
	return out.String()
}

var (
	id     = regexp.MustCompile(`:[0-9a-f]{4}`)
	blanks = regexp.MustCompile(` +`)
)

// lines splits an output, without the IDs of tasks. Nodes that run at the same time may end in any order, so their lines are
// brought into one.
func lines(out string) []string {
	split := strings.Split(strings.TrimSpace(blanks.ReplaceAllString(id.ReplaceAllString(out, ""), " ")), "\n")
	for i := 1; i < len(split); i++ {
		if strings.HasPrefix(split[i], "section › check length") && strings.HasPrefix(split[i-1], "section › check style") {
			split[i-1], split[i] = split[i], split[i-1]
		}
	}
	return split
}

func TestOneSection(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{
		"section write drafts: 1; text: Every edge is very very useful.; remarks: []",
		"section › check length remarks: [6 words are too few]",
		"section › check style remarks: [very very is one very too many]",
		"section check remarks: [6 words are too few]; remarks: [very very is one very too many]",
		"section write drafts: 2; text: Every edge is useful.; remarks: []",
		"section › check length remarks: [4 words are too few]",
		"section › check style nothing",
		"section check remarks: [4 words are too few]",
		"section write drafts: 3; text: Every edge is useful, and this is how it is used.; remarks: []",
		"section › check length nothing",
		"section › check style nothing",
		"section check nothing",
		"section finish sections: [Every edge is useful, and this is how it is used.]",
		" section sections: [Every edge is useful, and this is how it is used.]",
		" publish article: Every edge is useful, and this is how it is used.",
		"",
		"Every edge is useful, and this is how it is used.",
	}, lines(start(t, options{titles: []string{"edge"}})))
}

func TestSectionsAreInOrder(t *testing.T) {
	t.Parallel()
	for _, atOnce := range []int{0, 1} {
		out := start(t, options{titles: []string{"node", "edge", "branch"}, atOnce: atOnce})
		require.True(t, strings.HasSuffix(out, "\nEvery node is useful, and this is how it is used. "+
			"Every edge is useful, and this is how it is used. Every branch is useful, and this is how it is used.\n"), out)
		require.Equal(t, 9, strings.Count(out, " write "), "each section counts its own drafts")

		spaces := regexp.MustCompile(`(?m)^section:\w+`).FindAllString(out, -1)
		inTurn := slices.IsSortedFunc(spaces, func(a, b string) int { return slices.Index(spaces, a) - slices.Index(spaces, b) })
		require.True(t, atOnce == 0 || inTurn, "one section after the other:\n%s", out)
		slices.Sort(spaces)
		require.Len(t, slices.Compact(spaces), 3, "a namespace per section")
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	require.ErrorContains(t, run(t.Context(), options{titles: []string{"x"}, atOnce: -1}, new(strings.Builder)), "MaxConcurrency is -1")
}
