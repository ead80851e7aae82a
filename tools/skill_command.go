package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
)

// maxSkillCommand bounds a command template, in characters, as the shell tool bounds its command.
const maxSkillCommand = 1000

var skillKeys = []string{"name", "description", "arguments", "command", "read_only", "timeout_seconds"}

// A commandSkill runs a command template. It does not change and is safe for concurrent use.
type commandSkill struct {
	info      SkillInfo
	shell     *shell // with the skill's time limit
	template  *skillTemplate
	arguments []skillArgument
	dashed    map[string]bool // arguments whose values may begin with a dash
	readOnly  bool
}

// loadCommand loads a YAML file. It returns the file for messages.
func (l *skillLoader) loadCommand(folder *skillFolder, name string) (string, *skillFault) {
	origin := joinShown(folder.show, name)
	text, problem := folder.read(name, maxSkillYAML)
	if problem != nil {
		return origin, problem
	}
	skill, problem := l.parseCommandSkill(text)
	if problem != nil {
		return origin, problem
	}
	skill.info.Origin = origin
	l.add(skill.info, skill.tool())
	return origin, nil
}

// parseCommandSkill reads and checks a command skill, up to its file.
func (l *skillLoader) parseCommandSkill(text string) (*commandSkill, *skillFault) {
	node, problem := parseYAML(text)
	if problem != nil {
		return nil, problem
	}
	f := newYAMLFields(node, "the skill", skillKeys)
	s := &commandSkill{readOnly: f.flag("read_only", false), dashed: map[string]bool{}}
	name, description, command := f.text("name"), f.text("description"), strings.TrimSpace(f.text("command"))
	timeout := skillTimeout(f, l.options.Timeout)
	arguments := f.items("arguments", maxSkillArguments)
	if f.fault != nil {
		return nil, f.fault
	}
	if s.info, problem = l.newSkillInfo(name, f.lineOf("name"), description, f.lineOf("description")); problem != nil {
		return nil, problem
	}
	s.info.Kind, s.info.Timeout = SkillKindCommand, timeout
	s.shell = l.shell.withTimeout(timeout)
	for i, node := range arguments {
		a, problem := newSkillArgument(node, i+1)
		if problem != nil {
			return nil, problem
		}
		if slices.ContainsFunc(s.arguments, func(other skillArgument) bool { return other.name == a.name }) {
			return nil, fault(node.Line, "give one of them another name", "there are two arguments %q", a.name)
		}
		s.arguments = append(s.arguments, a)
		s.dashed[a.name] = a.allowDash
	}
	return s, s.readCommand(command, f.lineOf("command"))
}

// skillTimeout reads the time limit, in the range of the configuration's limits.
func skillTimeout(f *yamlFields, otherwise time.Duration) time.Duration {
	const least, most = 0.1, 86400
	n := f.number("timeout_seconds")
	if n == nil {
		return otherwise
	}
	if *n < least || *n > most {
		f.fail(f.values["timeout_seconds"], fmt.Sprintf("give a number from %v to %d", least, most), "timeout_seconds is %v", *n)
		return otherwise
	}
	return time.Duration(*n * float64(time.Second))
}

// readCommand parses the template, and refuses one that no values could make pass.
func (s *commandSkill) readCommand(command string, line int) *skillFault {
	switch {
	case command == "":
		return fault(line, `add a line such as: command: grep -c {word} {file}`, "it has no command")
	case utf8.RuneCountInString(command) > maxSkillCommand:
		return fault(line, "shorten it", "the command has more than %s", plural(maxSkillCommand, "character"))
	}
	var problem *Error
	if s.template, problem = parseTemplate(command); problem != nil {
		return commandFault(line, problem)
	}
	if problem := s.checkSlots(line); problem != nil {
		return problem
	}
	if problem := s.tryOut(); problem != nil {
		return commandFault(line, problem)
	}
	return nil
}

// checkSlots checks that each slot has an argument that can fill it.
func (s *commandSkill) checkSlots(line int) *skillFault {
	for _, slot := range s.template.slots {
		i := slices.IndexFunc(s.arguments, func(a skillArgument) bool { return a.name == slot.name })
		if i < 0 {
			return fault(line, "declare it under arguments, or put a literal { between single quotes", "the command has a slot {%s}, but there is no such argument", slot.name)
		}
		a := &s.arguments[i]
		switch {
		case !a.required && a.property.Default == nil:
			return fault(line, "give it a default, or make it required", "the argument %q may be missing, but the command has a slot for it", a.name)
		case a.kind == pathType && slot.from > 0 && s.template.source[slot.from-1] == '/':
			return fault(line, "leave out what is before the slot, or use the type string", "{%s} is a path from the workspace's top folder and cannot follow a /", a.name)
		}
		for _, value := range a.fixed() {
			values := s.samples(0)
			values[a.name] = value
			if problem := s.template.dashes(values, s.dashed); problem != nil {
				return fault(line, fmt.Sprintf("say allow_dash: true for %q if that is meant", a.name),
					"%s", strings.ReplaceAll(problem.Message, "; nothing was run", ""))
			}
		}
	}
	return nil
}

