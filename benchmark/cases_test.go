package benchmark

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
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

var (
	caseSuites  = flag.String("suites", "", "TestCases: suites, with commas between, of which all cases are done (default: the stable ones of the ordinary tests)")
	caseRound   = flag.String("case-round", "", "TestCases: round (default R0 for tasks on one folder, R2 for contexts)")
	temperature = flag.Float64("temperature", 0, "TestCases: of the model")
	repetitions = flag.Int("repetitions", 1, "TestCases: how often each case is done, with other seeds")
)

// TestCases does cases of the suites with the starter model, all in one process: tasks on a folder, large files, many files, and long
// conversations. What the agent does around the model must hold in every case; of the answers, which differ with the processor's
// arithmetic, most must be right. It is also the quick way to see how prompts do: go test ./benchmark -run TestCases/natural
// -suites natural -prompts FILE -v.
func TestCases(t *testing.T) {
	if !engine.Available {
		t.Skip("this build has no llama.cpp")
	}
	names, all := []string{"shop", "r1_artifact_virtualization", "r2_context_pressure", "r2_lifecycle_context"}, false
	if *caseSuites != "" {
		names, all = strings.Split(*caseSuites, ","), true
	}
	models := sharedModel{path: testmodel.Path(t, testmodel.Starter)}
	t.Cleanup(func() { require.NoError(t, models.close()) })
	var total score
	for _, name := range names {
		suite, err := Load(filepath.Join("workloads", name+".json"))
		require.NoError(t, err)
		round := *caseRound
		if round == "" {
			round = "R2"
			if name == "shop" {
				round = "R0"
			}
		}
		t.Run(name, func(t *testing.T) {
			var sum score
			for _, c := range suite.Cases {
				if !c.Metadata.Stable && !all {
					continue
				}
				for repetition := range *repetitions {
					t.Run(c.ID, func(t *testing.T) {
						r := caseRun{suite: suite, c: c, round: round, seed: suite.Seed + repetition, model: &models}
						r.do(t)
						sum.add(r.score)
					})
				}
			}
			t.Logf("%s: %s", name, sum)
			total.add(sum)
		})
	}
	require.GreaterOrEqual(t, 4*total.right, 3*total.judged, "only %s", total)
}

// score counts answers. The same model at temperature 0 answers a few questions differently on processors with other vector
// instructions, so one wrong answer says nothing about the program.
type score struct {
	right, judged     int
	prompt, evaluated int // tokens
}

func (s *score) add(o score) {
	s.right += o.right
	s.judged += o.judged
	s.prompt += o.prompt
	s.evaluated += o.evaluated
}

func (s score) String() string {
	return fmt.Sprintf("%d of %d answers right, %d of %d prompt tokens evaluated", s.right, s.judged, s.evaluated, s.prompt)
}

// caseRun does one case.
type caseRun struct {
	score
	suite *Suite
	c     Case
	round string
	seed  int
	model *sharedModel

	outcome Outcome // of all turns so far
	peaks   []int
}

func (r *caseRun) do(t *testing.T) {
	workspace := filepath.Join(t.TempDir(), "fixtures")
	require.NoError(t, os.Mkdir(workspace, 0o700))
	require.NoError(t, r.c.writeFixtures(workspace, "..", r.suite.Seed))
	before, err := FixtureDigest(workspace)
	require.NoError(t, err)
	r.outcome.FixturesBefore = before
	a := r.open(t, workspace)
	defer func() { require.NoError(t, a.Close()) }()
	script := r.c.Script(r.suite.Seed)
	for _, goal := range script.Turns {
		r.turn(t, a, goal)
	}
	if len(script.Questions) == 0 {
		r.outcome.FixturesAfter, err = FixtureDigest(workspace)
		require.NoError(t, err)
		r.take(t, r.c.ID, Judge(r.c, r.outcome))
	}
	// Each question is a turn of its own; what was answered to those before may be seen, as by a user who asks on.
	for _, q := range script.Questions {
		calls := r.turn(t, a, q.Text)
		c := r.c.forQuestion(q)
		c.MaxToolCallsPerTurn = nil // the numbers of the case are for the conversation with one question
		faults := Judge(c, r.outcome)
		if calls > 0 {
			faults = append(faults, fmt.Sprintf("recalling takes no tool, but %d were called", calls))
		}
		r.take(t, q.ID, faults)
	}
	if len(r.peaks) > 20 {
		const flat = 10 // turns after which a prompt does not grow any more
		require.LessOrEqual(t, slices.Max(r.peaks[flat:]), 2*slices.Max(r.peaks[:flat])+1024, "the prompt stays flat: %v", r.peaks)
	}
}

