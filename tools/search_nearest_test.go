package tools

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSearchThatFindsNothingShowsTheNearestLines(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 300 {
		fmt.Fprintf(&b, "%d nothing of interest happened in the harbour\n", i)
	}
	b.WriteString("Inspector booked for the boiler, reference BQ-1\n")
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "journal.txt"), []byte(b.String()), 0o600))
	w := Files(FileOptions{Workspace: dir})
	registry, err := NewRegistry(w...)
	require.NoError(t, err)
	find := func(args string) Result {
		result, err := registry.Call(t.Context(), "search_file", json.RawMessage(args))
		require.NoError(t, err)
		return result
	}
	result := find(`{"file_path":"journal.txt","query":"the boiler inspector"}`)
	require.Contains(t, result.Text, "1 line has all words of \"the boiler inspector\", though not in this order, in journal.txt (301 lines searched); 2 of them and of lines near to it:\n")
	require.Contains(t, result.Text, "\nline 301: Inspector booked for the boiler, reference BQ-1")
	data := result.Data.(SearchResult)
	require.Empty(t, data.Matches, "they are no matches")
	require.Equal(t, 301, data.Nearest[len(data.Nearest)-1].Line)
	require.Equal(t, 1, data.AllWords)
	require.Equal(t, 300, find(`{"file_path":"journal.txt","query":"Interest, harbour"}`).Data.(SearchResult).AllWords, "more than are shown")
	require.Zero(t, find(`{"file_path":"journal.txt","query":"boiler harbour"}`).Data.(SearchResult).AllWords)
	for _, args := range []string{
		`{"file_path":"journal.txt","query":"boiler"}`, `{"file_path":"journal.txt","query":"BOILER"}`, `{"file_path":"journal.txt","query":"x y"}`,
		`{"file_path":"journal.txt","query":"the boiler inspector","regex":true}`, `{"file_path":"*.txt","query":"the boiler inspector"}`,
	} {
		require.Empty(t, find(args).Data.(SearchResult).Nearest, args)
	}
}

func TestSearchOfAnArtifactThatFindsNothingShowsTheNearestLines(t *testing.T) {
	t.Parallel()
	registry, s := artifactTools(t, ArtifactOptions{})
	text := strings.Repeat("nothing of interest happened in the harbour\n", 300) + "Inspector booked for the boiler, reference BQ-1\n"
	a := storeArtifact(t, s, "me", "journal.txt", text)
	result, err := registry.Call(asOwner("me"), "search_artifact", fmt.Appendf(nil, `{"artifact_id":%q,"query":"the boiler inspector"}`, a.Ref))
	require.NoError(t, err)
	require.Contains(t, result.Text, "\nline 301: Inspector booked for the boiler, reference BQ-1")
	data := result.Data.(ArtifactMatches)
	require.Empty(t, data.Matches)
	nearest := data.Nearest[len(data.Nearest)-1]
	page, err := registry.Call(asOwner("me"), "retrieve_artifact", fmt.Appendf(nil, `{"artifact_id":%q,"start_line":%d,"max_lines":1}`, a.Ref, nearest.Line))
	require.NoError(t, err)
	require.Contains(t, page.Text, "reference BQ-1", "the line number is the one that retrieval takes")
}

func TestSearchWithoutAMatchShowsAShortFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	short := "name,price\npen,2\nlamp,150\n"
	writeFiles(t, dir, map[string]string{"short.csv": short, "long.csv": short + strings.Repeat("cup,7\n", 400), "empty.csv": ""})
	r := builtins(t, dir)
	for query, regex := range map[string]bool{"price > 100": false, "price.{9}": true} {
		result := mustCall(t, r, "search_file", map[string]any{"file_path": "short.csv", "query": query, "regex": regex})
		require.Equal(t, short, result.Data.(SearchResult).Content)
		require.True(t, result.Data.(SearchResult).Near)
		require.Contains(t, result.Text, "this is all of it:\n"+strings.TrimSpace(short))
	}
	for _, file := range []string{"long.csv", "empty.csv", "*.csv"} {
		require.Empty(t, mustCall(t, r, "search_file", map[string]any{"file_path": file, "query": "price > 100"}).Data.(SearchResult).Content, file)
	}
	for query, lines := range map[string]string{"pen": "line 2: pen,2", "PEN": "line 2: pen,2"} {
		result := mustCall(t, r, "search_file", map[string]any{"file_path": "short.csv", "query": query})
		require.Contains(t, result.Text, lines+"\nThe file is short; this is all of it:\n"+strings.TrimSpace(short), "what was found stands first")
		require.False(t, result.Data.(SearchResult).Near)
	}
	writeFiles(t, dir, map[string]string{"many.txt": "pen\npen\npen\nink\n", "one.txt": "pen\n"})
	for _, file := range []string{"many.txt", "one.txt", "*.txt"} { // enough, or all of it
		require.Empty(t, mustCall(t, r, "search_file", map[string]any{"file_path": file, "query": "pen"}).Data.(SearchResult).Content, file)
	}
}

func TestSearchForTheNameOfTheFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"notes/site-01.md": "north gate\n", "own.md": "see own.md\n"})
	r := builtins(t, dir)
	for _, query := range []string{"site-01.md", "notes/site-01.md", "site-01"} {
		problem := callError(t, r, "search_file", map[string]any{"file_path": "notes/site-01.md", "query": query}, KindWrongKind)
		require.Equal(t, "read_file", problem.Instead)
	}
	require.Equal(t, 1, mustCall(t, r, "search_file", map[string]any{"file_path": "own.md", "query": "own.md"}).Data.(SearchResult).Total, "a line holds it")
	require.Zero(t, mustCall(t, r, "search_file", map[string]any{"file_path": "notes/*.md", "query": "site-01.md"}).Data.(SearchResult).Total)
	require.Zero(t, mustCall(t, r, "search_file", map[string]any{"file_path": "own.md", "query": "site-01.md"}).Data.(SearchResult).Total)
}
