package benchmark

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// ErrNoCommonRound says that two runs have no rounds that can be compared.
var ErrNoCommonRound = errors.New("benchmark: no common round")

// Comparison is two folders of results side by side. Base is what current is compared with.
type Comparison struct {
	SchemaVersion int               `json:"schema_version"`
	Base          RunInfo           `json:"base"`
	Current       RunInfo           `json:"current"`
	Differences   []Difference      `json:"differences"` // of what they were measured with
	NoVerdicts    string            `json:"no_verdicts"` // why there is no verdict at all; empty: there are
	Cautions      []string          `json:"cautions"`    // what to keep in mind when reading verdicts
	Rounds        []RunsCompared    `json:"rounds"`
	Metrics       []ComparedMetrics `json:"metrics"`        // names and units of metrics
	OnlyBase      []string          `json:"only_base"`      // cases
	OnlyCurrent   []string          `json:"only_current"`   // cases
	RoundsOnly    []string          `json:"rounds_omitted"` // rounds of one side only
}

// RunInfo identifies a side.
type RunInfo struct {
	Run      string      `json:"run"`
	Complete bool        `json:"complete"`
	Suite    SuiteInfo   `json:"suite"`
	Model    ModelInfo   `json:"model"`
	Program  ProgramInfo `json:"program"`
	Samples  int         `json:"samples"`
}

// Difference is a value of the manifests that is not the same.
type Difference struct {
	What    string `json:"what"`
	Base    string `json:"base"`
	Current string `json:"current"`
}

// ComparedMetrics tells what a metric is called.
type ComparedMetrics struct {
	Metric string `json:"metric"`
	Name   string `json:"name"`
}

// RunsCompared is a round of both runs.
type RunsCompared struct {
	RoundComparison
	Repeat Repeatability `json:"repeatability"`
}

// Repeatability says whether samples with the same seed went the same on both sides.
type Repeatability struct {
	Pairs        int      `json:"pairs"`         // of the same case, repetition and seed
	SameSuccess  int      `json:"same_success"`  // harness errors and the number of right answers are the same
	SameTokens   int      `json:"same_tokens"`   // input, evaluated and completion tokens are the same
	DifferSample []string `json:"differ_sample"` // the first few samples that differ, as "CASE #REPETITION: what"
}

// maxDiffer is how many samples are named that differ.
const maxDiffer = 8

// Compare puts two runs side by side: each round that both have, or the only round of each whatever its name. A round that is
// named must be there on both sides; empty stands for all.
//
// Verdicts need the same suite: its hash is over the whole file, so when it differs nobody knows which cases have the same
// text, and the numbers come without verdicts.
func Compare(base, current *Results, round string) (*Comparison, error) {
	rounds, err := commonRounds(base, current, round)
	if err != nil {
		return nil, err
	}
	c := &Comparison{
		SchemaVersion: SchemaVersion, Base: base.info(), Current: current.info(), Differences: differences(&base.Manifest, &current.Manifest, rounds),
		Cautions: []string{}, Rounds: []RunsCompared{}, OnlyBase: without(base.Manifest.Cases, current.Manifest.Cases),
		OnlyCurrent: without(current.Manifest.Cases, base.Manifest.Cases), RoundsOnly: []string{},
	}
	for _, m := range Metrics() {
		c.Metrics = append(c.Metrics, ComparedMetrics{m.Key, m.title()})
	}
	c.judge(base, current)
	common := without(base.Manifest.Cases, c.OnlyBase)
	for _, names := range rounds {
		compared := RunsCompared{
			RoundComparison: compareRounds(base, current, names[0], names[1], common), Repeat: repeatability(base.of("", names[0]), current.of("", names[1])),
		}
		if c.NoVerdicts != "" {
			compared.withhold(c.NoVerdicts)
		}
		c.Rounds = append(c.Rounds, compared)
	}
	for _, name := range slices.Concat(base.rounds(), current.rounds()) {
		if !slices.ContainsFunc(rounds, func(names [2]string) bool { return names[0] == name || names[1] == name }) && !slices.Contains(c.RoundsOnly, name) {
			c.RoundsOnly = append(c.RoundsOnly, name)
		}
	}
	return c, nil
}

func (r *Results) info() RunInfo {
	m := &r.Manifest
	return RunInfo{Run: m.Run, Complete: r.incomplete() == 0, Suite: m.Suite, Model: m.Model, Program: m.Program, Samples: len(r.Samples)}
}

