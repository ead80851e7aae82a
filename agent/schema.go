package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/llama-agent/llama-agent/templates"
	"github.com/llama-agent/llama-agent/tools"
)

// form is what a reply must look like. A nil form is free text.
type form struct {
	schema   json.RawMessage      // sent with the request; properties in the order in which they are to be written
	accepted *jsonschema.Resolved // what a reply is checked against
}

// newForm makes a form that asks for one schema and accepts another, which may be wider.
func newForm(asked, accepted *jsonschema.Schema) (*form, error) {
	raw, err := json.Marshal(asked)
	if err != nil {
		return nil, fmt.Errorf("encoding a reply schema: %w", err)
	}
	resolved, err := accepted.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("resolving a reply schema: %w", err)
	}
	return &form{schema: raw, accepted: resolved}, nil
}

// object returns a closed object schema. All properties are required, and written in the order given.
func object(properties ...property) *jsonschema.Schema {
	s := &jsonschema.Schema{
		Type: "object", Properties: map[string]*jsonschema.Schema{},
		AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
	}
	for _, p := range properties {
		s.Properties[p.name] = p.schema
		s.PropertyOrder = append(s.PropertyOrder, p.name)
		s.Required = append(s.Required, p.name)
	}
	return s
}

type property struct {
	name   string
	schema *jsonschema.Schema
}

func oneOf(values ...string) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, v := range values {
		s.Enum = append(s.Enum, v)
	}
	return s
}

func boundedText(minRunes, maxRunes int) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", MinLength: &minRunes, MaxLength: &maxRunes}
}

func boundedList(items *jsonschema.Schema, minItems, maxItems int) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "array", Items: items, MinItems: &minItems, MaxItems: &maxItems}
}

// planForm asks for 1 to limits.MaxPlanSteps steps. What to do comes before the tool, so that the choice of the tool follows
// from it. A tool that is not offered is accepted: the step that takes it becomes a failed call, and the model chooses again
// with the names before it.
func planForm(names []string, limits Limits) (*form, error) {
	plan := func(tool *jsonschema.Schema) *jsonschema.Schema {
		step := object(property{"do", boundedText(1, limits.MaxTextRunes)}, property{"tool", tool})
		return object(property{"steps", boundedList(step, 1, limits.MaxPlanSteps)})
	}
	return newForm(plan(oneOf(append(slices.Clone(names), NoTool)...)), plan(boundedText(1, limits.MaxTextRunes)))
}

// choiceForm asks for one tool, or none. As in a plan, any name is accepted.
func choiceForm(names []string, limits Limits) (*form, error) {
	choice := func(tool *jsonschema.Schema) *jsonschema.Schema { return object(property{"tool", tool}) }
	return newForm(choice(oneOf(append(slices.Clone(names), NoTool)...)), choice(boundedText(1, limits.MaxTextRunes)))
}

// maxMissing is how many missing things a review may name.
const maxMissing = 4

// reviewForm asks for a review, the decision first.
func reviewForm(limits Limits) (*form, error) {
	review := func() *jsonschema.Schema {
		return object(
			property{"decision", oneOf(string(DecisionDone), string(DecisionContinue), string(DecisionFailed))},
			property{"missing", boundedList(boundedText(1, limits.MaxTextRunes), 0, maxMissing)},
			property{"reason", boundedText(0, limits.MaxTextRunes)},
		)
	}
	return newForm(review(), review())
}

// argumentsForm asks for the arguments that a small model needs to give. It is for the request only: a reply is checked
// against all that the tool accepts, by the registry.
func argumentsForm(spec tools.Spec) (*form, error) {
	return newForm(spec.Essential(), spec.Essential())
}

// takesNothing reports whether the model has no argument to write.
func takesNothing(spec tools.Spec) bool { return len(spec.Essential().Properties) == 0 }

