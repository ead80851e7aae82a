package benchmark

import (
	"fmt"
	"strings"
)

// Markdown is the comparison for people. Names and texts from the runs are escaped.
func (c *Comparison) Markdown() string {
	d := &comparisonWriter{Comparison: c}
	d.heading(1, "Comparison")
	d.runs()
	for i := range c.Rounds {
		d.round(&c.Rounds[i])
	}
	d.differences()
	d.remarks()
	return d.String()
}

// comparisonWriter writes a comparison.
type comparisonWriter struct {
	markdown
	*Comparison
}

// Names of the sides in tables.
const (
	baseSide    = "A (base)"
	currentSide = "B"
)

func (d *comparisonWriter) runs() {
	d.head(1, "", baseSide, currentSide)
	row := func(name string, of func(*RunInfo) string) {
		d.row(name, literal(of(&d.Base)), literal(of(&d.Current)))
	}
	row("run", func(r *RunInfo) string { return r.Run })
	row("suite", func(r *RunInfo) string { return r.Suite.Name })
	row("model", func(r *RunInfo) string { return r.Model.Name })
	row("program", func(r *RunInfo) string {
		return strings.Trim(r.Program.Version+", "+shortHash("commit ", r.Program.Commit), ", ")
	})
	row("samples", func(r *RunInfo) string {
		if r.Complete {
			return fmt.Sprint(r.Samples)
		}
		return fmt.Sprintf("%d, not complete", r.Samples)
	})
	if d.NoVerdicts != "" {
		d.paragraph(fmt.Sprintf("**No verdicts: %s.** The numbers are over cases of the same name.", d.NoVerdicts))
	}
}

func (d *comparisonWriter) round(r *RunsCompared) {
	title := "Round " + literal(r.Base)
	if r.Base != r.Current {
		title = fmt.Sprintf("Round %s against round %s", literal(r.Current), literal(r.Base))
	}
	d.heading(2, title)
	d.head(1, "", baseSide, currentSide, "saved in B", "verdict")
	s := r.All.Success
	points := "–"
	if s.Points.Value.Known() {
		points = interval(s.Points, 1, " points")
	}
	verdict := s.Verdict.strong() + ", " + pValue(s.P)
	if s.Verdict == CannotCompare {
		verdict = cannot(literal(s.Reason))
	}
	d.row("**success**", percent(s.Base, 1), percent(s.Current, 1), points, verdict)
	for i, m := range Metrics() {
		c := r.All.BothRight[i]
		verdict := c.verdict()
		if c.Verdict == CannotCompare {
			verdict = cannot(literal(c.Reason))
		}
		d.row(m.title(), m.shown(c.Base), m.shown(c.Current), savedText(c), verdict)
	}
	d.paragraph(fmt.Sprintf("Success: %s judged on both sides, of which %d right on both, %d only in A (%s), %d only in B (%s), %d on neither. "+
		"Other numbers: means over the pairs right on both sides; saved = (A − B) / A, below 0 is more.",
		plural(s.Pairs, "pair", "pairs"), s.BothRight, s.OnlyBase, plural(s.CasesLost, "case lost", "cases lost"), s.OnlyCurrent,
		plural(s.CasesWon, "case won", "cases won"), s.BothWrong))
	d.cases(r)
	d.repeat(&r.Repeat)
}

// shownByCase are the metrics of the table of cases.
var shownByCase = [...]string{"input_tokens", "evaluated_tokens", "duration_ms"}

func (d *comparisonWriter) cases(r *RunsCompared) {
	if len(r.Cases) < 2 {
		return
	}
	names := []string{"case", "right in A", "right in B"}
	for _, m := range Metrics() {
		for _, key := range shownByCase {
			if m.Key == key {
				names = append(names, m.Name+" saved")
			}
		}
	}
	d.head(1, names...)
	for _, p := range r.Cases {
		s := p.Success
		cells := []string{literal(p.Case), fmt.Sprintf("%d of %d", s.BothRight+s.OnlyBase, s.Pairs), fmt.Sprintf("%d of %d", s.BothRight+s.OnlyCurrent, s.Pairs)}
		for _, c := range p.BothRight {
			for _, key := range shownByCase {
				if c.Metric == key {
					cells = append(cells, interval(c.Relative.scaled(100), 1, " %"))
				}
			}
		}
		d.row(cells...)
	}
}

func (d *comparisonWriter) repeat(r *Repeatability) {
	if r.Pairs == 0 {
		d.paragraph("Repeatability: no sample has the same case, repetition and seed on both sides.")
		return
	}
	verdict := "not all equal"
	if r.SameSuccess == r.Pairs && r.SameTokens == r.Pairs {
		verdict = "all equal"
	}
	d.paragraph(fmt.Sprintf("Repeatability, samples with the same seed: **%s**. Success is equal in %d of %d, token counts (input, evaluated, completion) in %d of %d.",
		verdict, r.SameSuccess, r.Pairs, r.SameTokens, r.Pairs))
	if len(r.DifferSample) == 0 {
		return
	}
	points := make([]string, len(r.DifferSample))
	for i, text := range r.DifferSample {
		points[i] = literal(text)
	}
	d.list(points)
}

func (d *comparisonWriter) differences() {
	d.heading(2, "What differs")
	if len(d.Differences) == 0 {
		d.paragraph("Nothing: suite, model, configuration, program and host are the same.")
		return
	}
	d.head(3, "", baseSide, currentSide)
	for _, each := range d.Differences {
		d.row(literal(each.What), literal(cutTo(plain(each.Base), maxProblemColumn)), literal(cutTo(plain(each.Current), maxProblemColumn)))
	}
}

func (d *comparisonWriter) remarks() {
	var points []string
	for _, caution := range d.Cautions {
		points = append(points, literal(caution))
	}
	for _, side := range []struct {
		name  string
		cases []string
	}{{"A", d.OnlyBase}, {"B", d.OnlyCurrent}} {
		if len(side.cases) > 0 {
			points = append(points, fmt.Sprintf("Only in %s, and left out: %s.", side.name, literal(listed(side.cases))))
		}
	}
	if len(d.RoundsOnly) > 0 {
		points = append(points, "Rounds left out: "+literal(strings.Join(d.RoundsOnly, ", "))+".")
	}
	for i := range d.Rounds {
		r := &d.Rounds[i]
		if d.NoVerdicts == "" {
			points = append(points, incomparable(literal(r.Base), r.All)...)
		}
	}
	if len(points) > 0 {
		d.heading(2, "What cannot be compared, and what to keep in mind")
		d.list(points)
	}
	d.heading(2, "Method")
	d.list(methodNotes())
}
