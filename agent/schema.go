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
	"unicode/utf8"

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

// planForm asks what the plan is about, and for 1 to limits.MaxPlanSteps steps unless that is general knowledge. Each step names its file
// first, then a tool that fits that file, then what to do: small models choose well in that order, and a tool for the wrong kind of
// file cannot be planned. A file or tool that is not offered is accepted in a reply: the step becomes a failed call, and the model
// chooses again with the names before it.
func planForm(specs []tools.Spec, facts Facts, out outside, limits Limits) (*form, error) {
	planned := func(a about, step *jsonschema.Schema) *jsonschema.Schema {
		return object(property{"about", oneOf(string(a))}, property{"steps", boundedList(step, 1, limits.MaxPlanSteps)})
	}
	step := func(file, tool *jsonschema.Schema) *jsonschema.Schema {
		return object(property{"file", file}, property{"tool", tool}, property{"do", boundedText(1, limits.MaxTextRunes)})
	}
	name := func() *jsonschema.Schema { return boundedText(1, limits.MaxTextRunes) }
	longest := limits.MaxTextRunes // what is offered is accepted
	var asked []*jsonschema.Schema
	for _, g := range subjectGroups(specs, facts, out) {
		if slices.Equal(g.files, []string{NoFile}) {
			asked = append(asked, stepWithoutFile(limits, g.tools...))
			continue
		}
		asked = append(asked, step(oneOf(g.files...), oneOf(g.tools...)))
		for _, file := range g.files {
			longest = max(longest, utf8.RuneCountInString(file))
		}
	}
	if others := pathTools(specs); facts.FilesLeftOut > 0 && len(others) > 0 {
		asked = append(asked, step(name(), oneOf(others...)))
	}
	var plans []*jsonschema.Schema
	keep := toolsThat(specs, func(s tools.Spec) bool { return out.states() && only(s, tools.SubjectFact) })
	restated := out.restated && len(keep) > 0 && !out.named
	if !out.tied && !restated {
		plans = append(plans, object(property{"about", oneOf(string(aboutKnowledge))}))
	}
	if (out.said || !out.asked) && !out.named && !out.unread && !out.ordered && !restated {
		plans = append(plans, object(property{"about", oneOf(string(aboutSaid))}))
		if lookup := toolsThat(specs, func(s tools.Spec) bool { return out.records && only(s, tools.SubjectMemory) }); len(lookup) > 0 {
			plans = append(plans, planned(aboutSaid, stepWithoutFile(limits, lookup...)))
		}
	}
	if len(keep) > 0 && !out.named {
		plans = append(plans, planned(aboutFact, stepWithoutFile(limits, keep...)))
	}
	plans = append(plans, planned(aboutMachine, anyOf(asked)))
	accepted := step(boundedText(0, longest), name())
	accepted.Required = []string{"tool", "do"}
	withSteps := object(property{"about", name()}, property{"steps", boundedList(accepted, 1, limits.MaxPlanSteps)})
	withSteps.Required = []string{"steps"}
	return newForm(anyOf(plans), anyOf([]*jsonschema.Schema{object(property{"about", oneOf(string(aboutKnowledge), string(aboutSaid))}), withSteps}))
}

// stepWithoutFile asks for a step that is about no file: what is to be done tells its tool, where a file tells it otherwise.
func stepWithoutFile(limits Limits, tools ...string) *jsonschema.Schema {
	return object(property{"file", oneOf(NoFile)}, property{"do", boundedText(1, limits.MaxTextRunes)}, property{"tool", oneOf(tools...)})
}

func anyOf(schemas []*jsonschema.Schema) *jsonschema.Schema {
	if len(schemas) == 1 {
		return schemas[0]
	}
	return &jsonschema.Schema{AnyOf: schemas}
}

// subjectGroup is the files of one kind with the tools that fit them.
type subjectGroup struct{ files, tools []string }

// outside is what a prompt only mentions.
type outside struct {
	stored  []string // references of stored results
	records bool     // there are turns or results that are not shown whole
	// asked tells that the task is a question. A small model takes one about what it was told for a reason to remember that again, with
	// a value of its own making, so that facts are remembered only of what is stated.
	asked  bool
	said   bool // there is something that was said before
	quoted bool // earlier turns that share words with the task are quoted in front of it
	unread bool // the task names a file that no earlier turn looked into
	named  bool // the task names the tool that it is to be done with
	// ordered tells that the task is an order to delete something, which nothing that is remembered does.
	ordered bool
	// restated tells that the task seems to give a new value for something remembered, which has to be remembered in its place.
	restated bool
	tied     bool // to the machine: the task names a file or has the words of one, or steps are wanted for what no result shows yet
}

