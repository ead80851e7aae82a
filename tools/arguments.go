package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
)

// canonicalArguments implements [Registry.Validate] for one tool.
func canonicalArguments(spec Spec, raw json.RawMessage) (json.RawMessage, *Error) {
	given, problem := parseArguments(spec, raw)
	if problem != nil {
		return nil, problem
	}
	problems := unknownArguments(spec, given)
	out := []byte{'{'}
	for _, name := range propertyOrder(spec.Parameters) {
		property := spec.Parameters.Properties[name]
		required := slices.Contains(spec.Parameters.Required, name)
		value, ok := given[name]
		if !ok || !required && isAbsent(value, property) {
			if required {
				problems = append(problems, fmt.Sprintf("argument %q is missing", name))
			}
			continue
		}
		canonical, why := canonicalValue(value, property)
		if why != "" {
			problems = append(problems, fmt.Sprintf("argument %q %s", name, why))
			continue
		}
		if property.Default != nil && bytes.Equal(canonical, property.Default) {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(strconv.AppendQuote(out, name), ':'), canonical...)
	}
	if len(problems) > 0 {
		return nil, invalidArguments(spec, strings.Join(problems, "; "))
	}
	return append(out, '}'), nil
}

func invalidArguments(spec Spec, message string) *Error {
	return &Error{
		Kind:    KindInvalidArguments,
		Message: spec.Name + ": " + message,
		Fix:     usage(spec),
		Data:    map[string]any{"parameters": spec.Parameters},
	}
}

// parseArguments reads one JSON object and nothing else.
func parseArguments(spec Spec, raw json.RawMessage) (map[string]json.RawMessage, *Error) {
	text := bytes.TrimSpace(raw)
	if len(text) == 0 || string(text) == "null" || string(text) == `""` {
		if len(spec.Parameters.Required) > 0 {
			return nil, invalidArguments(spec, "no arguments were given")
		}
		return nil, nil
	}
	if !utf8.Valid(text) {
		return nil, invalidArguments(spec, "the arguments are not valid UTF-8")
	}
	var given map[string]json.RawMessage
	err := json.Unmarshal(text, &given)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return nil, invalidArguments(spec, describeSyntax(text, syntax))
	}
	if err != nil {
		return nil, invalidArguments(spec, describeNonObject(text))
	}
	if name := duplicateKey(text); name != "" {
		return nil, invalidArguments(spec, fmt.Sprintf("argument %q is given twice", name))
	}
	return given, nil
}

// describeSyntax says what is wrong with the JSON and quotes the place.
func describeSyntax(text []byte, syntax *json.SyntaxError) string {
	at := max(0, min(int(syntax.Offset)-1, len(text)-1))
	reason := syntax.Error()
	switch {
	case strings.Contains(reason, "after top-level value"):
		return fmt.Sprintf("there is text after the arguments object: %s; give one object only", quoteNear(text[at:], 0))
	case strings.Contains(reason, "unexpected end"):
		return fmt.Sprintf("the arguments end in the middle, after %s", quoteNear(text, len(text)-1))
	case text[at] < 0x20:
		return fmt.Sprintf(`the arguments have a raw control character inside a string, at %s; write a newline as \n`, quoteNear(text, at))
	}
	return fmt.Sprintf("the arguments are not valid JSON: %s, at %s", reason, quoteNear(text, at))
}

// quoteNear shows up to 20 characters on both sides of a position, between backquotes; line ends become visible.
func quoteNear(text []byte, at int) string {
	const span = 20
	from, to := max(0, at-span), min(len(text), at+span)
	for from > 0 && !utf8.RuneStart(text[from]) {
		from--
	}
	for to < len(text) && !utf8.RuneStart(text[to]) {
		to++
	}
	quoted := strings.NewReplacer("\n", "␊", "\r", "␍").Replace(string(text[from:to]))
	if from > 0 {
		quoted = "…" + quoted
	}
	if to < len(text) {
		quoted += "…"
	}
	return "`" + quoted + "`"
}

func describeNonObject(text []byte) string {
	var inner string
	if json.Unmarshal(text, &inner) == nil {
		if strings.HasPrefix(strings.TrimSpace(inner), "{") {
			return fmt.Sprintf("the arguments are encoded as JSON twice: they are the string %s; give the object itself", quoteNear(text, 0))
		}
		return fmt.Sprintf("the arguments are the string %s; give an object with named arguments", quoteNear(text, 0))
	}
	if text[0] == '[' {
		return "the arguments are an array; give an object with named arguments"
	}
	return fmt.Sprintf("the arguments are %s; give an object with named arguments", quoteNear(text, 0))
}

// duplicateKey returns the first key that a valid JSON object has twice, or "".
func duplicateKey(text []byte) string {
	dec := json.NewDecoder(bytes.NewReader(text))
	if _, err := dec.Token(); err != nil {
		return ""
	}
	seen := map[string]bool{}
	for dec.More() {
		key, err := dec.Token()
		name, ok := key.(string)
		if err != nil || !ok {
			return ""
		}
		if seen[name] {
			return name
		}
		seen[name] = true
		var skip json.RawMessage
		if dec.Decode(&skip) != nil {
			return ""
		}
	}
	return ""
}