// without returns the names that are not among others.
func without(names, others []string) []string {
	return slices.DeleteFunc(append([]string{}, names...), func(name string) bool { return slices.Contains(others, name) })
}

// commonRounds are names of rounds, of base and of current.
func commonRounds(base, current *Results, round string) ([][2]string, error) {
	was, is := base.rounds(), current.rounds()
	if round != "" {
		for _, side := range []struct {
			name   string
			rounds []string
		}{{"first", was}, {"second", is}} {
			if !slices.Contains(side.rounds, round) {
				return nil, fmt.Errorf("%w: the %s run has no round %q; it has %s", ErrNoCommonRound, side.name, round, strings.Join(side.rounds, ", "))
			}
		}
		return [][2]string{{round, round}}, nil
	}
	var common [][2]string
	for _, name := range was {
		if slices.Contains(is, name) {
			common = append(common, [2]string{name, name})
		}
	}
	switch {
	case len(common) > 0:
		return common, nil
	case len(was) == 1 && len(is) == 1:
		return [][2]string{{was[0], is[0]}}, nil
	}
	return nil, fmt.Errorf("%w: the first run has %s, the second has %s; compare runs with a round of the same name, or with one round each",
		ErrNoCommonRound, strings.Join(was, ", "), strings.Join(is, ", "))
}

// judge decides whether there are verdicts, and what to say to them.
func (c *Comparison) judge(base, current *Results) {
	was, is := &base.Manifest, &current.Manifest
	differs := func(what string) bool {
		return slices.ContainsFunc(c.Differences, func(d Difference) bool { return d.What == what || strings.HasPrefix(d.What, what+" ") })
	}
	switch {
	case was.Suite.SHA256 == "" || is.Suite.SHA256 == "":
		c.NoVerdicts = "the suite of a run has no hash, so tasks may differ"
	case was.Suite.SHA256 != is.Suite.SHA256:
		c.NoVerdicts = "the suite files differ, so texts of tasks with the same name may differ"
	case len(c.OnlyBase) == len(was.Cases):
		c.NoVerdicts = "the runs have no case in common"
	}
	caution := func(when bool, text string) {
		if when {
			c.Cautions = append(c.Cautions, text)
		}
	}
	caution(true, "The runs were made at different times: times and memory also depend on what else the machine did.")
	changed := 0
	for _, what := range []string{"model", "configuration", "program", "host"} {
		if differs(what) {
			changed++
		}
	}
	caution(changed > 1, "Several of model, configuration, program and host differ: a verdict does not tell which of them it is due to.")
	caution(differs("model"), "The models differ: their tokenizers may count the same text differently.")
	caution(differs("host"), "The hosts differ: times and memory are those of different machines.")
	caution(differs("seed"), "The seeds differ: pairs of a repetition are not of the same seed.")
	caution(differs("time limit"), "The time limits differ: what is a time-out on one side may be an answer on the other.")
	for _, side := range []struct {
		name string
		run  *Results
	}{{"first", base}, {"second", current}} {
		caution(side.run.incomplete() > 0, fmt.Sprintf("The %s run is not complete: %s missing.", side.name, plural(side.run.incomplete(), "sample is", "samples are")))
		for _, note := range side.run.Notes {
			caution(true, fmt.Sprintf("The %s run: %s.", side.name, note))
		}
	}
}

// withhold takes the verdicts back.
func (c *RunsCompared) withhold(reason string) {
	withhold := func(v *Verdict, why *string) {
		if *v != CannotCompare {
			*v, *why = CannotCompare, reason
		}
	}
	all := []*Paired{&c.All}
	for i := range c.Cases {
		all = append(all, &c.Cases[i])
	}
	for _, p := range all {
		withhold(&p.Success.Verdict, &p.Success.Reason)
		for _, changes := range [][]Change{p.BothRight, p.Answered} {
			for i := range changes {
				withhold(&changes[i].Verdict, &changes[i].Reason)
			}
		}
	}
}

// switches are those of a round.
func (m *Manifest) switches(round string) map[string]string {
	for _, r := range m.Rounds {
		if r.Name == round {
			return r.Switches
		}
	}
	return nil
}

