package benchmark

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrOtherRun says that a run cannot be resumed, because what it would go on with differs from what it began with.
var ErrOtherRun = errors.New("benchmark: the run was begun with something else")

// match returns an [ErrOtherRun] that names everything in which now differs from m.
func (m *Manifest) match(now *Manifest) error {
	var list []string
	differ := func(what string, was, is any) {
		if a, b := fmt.Sprint(was), fmt.Sprint(is); a != b {
			list = append(list, fmt.Sprintf("%s was %s, is %s", what, orNothing(a), orNothing(b)))
		}
	}
	differ("the command", m.Command, now.Command)
	differ("the suite", m.Suite.Name, now.Suite.Name)
	differ("the hash of the suite", m.Suite.SHA256, now.Suite.SHA256)
	differ("the list of cases", strings.Join(m.Cases, ","), strings.Join(now.Cases, ","))
	differ("the list of rounds", roundNames(m.Rounds), roundNames(now.Rounds))
	for i, r := range m.Rounds {
		if i >= len(now.Rounds) || now.Rounds[i].Name != r.Name {
			continue // told above
		}
		for _, key := range bothKeys(r.Switches, now.Rounds[i].Switches) {
			differ(key+" of round "+r.Name, r.Switches[key], now.Rounds[i].Switches[key])
		}
	}
	differ("the number of warm-ups", m.WarmupRuns, now.WarmupRuns)
	differ("the number of measured runs", m.MeasuredRuns, now.MeasuredRuns)
	differ("the time limit in ms", m.TimeLimitMS, now.TimeLimitMS)
	differ("the model", m.Model.Name, now.Model.Name)
	differ("the hash of the model", m.Model.SHA256, now.Model.SHA256)
	for _, key := range bothKeys(m.Config, now.Config) {
		differ(key, m.Config[key], now.Config[key])
	}
	differ("the version of the program", m.Program.Version, now.Program.Version)
	differ("the commit of the program", m.Program.Commit, now.Program.Commit)
	differ("the version of llama.cpp", m.Program.LlamaCPP, now.Program.LlamaCPP)
	differ("the back end", m.Program.Backend, now.Program.Backend)
	differ("the processor", fmt.Sprintf("%s (%s, %s, %d)", m.Host.CPU, m.Host.OS, m.Host.Arch, m.Host.CPUs),
		fmt.Sprintf("%s (%s, %s, %d)", now.Host.CPU, now.Host.OS, now.Host.Arch, now.Host.CPUs))
	if len(list) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s; make it as it was, or begin another run", ErrOtherRun, strings.Join(list, "; "))
}

func orNothing(s string) string {
	if s == "" {
		return "nothing"
	}
	return s
}

func roundNames(rounds []RoundInfo) string {
	names := make([]string, len(rounds))
	for i, r := range rounds {
		names[i] = r.Name
	}
	return strings.Join(names, ",")
}

// bothKeys are the keys of two maps, sorted, each once.
func bothKeys(a, b map[string]string) []string {
	keys := append(sortedKeys(a), sortedKeys(b)...)
	slices.Sort(keys)
	return slices.Compact(keys)
}