// states reports whether the task may state something to remember.
func (o outside) states() bool { return !o.asked && !o.ordered }

// subjectGroups pairs files and stored results with tools. The last group is about no file in particular, and is always there.
func subjectGroups(specs []tools.Spec, facts Facts, beyond outside) []subjectGroup {
	files := map[tools.Subject][]string{tools.SubjectArtifact: beyond.stored}
	folders := map[string]bool{}
	var short []string
	for _, f := range facts.Files {
		subject := tools.SubjectOf(f.Kind, f.Path)
		if subject == tools.SubjectText && f.Kind == "text" && f.Bytes > 0 && f.Bytes <= shortBytes && !beyond.named {
			short = append(short, f.Path)
		} else {
			files[subject] = append(files[subject], f.Path)
		}
		for dir := parent(f.Path); dir != ""; dir = parent(strings.TrimSuffix(dir, "/")) {
			if !folders[dir] {
				folders[dir] = true
				files[tools.SubjectFolder] = append(files[tools.SubjectFolder], dir)
			}
		}
	}
	for _, path := range slices.Concat(facts.Attached, facts.Mentioned) {
		listed := slices.ContainsFunc(facts.Files, func(f File) bool { return f.Path == path })
		if !listed && !slices.Contains(files[tools.SubjectOther], path) {
			files[tools.SubjectOther] = append(files[tools.SubjectOther], path)
		}
	}
	var out []subjectGroup
	if fitting := withoutShell(specs, toolsFor(specs, tools.SubjectText)); len(short) > 0 && len(fitting) > 0 {
		out = append(out, subjectGroup{short, fitting})
	} else {
		files[tools.SubjectText] = append(short, files[tools.SubjectText]...)
	}
	for _, subject := range []tools.Subject{
		tools.SubjectArtifact, tools.SubjectText, tools.SubjectLog, tools.SubjectTable, tools.SubjectDatabase, tools.SubjectFolder,
		tools.SubjectOther,
	} {
		fitting := toolsFor(specs, subject)
		switch subject {
		case tools.SubjectTable: // any tool for text can do something with it, when it is asked for
			if beyond.named || len(fitting) == 0 {
				fitting = toolsThat(specs, func(s tools.Spec) bool { return s.Fits(subject) || s.Fits(tools.SubjectText) })
			}
		case tools.SubjectOther:
			fitting = toolsThat(specs, func(s tools.Spec) bool { // an unknown kind: let the tool say what fits
				return isAboutFiles(s) || s.Fits(subject)
			})
		}
		if len(files[subject]) > 0 && len(fitting) > 0 {
			out = append(out, subjectGroup{files[subject], fitting})
		}
	}
	none := []string{NoTool}
	if !beyond.quoted || !beyond.asked || beyond.tied { // else a small model writes commands to recall what is quoted
		none = append(none, toolsFor(specs, tools.SubjectNone)...)
	}
	return append(out, subjectGroup{[]string{NoFile}, append(none, recordTools(specs, beyond)...)})
}

// recordTools are the tools that keep and recall what was said and found.
func recordTools(specs []tools.Spec, beyond outside) []string {
	return toolsThat(specs, func(s tools.Spec) bool {
		return beyond.records && only(s, tools.SubjectMemory) || beyond.states() && only(s, tools.SubjectFact)
	})
}

// shortBytes is how long a text file may be that is read rather than given to a command: a small model writes the wrong command more often
// than it overlooks a line of so few.
const shortBytes = 2048

// withoutShell are the names of tools without those that take commands, as far as others are left.
func withoutShell(specs []tools.Spec, names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return slices.ContainsFunc(specs, func(s tools.Spec) bool { return s.Name == name && s.Fits(tools.SubjectNone) && s.Path == "" })
	})
}

// parent is the folder of a path with a slash at its end; empty at the top.
func parent(path string) string {
	return path[:strings.LastIndexByte(path, '/')+1]
}

// toolsFor are the tools that take a subject.
func toolsFor(specs []tools.Spec, subject tools.Subject) []string {
	return toolsThat(specs, func(s tools.Spec) bool { return s.Fits(subject) })
}

