package tools

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// An optionKind says what follows an option.
type optionKind byte

const (
	optionFlag     optionKind = iota + 1 // nothing
	optionValue                          // a value, attached or as the next word
	optionOptional                       // a value, only attached
	optionPath                           // a path, attached or as the next word
)

// A programRule lists what a program may be asked to do. Only spelled-out options are accepted: programs that take
// unambiguous abbreviations would otherwise read more into a word than the check does.
type programRule struct {
	options map[string]optionKind
	// digits accepts -5.
	digits bool
	// operands checks the words that are no options; by default each is a path.
	operands func(c *argChecker, parsed parsedArgs) *Error
	// complete gives options to add to words that pass the check, and says so; nil: none.
	complete func(c *argChecker, parsed parsedArgs) (options []string, note string)
	// needsInput tells that without a file, and not in a pipe, the program would only read an empty input.
	needsInput bool
	// rewrite replaces the whole check, for programs with a grammar of their own, and returns the words to run.
	rewrite func(c *argChecker, argv []string) ([]string, *Error)
}

// options reads a list of option spellings: -a is a flag, -n= takes a value, --color? takes an attached value or none,
// and -f@ takes a path.
func options(list string) map[string]optionKind {
	out := map[string]optionKind{}
	for name := range strings.FieldsSeq(list) {
		kind := optionFlag
		switch name[len(name)-1] {
		case '=':
			kind = optionValue
		case '?':
			kind = optionOptional
		case '@':
			kind = optionPath
		}
		if kind != optionFlag {
			name = name[:len(name)-1]
		}
		out[name] = kind
	}
	return out
}

// parsedArgs are the words of a program by their role.
type parsedArgs struct {
	operands []string
	given    map[string]bool // options by their name
}

type argChecker struct {
	w       *workspace
	program string
	first   bool // the program is the first of its pipeline: its input is empty
	// strict applies the path rule to the separate values of options too, for programs whose versions differ in which
	// options take one.
	strict bool
}

