package benchmark

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Markdown is the report for people, with the charts in the folder charts beside it.
func (r *Results) Markdown() string { return r.markdown(r.Summarize()) }

func (r *Results) markdown(s *Summary) string {
	d := &reportWriter{Results: r, Summary: s}
	return d.write()
}

// reportWriter writes a report.
type reportWriter struct {
	markdown
	*Results
	*Summary
}

func (d *reportWriter) write() string {
	d.heading(1, fmt.Sprintf("%s: %s", literal(d.Manifest.Suite.Name), literal(strings.Join(d.roundNames(), ", "))))
	d.measured()
	d.glance()
	d.reductions()
	d.pictures()
	d.byCase()
	d.spread()
	d.growth()
	d.problems()
	d.limits()
	d.method()
	d.configuration()
	return d.String()
}

// measured tells what was measured, with what.
func (d *reportWriter) measured() {
	m := &d.Manifest
	d.head(2, "measured", "")
	of := plural(len(m.Cases), "case", "cases") + " × " + plural(len(d.Rounds), "round", "rounds") + " × " + plural(m.MeasuredRuns, "repetition", "repetitions")
	samples := fmt.Sprintf("%d (%s)", len(d.Samples), of)
	if d.Missing > 0 {
		samples = fmt.Sprintf("**%d of %d** (%s)", len(d.Samples), len(d.Samples)+d.Missing, of)
	}
	d.row("samples", samples)
	for _, row := range m.about() {
		if row.value != "" {
			d.row(row.name, row.value)
		}
	}
	for _, round := range d.roundNames() {
		if switches := settings(m.switches(round)); len(switches) > 0 {
			d.row("round "+literal(round), literal(strings.Join(switches, ", ")))
		}
	}
}

// settings are values of the configuration, each as key = value.
func settings(values map[string]string) []string {
	var each []string
	for _, key := range slices.Sorted(maps.Keys(values)) {
		each = append(each, key+" = "+values[key])
	}
	return each
}

// configuration lists the values that all rounds share.
func (d *reportWriter) configuration() {
	var points []string
	for _, setting := range settings(d.Manifest.Config) {
		points = append(points, literal(setting))
	}
	if len(points) > 0 {
		d.heading(2, "Configuration of all rounds")
		d.list(points)
	}
}

// fact is a line of a table, as Markdown.
type fact struct{ name, value string }

// about are the facts that tell one run from another. Values that are not known are empty.
func (m *Manifest) about() []fact {
	started := ""
	if !m.StartedAt.IsZero() {
		started = m.StartedAt.UTC().Format(time.DateTime) + " UTC"
	}
	words := func(parts ...string) string {
		return literal(strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", "))
	}
	some := func(text string, n int64) string {
		if n <= 0 {
			return ""
		}
		return fmt.Sprintf(text, grouped(strconv.FormatInt(n, 10)))
	}
	host := []string{m.Host.OS}
	if m.Host.Arch != "" {
		host[0] += "/" + m.Host.Arch
	}
	return []fact{
		{"suite", words(m.Suite.Name, m.Suite.File, shortHash("SHA-256 ", m.Suite.SHA256), "seed "+strconv.Itoa(m.Suite.Seed))},
		{"model", words(m.Model.Name, some("%s bytes", m.Model.Bytes), shortHash("SHA-256 ", m.Model.SHA256))},
		{"program", words(m.Program.Version, shortHash("commit ", m.Program.Commit), prefixed("llama.cpp ", m.Program.LlamaCPP), m.Program.Go, m.Program.Backend)},
		{"host", words(append(host, m.Host.CPU, some("%s CPUs", int64(m.Host.CPUs)), some("%s MiB of memory", m.Host.MemoryBytes>>20))...)},
		{"warm-up", plural(m.WarmupRuns, "run", "runs")},
		{"time limit", some("%s ms for one process", m.TimeLimitMS)},
		{"run", words(m.Run, m.Command, prefixed("started ", started))},
	}
}

func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

// shortHash is the beginning of a hash: enough to see that two differ.
func shortHash(prefix, hash string) string { return prefixed(prefix, hash[:min(len(hash), 12)]) }

