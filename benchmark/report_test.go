package benchmark

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/app"
	"github.com/llama-agent/llama-agent/config"
)

// TestReportsOfTheProgramAreRead sees the names of fields agree with the program's own.
func TestReportsOfTheProgramAreRead(t *testing.T) {
	t.Parallel()
	var theirs app.Report
	require.NoError(t, json.Unmarshal([]byte(`{"calls":[{"tool":"read_file","result":{"text":"x"}}]}`), &theirs))
	theirs.ConversationID, theirs.Status, theirs.Answer, theirs.CheckpointBytes, theirs.DurationMS = "c-1", app.StatusDone, "97", 11, 12
	theirs.Error = &app.Failure{Kind: "limit", Message: "m"}
	theirs.Usage.ModelCalls, theirs.Usage.PromptTokens, theirs.Usage.EvaluatedTokens = 1, 2, 3
	theirs.Usage.CompletionTokens, theirs.Usage.ModelLoadMS = 4, 5
	data, err := json.Marshal(theirs)
	require.NoError(t, err)
	r, err := parseReport(data)
	require.NoError(t, err)
	require.Equal(t, "c-1 done 97", r.ConversationID+" "+r.Status+" "+r.Answer)
	require.Equal(t, []string{"read_file"}, r.tools())
	require.Equal(t, "text\nx\n", plainText(r.Calls[0].Result))
	require.Equal(t, "limit m", r.Error.Kind+" "+r.Error.Message)
	require.Equal(t, []int64{11, 12, 1, 2, 3, 4, 5}, []int64{
		r.CheckpointBytes, r.DurationMS, int64(r.Usage.ModelCalls), int64(r.Usage.PromptTokens), int64(r.Usage.EvaluatedTokens),
		int64(r.Usage.CompletionTokens), r.Usage.ModelLoadMS,
	})
}

// TestConfigurationsAreValid loads what is written for each round as the program does.
func TestConfigurationsAreValid(t *testing.T) {
	t.Parallel()
	for _, round := range Rounds() {
		folder := t.TempDir()
		model := filepath.Join(folder, "quote ' and \" \\ 模型.gguf")
		require.NoError(t, os.WriteFile(model, nil, 0o600))
		values := map[string]any{"engine.model_path": model, "engine.seed": 43, "engine.temperature": 0.7, "tools.timeout_seconds": 30.0}
		maps.Copy(values, round.Switches)
		s, err := newStores(folder, "data", filepath.Join(folder, "shared"), values)
		require.NoError(t, err)
		workspace := t.TempDir()
		c, err := config.Load(config.Options{Path: s.config, Workspace: workspace})
		require.NoError(t, err)
		require.Empty(t, c.Notices)
		require.Equal(t, model, c.Engine.ModelPath)
		require.EqualValues(t, 43, c.Engine.Seed)
		require.InDelta(t, 0.7, c.Engine.Temperature, 0)
		require.Equal(t, round.Switches, map[string]any{
			"memory.artifact_virtualization": c.Memory.ArtifactVirtualization, "memory.lifecycle_context": c.Memory.LifecycleContext,
		})
		// No store is left in the workspace.
		for _, path := range []string{
			c.Agent.DBPath, c.Agent.ConversationDBPath, c.Engine.KVStorePath, c.Tools.Artifact.StorageDir, c.Memory.ContextStorePath, c.Telemetry.OutputDir,
		} {
			require.Contains(t, path, folder)
		}
	}
}

func TestNested(t *testing.T) {
	t.Parallel()
	require.Equal(t, map[string]any{"a": map[string]any{"b": 1, "c": map[string]any{"d": 2}}, "e": 3}, nested(map[string]any{"a.b": 1, "a.c.d": 2, "e": 3}))
}
