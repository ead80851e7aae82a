package tools

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCutsFallBetweenCharacters(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("汉", 40)
	require.Equal(t, strings.Repeat("汉", 26), cutBytes(text, 80))
	require.Equal(t, "", cutBytes(text, 2))
	require.Equal(t, "", cutBytes(text, -1))
	require.Equal(t, text, cutBytes(text, 120))
	require.Equal(t, strings.Repeat("汉", 7), cutChars(text, 7))
	require.Equal(t, "汉汉…", clip(text, 3))
	require.Equal(t, "a\nb\n[4 more bytes left out]", capText("a\nb\nccc", 5))
	require.Equal(t, "🦙", string(wholeRunes([]byte("🦙🦙")[:7])))
	require.Equal(t, "a\xff", string(wholeRunes([]byte("a\xff"))), "an invalid byte is not the beginning of a character")
}

func TestNearest(t *testing.T) {
	t.Parallel()
	tools := []string{"list_files", "read_file", "search_file", "query_sqlite"}
	require.Equal(t, "read_file", nearest("readFile", tools, 1)[0])
	require.Equal(t, "read_file", nearest("functions.read_file", tools, 1)[0])
	require.Equal(t, "query_sqlite", nearest("sqlite_query", tools, 2)[0])
	require.Empty(t, nearest("xyz", tools, 3))
	require.Empty(t, nearest("", tools, 3))
}
