package tui

import (
	"strings"
	"time"

	"github.com/llama-agent/llama-agent/app"
	"github.com/llama-agent/llama-agent/internal/human"
	"github.com/llama-agent/llama-agent/tui/cells"
	"github.com/llama-agent/llama-agent/tui/markdown"
)

const (
	gutter     = 2    // columns in front of every line of an entry
	kept       = 2000 // entries whose lines are kept
	openLines  = 400  // lines of a result that is opened in the transcript; the rest is in its document
	maxPreview = 3    // lines of a result that is not opened
)

// renderer turns entries into lines, and keeps those of the entries that were shown last. It is a cache: what it returns depends on its
// arguments only.
type renderer struct {
	settings Settings
	width    int
	thinking bool
	kept     map[*entry]*rendered
	made     int // entries that were turned into lines, for tests
}

type rendered struct {
	rev    int
	lines  []cells.Line
	answer *markdown.Stream // of an answer
	fed    string           // what the stream was given
}

func newRenderer(settings Settings) *renderer {
	return &renderer{settings: settings, kept: map[*entry]*rendered{}}
}

// forget drops everything that is kept.
func (r *renderer) forget() { clear(r.kept) }

// setWidth says how wide lines may be, and whether thoughts are shown.
func (r *renderer) prepare(width int, thinking bool) {
	if width != r.width || thinking != r.thinking {
		r.width, r.thinking = width, thinking
		r.forget()
	}
}

// lines returns what is shown of an entry, at a time.
func (r *renderer) lines(e *entry, now time.Time) []cells.Line {
	k := r.kept[e]
	if k != nil && k.rev == e.rev && !(e.kind == kindCall && e.running) {
		return k.lines
	}
	if k == nil {
		if len(r.kept) >= kept {
			r.forget()
		}
		k = &rendered{}
		r.kept[e] = k
	}
	r.made++
	k.rev, k.lines = e.rev, r.render(e, k, now)
	return k.lines
}

func (r *renderer) render(e *entry, k *rendered, now time.Time) []cells.Line {
	switch e.kind {
	case kindUser:
		return r.question(e)
	case kindThought:
		return r.thought(e)
	case kindPlan:
		return r.plan(e)
	case kindCall:
		return r.call(e, now)
	case kindAnswer:
		return r.answer(e, k)
	case kindNote:
		return r.wrap("· ", cells.Muted, cells.Styled(e.text, cells.Style{Role: cells.Muted}))
	case kindError:
		return r.wrap("! ", cells.Bad, cells.Styled(e.text, cells.Style{Role: cells.Bad}))
	case kindOutput:
		return r.output(e, now)
	case kindSummary:
		return r.wrap("  ", cells.Muted, cells.Styled(e.text, cells.Style{Role: cells.Muted}))
	}
	return nil
}

// wrap breaks a text behind a sign in the gutter.
func (r *renderer) wrap(sign string, role cells.Role, text cells.Line) []cells.Line {
	return cells.Wrapping{
		Width: r.width, First: cells.Styled(sign, cells.Style{Role: role}), Rest: cells.Plain(strings.Repeat(" ", cells.Width(sign))),
	}.Lines(text)
}

// question is what the user entered. A long one is shown in part until it is opened.
func (r *renderer) question(e *entry) []cells.Line {
	text, more := e.text, 0
	if e.expandable() && !e.open {
		lines := strings.SplitN(text, "\n", shownQuestion+1)
		more = 1 + strings.Count(lines[shownQuestion], "\n")
		text = strings.Join(lines[:shownQuestion], "\n")
	}
	out := append([]cells.Line{nil}, r.wrap("› ", cells.User, cells.Styled(text, cells.Style{Role: cells.User}))...)
	if more > 0 {
		out = append(out, cells.Styled("  … "+human.Plural(more, "more line"), cells.Style{Role: cells.Muted, Attr: cells.Italic}).Clip(r.width))
	}
	return out
}

