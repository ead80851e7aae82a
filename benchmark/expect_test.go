package benchmark

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestExpectationsThatNothingMeets(t *testing.T) {
	t.Parallel()
	for text, why := range map[string]string{
		`"goal":"g","expected_status":"ok"`:                                        `expected_status is "ok", allowed are done, failed, interrupted, any`,
		`"goal":"g","expected_contains":["a"," "]`:                                 "expected_contains[1] is empty",
		`"goal":"g","expected_any":[["a"],[]]`:                                     "expected_any[1] is empty, so that nothing",
		`"goal":"g","expected_any":[["a",""]]`:                                     "expected_any[0][1] is empty",
		`"goal":"g","expected_tool_result_contains":[""]`:                          "expected_tool_result_contains[0] is empty",
		`"goal":"g","expected_tools":[""]`:                                         "expected_tools[0] is empty",
		`"goal":"g","forbidden_tools":["a",""]`:                                    "forbidden_tools[1] is empty",
		`"goal":"g","expected_tools":["a"],"forbidden_tools":["b","a"]`:            "forbidden_tools has a, which is expected",
		`"goal":"g","expected_tool_sequence":["a"],"forbidden_tools":["a"]`:        "forbidden_tools has a, which is expected",
		`"goal":"g","min_tool_calls":-1`:                                           "min_tool_calls is -1",
		`"goal":"g","max_tool_calls":-1`:                                           "max_tool_calls is -1",
		`"goal":"g","min_tool_calls":3,"max_tool_calls":2`:                         "max_tool_calls is 2, but min_tool_calls needs 3",
		`"goal":"g","expected_tools":["a","b","a"],"max_tool_calls":1`:             "max_tool_calls is 1, but expected_tools needs 2",
		`"goal":"g","expected_tool_sequence":["a","a","b"],"max_tool_calls":2`:     "max_tool_calls is 2, but expected_tool_sequence needs 3",
		`"goal":"g","expected_tool_result_contains":["a"],"max_tool_calls":0`:      "max_tool_calls is 0, but expected_tool_result_contains needs 1",
		`"turns":["a","b","c"],"min_tool_calls":4,"max_tool_calls_per_turn":[1,1]`: "max_tool_calls_per_turn allows 3 calls in all, but min_tool_calls needs 4",
		`"metadata":{"conversation_seed_turn":"a","conversation_final_turns":[{"question_id":"q","text":"t","expected_any":[[]]}]}`:      "conversation_final_turns[0]: expected_any[0] is empty",
		`"metadata":{"conversation_seed_turn":"a","conversation_final_turns":[{"question_id":"q","text":"t","expected_contains":[""]}]}`: "conversation_final_turns[0]: expected_contains[0] is empty",
	} {
		_, err := parse([]byte(`{"name":"x","cases":[{"case_id":"a",` + text + `}]}`))
		require.ErrorContains(t, err, `case "a": `+why, text)
	}
	for _, right := range []string{
		`"goal":"g","expected_status":"any"`,
		`"goal":"g","expected_tools":["a","b","a"],"max_tool_calls":2`,
		`"turns":["a","b","c"],"min_tool_calls":4,"max_tool_calls_per_turn":[2,1]`,
		`"goal":"g","max_tool_calls":0,"max_tool_calls_per_turn":[0]`,
	} {
		parsed(t, `{"case_id":"a",`+right+`}`)
	}
}

func TestFixturesThatExcludeEachOther(t *testing.T) {
	t.Parallel()
	for text, why := range map[string]string{
		`"incident_fixture":true,"fixture_files":{"logs/dispatch.log":""}`:       `fixture_files: "logs/dispatch.log" is also the name of a file that is made`,
		`"incident_fixture":true,"fixture_databases":{"dispatch.db":"SELECT 1"}`: `fixture_databases: "dispatch.db" is also`,
		`"document_fixture":true,"fixture_files":{"docs":""}`:                    `"docs" and "docs/handbook.md" cannot both be files`,
		`"document_fixture":true,"fixture_files":{"docs/handbook.md/x":""}`:      `"docs/handbook.md/x" and "docs/handbook.md" cannot both be files`,
		`"fixture_files":{"a":"","a/b":""}`:                                      `"a/b" and "a" cannot both be files`,
		`"fixture_files":{"a.db":""},"fixture_databases":{"a.db":"SELECT 1"}`:    `fixture_files: "a.db" is also`,
		`"fixture_databases":{"../a.db":"SELECT 1"}`:                             `fixture_databases: "../a.db" is no clean relative path`,
		`"fixture_databases":{"a.db":"CREATE TABEL x"}`:                          `fixture_databases: "a.db": running the SQL of a database`,
		`"fixture_databases":{"a.db":"BEGIN; CREATE TABLE x (y)"}`:               "leaves a transaction open",
		`"fixture_databases":{"a.db":"ATTACH DATABASE 'b.db' AS b"}`:             "too many attached databases",
		`"fixture_databases":{"a.db":"CREATE TABLE x (y); VACUUM INTO 'b.db'"}`:  "too many attached databases",
		`"workspace":"w"`: `workspace "w" is not among the workspaces of the suite: v`,
		`"workspace":"v","fixture_files":{"a.txt":""}`:             `fixture_files: "a.txt" is also in workspace "v"`,
		`"workspace":"v","fixture_databases":{"a.txt":"SELECT 1"}`: `fixture_files: "a.txt" is also the name`,
	} {
		_, err := parse([]byte(`{"name":"x","workspaces":{"v":{"fixture_files":{"a.txt":"t"}}},"cases":[{"case_id":"a","goal":"g","metadata":{` + text + `}}]}`))
		require.ErrorContains(t, err, `line 1: case "a": `, text)
		require.ErrorContains(t, err, why, text)
	}
	for _, placeholder := range []string{"{log_path}", "{db_path}", "{config_path}", "{document_path}", "{incident_node}", "{document_owner}"} {
		_, err := parse([]byte(`{"name":"x","cases":[{"case_id":"a","goal":"` + placeholder + `"}]}`))
		require.ErrorContains(t, err, `case "a": placeholder `+placeholder+` stands for no file`)
	}
	_, err := parse([]byte(`{"name":"x","cases":[{"case_id":"a","goal":"{incident_nodes}","metadata":{"incident_fixture":true}}]}`))
	require.ErrorContains(t, err, "placeholder {incident_nodes} stands for no file")
}

func TestWorkspacesAreShared(t *testing.T) {
	t.Parallel()
	s, err := parse([]byte(`{"name":"x","workspaces":{"v":{"fixture_files":{"a.txt":["{log_path}"]},"fixture_databases":{"b.db":"CREATE TABLE t (x)"}}},"cases":[
		{"case_id":"a","goal":"g","metadata":{"workspace":"v","incident_fixture":true,"fixture_files":{"own.txt":"o"}}},
		{"case_id":"b","goal":"g","metadata":{"fixture_files":{"a.txt":"other"}}}]}`))
	require.NoError(t, err)
	require.Equal(t, Texts{"a.txt": "logs/dispatch.log\n", "own.txt": "o"}, s.Cases[0].Metadata.FixtureFiles)
	require.Equal(t, Texts{"b.db": "CREATE TABLE t (x)"}, s.Cases[0].Metadata.FixtureDatabases)
	require.Equal(t, Texts{"a.txt": "other"}, s.Cases[1].Metadata.FixtureFiles)
	require.Equal(t, Texts{"a.txt": "{log_path}\n"}, s.Workspaces["v"].Files, "cases do not change what they share")
}
