package benchmark

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/app"
	"github.com/llama-agent/llama-agent/config"
	"github.com/llama-agent/llama-agent/engine"
	"github.com/llama-agent/llama-agent/internal/testmodel"
)

var (
	all   = flag.Bool("all", false, "run all tasks of the suites, not only the stable ones")
	suite = flag.String("suite", "workloads/shop.json", "suite whose tasks are run")
)

// TestTasks does the tasks of a suite with the starter model at temperature 0, in one process each after the other, and
// judges the answers. Cases with files or conversations that are made for them are left to TestRounds.
func TestTasks(t *testing.T) {
	if !engine.Available {
		t.Skip("this build has no llama.cpp")
	}
	model := testmodel.Path(t, testmodel.Starter)
	s, err := Load(*suite)
	require.NoError(t, err)

	var a *app.App
	dir := ""
	var answers score
	var sum app.Report
	for _, c := range s.Cases {
		if !*all && !c.Metadata.Stable || c.Goal == "" || c.Metadata.FixtureDir == "" {
			continue
		}
		if a == nil || dir != c.Metadata.FixtureDir {
			if a != nil {
				require.NoError(t, a.Close())
			}
			dir = c.Metadata.FixtureDir
			a = openAgent(t, model, dir)
		}
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		report, err := a.Run(ctx, app.Task{Goal: c.Goal})
		cancel()
		require.NoError(t, err, c.ID)
		faults := Judge(c, outcomeOf(report))
		t.Logf("%-16s %5.1f s, %d model calls, %d of %d prompt tokens evaluated, %d sampled: %q %v", c.ID, time.Since(began).Seconds(),
			report.Usage.ModelCalls, report.Usage.EvaluatedTokens, report.Usage.PromptTokens, report.Usage.CompletionTokens, report.Answer, faults)
		answers.take(t, c.ID, faults)
		sum.Usage.PromptTokens += report.Usage.PromptTokens
		sum.Usage.EvaluatedTokens += report.Usage.EvaluatedTokens
		if c.MaxToolCalls != nil && *c.MaxToolCalls == 0 {
			require.LessOrEqual(t, report.Usage.ModelCalls, 2, "model calls of a question without tools")
		}
	}
	if answers.judged == 0 {
		t.Skipf("suite %s has no task for this test", s.Name)
	}
	require.NoError(t, a.Close())
	t.Logf("%d of %d prompt tokens evaluated (%.0f %%)", sum.Usage.EvaluatedTokens, sum.Usage.PromptTokens,
		100*float64(sum.Usage.EvaluatedTokens)/float64(sum.Usage.PromptTokens))
	answers.require(t)
}

func openAgent(t *testing.T, model, fixture string) *app.App {
	t.Helper()
	workspace, err := filepath.Abs(filepath.Join("..", fixture))
	require.NoError(t, err)
	stores := t.TempDir()
	file := filepath.Join(stores, "agent_config.toml")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	overrides := map[string]string{
		"engine.model_path": model, "engine.temperature": "0", "engine.seed": "42",
		"agent.db_path": filepath.Join(stores, "checkpoints.sqlite"),
	}
	options := config.Options{Path: file, Workspace: workspace}
	for key, value := range overrides {
		o, err := config.ParseOverride(key + "=" + value)
		require.NoError(t, err)
		options.Overrides = append(options.Overrides, o)
	}
	c, err := config.Load(options)
	require.NoError(t, err)
	a, err := app.Open(t.Context(), app.Options{Config: c, Logger: promptLog(t)})
	require.NoError(t, err)
	return a
}

func outcomeOf(r *app.Report) Outcome {
	o := Outcome{Status: string(r.Status), Answer: r.Answer}
	for _, c := range r.Calls {
		o.Tools = append(o.Tools, c.Tool)
		o.ToolResults = append(o.ToolResults, string(c.Result))
	}
	return o
}
