package tools

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/google/jsonschema-go/jsonschema"
	"go.yaml.in/yaml/v3"
)

const (
	maxSkillArguments = 16
	maxSkillChoices   = 50
	maxSkillValue     = 4000 // characters of a string, at most
	maxSkillPattern   = 200  // characters
	maxSkillNumber    = 1e9  // of a number without a maximum
)

// pathType is the type of an argument that is a file or folder.
const pathType = "path"

// A skillArgument is one argument of a command skill.
type skillArgument struct {
	name      string
	kind      string // string, path, integer, number or boolean
	required  bool
	allowDash bool           // its values may be options
	pattern   *regexp.Regexp // what a string must match as a whole; nil: anything
	source    string         // of the pattern
	property  *jsonschema.Schema
}

var (
	skillArgumentName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,31}$`)
	skillArgumentKeys = []string{
		"name", "type", "description", "required", "default", "enum", "minimum", "maximum", "max_length", "pattern", "allow_dash",
	}
	skillTypes = []string{"string", pathType, "integer", "number", "boolean"}
)

// newSkillArgument reads argument number n of a skill.
func newSkillArgument(node *yaml.Node, n int) (skillArgument, *skillFault) {
	what := fmt.Sprintf("argument %d", n)
	f := newYAMLFields(node, what, skillArgumentKeys)
	a := skillArgument{name: f.text("name"), kind: f.text("type"), allowDash: f.flag("allow_dash", false), required: f.flag("required", !f.has("default"))}
	if a.kind == "" {
		a.kind = "string"
	}
	switch {
	case f.fault != nil:
	case !skillArgumentName.MatchString(a.name):
		f.fault = fault(f.lineOf("name"), "use up to 32 lower case letters, digits and _, starting with a letter", "the name %q of %s is not allowed", clip(a.name, 60), what)
	case !slices.Contains(skillTypes, a.kind):
		f.fault = fault(f.lineOf("type"), "the types are "+strings.Join(skillTypes, ", "), "the argument %q has an unknown type %q", a.name, clip(a.kind, 60))
	case a.required && f.has("default"):
		f.fault = fault(f.lineOf("default"), "remove required or default", "the argument %q is required and has a default", a.name)
	}
	if f.fault != nil {
		return a, f.fault
	}
	f.what = fmt.Sprintf("the argument %q", a.name)
	a.property = &jsonschema.Schema{Type: a.kind, Description: strings.Join(strings.Fields(InertText(f.text("description"))), " ")}
	if a.isText() {
		a.property.Type = "string"
		a.readText(f)
	} else {
		a.readNumber(f)
	}
	a.readDefault(f)
	return a, f.fault
}

func (a *skillArgument) isText() bool { return a.kind == "string" || a.kind == pathType }

func (a *skillArgument) isNumber() bool { return a.kind == "integer" || a.kind == "number" }

// notFor refuses the keys that mean nothing for the argument's type.
func (a *skillArgument) notFor(f *yamlFields, keys ...string) {
	for _, key := range keys {
		if node, ok := f.get(key); ok {
			f.fail(node, "remove it", "%q means nothing for an argument of type %s", key, a.kind)
		}
	}
}

// readText reads the bounds of a string. No value is empty: an empty one would make the word around its slot another one.
func (a *skillArgument) readText(f *yamlFields) {
	a.notFor(f, "minimum", "maximum")
	p := a.property
	p.MinLength = jsonschema.Ptr(1)
	for _, node := range f.items("enum", maxSkillChoices) {
		choice := node.Value
		switch {
		case node.Kind != yaml.ScalarNode || node.ShortTag() != "!!str":
			f.fail(node, "put it in quotes", "a choice of %s must be text, not %s", f.what, yamlKind(node))
		case choice == "" || strings.ContainsFunc(choice, unicode.IsControl):
			f.fail(node, "write one line of text", "the choice %q of %s is empty or has a control character", clip(choice, 40), f.what)
		}
		p.Enum = append(p.Enum, choice)
	}
	if node, ok := f.get("enum"); ok && len(p.Enum) == 0 {
		f.fail(node, "name the choices, or remove it", "%s has no choices in its enum", f.what)
	}
	if p.Enum == nil {
		p.MaxLength = jsonschema.Ptr(defaultMaxLength)
	}
	if n := f.number("max_length"); n != nil {
		if *n != math.Trunc(*n) || *n < 1 || *n > maxSkillValue {
			f.fail(f.values["max_length"], fmt.Sprintf("give a whole number from 1 to %d", maxSkillValue), "max_length of %s is %v", f.what, *n)
		}
		p.MaxLength = jsonschema.Ptr(int(*n))
	}
	a.readPattern(f)
}

func (a *skillArgument) readPattern(f *yamlFields) {
	a.source = f.text("pattern")
	if a.source == "" {
		return
	}
	pattern, err := regexp.Compile(`^(?:` + a.source + `)$`)
	switch {
	case len(a.source) > maxSkillPattern:
		f.fail(f.values["pattern"], "shorten it", "the pattern of %s has more than %s", f.what, plural(maxSkillPattern, "byte"))
	case err != nil:
		f.fail(f.values["pattern"], "correct the regular expression", "the pattern of %s cannot be used: %v", f.what, err)
	}
	a.pattern = pattern
	a.property.Description = strings.TrimSpace(a.property.Description + " (matching " + InertText(a.source) + ")")
}

// readNumber reads the bounds of a number, and refuses those of other types.
func (a *skillArgument) readNumber(f *yamlFields) {
	a.notFor(f, "enum", "max_length", "pattern")
	if !a.isNumber() {
		a.notFor(f, "minimum", "maximum", "allow_dash")
		return
	}
	p := a.property
	p.Minimum, p.Maximum = f.number("minimum"), f.number("maximum")
	if p.Maximum == nil {
		p.Maximum = jsonschema.Ptr(float64(maxSkillNumber))
	}
	if p.Minimum == nil {
		// A number below zero begins with a dash.
		p.Minimum = jsonschema.Ptr(math.Min(0, *p.Maximum))
		if a.allowDash {
			p.Minimum = jsonschema.Ptr(math.Min(-maxSkillNumber, *p.Maximum))
		}
	}
	if *p.Minimum > *p.Maximum {
		f.fail(f.values["minimum"], "exchange them", "the minimum of %s is above its maximum", f.what)
	}
}

// readDefault reads the default and checks it as a call's value would be.
func (a *skillArgument) readDefault(f *yamlFields) {
	node, ok := f.get("default")
	if !ok || f.fault != nil {
		return
	}
	var value any
	switch {
	case a.isText():
		value = f.text("default")
	case a.kind == "boolean":
		value = f.flag("default", false)
	case a.kind == "integer":
		var n int64
		if s := f.scalar("default", "a whole number", "write a number without quotes", "!!int"); s != nil && s.Decode(&n) != nil {
			f.fail(node, "write a smaller number", "the default of %s is out of range", f.what)
		}
		value = n
	default:
		if n := f.number("default"); n != nil {
			value = *n
		}
	}
	if f.fault != nil {
		return
	}
	raw, err := marshalPlain(value)
	if err != nil {
		f.fail(node, "give another one", "the default of %s cannot be used: %v", f.what, err)
		return
	}
	canonical, why := canonicalValue(raw, a.property)
	if why == "" {
		why = a.mismatch(node.Value)
	}
	if strings.ContainsFunc(node.Value, unicode.IsControl) {
		why = "has a line end or another control character"
	}
	if why != "" {
		f.fail(node, "give one that fits", "the default of %s %s", f.what, why)
		return
	}
	a.property.Default = canonical
}

// mismatch says why a text does not fit the pattern; empty when it does.
func (a *skillArgument) mismatch(text string) string {
	if a.pattern == nil || a.pattern.MatchString(text) {
		return ""
	}
	return fmt.Sprintf("is %q, which does not match %s", clip(text, 60), a.source)
}

// text returns a value of a call as the text for the slot.
func (a *skillArgument) text(raw json.RawMessage) (string, error) {
	if !a.isText() {
		return string(raw), nil // a number or a truth value, as JSON writes it
	}
	var s string
	err := json.Unmarshal(raw, &s)
	return s, err
}

// fixed returns the texts that the author of the skill chose: the choices and the default.
func (a *skillArgument) fixed() []string {
	var out []string
	for _, choice := range a.property.Enum {
		out = append(out, fmt.Sprint(choice))
	}
	if a.property.Default != nil {
		if text, err := a.text(a.property.Default); err == nil {
			out = append(out, text)
		}
	}
	return out
}

// sample returns a value for trying a template out. Values of different n differ where the type has different ones.
func (a *skillArgument) sample(n int) string {
	switch {
	case len(a.property.Enum) > 0:
		return fmt.Sprint(a.property.Enum[n%len(a.property.Enum)])
	case a.kind == "boolean":
		return strconv.FormatBool(n%2 == 0)
	case a.isNumber():
		return strconv.Itoa(n + 1)
	}
	return []string{"x", "y", "1", "+1", "."}[n%skillSamples]
}

// skillSamples is how many different samples there are of a text.
const skillSamples = 5
