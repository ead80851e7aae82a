package benchmark

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// tried is a campaign with the fake program, whose goal says what it does, and where that tells of its calls.
type tried struct {
	*Campaign
	root, log, gate string
	told            []Progress
}

// try makes a campaign of cases, a goal each.
func try(t *testing.T, goals ...string) *tried {
	t.Helper()
	dir := t.TempDir()
	return tryIn(t, dir, goals...)
}

func tryIn(t testing.TB, dir string, goals ...string) *tried {
	t.Helper()
	s := Suite{Name: "made", Seed: 42, MeasuredRuns: 2}
	for i, goal := range goals {
		s.Cases = append(s.Cases, Case{ID: fmt.Sprintf("c%d", i), Goal: goal, ExpectedContains: []string{"answer", "gate"}[:1]})
		if goal == "gate" {
			s.Cases[i].ExpectedContains = nil
		}
	}
	data, err := json.Marshal(s)
	require.NoError(t, err)
	file, err := parseSuite("made.json", "", data)
	require.NoError(t, err)
	model := filepath.Join(dir, "model.gguf")
	require.NoError(t, os.WriteFile(model, []byte("weights"), 0o600))
	c := &tried{root: filepath.Join(dir, "results"), log: filepath.Join(dir, "log"), gate: filepath.Join(dir, "gate")}
	ids := 0
	c.Campaign = &Campaign{
		Plan:    Plan{Command: "benchmark", Suite: file, Cases: file.Cases, Rounds: Rounds()[:2], Runs: 2, Limit: time.Minute},
		Program: os.Args[0], Model: model, Host: HostInfo{CPU: "a fast one", CPUs: 2}, About: ProgramInfo{Version: "v1"},
		Settings: Settings{Values: map[string]any{"engine.temperature": 0.3}, Shared: map[string]string{"engine.temperature": "0.3"}},
		Environ:  []string{fakeEnv + "=by goal", fakeLog + "=" + c.log, fakeGate + "=" + c.gate},
		Clock:    func() time.Time { return time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC) },
		NewID:    func() string { ids++; return fmt.Sprintf("run-%d", ids) },
		Tell:     func(p Progress) { c.told = append(c.told, p) },
	}
	return c
}

func (c *tried) folder() string { return filepath.Join(c.root, "run-1") }

func (c *tried) read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(c.folder(), name))
	require.NoError(t, err)
	return string(data)
}

