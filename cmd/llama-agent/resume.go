package main

import (
	"bufio"
	"context"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/llama-agent/llama-agent/app"
)

func newResume(s *session) *cobra.Command {
	var o app.ResumeOptions
	cmd := &cobra.Command{
		Use:   "resume [THREAD]",
		Short: "Continue a task that was interrupted",
		Long: "Continue a task that was interrupted; without an ID, the last one. What was done is not done again. A task that\n" +
			"has ended prints its answer.",
		Args:              arguments(0, 1, "the thread"),
		ValidArgsFunction: s.completeThread,
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.resume(cmd, o, args)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.Retry, "retry", false, "also continue a task that failed, with its limits counted anew")
	flags.StringVar(&o.From, "from", "", "go back to a `CHECKPOINT` of the thread, as listed by history, and continue from there")
	flags.BoolVar(&o.RetryUnknown, "retry-unknown", false, "run a call again that was begun and whose outcome is not known")
	flags.BoolVar(&o.AllowChanges, "allow-changes", false, "continue although the configuration differs from the one the task began with")
	return cmd
}

func (s *session) resume(cmd *cobra.Command, o app.ResumeOptions, args []string) error {
	return s.task(cmd, true, func(ctx context.Context, a *app.App, observe func(app.Event)) (*app.Report, error) {
		o.Observe = observe
		thread, err := chosenThread(ctx, a, args, o.Retry || o.RetryUnknown)
		if err != nil {
			return nil, err
		}
		report, err := a.Resume(ctx, thread, o)
		if err == nil && report.Error != nil && report.Error.Kind == app.KindOutcomeUnknown && !o.RetryUnknown && s.confirm(ctx, report.Error.Message) {
			o.RetryUnknown = true
			return a.Resume(ctx, thread, o)
		}
		return report, err
	})
}

// chosenThread is the thread that the user named, else the last that can be resumed; with failed also one that failed.
func chosenThread(ctx context.Context, a *app.App, args []string, failed bool) (string, error) {
	if len(args) > 0 {
		return args[0], nil
	}
	last, err := a.LastResumable(ctx, failed)
	return last.ID, err
}

// confirm asks on the terminal whether a call of unknown outcome may run again. Without a terminal the answer is no.
func (s *session) confirm(ctx context.Context, reason string) bool {
	in, ok := s.stdin.(*os.File)
	if !ok || !s.console.errTerminal || !term.IsTerminal(int(in.Fd())) {
		return false
	}
	s.console.say("%s", oneLine(reason))
	s.console.say("Run it again? [y/N]")
	answer := make(chan string, 1)
	go func() { // ends with the process when nobody answers: reading a terminal cannot be cancelled
		line, _ := bufio.NewReader(in).ReadString('\n')
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case a := <-answer:
		return a == "y" || a == "yes"
	case <-ctx.Done():
		return false
	}
}

// completeThread completes thread IDs for the shell.
func (s *session) completeThread(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var ids []string
	_ = s.withStore(cmd.Context(), func(ctx context.Context, a *app.App) error { // no completion is better than an error in the prompt
		threads, err := a.Threads(ctx, 50)
		for _, t := range threads {
			ids = append(ids, t.ID+"\t"+app.Inert(oneLine(t.Goal)))
		}
		return err
	})
	return ids, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}
