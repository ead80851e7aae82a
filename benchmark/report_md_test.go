package benchmark

import (
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var updateGolden = flag.Bool("update-golden", false, "TestReport, TestComparison: write what they compare with")

func requireGolden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *updateGolden {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

// made is a run of two cases in two rounds with a failure, a harness error, a conversation and a metric that is not always known.
func made() *Results {
	var samples []Sample
	for i := range 5 {
		for k, round := range []string{"R1", "R0"} {
			goal := sampleOf("goal", round, i, 1000-300*k+10*i*i, k == 1 || i > 0)
			talk := sampleOf("zh_长谈", round, i, 0, true)
			talk.Turns = nil
			for n := range 5 {
				turn := Turn{Number: n + 1, Cost: Cost{InputTokens: 400 * (1 + n*k), ModelCalls: 2}}
				talk.Turns = append(talk.Turns, turn)
				talk.InputTokens += turn.InputTokens
			}
			talk.EvaluatedTokens = talk.InputTokens/2 + i
			talk.PeakKVTokens = 300 * i
			talk.DurationMS = int64(2000 + 10*i - 1500*k)
			talk.ToolCalls = 1 - k
			if k == 0 && i == 4 {
				talk = brokenOf("zh_长谈", round, i, Timeout)
				talk.Error = "killed after 15m0s; stderr ends with:\nlast words"
			}
			samples = append(samples, goal, talk)
		}
	}
	r := resultsOf(5, samples...)
	m := &r.Manifest
	m.StartedAt = time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)
	m.WarmupRuns, m.TimeLimitMS = 1, 900_000
	m.Suite.SHA256 = strings.Repeat("0123456789abcdef", 4)
	m.Model = ModelInfo{Name: "some-1.5b-q4_k_m.gguf", SHA256: strings.Repeat("fedcba9876543210", 4), Bytes: 1_117_320_736}
	m.Program = ProgramInfo{Version: "0.9.0", Commit: "ce19e8b1d0c94f", LlamaCPP: "b4400", Go: "go1.26.0", Backend: "cpu"}
	m.Host = HostInfo{OS: "linux", Arch: "amd64", CPU: "Some CPU @ 2 GHz", CPUs: 2, MemoryBytes: 8 << 30}
	m.Config = map[string]string{"engine.n_ctx": "16384"}
	m.Rounds[0].Switches = map[string]string{"memory.artifact_virtualization": "true"}
	m.Rounds[1].Switches = map[string]string{"memory.artifact_virtualization": "false"}
	return r
}

// TestReport compares the whole report with testdata/report.md; write it anew with -update-golden, and read it.
func TestReport(t *testing.T) {
	t.Parallel()
	dir := writeResults(t, made())
	edit(t, dir, samplesFile, "", `{"suite":"made"`)
	require.NoError(t, WriteReport(dir))
	report, err := os.ReadFile(filepath.Join(dir, reportFile))
	require.NoError(t, err)
	requireGolden(t, "report.md", string(report))
	// The pictures are there, and nothing else is left.
	links := regexp.MustCompile(`!\[[^]]+\]\(([^)]+)\)`).FindAllStringSubmatch(string(report), -1)
	require.Len(t, links, 7)
	for _, link := range links {
		data, err := os.ReadFile(filepath.Join(dir, link[1]))
		require.NoError(t, err)
		parseSVG(t, data)
	}
	for folder, files := range map[string]int{".": 5, chartsFolder: 7} {
		entries, err := os.ReadDir(filepath.Join(dir, folder))
		require.NoError(t, err)
		require.Len(t, entries, files)
	}
	data, err := os.ReadFile(filepath.Join(dir, summaryFile))
	require.NoError(t, err)
	var s Summary
	require.NoError(t, json.Unmarshal(data, &s))
	require.Equal(t, SchemaVersion, s.SchemaVersion)
	require.Equal(t, []string{"R0", "R1"}, s.roundNames())
	require.InDelta(t, 8.0/9, float64(s.Rounds[1].All.Success.Value), 1e-9)
	require.False(t, s.Rounds[1].Cases[1].Metrics[0].Mean.Bounded(), "null is not known: four samples are too few")
	require.True(t, s.Rounds[0].Cases[1].Metrics[0].Mean.Bounded())
	require.Contains(t, string(data), `"high": null`)

	// Again, over what is there.
	require.NoError(t, WriteReport(dir))
	again, err := os.ReadFile(filepath.Join(dir, reportFile))
	require.NoError(t, err)
	require.Equal(t, string(report), string(again))
}

func TestReportsOfLittle(t *testing.T) {
	t.Parallel()
	nothing := small()
	nothing.Samples = nil
	text := nothing.Markdown()
	require.Contains(t, text, "| samples | **0 of 4** (1 case × 2 rounds × 2 repetitions) |")
	require.Contains(t, text, "| samples right | 0 of 0 | 0 of 0 |")
	require.Contains(t, text, "¹ No sample is right in every round")
	require.Contains(t, text, "- 4 samples are missing: the run is not complete. Go on with benchmark --resume.\n")
	require.Contains(t, text, "cannot compare (no pair has an answer on both sides)")

	single := resultsOf(1, sampleOf("goal", "R0", 0, 1000, true)).Markdown()
	require.NotContains(t, single, "What the rounds change")
	require.NotContains(t, single, "Saved")
	require.NotContains(t, single, "Growth")
	require.NotContains(t, single, "## Failures")
	require.NotContains(t, single, "## Harness")
	require.Contains(t, single, "¹ Mean over the 1 sample that is right.")
	require.Contains(t, single, "- Nothing: all samples are there")

	broken := resultsOf(1, brokenOf("goal", "R0", 0, Crash), brokenOf("goal", "R1", 0, NoResult)).Markdown()
	require.Contains(t, broken, "| **success** (95 % interval) | – | – |")
	require.Contains(t, broken, "| harness errors | 1 crash | 1 no_result |")
	require.Contains(t, broken, "- goal, R0, repetition 0: crash: the program ended with exit status 2\n")
	require.NotContains(t, broken, "panic", "stderr is elsewhere")
	require.Contains(t, broken, "- R0: 1 harness error, so success is over 0 of 1 samples.")

	few := resultsOf(2, sampleOf("a", "R0", 0, 1000, true), sampleOf("a", "R0", 1, 1000, true), sampleOf("a", "R1", 0, 500, true), sampleOf("a", "R1", 1, 500, true)).Markdown()
	require.Contains(t, few, "| input tokens saved | 50.0 %: cannot compare (2 pairs are too few for an interval; measure 5 repetitions or more) |")
	require.Contains(t, few, "R1 against R0: no verdict on input tokens, evaluated tokens, ")
	require.Contains(t, few, "| tool calls saved | cannot compare")
}

func TestProblemsAreBounded(t *testing.T) {
	t.Parallel()
	var samples []Sample
	for i := range maxProblems + 3 {
		s := sampleOf("a", "R0", i, 1, false)
		s.Faults = []string{strings.Repeat("x", i+1) + strings.Repeat("長", 400)}
		samples = append(samples, s)
	}
	text := resultsOf(maxProblems+3, samples...).Markdown()
	require.Contains(t, text, "- 3 more; see task_results.jsonl\n")
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "- a, R0") {
			require.LessOrEqual(t, columnsOf(line), maxProblemColumn+40)
		}
	}
}

