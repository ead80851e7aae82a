package graph

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Mermaid returns the diagram as a flowchart in Mermaid's language, which many Markdown viewers draw. Dotted lines are
// followed when a branch or node chooses them; lines that meet in a circle are a join; dashed boxes are deferred; thick boxes have
// a breakpoint; boxes with double sides are subgraphs. No name can break out of its box. The text ends with a newline.
func (d Diagram) Mermaid() string {
	var m mermaid
	direction := "TD"
	if d.leftToRight {
		direction = "LR"
	}
	m.printf("flowchart %s", direction)
	s := d.sketch()
	m.boxes(s.boxes, "  ")
	for _, l := range s.lines {
		m.printf("  %s %s %s", l.from, mermaidArrow(l), l.to)
	}
	m.class("deferred", "stroke-dasharray:6 4", m.dashed)
	m.class("breakpoint", "stroke-width:3px", m.thick)
	return m.text.String()
}

type mermaid struct {
	text          strings.Builder
	dashed, thick []string // IDs
}

func (m *mermaid) printf(format string, args ...any) {
	fmt.Fprintf(&m.text, format+"\n", args...)
}

func (m *mermaid) boxes(boxes []box, indent string) {
	for _, b := range boxes {
		if b.dashed {
			m.dashed = append(m.dashed, b.id)
		}
		if b.thick {
			m.thick = append(m.thick, b.id)
		}
		label := mermaidText(b.text)
		switch b.kind {
		case frameBox:
			m.printf("%ssubgraph %s[%s]", indent, b.id, label)
			m.boxes(b.inside, indent+"  ")
			m.printf("%send", indent)
		case startBox, endBox:
			m.printf("%s%s([%s])", indent, b.id, label)
		case subgraphBox:
			m.printf("%s%s[[%s]]", indent, b.id, label)
		case anyBox:
			m.printf("%s%s{{%s}}", indent, b.id, label)
		case joinBox:
			m.printf("%s%s((%s))", indent, b.id, label)
		case plainBox:
			m.printf("%s%s(%s)", indent, b.id, label)
		}
	}
}

// class gives a look to boxes.
func (m *mermaid) class(name, look string, ids []string) {
	if len(ids) > 0 {
		m.printf("  classDef %s %s", name, look)
		m.printf("  class %s %s", strings.Join(ids, ","), name)
	}
}

func mermaidArrow(l line) string {
	switch {
	case l.half:
		return "---"
	case l.kind == BranchEdge:
		return "-.->"
	case l.kind == GotoEdge:
		return `-. "goto" .->`
	}
	return "-->"
}

// mermaidText quotes lines of text. What Mermaid, Markdown or HTML may see a meaning in is written as a number, and with
// [neutral] kept from having a meaning even then.
func mermaidText(lines []string) string {
	escaped := slices.Clone(lines)
	for i, text := range lines {
		escaped[i] = mermaidLine([]rune(neutral.Replace(text)))
	}
	return `"` + strings.Join(escaped, "<br/>") + `"`
}

func mermaidLine(text []rune) string {
	var b strings.Builder
	letter := func(i int) bool {
		return i >= 0 && i < len(text) && unicode.In(text[i], unicode.L, unicode.M, unicode.Nd)
	}
	if !letter(0) || unicode.IsDigit(text[0]) {
		b.WriteString(joiner) // else it may begin a list, a heading or a rule
	}
	for i, r := range text {
		within := letter(i-1) && letter(i+1)
		switch {
		case letter(i), strings.ContainsRune(" ,()", r), within && strings.ContainsRune("_-\u200c\u200d", r):
			b.WriteRune(r)
		case r == '_':
			b.WriteString(joiner + "_" + joiner) // as within a word, where it is no mark-up
		default:
			fmt.Fprintf(&b, "#%d;", r)
		}
	}
	return b.String()
}

// joiner is a word joiner, which is invisible and breaks up what has a meaning together.
const joiner = "#8288;"

// neutral changes what some versions of Mermaid interpret although it is written as a number (10.9, 11.4 and 11.17 were looked
// at): \n as a line break, $$ as the begin of a formula, ﬂ° as the begin of a number, and Markdown. What a word joiner doesn't
// break up is replaced by a character that looks the same.
var neutral = strings.NewReplacer(
	`\`, "\\\u2060", "$", "$\u2060", "ﬂ", "ﬂ\u2060",
	".", "\u2060.", ":", ":\u2060", "@", "@\u2060", "](", "]\u2060(",
	"`", "\u02cb", "*", "\u2217", "~", "\u223c",
)
