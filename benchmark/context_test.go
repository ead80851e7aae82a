package benchmark

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/app"
	"github.com/llama-agent/llama-agent/config"
	"github.com/llama-agent/llama-agent/engine"
	"github.com/llama-agent/llama-agent/internal/testmodel"
)

var allContexts = flag.Bool("all-contexts", false, "do all cases of the context suites, not only the stable ones")

// TestContexts does the cases of the context suites with the starter model and the lifecycle context on, each in one process: large
// files, many files, and long conversations. Only cases that are marked stable have to be right.
func TestContexts(t *testing.T) {
	if !engine.Available {
		t.Skip("this build has no llama.cpp")
	}
	model := testmodel.Path(t, testmodel.Starter)
	for _, path := range []string{"r1_artifact_virtualization", "r2_context_pressure", "r2_lifecycle_context"} {
		suite, err := Load(filepath.Join("workloads", path+".json"))
		require.NoError(t, err)
		for _, c := range suite.Cases {
			if !c.Metadata.Stable && !*allContexts {
				continue
			}
			t.Run(c.ID, func(t *testing.T) {
				contextCase(t, model, suite, c)
			})
		}
	}
}

// contextCase does one case and judges its answers.
func contextCase(t *testing.T, model string, suite *Suite, c Case) {
	workspace := filepath.Join(t.TempDir(), "fixtures")
	require.NoError(t, os.Mkdir(workspace, 0o700))
	require.NoError(t, c.writeFixtures(workspace, "..", suite.Seed))
	a := openContextAgent(t, model, workspace)
	defer func() { require.NoError(t, a.Close()) }()
	script := c.Script(suite.Seed)
	do := func(goal string, calls *[]int) (*app.Report, Outcome) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		began := time.Now()
		var report *app.Report
		var err error
		if c.Goal != "" {
			report, err = a.Run(ctx, app.Task{Goal: goal})
		} else {
			report, err = a.Continue(ctx, app.TurnTask{Goal: goal})
		}
		require.NoError(t, err)
		*calls = append(*calls, len(report.Calls))
		outcome := outcomeOf(report)
		outcome.TurnCalls = slices.Clone(*calls)
		u := report.Usage
		t.Logf("%5.1f s, %d calls of the model, %d of tools, %d of %d prompt tokens evaluated, peak %d: %s → %s", time.Since(began).Seconds(),
			u.ModelCalls, len(report.Calls), u.EvaluatedTokens, u.PromptTokens, u.PeakKVTokens, short(goal), short(report.Answer))
		for _, call := range report.Calls {
			t.Logf("        %s %s → %s", call.Tool, call.Arguments, short(string(call.Result)))
		}
		return report, outcome
	}
	var calls []int
	var peaks []int
	var last Outcome
	for _, goal := range script.Turns {
		var report *app.Report
		report, last = do(goal, &calls)
		peaks = append(peaks, report.Usage.PeakKVTokens)
	}
	if len(script.Questions) == 0 {
		require.Empty(t, Judge(c, last))
	}
	// Each question is a turn of its own; what was answered to those before may be seen, as by a user who asks on.
	for _, q := range script.Questions {
		report, outcome := do(q.Text, &calls)
		peaks = append(peaks, report.Usage.PeakKVTokens)
		outcome.TurnCalls = nil // the numbers of the case are for the conversation with one question
		if faults := judgeAnswer(c.forQuestion(q), outcome); len(faults) > 0 {
			t.Errorf("%s: %v", q.ID, faults)
		}
		if len(report.Calls) > 0 {
			t.Errorf("%s: recalling takes no tool, but %s was called", q.ID, report.Calls[0].Tool)
		}
	}
	if len(peaks) > 20 {
		const flat = 10 // turns after which a prompt does not grow any more
		require.LessOrEqual(t, slices.Max(peaks[flat:]), 2*slices.Max(peaks[:flat])+1024, "the prompt stays flat: %v", peaks)
	}
}

// judgeAnswer leaves out what is judged of a conversation as a whole.
func judgeAnswer(c Case, o Outcome) []string {
	c.MaxToolCallsPerTurn = nil
	return Judge(c, o)
}

func openContextAgent(t *testing.T, model, workspace string) *app.App {
	t.Helper()
	stores := t.TempDir()
	file := filepath.Join(stores, "agent_config.toml")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	options := config.Options{Path: file, Workspace: workspace}
	for _, set := range []string{
		"engine.model_path=" + model, "engine.temperature=0", "engine.seed=42",
		"agent.db_path=" + filepath.Join(stores, "checkpoints.sqlite"), "agent.conversation_db_path=" + filepath.Join(stores, "conversations.sqlite"),
		"memory.context_store_path=" + filepath.Join(stores, "memory.sqlite"), "tools.artifact.storage_dir=" + filepath.Join(stores, "artifacts"),
		"memory.artifact_virtualization=true", "memory.lifecycle_context=true",
	} {
		o, err := config.ParseOverride(set)
		require.NoError(t, err)
		options.Overrides = append(options.Overrides, o)
	}
	c, err := config.Load(options)
	require.NoError(t, err)
	a, err := app.Open(t.Context(), app.Options{Config: c})
	require.NoError(t, err)
	return a
}

func short(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > 110 {
		return string(r[:110]) + "…"
	}
	return text
}
