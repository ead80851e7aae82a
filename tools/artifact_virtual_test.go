package tools

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/artifacts"
)

func virtualizer(s *artifacts.Store, inline int64) *Virtualizer {
	return &Virtualizer{Store: s, InlineMaxBytes: inline, Limits: artifacts.DefaultLimits()}
}

// A result at the threshold or below it is the same to the byte, and stores nothing.
func TestThresholdOfVirtualization(t *testing.T) {
	t.Parallel()
	_, s := artifactTools(t, ArtifactOptions{})
	v := virtualizer(s, 10)
	type data struct {
		N int `json:"n"`
	}
	for _, text := range []string{"", "123456789", "1234567890", "汉字汉\n", "\x1b\xff\r\n"} {
		in := Result{Data: &data{1}, Text: text}
		out, a, err := v.Apply(t.Context(), "me", "look", nil, "", in)
		require.NoError(t, err)
		require.Nil(t, a)
		require.Equal(t, in, out)
		require.Same(t, in.Data, out.Data)
	}
	usage, err := s.Usage(t.Context())
	require.NoError(t, err)
	require.Zero(t, usage)

	out, a, err := v.Apply(t.Context(), "me", "look", json.RawMessage(`{"at":1}`), "", Result{Data: data{7}, Text: "12345678901"})
	require.NoError(t, err)
	require.Equal(t, "[large result of look, stored as "+a.Ref+": 11 bytes, 1 line, text/plain]\nn: 7\n--- all of it:\n12345678901", out.Text)
	virtual := out.Data.(VirtualResult)
	require.Equal(t, a.Ref, virtual.ArtifactID)
	require.Equal(t, map[string]string{"n": "7"}, virtual.Facts)
	again, _, err := v.Apply(t.Context(), "you", "look", json.RawMessage(`{"at":1}`), "", Result{Data: data{7}, Text: "12345678901"})
	require.NoError(t, err)
	require.Equal(t, out, again, "the same input gives the same bytes, whoever asks")
	twice, a, err := v.Apply(t.Context(), "me", "look", nil, "", Result{Data: out.Data, Text: out.Text})
	require.NoError(t, err)
	require.Nil(t, a)
	require.Equal(t, out, twice, "a descriptor is not stored again")
	off := virtualizer(s, 1<<60)
	_, a, err = off.Apply(t.Context(), "me", "look", nil, "", Result{Text: strings.Repeat("x", 1_000_000)})
	require.NoError(t, err)
	require.Nil(t, a)
}

// A large file is stored as its text, line numbers and all fitting what read_file would give.
func TestLargeFilesAreVirtualized(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var text strings.Builder
	for i := range 5000 {
		text.WriteString("line é ")
		text.WriteString(strings.Repeat("x", i%20))
		text.WriteByte('\n')
	}
	writeFiles(t, dir, map[string]string{"big.txt": text.String()})
	files := builtins(t, dir)
	r, s := artifactTools(t, ArtifactOptions{})
	v := virtualizer(s, 8192)
	for name, tc := range map[string]struct {
		args map[string]any
		name string
		from int
	}{
		"whole":       {map[string]any{"file_path": "big.txt"}, "big.txt", 0},
		"numbered":    {map[string]any{"file_path": "big.txt", "line_numbers": true}, "big.txt", 0},
		"from a line": {map[string]any{"file_path": "big.txt", "start_line": 3001}, "big.txt from line 3001", 3000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result := mustCall(t, files, "read_file", tc.args)
			out, a, err := v.Apply(asOwner("me"), "me", "read_file", nil, "", result)
			require.NoError(t, err)
			require.Equal(t, tc.name, a.Name)
			_, content, err := s.Content(t.Context(), "me", a.Ref)
			require.NoError(t, err)
			lines := strings.SplitAfter(text.String(), "\n")
			require.Equal(t, strings.Join(lines[tc.from:], ""), string(content))
			require.Contains(t, out.Text, "total_lines: 5000\n")
			require.NotContains(t, out.Text, "content: ")
			require.Less(t, len(out.Text), 3000)
			page := mustCallAs(t, r, "me", "retrieve_artifact", map[string]any{"artifact_id": a.Ref, "start_line": 500, "max_lines": 1})
			require.Equal(t, lines[tc.from+499], page.Data.(ArtifactPage).Content)
		})
	}
	part := mustCall(t, files, "read_file", map[string]any{"file_path": "big.txt", "offset": 1000, "length": 20_000})
	_, a, err := v.Apply(asOwner("me"), "me", "read_file", nil, "", part)
	require.NoError(t, err)
	require.Equal(t, "big.txt from byte 1000", a.Name)
}

