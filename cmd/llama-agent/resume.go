package main

import (
	"bufio"
	"context"
	"os"
	"slices"
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
			"has ended prints its answer.\n\n" +
			"With --from the task is taken up again at an earlier step, also one that has ended: what follows is done anew,\n" +
			"calls of tools as well, and is the state of the task from then on. The steps that were there before stay in its\n" +
			"history, so that the task can be taken back to them.",
		Example:           "  llama-agent resume\n  llama-agent history THREAD\n  llama-agent resume THREAD --from CHECKPOINT",
		Args:              arguments(0, 1, "the thread"),
		ValidArgsFunction: s.completeThread,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("from") && o.From == "" {
				return usagef("--from is empty; give a checkpoint as listed by history")
			}
			return s.resume(cmd, o, args)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.Retry, "retry", false, "also continue a task that failed, with its limits counted anew")
	flags.StringVar(&o.From, "from", "", "fork: go back to a `CHECKPOINT` of the task, as listed by history, and continue from there")
	flags.BoolVar(&o.RetryUnknown, "retry-unknown", false, "run a call again that was begun and whose outcome is not known")
	flags.BoolVar(&o.AllowChanges, "allow-changes", false, "continue although the configuration or the agent's graph differs from the one the task began with")
	complete(cmd, "from", s.completeCheckpoint)
	return cmd
}

func (s *session) resume(cmd *cobra.Command, o app.ResumeOptions, args []string) error {
	return s.task(cmd, true, func(ctx context.Context, a *app.App, observe func(app.Event)) (*app.Report, error) {
		o.Observe = observe
		thread, err := chosenThread(ctx, a, args, o)
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

// chosenThread is the thread that the user named, else the last that can be resumed in this way.
func chosenThread(ctx context.Context, a *app.App, args []string, o app.ResumeOptions) (string, error) {
	if len(args) > 0 {
		return args[0], nil
	}
	if o.From != "" { // any task can be taken up again
		last, err := a.Last(ctx)
		return last.ID, err
	}
	last, err := a.LastResumable(ctx, o.Retry || o.RetryUnknown)
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
		answer <- line
	}()
	select {
	case a := <-answer:
		return isYes(a)
	case <-ctx.Done():
		return false
	}
}

// isYes reads the answer to a question that is no by default.
func isYes(answer string) bool {
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
}

// completeThread completes the ID of a thread for the shell.
func (s *session) completeThread(cmd *cobra.Command, args []string, text string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return s.completeThreads(cmd, args, text)
}

// completeThreads completes IDs of threads that aren't on the command line yet.
func (s *session) completeThreads(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var ids []string
	_ = s.withStore(cmd.Context(), func(ctx context.Context, a *app.App) error { // no completion is better than an error in the prompt
		threads, err := a.Threads(ctx, 50)
		for _, t := range threads {
			if !slices.Contains(args, t.ID) {
				ids = append(ids, t.ID+"\t"+app.Inert(oneLine(t.Goal)))
			}
		}
		return err
	})
	return ids, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}