// thought is a line that says that there is one, or all of it.
func (r *renderer) thought(e *entry) []cells.Line {
	if !r.thinking && !e.open {
		text := "thought, " + human.Plural(len([]rune(e.text)), "character") + "; F2 shows it"
		if e.running {
			text = "thinking …; F2 shows it"
		}
		return r.wrap("▸ ", cells.Muted, cells.Styled(text, cells.Style{Role: cells.Muted, Attr: cells.Italic}))
	}
	return r.wrap("┆ ", cells.Muted, cells.Styled(strings.TrimRight(e.text, "\n"), cells.Style{Role: cells.Muted, Attr: cells.Italic}))
}

// signs of a step's state.
var stepSigns = map[string]struct {
	sign string
	role cells.Role
}{
	string(app.StepPending): {"○", cells.Muted}, string(app.StepDone): {"✓", cells.Good}, string(app.StepFailed): {"✗", cells.Bad},
	string(app.StepRefused): {"⊘", cells.Warn}, string(app.StepDropped): {"–", cells.Muted},
}

func (r *renderer) plan(e *entry) []cells.Line {
	out := []cells.Line{cells.Concat(cells.Plain("  "), cells.Styled("Plan", cells.Style{Role: cells.Heading, Attr: cells.Bold}))}
	for _, step := range e.steps {
		look := stepSigns[string(step.State)]
		style := cells.Style{}
		switch {
		case step.Number == e.current && step.State == app.StepPending:
			look.sign, look.role, style.Attr = "●", cells.Accent, cells.Bold
		case step.State == app.StepPending:
		case step.State == app.StepDropped:
			style = cells.Style{Role: cells.Muted, Attr: cells.Strike}
		}
		text := cells.Styled(oneLine(step.Do), style)
		if step.Tool != app.NoTool {
			text = cells.Concat(text, cells.Styled("  "+strings.TrimSpace(step.Tool+" "+oneLine(step.File)), cells.Style{Role: cells.Muted}))
		}
		number := human.Count(step.Number) + ". "
		out = append(out, cells.Wrapping{
			Width: r.width,
			First: cells.Concat(cells.Plain("  "), cells.Styled(look.sign, cells.Style{Role: look.role}), cells.Plain(" "), cells.Styled(number, cells.Style{Role: cells.Muted})),
			Rest:  cells.Plain(strings.Repeat(" ", 4+len(number))),
		}.Lines(text)...)
	}
	return out
}

// oneLine joins the lines of a text.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// call is a line with the tool, its arguments and how it went, and below it some or all of the result.
func (r *renderer) call(e *entry, now time.Time) []cells.Line {
	c := e.call
	sign, role := "✓", cells.Good
	switch {
	case e.running:
		sign, role = "●", cells.Accent
	case c.Error != nil:
		sign, role = "✗", cells.Bad
	case c.Skipped:
		sign, role = "–", cells.Muted
	}
	head := cells.Concat(
		cells.Plain("  "), cells.Styled(sign, cells.Style{Role: role}), cells.Plain(" "), cells.Styled(c.Tool, cells.Style{Role: cells.Accent}))
	tail := cells.Styled(callFacts(e, now), cells.Style{Role: cells.Muted})
	arguments := cells.Styled(" "+argumentText(c.Arguments), cells.Style{})
	room := max(r.width-head.Width()-tail.Width()-1, 8)
	if !e.open {
		out := []cells.Line{cells.Concat(head, arguments.Clip(room), cells.Plain(" "), tail).Clip(r.width)}
		return append(out, r.preview(e)...)
	}
	out := cells.Wrapping{Width: r.width, First: cells.Concat(head, cells.Plain(" ")), Rest: cells.Plain("      ")}.Lines(
		cells.Concat(cells.Plain(argumentText(c.Arguments)), cells.Plain(" "), tail))
	return append(out, r.result(e)...)
}

// callFacts are what is known of a call besides its result: "12 ms · 3.1 kB ▸".
func callFacts(e *entry, now time.Time) string {
	c := e.call
	if e.running {
		return human.Duration(max(now.Sub(e.began), 0).Round(100*time.Millisecond)) + " …"
	}
	var facts []string
	switch {
	case e.replayed:
		facts = append(facts, "done before")
	case c.Skipped:
		facts = append(facts, "not run again")
	case c.Error != nil && c.DurationMS == 0:
	default:
		facts = append(facts, human.Duration(time.Duration(c.DurationMS)*time.Millisecond))
	}
	if n := len(resultText(c)); n > 0 && c.Error == nil {
		facts = append(facts, human.Bytes(int64(n)))
	}
	if c.Artifact != "" {
		facts = append(facts, "stored")
	}
	mark := "▸"
	if e.open {
		mark = "▾"
	}
	return strings.Join(append(facts, mark), " · ")
}

