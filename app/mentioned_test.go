package app

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/agent"
)

func TestMentionedPaths(t *testing.T) {
	t.Parallel()
	for goal, want := range map[string][]string{
		"Can you show me the first lines of /etc/passwd?":        {"/etc/passwd"},
		"请显示“/etc/hosts”的内容。":                                    {"/etc/hosts"},
		"把/etc/hosts给我看":                                         {"/etc/hosts"},
		"看看 ../secret.txt，再看 ~/.ssh/id_rsa。":                     {"../secret.txt", "~/.ssh/id_rsa"},
		"Compare `/etc/hosts` with /etc/hosts and (/etc/group).": {"/etc/hosts", "/etc/group"},
		"How often is GET /no-such-place-here/orders asked for?": nil,
		"Is it yes and/or no, 3/4 or / alone? And ... or ../?":   nil,
		"What is in notes/a.md?":                                 nil,
		"":                                                       nil,
	} {
		require.Equal(t, want, mentioned(goal, nil), goal)
	}
	require.Empty(t, mentioned("What is in /etc/hosts?", []agent.File{{Path: "/etc/hosts"}}), "it is offered already")
	require.Len(t, mentioned("/etc/a /etc/b /etc/c /etc/d /etc/e /etc/f", nil), maxMentioned)
}
