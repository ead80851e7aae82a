package main

import (
	"encoding/json"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAgentsInPython runs the tests of the peers' common parts, which need nothing but Python's own library.
func TestAgentsInPython(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	cmd := exec.CommandContext(t.Context(), python, "-B", "-m", "unittest")
	cmd.Dir = "agents"
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	require.NotContains(t, string(out), "Ran 0 tests")
}

// TestAgentsParse finds what is no program at all in the peers whose libraries are not there.
func TestAgentsParse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ program, flag, file string }{
		{"python3", "-c", "llama_cpp_python.py"}, {"python3", "-c", "llama_server.py"},
		{"node", "--check", "roles.mjs"}, {"node", "--check", "tools.mjs"}, {"node", "--check", "node_llama_cpp.mjs"},
	} {
		path, err := exec.LookPath(c.program)
		if err != nil {
			t.Logf("%s is not installed", c.program)
			continue
		}
		args := []string{c.flag, c.file}
		if c.flag == "-c" {
			quoted, err := json.Marshal(c.file)
			require.NoError(t, err)
			args = []string{"-B", "-c", "import ast; ast.parse(open(" + string(quoted) + ").read())"}
		}
		cmd := exec.CommandContext(t.Context(), path, args...)
		cmd.Dir = "agents"
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
	}
}
