package benchmark

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func fakeRunner(t *testing.T, mode string) *Runner {
	t.Helper()
	return &Runner{
		Program: os.Args[0], Model: "some.gguf", Suite: &Suite{Name: "made", Seed: 42}, Repository: t.TempDir(), Folder: t.TempDir(),
		Limit: time.Minute, Environ: []string{fakeEnv + "=" + mode, "AGENT_SEED=7", "HOME=/nowhere"},
	}
}

func callOf(t *testing.T, turn Turn) fakeCall {
	t.Helper()
	var call fakeCall
	require.NoError(t, json.Unmarshal([]byte(turn.Answer), &call), turn.Answer)
	return call
}

func TestSampleOfAGoal(t *testing.T) {
	t.Parallel()
	r := fakeRunner(t, "answer")
	r.Values = map[string]any{"engine.n_ctx": 8192, "engine.temperature": 0.7, "engine.seed": 7, "engine.nodes.planner.temperature": 0.1,
		"memory.artifact_virtualization": false, "tools.enabled_tools": []string{"read_file"}}
	require.NoError(t, os.MkdirAll(filepath.Join(r.Repository, "shop", "data"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(r.Repository, "shop", "data", "old.sqlite"), []byte("x"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(r.Repository, "shop", "list.txt"), []byte("x"), 0o600))
	c := parsed(t, `{"case_id":"a","category":"k","goal":"--what is in {fixture_path}?","expected_contains":["journal.txt"],"expected_tool_result_contains":["QX-1"],
		"max_tool_calls_per_turn":[1],"metadata":{"fixture_dir":"shop","fixture_size_bytes":2000,"fixture_marker":"M-1"}}`)
	s, err := r.Sample(t.Context(), c, Rounds()[1], 2)
	require.NoError(t, err)
	require.Empty(t, s.Faults)
	require.Empty(t, s.Error)
	require.True(t, s.AllRight())

	call := callOf(t, s.Turns[0])
	require.Equal(t, []string{"journal.txt", "list.txt"}, call.Files, "stores of the folder are left out")
	require.Equal(t, []string{"run", "--json", "--config"}, call.Args[:3])
	require.Equal(t, []string{"--", "--what is in journal.txt?"}, call.Args[6:])
	require.Equal(t, 8192, call.Config.Engine.NCtx)
	require.InDelta(t, 0.7, call.Config.Engine.Temperature, 0, "what users run is measured")
	require.InDelta(t, 0.1, call.Config.Engine.Nodes.Planner.Temperature, 0)
	require.Equal(t, []string{"read_file"}, call.Config.Tools.EnabledTools)
	require.Contains(t, call.Environ, "HOME=/nowhere")
	require.NotContains(t, call.Environ, "AGENT_SEED=7")
	require.Equal(t, 44, call.Config.Engine.Seed, "the suite's, whatever the values say")
	require.True(t, filepath.IsAbs(call.Config.Engine.ModelPath))
	require.True(t, call.Config.Memory.ArtifactVirtualization)
	require.False(t, call.Config.Memory.LifecycleContext)
	require.True(t, call.Config.Telemetry.Enabled)
	for _, path := range []string{call.Config.Agent.ConversationDBPath, call.Config.Engine.KVStorePath, call.Config.Telemetry.OutputDir} {
		require.NotContains(t, path, "fixtures", "stores lie outside the workspace")
		require.True(t, filepath.IsAbs(path))
	}

	require.Equal(t, Cost{
		InputTokens: 220, CachedTokens: 190, EvaluatedTokens: 30, CompletionTokens: 5, ForcedTokens: 3, DraftedTokens: 2, AcceptedTokens: 1,
		PeakPromptTokens: 115, CheckpointBytes: 500, PeakRSSBytes: s.PeakRSSBytes, ModelCalls: 2, ToolCalls: 1,
		DurationMS: 2000, TTFTMS: 101, PrefillMS: 40, DecodeMS: 50, ModelLoadMS: 70, WallMS: s.WallMS,
	}, s.Cost)
	require.Equal(t, 115, s.PeakKVTokens)
	require.Equal(t, "usage.peak_kv_tokens", s.PeakKVSource)
	require.Equal(t, int64(len(`["--what is in journal.txt?"]`)), s.DatabaseBytes)
	require.Equal(t, s.DatabaseBytes+1000, s.StoredBytes)
	require.Equal(t, "made a R1 2 44", strings.Join([]string{s.Suite, s.Case, s.Round, "2", "44"}, " "))
	left, err := os.ReadDir(r.Folder)
	require.NoError(t, err)
	require.Empty(t, left, "the folder of a sample goes with it")
}

func TestTelemetryTellsThePeak(t *testing.T) {
	t.Parallel()
	s, err := fakeRunner(t, "kv").Sample(t.Context(), Case{ID: "a", Goal: "g", ExpectedStatus: "done"}, Rounds()[0], 0)
	require.NoError(t, err)
	require.Equal(t, 5000, s.PeakKVTokens)
	require.Equal(t, "kv_metrics.csv", s.PeakKVSource)
	require.Equal(t, 115, s.PeakPromptTokens)
}

func TestPeakOf(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"": 0, "used_tokens\n": 0, "a,used_tokens\n1,20\n2,30\n3,10\n4,99": 30, "used_tokens": 0} {
		peak, err := peakOf(strings.NewReader(text), "used_tokens")
		require.NoError(t, err, text)
		require.Equal(t, want, peak, text)
	}
	for text, why := range map[string]string{"a,b\n1,2\n": `no column "used_tokens"`, "used_tokens\nx\n": "invalid syntax", "used_tokens\n1,2\n": "wrong number of fields"} {
		_, err := peakOf(strings.NewReader(text), "used_tokens")
		require.ErrorContains(t, err, why)
	}
}

// TestSampleOfAConversation sees that turns follow each other, and that no question knows of another.
func TestSampleOfAConversation(t *testing.T) {
	t.Parallel()
	c := parsed(t, `{"case_id":"a","max_tool_calls_per_turn":[1],"metadata":{"conversation_seed_turn":"I am Ann","conversation_filler_turns":2,
		"conversation_correction_turn":"I am Bea now","conversation_correction_after":2,
		"conversation_final_turns":[{"question_id":"q1","text":"Who am I?","expected_contains":["Bea"]},
		{"question_id":"q2","text":"Where do I live?","expected_any":[["Paris","Rome"]]},{"question_id":"q3","text":"And who?","expected_contains":["Ann"]}]}}`)
	r := fakeRunner(t, "answer")
	s, err := r.Sample(t.Context(), c, Rounds()[2], 0)
	require.NoError(t, err)
	require.Empty(t, s.Error)
	script := c.Script(42)
	require.Len(t, s.Turns, 7)
	for i, q := range script.Questions {
		turn := s.Turns[4+i]
		call := callOf(t, turn)
		require.Equal(t, append(script.Turns[:4:4], q.Text), call.Heard)
		require.Equal(t, q.ID, turn.Question)
		require.Equal(t, 5, turn.Number)
		require.Equal(t, 300, turn.InputTokens)
	}
	require.Equal(t, callOf(t, s.Turns[0]).Config.Engine.KVStorePath, callOf(t, s.Turns[6]).Config.Engine.KVStorePath)
	require.Equal(t, []string{"continue", "--new", "--json"}, callOf(t, s.Turns[0]).Args[:3])
	require.Equal(t, []string{`q2: the answer has none of ["Paris" "Rome"]`}, s.Faults)
	require.Equal(t, 2, s.Right)
	require.Equal(t, 3, s.Judged)
	require.False(t, s.AllRight())
	require.Equal(t, 220+240+260+280+3*300, s.InputTokens)
	require.Equal(t, 155, s.PeakPromptTokens)
	require.Equal(t, int64(7*500), s.CheckpointBytes)
	require.Equal(t, 7, s.ToolCalls)
	require.Equal(t, int64(7*40), s.PrefillMS)
	require.Equal(t, int64(105), s.TTFTMS, "that of the last turn")
	require.True(t, callOf(t, s.Turns[6]).Config.Memory.LifecycleContext)
	require.Contains(t, s.Line(), "a R2 #0: 2 of 3 right; 7 turns, 14 model calls, 7 tool calls, 1900 input tokens")
}

func TestSampleOfTurns(t *testing.T) {
	t.Parallel()
	c := parsed(t, `{"case_id":"a","turns":["one","two","three"],"expected_contains":["two"],"max_tool_calls_per_turn":[1,0,1],"max_tool_calls":2}`)
	s, err := fakeRunner(t, "answer").Sample(t.Context(), c, Rounds()[0], 0)
	require.NoError(t, err)
	require.Equal(t, []string{"3 tool calls, at most 2 allowed", "1 tool calls in turn 2, at most 0 allowed"}, s.Faults)
	require.Equal(t, []string{"one", "two", "three"}, callOf(t, s.Turns[2]).Heard)
}

func TestErrorsAreClassed(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]struct {
		class ErrorClass
		why   string
	}{
		"garbage":   {NoResult, "stdout is no report"},
		"silent":    {NoResult, "stdout is empty"},
		"twice":     {NoResult, "more than one report"},
		"stateless": {NoResult, "the report has no status"},
		"no model":  {ModelLoad, "could not load the model; stderr ends with:\nerror: loading the model: no such file"},
		"error":     {Crash, "exit status 1; stderr ends with:\nerror: odd"},
		"killed":    {Crash, "signal: killed"},
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			s, err := fakeRunner(t, mode).Sample(t.Context(), Case{ID: "a", Goal: "g", ExpectedStatus: "done"}, Rounds()[0], 0)
			require.NoError(t, err)
			require.Equal(t, want.class, s.ErrorClass)
			require.Contains(t, s.Error, want.why)
			require.Zero(t, s.Judged)
			require.False(t, s.AllRight())
			require.Contains(t, s.Line(), string(want.class))
		})
	}
}

