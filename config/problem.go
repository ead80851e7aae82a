package config

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/agnivade/levenshtein"
)

// Layer says which layer a value comes from. Later layers win.
type Layer int

// The layers in the order in which they are applied.
const (
	LayerDefault Layer = iota
	LayerFile
	LayerEnvironment
	LayerFlag
)

// Source says where a value comes from.
type Source struct {
	Layer Layer
	// Name is the path of the file, the name of the environment variable, or the flag as given. Empty for defaults.
	Name string
	Line int // in the file, from 1; 0 elsewhere

	dir string // folder that the author of a relative path probably meant
}

// String returns for example "default", "agent_config.toml:12", "AGENT_N_CTX" or "--n-ctx".
func (s Source) String() string {
	switch s.Layer {
	case LayerDefault:
		return "default"
	case LayerFile:
		if s.Line == 0 {
			return s.Name
		}
		return s.Name + ":" + strconv.Itoa(s.Line)
	default:
		return s.Name
	}
}

// Problem is one thing that is wrong in the configuration.
type Problem struct {
	Source  Source
	Key     string // "section.key" as written, empty when the problem is not about one key
	Reason  string
	Nearest string // valid name that was probably meant, empty when none is near
}

// Error returns one line: where, what, why, and the nearest valid name.
func (p *Problem) Error() string {
	var b strings.Builder
	b.WriteString(p.Source.String())
	b.WriteString(": ")
	b.WriteString(p.Reason)
	if p.Nearest != "" {
		fmt.Fprintf(&b, "; did you mean %s?", p.Nearest)
	}
	return b.String()
}

// Problems is everything that is wrong, in the order of the layers and of lines. It is never empty as an error.
type Problems []*Problem

// Error returns one line a problem.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap makes each problem reachable for errors.As.
func (ps Problems) Unwrap() []error {
	errs := make([]error, len(ps))
	for i, p := range ps {
		errs[i] = p
	}
	return errs
}

// sorted returns the problems by layer and line; the order inside a layer without lines stays.
func (ps Problems) sorted() Problems {
	sort.SliceStable(ps, func(i, j int) bool {
		a, b := ps[i].Source, ps[j].Source
		if a.Layer != b.Layer {
			return a.Layer < b.Layer
		}
		return a.Line < b.Line
	})
	return ps
}

// Nearest returns the candidate closest to name, or "" when none is near enough to be a likely slip of the keyboard.
// Ties go to the earlier candidate.
func Nearest(name string, candidates []string) string {
	name = strings.ToLower(name)
	limit := max(1, len([]rune(name))/3)
	best, bestDistance := "", limit+1
	for _, c := range candidates {
		if d := distance(name, strings.ToLower(c)); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// distance is the number of edits between a and b; two swapped letters are one.
func distance(a, b string) int {
	d := levenshtein.ComputeDistance(a, b)
	if d == 2 && len(a) == len(b) && sameLetters(a, b) {
		return 1
	}
	return d
}

func sameLetters(a, b string) bool {
	x, y := []rune(a), []rune(b)
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}
