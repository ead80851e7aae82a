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
// files, many files, and long conversations. What the agent does around the model must hold in every case; of the answers, which
// differ with the processor's arithmetic, most must be right.
func TestContexts(t *testing.T) {
	if !engine.Available {
		t.Skip("this build has no llama.cpp")
	}
	model := testmodel.Path(t, testmodel.Starter)
	var total score
	for _, path := range []string{"r1_artifact_virtualization", "r2_context_pressure", "r2_lifecycle_context"} {
		suite, err := Load(filepath.Join("workloads", path+".json"))
		require.NoError(t, err)
		for _, c := range suite.Cases {
			if !c.Metadata.Stable && !*allContexts {
				continue
			}
			t.Run(c.ID, func(t *testing.T) {
				total.add(contextCase(t, model, suite, c))
			})
		}
	}
	total.require(t)
}

// score counts answers.
type score struct{ right, judged int }

func (s *score) add(o score) {
	s.right += o.right
	s.judged += o.judged
}

// take judges one answer and logs what is wrong with it.
func (s *score) take(t *testing.T, name string, faults []string) {
	t.Helper()
	s.judged++
	if len(faults) == 0 {
		s.right++
		return
	}
	t.Logf("%s is wrong: %v", name, faults)
}

// require fails the test when fewer than three of four answers are right. The same model at temperature 0 answers a few questions
// differently on processors with other vector instructions, so one wrong answer says nothing about the program.
func (s *score) require(t *testing.T) {
	t.Helper()
	t.Logf("%d of %d answers right", s.right, s.judged)
	require.GreaterOrEqual(t, 4*s.right, 3*s.judged, "of %d answers only %d are right", s.judged, s.right)
}

// contextCase does one case and judges its answers.
func contextCase(t *testing.T, model string, suite *Suite, c Case) (s score) {
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
		s.take(t, c.ID, Judge(c, last))
	}
	// Each question is a turn of its own; what was answered to those before may be seen, as by a user who asks on.
	for _, q := range script.Questions {
		report, outcome := do(q.Text, &calls)
		peaks = append(peaks, report.Usage.PeakKVTokens)
		outcome.TurnCalls = nil // the numbers of the case are for the conversation with one question
		faults := judgeAnswer(c.forQuestion(q), outcome)
		if len(report.Calls) > 0 {
			faults = append(faults, "recalling takes no tool, but "+report.Calls[0].Tool+" was called")
		}
		s.take(t, q.ID, faults)
	}
	if len(peaks) > 20 {
		const flat = 10 // turns after which a prompt does not grow any more
		require.LessOrEqual(t, slices.Max(peaks[flat:]), 2*slices.Max(peaks[:flat])+1024, "the prompt stays flat: %v", peaks)
	}
	return s
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
	a, err := app.Open(t.Context(), app.Options{Config: c, Logger: promptLog(t)})
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
