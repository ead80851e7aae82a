package benchmark

import (
	"fmt"
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
		return Round{name, map[string]any{"memory.artifact_virtualization": artifacts, "memory.lifecycle_context": lifecycle}}
	}
	return []Round{round("R0", false, false), round("R1", true, false), round("R2", true, true)}
}

// ParseRounds reads names of rounds, separated by commas.
func ParseRounds(names string) ([]Round, error) {
	var chosen []Round
	known := Rounds()
	for name := range strings.SplitSeq(names, ",") {
		name = strings.TrimSpace(name)
		same := func(r Round) bool { return r.Name == name }
		i := slices.IndexFunc(known, same)
		switch {
		case i < 0:
			return nil, fmt.Errorf("round %q is not known; choose from R0, R1 and R2", name)
		case slices.ContainsFunc(chosen, same):
			return nil, fmt.Errorf("round %s is named twice", name)
		}
		chosen = append(chosen, known[i])
	}
	return chosen, nil
}
