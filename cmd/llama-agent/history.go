package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/llama-agent/llama-agent/app"
)

type historyOptions struct {
	values bool
	limit  int
}

func newHistory(s *session) *cobra.Command {
	var o historyOptions
	cmd := &cobra.Command{
		Use:               "history THREAD",
		Short:             "List the stored steps of a task, the newest first",
		Args:              arguments(1, 1, "the thread"),
		ValidArgsFunction: s.completeThread,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.limit < 0 {
				return usagef("--limit %d is negative; use 0 for all", o.limit)
			}
			return s.history(cmd.Context(), o, args[0])
		},
	}
	cmd.Flags().BoolVar(&o.values, "values", false, "also print the state at each step")
	cmd.Flags().IntVar(&o.limit, "limit", 0, "list at most `N` steps, 0 for all")
	return cmd
}

type stepJSON struct {
	app.Boundary
	State any `json:"state,omitempty"` // in place of that of the Boundary, which has no "not shown"
}

func (s *session) history(ctx context.Context, o historyOptions, thread string) error {
	return s.withStore(ctx, func(ctx context.Context, a *app.App) error {
		steps, err := a.History(ctx, thread)
		if err != nil {
			return err
		}
		if o.limit > 0 {
			steps = steps[:min(o.limit, len(steps))]
		}
		if s.console.json {
			list := make([]stepJSON, len(steps))
			for i, b := range steps {
				list[i].Boundary = b
				if o.values {
					list[i].State = b.State
				}
			}
			return s.console.printJSON(map[string]any{"thread_id": thread, "steps": list})
		}
		if !o.values {
			s.console.print(s.historyTable(steps))
			return nil
		}
		for _, b := range steps {
			s.console.print(s.historyTable([]app.Boundary{b}))
			text, err := json.Marshal(b.State)
			if err != nil {
				return fmt.Errorf("showing the state of step %d: %w", b.Step, err)
			}
			var indented bytes.Buffer
			if err := json.Indent(&indented, text, "", "  "); err != nil {
				return err
			}
			s.console.print(indented.String() + "\n\n")
		}
		return nil
	})
}

func (s *session) historyTable(steps []app.Boundary) string {
	columns := []column{{title: "STEP", right: true}, {title: "NODE"}, {title: "TIME"}, {title: "SIZE", right: true}, {title: "CHECKPOINT"}}
	rows := make([][]string, len(steps))
	for i, b := range steps {
		node := strings.Join(b.Nodes, "+")
		if node == "" {
			node = "(input)"
		}
		when := b.Time.Local()
		layout := "Jan _2 15:04:05"
		if when.Year() != s.now().Year() {
			layout = "2006-01-02 15:04"
		}
		rows[i] = []string{strconv.Itoa(b.Step), node, when.Format(layout), formatBytes(b.Bytes), b.ID}
	}
	return table(columns, rows, s.console.columns())
}
