package benchmark

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"

	"github.com/llama-agent/llama-agent/app"
)

// markdown writes a document.
type markdown struct{ strings.Builder }

func (d *markdown) heading(level int, text string) {
	if d.Len() > 0 {
		d.WriteByte('\n')
	}
	fmt.Fprintf(d, "%s %s\n", strings.Repeat("#", level), text)
}

func (d *markdown) paragraph(text string) { fmt.Fprintf(d, "\n%s\n", text) }

// list writes points, each on one line.
func (d *markdown) list(points []string) {
	d.WriteByte('\n')
	for _, p := range points {
		fmt.Fprintf(d, "- %s\n", p)
	}
}

// row writes a line of a table.
func (d *markdown) row(cells ...string) { fmt.Fprintf(d, "| %s |\n", strings.Join(cells, " | ")) }

// head begins a table: the first columns are text, the rest are numbers.
func (d *markdown) head(texts int, names ...string) {
	d.WriteByte('\n')
	d.row(names...)
	rules := make([]string, len(names))
	for i := range rules {
		rules[i] = "---:"
		if i < texts {
			rules[i] = "---"
		}
	}
	d.row(rules...)
}

// plain is a text of one line in which nothing drives a terminal.
func plain(text string) string { return strings.Join(strings.Fields(app.Inert(text)), " ") }

// literal is a name or a text from outside as Markdown that shows it and nothing else: no mark-up, no HTML, no new cell or line.
func literal(text string) string {
	runes := []rune(plain(text))
	var b strings.Builder
	for i, r := range runes {
		switch {
		case strings.ContainsRune("\\`*[]~$|", r), r == '_' && !(i > 0 && i < len(runes)-1 && isWord(runes[i-1]) && isWord(runes[i+1])):
			b.WriteRune('\\')
			b.WriteRune(r)
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '&':
			b.WriteString("&amp;")
		case r == ':' && strings.HasPrefix(string(runes[i:]), "://"), r == '@' && i < len(runes)-1 && isWord(runes[i+1]), r == '.' && i >= 3 && strings.EqualFold(string(runes[i-3:i]), "www"):
			fmt.Fprintf(&b, "&#%d;", r) // or a reader makes a link of it
		case i == 0 && strings.ContainsRune("#+-=", r):
			b.WriteRune('\\')
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// fixed is a number with digits after the point and commas between thousands, or a dash when it is not known.
func fixed(n Number, digits int) string {
	if !n.Known() {
		return "–"
	}
	text := strconv.FormatFloat(float64(n), 'f', digits, 64)
	if strings.Trim(text, "-0.") == "" {
		text = strings.TrimPrefix(text, "-")
	}
	return grouped(strings.Replace(text, "-", "−", 1))
}

// grouped sets commas between thousands of a decimal number.
func grouped(text string) string {
	sign := ""
	if rest, negative := strings.CutPrefix(text, "−"); negative {
		sign, text = "−", rest
	}
	whole, fraction, has := strings.Cut(text, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if has {
		whole += "." + fraction
	}
	return sign + whole
}

// percent is a share in percent, or a dash.
func percent(share Number, digits int) string {
	if !share.Known() {
		return "–"
	}
	return fixed(100*share, digits) + " %"
}

// interval is an estimate with its interval in parentheses, as far as they are known.
func interval(e Estimate, digits int, unit string) string {
	if !e.Value.Known() {
		return "–"
	}
	text := fixed(e.Value, digits) + unit
	if e.Bounded() {
		text += fmt.Sprintf(" (%s to %s)", fixed(e.Low, digits), fixed(e.High, digits))
	}
	return text
}

// pValue is a p value with two digits that matter.
func pValue(p Number) string {
	switch {
	case !p.Known():
		return "p unknown"
	case p < 0.001:
		return "p < 0.001"
	}
	digits := max(2, 1-int(math.Floor(math.Log10(float64(p)))))
	return "p = " + strconv.FormatFloat(float64(p), 'f', digits, 64)
}

// sentence begins with a capital letter.
func sentence(text string) string {
	for i, r := range text {
		return string(unicode.ToUpper(r)) + text[i+len(string(r)):]
	}
	return text
}
