package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/llama-agent/llama-agent/app"
)

type historyOptions struct {
	at     string
	values bool
	limit  int
}

func newHistory(s *session) *cobra.Command {
	var o historyOptions
	cmd := &cobra.Command{
		Use:   "history THREAD",
		Short: "List the stored steps of a task, or the turns of a conversation",
		Long: "List the stored steps of a task, the newest first, each with the nodes that follow it and a part of its checkpoint's\n" +
			"ID that stands for the whole. With resume --from the task is taken up again at one of them. With the ID of a\n" +
			"conversation, print its turns, the oldest first.",
		Example:           "  llama-agent history THREAD --at CHECKPOINT --values\n  llama-agent resume THREAD --from CHECKPOINT",
		Args:              arguments(1, 1, "the thread"),
		ValidArgsFunction: s.completeThread,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case o.limit < 0:
				return usagef("--limit %d is negative; use 0 for all", o.limit)
			case cmd.Flags().Changed("at") && cmd.Flags().Changed("limit"):
				return usagef("--at shows one step; leave --limit out")
			case cmd.Flags().Changed("at"):
				return s.step(cmd.Context(), o, args[0])
			}
			return s.history(cmd.Context(), o, args[0])
		},
	}
	cmd.Flags().StringVar(&o.at, "at", "", "show one step, by the ID of its `CHECKPOINT` or a part that it begins or ends with")
	cmd.Flags().BoolVar(&o.values, "values", false, "also print the state at each step")
	cmd.Flags().IntVar(&o.limit, "limit", 0, "list at most `N` steps, 0 for all")
	complete(cmd, "at", s.completeCheckpoint)
	return cmd
}

type stepJSON struct {
	app.Boundary
	State any `json:"state,omitempty"` // in place of that of the Boundary, which has no "not shown"
}

func (s *session) history(ctx context.Context, o historyOptions, thread string) error {
	return s.withStore(ctx, func(ctx context.Context, a *app.App) error {
		if c, turns, err := a.Conversation(ctx, thread); err == nil {
			if o.limit > 0 {
				turns = turns[max(0, len(turns)-o.limit):]
			}
			return s.printTurns(c, turns)
		}
		all, err := a.History(ctx, thread)
		if err != nil {
			return err
		}
		steps := all
		if o.limit > 0 {
			steps = steps[:min(o.limit, len(steps))]
		}
		if s.console.json {
			return s.stepsJSON(o, thread, steps)
		}
		if !o.values {
			s.console.print(s.historyTable(all, 0, len(steps)))
		}
		for i, b := range steps {
			if o.values {
				s.console.print(s.historyTable(all, i, i+1))
				if err := s.printState(b); err != nil {
					return err
				}
				s.console.print("\n")
			}
		}
		// The newest problem names the step to go back to; the table has the others.
		if i := slices.IndexFunc(steps, func(b app.Boundary) bool { return b.Problem != "" }); i >= 0 {
			s.console.say("%s", oneLine(steps[i].Problem))
		}
		return nil
	})
}

// step shows one step by itself.
func (s *session) step(ctx context.Context, o historyOptions, thread string) error {
	return s.withStore(ctx, func(ctx context.Context, a *app.App) error {
		b, err := a.Checkpoint(ctx, thread, o.at)
		if err != nil {
			return err
		}
		if b.Problem != "" {
			return errors.New(oneLine(b.Problem))
		}
		if s.console.json {
			return s.stepsJSON(o, thread, []app.Boundary{b})
		}
		for _, line := range [][2]string{
			{"checkpoint", b.ID}, {"follows", b.Parent}, {"step", strconv.Itoa(b.Step)}, {"after", nodesOf(b)}, {"next", nextOf(b)},
			{"status", string(b.Status)}, {"time", b.Time.Local().Format(time.DateTime)}, {"size", formatBytes(b.Bytes)},
		} {
			if line[1] != "" {
				s.console.printf("%-12s%s\n", line[0], oneLine(line[1]))
			}
		}
		if !o.values {
			return nil
		}
		s.console.print("\n")
		return s.printState(b)
	})
}