// samples returns values for all arguments to try the template with.
func (s *commandSkill) samples(n int) map[string]string {
	values := map[string]string{}
	for i := range s.arguments {
		values[s.arguments[i].name] = s.arguments[i].sample(n)
	}
	return values
}

// commandFault turns a refusal of a command into a fault of the template.
func commandFault(line int, problem *Error) *skillFault {
	reason := strings.ReplaceAll(problem.Message, "; nothing was run", "")
	return fault(line, problem.Fix, "the command can never run: %s", reason)
}

// tryOut checks the template with samples. One reason for all of them does not come from the values; a reason that differs
// may, and is left for the calls.
func (s *commandSkill) tryOut() *Error {
	var first *Error
	for n := range skillSamples {
		_, problem := s.template.plan(s.shell, s.samples(n), s.dashed)
		switch {
		case problem == nil, problem.Kind != KindDenied && problem.Kind != KindInvalidArguments:
			return nil
		case first == nil:
			first = problem
		case first.Message != problem.Message:
			return nil
		}
	}
	return first
}

func (s *commandSkill) tool() Tool {
	spec := Spec{
		Name: s.info.Tool, Description: s.info.Description, Origin: s.info.Origin, ReadOnly: s.readOnly, Takes: []Subject{SubjectNone},
		Limits: []string{
			"runs: " + InertText(s.template.source),
			"by the rules of execute_shell_command",
			fmt.Sprintf("%s; the first %d bytes of output", s.info.Timeout, s.shell.options.MaxOutputBytes),
		},
	}
	properties := map[string]*jsonschema.Schema{}
	var order, required []string
	for _, a := range s.arguments {
		properties[a.name] = a.property
		order = append(order, a.name)
		if a.required {
			required = append(required, a.name)
		}
		if a.kind != pathType {
			continue
		}
		spec.Takes = []Subject{SubjectText, SubjectOther, SubjectFolder, SubjectNone}
		if a.required && spec.Path == "" {
			spec.Path = a.name
		}
	}
	spec.Parameters = closedObject(order, properties, required)
	return funcTool{spec: spec, call: s.call}
}

// call runs the command with the arguments of a call in its slots.
func (s *commandSkill) call(ctx context.Context, raw json.RawMessage) (Result, error) {
	values, problem := s.values(raw)
	if problem != nil {
		return Result{}, problem
	}
	plan, problem := s.template.plan(s.shell, values, s.dashed)
	if problem != nil {
		return Result{}, problem
	}
	return s.shell.execute(ctx, plan, s.template.text(values))
}

// values returns the texts for the slots, with defaults filled in.
func (s *commandSkill) values(raw json.RawMessage) (map[string]string, *Error) {
	var given map[string]json.RawMessage
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &given); err != nil {
			return nil, &Error{Kind: KindInvalidArguments, Message: fmt.Sprintf("reading the arguments of %s: %v", s.info.Tool, err)}
		}
	}
	values := map[string]string{}
	for i := range s.arguments {
		a := &s.arguments[i]
		value, ok := given[a.name]
		if !ok {
			if value = a.property.Default; value == nil {
				continue // it has no slot
			}
		}
		text, err := a.text(value)
		if err != nil {
			return nil, &Error{Kind: KindInvalidArguments, Message: fmt.Sprintf("reading the argument %s of %s: %v", a.name, s.info.Tool, err)}
		}
		if problem := s.checkValue(a, text); problem != nil {
			return nil, problem
		}
		values[a.name] = text
	}
	return values, nil
}

// checkValue applies the rules of an argument that its schema does not hold.
func (s *commandSkill) checkValue(a *skillArgument, text string) *Error {
	if problem := checkOneLine(a.name, text); problem != nil {
		return problem
	}
	if why := a.mismatch(text); why != "" {
		return &Error{Kind: KindInvalidArguments, Message: fmt.Sprintf("%s: argument %q %s; nothing was run", s.info.Tool, a.name, why), Fix: "give a value that matches"}
	}
	if a.kind != pathType {
		return nil
	}
	c := &argChecker{w: s.shell.w, program: s.info.Tool}
	if problem := c.path(text); problem != nil {
		return problem
	}
	_, problem := s.shell.w.resolve(text)
	return problem
}
