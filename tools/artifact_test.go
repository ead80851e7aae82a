package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/llama-agent/llama-agent/artifacts"
)

// ownerKey is under what the context of a test call carries its owner.
type ownerKey struct{}

func asOwner(owner string) context.Context {
	return context.WithValue(context.Background(), ownerKey{}, owner)
}

// artifactTools is a registry of the artifact tools over a new store.
func artifactTools(t testing.TB, options ArtifactOptions) (*Registry, *artifacts.Store) {
	t.Helper()
	store, err := artifacts.Open(context.Background(), filepath.Join(t.TempDir(), "store"), artifacts.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	options.Store = store
	options.Owner = func(ctx context.Context) string {
		owner, _ := ctx.Value(ownerKey{}).(string)
		return owner
	}
	r, err := NewRegistry(Artifacts(options)...)
	require.NoError(t, err)
	return r, store
}

func storeArtifact(t testing.TB, s *artifacts.Store, owner, name, content string) artifacts.Artifact {
	t.Helper()
	a, err := s.Put(context.Background(), owner, artifacts.Source{Tool: "read_file", Name: name}, []byte(content))
	require.NoError(t, err)
	return a
}

func callAs(t testing.TB, r *Registry, owner, tool string, args map[string]any) (Result, error) {
	t.Helper()
	raw, err := json.Marshal(args)
	require.NoError(t, err)
	return r.Call(asOwner(owner), tool, raw)
}

func mustCallAs(t testing.TB, r *Registry, owner, tool string, args map[string]any) Result {
	t.Helper()
	result, err := callAs(t, r, owner, tool, args)
	require.NoError(t, err)
	return result
}

func TestArtifactToolsAreDescribed(t *testing.T) {
	t.Parallel()
	r, _ := artifactTools(t, ArtifactOptions{})
	require.Equal(t, []string{"get_artifact_summary", "search_artifact", "retrieve_artifact"}, r.Names())
	essential := map[string][]string{
		"get_artifact_summary": {"artifact_id"}, "search_artifact": {"artifact_id", "query"}, "retrieve_artifact": {"artifact_id", "start_line", "offset"},
	}
	for _, spec := range r.Specs() {
		require.True(t, spec.ReadOnly)
		require.Equal(t, []Subject{SubjectArtifact}, spec.Takes)
		require.Equal(t, essential[spec.Name], spec.Essential().PropertyOrder)
		require.Less(t, len(spec.Description), 100)
	}
}

func TestRetrieveArtifact(t *testing.T) {
	t.Parallel()
	r, s := artifactTools(t, ArtifactOptions{MaxRetrieveBytes: 24})
	a := storeArtifact(t, s, "me", "a.txt", "one\ntwo 汉字\nthree\nfour is a longer line than a page\nend")
	empty := storeArtifact(t, s, "me", "empty.txt", "")
	head := a.Ref + " (read_file a.txt): "
	for name, tc := range map[string]struct {
		args map[string]any
		want string
	}{
		"the beginning":     {map[string]any{}, head + "lines 1 to 3 of 5, 58 bytes in all\none\ntwo 汉字\nthree\n[2 lines, 37 bytes left out; go on with start_line=4]"},
		"a line":            {map[string]any{"start_line": 2, "max_lines": 1}, head + "line 2 of 5, 58 bytes in all\ntwo 汉字\n[3 lines, 43 bytes left out; go on with start_line=3]"},
		"a long line":       {map[string]any{"start_line": 4}, head + "line 4 of 5, 58 bytes in all\nfour is a longer line th\n[13 bytes left out; go on with offset=45]"},
		"bytes":             {map[string]any{"offset": 45}, head + "bytes 45 to 58 of 58, from line 4 of 5\nan a page\nend"},
		"bytes in a line":   {map[string]any{"offset": 4, "length": 3}, head + "bytes 4 to 7 of 58, from line 2 of 5\ntwo\n[51 bytes left out; go on with offset=7]"},
		"filled-in numbers": {map[string]any{"start_line": 5, "offset": 0}, head + "line 5 of 5, 58 bytes in all\nend"},
		"a first line":      {map[string]any{"start_line": 1, "offset": 45}, head + "bytes 45 to 58 of 58, from line 4 of 5\nan a page\nend"},
		"nothing":           {map[string]any{"artifact_id": empty.Ref}, empty.Ref + " (read_file empty.txt): empty"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tc.args["artifact_id"] == nil {
				tc.args["artifact_id"] = a.Ref
			}
			require.Equal(t, tc.want, mustCallAs(t, r, "me", "retrieve_artifact", tc.args).Text)
		})
	}
	for says, args := range map[string]map[string]any{
		"lines and bytes are both given":              {"start_line": 2, "offset": 5},
		"use a start_line from 1 to 5":                {"start_line": 6},
		"use an offset from 0 to 57":                  {"offset": 60},
		`argument "start_line" is 0; the smallest`:    {"start_line": 0},
		`argument "length" is -1; the smallest`:       {"length": -1},
		`there is no argument "line" (did you mean "`: {"line": 1},
	} {
		args["artifact_id"] = a.Ref
		_, err := callAs(t, r, "me", "retrieve_artifact", args)
		var problem *Error
		require.ErrorAs(t, err, &problem)
		require.Equal(t, KindInvalidArguments, problem.Kind)
		require.ErrorContains(t, err, says)
	}
}

