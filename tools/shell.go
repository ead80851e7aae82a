package tools

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// ShellOptions configure the shell tool. Zero fields take the defaults.
type ShellOptions struct {
	// Workspace is the folder that commands run in. It is required.
	Workspace string
	// AllowedRoots are the folders that arguments may name, absolute or relative to the workspace; by default the
	// workspace. They must contain the workspace.
	AllowedRoots []string
	// AllowedCommands are the programs that may run, by name. Programs that run other programs, interpreters and the
	// like are refused even when they are listed. For a program this package has no rule for, only the path rule holds,
	// and the tool then no longer counts as read-only.
	AllowedCommands []string
	// SearchPath are the folders that programs are taken from. Those inside an allowed root are passed over.
	SearchPath     []string
	Timeout        time.Duration // of one call; 10 s
	MaxOutputBytes int           // kept of each of stdout and stderr; 300000
}

// DefaultCommands are the programs that the shell tool may run when nothing else is configured.
func DefaultCommands() []string {
	return []string{
		"ls", "cat", "pwd", "echo", "grep", "find", "wc", "head", "tail", "sort", "uniq", "cut", "stat", "file", "du",
		"date", "git",
	}
}

func (o ShellOptions) withDefaults() ShellOptions {
	if o.AllowedCommands == nil {
		o.AllowedCommands = DefaultCommands()
	}
	if o.SearchPath == nil {
		o.SearchPath = []string{"/usr/local/bin", "/usr/bin", "/bin", "/opt/homebrew/bin", "/run/current-system/sw/bin"}
	}
	o.Timeout = cmp.Or(o.Timeout, 10*time.Second)
	o.MaxOutputBytes = cmp.Or(o.MaxOutputBytes, 300_000)
	return o
}

type shellArgs struct {
	Command string `json:"command" jsonschema:"one command line; pipes and patterns such as folder/* are possible" arg:"minlen=1,maxlen=1000"`
}

// ShellResult is the Data of execute_shell_command and of command skills, also of their time-out error.
type ShellResult struct {
	Command     string `json:"command"`
	ExitCode    int    `json:"exit_code"` // of the last program; 128 + signal when a signal ended it
	Stdout      string `json:"stdout"`    // valid UTF-8; other bytes as \xE9
	Stderr      string `json:"stderr"`
	StdoutBytes int64  `json:"stdout_bytes"` // written, kept or not
	StderrBytes int64  `json:"stderr_bytes"`
	Truncated   bool   `json:"truncated"` // not all of stdout and stderr was kept
	TimedOut    bool   `json:"timed_out"`
	// Unfiltered begins what the pipeline gives without its last grep, when that let nothing through.
	Unfiltered string `json:"unfiltered,omitempty"`
	// Unborn is the branch of a repository without a commit, which git branch does not list.
	Unborn string `json:"unborn,omitempty"`

	stdoutLeft, stderrLeft int64
	stdoutType             string // a media type when stdout is no text
}

// Shell returns the tool execute_shell_command.
func Shell(options ShellOptions) []Tool {
	s := newShell(options)
	options = s.options
	readOnly := true
	for _, name := range options.AllowedCommands {
		if _, ok := programRules[name]; !ok {
			readOnly = false
		}
	}
	return []Tool{mustFunc(Spec{
		Name:        "execute_shell_command",
		Description: "Runs a command line, with pipes, of " + strings.Join(options.AllowedCommands, ", ") + ".",
		Takes:       []Subject{SubjectText, SubjectOther, SubjectFolder, SubjectNone},
		ReadOnly:    readOnly,
		Limits: []string{
			"programs: " + strings.Join(options.AllowedCommands, ", "),
			"no variables, substitution, redirection to files, background jobs, or paths outside the workspace",
			fmt.Sprintf("%s; the first %d bytes of output", options.Timeout, options.MaxOutputBytes),
		},
	}, s.call)}
}

// A shell checks command lines and runs those that pass. It does not change and is safe for concurrent use.
type shell struct {
	w       *workspace
	options ShellOptions
}

func newShell(options ShellOptions) *shell {
	options = options.withDefaults()
	options.AllowedCommands = slices.DeleteFunc(slices.Clone(options.AllowedCommands), func(name string) bool {
		_, never := neverAllowed(name)
		return never
	})
	return &shell{w: newWorkspace(options.Workspace, options.AllowedRoots), options: options}
}

// withTimeout returns a shell that differs in its time limit.
func (s *shell) withTimeout(limit time.Duration) *shell {
	out := *s
	out.options.Timeout = limit
	return &out
}