// calls are the goals that the fake was given, with its rounds and seeds.
func (c *tried) calls(t *testing.T) []string {
	t.Helper()
	data, err := os.ReadFile(c.log)
	require.NoError(t, err)
	text := strings.NewReplacer("false false", "R0", "true false", "R1", "true true", "R2").Replace(string(data))
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// labels are those of the lines of a file, each once, in order.
func labels(t *testing.T, text string) []label {
	t.Helper()
	var list []label
	for line := range strings.Lines(text) {
		l, ok := jsonLabel([]byte(line))
		if !strings.HasPrefix(line, "{") {
			l, ok = csvLabel([]byte(line))
		}
		if ok && !slices.Contains(list, l) {
			list = append(list, l)
		}
	}
	return list
}

func planned(p Plan) []label {
	var list []label
	for _, j := range p.jobs() {
		list = append(list, j.label())
	}
	return list
}

// requireWhole sees each sample of the plan once in the results, and its records, too.
func (c *tried) requireWhole(t *testing.T) {
	t.Helper()
	want := planned(c.Plan)
	text := c.read(t, samplesFile)
	require.Equal(t, len(want), strings.Count(text, "\n"))
	require.ElementsMatch(t, want, labels(t, text))
	for _, name := range []string{"inference_events.jsonl", "kv_metrics.csv"} {
		require.ElementsMatch(t, want, labels(t, c.read(t, name)), name)
		require.Equal(t, 2*len(want), strings.Count(c.read(t, name), "\n")-strings.Count(c.read(t, name), "case_id,"), name)
	}
	m, err := StoredManifest(c.folder())
	require.NoError(t, err)
	require.True(t, m.Complete)
	require.NoDirExists(t, filepath.Join(c.folder(), samplesDir))
	require.NoFileExists(t, filepath.Join(c.folder(), ownerFile))
}

func TestCampaign(t *testing.T) {
	t.Parallel()
	c := try(t, "answer", "failed")
	c.Warmups = 1
	done, err := c.Start(t.Context(), c.root)
	require.NoError(t, err)
	require.Equal(t, []string{
		"R0 42 Hello!", "R1 42 Hello!",
		"R0 42 answer", "R1 42 answer", "R0 42 failed", "R1 42 failed",
		"R0 43 answer", "R1 43 answer", "R0 43 failed", "R1 43 failed",
	}, c.calls(t), "warm-ups, then rounds by turns in each case and repetition")
	require.True(t, done.Complete)
	require.Equal(t, c.folder(), done.Folder)
	require.Len(t, done.Samples, 8)
	c.requireWhole(t)
	require.Equal(t, planned(c.Plan), labels(t, c.read(t, samplesFile)), "in the order in which they were done")
	require.Equal(t, []label{{"c1", "R0", 0}, {"c1", "R1", 0}, {"c1", "R0", 1}, {"c1", "R1", 1}}, labels(t, c.read(t, failuresFile)))

	var s Sample
	require.NoError(t, json.Unmarshal([]byte(strings.SplitAfter(c.read(t, samplesFile), "\n")[4]), &s))
	require.Equal(t, label{"c0", "R0", 1}, s.label())
	require.Equal(t, 43, s.Seed)
	require.InDelta(t, 0.3, callOf(t, s.Turns[0]).Config.Engine.Temperature, 0)

	require.Equal(t, `{"case_id":"c0","round":"R0","repetition":0,"task_id":"t","seed":42}`+"\n"+
		`{"case_id":"c0","round":"R0","repetition":0,"data_round":"theirs","task_id":"t"}`+"\n", c.read(t, "inference_events.jsonl")[:len(
		`{"case_id":"c0","round":"R0","repetition":0,"task_id":"t","seed":42}`+"\n"+`{"case_id":"c0","round":"R0","repetition":0,"data_round":"theirs","task_id":"t"}`+"\n")])
	require.Equal(t, "case_id,round,repetition,task_id,used_tokens\nc0,R0,0,t,42\nc0,R0,0,t,7\nc0,R1,0,t,42\n", c.read(t, "kv_metrics.csv")[:len(
		"case_id,round,repetition,task_id,used_tokens\nc0,R0,0,t,42\nc0,R0,0,t,7\nc0,R1,0,t,42\n")])
	require.Equal(t, 1, strings.Count(c.read(t, "kv_metrics.csv"), "task_id"))

	m, err := StoredManifest(c.folder())
	require.NoError(t, err)
	require.Equal(t, &Manifest{
		SchemaVersion: SchemaVersion, Run: "run-1", Command: "benchmark", StartedAt: c.Clock(), Complete: true,
		Suite: SuiteInfo{Name: "made", File: "made.json", SHA256: hashOf(c.Suite.Data), Seed: 42}, Cases: []string{"c0", "c1"},
		Rounds: []RoundInfo{
			{"R0", map[string]string{"memory.artifact_virtualization": "false", "memory.lifecycle_context": "false"}},
			{"R1", map[string]string{"memory.artifact_virtualization": "true", "memory.lifecycle_context": "false"}},
		},
		WarmupRuns: 1, MeasuredRuns: 2, TimeLimitMS: 60000, Model: ModelInfo{"model.gguf", hashOf([]byte("weights")), 7},
		Config: c.Settings.Shared, Program: c.About, Host: c.Host,
	}, m)
	require.Contains(t, c.read(t, reportFile), "| c1 | R1 | ")
	require.Equal(t, []RoundTotal{
		{"R0", 4, 2, 4, 0, new(2.0), new(220.0), new(30.0)}, {"R1", 4, 2, 4, 0, new(2.0), new(220.0), new(30.0)},
	}, Totals(c.Rounds, done.Samples))

	require.Len(t, c.told, 1+2+8)
	require.Nil(t, c.told[0].Sample)
	require.True(t, c.told[2].Warmup)
	require.Equal(t, []int{1, 8}, []int{c.told[3].Done, c.told[3].Total})
	require.Positive(t, c.told[3].Left)
	require.Zero(t, c.told[10].Left)
}

// TestHarnessErrorsAreCounted sees a run go on after samples without an answer, and none of them scored or done again.
func TestHarnessErrorsAreCounted(t *testing.T) {
	t.Parallel()
	c := try(t, "killed", "hang", "silent", "talks of disks", "answer")
	c.Runs, c.Limit = 1, 400*time.Millisecond
	c.Cases[4].ExpectedContains = nil
	done, err := c.Start(t.Context(), c.root)
	require.NoError(t, err)
	require.True(t, done.Complete)
	classes := map[string]ErrorClass{}
	for _, s := range done.Samples[:8] {
		classes[s.Case] = s.ErrorClass
		require.Zero(t, s.Judged)
	}
	require.Equal(t, map[string]ErrorClass{"c0": Crash, "c1": Timeout, "c2": NoResult, "c3": Crash}, classes)
	totals := Totals(c.Rounds, done.Samples)
	require.Equal(t, []int{5, 1, 1, 4}, []int{totals[0].Samples, totals[0].Right, totals[0].Judged, totals[0].Errors})
	var f Failure
	require.NoError(t, json.Unmarshal([]byte(strings.SplitAfter(c.read(t, failuresFile), "\n")[6]), &f))
	require.Equal(t, Failure{Case: "c3", Round: "R0", ErrorClass: Crash, Error: "the program ended with exit status 1", Faults: []string{},
		Stderr: "  search \"no space left on device\"\nerror: odd\n"}, f)

	before := c.read(t, samplesFile)
	c.told = nil
	again, err := c.Resume(t.Context(), c.folder())
	require.NoError(t, err)
	require.True(t, again.Complete)
	require.Equal(t, 10, again.Before)
	require.Equal(t, before, c.read(t, samplesFile))
	require.Len(t, c.calls(t), 10)
	require.Len(t, c.told, 1)
}

func TestNoModelStopsTheRun(t *testing.T) {
	t.Parallel()
	c := try(t, "no model", "answer")
	done, err := c.Start(t.Context(), c.root)
	require.ErrorIs(t, err, ErrModel)
	require.ErrorContains(t, err, "in any round, so that no other sample would do better: error: loading the model: no such file")
	require.Len(t, c.calls(t), 2, "one of each round")
	require.False(t, done.Complete)
	require.Equal(t, []label{{"c0", "R0", 0}, {"c0", "R1", 0}}, labels(t, c.read(t, samplesFile)))
	require.Equal(t, 2, Totals(c.Rounds, done.Samples)[0].Errors+Totals(c.Rounds, done.Samples)[1].Errors)

	again, err := c.Resume(t.Context(), c.folder())
	require.ErrorIs(t, err, ErrModel)
	require.Zero(t, again.Before, "they say nothing about their case, and are done again")
	require.Len(t, c.calls(t), 4)
	require.Equal(t, 2, strings.Count(c.read(t, samplesFile), "\n"))
	require.Equal(t, 2, strings.Count(c.read(t, failuresFile), "\n"))
	require.Contains(t, c.told[len(c.told)-3].Notes, "samples that are done again because the model could not be loaded: 2")

	c = try(t, "no model")
	c.Warmups, c.Runs = 1, 1
	c.Environ = append(c.Environ, fakeWarmup+"=no model")
	done, err = c.Start(t.Context(), c.root)
	require.ErrorIs(t, err, ErrModel)
	require.Empty(t, done.Samples, "the warm-ups tell")

	c = try(t, "answer")
	c.Model = filepath.Join(c.root, "none.gguf")
	_, err = c.Start(t.Context(), c.root)
	require.ErrorIs(t, err, ErrModel)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoDirExists(t, c.root)
}

func TestOneModelThatIsNotLoadedIsCounted(t *testing.T) {
	t.Parallel()
	w := modelWatch{2, map[string]bool{}}
	require.NoError(t, w.see(&Sample{Round: "R0", ErrorClass: ModelLoad}))
	require.NoError(t, w.see(&Sample{Round: "R0", ErrorClass: ModelLoad}), "R1 was not tried")
	require.NoError(t, w.see(&Sample{Round: "R1", ErrorClass: Crash}))
	require.NoError(t, w.see(&Sample{Round: "R1", ErrorClass: ModelLoad}))
	require.ErrorIs(t, w.see(&Sample{Round: "R0", ErrorClass: ModelLoad}), ErrModel)
}

// start runs a campaign until the fake waits at its gate.
func (c *tried) start(t *testing.T, ctx context.Context) (ended chan error) { //nolint:revive // t comes first in tests
	t.Helper()
	ended = make(chan error, 1)
	go func() {
		_, err := c.Start(ctx, c.root)
		ended <- err
	}()
	waitForFile(t, c.gate+".reached")
	return ended
}

func waitForFile(t *testing.T, path string) {
	t.Helper()
	require.Eventually(t, func() bool { return exists(path) }, time.Minute, time.Millisecond, path)
}

func TestInterruptAndResume(t *testing.T) {
	t.Parallel()
	c := try(t, "answer", "gate", "failed")
	c.Warmups = 1
	ctx, cancel := context.WithCancel(t.Context())
	ended := c.start(t, ctx)
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	require.Equal(t, []label{{"c0", "R0", 0}, {"c0", "R1", 0}}, labels(t, c.read(t, samplesFile)), "what was interrupted is not written")
	require.Equal(t, []label{{"c0", "R0", 0}, {"c0", "R1", 0}}, labels(t, c.read(t, "kv_metrics.csv")))
	require.Contains(t, c.read(t, reportFile), "| c0 | R1 | ")
	require.NoDirExists(t, filepath.Join(c.folder(), samplesDir))
	m, err := StoredManifest(c.folder())
	require.NoError(t, err)
	require.False(t, m.Complete)

	require.NoError(t, os.WriteFile(c.gate, nil, 0o600))
	done, err := c.Resume(t.Context(), c.folder())
	require.NoError(t, err)
	require.Equal(t, 2, done.Before)
	require.Len(t, done.Samples, 12)
	c.requireWhole(t)
	require.Len(t, c.calls(t), 5+2+10, "warm-ups, and what was left, are done")
}

// TestSamplesBeginWithTheCacheOfTheWarmups sees that each sample has what all tasks share in its KV cache, and nothing of another sample.
func TestSamplesBeginWithTheCacheOfTheWarmups(t *testing.T) {
	t.Parallel()
	c := try(t, "answer", "failed")
	c.Warmups, c.Runs = 2, 1
	_, err := c.Start(t.Context(), c.root)
	require.NoError(t, err)
	data, err := os.ReadFile(c.log + ".kv")
	require.NoError(t, err)
	require.Equal(t, "Hello: \nHello: Hello\nHello: Hello\nHello: Hello\n"+
		"answer: Hello\nanswer: Hello\nfailed: Hello\nfailed: Hello\n", string(data))
	require.NoDirExists(t, filepath.Join(c.folder(), "warm-kv"))
}

func TestLinkedFilesThatAreThereStay(t *testing.T) {
	t.Parallel()
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "new", "folder")
	require.NoError(t, linkFiles(filepath.Join(from, "none"), to))
	require.NoDirExists(t, to)
	require.NoError(t, os.WriteFile(filepath.Join(from, "a"), []byte("1"), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(from, "b"), 0o755))
	require.NoError(t, linkFiles(from, to))
	require.NoError(t, linkFiles(from, to))
	entries, err := os.ReadDir(to)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	require.Error(t, linkFiles(filepath.Join(from, "a"), to), "it is no folder")
}