// take judges one answer and logs what is wrong with it.
func (r *caseRun) take(t *testing.T, name string, faults []string) {
	t.Helper()
	r.judged++
	if len(faults) == 0 {
		r.right++
		return
	}
	t.Logf("WRONG %s: %s", name, strings.Join(faults, "; "))
}

// turn says something to the agent and returns how many tools it called.
func (r *caseRun) turn(t *testing.T, a *app.App, goal string) int {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	began := time.Now()
	var report *app.Report
	var err error
	if r.c.Goal != "" {
		report, err = a.Run(ctx, app.Task{Goal: goal})
	} else {
		report, err = a.Continue(ctx, app.TurnTask{Goal: goal})
	}
	require.NoError(t, err)
	u := report.Usage
	t.Logf("%5.1f s, %d calls of the model, %d of tools, %d of %d prompt tokens evaluated, peak %d: %s → %s", time.Since(began).Seconds(),
		u.ModelCalls, len(report.Calls), u.EvaluatedTokens, u.PromptTokens, u.PeakKVTokens, short(goal, 110), short(report.Answer, 400))
	for _, call := range report.Calls {
		t.Logf("        %s %s → %s", call.Tool, call.Arguments, short(string(call.Result), 110))
	}
	r.outcome.take(report)
	r.outcome.TurnCalls = append(r.outcome.TurnCalls, len(report.Calls))
	r.peaks = append(r.peaks, u.PeakKVTokens)
	r.prompt += u.PromptTokens
	r.evaluated += u.EvaluatedTokens
	return len(report.Calls)
}

// take adds what a report tells of a turn.
func (o *Outcome) take(r *app.Report) {
	o.Status, o.Answer = string(r.Status), r.Answer
	for _, c := range r.Calls {
		o.Tools = append(o.Tools, c.Tool)
		o.ToolResults = append(o.ToolResults, plainText(c.Result))
	}
}

func (r *caseRun) open(t *testing.T, workspace string) *app.App {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, config.FileName)
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	rounds, err := ParseRounds([]string{r.round}, nil)
	require.NoError(t, err)
	sets := []string{
		"engine.model_path=" + r.model.path, fmt.Sprintf("engine.temperature=%g", *temperature), fmt.Sprintf("engine.seed=%d", r.seed),
		"agent.db_path=" + filepath.Join(dir, "checkpoints.sqlite"), "agent.conversation_db_path=" + filepath.Join(dir, "conversations.sqlite"),
		"memory.context_store_path=" + filepath.Join(dir, "memory.sqlite"), "tools.artifact.storage_dir=" + filepath.Join(dir, "artifacts"),
	}
	for _, key := range sortedKeys(rounds[0].Switches) {
		sets = append(sets, fmt.Sprintf("%s=%v", key, rounds[0].Switches[key]))
	}
	options := config.Options{Path: file, Workspace: workspace}
	for _, set := range sets {
		o, err := config.ParseOverride(set)
		require.NoError(t, err)
		options.Overrides = append(options.Overrides, o)
	}
	c, err := config.Load(options)
	require.NoError(t, err)
	a, err := app.Open(t.Context(), app.Options{Config: c, Logger: promptLog(t), OpenModel: r.model.open})
	require.NoError(t, err)
	return a
}

// sharedModel is a model that stays open over many agents, so that each finds the rules and examples in its cache.
type sharedModel struct {
	path   string
	engine *engine.Engine
	seed   int
}

// open is an [app.OpenModel]. Another seed takes another engine.
func (m *sharedModel) open(ctx context.Context, c *config.Config, _ *slog.Logger, _ func(float32)) (app.Model, error) {
	e := c.Engine
	if m.engine == nil || m.seed != int(e.Seed) {
		if err := m.close(); err != nil {
			return nil, err
		}
		opened, err := engine.Open(ctx, engine.Config{
			ModelPath: e.ModelPath, Temperature: e.Temperature, TopP: e.TopP, TopK: e.TopK, RepeatPenalty: e.RepeatPenalty,
			MaxTokens: e.MaxTokens, Seed: int(e.Seed), Parallel: e.Parallel, BatchSize: e.NBatch, Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			return nil, err
		}
		m.engine, m.seed = opened, int(e.Seed)
	}
	return keptOpen{m.engine}, nil
}

// keptOpen is an engine that outlives the agent that closes it.
type keptOpen struct{ *engine.Engine }

func (keptOpen) Close() error { return nil }

func (m *sharedModel) close() error {
	if m.engine == nil {
		return nil
	}
	defer func() { m.engine = nil }()
	return m.engine.Close()
}

func short(text string, most int) string {
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}
