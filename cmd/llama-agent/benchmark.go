package main

import (
	"github.com/spf13/cobra"
)

func newBenchmark(s *session) *cobra.Command {
	o := measureOptions{command: "benchmark"}
	cmd := &cobra.Command{
		Use:   "benchmark",
		Short: "Measure the model and the settings with a suite of tasks",
		Long: "Measure the model and the settings with a suite of tasks: what is answered right, how long it takes, and what it\n" +
			"costs. Each sample is one task done by a fresh process of this program, with the settings that this command has and\n" +
			"stores of its own; its seed is that of the suite plus its repetition. The results are kept in a new folder below\n" +
			"--output-root as they come, so that a run that was stopped can be resumed with --resume.\n\n" +
			"The rounds R0, R1 and R2 set the two switches of [memory] themselves: all results whole, large results outside the\n" +
			"prompt, and older ones summarized, too. Under any other name a round has the switches as they are configured.",
		Example: "  llama-agent benchmark --suite r0_smoke\n" +
			"  llama-agent benchmark --suite ./mine.json --round R0,R2 --measured-runs 5\n" +
			"  llama-agent benchmark --resume data/benchmark/RUN",
		Args: arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.measure(cmd, o)
		},
	}
	o.addTo(cmd)
	cmd.AddCommand(newBenchmarkCompare(s))
	cmd.Flags().StringArrayVar(&o.rounds, "round", []string{"current"}, "measure this round: R0, R1, R2, or another `NAME` for the current switches (repeatable)")
	return cmd
}