// glance puts rounds side by side.
func (d *reportWriter) glance() {
	d.heading(2, "At a glance")
	names := []string{""}
	for _, r := range d.Rounds {
		names = append(names, literal(r.Round))
	}
	d.head(1, names...)
	row := func(name string, of func(i int, g *Group) string) {
		cells := []string{name}
		for i := range d.Rounds {
			cells = append(cells, of(i, &d.Rounds[i].All))
		}
		d.row(cells...)
	}
	row("**success** (95 % interval)", func(_ int, g *Group) string {
		if g.Judged == 0 {
			return "–"
		}
		return fmt.Sprintf("**%s %%** (%s to %s)", fixed(100*g.Success.Value, 0), fixed(100*g.Success.Low, 0), fixed(100*g.Success.High, 0))
	})
	row("samples right", func(_ int, g *Group) string { return fmt.Sprintf("%d of %d", g.Right, g.Judged) })
	row("answers right", func(_ int, g *Group) string { return fmt.Sprintf("%d of %d", g.AnswersRight, g.AnswersJudged) })
	row("harness errors", func(_ int, g *Group) string { return classes(g) })
	for i, m := range Metrics() {
		row(m.title()+" ¹", func(round int, _ *Group) string { return m.shown(d.Common.Rounds[round][i].Mean.Value) })
	}
	if len(d.Rounds) == 1 {
		d.paragraph(fmt.Sprintf("¹ Mean over the %s.", plural(d.Common.Samples, "sample that is right", "samples that are right")))
		return
	}
	if d.Common.Samples == 0 {
		d.paragraph("¹ No sample is right in every round; see the cases below.")
		return
	}
	d.paragraph(fmt.Sprintf("¹ Mean over the %s in every round.", plural(d.Common.Samples, "sample that is right", "samples that are right")))
}

// classes tells how many harness errors of which class there are.
func classes(g *Group) string {
	if g.errors() == 0 {
		return "0"
	}
	var each []string
	for _, c := range g.HarnessErrors {
		each = append(each, fmt.Sprintf("%d %s", c.Count, literal(string(c.Class))))
	}
	return strings.Join(each, ", ")
}

// reductions tells what each round saves.
func (d *reportWriter) reductions() {
	if len(d.Comparisons) == 0 {
		return
	}
	d.heading(2, "What the rounds change")
	names := []string{""}
	for _, c := range d.Comparisons {
		names = append(names, fmt.Sprintf("%s against %s", literal(c.Current), literal(c.Base)))
	}
	d.head(1, names...)
	cells := []string{"**success**, points"}
	for _, c := range d.Comparisons {
		cells = append(cells, successCell(c.All.Success))
	}
	d.row(cells...)
	for i, m := range Metrics() {
		cells := []string{m.Name + " saved"}
		for _, c := range d.Comparisons {
			cells = append(cells, changeCell(c.All.BothRight[i]))
		}
		d.row(cells...)
	}
	d.paragraph("Saved = (base − current) / base, over the pairs of the same case and repetition that are right in both rounds, with the 95 % interval; below 0 is more. " +
		"Success = current − base, over the pairs that could be judged in both rounds.")
}

func successCell(s SuccessChange) string {
	if s.Verdict == CannotCompare {
		return cannot(s.Reason)
	}
	return fmt.Sprintf("%s, %s: %s; %s, %d lost", interval(s.Points, 1, ""), pValue(s.P), s.Verdict.strong(), plural(s.CasesWon, "case won", "cases won"), s.CasesLost)
}

func changeCell(c Change) string {
	value := savedText(c)
	if c.Verdict == CannotCompare {
		if c.Relative.Value.Known() {
			return value + ": " + cannot(c.Reason)
		}
		return cannot(c.Reason)
	}
	return value + ": " + c.verdict()
}

// verdict is that of a change that can be compared. When all pairs are equal, that is more than no clear difference.
func (c Change) verdict() string {
	if c.Difference.Low == 0 && c.Difference.High == 0 {
		return "equal"
	}
	return c.Verdict.strong()
}

// savedText is the relative change or, when there was nothing that can be saved, what there is.
func savedText(c Change) string {
	switch {
	case c.Relative.Value.Known():
		return interval(c.Relative.scaled(100), 1, " %")
	case c.Current > 0:
		return "from 0 to more"
	case c.Pairs > 0:
		return "0 in both"
	}
	return "–"
}

func cannot(reason string) string { return fmt.Sprintf("%s (%s)", CannotCompare, reason) }

// strong sets off what is clear.
func (v Verdict) strong() string {
	if v == Better || v == Worse {
		return "**" + string(v) + "**"
	}
	return string(v)
}

func (d *reportWriter) pictures() {
	d.heading(2, "Charts")
	for _, c := range d.charts() {
		d.paragraph(fmt.Sprintf("![%s](%s/%s)", c.title, chartsFolder, c.file))
	}
}