// differences lists what the manifests do not have in common, with the rounds that are compared.
func differences(was, is *Manifest, rounds [][2]string) []Difference {
	found := []Difference{}
	add := func(what, base, current string) {
		if base != current {
			found = append(found, Difference{what, base, current})
		}
	}
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	add("suite name", was.Suite.Name, is.Suite.Name)
	add("suite SHA-256", was.Suite.SHA256, is.Suite.SHA256)
	add("seed", strconv.Itoa(was.Suite.Seed), strconv.Itoa(is.Suite.Seed))
	add("cases", strings.Join(sortedNames(was.Cases), ", "), strings.Join(sortedNames(is.Cases), ", "))
	add("warm-up runs", strconv.Itoa(was.WarmupRuns), strconv.Itoa(is.WarmupRuns))
	add("measured runs", strconv.Itoa(was.MeasuredRuns), strconv.Itoa(is.MeasuredRuns))
	add("time limit in ms", number(was.TimeLimitMS), number(is.TimeLimitMS))
	add("model name", was.Model.Name, is.Model.Name)
	add("model SHA-256", was.Model.SHA256, is.Model.SHA256)
	add("model bytes", number(was.Model.Bytes), number(is.Model.Bytes))
	values := func(prefix string, base, current map[string]string) {
		keys := slices.Sorted(maps.Keys(base))
		for _, key := range slices.Sorted(maps.Keys(current)) {
			if _, both := base[key]; !both {
				keys = append(keys, key)
			}
		}
		slices.Sort(keys)
		for _, key := range keys {
			add(prefix+key, orNone(base, key), orNone(current, key))
		}
	}
	values("configuration ", was.Config, is.Config)
	for _, names := range rounds {
		name := names[0]
		if names[1] != name {
			name += " and " + names[1]
		}
		values("configuration of "+name+": ", was.switches(names[0]), is.switches(names[1]))
	}
	add("program version", was.Program.Version, is.Program.Version)
	add("program commit", was.Program.Commit, is.Program.Commit)
	add("program llama.cpp", was.Program.LlamaCPP, is.Program.LlamaCPP)
	add("program Go", was.Program.Go, is.Program.Go)
	add("program back end", was.Program.Backend, is.Program.Backend)
	add("host system", was.Host.OS+"/"+was.Host.Arch, is.Host.OS+"/"+is.Host.Arch)
	add("host CPU", was.Host.CPU, is.Host.CPU)
	add("host CPUs", strconv.Itoa(was.Host.CPUs), strconv.Itoa(is.Host.CPUs))
	add("host memory in bytes", number(was.Host.MemoryBytes), number(is.Host.MemoryBytes))
	return found
}

func sortedNames(names []string) []string { return slices.Sorted(slices.Values(names)) }

// orNone is a value, or that there is none.
func orNone(values map[string]string, key string) string {
	if v, has := values[key]; has {
		return v
	}
	return "(not there)"
}

// repeatability compares samples of the same case, repetition and seed. Base is sorted by case and repetition.
func repeatability(base, current []*Sample) Repeatability {
	r := Repeatability{DifferSample: []string{}}
	for _, p := range pairUp(base, current) {
		a, b := p.base, p.current
		if a.Seed != b.Seed {
			continue
		}
		r.Pairs++
		var what []string
		if a.ErrorClass == b.ErrorClass && a.Right == b.Right && a.Judged == b.Judged {
			r.SameSuccess++
		} else {
			what = append(what, fmt.Sprintf("%s and %s", a.outcome(), b.outcome()))
		}
		same := true
		for _, n := range []struct {
			name string
			a, b int
		}{
			{"input", a.InputTokens, b.InputTokens}, {"evaluated", a.EvaluatedTokens, b.EvaluatedTokens}, {"completion", a.CompletionTokens, b.CompletionTokens},
		} {
			if n.a != n.b {
				same = false
				what = append(what, fmt.Sprintf("%d and %d %s tokens", n.a, n.b, n.name))
			}
		}
		if same {
			r.SameTokens++
		}
		if len(what) > 0 && len(r.DifferSample) < maxDiffer {
			r.DifferSample = append(r.DifferSample, fmt.Sprintf("%s #%d: %s", a.Case, a.Repetition, strings.Join(what, "; ")))
		}
	}
	return r
}

// outcome tells how a sample ended.
func (s *Sample) outcome() string {
	if s.ErrorClass != "" {
		return string(s.ErrorClass)
	}
	return fmt.Sprintf("%d of %d right", s.Right, s.Judged)
}
