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
// edited, or one contains the other.
func distance(a, b string) (score int, alike bool) {
	a, b = normalName(a), normalName(b)
	if a == "" || b == "" {
		return 0, false
	}
	longer := max(len(a), len(b))
	score = levenshtein.ComputeDistance(clip(a, 200), clip(b, 200))
	if min(len(a), len(b)) >= 3 && (strings.Contains(a, b) || strings.Contains(b, a)) {
		return min(score, 1+longer/8), true
	}
	return score, score*3 <= longer+1
}

// normalName drops case and separators, which models mix up most.
func normalName(s string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case '_', '-', ' ', '.', '\t':
			return -1
		}
		return r
	}, strings.ToLower(s))
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