// TestHostileNames sees that names and texts of others show as they are, and do nothing.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	name := "<script>alert(\"1\")</script>|\n# head\n![x](http://evil.example/a.png) `code` \x1b[31m www.evil.example"
	s := sampleOf(name, "R0|\n", 0, 100, false)
	s.Faults = []string{name}
	r := resultsOf(1, s, brokenOf(name, "R1", 0, Crash))
	r.Manifest.Model.Name, r.Manifest.Host.CPU = name, name
	other := resultsOf(1, s, sampleOf("b", "R0|\n", 0, 1, true))
	c, err := Compare(r, other, "")
	require.NoError(t, err)
	for _, text := range []string{r.Markdown(), c.Markdown()} {
		for _, bad := range []string{"<script", "\x1b", "://evil", "www.evil", "\n# head", " `code`"} {
			require.NotContains(t, text, bad)
		}
		require.Contains(t, text, `&lt;script&gt;alert("1")&lt;/script&gt;\| # head !\[x\](http&#58;//evil.example/a.png) \`+"`code\\`")
		columns := 0
		for line := range strings.Lines(text) {
			if !strings.HasPrefix(line, "|") {
				columns = 0
				continue
			}
			n := strings.Count(line, "|") - strings.Count(line, `\|`)
			if columns > 0 {
				require.Equal(t, columns, n, "each row of a table has the cells of its head: %s", line)
			}
			columns = n
		}
	}
	for _, c := range r.Summarize().charts() {
		parseSVG(t, c.svg())
		require.NotContains(t, string(c.svg()), "<script")
	}
}

func TestLiteral(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"r0_smoke": "r0_smoke", "_x_": `\_x\_`, "a|b": `a\|b`, "a\\b": `a\\b`, "1 < 2 & 3": "1 &lt; 2 &amp; 3", "# a": `\# a`, "a # b": "a # b",
		"- a": `\- a`, "证据": "证据", "a\r\n b": "a b", "x@y.z": "x&#64;y.z", "3 @ 2 GHz": "3 @ 2 GHz", "~~a~~": `\~\~a\~\~`, "$a$": `\$a\$`, "": "",
	} {
		require.Equal(t, want, literal(text))
	}
	rapid.Check(t, func(t *rapid.T) {
		text := literal(rapid.String().Draw(t, "text"))
		require.False(t, strings.ContainsAny(text, "\n\r\x1b<>"))
	})
}

