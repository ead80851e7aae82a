package tools

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"unicode"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

const (
	maxShellCommands = 16   // programs in one command line
	maxShellFields   = 2000 // arguments of one program, after globbing
)

// A shellPlan is a checked command line. It holds the very words that are run: nothing is given to a shell.
type shellPlan struct {
	op       syntax.BinCmdOperator // AndStmt or OrStmt between left and right; 0 for the others
	left     *shellPlan
	right    *shellPlan
	pipeline []shellCommand // when left is nil
	sequence []*shellPlan   // when left and pipeline are nil: one after the other
}

// A shellCommand is one program with its arguments.
type shellCommand struct {
	argv   []string
	note   string // what was added to it; may be empty
	stdout stream
	stderr stream
}

// A stream is where an output goes.
type stream int

const (
	toStdout stream = iota
	toStderr
	toNull
)

// last returns the program that decides the exit code.
func (p *shellPlan) last() string {
	switch {
	case p.left != nil:
		return p.right.last()
	case len(p.sequence) > 0:
		return p.sequence[len(p.sequence)-1].last()
	case len(p.pipeline) > 0:
		return p.pipeline[len(p.pipeline)-1].argv[0]
	}
	return ""
}

// onlyPipeline returns the programs of a plan that is one pipeline, or nil.
func (p *shellPlan) onlyPipeline() []shellCommand {
	for p.left == nil && len(p.sequence) == 1 {
		p = p.sequence[0]
	}
	return p.pipeline
}

// commands returns all programs of the plan in order.
func (p *shellPlan) commands() []shellCommand {
	if p == nil {
		return nil
	}
	out := append([]shellCommand(nil), p.pipeline...)
	for _, step := range p.sequence {
		out = append(out, step.commands()...)
	}
	return append(append(out, p.left.commands()...), p.right.commands()...)
}

func refuse(what, fix string) *Error {
	return &Error{Kind: KindDenied, Message: what + "; nothing was run", Fix: fix}
}

// parse turns a command line into a plan, or says which part of it is not allowed. Nothing runs before all is checked.
func (s *shell) parse(command string) (*shellPlan, *Error) {
	file, problem := parseCommand(command)
	if problem != nil {
		// With other quotes it would still be a program that may not run.
		if words := strings.Fields(command); problem.Kind == KindInvalidArguments && len(words) > 0 {
			if refused := s.checkProgram(words); refused != nil {
				return nil, refused
			}
		}
		return nil, problem
	}
	return s.planOf(file, nil)
}

// parseCommand reads a command line and decides nothing about it but that it is one line of shell.
func parseCommand(command string) (*syntax.File, *Error) {
	if i := strings.IndexFunc(command, func(r rune) bool { return unicode.IsControl(r) && r != '\t' }); i >= 0 {
		return nil, refuse(fmt.Sprintf("the command contains a line end or another control character, at %s", quoteNear([]byte(command), i)),
			"write one line; separate commands with ; or &&")
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(command), "")
	if err != nil {
		return nil, syntaxProblem(command, err)
	}
	return file, nil
}

// planOf checks a command line that was read. fill, unless it is nil, gives the word that stands for one in the file;
// what it gives is checked as if it had been written there. The file is not changed.
func (s *shell) planOf(file *syntax.File, fill func(*syntax.Word) (*syntax.Word, *Error)) (*shellPlan, *Error) {
	if _, problem := s.w.resolve("."); problem != nil {
		return nil, problem
	}
	p := &shellParser{shell: s, fill: fill}
	plan := &shellPlan{}
	for _, stmt := range file.Stmts {
		step, problem := p.stmt(stmt)
		if problem != nil {
			return nil, problem
		}
		plan.sequence = append(plan.sequence, step)
	}
	if len(plan.sequence) == 0 {
		return nil, &Error{Kind: KindInvalidArguments, Message: "the command is empty", Fix: "give a command line"}
	}
	return plan, nil
}

func syntaxProblem(command string, err error) *Error {
	at, reason := len(command), err.Error()
	if parse, ok := errors.AsType[syntax.ParseError](err); ok {
		at, reason = int(parse.Pos.Offset()), parse.Text
	}
	return &Error{
		Kind:    KindInvalidArguments,
		Message: fmt.Sprintf("the command is not valid shell: %s, at %s", reason, quoteNear([]byte(command), min(at, len(command)))),
		Fix:     "put text with special characters between single quotes",
	}
}

type shellParser struct {
	shell *shell
	fill  func(*syntax.Word) (*syntax.Word, *Error) // nil: words stand for themselves
	count int
}

