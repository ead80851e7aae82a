package main

import (
	"errors"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/llama-agent/llama-agent/benchmark"
)

func newBenchmarkCompare(s *session) *cobra.Command {
	round := ""
	cmd := &cobra.Command{
		Use:   "compare A B",
		Short: "Put the results of two runs side by side",
		Long: "Compare two folders of results, made with other models, settings or versions: each round that both have, or the only\n" +
			"round of each. For every number there is a verdict on B against A, and how sure it is. Runs of different suites get no\n" +
			"verdicts. The result is Markdown, or one JSON object with --json.",
		Example: "  llama-agent benchmark compare results/old results/new\n  llama-agent benchmark compare results/old results/new --round R2 > compare.md",
		Args:    arguments(2, 2, "a folder of results"),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: func(_ *cobra.Command, args []string) error {
			return s.compareResults(args[0], args[1], round)
		},
	}
	cmd.Flags().StringVar(&round, "round", "", "compare only the round `NAME`")
	return cmd
}

func (s *session) compareResults(base, current, round string) error {
	if filepath.Clean(base) == filepath.Clean(current) {
		return usagef("A and B are the same folder")
	}
	was, err := benchmark.LoadResults(base)
	if err != nil {
		return err
	}
	is, err := benchmark.LoadResults(current)
	if err != nil {
		return err
	}
	c, err := benchmark.Compare(was, is, round)
	if round != "" && errors.Is(err, benchmark.ErrNoCommonRound) {
		return &exitError{exitUsage, err}
	}
	if err != nil {
		return err
	}
	if s.console.json {
		return s.console.printJSON(c)
	}
	s.console.print(c.Markdown())
	return nil
}
