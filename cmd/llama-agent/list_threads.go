package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/llama-agent/llama-agent/app"
)

type listThreadsOptions struct {
	limit int
	prune bool
}

func newListThreads(s *session) *cobra.Command {
	var o listThreadsOptions
	cmd := &cobra.Command{
		Use:   "list-threads",
		Short: "List the tasks, the last changed first",
		Args:  arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.limit < 0 {
				return usagef("--limit %d is negative; use 0 for all", o.limit)
			}
			return s.listThreads(cmd.Context(), o)
		},
	}
	cmd.Flags().IntVar(&o.limit, "limit", 20, "list at most `N` tasks, 0 for all")
	cmd.Flags().BoolVar(&o.prune, "prune", false, "remove old checkpoints first: agent.checkpoint_keep says how many each task keeps")
	return cmd
}

func (s *session) listThreads(ctx context.Context, o listThreadsOptions) error {
	return s.withStore(ctx, func(ctx context.Context, a *app.App) error {
		var pruned *app.Pruned
		if o.prune {
			keep := a.Config().Agent.CheckpointKeep
			if keep == 0 {
				return usagef("agent.checkpoint_keep is 0, which keeps all checkpoints; say how many to keep: --set agent.checkpoint_keep=1")
			}
			p, err := a.Prune(ctx, keep)
			if err != nil {
				return err
			}
			pruned = &p
		}
		threads, err := a.Threads(ctx, o.limit)
		if err != nil {
			return err
		}
		if s.console.json {
			result := map[string]any{"threads": threads}
			if pruned != nil {
				result["pruned"] = pruned
			}
			return s.console.printJSON(result)
		}
		if pruned != nil {
			s.console.note("removed %s of %s, %s", plural(pruned.Checkpoints, "checkpoint"), plural(pruned.Threads, "task"), formatBytes(pruned.Bytes))
			if pruned.Busy > 0 {
				s.console.note("left alone because they are in use: %s", plural(pruned.Busy, "task"))
			}
		}
		if len(threads) == 0 {
			s.console.note("no task was run in this workspace; begin with: llama-agent run GOAL")
			return nil
		}
		s.console.print(s.threadTable(threads))
		if o.limit > 0 && len(threads) == o.limit {
			s.console.note("there may be more; see all with --limit 0")
		}
		return nil
	})
}

func (s *session) threadTable(threads []app.ThreadInfo) string {
	columns := []column{{title: "ID"}, {title: "STATE"}, {title: "STEPS", right: true}, {title: "AGE", right: true}, {title: "GOAL", flexible: true}}
	rows := make([][]string, len(threads))
	for i, t := range threads {
		state := string(t.Status)
		if t.Running {
			state = "running"
		}
		rows[i] = []string{t.ID, state, strconv.Itoa(t.Steps), formatAge(t.Updated, s.now()), t.Goal}
	}
	return table(columns, rows, s.console.columns())
}

// withStore opens the agent without a model and without making a store, for commands that only look.
func (s *session) withStore(ctx context.Context, do func(context.Context, *app.App) error) error {
	return s.withStoreOptions(ctx, app.Options{Existing: true}, do)
}

// withStoreOptions does so with more options.
func (s *session) withStoreOptions(ctx context.Context, o app.Options, do func(context.Context, *app.App) error) (err error) {
	c, err := s.load()
	if err != nil {
		return err
	}
	o.Config, o.OpenModel, o.Logger = c, s.openModel, s.logger(c)
	a, err := app.Open(ctx, o)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := a.Close(); closeErr != nil {
			err = errors.Join(err, fmt.Errorf("closing the stores: %w", closeErr))
		}
	}()
	return do(ctx, a)
}