// TestAFailedTaskIsNoError sees it judged.
func TestAFailedTaskIsNoError(t *testing.T) {
	t.Parallel()
	s, err := fakeRunner(t, "failed").Sample(t.Context(), Case{ID: "a", Goal: "g", ExpectedStatus: "done"}, Rounds()[0], 0)
	require.NoError(t, err)
	require.Empty(t, s.ErrorClass)
	require.Equal(t, []string{`status is "failed" instead of "done"`}, s.Faults)
	require.Equal(t, "limit: too many calls", s.Turns[0].Failure)
}

func TestAChangedWorkspaceIsAFault(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string][]string{"answer": {}, "writes": {"the fixtures were changed"}} {
		c := parsed(t, `{"case_id":"a","turns":["one","two"],"fixtures_unchanged":true,"metadata":{"fixture_files":{"a.txt":"b"}}}`)
		s, err := fakeRunner(t, mode).Sample(t.Context(), c, Rounds()[0], 0)
		require.NoError(t, err)
		require.Empty(t, s.ErrorClass, s.Error)
		require.Equal(t, want, s.Faults, mode)
	}
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	r := fakeRunner(t, "hang")
	r.Limit = 50 * time.Millisecond
	s, err := r.Sample(t.Context(), Case{ID: "a", Goal: "g", ExpectedStatus: "done"}, Rounds()[0], 0)
	require.NoError(t, err)
	require.Equal(t, Timeout, s.ErrorClass)
	require.Contains(t, s.Error, "killed after")
}

