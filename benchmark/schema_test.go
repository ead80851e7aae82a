package benchmark

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/config"
)

// toolNames are those of the program with its defaults.
func toolNames(t *testing.T) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "agent_config.toml")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	c, err := config.Load(config.Options{Path: path, Workspace: t.TempDir()})
	require.NoError(t, err)
	names, err := ToolNames(c)
	require.NoError(t, err)
	require.Contains(t, names, "query_sqlite")
	require.Contains(t, names, "retrieve_artifact", "what is off is named, too")
	return names
}

func TestSuitesAreValid(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("workloads/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	names := toolNames(t)
	for _, path := range paths {
		s, err := Load(path, names...)
		require.NoError(t, err)
		require.Equal(t, filepath.Base(path), s.Name+".json")
		for _, c := range s.Cases {
			require.DirExists(t, filepath.Join("..", c.Metadata.FixtureDir), c.ID)
		}
	}
}

func TestBadSuitesAreNamed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, why string }{
		{`{`, "line 1, column 2: the file ends too early: unexpected EOF"},
		{``, "line 1, column 1: the file ends too early"},
		{"{\n \"name\": \"x\",\n \"cases\": [\n  {\"goal\" \"g\"}]}", "line 4, column 11: cases[0].goal cannot be read: invalid character '\"' after object key"},
		{"{\"name\":\"x\",\n\"cases\":[{\"case_id\":\"a\", \"turns\":[\"a\",]}]}", "line 2, column 38: cases[0].turns[1] cannot be read: invalid character ']'"},
		{"{\"name\":\"x\",\n\"cases\":[{\"case_id\":\"a\",\"goal\":\"g\"", "line 2, column 35: cases[0] ends too early"},
		{`[]`, "line 1, column 1: the suite is a list, but must be an object"},
		{"{\n\"name\":\"x\",\n\"casess\":[]}", "line 3, column 1: casess is no key of a suite; did you mean cases?"},
		{`{"name":"x","cases":[{"case_id":"a","Goal":"g"}]}`, "line 1, column 37: cases[0].Goal is no key of a suite; did you mean goal?"},
		{`{"name":"x","cases":[{"case_id":"a","goal":"g","metadata":{"fixture_marcer":{"deep":[1,{}]}}}]}`, "cases[0].metadata.fixture_marcer is no key of a suite; did you mean fixture_marker?"},
		{`{"name":"x","cases":[{"case_id":"a","goal":"g","zzz":[[]]}]}`, "cases[0].zzz is no key of a suite"},
		{`{"name":"x","cases":[{"case_id":"a","goal":7}]}`, "line 1, column 44: cases[0].goal is 7, but must be a text"},
		{`{"name":"x","cases":[{"case_id":"a","goal":"g","min_tool_calls":"1"}]}`, "cases[0].min_tool_calls is a text, but must be a whole number"},
		{`{"name":"x","cases":[{"case_id":"a","goal":"g","max_tool_calls":1.5}]}`, "cases[0].max_tool_calls is 1.5, but must be a whole number"},
		{`{"name":"x","cases":[{"case_id":"a","goal":"g","expected_any":["x"]}]}`, "cases[0].expected_any[0] is a text, but must be a list"},
		{`{"name":"x","cases":{"case_id":"a"}}`, "cases is an object, but must be a list"},
		{`{"name":"x","cases":[{"case_id":"a","goal":"g","metadata":[]}]}`, "cases[0].metadata is a list, but must be an object"},
		{`{"name":"x","cases":[{"case_id":"a","goal":"g","fixtures_unchanged":"yes"}]}`, "cases[0].fixtures_unchanged is a text, but must be true or false"},
		{`{"name":"x","cases":[{"case_id":"a","goal":"g","metadata":{"fixture_files":{"a":1}}}]}`, "cases[0].metadata.fixture_files.a is 1, but must be a text or a list of lines"},
		{`{"name":"x","cases":[{"case_id":"a","goal":"g","metadata":{"fixture_files":{"a":["b",true]}}}]}`, "fixture_files.a[1] is true or false, but must be a text"},
		{`{"name":"x","workspaces":{"w":{"files":{}}},"cases":[]}`, "workspaces.w.files is no key of a suite"},
		{`{"name":"x","name":"y","cases":[]}`, "line 1, column 13: name is there twice"},
		{`{"name":"x","cases":[]} {}`, "line 1, column 25: there is more after the suite"},
		{"{\"name\":\"水\xff\"}", "line 1, column 11: the file is not UTF-8 here"},
		{`{"cases":[{"case_id":"a","goal":"g"}]}`, "name is missing"},
		{`{"name":"x"}`, "cases is empty"},
		{`{"name":"x","warmup_runs":-1,"cases":[{"case_id":"a","goal":"g"}]}`, "warmup_runs is -1"},
		{`{"name":"x","measured_runs":0,"cases":[{"case_id":"a","goal":"g"}]}`, "measured_runs is 0"},
		{"{\"name\":\"x\",\n\"cases\":[\n{\"goal\":\"g\"}]}", "line 3: cases[0]: case_id is missing"},
		{`{"name":"x","cases":[{"case_id":"a"}]}`, `line 1: case "a": goal is missing`},
		{"{\"name\":\"x\",\"cases\":[{\"case_id\":\"a\",\"goal\":\"g\"},\n{\"case_id\":\"A\",\"goal\":\"h\"}]}", `line 2: cases[1]: case_id "A" is there twice`},
		{`{"name":"x","cases":[{"case_id":"a","goal":"g","min_tool_calls":2,"max_tool_calls":1}]}`, "max_tool_calls is 1, but min_tool_calls needs 2"},
		{`{"name":"x","cases":[{"case_id":"a","goal":"g","expected_tools":["list_file"]}]}`, `case "a": expected_tools[0]: there is no tool "list_file"; did you mean list_files?`},
		{`{"name":"x","cases":[{"case_id":"a","goal":"g","expected_tool_sequence":["read_file","xyz"]}]}`, `expected_tool_sequence[1]: there is no tool "xyz"`},
		{`{"name":"x","cases":[{"case_id":"a","goal":"g","forbidden_tools":["rm"]}]}`, `forbidden_tools[0]: there is no tool "rm"`},
	} {
		path := filepath.Join(t.TempDir(), "s.json")
		require.NoError(t, os.WriteFile(path, []byte(c.text), 0o600))
		_, err := Load(path, toolNames(t)...)
		require.ErrorContains(t, err, c.why, c.text)
		require.ErrorContains(t, err, path)
	}
	_, err := Load("workloads/none.json")
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = Load(t.TempDir())
	require.Error(t, err)
}