func TestSearchArtifact(t *testing.T) {
	t.Parallel()
	r, s := artifactTools(t, ArtifactOptions{})
	var log strings.Builder
	for i := 1; i <= 100; i++ {
		fmt.Fprintf(&log, "line %d is fine\r\n", i)
		if i%10 == 0 {
			fmt.Fprintf(&log, "ERROR 汉字 at %d\r\n", i)
		}
	}
	a := storeArtifact(t, s, "me", "app.log", log.String())
	where := " in " + a.Ref + " (read_file app.log; 110 lines searched)"
	const more = "\n[to read more around a match: retrieve_artifact with its start_line]"
	for name, tc := range map[string]struct {
		args map[string]any
		want string
	}{
		"the first five": {map[string]any{"query": "ERROR"}, `10 lines contain "ERROR"` + where + "; the first 5:\n" +
			"line 11, offset 161: ERROR 汉字 at 10\nline 22, offset 351: ERROR 汉字 at 20\nline 33, offset 541: ERROR 汉字 at 30\n" +
			"line 44, offset 731: ERROR 汉字 at 40\nline 55, offset 921: ERROR 汉字 at 50\n" +
			"[5 matches not shown; raise max_matches, or search for something narrower]" + more},
		"one":        {map[string]any{"query": "at 20"}, `1 line contains "at 20"` + where + ":\nline 22, offset 364: ERROR 汉字 at 20" + more},
		"expression": {map[string]any{"query": `at [23]0$`, "regex": true}, `2 lines match "at [23]0$"` + where + ":\nline 22, offset 364: ERROR 汉字 at 20\nline 33, offset 554: ERROR 汉字 at 30" + more},
		"other case": {map[string]any{"query": "error 汉字 at 10"}, `0 lines contain "error 汉字 at 10" exactly; 2 lines do when letter case is ignored` + where +
			":\nline 11, offset 161: ERROR 汉字 at 10\nline 110, offset 1872: ERROR 汉字 at 100" + more},
		"nothing":         {map[string]any{"query": "WARN"}, `0 lines contain "WARN"` + where},
		"maybe for regex": {map[string]any{"query": "WARN|FATAL"}, `0 lines contain "WARN|FATAL"` + where + "\n[the query was taken as it is; for a regular expression set regex to true]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.args["artifact_id"] = a.Ref
			result := mustCallAs(t, r, "me", "search_artifact", tc.args)
			require.Equal(t, tc.want, result.Text)
			for _, m := range result.Data.(ArtifactMatches).Matches {
				byLine := mustCallAs(t, r, "me", "retrieve_artifact", map[string]any{"artifact_id": a.Ref, "start_line": m.Line, "max_lines": 1})
				require.Equal(t, m.Text+"\r\n", byLine.Data.(ArtifactPage).Content)
				byBytes := mustCallAs(t, r, "me", "retrieve_artifact", map[string]any{"artifact_id": a.Ref, "offset": m.Offset, "length": m.Length})
				require.Contains(t, m.Text, byBytes.Data.(ArtifactPage).Content)
				require.EqualValues(t, m.Length, len(byBytes.Data.(ArtifactPage).Content))
			}
		})
	}
	_, err := callAs(t, r, "me", "search_artifact", map[string]any{"artifact_id": a.Ref, "query": "(", "regex": true})
	require.ErrorContains(t, err, "is no regular expression")
	var problem *Error
	require.ErrorAs(t, err, &problem)
	require.Equal(t, KindInvalidArguments, problem.Kind)
}

func TestSearchOfOneLongLineIsBounded(t *testing.T) {
	t.Parallel()
	r, s := artifactTools(t, ArtifactOptions{MaxRetrieveBytes: 1000, MaxMatches: 1000})
	a := storeArtifact(t, s, "me", "min.js", strings.Repeat(strings.Repeat("é", 500)+"needle", 5000))
	result := mustCallAs(t, r, "me", "search_artifact", map[string]any{"artifact_id": a.Ref, "query": "needle", "max_matches": 1000})
	require.Contains(t, result.Text, `1 line contains "needle"`)
	require.Contains(t, result.Text, "[at least 998 matches not shown")
	require.Less(t, len(result.Text), 2000)
	require.Len(t, result.Data.(ArtifactMatches).Matches, 2)
}

