package tools

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/syntax"
)

// skillSlot matches what looks like a slot; whether it is one, the declared arguments tell.
var skillSlot = regexp.MustCompile(`^\{([A-Za-z_][A-Za-z0-9_-]*)\}`)

// A skillTemplate is a command line with slots. It is parsed once: values are put into the tree of the parsed line, as
// quoted words, so that nothing in them is ever read as shell. It does not change and is safe for concurrent use.
type skillTemplate struct {
	source string
	file   *syntax.File
	pieces map[*syntax.Lit][]templatePiece // the literals with slots
	slots  []templateSlot                  // in the order of the source
	words  []*syntax.Word                  // those with slots
}

// A templatePiece is a part of a literal: text as it is written, or a slot.
type templatePiece struct{ text, slot string }

// A templateSlot is one place of a slot in the source, in bytes.
type templateSlot struct {
	name     string
	from, to int
	quoted   bool // it is between double quotes
}

// parseTemplate parses a command line and finds its slots: {name} anywhere in an argument, outside of single quotes and not
// behind a backslash. The caller checks that the slots are declared.
func parseTemplate(source string) (*skillTemplate, *Error) {
	file, problem := parseCommand(source)
	if problem != nil {
		return nil, problem
	}
	t := &skillTemplate{source: source, file: file, pieces: map[*syntax.Lit][]templatePiece{}}
	syntax.Walk(file, func(node syntax.Node) bool {
		call, ok := node.(*syntax.CallExpr)
		if !ok {
			return true
		}
		for i, word := range call.Args {
			before := len(t.slots)
			t.findSlots(word)
			if len(t.slots) == before {
				continue
			}
			t.words = append(t.words, word)
			if i == 0 && problem == nil {
				problem = refuse(fmt.Sprintf("the slot {%s} is in the place of the program", t.slots[before].name), "name the program in the template")
			}
		}
		return true
	})
	return t, problem
}

func (t *skillTemplate) findSlots(word *syntax.Word) {
	for _, part := range word.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			t.findInLiteral(part, false)
		case *syntax.DblQuoted:
			for _, inner := range part.Parts {
				if lit, ok := inner.(*syntax.Lit); ok {
					t.findInLiteral(lit, true)
				}
			}
		}
	}
}

// findInLiteral notes the slots of a literal, whose value is its source text.
func (t *skillTemplate) findInLiteral(lit *syntax.Lit, quoted bool) {
	start := int(lit.ValuePos.Offset())
	var pieces []templatePiece
	last, slots := 0, len(t.slots)
	for i := 0; i < len(lit.Value); i++ {
		if lit.Value[i] == '\\' {
			i++
			continue
		}
		match := skillSlot.FindStringSubmatch(lit.Value[i:])
		if match == nil {
			continue
		}
		if i > last {
			pieces = append(pieces, templatePiece{text: lit.Value[last:i]})
		}
		end := i + len(match[0])
		pieces = append(pieces, templatePiece{slot: match[1]})
		t.slots = append(t.slots, templateSlot{name: match[1], from: start + i, to: start + end, quoted: quoted})
		last, i = end, end-1
	}
	if len(t.slots) == slots {
		return
	}
	if last < len(lit.Value) {
		pieces = append(pieces, templatePiece{text: lit.Value[last:]})
	}
	t.pieces[lit] = pieces
}

// plan checks the command line with values in its slots by the rules of the shell, and returns what to run. dashed names the
// arguments whose values may begin with a dash where an option could stand.
func (t *skillTemplate) plan(s *shell, values map[string]string, dashed map[string]bool) (*shellPlan, *Error) {
	for _, slot := range t.slots {
		if problem := checkOneLine(slot.name, values[slot.name]); problem != nil {
			return nil, problem
		}
	}
	return s.planOf(t.file, func(word *syntax.Word) (*syntax.Word, *Error) { return t.fill(word, values, dashed) })
}

// checkOneLine refuses what a command line may not contain either, and tabs.
func checkOneLine(name, value string) *Error {
	if i := strings.IndexFunc(value, unicode.IsControl); i >= 0 {
		return refuse(fmt.Sprintf("the value of %s contains a line end or another control character, at %s", name, quoteNear([]byte(value), i)),
			"give one line of plain text")
	}
	return nil
}

