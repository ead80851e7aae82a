package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/llama-agent/llama-agent/app"
)

// maxGoalBytes bounds a goal. It is far above what fits into a context; more is a mistake, such as a binary file on stdin.
const maxGoalBytes = 1 << 20

type runOptions struct {
	thread string
	taskFlags
}

// taskFlags are the flags of the commands that begin a task.
type taskFlags struct {
	tools  []string
	attach []string
}

func (f *taskFlags) add(s *session, flags *pflag.FlagSet) {
	flags.Var(&keyFlag{s: s, flag: "max-iterations", section: "agent", key: "max_iterations", kind: "N"}, "max-iterations", "rounds of planning and reflecting")
	flags.StringArrayVar(&f.tools, "tool", nil, "offer the model this tool only, by `NAME` (repeatable)")
	flags.StringArrayVar(&f.attach, "attach", nil, "`FILE` that the task is about (repeatable)")
}

// begun returns what came of a task with these flags. A tool that does not exist is an error in them.
func (f *taskFlags) begun(report *app.Report, err error) (*app.Report, error) {
	if app.IsToolError(err) {
		return nil, &exitError{exitUsage, fmt.Errorf("--tool: %w", err)}
	}
	return report, err
}

func newRun(s *session) *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "run GOAL",
		Short: "Do one task and print the answer",
		Long: "Do one task and print the answer. Each step is stored, so that a task that was stopped can be resumed.\n" +
			"A GOAL of - is read from stdin.",
		Example: "  llama-agent run \"How many lines do the logs have?\"\n  git log -5 | llama-agent run -",
		Args:    arguments(1, -1, "the goal"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.run(cmd, o, args)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.thread, "thread", "", "`ID` of the new thread (default: made from the time)")
	o.add(s, flags)
	return cmd
}

func (s *session) run(cmd *cobra.Command, o runOptions, args []string) error {
	goal, err := s.goal(cmd.Context(), args)
	if err != nil {
		return err
	}
	return s.task(cmd, false, func(ctx context.Context, a *app.App, observe func(app.Event)) (*app.Report, error) {
		return o.begun(a.Run(ctx, app.Task{Goal: goal, Thread: o.thread, Tools: o.tools, Attach: o.attach, Observe: observe}))
	})
}

// goal reads the goal from the arguments, or from stdin for a single "-".
func (s *session) goal(ctx context.Context, args []string) (string, error) {
	goal := strings.Join(args, " ")
	if len(args) == 1 && args[0] == "-" {
		text, err := readText(ctx, s.stdin, maxGoalBytes)
		if err != nil {
			return "", fmt.Errorf("reading the goal from stdin: %w", err)
		}
		goal = text
	}
	goal = strings.TrimSpace(strings.TrimPrefix(goal, "\ufeff"))
	switch {
	case goal == "":
		return "", usagef("the goal is empty; say what to do")
	case !utf8.ValidString(goal):
		return "", usagef("the goal is not UTF-8 text")
	case len(goal) > maxGoalBytes:
		return "", usagef("the goal is longer than %d bytes", maxGoalBytes)
	}
	return goal, nil
}