// decode reads a reply that must have the form f, or says in words for the model why it cannot be used. It repairs nothing:
// a code fence around the whole reply is taken off, everything else is as the model wrote it.
func decode[T any](f *form, reply string) (T, error) {
	var zero T
	body := unfence(reply)
	value, err := decodeJSON(body)
	if err != nil {
		return zero, err
	}
	if err := f.accepted.Validate(value); err != nil {
		return zero, fmt.Errorf("it does not have the form asked for: %w", err)
	}
	var out T
	if err := json.Unmarshal([]byte(body), &out); err != nil {
		return zero, fmt.Errorf("it does not have the form asked for: %w", err)
	}
	return out, nil
}

// decodeJSON reads one JSON value and nothing after it.
func decodeJSON(body string) (any, error) {
	if strings.TrimSpace(body) == "" {
		return nil, errors.New("it is empty")
	}
	dec := json.NewDecoder(strings.NewReader(body))
	var value any
	if err := dec.Decode(&value); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, errors.New("it is not complete JSON")
		}
		return nil, fmt.Errorf("it is not JSON: %w, near %s", err, near(body, dec.InputOffset()))
	}
	if rest := strings.TrimSpace(body[dec.InputOffset():]); rest != "" {
		return nil, fmt.Errorf("text follows the JSON value: %s", strconv.Quote(clip(rest, 40)))
	}
	return value, nil
}

// near quotes what stands around a byte offset.
func near(body string, offset int64) string {
	start := max(0, int(offset)-20)
	return strconv.Quote(clip(strings.ToValidUTF8(body[min(start, len(body)):], ""), 40))
}

// unfence takes off a Markdown code fence that encloses the whole reply, as models without a grammar like to write it.
func unfence(reply string) string {
	body := strings.TrimSpace(reply)
	inner, ok := strings.CutPrefix(body, "```")
	if !ok {
		return body
	}
	inner, ok = strings.CutSuffix(inner, "```")
	if !ok {
		return body
	}
	info, rest, ok := strings.Cut(inner, "\n")
	if !ok || strings.Contains(rest, "```") || strings.ContainsAny(info, "{[") {
		return body
	}
	return strings.TrimSpace(rest)
}

// clip shortens s to limit characters, and marks that.
func clip(s string, limit int) string {
	n := 0
	for i := range s {
		if n == limit {
			return s[:i] + "…"
		}
		n++
	}
	return s
}

// signature shows a tool with its essential arguments, as in "read_file(file_path, start_line?)".
func signature(spec tools.Spec) string {
	parameters := parametersOf(spec)
	names := make([]string, len(parameters))
	for i, p := range parameters {
		names[i] = p.Name
		if !p.Required {
			names[i] += "?"
		}
	}
	return spec.Name + "(" + strings.Join(names, ", ") + ")"
}

// parametersOf describes the essential arguments of a tool in their order.
func parametersOf(spec tools.Spec) []templates.ParameterData {
	schema := spec.Essential()
	var out []templates.ParameterData
	for _, name := range schema.PropertyOrder {
		p := schema.Properties[name]
		if p == nil {
			continue
		}
		out = append(out, templates.ParameterData{
			Name: name, Type: typeName(p), Description: p.Description, Required: slices.Contains(schema.Required, name),
		})
	}
	return out
}

// typeName describes a property's type, and its choices or range where it has them.
func typeName(p *jsonschema.Schema) string {
	if len(p.Enum) > 0 {
		values := make([]string, len(p.Enum))
		for i, v := range p.Enum {
			values[i] = fmt.Sprint(v)
		}
		return "one of " + strings.Join(values, ", ")
	}
	name := p.Type
	if name == "" {
		name = "any"
	}
	if p.Minimum != nil && p.Maximum != nil {
		name += fmt.Sprintf(" from %s to %s", number(*p.Minimum), number(*p.Maximum))
	}
	if len(p.Default) > 0 {
		name += ", default " + string(bytes.TrimSpace(p.Default))
	}
	return name
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