func (s *shell) call(ctx context.Context, args shellArgs) (Result, error) {
	plan, problem := s.parse(args.Command)
	if problem != nil {
		return Result{}, problem
	}
	return s.execute(ctx, plan, args.Command)
}

// execute runs a checked plan under the shell's time limit. command is how the result names it.
func (s *shell) execute(ctx context.Context, plan *shellPlan, command string) (Result, error) {
	runCtx, cancel := context.WithTimeout(ctx, s.options.Timeout)
	defer cancel()
	result, err := s.run(runCtx, plan)
	result.Command = command
	if programs := plan.onlyPipeline(); err == nil && result.nothingMatched(plan) && len(programs) > 1 && onlyReads(plan) {
		before, beforeErr := s.run(runCtx, &shellPlan{pipeline: programs[:len(programs)-1]})
		if beforeErr == nil && before.ExitCode == 0 && before.stdoutType == "" {
			result.Unfiltered = clip(withoutLineEnd(before.Stdout), unfilteredRunes)
		}
	}
	if programs := plan.onlyPipeline(); err == nil && result.ExitCode == 0 && result.StdoutBytes == 0 && len(programs) == 1 {
		result.Unborn = s.unbornBranch(programs[0].argv)
	}
	out := Result{Data: result, Text: shellText(result, plan)}
	switch {
	case ctx.Err() != nil:
		return out, ctx.Err()
	case result.TimedOut:
		return out, s.timedOut(result)
	case err != nil:
		return out, toolError("running the command", err)
	}
	return out, nil
}

// unfilteredRunes is how much is shown of the input of a grep that matched nothing.
const unfilteredRunes = 600

// nothingMatched reports whether the last program was a grep that found nothing.
func (r *ShellResult) nothingMatched(plan *shellPlan) bool {
	return r.ExitCode == 1 && r.StdoutBytes == 0 && r.StderrBytes == 0 && plan.last() == "grep"
}

// onlyReads reports whether a plan can run twice without harm.
func onlyReads(plan *shellPlan) bool {
	return !slices.ContainsFunc(plan.commands(), func(c shellCommand) bool {
		_, known := programRules[c.argv[0]]
		return !known
	})
}

func (s *shell) timedOut(result ShellResult) *Error {
	out := &Error{
		Kind:    KindTimeout,
		Message: fmt.Sprintf("timed out: the command did not finish within %s and was stopped", s.options.Timeout),
		Fix:     "use a command that ends by itself and does less",
		Data:    result,
	}
	if partial := clip(strings.TrimSpace(result.Stdout), 200); partial != "" {
		out.Message += fmt.Sprintf("; its output began with %q", partial)
	}
	return out
}

func shellText(r ShellResult, plan *shellPlan) string {
	var b strings.Builder
	fmt.Fprintf(&b, "exit code %d", r.ExitCode)
	if r.TimedOut {
		b.WriteString(", timed out; the output so far:")
	}
	for _, c := range plan.commands() {
		if c.note != "" {
			b.WriteString("; " + c.note)
		}
	}
	if r.StdoutBytes == 0 && r.StderrBytes == 0 {
		b.WriteString(", no output")
		if r.nothingMatched(plan) {
			b.WriteString(": nothing matched")
		}
		if r.Unborn != "" {
			b.WriteString("\nThe repository has no commit yet; its branch is " + oneLine(r.Unborn))
		}
		if r.Unfiltered != "" {
			b.WriteString("\nWithout the last grep the output is:\n" + r.Unfiltered)
		}
		return b.String()
	}
	switch {
	case r.stdoutType != "":
		fmt.Fprintf(&b, "\n[the output is not text and is not shown: its type is %s, %s]", r.stdoutType, byteSize(r.StdoutBytes))
	case r.StdoutBytes > 0:
		b.WriteString("\n" + withoutLineEnd(r.Stdout))
		writeLeft(&b, r.stdoutLeft)
	}
	if r.StderrBytes > 0 {
		b.WriteString("\nstderr:\n" + withoutLineEnd(r.Stderr))
		writeLeft(&b, r.stderrLeft)
	}
	return b.String()
}

func withoutLineEnd(text string) string {
	return strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
}

func writeLeft(b *strings.Builder, left int64) {
	if left > 0 {
		fmt.Fprintf(b, "\n[%s left out; narrow the command, for example with head or grep]", plural(left, "more byte"))
	}
}