// dashes returns the refusal of a value that would become an option, if there is one.
func (t *skillTemplate) dashes(values map[string]string, dashed map[string]bool) *Error {
	for _, word := range t.words {
		if _, problem := t.fill(word, values, dashed); problem != nil {
			return problem
		}
	}
	return nil
}

func (t *skillTemplate) fill(word *syntax.Word, values map[string]string, dashed map[string]bool) (*syntax.Word, *Error) {
	f := templateFiller{template: t, values: values, dashed: dashed}
	for _, part := range word.Parts {
		f.part(part)
	}
	return &syntax.Word{Parts: f.parts}, f.problem
}

// A templateFiller makes one word of a command line.
type templateFiller struct {
	template *skillTemplate
	values   map[string]string
	dashed   map[string]bool
	parts    []syntax.WordPart
	head     string // what the word begins with so far, without quotes and backslashes
	problem  *Error
}

func (f *templateFiller) part(part syntax.WordPart) {
	switch part := part.(type) {
	case *syntax.Lit:
		f.literal(part, func(lit *syntax.Lit) syntax.WordPart { return lit })
		return
	case *syntax.SglQuoted:
		f.head += part.Value
	case *syntax.DblQuoted:
		if !slices.ContainsFunc(part.Parts, f.hasSlots) {
			for _, inner := range part.Parts {
				if lit, ok := inner.(*syntax.Lit); ok {
					f.head += lit.Value
				}
			}
			break
		}
		quote := func(inner syntax.WordPart) syntax.WordPart {
			return &syntax.DblQuoted{Dollar: part.Dollar, Parts: []syntax.WordPart{inner}}
		}
		for _, inner := range part.Parts {
			if lit, ok := inner.(*syntax.Lit); ok {
				f.literal(lit, func(lit *syntax.Lit) syntax.WordPart { return quote(lit) })
			} else {
				f.parts = append(f.parts, quote(inner)) // an expansion, for the check to refuse
			}
		}
		return
	}
	f.parts = append(f.parts, part)
}

func (f *templateFiller) hasSlots(part syntax.WordPart) bool {
	lit, ok := part.(*syntax.Lit)
	return ok && f.template.pieces[lit] != nil
}

// literal adds a literal with its slots filled. text makes the part for what is between slots.
func (f *templateFiller) literal(lit *syntax.Lit, text func(*syntax.Lit) syntax.WordPart) {
	pieces := f.template.pieces[lit]
	if pieces == nil {
		f.head += strings.ReplaceAll(lit.Value, `\`, "")
		f.parts = append(f.parts, text(lit))
		return
	}
	for _, piece := range pieces {
		if piece.slot == "" {
			f.head += strings.ReplaceAll(piece.text, `\`, "")
			f.parts = append(f.parts, text(&syntax.Lit{Value: piece.text}))
			continue
		}
		value := f.values[piece.slot]
		// Behind nothing but dashes, a dash makes an option, or a short one into a long one.
		if strings.HasPrefix(value, "-") && strings.Trim(f.head, "-") == "" && !f.dashed[piece.slot] && f.problem == nil {
			f.problem = refuse(fmt.Sprintf("the value %q of %s begins with - and would be read as an option", clip(value, 60), piece.slot),
				"give a value that begins otherwise; for a file, put ./ in front")
		}
		f.head += value
		f.parts = append(f.parts, &syntax.SglQuoted{Value: value})
	}
}

// text returns the command line with quoted values in its slots, for people.
func (t *skillTemplate) text(values map[string]string) string {
	var b strings.Builder
	last := 0
	for _, slot := range t.slots {
		b.WriteString(t.source[last:slot.from])
		value, err := syntax.Quote(values[slot.name], syntax.LangBash)
		if err != nil {
			value = fmt.Sprintf("%q", values[slot.name]) // a value that no shell could be given was refused before
		}
		if slot.quoted {
			value = `"` + value + `"`
		}
		b.WriteString(value)
		last = slot.to
	}
	return b.String() + t.source[last:]
}