// pathTools are the tools that are about a file.
func pathTools(specs []tools.Spec) []string { return toolsThat(specs, isAboutFiles) }

func toolsThat(specs []tools.Spec, fits func(tools.Spec) bool) []string {
	var out []string
	for _, s := range specs {
		if fits(s) {
			out = append(out, s.Name)
		}
	}
	return out
}

// only reports whether a tool is for nothing but one subject.
func only(s tools.Spec, subject tools.Subject) bool {
	return len(s.Takes) == 1 && s.Takes[0] == subject
}

func isAboutFiles(s tools.Spec) bool {
	return s.Path != "" && !only(s, tools.SubjectArtifact) || s.Takes == nil
}

// worthOffering are the tools that a call can be made with: those about stored results and records only once there are some.
func worthOffering(specs []tools.Spec, beyond outside) []string {
	return toolsThat(specs, func(s tools.Spec) bool {
		return (len(beyond.stored) > 0 || !only(s, tools.SubjectArtifact)) && (beyond.records || !only(s, tools.SubjectMemory)) &&
			(beyond.states() || !only(s, tools.SubjectFact))
	})
}

// choiceForm asks for one tool, or none. As in a plan, any name is accepted.
func choiceForm(names []string, limits Limits) (*form, error) {
	choice := func(tool *jsonschema.Schema) *jsonschema.Schema { return object(property{"tool", tool}) }
	return newForm(choice(oneOf(append(slices.Clone(names), NoTool)...)), choice(boundedText(1, limits.MaxTextRunes)))
}

// maxAnswerRunes bounds an answer that is asked for in a form.
const maxAnswerRunes = 2000

// answerForm asks for the answer as an object.
func answerForm() (*form, error) {
	answer := object(property{roleAnswer, boundedText(1, maxAnswerRunes)})
	return newForm(answer, answer)
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

// question is what a small model is asked for to call a tool: its essential arguments, without those that are given already.
type question struct {
	spec   tools.Spec
	schema *jsonschema.Schema
	given  map[string]json.RawMessage
}

// askAbout makes the question for a call of spec in a step. The file of the step is given, unless the step's first try failed:
// then the file may be what was wrong.
func askAbout(spec tools.Spec, file string, again bool) question {
	q := question{spec: spec, schema: spec.Essential(), given: map[string]json.RawMessage{}}
	if spec.Path == "" || file == "" || again {
		return q
	}
	q.given[spec.Path] = json.RawMessage(compactJSON(file))
	delete(q.schema.Properties, spec.Path)
	other := func(name string) bool { return name == spec.Path }
	q.schema.Required = slices.DeleteFunc(q.schema.Required, other)
	q.schema.PropertyOrder = slices.DeleteFunc(q.schema.PropertyOrder, other)
	return q
}

// settled reports whether nothing is left to ask.
func (q question) settled() bool { return len(q.schema.Properties) == 0 }

// form is for the request only: a reply is checked against all that the tool accepts, by the registry.
func (q question) form() (*form, error) { return newForm(q.schema, q.schema) }

// arguments joins a reply with what was given. A reply that is no object is returned as it is, for the registry to refuse.
func (q question) arguments(reply string) json.RawMessage {
	body := unfence(reply)
	if len(q.given) == 0 {
		return json.RawMessage(body)
	}
	all := map[string]json.RawMessage{}
	if !q.settled() {
		if err := json.Unmarshal([]byte(body), &all); err != nil || all == nil {
			return json.RawMessage(body)
		}
	}
	for name, value := range q.given {
		if _, ok := all[name]; !ok {
			all[name] = value
		}
	}
	return json.RawMessage(compactJSON(all))
}

// parameters describes what is asked for, in order.
func (q question) parameters() []templates.ParameterData {
	var out []templates.ParameterData
	for _, name := range q.schema.PropertyOrder {
		p := q.schema.Properties[name]
		if p == nil {
			continue
		}
		out = append(out, templates.ParameterData{
			Name: name, Type: typeName(p), Description: p.Description, Required: slices.Contains(q.schema.Required, name),
		})
	}
	return out
}

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
	parameters := askAbout(spec, "", false).parameters()
	names := make([]string, len(parameters))
	for i, p := range parameters {
		names[i] = p.Name
		if !p.Required {
			names[i] += "?"
		}
	}
	return spec.Name + "(" + strings.Join(names, ", ") + ")"
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
