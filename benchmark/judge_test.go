package benchmark

import (
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
	refused := Case{ExpectedStatus: AnyStatus, FixturesUnchanged: true}
	for _, status := range []string{"done", "failed"} {
		require.Empty(t, Judge(refused, Outcome{Status: status, Answer: "x", FixturesBefore: "a", FixturesAfter: "a"}))
	}
	require.Equal(t, []string{`status is "interrupted" instead of "done" or "failed"`, "the fixtures were changed"},
		Judge(refused, Outcome{Status: "interrupted", Answer: "x", FixturesBefore: "a", FixturesAfter: "b"}))
	require.Equal(t, []string{"nobody looked whether the fixtures are unchanged"}, Judge(refused, Outcome{Status: "done", Answer: "x"}),
		"a check that was not made is not passed")
	turns := Outcome{Status: "done", Answer: "x", Tools: []string{"a", "b", "c"}, TurnCalls: []int{2, 0, 1, 0}}
	require.Empty(t, Judge(Case{ExpectedStatus: "done", MaxToolCallsPerTurn: []int{2, 0, 1}}, turns))
	require.Equal(t, []string{"1 tool calls in turn 3, at most 0 allowed"}, Judge(Case{ExpectedStatus: "done", MaxToolCallsPerTurn: []int{2, 0}}, turns),
		"the last number holds for all later turns")
	require.Empty(t, Judge(Case{ExpectedStatus: "done", MaxToolCalls: &zero}, Outcome{Status: "done", Answer: "42"}))
}