// readText reads to the end, at most limit bytes. When ctx ends it returns, and leaves a reader behind that only the end of
// the process stops: a terminal or a pipe that gives nothing cannot be interrupted.
func readText(ctx context.Context, r io.Reader, limit int64) (string, error) {
	type result struct {
		data []byte
		err  error
	}
	done := make(chan result, 1)
	go func() {
		data, err := io.ReadAll(io.LimitReader(r, limit+1))
		done <- result{data, err}
	}()
	select {
	case r := <-done:
		if r.err == nil && int64(len(r.data)) > limit {
			return "", fmt.Errorf("it is longer than %d bytes", limit)
		}
		return string(r.data), r.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// task opens the agent, lets do work on a task, and tells how it ended. Commands that do tasks share it. With existing, a
// missing store is not made.
func (s *session) task(cmd *cobra.Command, existing bool, do func(context.Context, *app.App, func(app.Event)) (*app.Report, error)) (err error) {
	p := &progress{console: s.console}
	report, err := s.withApp(cmd.Context(), existing, p, func(ctx context.Context, a *app.App) (*app.Report, error) {
		return do(ctx, a, p.observe)
	})
	if err != nil {
		return s.notBegun(err)
	}
	if s.console.json {
		if err := s.console.printJSON(report); err != nil {
			return err
		}
	} else {
		p.finish(report.Answer)
	}
	p.summary(report)
	if err := s.console.broken(); err != nil {
		return fmt.Errorf("writing the answer: %w; it is stored, see it with: %s", err, s.resumeCommand(cmd, report.ThreadID, ""))
	}
	return s.outcome(cmd, report)
}

// withApp opens the agent for the duration of do.
func (s *session) withApp(ctx context.Context, existing bool, p *progress, do func(context.Context, *app.App) (*app.Report, error)) (report *app.Report, err error) {
	c, err := s.load()
	if err != nil {
		return nil, err
	}
	a, err := app.Open(ctx, app.Options{
		Config: c, Existing: existing, OpenModel: s.openModel, Logger: s.logger(c), Loading: p.loading, Prefill: p.prefill,
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	return do(ctx, a)
}

// outcome turns the status of a task into an error with the exit code, or nil.
func (s *session) outcome(cmd *cobra.Command, r *app.Report) error {
	switch r.Status {
	case app.StatusDone:
		return nil
	case app.StatusInterrupted:
		return &exitError{exitInterrupted, fmt.Errorf("interrupted, the state is saved; resume with: %s", s.resumeCommand(cmd, r.ThreadID, ""))}
	}
	kind, message := app.KindInternal, "no reason is stored"
	if r.Error != nil {
		kind, message = r.Error.Kind, oneLine(r.Error.Message)
	}
	flag := "--retry"
	if kind == app.KindOutcomeUnknown {
		flag = "--retry-unknown"
	}
	return &exitError{exitFailed, fmt.Errorf("the task failed (%s): %s; try again with: %s", kind, message, s.resumeCommand(cmd, r.ThreadID, flag))}
}

// notBegun prints the object of --json for a task that could not begin, and returns err.
func (s *session) notBegun(err error) error {
	code := exitCode(err)
	if !s.console.json || code == exitUsage {
		return err
	}
	r := app.EmptyReport()
	r.Status, r.Error = app.StatusFailed, &app.Failure{Kind: "error", Message: err.Error()}
	switch code {
	case exitModel:
		r.Error.Kind = app.KindModel
	case exitNothing:
		r.Error.Kind = "nothing_to_resume"
	case exitInterrupted:
		r.Status, r.Error = app.StatusInterrupted, nil
	}
	return errors.Join(err, s.console.printJSON(r))
}

// resumeCommand is the command that continues a thread: with the flags that say where it is stored and how it was run.
func (s *session) resumeCommand(cmd *cobra.Command, thread, flag string) string {
	words := append(s.globalWords(cmd), "resume", thread)
	if flag != "" {
		words = append(words, flag)
	}
	return strings.Join(words, " ")
}

// globalWords begin a command with the global flags that this one was given and that change what is done.
func (s *session) globalWords(cmd *cobra.Command) []string {
	words := []string{"llama-agent"}
	cmd.Root().PersistentFlags().VisitAll(func(f *pflag.Flag) {
		switch {
		case !f.Changed, f.Name == "json", f.Name == "quiet", f.Name == "verbose":
		case f.Name == "set":
			for _, v := range s.set {
				words = append(words, "--set", shellWord(v))
			}
		case f.Name == "workspace":
			words = append(words, "-C", shellWord(f.Value.String()))
		default:
			words = append(words, "--"+f.Name, shellWord(f.Value.String()))
		}
	})
	return words
}

// shellWord quotes s for a POSIX shell where that is needed.
func shellWord(s string) string {
	plain := s != "" && strings.IndexFunc(s, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,+@%", r)
	}) < 0
	if plain {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
