package benchmark

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEveryCheckCanFail breaks one expectation at a time and sees it named.
func TestEveryCheckCanFail(t *testing.T) {
	t.Parallel()
	zero, one := 0, 1
	right := Outcome{Status: "done", Answer: "97 orders, port 8472", Tools: []string{"query_sqlite", "read_file"}, ToolResults: []string{"COUNT: 97"}}
	whole := Case{
		ExpectedStatus: "done", ExpectedContains: []string{"97"}, ExpectedAny: [][]string{{"8472", "8473"}},
		ExpectedToolResultContains: []string{"97"}, ExpectedTools: []string{"read_file"},
		ExpectedToolSequence: []string{"query_sqlite", "read_file"}, ForbiddenTools: []string{"execute_shell_command"}, MinToolCalls: 2,
	}
	require.Empty(t, Judge(whole, right))
	require.Empty(t, Judge(Case{ExpectedStatus: "done"}, right))
	for fault, c := range map[string]Case{
		`status is "done" instead of "failed"`:                   {ExpectedStatus: "failed"},
		`the answer lacks "98"`:                                  {ExpectedContains: []string{"97", "98"}},
		`the answer has none of ["1" "2"]`:                       {ExpectedAny: [][]string{{"97"}, {"1", "2"}}},
		`no tool result has "8472"`:                              {ExpectedToolResultContains: []string{"8472"}},
		`tool count_lines was not called`:                        {ExpectedTools: []string{"count_lines"}},
		`tool query_sqlite was not called in the expected order`: {ExpectedToolSequence: []string{"read_file", "query_sqlite"}},
		`the forbidden tool read_file was called`:                {ForbiddenTools: []string{"read_file"}},
		`2 tool calls, at least 3 expected`:                      {MinToolCalls: 3},
		`2 tool calls, at most 1 allowed`:                        {MaxToolCalls: &one},
		`2 tool calls in turn 1, at most 1 allowed`:              {MaxToolCallsPerTurn: []int{1}},
	} {
		if c.ExpectedStatus == "" {
			c.ExpectedStatus = "done"
		}
		require.Equal(t, []string{fault}, Judge(c, right))
	}
	require.Equal(t, []string{"the answer is empty"}, Judge(Case{ExpectedStatus: "done"}, Outcome{Status: "done", Answer: " \n"}))
	turns := Outcome{Status: "done", Answer: "x", Tools: []string{"a", "b", "c"}, TurnCalls: []int{2, 0, 1, 0}}
	require.Empty(t, Judge(Case{ExpectedStatus: "done", MaxToolCallsPerTurn: []int{2, 0, 1}}, turns))
	require.Equal(t, []string{"1 tool calls in turn 3, at most 0 allowed"}, Judge(Case{ExpectedStatus: "done", MaxToolCallsPerTurn: []int{2, 0}}, turns),
		"the last number holds for all later turns")
	require.Empty(t, Judge(Case{ExpectedStatus: "done", MaxToolCalls: &zero}, Outcome{Status: "done", Answer: "42"}))
}

func TestSuitesAreValid(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("workloads/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		s, err := Load(path)
		require.NoError(t, err)
		for _, c := range s.Cases {
			require.DirExists(t, filepath.Join("..", c.Metadata.FixtureDir), c.ID)
		}
	}
}

func TestBadSuitesAreNamed(t *testing.T) {
	t.Parallel()
	for text, why := range map[string]string{
		`{`:                                      "unexpected EOF",
		"{\n\"name\":\"x\",\n\"casess\":[]}":     `line 3: json: unknown field "casess"`,
		`{"cases":[{"case_id":"a","goal":"g"}]}`: "name is missing",
		`{"name":"x"}`:                           "cases is empty",
		`{"name":"x","cases":[{"goal":"g"}]}`:    "cases[0]: case_id is missing",
		`{"name":"x","cases":[{"case_id":"a"}]}`: `case "a": goal is missing`,
		`{"name":"x","cases":[{"case_id":"a","goal":"g"},{"case_id":"a","goal":"h"}]}`:            `case_id "a" is there twice`,
		`{"name":"x","cases":[{"case_id":"a","goal":"g","min_tool_calls":2,"max_tool_calls":1}]}`: "max_tool_calls is below",
	} {
		path := filepath.Join(t.TempDir(), "s.json")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := Load(path)
		require.ErrorContains(t, err, why)
		require.ErrorContains(t, err, path)
	}
	_, err := Load("workloads/none.json")
	require.ErrorIs(t, err, os.ErrNotExist)
}
