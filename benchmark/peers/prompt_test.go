package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/benchmark"
)

// testOptions have a model file that nobody opens.
func testOptions(t *testing.T) *options {
	t.Helper()
	model := filepath.Join(t.TempDir(), "model.gguf")
	require.NoError(t, os.WriteFile(model, []byte("GGUF"), 0o600))
	return &options{model: model, settings: settings{threads: 2, context: 4096, seed: 42}}
}

func TestPromptIsThatOfLlamaAgent(t *testing.T) {
	t.Parallel()
	suite, err := benchmark.FindSuite("r0_full")
	require.NoError(t, err)
	cases, err := suite.Choose("w5_incident")
	require.NoError(t, err)
	workspace := filepath.Join(t.TempDir(), "workspace")
	require.NoError(t, writeWorkspace(workspace, cases[0], suite.Seed))

	p, err := testOptions(t).promptFor(t.Context(), workspace, cases[0].Goal)
	require.NoError(t, err)
	require.Equal(t, "system", p.Messages[0].Role)
	for _, name := range toolNames {
		require.Contains(t, p.Messages[0].Content, "- "+name+"(")
	}
	require.NotContains(t, p.Messages[0].Content, "execute_shell_command", "all systems have the same tools")
	require.Equal(t, "user", p.Messages[1].Role, "worked examples")
	require.Equal(t, "assistant", p.Messages[2].Role)
	require.Contains(t, p.facts(), "logs/dispatch.log")
	require.Contains(t, p.facts(), "shipments", "the tables of a database")
	require.Equal(t, "Task: "+cases[0].Goal, p.Task)
	require.Contains(t, p.Instruction, "Role: plan.")
	require.True(t, json.Valid(p.Schema))
	require.Contains(t, string(p.Schema), "aggregate_log_errors")
}

func TestToolsAskForWhatIsNeeded(t *testing.T) {
	t.Parallel()
	c, err := testOptions(t).load(t.TempDir())
	require.NoError(t, err)
	specs, err := toolSpecs(c)
	require.NoError(t, err)
	got := map[string]string{}
	for i, s := range specs {
		require.Equal(t, toolNames[i], s.Name)
		require.NotEmpty(t, s.Description)
		data, err := json.Marshal(s.Parameters)
		require.NoError(t, err)
		require.NotContains(t, string(data), "maxLength")
		require.Contains(t, string(data), `"additionalProperties":false`)
		got[s.Name] = strings.Join(s.Parameters.Required, " ")
		require.Len(t, s.Parameters.Properties, len(s.Parameters.Required))
	}
	require.Equal(t, map[string]string{
		"list_files": "pattern", "read_file": "file_path", "search_file": "file_path query", "aggregate_log_errors": "log_path",
		"describe_sqlite_table": "db_path", "query_sqlite": "db_path query",
	}, got)
}

func TestKillCaseFillsTheContext(t *testing.T) {
	t.Parallel()
	c, err := killCase()
	require.NoError(t, err)
	require.NotContains(t, c.Goal, "{")
	files, err := c.Fixtures(42)
	require.NoError(t, err)
	require.Len(t, files, 1)
	require.Less(t, len(files[0].Text), 8192, "more would not be shown whole")
}
