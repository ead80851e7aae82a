package main

import (
	"github.com/spf13/cobra"

	"github.com/llama-agent/llama-agent/app"
)

// graphFormats are the values of graph --format.
var graphFormats = []string{"mermaid", "dot"}

type graphOptions struct {
	format string
}

func newGraph(s *session) *cobra.Command {
	var o graphOptions
	cmd := &cobra.Command{
		Use:   "graph",
		Short: "Print the agent's graph as Mermaid or DOT",
		Long: "Print the agent's graph: its nodes, and which may follow which. Where a node chooses, the lines are broken.\n" +
			"Mermaid is drawn by many Markdown viewers, DOT by Graphviz. With --json, print nodes and edges as data.",
		Example: "  llama-agent graph > graph.mmd\n  llama-agent graph --format dot | dot -Tpng > graph.png",
		Args:    arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if s.console.json && cmd.Flags().Changed("format") {
				return usagef("--json and --format contradict each other")
			}
			return s.graph(o)
		},
	}
	cmd.Flags().StringVar(&o.format, "format", graphFormats[0], "`FORMAT` of the drawing: mermaid or dot")
	complete(cmd, "format", cobra.FixedCompletions(graphFormats, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (s *session) graph(o graphOptions) error {
	diagram, err := app.AgentDiagram()
	if err != nil {
		return err
	}
	switch {
	case s.console.json:
		return s.console.printJSON(diagram)
	case o.format == "mermaid":
		s.console.print(diagram.Mermaid())
	case o.format == "dot":
		s.console.print(diagram.DOT())
	default:
		return usagef("unknown format %q; use mermaid or dot, or --json for data", o.format)
	}
	return nil
}