func unknownArguments(spec Spec, given map[string]json.RawMessage) []string {
	valid := propertyOrder(spec.Parameters)
	var unknown []string
	for name := range given {
		if !slices.Contains(valid, name) {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	var problems []string
	for _, name := range unknown {
		problem := fmt.Sprintf("there is no argument %q", clip(name, 60))
		if near := nearest(name, valid, 1); len(near) > 0 {
			problem += fmt.Sprintf(" (did you mean %q?)", near[0])
		}
		problems = append(problems, problem)
	}
	return problems
}

// isAbsent tells the spellings by which models leave an optional argument out.
func isAbsent(value json.RawMessage, property *jsonschema.Schema) bool {
	switch string(value) {
	case "null":
		return true
	case `""`:
		return property.Type == "string" && (len(property.Enum) > 0 || property.MinLength != nil && *property.MinLength > 0)
	}
	return false
}

// canonicalValue returns the one spelling of a value, or why it does not fit.
func canonicalValue(value json.RawMessage, property *jsonschema.Schema) (json.RawMessage, string) {
	switch property.Type {
	case "string":
		var s string
		if json.Unmarshal(value, &s) != nil || string(value) == "null" {
			return nil, "must be a string, not " + typeOf(value)
		}
		return canonicalString(s, property)
	case "integer":
		n, ok := integer(value)
		if !ok {
			return nil, "must be a whole number, not " + typeOf(value)
		}
		if why := outOfRange(float64(n), property); why != "" {
			return nil, why
		}
		return strconv.AppendInt(nil, n, 10), ""
	case "boolean":
		if s := string(value); s != "true" && s != "false" {
			return nil, "must be true or false, not " + typeOf(value)
		}
		return value, ""
	}
	return canonicalOther(value, property)
}

func canonicalString(s string, property *jsonschema.Schema) (json.RawMessage, string) {
	if len(property.Enum) > 0 && !slices.Contains(property.Enum, any(s)) {
		choice := slices.IndexFunc(property.Enum, func(v any) bool { return strings.EqualFold(fmt.Sprint(v), s) })
		if choice < 0 {
			return nil, fmt.Sprintf("must be one of %s, not %q", choices(property.Enum), clip(s, 60))
		}
		s = fmt.Sprint(property.Enum[choice])
	}
	n := utf8.RuneCountInString(s)
	if property.MinLength != nil && n < *property.MinLength {
		if n == 0 {
			return nil, "is empty"
		}
		return nil, fmt.Sprintf("has %s; it needs at least %d", plural(n, "character"), *property.MinLength)
	}
	if property.MaxLength != nil && n > *property.MaxLength {
		return nil, fmt.Sprintf("has %s; at most %d are allowed", plural(n, "character"), *property.MaxLength)
	}
	out, err := marshalPlain(s)
	if err != nil {
		return nil, "is not a JSON string: " + err.Error()
	}
	return out, ""
}

// canonicalOther checks numbers, arrays and objects with the schema library.
func canonicalOther(value json.RawMessage, property *jsonschema.Schema) (json.RawMessage, string) {
	resolved, err := property.CloneSchemas().Resolve(nil)
	if err != nil {
		return nil, "has an unusable schema: " + err.Error()
	}
	dec := json.NewDecoder(bytes.NewReader(value))
	dec.UseNumber()
	var exact, plain any
	if err := errors.Join(dec.Decode(&exact), json.Unmarshal(value, &plain)); err != nil {
		return nil, "is not valid JSON: " + err.Error()
	}
	if err := resolved.Validate(plain); err != nil {
		return nil, "does not fit its schema: " + err.Error()
	}
	out, err := marshalPlain(exact)
	if err != nil {
		return nil, "is not valid JSON: " + err.Error()
	}
	return out, ""
}

func outOfRange(n float64, property *jsonschema.Schema) string {
	if property.Minimum != nil && n < *property.Minimum {
		return fmt.Sprintf("is %v; the smallest allowed is %v", n, *property.Minimum)
	}
	if property.Maximum != nil && n > *property.Maximum {
		return fmt.Sprintf("is %v; the largest allowed is %v", n, *property.Maximum)
	}
	return ""
}

// integer reads a whole number in any JSON spelling: 5, 5.0, 5e0.
func integer(value json.RawMessage) (int64, bool) {
	if len(value) == 0 || value[0] != '-' && (value[0] < '0' || value[0] > '9') {
		return 0, false
	}
	if n, err := strconv.ParseInt(string(value), 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(string(value), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int64(f), true
}

// typeOf names a JSON value for a message.
func typeOf(value json.RawMessage) string {
	if len(value) == 0 {
		return "nothing"
	}
	switch value[0] {
	case '"':
		return "the string " + clip(string(value), 40)
	case '[':
		return "an array"
	case '{':
		return "an object"
	}
	return clip(string(value), 40)
}

func marshalPlain(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

func choices(enum []any) string {
	names := make([]string, len(enum))
	for i, v := range enum {
		names[i] = fmt.Sprint(v)
	}
	return quoteList(names, " or ")
}

// usage lists the arguments of a tool in one line.
func usage(spec Spec) string {
	names := propertyOrder(spec.Parameters)
	if len(names) == 0 {
		return spec.Name + " takes no arguments: give {}"
	}
	parts := make([]string, len(names))
	for i, name := range names {
		property := spec.Parameters.Properties[name]
		about := property.Type
		if len(property.Enum) > 0 {
			about = "one of " + choices(property.Enum)
		}
		switch {
		case slices.Contains(spec.Parameters.Required, name):
			about += ", required"
		case property.Default != nil:
			about += ", default " + string(property.Default)
		}
		parts[i] = fmt.Sprintf("%s (%s)", name, about)
	}
	return "the arguments are " + strings.Join(parts, ", ")
}
