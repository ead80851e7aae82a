package app

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAgentDiagram(t *testing.T) {
	t.Parallel()
	d, err := AgentDiagram()
	require.NoError(t, err)
	require.Equal(t, "agent", d.Name)
	require.Len(t, d.Nodes, 4)
}