// TestAConversationEndsAtAnError sees what was measured until then kept.
func TestAConversationEndsAtAnError(t *testing.T) {
	t.Parallel()
	c := parsed(t, `{"case_id":"a","turns":["one","two","three","four"]}`)
	s, err := fakeRunner(t, "crash at 3").Sample(t.Context(), c, Rounds()[0], 0)
	require.NoError(t, err)
	require.Equal(t, Crash, s.ErrorClass)
	require.Contains(t, s.Error, "panic: boom")
	require.Len(t, s.Turns, 3)
	require.Equal(t, 220+240, s.InputTokens)

	s, err = fakeRunner(t, "anonymous").Sample(t.Context(), c, Rounds()[0], 0)
	require.NoError(t, err)
	require.Equal(t, NoResult, s.ErrorClass)
	require.Equal(t, "the report of a turn has no conversation_id", s.Error)
	require.Len(t, s.Turns, 1, "nothing is told to another conversation")

	questions := parsed(t, `{"case_id":"a","metadata":{"conversation_seed_turn":"s","conversation_filler_turns":1,
		"conversation_final_turns":[{"question_id":"q1","text":"x"},{"question_id":"q2","text":"y"}]}}`)
	s, err = fakeRunner(t, "crash at 3").Sample(t.Context(), questions, Rounds()[0], 0)
	require.NoError(t, err)
	require.Equal(t, Crash, s.ErrorClass)
	require.Len(t, s.Turns, 4, "each question is asked, although the first has crashed")
	require.Zero(t, s.Judged)
}

