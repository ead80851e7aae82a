package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/llama-agent/llama-agent/app"
)

type memoryOptions struct {
	owner string // a conversation or a task; empty: for all
	all   bool
}

func newMemory(s *session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "memory",
		Short: "Look at, add or remove what is remembered",
		Long: "What is remembered stands in every prompt while memory.lifecycle_context is on: in those of all tasks of this\n" +
			"workspace, or with --owner in those of one conversation. The model remembers by itself what it is asked to.",
		Args: arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newMemoryList(s), newMemoryAdd(s), newMemoryForget(s), newMemoryExport(s))
	return cmd
}

func (o *memoryOptions) flag(s *session, cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.owner, "owner", "", "conversation or task `ID` (default: what all share)")
	complete(cmd, "owner", s.completeConversation)
}

func newMemoryList(s *session) *cobra.Command {
	var o memoryOptions
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List what is remembered",
		Args:  arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.all = !cmd.Flags().Changed("owner")
			return s.listMemory(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&o.owner, "owner", "", "only what belongs to the conversation or task `ID`; empty: what all share")
	complete(cmd, "owner", s.completeConversation)
	return cmd
}

func (s *session) listMemory(ctx context.Context, o memoryOptions) error {
	return s.withStore(ctx, func(ctx context.Context, a *app.App) error {
		list, err := a.Memories(ctx, o.owner, o.all)
		if err != nil {
			return err
		}
		if s.console.json {
			return s.console.printJSON(map[string]any{"memories": list})
		}
		if len(list) == 0 {
			s.console.note("nothing is remembered")
			return nil
		}
		columns := []column{{title: "KEY"}, {title: "FOR"}, {title: "AGE", right: true}, {title: "VALUE", flexible: true}}
		rows := make([][]string, len(list))
		for i, m := range list {
			owner := m.Owner
			if owner == "" {
				owner = "all"
			}
			rows[i] = []string{m.Key, owner, formatAge(m.Updated, s.now()), m.Value}
		}
		s.console.print(table(columns, rows, s.console.columns()))
		return nil
	})
}

func newMemoryAdd(s *session) *cobra.Command {
	var o memoryOptions
	cmd := &cobra.Command{
		Use:     "add KEY VALUE",
		Short:   "Remember a value; a new value for a key replaces the old one",
		Example: "  llama-agent memory add \"deploy port\" 8472",
		Args:    arguments(2, -1, "the key or the value"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.addMemory(cmd.Context(), o, args[0], strings.Join(args[1:], " "))
		},
	}
	o.flag(s, cmd)
	return cmd
}

func (s *session) addMemory(ctx context.Context, o memoryOptions, key, value string) error {
	return s.withMemory(ctx, func(ctx context.Context, a *app.App) error {
		m, replaced, err := a.AddMemory(ctx, o.owner, key, value)
		if err != nil {
			return err
		}
		if s.console.json {
			return s.console.printJSON(map[string]any{"memory": m, "replaced": replaced})
		}
		if replaced != nil && replaced.Value != m.Value {
			s.console.note("%s was: %s", m.Key, oneLine(replaced.Value))
		}
		if !a.Config().Memory.LifecycleContext {
			s.console.note("note: tasks see it once memory.lifecycle_context is on")
		}
		return nil
	})
}

func newMemoryForget(s *session) *cobra.Command {
	var o memoryOptions
	cmd := &cobra.Command{
		Use:   "forget KEY",
		Short: "Remove what is remembered under a key",
		Args:  arguments(1, -1, "the key"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.withStore(cmd.Context(), func(ctx context.Context, a *app.App) error {
				return a.ForgetMemory(ctx, o.owner, strings.Join(args, " "))
			})
		},
	}
	o.flag(s, cmd)
	return cmd
}

func newMemoryExport(s *session) *cobra.Command {
	return &cobra.Command{
		Use:   "export",
		Short: "Print everything that is remembered as JSON",
		Args:  arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s.console.json = true
			return s.listMemory(cmd.Context(), memoryOptions{all: true})
		},
	}
}

// withMemory opens the agent without a model, and makes the store of memories if there is none.
func (s *session) withMemory(ctx context.Context, do func(context.Context, *app.App) error) error {
	return s.withStoreOptions(ctx, app.Options{Existing: true, Memory: true}, do)
}