func TestKeptFolders(t *testing.T) {
	t.Parallel()
	c := try(t, "answer")
	c.Keep, c.Warmups, c.Runs = true, 1, 1
	_, err := c.Start(t.Context(), c.root)
	require.NoError(t, err)
	kept, err := os.ReadDir(filepath.Join(c.folder(), samplesDir))
	require.NoError(t, err)
	require.Len(t, kept, 2)
	require.Equal(t, "c0-R0-0", kept[0].Name())
	require.FileExists(t, filepath.Join(c.folder(), samplesDir, "c0-R0-0", "data.toml"))
	require.NoDirExists(t, filepath.Join(c.folder(), samplesDir, "c0-R0-0", "shared", "kv"))
}

func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	c := try(t, "gate")
	c.Runs = 1
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := c.start(t, ctx)
	_, err := c.Resume(t.Context(), c.folder())
	require.ErrorIs(t, err, ErrInUse)
	require.ErrorContains(t, err, fmt.Sprintf("belongs to process %d since 2030-01-02 03:04:05", os.Getpid()))
	require.NoError(t, os.WriteFile(c.gate, nil, 0o600))
	require.NoError(t, <-ended)
	_, err = c.Resume(t.Context(), c.folder())
	require.NoError(t, err)

	second := tryIn(t, t.TempDir(), "answer")
	_, err = second.Start(t.Context(), c.root)
	require.ErrorIs(t, err, os.ErrExist, "a run does not write into the folder of another")
}

