package app

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"github.com/llama-agent/llama-agent/tools"
)

func TestMostRelevantPutsWhatTheGoalNamesFirst(t *testing.T) {
	t.Parallel()
	var files []tools.ListedFile
	for i := range 200 {
		files = append(files, tools.ListedFile{Path: fmt.Sprintf("a%03d.txt", i)})
	}
	deep := []string{"x/y/z/ledger.db", "x/y/z/other.md", "x/rota/monday.txt", "x/rota/tuesday.txt", "x/y/note"}
	for _, path := range deep {
		files = append(files, tools.ListedFile{Path: path})
	}
	paths := func(goal string) string {
		var out []string
		for _, f := range mostRelevant(files, goal) {
			out = append(out, f.Path)
		}
		require.Len(t, out, shownFiles)
		require.IsIncreasing(t, out)
		return strings.Join(out, "\n")
	}
	shown := paths("Sum up Ledger.db")
	require.Contains(t, shown, "x/y/z/ledger.db")
	require.NotContains(t, shown, "other.md")
	shown = paths("谁在 rota 里？")
	require.Contains(t, shown, "x/rota/monday.txt\nx/rota/tuesday.txt")
	require.NotContains(t, shown, "ledger")
	require.NotContains(t, paths("hello"), "x/", "nothing is named: the files at the top")
	require.Contains(t, paths("read the note"), "x/y/note")
	require.Len(t, mostRelevant(files[:3], "anything"), 3)
}

func TestFactsDescribeDatabases(t *testing.T) {
	t.Parallel()
	c := configure(t)
	db, err := sql.Open("sqlite", filepath.Join(c.Workspace, "b.db"))
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), `CREATE TABLE birds (kind TEXT, seen INTEGER); INSERT INTO birds VALUES ('wren', 2), ('robin', 3)`)
	require.NoError(t, err)
	require.NoError(t, db.Close())
	require.NoError(t, os.WriteFile(filepath.Join(c.Workspace, "broken.db"), append([]byte("SQLite format 3\x00"), make([]byte, 2000)...), 0o600))

	facts, err := open(t, c, &answers{}).facts(t.Context(), "", "", nil)
	require.NoError(t, err)
	details := map[string]string{}
	for _, f := range facts.Files {
		details[f.Path] = f.Detail
	}
	require.Contains(t, details["b.db"], "birds")
	require.Contains(t, details["b.db"], "'robin', 'wren'")
	require.NotContains(t, details["b.db"], "b.db", "the heading would repeat the line above")
	require.Empty(t, details["broken.db"])
}

func TestFactsDescribeTables(t *testing.T) {
	t.Parallel()
	c := configure(t)
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(c.Workspace, name), []byte(text), 0o600))
	}
	write("birds.csv", "kind,seen\nwren,2\nrobin,3\n")
	write("numbers.csv", "1,2\n3,4\n")
	write("settings.json", `{"port":80,"hosts":["a","b"]}`)
	write("large.csv", "kind,seen\n"+strings.Repeat("wren,2\n", maxTableBytes/7+1))
	for i := range shownTables {
		write(fmt.Sprintf("more-%d.json", i), `[{"a":1,"b":2},{"a":3,"b":4}]`)
	}
	write("log.csv", "time,kind\n1,a\n")
	facts, err := open(t, c, &answers{}).facts(t.Context(), "", "", nil)
	require.NoError(t, err)
	described := map[string]string{}
	for _, f := range facts.Files {
		if f.Detail != "" {
			require.Equal(t, tools.KindTable, f.Kind, f.Path)
			described[f.Path] = f.Detail
		} else {
			require.Equal(t, "text", f.Kind, f.Path)
		}
	}
	require.Len(t, described, shownTables)
	require.Equal(t, "  table birds, 2 rows: kind TEXT (values: 'robin', 'wren'), seen INTEGER", described["birds.csv"])
	require.Contains(t, described, "more-0.json")
	for _, path := range []string{"numbers.csv", "settings.json", "large.csv", "log.csv"} {
		require.NotContains(t, described, path)
	}
}

func TestDetailIsCutAtWholeLines(t *testing.T) {
	t.Parallel()
	text := "heading\n" + strings.Repeat(strings.Repeat("x", 300)+"\n", 20)
	got := detail(text)
	require.LessOrEqual(t, len(got), maxDetailBytes+200)
	require.Contains(t, got, "more lines; see describe_sqlite_table")
	require.Equal(t, "  one\n  two", detail("heading\none\ntwo\n"))
	require.Empty(t, detail("heading"))
}

func TestRestates(t *testing.T) {
	t.Parallel()
	remembered := []string{"violin lesson: Monday at 5", "favourite drink: barley coffee", "年会日期：2031年3月4日"}
	for goal, want := range map[string]bool{
		"The lesson is at 6 now.": true, "I would rather have another favourite drink.": true, "更正一下：年会改到2031年3月9日了。": true,
		"When is the lesson? At 6?": false, "The lesson was nice.": false, "I have 3 cats.": false, "": false, "今天天气很好。": false,
	} {
		require.Equal(t, want, restates(goal, remembered), goal)
	}
}