func (p *shellParser) stmt(stmt *syntax.Stmt) (*shellPlan, *Error) {
	switch {
	case stmt.Background:
		return nil, refuse("background jobs (&) are not allowed", "use ; or && between commands")
	case stmt.Negated, stmt.Coprocess, stmt.Disown:
		return nil, refuse("!, |& and &| are not allowed here", "use plain commands")
	}
	switch cmd := stmt.Cmd.(type) {
	case *syntax.CallExpr:
		command, problem := p.simple(cmd, stmt.Redirs)
		if problem != nil {
			return nil, problem
		}
		if problem := p.check(&command, true); problem != nil {
			return nil, problem
		}
		return &shellPlan{pipeline: []shellCommand{command}}, nil
	case *syntax.BinaryCmd:
		if len(stmt.Redirs) > 0 {
			break
		}
		return p.binary(cmd)
	}
	return nil, refuse(describeNode(stmt.Cmd)+" not allowed", "use simple commands joined with |, && or ;")
}

func (p *shellParser) binary(cmd *syntax.BinaryCmd) (*shellPlan, *Error) {
	switch cmd.Op {
	case syntax.AndStmt, syntax.OrStmt:
		left, problem := p.stmt(cmd.X)
		if problem != nil {
			return nil, problem
		}
		right, problem := p.stmt(cmd.Y)
		return &shellPlan{op: cmd.Op, left: left, right: right}, problem
	case syntax.Pipe:
		plan := &shellPlan{}
		problem := p.pipe(cmd, plan)
		return plan, problem
	}
	return nil, refuse(fmt.Sprintf("the operator %s is not allowed", cmd.Op), "use |, && or ;")
}

// pipe collects the programs of a pipeline, left to right.
func (p *shellParser) pipe(cmd *syntax.BinaryCmd, plan *shellPlan) *Error {
	for _, side := range []*syntax.Stmt{cmd.X, cmd.Y} {
		if inner, ok := side.Cmd.(*syntax.BinaryCmd); ok && inner.Op == syntax.Pipe && len(side.Redirs) == 0 &&
			!side.Background && !side.Negated && !side.Coprocess && !side.Disown {
			if problem := p.pipe(inner, plan); problem != nil {
				return problem
			}
			continue
		}
		call, ok := side.Cmd.(*syntax.CallExpr)
		if !ok || side.Background || side.Negated || side.Coprocess || side.Disown {
			return refuse("only simple programs can be piped", "use program | program")
		}
		command, problem := p.simple(call, side.Redirs)
		if problem != nil {
			return problem
		}
		if problem := p.check(&command, len(plan.pipeline) == 0); problem != nil {
			return problem
		}
		plan.pipeline = append(plan.pipeline, command)
	}
	return nil
}

func describeNode(cmd syntax.Command) string {
	switch cmd.(type) {
	case *syntax.Subshell:
		return "a subshell ( ) is"
	case *syntax.Block:
		return "a group { } is"
	case *syntax.FuncDecl:
		return "a function is"
	case *syntax.IfClause, *syntax.WhileClause, *syntax.ForClause, *syntax.CaseClause:
		return "a loop or condition is"
	case *syntax.DeclClause, *syntax.LetClause, *syntax.ArithmCmd:
		return "setting variables is"
	case nil:
		return "a redirection without a program is"
	}
	return "this kind of command is"
}

// simple expands the words of a program call. Only quotes and globs mean something.
func (p *shellParser) simple(call *syntax.CallExpr, redirects []*syntax.Redirect) (shellCommand, *Error) {
	command := shellCommand{stdout: toStdout, stderr: toStderr}
	if p.count++; p.count > maxShellCommands {
		return command, refuse(fmt.Sprintf("the command line has more than %d programs", maxShellCommands), "split it")
	}
	if len(call.Assigns) > 0 {
		return command, refuse("setting variables is not allowed", "start with the program")
	}
	for _, redirect := range redirects {
		if problem := command.redirect(redirect); problem != nil {
			return command, problem
		}
	}
	words, problem := p.words(call.Args)
	if problem != nil {
		return command, problem
	}
	config := &expand.Config{
		Env:      expand.ListEnviron("PWD=" + p.shell.w.dir),
		ReadDir2: p.shell.w.readDirForGlob,
	}
	for field, err := range expand.FieldsSeq(config, words...) {
		if err != nil {
			return command, refuse("expanding the arguments: "+plainReason(err), "use plain words")
		}
		if len(command.argv) == maxShellFields {
			return command, &Error{
				Kind:    KindLimit,
				Message: fmt.Sprintf("a program gets more than %d arguments", maxShellFields),
				Fix:     "use a narrower pattern, or find",
			}
		}
		command.argv = append(command.argv, field)
	}
	if len(command.argv) == 0 {
		return command, refuse("there is no program to run", "start with the program")
	}
	return command, nil
}