func (s *session) stepsJSON(o historyOptions, thread string, steps []app.Boundary) error {
	list := make([]stepJSON, len(steps))
	for i, b := range steps {
		list[i].Boundary = b
		if o.values && b.Problem == "" {
			list[i].State = b.State
		}
	}
	return s.console.printJSON(map[string]any{"thread_id": thread, "steps": list})
}

func (s *session) printState(b app.Boundary) error {
	if b.Problem != "" {
		return nil
	}
	text, err := json.Marshal(b.State)
	if err != nil {
		return fmt.Errorf("showing the state of step %d: %w", b.Step, err)
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, text, "", "  "); err != nil {
		return err
	}
	s.console.print(indented.String() + "\n")
	return nil
}

// historyTable shows the steps of a task from one up to another.
func (s *session) historyTable(all []app.Boundary, from, to int) string {
	columns := []column{
		{title: "STEP", right: true}, {title: "NODE", flexible: true}, {title: "NEXT"}, {title: "TIME"}, {title: "SIZE", right: true}, {title: "CHECKPOINT"},
	}
	if slices.ContainsFunc(all, func(b app.Boundary) bool { return b.Fork }) {
		columns = append(columns, column{title: "FORK OF"})
	}
	short := shortIDs(all)
	var rows [][]string
	for _, b := range all[from:to] {
		when := b.Time.Local()
		layout := "Jan _2 15:04:05"
		if when.Year() != s.now().Year() {
			layout = "2006-01-02 15:04"
		}
		id, origin := short(b.ID), ""
		if b.Problem != "" {
			id += " damaged"
		}
		if b.Fork {
			origin = short(b.Parent)
		}
		row := []string{strconv.Itoa(b.Step), nodesOf(b), nextOf(b), when.Format(layout), formatBytes(b.Bytes), id, origin}
		if b.Time.IsZero() { // not even that could be read
			row = []string{"?", "?", "?", "?", "?", id, origin}
		}
		rows = append(rows, row)
	}
	return table(columns, rows, s.console.columns())
}

func nodesOf(b app.Boundary) string {
	switch {
	case len(b.Nodes) > 0:
		return strings.Join(b.Nodes, "+")
	case atStart(b):
		return "(input)"
	}
	return "(start)"
}

func nextOf(b app.Boundary) string {
	switch {
	case len(b.Next) == 0:
		return "(end)"
	case atStart(b):
		return "(start)"
	}
	return strings.Join(b.Next, "+")
}

// atStart reports whether an input was stored here, and nothing was done with it yet.
func atStart(b app.Boundary) bool { return slices.Equal(b.Next, []string{app.StartNode}) }

// shortIDs returns the shortest ends of the steps' IDs that tell them apart, all of one length and at least eight characters. IDs begin
// with the time, so that it is their ends that differ.
func shortIDs(steps []app.Boundary) func(string) string {
	const least = 8
	ids := make([]string, len(steps))
	for i, b := range steps {
		ids[i] = b.ID
	}
	length := least
	for ; ; length++ {
		seen, clash, longer := map[string]bool{}, false, false
		for _, id := range ids {
			end := ending(id, length)
			clash = clash || seen[end]
			longer = longer || len(id) > length
			seen[end] = true
		}
		if !clash || !longer {
			return func(id string) string { return ending(id, length) }
		}
	}
}

func ending(id string, length int) string { return id[max(0, len(id)-length):] }

// completeCheckpoint completes the checkpoints of the thread that the command line names.
func (s *session) completeCheckpoint(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var ids []string
	if len(args) == 1 {
		_ = s.withStore(cmd.Context(), func(ctx context.Context, a *app.App) error { // no completion is better than an error in the prompt
			steps, err := a.History(ctx, args[0])
			short := shortIDs(steps)
			for _, b := range steps {
				ids = append(ids, fmt.Sprintf("%s\tstep %d: %s, then %s", short(b.ID), b.Step, nodesOf(b), nextOf(b)))
			}
			return err
		})
	}
	return ids, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}