func TestSamplesThatCannotBeDone(t *testing.T) {
	t.Parallel()
	c := Case{ID: "a", Goal: "g"}
	r := fakeRunner(t, "answer")
	r.Program = filepath.Join(t.TempDir(), "none")
	_, err := r.Sample(t.Context(), c, Rounds()[0], 0)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "starting "+r.Program)

	r = fakeRunner(t, "answer")
	_, err = r.Sample(t.Context(), Case{ID: "a", Goal: "g", Metadata: Metadata{FixtureDir: "none"}}, Rounds()[0], 0)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, `fixture_dir of case "a"`)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = r.Sample(ctx, c, Rounds()[0], 0)
	require.ErrorIs(t, err, context.Canceled)
	left, err := os.ReadDir(r.Folder)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestKeptOutputIsBounded(t *testing.T) {
	t.Parallel()
	first, last := capped{limit: 5}, tail{limit: 5}
	for _, text := range []string{"abc", "", "defghijk", "lm"} {
		n, err := first.Write([]byte(text))
		require.NoError(t, err)
		require.Equal(t, len(text), n)
		_, err = last.Write([]byte(text))
		require.NoError(t, err)
	}
	require.Equal(t, "abcde", first.data.String())
	require.True(t, first.overflow)
	require.Equal(t, "ijklm", string(last.data))
	exact := capped{limit: 2}
	exact.Write([]byte("ab"))
	require.False(t, exact.overflow)
}

func TestPlainText(t *testing.T) {
	t.Parallel()
	require.Equal(t, "text\none\nQX-1\nlines\n12345678901234567890\nlist\ntrue\nnone\n",
		plainText(json.RawMessage(`{"text":"one\nQX-1","lines":12345678901234567890,"list":[true,{}],"none":null}`)))
	require.Empty(t, plainText(nil))
	require.Empty(t, plainText(json.RawMessage(`null`)))
}

func TestParseRounds(t *testing.T) {
	t.Parallel()
	current := map[string]any{"memory.artifact_virtualization": true}
	rounds, err := ParseRounds([]string{"R2, r0", "mine"}, current)
	require.NoError(t, err)
	require.Equal(t, []Round{Rounds()[2], Rounds()[0], {"mine", current}}, rounds)
	for names, why := range map[string]string{
		"R0,R9":     `round "R9" is not known`, // not the current switches under a name that says something else
		"r0,R0":     "R0 is named twice",
		"mine,mine": "mine is named twice",
		"mine,Mine": "Mine is named twice", // folders of samples have their names
		"a b":       `round "a b" has no usable name`,
		"../x":      "no usable name",
		"R0,":       "no usable name",
	} {
		_, err = ParseRounds([]string{names}, current)
		require.ErrorContains(t, err, why, names)
	}
	_, err = ParseRounds([]string{"R0", "mine"}, nil)
	require.ErrorContains(t, err, `round "mine" is not known; choose from R0, R1 and R2`)
}