// words returns the words to expand, filled and checked.
func (p *shellParser) words(args []*syntax.Word) ([]*syntax.Word, *Error) {
	words := make([]*syntax.Word, len(args))
	for i, word := range args {
		if p.fill != nil {
			filled, problem := p.fill(word)
			if problem != nil {
				return nil, problem
			}
			word = filled
		}
		if problem := checkWord(word); problem != nil {
			return nil, problem
		}
		words[i] = word
	}
	return words, nil
}

// checkWord refuses every expansion except globs.
func checkWord(word *syntax.Word) *Error {
	braces := *word // SplitBraces replaces the parts, also those of {a}, which means nothing
	if syntax.SplitBraces(&braces) && slices.ContainsFunc(braces.Parts, isBraceExpansion) {
		return refuse("brace expansion {a,b} is not allowed", "write the words out, or put them between single quotes")
	}
	for i, part := range word.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			if i == 0 && strings.HasPrefix(part.Value, "~") {
				return refuse("~ is not allowed", "use paths relative to the workspace")
			}
		case *syntax.SglQuoted:
			if part.Dollar {
				return refuse("$'…' is not allowed", "use plain single quotes")
			}
		case *syntax.DblQuoted:
			if part.Dollar {
				return refuse(`$"…" is not allowed`, "use plain quotes")
			}
			for _, inner := range part.Parts {
				if _, ok := inner.(*syntax.Lit); !ok {
					return refuseExpansion(inner)
				}
			}
		default:
			return refuseExpansion(part)
		}
	}
	return nil
}

func isBraceExpansion(part syntax.WordPart) bool {
	_, ok := part.(*syntax.BraceExp)
	return ok
}

func refuseExpansion(part syntax.WordPart) *Error {
	const fix = "put a literal $ or ` between single quotes"
	switch part.(type) {
	case *syntax.CmdSubst:
		return refuse("command substitution is not allowed", "run the commands one after the other; "+fix)
	case *syntax.ProcSubst:
		return refuse("process substitution is not allowed", "use a pipe")
	case *syntax.ParamExp, *syntax.ArithmExp:
		return refuse("variables and arithmetic are not expanded", fix)
	}
	return refuse("this kind of expansion is not allowed", "put it between single quotes")
}

// redirect accepts what only joins or drops output.
func (c *shellCommand) redirect(r *syntax.Redirect) *Error {
	target, fd := "", ""
	if r.Word != nil {
		target = r.Word.Lit()
	}
	if r.N != nil {
		fd = r.N.Value
	}
	toNothing := target == "/dev/null"
	switch {
	case (r.Op == syntax.RdrOut || r.Op == syntax.AppOut) && toNothing && (fd == "" || fd == "1"):
		c.stdout = toNull
	case (r.Op == syntax.RdrOut || r.Op == syntax.AppOut) && toNothing && fd == "2":
		c.stderr = toNull
	case r.Op == syntax.RdrAll && toNothing && fd == "":
		c.stdout, c.stderr = toNull, toNull
	case r.Op == syntax.DplOut && fd == "2" && target == "1":
		c.stderr = c.stdout
	case r.Op == syntax.Hdoc || r.Op == syntax.DashHdoc || r.Op == syntax.WordHdoc:
		return refuse("here-documents are not allowed", "use echo and a pipe")
	case r.Op == syntax.RdrIn:
		return refuse("redirecting input is not allowed", "give the file as an argument")
	default:
		return refuse("redirecting output to files is not allowed", "only 2>&1 and >/dev/null are possible; the output is returned anyway")
	}
	return nil
}

// readDirForGlob lists a folder for globbing, without the links that go out of the allowed roots.
func (w *workspace) readDirForGlob(path string) ([]fs.DirEntry, error) {
	t, problem := w.resolve(path)
	switch {
	case problem != nil && problem.Kind == KindNotFound:
		return nil, &fs.PathError{Op: "readdir", Path: path, Err: fs.ErrNotExist}
	case problem != nil:
		return nil, &fs.PathError{Op: "readdir", Path: path, Err: fs.ErrPermission}
	case !t.info.IsDir():
		return nil, &fs.PathError{Op: "readdir", Path: path, Err: syscall.ENOTDIR}
	}
	f, err := t.open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	kept := entries[:0]
	for _, e := range entries {
		if e.Type()&fs.ModeSymlink != 0 {
			if _, problem := w.resolve(joinShown(path, e.Name())); problem != nil {
				continue
			}
		}
		kept = append(kept, e)
	}
	sortEntries(kept)
	return kept, err
}
