package config

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite agent_config.toml from the table of keys")

const shippedFile = "../agent_config.toml"

// shippedValues are what the shipped file sets; all else in it is commented out.
var shippedValues = map[string]string{
	"engine.model_path": `"models/qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"`,
}

func TestShippedFileDocumentsEveryKeyWithItsDefault(t *testing.T) {
	want := Reference(shippedValues)
	if *update {
		require.NoError(t, os.WriteFile(shippedFile, []byte(want), 0o644))
	}
	got, err := os.ReadFile(shippedFile)
	require.NoError(t, err)
	require.Equal(t, want, string(got), "run: go test ./config -run ShippedFile -update")
}

func TestShippedFileIsValidWithEveryKeyUncommented(t *testing.T) {
	t.Parallel()
	shipped, err := os.ReadFile(shippedFile)
	require.NoError(t, err)
	var text strings.Builder
	for line := range strings.Lines(string(shipped)) {
		bare := strings.TrimPrefix(line, "#")
		if bare != line && !strings.HasPrefix(bare, " ") && !strings.HasSuffix(bare, "=\n") {
			line = bare
		}
		text.WriteString(line)
	}
	dir := writeConfig(t, text.String())
	c, err := Load(Options{Dir: dir, UserConfigDir: t.TempDir()})
	require.NoError(t, err)
	def := defaults(t)
	for i, v := range c.Values() {
		switch {
		case v.Key == "model_path":
			require.Equal(t, LayerFile, v.Source.Layer)
		case v.Value == nil: // inherited: there is no default to write
		default:
			require.Equal(t, LayerFile, v.Source.Layer, "%s.%s is not in the file", v.Section, v.Key)
			require.Equal(t, def.Values()[i].Text, v.Text, "%s.%s", v.Section, v.Key)
		}
	}
}
