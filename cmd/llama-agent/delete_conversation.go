package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/llama-agent/llama-agent/app"
)

func newDeleteConversation(s *session) *cobra.Command {
	return &cobra.Command{
		Use:               "delete-conversation ID...",
		Short:             "Remove conversations with all that is stored of them",
		Long:              "Remove conversations with all that is stored of them: their turns, the tasks of these, stored results and memories.",
		Args:              arguments(1, -1, "the conversation"),
		ValidArgsFunction: s.completeConversation,
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.withStore(cmd.Context(), func(ctx context.Context, a *app.App) error {
				done, err := a.DeleteConversations(ctx, args...)
				if s.console.json {
					if printErr := s.console.printJSON(map[string]any{"deleted": done}); err == nil {
						err = printErr
					}
					return err
				}
				for _, d := range done {
					s.console.note("removed %s: %s", d.Conversation, plural(d.Turns, "turn"))
				}
				return err
			})
		},
	}
}