// TestAllProblemsAreNamedAtOnce sees that one mistake does not hide the others.
func TestAllProblemsAreNamedAtOnce(t *testing.T) {
	t.Parallel()
	_, err := parse([]byte("{\"nam\":\"x\",\n\"cases\":[{\"goals\":[\"g\"],\n\"min_tool_calls\":true}]}"))
	require.Equal(t, `line 1, column 2: nam is no key of a suite; did you mean name?
line 2, column 11: cases[0].goals is no key of a suite; did you mean goal?
line 3, column 18: cases[0].min_tool_calls is true or false, but must be a whole number`, err.Error())
	var problem *SuiteProblem
	require.ErrorAs(t, err, &problem)
	require.Equal(t, SuiteProblem{Line: 1, Column: 2, Field: "nam", Reason: "is no key of a suite", Nearest: "name"}, *problem)
	_, err = parse([]byte(`{"name":"x","cases":[{"case_id":"a"},{"case_id":"b"}]}`))
	require.ErrorContains(t, err, `case "a"`)
	require.ErrorContains(t, err, `case "b"`)
}

func TestWhatSuiteFilesMayHave(t *testing.T) {
	t.Parallel()
	s, err := parse([]byte("\ufeff{\"name\":\"x\",\r\n\"cases\":[{\"case_id\":\"a\",\"goal\":\"g\",\"max_tool_calls\":null,\"metadata\":{\"fixture_files\":{\"f\":[\"one\",\"\"],\"g\":[],\"h\":\"two\"}}}]}"))
	require.NoError(t, err)
	require.Equal(t, 42, s.Seed)
	require.Equal(t, 1, s.WarmupRuns)
	require.Equal(t, 5, s.MeasuredRuns)
	require.Nil(t, s.Cases[0].MaxToolCalls)
	require.Equal(t, Texts{"f": "one\n\n", "g": "", "h": "two"}, s.Cases[0].Metadata.FixtureFiles)
	s, err = parse([]byte(`{"name":"x","seed":0,"warmup_runs":0,"cases":[{"case_id":"a","goal":"g"}]}`))
	require.NoError(t, err)
	require.Zero(t, s.Seed, "what is said is not taken for left out")
	require.Zero(t, s.WarmupRuns)
}

func TestSkillsOfACaseAreTools(t *testing.T) {
	t.Parallel()
	s, err := parse([]byte(`{"name":"x","cases":[{"case_id":"a","goal":"g","expected_tools":["shout","knit"],
		"metadata":{"fixture_files":{"skills/shout.yaml":"","skills/knit/SKILL.md":"","skills/readme.txt":"","other/purl.yaml":""}}}]}`))
	require.NoError(t, err)
	require.NoError(t, s.CheckTools(nil))
	s.Cases[0].ExpectedTools = []string{"readme", "purl"}
	err = s.CheckTools([]string{"read_file"})
	require.ErrorContains(t, err, `no tool "readme"`)
	require.ErrorContains(t, err, `no tool "purl"`)
}

// FuzzParse sees every text read or refused, and what is refused named with a line.
func FuzzParse(f *testing.F) {
	f.Add(`{"name":"x","cases":[{"case_id":"a","goal":"g","expected_any":[["a"]],"metadata":{"fixture_files":{"a":["b"]}}}]}`)
	f.Add(`{"name":1,"cases":{"a":[[}`)
	f.Add("{\"workspaces\":{\"w\":{\"fixture_databases\":{\"x\":\"SELECT 1\"}}}}\n]")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "fixture_databases") {
			t.Skip("running SQL is not what is tested here")
		}
		s, err := parse([]byte(text))
		if err == nil {
			require.NotEmpty(t, s.Cases)
			return
		}
		var problem *SuiteProblem
		if errors.As(err, &problem) {
			require.Positive(t, problem.Line)
			require.Positive(t, problem.Column)
			require.LessOrEqual(t, problem.Line, 1+strings.Count(text, "\n"))
		}
		require.NotContains(t, err.Error(), "json: ", "the walk beside the types finds what the decoder would")
	})
}