// checkProgram refuses a program that may not run.
func (s *shell) checkProgram(argv []string) *Error {
	name := argv[0]
	if strings.ContainsAny(name, `/\`) {
		return refuse(fmt.Sprintf("the program %q is given by path", name), "name it without a path")
	}
	var problem *Error
	if reason, never := neverAllowed(name); never {
		problem = refuse(fmt.Sprintf("%q is never allowed: %s", name, reason), s.allowedText())
	} else if !slices.Contains(s.options.AllowedCommands, name) {
		problem = refuse(fmt.Sprintf("%q is not among the allowed programs", name), s.allowedText())
	} else {
		return nil
	}
	problem.Final = writes(argv)
	switch name {
	case "xargs":
		problem.Fix = "give the files to the program itself, as in: wc -l folder/*"
	case "sqlite3":
		problem.Fix, problem.Instead = "use query_sqlite", "query_sqlite"
	}
	return problem
}

// check decides about one program and its arguments, and settles the words to run.
func (p *shellParser) check(command *shellCommand, first bool) *Error {
	name := command.argv[0]
	if problem := p.shell.checkProgram(command.argv); problem != nil {
		return problem
	}
	c := &argChecker{w: p.shell.w, program: name, first: first}
	rule, known := programRules[name]
	if !known {
		return c.unknownProgram(command.argv[1:])
	}
	if rule.rewrite != nil {
		argv, problem := rule.rewrite(c, command.argv)
		if problem == nil {
			command.argv = argv
		}
		return problem
	}
	parsed, problem := c.parse(rule, command.argv[1:])
	if problem != nil {
		return problem
	}
	if rule.needsInput && first && len(parsed.operands) == 0 {
		return c.noInput()
	}
	if rule.operands != nil {
		return rule.operands(c, parsed)
	}
	if problem := c.paths(parsed.operands); problem != nil || rule.complete == nil {
		return problem
	}
	var added []string
	added, command.note = rule.complete(c, parsed)
	command.argv = slices.Insert(slices.Clone(command.argv), 1, added...)
	return nil
}

func (s *shell) allowedText() string {
	return "the allowed programs are " + strings.Join(s.options.AllowedCommands, ", ")
}

func (c *argChecker) noInput() *Error {
	return &Error{
		Kind:    KindInvalidArguments,
		Message: fmt.Sprintf("%s is not given a file, and its input is empty; nothing was run", c.program),
		Fix:     "name a file, or pipe something into it",
	}
}

func (c *argChecker) refuseOption(option string, valid map[string]optionKind) *Error {
	const maxListed = 40
	long := strings.HasPrefix(option, "--")
	var alike []string
	for _, name := range slices.Sorted(maps.Keys(valid)) {
		if strings.HasPrefix(name, "--") == long {
			alike = append(alike, name)
		}
	}
	fix := "leave it out"
	if len(alike) > 0 {
		fix += "; allowed are " + listNames(alike, maxListed)
	}
	return refuse(fmt.Sprintf("%s is not allowed to use %q", c.program, option), fix)
}

// parse sorts the words the way getopt_long does, and checks every option.
func (c *argChecker) parse(rule programRule, words []string) (parsedArgs, *Error) {
	out := parsedArgs{given: map[string]bool{}}
	for i := 0; i < len(words); i++ {
		word := words[i]
		switch {
		case word == "--":
			out.operands = append(out.operands, words[i+1:]...)
			return out, nil
		case strings.HasPrefix(word, "--"):
			used, problem := c.longOption(rule, out, words[i:])
			if problem != nil {
				return out, problem
			}
			i += used
		case rule.digits && isCount(word):
		case len(word) > 1 && word[0] == '-':
			used, problem := c.shortOptions(rule, out, words[i:])
			if problem != nil {
				return out, problem
			}
			i += used
		default:
			out.operands = append(out.operands, word)
		}
	}
	return out, nil
}

// isCount tells the old spelling of a number of lines: -5.
func isCount(word string) bool {
	digits, ok := strings.CutPrefix(word, "-")
	return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}

// longOption checks --name, --name=value or --name value, and returns how many further words it takes.
func (c *argChecker) longOption(rule programRule, out parsedArgs, words []string) (used int, problem *Error) {
	name, value, attached := strings.Cut(words[0], "=")
	kind := rule.options[name]
	out.given[name] = true
	switch {
	case kind == 0, kind == optionFlag && attached:
		return 0, c.refuseOption(words[0], rule.options)
	case kind == optionFlag, kind == optionOptional:
		return 0, nil
	case !attached && len(words) < 2:
		return 0, c.missingValue(name)
	case !attached:
		return 1, c.separateValue(kind, name, words[1])
	}
	return 0, c.optionValue(kind, value)
}

// shortOptions checks a word like -la, -n5 or -n 5.
func (c *argChecker) shortOptions(rule programRule, out parsedArgs, words []string) (used int, problem *Error) {
	letters := words[0][1:]
	for i := range len(letters) {
		name := "-" + letters[i:i+1]
		kind := rule.options[name]
		out.given[name] = true
		switch kind {
		case 0:
			return 0, c.refuseOption(name, rule.options)
		case optionFlag:
			continue
		case optionOptional:
			return 0, nil
		}
		if value := letters[i+1:]; value != "" {
			return 0, c.optionValue(kind, value)
		}
		if len(words) < 2 {
			return 0, c.missingValue(name)
		}
		return 1, c.separateValue(kind, name, words[1])
	}
	return 0, nil
}

// separateValue checks a value that is a word of its own. A program that does not take it as one would read an option or
// a path there.
func (c *argChecker) separateValue(kind optionKind, name, value string) *Error {
	if len(value) > 1 && value[0] == '-' && !isCount(value) {
		return refuse(fmt.Sprintf("%s: the value %q of %s looks like an option", c.program, value, name), "attach it to the option")
	}
	if c.strict {
		if problem := c.path(value); problem != nil {
			return problem
		}
	}
	return c.optionValue(kind, value)
}

func (c *argChecker) missingValue(name string) *Error {
	return &Error{Kind: KindInvalidArguments, Message: fmt.Sprintf("%s: option %s needs a value; nothing was run", c.program, name), Fix: "add it"}
}

func (c *argChecker) optionValue(kind optionKind, value string) *Error {
	if kind == optionPath {
		return c.path(value)
	}
	return nil
}

func (c *argChecker) paths(words []string) *Error {
	for _, word := range words {
		if problem := c.path(word); problem != nil {
			return problem
		}
	}
	return nil
}

// path applies the path rule to a word that a program takes as a file name. A file that does not exist is left for the
// program to report.
func (c *argChecker) path(word string) *Error {
	if word == "-" || word == "" || word == "/dev/null" {
		return nil
	}
	if slices.Contains(strings.Split(word, "/"), "..") {
		return refuse(fmt.Sprintf("%s: the path %q contains ..", c.program, word), "write it from the workspace's top folder, without ..")
	}
	_, problem := c.w.resolve(word)
	if problem == nil || problem.Kind == KindNotFound {
		return nil
	}
	out := *problem
	out.Message = c.program + ": " + out.Message + "; nothing was run"
	return &out
}

// unknownProgram applies the path rule to everything that may be a path, for a program that a user allowed and this
// package does not know.
func (c *argChecker) unknownProgram(words []string) *Error {
	for _, word := range words {
		if strings.HasPrefix(word, "-") {
			_, value, attached := strings.Cut(word, "=")
			if !attached && len(word) > 2 && strings.Contains(word, "/") {
				value = word[2:]
			}
			word = value
		}
		if problem := c.path(word); problem != nil {
			return problem
		}
	}
	return nil
}
