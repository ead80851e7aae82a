package benchmark

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Limits of the list of problems. What is left out is in task_results.jsonl.
const (
	maxProblems      = 100
	maxProblemColumn = 300
)

// problem is what went wrong with samples of a case in a round.
type problem struct {
	id, round, text string
	repetitions     []string
}

// problems lists failures and harness errors with their reasons, those of the same kind on one line.
func (d *reportWriter) problems() {
	var errors, faults []problem
	add := func(list *[]problem, s *Sample, text string) {
		for i := range *list {
			if p := &(*list)[i]; p.id == s.Case && p.round == s.Round && p.text == text {
				p.repetitions = append(p.repetitions, strconv.Itoa(s.Repetition))
				return
			}
		}
		*list = append(*list, problem{s.Case, s.Round, text, []string{strconv.Itoa(s.Repetition)}})
	}
	for _, id := range d.Manifest.Cases {
		for _, round := range d.roundNames() {
			for _, s := range d.of(id, round) {
				if s.ErrorClass != "" {
					first, _, _ := strings.Cut(s.Error, stderrIntro)
					add(&errors, s, string(s.ErrorClass)+": "+first)
				}
				for _, fault := range s.Faults {
					add(&faults, s, fault)
				}
			}
		}
	}
	d.problemList("Harness errors", "The program did not give an answer. These samples count neither as right nor as wrong.", errors)
	d.problemList("Failures", "Answers that the judge found wrong.", faults)
}

func (d *reportWriter) problemList(title, intro string, problems []problem) {
	if len(problems) == 0 {
		return
	}
	d.heading(2, title)
	d.paragraph(intro)
	var points []string
	for i, p := range problems {
		if i == maxProblems {
			points = append(points, fmt.Sprintf("%d more; see %s", len(problems)-i, samplesFile))
			break
		}
		which := "repetition "
		if len(p.repetitions) > 1 {
			which = "repetitions "
		}
		points = append(points, fmt.Sprintf("%s, %s, %s: %s", literal(p.id), literal(p.round), which+strings.Join(p.repetitions, ", "),
			literal(cutTo(plain(p.text), maxProblemColumn))))
	}
	d.list(points)
}

// limits states what cannot be compared, and why.
func (d *reportWriter) limits() {
	points := slices.Clone(d.Summary.Notes)
	for i, note := range points {
		points[i] = literal(sentence(note)) + "."
	}
	if d.Missing > 0 {
		points = append(points, fmt.Sprintf("%s missing: the run is not complete. Go on with benchmark --resume.",
			plural(d.Missing, "sample is", "samples are")))
	}
	for _, r := range d.Rounds {
		if n := r.All.errors(); n > 0 {
			points = append(points, fmt.Sprintf("%s: %s, so success is over %d of %d samples.", literal(r.Round), plural(n, "harness error", "harness errors"), r.All.Judged, r.All.Samples))
		}
		points = append(points, unmeasured(r)...)
	}
	for _, c := range d.Comparisons {
		rounds := fmt.Sprintf("%s against %s", literal(c.Current), literal(c.Base))
		if s := c.All.Success; s.Pairs > 0 && s.BothRight < s.Pairs {
			points = append(points, fmt.Sprintf("%s: costs are compared over the %d of %d pairs that are right in both rounds.", rounds, s.BothRight, s.Pairs))
		}
		points = append(points, incomparable(rounds, c.All)...)
	}
	for _, errs := range kvErrors(d.Results) {
		points = append(points, literal(errs))
	}
	if len(points) == 0 {
		points = append(points, "Nothing: all samples are there, all metrics are known, and every pair is right.")
	}
	d.heading(2, "What cannot be compared")
	d.list(points)
}

// unmeasured names metrics of a round that are not known of all samples that are right.
func unmeasured(r RoundSummary) []string {
	var points []string
	for i, m := range Metrics() {
		if n := r.All.Metrics[i].N; n < r.All.Right {
			points = append(points, fmt.Sprintf("%s: %s is known of %d of the %s.", literal(r.Round), m.Name, n, plural(r.All.Right, "right sample", "right samples")))
		}
	}
	return points
}

// incomparable names the metrics that have no verdict, those of the same reason together.
func incomparable(rounds string, p Paired) []string {
	var reasons []string
	names := map[string][]string{}
	add := func(name string, v Verdict, reason string) {
		if v != CannotCompare {
			return
		}
		if names[reason] == nil {
			reasons = append(reasons, reason)
		}
		names[reason] = append(names[reason], name)
	}
	add("success", p.Success.Verdict, p.Success.Reason)
	for i, m := range Metrics() {
		add(m.Name, p.BothRight[i].Verdict, p.BothRight[i].Reason)
	}
	var points []string
	for _, reason := range reasons {
		points = append(points, fmt.Sprintf("%s: no verdict on %s: %s.", rounds, strings.Join(names[reason], ", "), reason))
	}
	return points
}

// kvErrors are the reasons why peaks of the KV cache are missing, each once.
func kvErrors(r *Results) []string {
	var errs []string
	for i := range r.Samples {
		if e := r.Samples[i].PeakKVError; e != "" && !slices.Contains(errs, e) {
			errs = append(errs, e)
		}
	}
	slices.Sort(errs)
	return errs
}

// method tells how the numbers come about.
func (d *reportWriter) method() {
	d.heading(2, "Method")
	d.list(methodNotes())
}

func methodNotes() []string {
	return []string{
		"A sample is one case done once by fresh processes with stores of their own. It is right when all its answers are. Harness errors (crash, time-out, no report) are counted apart and are neither right nor wrong. " +
			"Costs are over right samples only: a wrong answer may be cheap for being wrong.",
		"Success has Wilson's 95 % interval, its difference that of Bonett and Price and the exact McNemar test (two-sided). They take repetitions of a case for independent, which at a low temperature they hardly are: see how many cases won or lost.",
		fmt.Sprintf("Other intervals are bootstrap percentile intervals (Efron and Tibshirani 1993) with levels expanded for few samples (Hesterberg 2015), %s draws with a fixed seed. "+
			"Pairs are drawn within each case: the interval tells what repeating these cases would give, not what other tasks would.", grouped(strconv.Itoa(resamples))),
		fmt.Sprintf("Better or worse: 0 is outside the 95 %% interval or, for success, p is below 0.05. No allowance is made for asking about %d metrics at once. An interval needs at least %d degrees of freedom: 5 repetitions of a case, or 2 of each of 4 cases.",
			len(Metrics()), minDegrees),
		"Percentiles are interpolated (type 7 of Hyndman and Fan); the standard deviation is that of a sample (n − 1).",
	}
}
