package app

import (
	"github.com/llama-agent/llama-agent/agent"
	"github.com/llama-agent/llama-agent/graph"
	"github.com/llama-agent/llama-agent/tools"
)

// Diagram is what leads where in the agent's graph.
type Diagram = graph.Diagram

// StartNode stands for the beginning of a graph among the nodes that are due.
const StartNode = graph.Start

// AgentDiagram describes the graph of the agent. It is the same under every configuration, so that none is needed.
func AgentDiagram() (Diagram, error) {
	registry, err := tools.NewRegistry()
	if err != nil {
		return Diagram{}, err
	}
	runner, err := agent.New(agent.Config{Model: noModel{}, Tools: registry})
	if err != nil {
		return Diagram{}, err
	}
	return runner.Graph().Diagram(graph.Expand(-1)), nil
}
