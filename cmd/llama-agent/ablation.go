package main

import (
	"github.com/spf13/cobra"
)

func newAblation(s *session) *cobra.Command {
	o := measureOptions{command: "ablation"}
	cmd := &cobra.Command{
		Use:   "ablation",
		Short: "Measure what each way to keep prompts small changes",
		Long: "Measure a suite of tasks in the rounds R0, R1 and R2 side by side, and compare them: all results whole, large results\n" +
			"outside the prompt, and older ones summarized, too. The rounds take turns at each task, so that what else happens on\n" +
			"the machine is shared by them. Everything else is as in benchmark.",
		Example: "  llama-agent ablation --suite r0_full\n" +
			"  llama-agent ablation --resume data/benchmark/RUN",
		Args: arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.measure(cmd, o)
		},
	}
	o.addTo(cmd)
	cmd.Flags().StringArrayVar(&o.rounds, "round-order", []string{"R0,R1,R2"}, "which rounds take turns in which `ORDER`, two at least")
	return cmd
}
