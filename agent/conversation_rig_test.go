package agent_test

import (
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/agent"
)

// conversing is a conversation with a rig's runner, as package app has it.
type conversing struct {
	*rig
	id       string
	memories []string
	turns    []agent.Turn
	reports  []*agent.Report
}

func newConversation(r *rig, id string, memories ...string) *conversing {
	return &conversing{rig: r, id: id, memories: memories}
}

// say does the next turn with a script, which must be used up.
func (c *conversing) say(goal string, script ...reply) *agent.Report {
	c.t.Helper()
	c.model.mu.Lock()
	c.model.script = append(c.model.script, script...)
	c.model.mu.Unlock()
	number := len(c.turns) + 1
	background, events := c.runner.Project(c.t.Context(), c.id, goal, c.turns)
	report, err := c.runner.Run(c.t.Context(), agent.Task{
		Goal: goal, Thread: fmt.Sprintf("t-%d", number), Owner: c.id, Turn: number, Background: background, Events: events, Observe: c.observe,
		Facts: agent.Facts{Files: facts.Files, Remembered: c.memories},
	})
	require.NoError(c.t, err)
	require.Empty(c.t, c.model.script, "replies that were not asked for")
	turn, err := c.runner.Turn(c.t.Context(), report.ThreadID)
	require.NoError(c.t, err)
	turn.Number, turn.Answer = number, report.Answer
	require.NoError(c.t, c.runner.Remember(c.t.Context(), c.id, turn))
	c.turns, c.reports = append(c.turns, turn), append(c.reports, report)
	return report
}
