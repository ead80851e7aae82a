package main

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/llama-agent/llama-agent/app"
)

type artifactsOptions struct {
	thread string
	limit  int
}

func newArtifacts(s *session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "artifacts",
		Short: "Look into the large results that tasks stored, or remove what nothing needs",
		Long: "With memory.artifact_virtualization a tool result that is too large for the prompt is stored, and the model sees a\n" +
			"description with a reference such as artifact://k3v9x2ab. These commands are for you to look at what is stored.",
		Args: arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newArtifactsList(s), newArtifactsShow(s), newArtifactsGC(s))
	return cmd
}

func newArtifactsList(s *session) *cobra.Command {
	var o artifactsOptions
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List stored results, the last used first",
		Args:  arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.limit < 0 {
				return usagef("--limit %d is negative; use 0 for all", o.limit)
			}
			return s.listArtifacts(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&o.thread, "thread", "", "only those of the task or conversation `ID`")
	cmd.Flags().IntVar(&o.limit, "limit", 20, "list at most `N` results, 0 for all")
	_ = cmd.RegisterFlagCompletionFunc("thread", s.completeThread)
	return cmd
}

func (s *session) listArtifacts(ctx context.Context, o artifactsOptions) error {
	return s.withStore(ctx, func(ctx context.Context, a *app.App) error {
		list, err := a.Artifacts(ctx, o.thread, o.limit)
		if err != nil {
			return err
		}
		if s.console.json {
			return s.console.printJSON(map[string]any{"artifacts": list})
		}
		if len(list) == 0 {
			s.console.note("no result is stored")
			return nil
		}
		columns := []column{{title: "REFERENCE"}, {title: "TASK"}, {title: "TOOL"}, {title: "SIZE", right: true}, {title: "LINES", right: true}, {title: "ABOUT", flexible: true}}
		rows := make([][]string, len(list))
		for i, found := range list {
			rows[i] = []string{found.Ref, found.Owner, found.Tool, formatBytes(found.Bytes), strconv.Itoa(found.Lines), found.Name}
		}
		s.console.print(table(columns, rows, s.console.columns()))
		if o.limit > 0 && len(list) == o.limit {
			s.console.note("there may be more; see all with --limit 0")
		}
		return nil
	})
}

func newArtifactsShow(s *session) *cobra.Command {
	return &cobra.Command{
		Use:   "show REFERENCE",
		Short: "Print a stored result",
		Long:  "Print a stored result: byte for byte into a pipe or file, with control characters made visible on a terminal.",
		Args:  arguments(1, 1, "the reference"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.showArtifact(cmd.Context(), args[0])
		},
	}
}

func (s *session) showArtifact(ctx context.Context, ref string) error {
	return s.withStore(ctx, func(ctx context.Context, a *app.App) error {
		found, content, err := a.Artifact(ctx, ref)
		if err != nil {
			return err
		}
		text := string(content)
		switch {
		case s.console.json:
			return s.console.printJSON(map[string]any{"artifact": found, "content": text})
		case s.console.outTerminal:
			text = app.Inert(text)
		}
		s.console.note("%s of %s by %s, %s in %s", formatBytes(found.Bytes), found.Ref, found.Tool, plural(found.Lines, "line"), found.Owner)
		s.console.print(text)
		return nil
	})
}

func newArtifactsGC(s *session) *cobra.Command {
	return &cobra.Command{
		Use:   "gc",
		Short: "Remove stored results that nothing needs",
		Long: "Remove what crashes left behind, results of tasks that are gone and older than tools.artifact.max_age_days, and while\n" +
			"all together exceed tools.artifact.max_bytes more results of tasks that are gone, those first that were not used for longest.",
		Args: arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.collectArtifacts(cmd.Context())
		},
	}
}

func (s *session) collectArtifacts(ctx context.Context) error {
	return s.withStore(ctx, func(ctx context.Context, a *app.App) error {
		c, err := a.CollectArtifacts(ctx)
		if err != nil {
			return err
		}
		if s.console.json {
			return s.console.printJSON(c)
		}
		s.console.note("removed %s and %s, %s; %s stay", plural(len(c.Removed), "result"), plural(c.Orphans, "leftover file"),
			formatBytes(c.Freed+c.OrphanBytes), formatBytes(c.Left))
		if c.Over > 0 {
			s.console.note("that is %s over tools.artifact.max_bytes, because tasks that still exist may need it: delete-thread removes a task", formatBytes(c.Over))
		}
		return nil
	})
}
