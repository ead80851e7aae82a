package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/llama-agent/llama-agent/app"
)

func newDeleteThread(s *session) *cobra.Command {
	return &cobra.Command{
		Use:   "delete-thread THREAD…",
		Short: "Remove tasks with all that is stored of them",
		Long: "Remove tasks with all that is stored of them: goal, plan, tool results and answer. There is no way back. Tasks that\n" +
			"are in use stay. To remove old steps only, see list-threads --prune.",
		Args:              arguments(1, -1, "the thread"),
		ValidArgsFunction: s.completeThreads,
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.deleteThreads(cmd.Context(), args)
		},
	}
}

func (s *session) deleteThreads(ctx context.Context, threads []string) error {
	return s.withStore(ctx, func(ctx context.Context, a *app.App) error {
		deleted, err := a.Delete(ctx, threads...)
		if s.console.json {
			return errors.Join(err, s.console.printJSON(map[string]any{"deleted": deleted}))
		}
		for _, d := range deleted {
			s.console.note("removed task %s: %s, %s", d.Thread, plural(d.Checkpoints, "checkpoint"), formatBytes(d.Bytes))
		}
		return err
	})
}
