package benchmark

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Round is a way to run the program: its name, and the values of the configuration that make it different from others.
type Round struct {
	Name     string
	Switches map[string]any // by section.key
}

// Rounds are those whose names set the switches themselves: R0 shows the model all results whole, R1 keeps large results
// outside the prompt, R2 also chooses what the model sees of a long history.
func Rounds() []Round {
	round := func(name string, artifacts, lifecycle bool) Round {
		return Round{name, map[string]any{switchKeys[0]: artifacts, switchKeys[1]: lifecycle}}
	}
	return []Round{round("R0", false, false), round("R1", true, false), round("R2", true, true)}
}

// reservedRound matches names that look like one of [Rounds], so that a slip does not measure something else under its name.
var reservedRound = regexp.MustCompile(`^[rR][0-9]+$`)

// ParseRounds reads names of rounds, each of which may be several with commas between. R0, R1 and R2 set the switches themselves;
// under any other name, the switches are the current ones. Nil switches allow R0, R1 and R2 only.
func ParseRounds(names []string, current map[string]any) ([]Round, error) {
	var chosen []Round
	for name := range strings.SplitSeq(strings.Join(names, ","), ",") {
		round, err := parseRound(strings.TrimSpace(name), current)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(chosen, func(r Round) bool { return strings.EqualFold(r.Name, round.Name) }) {
			return nil, fmt.Errorf("round %s is named twice", round.Name)
		}
		chosen = append(chosen, round)
	}
	return chosen, nil
}

func parseRound(name string, current map[string]any) (Round, error) {
	known := Rounds()
	if i := slices.IndexFunc(known, func(r Round) bool { return strings.EqualFold(r.Name, name) }); i >= 0 {
		return known[i], nil
	}
	switch {
	case current == nil || reservedRound.MatchString(name):
		return Round{}, fmt.Errorf("round %q is not known; choose from R0, R1 and R2", name)
	case !namePattern.MatchString(name):
		return Round{}, fmt.Errorf("round %q has no usable name; use up to 64 letters, digits, dots, dashes and underscores, a letter or digit first", name)
	}
	return Round{name, current}, nil
}
