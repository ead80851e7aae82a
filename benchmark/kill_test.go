//go:build unix

package benchmark

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/app"
	"github.com/llama-agent/llama-agent/engine"
	"github.com/llama-agent/llama-agent/internal/testmodel"
)

var kills = flag.Bool("kills", false, "do TestKillAndResume")

// TestKillAndResume ends the program with SIGKILL at each line of its progress, with the starter model at work, and resumes.
// The task comes to the right answer by the same calls, each once, and pays for at most the model call that was under way. The
// wording of the answer may differ: a fresh process evaluates the prompt in other batches, which changes logits slightly.
func TestKillAndResume(t *testing.T) {
	if !*kills {
		t.Skip("takes minutes; run with -kills")
	}
	if !engine.Available {
		t.Skip("this build has no llama.cpp")
	}
	model := testmodel.Path(t, testmodel.Starter)
	binary := filepath.Join(t.TempDir(), "llama-agent")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "../cmd/llama-agent").CombinedOutput()
	require.NoError(t, err, string(out))
	s, err := Load("workloads/shop.json")
	require.NoError(t, err)
	c := s.Cases[0]

	command := func(stores string, args ...string) *exec.Cmd {
		workspace, err := filepath.Abs(filepath.Join("..", c.Metadata.FixtureDir))
		require.NoError(t, err)
		return exec.CommandContext(t.Context(), binary, append([]string{
			"-C", workspace, "--model-path", model, "--seed", "42", "--set", "engine.temperature=0",
			"--db-path", filepath.Join(stores, "checkpoints.sqlite"),
		}, args...)...)
	}
	finish := func(cmd *exec.Cmd) app.Report {
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		require.NoError(t, cmd.Run(), stderr.String())
		var r app.Report
		require.NoError(t, json.Unmarshal(stdout.Bytes(), &r), stdout.String())
		return r
	}
	whole := finish(command(t.TempDir(), "run", "--json", c.Goal))
	require.Empty(t, Judge(c, outcomeOf(&whole)))

	for line := 1; ; line++ {
		stores := t.TempDir()
		at, killed := killAtLine(t, command(stores, "run", c.Goal), line)
		if !killed {
			require.Greater(t, line, 4, "the progress has a line for each phase")
			return
		}
		r := finish(command(stores, "resume", "--json"))
		t.Logf("killed at %q: %d model calls in all, answer %q", at, r.Usage.ModelCalls, r.Answer)
		require.Empty(t, Judge(c, outcomeOf(&r)))
		require.Equal(t, len(whole.Calls), len(r.Calls))
		for i := range r.Calls {
			require.Equal(t, whole.Calls[i].Tool, r.Calls[i].Tool)
			require.JSONEq(t, string(whole.Calls[i].Arguments), string(r.Calls[i].Arguments))
		}
		require.Equal(t, whole.Usage.ModelCalls, r.Usage.ModelCalls, "calls that finished before the kill are not made again")
	}
}

// killAtLine ends cmd when its progress comes to the given line, from 1. It reports false when the program ended before.
func killAtLine(t *testing.T, cmd *exec.Cmd, line int) (at string, killed bool) {
	t.Helper()
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	scanner := bufio.NewScanner(stderr)
	for n := 1; scanner.Scan(); n++ {
		if strings.HasPrefix(scanner.Text(), "done in") {
			break
		}
		if n == line {
			at, killed = scanner.Text(), true
			require.NoError(t, cmd.Process.Signal(syscall.SIGKILL))
			break
		}
	}
	err = cmd.Wait()
	require.Equal(t, killed, err != nil)
	return at, killed
}

func outcomeOf(r *app.Report) Outcome {
	var o Outcome
	o.take(r)
	return o
}