func TestNumbersForPeople(t *testing.T) {
	t.Parallel()
	for want, n := range map[string]string{"1,234,567": fixed(1234567, 0), "−1,234.5": fixed(-1234.5, 1), "999": fixed(999, 0), "0.0": fixed(-0.04, 1), "–": fixed(unknown(), 0), "100,000": fixed(99999.7, 0)} {
		require.Equal(t, want, n)
	}
	require.Equal(t, "12.3 % (1.0 to 20.0)", interval(Estimate{12.34, 1, 20}, 1, " %"))
	require.Equal(t, "12.3 %", interval(Estimate{12.34, unknown(), unknown()}, 1, " %"))
	require.Equal(t, "–", interval(noEstimate(), 1, " %"))
	for p, want := range map[Number]string{1: "p = 1.00", 0.0703: "p = 0.070", 0.03125: "p = 0.031", 0.0078125: "p = 0.0078", 0.0005: "p < 0.001", unknown(): "p unknown"} {
		require.Equal(t, want, pValue(p))
	}
}

func TestReplaceFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "report.md")
	require.NoError(t, replaceFile(path, []byte("old")))
	full := errors.New("no space left on device")
	err := replaceFrom(path, io.MultiReader(strings.NewReader("half of"), iotest.ErrReader(full)))
	require.ErrorIs(t, err, full)
	require.ErrorContains(t, err, "writing "+path)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "old", string(data))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1, "nothing half written is left")
	require.NoError(t, replaceFile(path, []byte("new")))
	data, err = os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "new", string(data))
	require.ErrorContains(t, replaceFile(filepath.Join(dir, "gone", "x.svg"), nil), filepath.Join("gone", "x.svg"))
}

func TestReportsThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{"a folder in the way": summaryFile, "a file in the way": chartsFolder, "a picture in the way": filepath.Join(chartsFolder, "memory.svg")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := writeResults(t, small())
			at := filepath.Join(dir, path)
			if path == chartsFolder {
				require.NoError(t, os.WriteFile(at, nil, 0o644))
			} else {
				require.NoError(t, os.MkdirAll(filepath.Join(at, "full"), 0o755))
			}
			require.ErrorContains(t, WriteReport(dir), at)
			require.NoFileExists(t, filepath.Join(dir, reportFile))
		})
	}
}