func TestWhatARunIsResumedWith(t *testing.T) {
	t.Parallel()
	c := try(t, "answer", "failed")
	c.Runs = 1
	_, err := c.Start(t.Context(), c.root)
	require.NoError(t, err)
	other := filepath.Join(filepath.Dir(c.root), "other.gguf")
	require.NoError(t, os.WriteFile(other, []byte("other weights"), 0o600))
	suite, err := parseSuite("made.json", "", bytes.Replace(c.Suite.Data, []byte(`"answer"`), []byte(`"answers"`), 1))
	require.NoError(t, err)
	for why, change := range map[string]func(*Campaign){
		"the command was benchmark, is ablation":                       func(c *Campaign) { c.Command = "ablation" },
		"the hash of the suite was":                                    func(c *Campaign) { c.Suite = suite },
		"the list of cases was c0,c1, is c1":                           func(c *Campaign) { c.Cases = c.Cases[1:] },
		"the list of rounds was R0,R1, is R0,R1,R2":                    func(c *Campaign) { c.Rounds = Rounds() },
		"the list of rounds was R0,R1, is R1,R0":                       func(c *Campaign) { c.Rounds = []Round{c.Rounds[1], c.Rounds[0]} },
		"memory.lifecycle_context of round R0 was false, is true":      func(c *Campaign) { c.Rounds = []Round{{"R0", Rounds()[2].Switches}, c.Rounds[1]} },
		"the number of warm-ups was 0, is 1":                           func(c *Campaign) { c.Warmups = 1 },
		"the number of measured runs was 1, is 3":                      func(c *Campaign) { c.Runs = 3 },
		"the time limit in ms was 60000, is 900000":                    func(c *Campaign) { c.Limit = 0 },
		"the model was model.gguf, is other.gguf; the hash of the mod": func(c *Campaign) { c.Model = other },
		"engine.temperature was 0.3, is 0.9; engine.top_k was nothing": func(c *Campaign) {
			c.Settings.Shared = map[string]string{"engine.temperature": "0.9", "engine.top_k": "3"}
		},
		"the version of the program was v1, is v2":    func(c *Campaign) { c.About.Version = "v2" },
		"the commit of the program was nothing, is x": func(c *Campaign) { c.About.Commit = "x" },
		"the processor was a fast one (, , 2), is":    func(c *Campaign) { c.Host.CPU = "a slow one" },
	} {
		changed := *c.Campaign
		changed.Settings.Shared = maps.Clone(changed.Settings.Shared)
		change(&changed)
		_, err := changed.Resume(t.Context(), c.folder())
		require.ErrorIs(t, err, ErrOtherRun, why)
		require.ErrorContains(t, err, why)
	}
	_, err = c.Resume(t.Context(), c.folder())
	require.NoError(t, err)
	require.Len(t, c.calls(t), 4)
}