// preview is the beginning of a result.
func (r *renderer) preview(e *entry) []cells.Line {
	if e.running || r.settings.PreviewChars <= 0 {
		return nil
	}
	style := cells.Style{Role: cells.Muted}
	if e.call.Error != nil {
		style.Role = cells.Bad
	}
	text := strings.TrimRight(resultText(e.call), "\n")
	if text == "" {
		return nil
	}
	shown := clipRunes(text, r.settings.PreviewChars)
	all := strings.Split(shown, "\n")
	out := make([]cells.Line, 0, maxPreview)
	for _, line := range all[:min(len(all), maxPreview)] {
		out = append(out, cells.Concat(cells.Plain("      "), cells.Styled(line, style)).Clip(r.width))
	}
	if more := strings.Count(text, "\n") + 1 - len(out); more > 0 {
		out = append(out, cells.Styled("      … "+human.Plural(more, "more line"), cells.Style{Role: cells.Muted, Attr: cells.Italic}).Clip(r.width))
	}
	return out
}

// result is a result whole, up to openLines.
func (r *renderer) result(e *entry) []cells.Line {
	style := cells.Style{Role: cells.Code}
	if e.call.Error != nil {
		style.Role = cells.Bad
	}
	indent := cells.Plain("      ")
	var out []cells.Line
	text := strings.TrimRight(resultText(e.call), "\n")
	for line := range strings.SplitSeq(clipBytes(text, openLines*max(r.width, 1)), "\n") {
		out = append(out, cells.Wrapping{Width: r.width, First: indent, Rest: indent, Cut: true}.Lines(cells.Styled(line, style))...)
		if len(out) >= openLines {
			out = out[:openLines]
			break
		}
	}
	if len(out) == openLines || len(text) > openLines*r.width {
		out = append(out, cells.Styled("      … the rest is too long for here; F4 and o open all of it", cells.Style{Role: cells.Muted, Attr: cells.Italic}).Clip(r.width))
	}
	if e.call.Artifact != "" {
		out = append(out, cells.Styled("      stored as "+e.call.Artifact+"; F4 and o open it", cells.Style{Role: cells.Muted, Attr: cells.Italic}).Clip(r.width))
	}
	return out
}

// answer is Markdown. While it grows only its end is laid out anew.
func (r *renderer) answer(e *entry, k *rendered) []cells.Line {
	more, grew := strings.CutPrefix(e.text, k.fed)
	if k.answer == nil || !grew {
		k.answer, more = &markdown.Stream{}, e.text
	}
	k.answer.Append(more)
	k.fed = e.text
	if !e.running {
		k.answer.Finish()
	}
	lines := k.answer.Lines(r.width - gutter)
	if len(lines) == 0 {
		return nil
	}
	out := make([]cells.Line, 1, len(lines)+1) // the first is empty: an answer stands apart
	margin := cells.Span{Text: strings.Repeat(" ", gutter)}
	for _, line := range lines {
		out = append(out, append(cells.Line{margin}, line...))
	}
	return out
}

func (r *renderer) output(e *entry, now time.Time) []cells.Line {
	var out []cells.Line
	for _, line := range tableLines(e.table, r.width-gutter, now) {
		out = append(out, cells.Concat(cells.Plain("  "), line))
	}
	if e.text != "" {
		for line := range strings.SplitSeq(e.text, "\n") {
			out = append(out, r.wrap("  ", cells.Text, cells.Plain(line))...)
		}
	}
	return out
}

// clipRunes is the beginning of a text, at most n characters.
func clipRunes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := range s {
		if n--; n < 0 {
			return s[:i] + "…"
		}
	}
	return s
}

// clipBytes is the beginning of a text, at most about n bytes, in whole characters.
func clipBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}
