package tools

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/agnivade/levenshtein"
)

// nearest returns at most limit candidates that look like name, best first. Equal scores keep their order.
func nearest(name string, candidates []string, limit int) []string {
	type scored struct {
		name  string
		score int
	}
	var found []scored
	for _, candidate := range candidates {
		if score, ok := distance(name, candidate); ok {
			found = append(found, scored{candidate, score})
		}
	}
	slices.SortStableFunc(found, func(a, b scored) int { return cmp.Compare(a.score, b.score) })
	names := make([]string, 0, limit)
	for _, f := range found[:min(limit, len(found))] {
		names = append(names, f.name)
	}
	return names
}

// distance scores how much two names differ, and whether they are alike at all: at most a third of the longer one is
// edited, in the given order of their words or in any, or one contains the other.
func distance(a, b string) (score int, alike bool) {
	plainA, sortedA := normalNames(a)
	plainB, sortedB := normalNames(b)
	if plainA == "" || plainB == "" {
		return 0, false
	}
	longer := max(len(plainA), len(plainB))
	score = min(levenshtein.ComputeDistance(plainA, plainB), 1+levenshtein.ComputeDistance(sortedA, sortedB))
	if min(len(plainA), len(plainB)) >= 3 && (strings.Contains(plainA, plainB) || strings.Contains(plainB, plainA)) {
		return min(score, 1+longer/8), true
	}
	return score, score*3 <= longer+1
}

// normalNames drops case and separators, which models mix up most, and returns the words in their order and sorted.
func normalNames(s string) (plain, sorted string) {
	words := strings.FieldsFunc(strings.ToLower(cutChars(s, 200)), func(r rune) bool {
		return strings.ContainsRune("_-. \t", r)
	})
	plain = strings.Join(words, "")
	slices.Sort(words)
	return plain, strings.Join(words, "")
}

// quoteList quotes names and joins them: "a", "b" or "c" for the separator " or ".
func quoteList(names []string, last string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = strconv.Quote(name)
	}
	if len(quoted) < 2 {
		return strings.Join(quoted, "")
	}
	return strings.Join(quoted[:len(quoted)-1], ", ") + last + quoted[len(quoted)-1]
}