func TestFoldersThatAreNoResults(t *testing.T) {
	t.Parallel()
	c := try(t, "answer")
	_, err := c.Resume(t.Context(), t.TempDir())
	require.ErrorIs(t, err, ErrNoResults)
	dir := t.TempDir()
	name := filepath.Join(dir, manifestFile)
	for text, why := range map[string]string{
		`{"schema_version":99,"cases":7}`: "it is 99, this program reads 1; use the llama-agent that wrote it",
		`{}`:                              "\"schema_version\": is missing",
		`{"schema_version":1,"cases":7}`:  "field \"cases\"",
		`{`:                               "manifest.json:1: it is no JSON",
	} {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		_, err := c.Resume(t.Context(), dir)
		require.ErrorContains(t, err, why)
		require.ErrorContains(t, err, name)
	}
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1, "nothing is written into a folder that is none")

	_, err = c.Start(t.Context(), c.root)
	require.NoError(t, err)
	m, err := StoredManifest(c.folder())
	require.NoError(t, err)
	s, err := StoredSuite(c.folder(), m)
	require.NoError(t, err)
	require.Equal(t, c.Suite, s)
	require.NoError(t, os.WriteFile(filepath.Join(c.folder(), suiteCopy), append(c.Suite.Data, ' '), 0o600))
	_, err = StoredSuite(c.folder(), m)
	require.ErrorContains(t, err, "is not the suite that was measured")
}
