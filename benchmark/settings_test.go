package benchmark

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/config"
)

func loadConfig(t *testing.T, dir, text string, overrides ...string) *config.Config {
	t.Helper()
	file := filepath.Join(dir, "agent_config.toml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	o := config.Options{Path: file, Workspace: dir, Dir: dir}
	for _, text := range overrides {
		override, err := config.ParseOverride(text)
		require.NoError(t, err)
		o.Overrides = append(o.Overrides, override)
	}
	c, err := config.Load(o)
	require.NoError(t, err)
	return c
}

// TestSettings sees what samples run with be what the user runs with, except for what is theirs or would tell of the user.
func TestSettings(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "my.jinja"), []byte("x"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "my.gguf"), []byte("x"), 0o600))
	c := loadConfig(t, dir, `
[agent]
max_iterations = 2
db_path = "mine.sqlite"
log_level = "debug"
[engine]
model_path = "mine.gguf"
chat_template = "my.jinja"
seed = 5
stop = ["END"]
lora = ["my.gguf=0.5"]
[engine.nodes.planner]
temperature = 0.1
[tools.file]
allowed_roots = ["/home/somebody"]
timeout_seconds = 2.5
[memory]
artifact_virtualization = true
hot_execution_records = 7
[telemetry]
otlp_endpoint = "http://user:secret@example.org"
`, "engine.temperature=0.7")
	s, err := NewSettings(c)
	require.NoError(t, err)
	require.Equal(t, map[string]any{
		"agent.max_iterations": 2, "engine.chat_template": filepath.Join(dir, "my.jinja"), "engine.stop": []string{"END"},
		"engine.lora":                      []string{filepath.Join(dir, "my.gguf") + "=0.5"},
		"engine.nodes.planner.temperature": 0.1, "tools.file.timeout_seconds": 2.5, "memory.hot_execution_records": 7, "engine.temperature": 0.7,
	}, s.Values)
	require.Equal(t, map[string]any{"memory.artifact_virtualization": true, "memory.lifecycle_context": false}, s.Switches)
	require.Equal(t, "my.jinja 2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881", s.Shared["engine.chat_template"])
	require.Equal(t, "my.gguf 2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881 scale 0.5", s.Shared["engine.lora"])
	require.Equal(t, "0.7", s.Shared["engine.temperature"])
	require.Equal(t, "0.9", s.Shared["engine.top_p"], "defaults, too: another version may have others")
	require.Equal(t, `["END"]`, s.Shared["engine.stop"])
	require.Equal(t, "0.1", s.Shared["engine.nodes.planner.temperature"])
	require.NotContains(t, s.Shared, "engine.nodes.executor.temperature")
	require.NotContains(t, s.Shared, "engine.model_path")
	for key, value := range s.Shared {
		require.NotContains(t, value, dir, key)
		require.NotContains(t, value, "somebody", key)
		require.NotContains(t, value, "secret", key)
	}

	// What samples get is a configuration that says the same.
	folder := t.TempDir()
	at, err := newStores(folder, "data", filepath.Join(folder, "shared"), s.Values)
	require.NoError(t, err)
	sample, err := config.Load(config.Options{Path: at.config, Workspace: t.TempDir()})
	require.NoError(t, err)
	again, err := NewSettings(sample)
	require.NoError(t, err)
	require.Equal(t, s.Values, again.Values)
	require.Equal(t, s.Shared, again.Shared)

	require.NoError(t, os.Remove(filepath.Join(dir, "my.jinja")))
	_, err = NewSettings(c)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "reading engine.chat_template")
}