func TestArtifactSummary(t *testing.T) {
	t.Parallel()
	r, s := artifactTools(t, ArtifactOptions{PreviewChars: 20})
	a, err := s.Put(t.Context(), "me", artifacts.Source{Tool: "query_sqlite", Name: "shop.db", ContentType: "text/csv", Facts: []artifacts.Fact{{Name: "rows", Value: "200"}}},
		[]byte(strings.Repeat("1,2,3\n", 100)))
	require.NoError(t, err)
	result := mustCallAs(t, r, "me", "get_artifact_summary", map[string]any{"artifact_id": a.Ref})
	require.Equal(t, "[large result of query_sqlite (shop.db), stored as "+a.Ref+": 600 bytes, 100 lines, text/csv]\nrows: 200\n--- line 1:\n1,2,3\n"+
		"--- 588 bytes left out; line 100:\n1,2,3\n[to find something in it: search_artifact with artifact_id \""+a.Ref+"\"; to read on: retrieve_artifact with it and start_line 2]", result.Text)
	data, err := json.Marshal(result.Data)
	require.NoError(t, err)
	require.JSONEq(t, fmt.Sprintf(`{"artifact_id": %q, "tool": "query_sqlite", "name": "shop.db", "content_type": "text/csv", "encoding": "utf-8",
		"bytes": 600, "lines": 100, "sha256": %q, "facts": {"rows": "200"}}`, a.Ref, a.SHA256), string(data))
}

// Whether somebody else has an artifact cannot be told from any answer.
func TestForeignArtifactsAreUnknown(t *testing.T) {
	t.Parallel()
	r, s := artifactTools(t, ArtifactOptions{})
	theirs := storeArtifact(t, s, "them", "secret.txt", "a secret")
	answers := func(ref string) []string {
		var out []string
		for _, tool := range r.Names() {
			args := map[string]any{"artifact_id": ref}
			if tool == "search_artifact" {
				args["query"] = "secret"
			}
			result, err := callAs(t, r, "me", tool, args)
			var problem *Error
			require.ErrorAs(t, err, &problem, "%s %q", tool, ref)
			require.Zero(t, result)
			require.Equal(t, KindNotFound, problem.Kind)
			shown := InertText(fmt.Sprintf("%q", clip(ref, 80)))
			require.Contains(t, err.Error(), shown)
			out = append(out, strings.ReplaceAll(err.Error(), shown, "REF"))
		}
		return out
	}
	unknown := []string{
		"artifact://00000000", "artifact://../../x", "../../x", "artifact://" + theirs.SHA256, "secret.txt", "artifact://", "x\x00y", strings.Repeat("0", 100),
	}
	for _, ref := range unknown {
		require.Equal(t, answers("artifact://00000000"), answers(ref))
	}
	require.Equal(t, answers("artifact://00000000"), answers(theirs.Ref))
	require.Contains(t, answers(theirs.Ref)[0], "no result is stored")

	mine := storeArtifact(t, s, "me", "mine.txt", "mine")
	for _, ref := range append(unknown, theirs.Ref) {
		for _, answer := range answers(ref) {
			require.Equal(t, "there is no artifact REF; the stored results are "+mine.Ref+" (read_file mine.txt)", answer)
		}
	}
	slip := "artifact://" + strings.TrimPrefix(mine.Ref, "artifact://")[:7] + "o"
	require.Contains(t, answers(slip)[0], "did you mean "+mine.Ref+"?")

	_, err := callAs(t, r, "me", "get_artifact_summary", map[string]any{"artifact_id": strings.Repeat("a", 10_000)})
	require.ErrorContains(t, err, "has 10000 characters; at most 100 are allowed")
	for _, nobody := range []string{"", "a\x00b"} {
		_, err = callAs(t, r, nobody, "get_artifact_summary", map[string]any{"artifact_id": mine.Ref})
		require.ErrorContains(t, err, "there is no artifact")
		require.ErrorContains(t, err, "no result is stored")
	}
}

func TestReferencesAsModelsWriteThem(t *testing.T) {
	t.Parallel()
	r, s := artifactTools(t, ArtifactOptions{})
	a := storeArtifact(t, s, "me", "a.txt", "content")
	for _, written := range []string{
		a.Ref, strings.TrimPrefix(a.Ref, "artifact://"), strings.ToUpper(a.Ref), " " + a.Ref + "\n", `"` + a.Ref + `"`, "<" + a.Ref + ">", "`" + a.Ref + "`.", "[" + a.Ref + "]:",
	} {
		require.Equal(t, a.Ref, mustCallAs(t, r, "me", "get_artifact_summary", map[string]any{"artifact_id": written}).Data.(ArtifactSummary).ArtifactID)
	}
}

func TestArtifactsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	r, s := artifactTools(t, ArtifactOptions{})
	for content, says := range map[string]string{
		png:                       "is not text: it is binary (application/octet-stream)",
		"\xff\xfea\x00b\x00\n":    "is not text: it is utf-16 (text/plain; charset=utf-16)",
		strings.Repeat("\x01", 9): "is not text: it is binary",
	} {
		a := storeArtifact(t, s, "me", "a", content)
		for tool, args := range map[string]map[string]any{"retrieve_artifact": {}, "search_artifact": {"query": "a"}} {
			args["artifact_id"] = a.Ref
			_, err := callAs(t, r, "me", tool, args)
			var problem *Error
			require.ErrorAs(t, err, &problem)
			require.Equal(t, KindWrongKind, problem.Kind)
			require.ErrorContains(t, err, a.Ref+" "+says)
		}
		require.Contains(t, mustCallAs(t, r, "me", "get_artifact_summary", map[string]any{"artifact_id": a.Ref}).Text, "it cannot be shown, searched or read as text")
	}
	damaged := storeArtifact(t, s, "me", "b", "stored content")
	require.NoError(t, os.WriteFile(filepath.Join(s.Dir(), "content", damaged.SHA256+".bin"), []byte("stored cantent"), 0o600))
	for _, tool := range r.Names() {
		args := map[string]any{"artifact_id": damaged.Ref}
		if tool == "search_artifact" {
			args["query"] = "a"
		}
		result, err := callAs(t, r, "me", tool, args)
		require.Zero(t, result)
		require.ErrorContains(t, err, "the stored content of "+damaged.Ref+" cannot be used: the file was changed: its SHA-256 is another; call read_file again to get a new result")
		require.NotContains(t, err.Error(), s.Dir(), "a model has no use for it")
	}
	require.NoError(t, s.Close())
	_, err := callAs(t, r, "me", "get_artifact_summary", map[string]any{"artifact_id": damaged.Ref})
	var problem *Error
	require.ErrorAs(t, err, &problem)
	require.Equal(t, KindFailed, problem.Kind)
	require.ErrorContains(t, err, "reading stored results: ")
}

// Hostile bytes come out inert, and as they were for programs.
func TestArtifactTextIsInert(t *testing.T) {
	t.Parallel()
	r, s := artifactTools(t, ArtifactOptions{})
	a := storeArtifact(t, s, "me", "a\x1b]0;x", "\x1b[31mred\x1b[0m\r\ncaf\xe9 <|im_end|>\u202e\n")
	page := mustCallAs(t, r, "me", "retrieve_artifact", map[string]any{"artifact_id": a.Ref})
	require.Equal(t, a.Ref+" (read_file a␛]0;x): 2 lines, 33 bytes, complete\n␛[31mred␛[0m\ncaf\\xE9 <|im_end|><U+202E>", page.Text)
	require.Equal(t, "\x1b[31mred\x1b[0m\r\ncaf\\xE9 <|im_end|>\u202e\n", page.Data.(ArtifactPage).Content)
	found := mustCallAs(t, r, "me", "search_artifact", map[string]any{"artifact_id": a.Ref, "query": "red"})
	require.Equal(t, found.Text, InertText(found.Text))
}

// What the store shows is what this package shows: neither changes what the other has made safe.
func TestDescriptorsAreInert(t *testing.T) {
	t.Parallel()
	_, s := artifactTools(t, ArtifactOptions{})
	rapid.Check(t, func(t *rapid.T) {
		content := []byte(rapid.StringOf(rapid.OneOf(rapid.Rune(), rapid.RuneFrom([]rune("\r\n\t\x00\x1b\x7f\x85\u200e\u202e\u2066\ufeff\ufffa\U000e0041é汉")))).Draw(t, "text"))
		content = append(content, rapid.SliceOfN(rapid.Byte(), 0, 5).Draw(t, "bytes")...)
		a, err := s.Put(t.Context(), "me", artifacts.Source{Tool: rapid.String().Draw(t, "tool"), Name: rapid.String().Draw(t, "name")}, content)
		require.NoError(t, err)
		text := artifacts.Descriptor(a, content, artifacts.Limits{PreviewChars: 1000, SummaryChars: 600}, "")
		require.Equal(t, text, InertText(text))
		if a.Encoding.Readable() && len(content) > 0 {
			require.Contains(t, text, strings.TrimSuffix(InertText(string(content)), "\n"), "shown alike")
		}
	})
}
