package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/llama-agent/llama-agent/app"
)

func newCopyThread(s *session) *cobra.Command {
	return &cobra.Command{
		Use:   "copy-thread THREAD NEW",
		Short: "Copy a task, to take it up again another way",
		Long: "Copy a task with all its steps to a NEW ID. The copy can be continued, and taken back to earlier steps with\n" +
			"resume --from, and the task stays as it is.",
		Example:           "  llama-agent copy-thread THREAD NEW\n  llama-agent resume NEW --from CHECKPOINT",
		Args:              arguments(2, 2, "the thread or the ID of its copy"),
		ValidArgsFunction: s.completeThread,
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.copyThread(cmd.Context(), args[0], args[1])
		},
	}
}

func (s *session) copyThread(ctx context.Context, from, to string) error {
	return s.withStore(ctx, func(ctx context.Context, a *app.App) error {
		if err := a.Copy(ctx, from, to); err != nil {
			return err
		}
		if s.console.json {
			return s.console.printJSON(map[string]string{"thread_id": to, "copy_of": from})
		}
		s.console.note("copied task %s to %s", from, to)
		return nil
	})
}