func TestLargeQueriesAreStoredAsCSV(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	makeDatabase(t, filepath.Join(dir, "shop.db"), "CREATE TABLE t (id INTEGER, name TEXT, data BLOB, price REAL)",
		"INSERT INTO t VALUES (9223372036854775807, 'a, \"b\"', x'0102', 12), (2, NULL, NULL, 0.5), (3, '', NULL, NULL)")
	result := mustCall(t, builtins(t, dir), "query_sqlite", map[string]any{"db_path": "shop.db", "query": "SELECT * FROM t"})
	_, s := artifactTools(t, ArtifactOptions{})
	out, a, err := virtualizer(s, 0).Apply(t.Context(), "me", "query_sqlite", nil, "", result)
	require.NoError(t, err)
	_, content, err := s.Content(t.Context(), "me", a.Ref)
	require.NoError(t, err)
	require.Equal(t, "id,name,data,price\n9223372036854775807,\"a, \"\"b\"\"\",\"BLOB of 2 bytes, sha256 a12871fee210\",12.0\n2,,,0.5\n3,,,\n", string(content))
	require.Equal(t, "text/csv", a.ContentType)
	require.Contains(t, out.Text, "(shop.db)")
	require.Contains(t, out.Text, "\ndb_path: shop.db\ncolumns: id, name, data, price\nrows: 3\ntotal_rows: 3\ntruncated: false\n")
}

// What was asked for piece by piece is shown, however large it is.
func TestRetrievalIsNotVirtualized(t *testing.T) {
	t.Parallel()
	r, s := artifactTools(t, ArtifactOptions{MaxRetrieveBytes: 10_000})
	a := storeArtifact(t, s, "me", "a.txt", strings.Repeat("a line\n", 10_000))
	v := virtualizer(s, 100)
	for tool, args := range map[string]map[string]any{
		"get_artifact_summary": {}, "search_artifact": {"query": "line"}, "retrieve_artifact": {},
	} {
		args["artifact_id"] = a.Ref
		result := mustCallAs(t, r, "me", tool, args)
		require.Greater(t, len(result.Text), 100)
		out, stored, err := v.Apply(t.Context(), "me", tool, nil, "", result)
		require.NoError(t, err)
		require.Nil(t, stored)
		require.Equal(t, result, out)
	}
}

// A result that cannot be stored comes back whole.
func TestResultsThatCannotBeStored(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("a line\n", 100)
	full, err := artifacts.Open(t.Context(), filepath.Join(t.TempDir(), "full"), artifacts.Options{MaxBytes: 10})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, full.Close()) })
	_, gone := artifactTools(t, ArtifactOptions{})
	require.NoError(t, os.RemoveAll(filepath.Join(gone.Dir(), "content")))
	_, good := artifactTools(t, ArtifactOptions{})
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, tc := range map[string]struct {
		ctx   context.Context
		s     *artifacts.Store
		owner string
		data  any
		is    error
		says  string
	}{
		"full":      {t.Context(), full, "me", nil, artifacts.ErrQuota, "raise the limit"},
		"no folder": {t.Context(), gone, "me", nil, os.ErrNotExist, "storing content in"},
		"no owner":  {t.Context(), good, "", nil, artifacts.ErrOwner, "it is empty"},
		"cancelled": {cancelled, good, "me", nil, context.Canceled, ""},
		"no object": {t.Context(), good, "me", []int{1}, nil, "describing a result of look"},
	} {
		in := Result{Data: tc.data, Text: text}
		out, a, err := virtualizer(tc.s, 10).Apply(tc.ctx, tc.owner, "look", nil, "", in)
		require.Error(t, err, name)
		require.True(t, tc.is == nil || errors.Is(err, tc.is), "%s: %v", name, err)
		require.ErrorContains(t, err, tc.says, name)
		require.ErrorContains(t, err, "look", name)
		require.Nil(t, a, name)
		require.Equal(t, in, out, name)
	}
}
