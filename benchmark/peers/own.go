package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/llama-agent/llama-agent/app"
	"github.com/llama-agent/llama-agent/benchmark"
	"github.com/llama-agent/llama-agent/internal/subprocess"
	"github.com/llama-agent/llama-agent/telemetry"
)

// ownRound runs llama-agent with what settings.values says of the memory.
var ownRound = benchmark.Round{Name: ownLayout}

// ownTasks has llama-agent do all cases, each by a process of its own with stores of its own. The KV cache on disk begins with what a
// greeting left there, as the memory of the peers does.
func (b *bench) ownTasks(ctx context.Context, round int) error {
	b.say("%s, round %d", own, round)
	folder, warm := filepath.Join(b.work, "samples"), filepath.Join(b.work, "kv")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("making the folder of samples: %w", err)
	}
	r := benchmark.Runner{
		Program: b.program, Model: b.model, Suite: b.suite, Folder: folder, Limit: b.limit, Values: b.settings.values(), KeepKV: warm,
	}
	if _, err := r.Sample(ctx, warmup, ownRound, 0); err != nil {
		return err
	}
	r.KeepKV, r.WarmKV = "", warm
	for _, c := range b.cases {
		var calls *callTimes
		r.Collect = func(_ *benchmark.Sample, records string) (err error) {
			calls, err = readCalls(records, time.Time{})
			return err
		}
		s, err := r.Sample(ctx, c, ownRound, round-1)
		if err != nil {
			return err
		}
		one := record{
			Kind: kindTask, System: own, Layout: ownLayout, Case: c.ID, Round: round, Right: s.AllRight(), Faults: s.Faults, Error: s.Error,
			LoadMS: float64(s.ModelLoadMS), PeakRSSBytes: s.PeakRSSBytes,
			reply: reply{
				Status: s.Status, Answer: s.Answer, DurationMS: float64(s.DurationMS), PromptTokens: s.InputTokens, EvaluatedTokens: s.EvaluatedTokens,
				CompletionTokens: s.CompletionTokens, ModelCalls: s.ModelCalls, ToolCallMS: calls.tools,
				FirstStepMS: calls.firstStep, FirstEvaluated: calls.firstEvaluated,
			},
		}
		for _, t := range s.Turns {
			one.Tools = append(one.Tools, t.Tools...)
		}
		b.tell(one)
		if err := b.results.add(one); err != nil {
			return err
		}
	}
	return nil
}

// callTimes are what llama-agent's records say of the model calls of a task, in milliseconds.
type callTimes struct {
	tools          []float64 // writing the arguments of each tool call
	firstStep      float64   // from the start of the task to the end of the first plan
	firstEvaluated int       // tokens of its prompt that were computed
	firstToken     time.Time // when the first reply began
	evaluated      int       // tokens of its prompt that were computed, whatever its role
}

// readCalls reads the records in a folder, those from a time on.
func readCalls(folder string, from time.Time) (*callTimes, error) {
	type event struct {
		Time  time.Time `json:"timestamp_utc"`
		Phase string    `json:"phase"`
		Event string    `json:"event"`

		Evaluated int     `json:"evaluated_tokens"`
		DecodeMS  float64 `json:"decode_ms"`
	}
	each := func(name string, do func(event)) error {
		data, err := os.ReadFile(filepath.Join(folder, name))
		if errors.Is(err, fs.ErrNotExist) {
			return nil // the program ended before its first record
		}
		if err != nil {
			return fmt.Errorf("reading the records of %s: %w", own, err)
		}
		for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
			var e event
			if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
				return fmt.Errorf("reading the records of %s in %s: %w", own, name, err)
			}
			if !e.Time.Before(from) {
				do(e)
			}
		}
		return nil
	}
	var c callTimes
	var began time.Time
	err := each(telemetry.LifecycleFile, func(e event) {
		if e.Event == telemetry.TaskStarted && began.IsZero() {
			began = e.Time
		}
	})
	if err != nil {
		return nil, err
	}
	err = each(telemetry.InferenceFile, func(e event) {
		if c.firstToken.IsZero() {
			c.evaluated = e.Evaluated
			c.firstToken = e.Time.Add(-time.Duration(e.DecodeMS * float64(time.Millisecond)))
		}
		switch {
		case e.Phase == "planner" && c.firstStep == 0 && !began.IsZero():
			c.firstStep, c.firstEvaluated = float64(e.Time.Sub(began).Microseconds())/1000, e.Evaluated
		case e.Phase == "executor":
			c.tools = append(c.tools, e.DecodeMS)
		}
	})
	return &c, err
}

// command is llama-agent on a workspace, with its stores there, as a user runs it.
func (b *bench) command(ctx context.Context, workspace string, args ...string) *exec.Cmd {
	for _, value := range append(b.settings.overrides(), "engine.model_path="+b.model, fmt.Sprintf("engine.seed=%d", b.settings.seed), "telemetry.enabled=true") {
		args = append([]string{args[0], "--set", value}, args[1:]...)
	}
	cmd := exec.CommandContext(ctx, b.program, args...)
	cmd.Dir, cmd.Env = workspace, []string{} // without variables that would configure it
	subprocess.OwnGroup(cmd)
	return cmd
}

// records is the folder of a workspace in which llama-agent leaves its records.
func records(workspace string) string { return filepath.Join(workspace, "data", "telemetry") }

// ownSecond does a case in a workspace, and measures another task there.
func (b *bench) ownSecond(ctx context.Context, round int) error {
	c := b.secondCase()
	b.say("%s, a second run in the workspace of %s", own, c.ID)
	workspace := filepath.Join(b.work, fmt.Sprintf("second-%d", round))
	if err := writeWorkspace(workspace, c, b.suite.Seed); err != nil {
		return err
	}
	one := record{Kind: kindSecond, System: own, Layout: ownLayout, Case: c.ID, Round: round}
	if _, err := b.report(b.command(ctx, workspace, "run", "--json", "--", c.Goal)); err != nil {
		return b.failed(ctx, one, err)
	}
	began := time.Now()
	report, err := b.report(b.command(ctx, workspace, "run", "--json", "--", secondGoal))
	if err != nil {
		return b.failed(ctx, one, err)
	}
	calls, err := readCalls(records(workspace), began)
	if err != nil {
		return err
	}
	u := report.Usage
	one.LoadMS, one.PeakRSSBytes = float64(u.ModelLoadMS), report.PeakRSSBytes
	one.reply = reply{
		Status: string(report.Status), Answer: report.Answer, DurationMS: float64(report.DurationMS), PromptTokens: u.PromptTokens,
		EvaluatedTokens: u.EvaluatedTokens, CompletionTokens: u.CompletionTokens, ModelCalls: u.ModelCalls, ToolCallMS: calls.tools,
		FirstStepMS: calls.firstStep, FirstEvaluated: calls.firstEvaluated,
	}
	b.say("  first step after %.2f s, %d of %d prompt tokens evaluated", one.FirstStepMS/1000, one.EvaluatedTokens, one.PromptTokens)
	return b.results.add(one)
}

// report runs llama-agent to its end.
func (b *bench) report(cmd *exec.Cmd) (*app.Report, error) {
	var stdout bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, b.log
	runErr := cmd.Run() // a task that failed has a report, too
	var report app.Report
	if err := json.Unmarshal(stdout.Bytes(), &report); err != nil {
		return nil, fmt.Errorf("running %s: %w", own, errors.Join(runErr, err))
	}
	return &report, nil
}
