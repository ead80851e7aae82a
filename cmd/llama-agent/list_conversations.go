package main

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/llama-agent/llama-agent/app"
)

func newListConversations(s *session) *cobra.Command {
	limit := 0
	cmd := &cobra.Command{
		Use:   "list-conversations",
		Short: "List the conversations, the last changed first",
		Long:  "List the conversations, the last changed first. See the turns of one with: llama-agent history ID",
		Args:  arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 0 {
				return usagef("--limit %d is negative; use 0 for all", limit)
			}
			return s.listConversations(cmd.Context(), limit)
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 20, "list at most `N` conversations, 0 for all")
	return cmd
}

func (s *session) listConversations(ctx context.Context, limit int) error {
	return s.withStore(ctx, func(ctx context.Context, a *app.App) error {
		list, err := a.Conversations(ctx, limit)
		if err != nil {
			return err
		}
		if s.console.json {
			return s.console.printJSON(map[string]any{"conversations": list})
		}
		if len(list) == 0 {
			s.console.note("no conversation was begun in this workspace; begin with: llama-agent continue GOAL")
			return nil
		}
		columns := []column{{title: "ID"}, {title: "STATE"}, {title: "TURNS", right: true}, {title: "AGE", right: true}, {title: "FIRST WORDS", flexible: true}}
		rows := make([][]string, len(list))
		for i, c := range list {
			rows[i] = []string{c.ID, string(c.Status), strconv.Itoa(c.Turns), formatAge(c.Updated, s.now()), c.Title}
		}
		s.console.print(table(columns, rows, s.console.columns()))
		if limit > 0 && len(list) == limit {
			s.console.note("there may be more; see all with --limit 0")
		}
		return nil
	})
}
