package tools

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// ask runs a query on a file and returns what the model reads.
func ask(t *testing.T, r *Registry, file, sql string) string {
	t.Helper()
	return mustCall(t, r, "query_sqlite", map[string]any{"db_path": file, "query": sql}).Text
}

func TestTextFilesAreQueriedAsTables(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	_, err := w.Write([]byte("kind,n\na,1\nb,2\n"))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	writeFiles(t, dir, map[string]string{
		"data/bird list.csv": "Name,wing span,seen,code,note\r\nowl, 9.5,3,007,\"big, brown\"\r\nwren,1,12,010,\r\nkite,,4,100,\"two\nlines\"\r\n",
		"semicolon.csv":      "\xef\xbb\xbfort;menge\nBern;1\nGenf;2\n",
		"tabs.tsv":           "城市\t人口\n伯尔尼\t134\n日内瓦\t203\n",
		"list.json":          `[{"name":"Ada","tags":["x"],"age":36,"ok":true},{"age":null,"name":"Bob","town":"Chur"}]`,
		"inside.json":        `{"version":2,"guests":[{"name":"Ada","age":36},{"name":"Bob","age":7}]}`,
		"rows.jsonl":         "{\"a\":1,\"b\":\"x\"}\n\n{\"a\":2,\"b\":\"y\"}\n",
		"packed.csv.gz":      zipped.String(),
	})
	r := builtins(t, dir)
	birds := "data/bird list.csv"
	require.Equal(t, birds+": 1 tables and views\n"+
		"table bird_list, 3 rows: Name TEXT (values: 'kite', 'owl', 'wren'), wing_span REAL, seen INTEGER, code TEXT (values: '007', '010', '100'), "+
		`note TEXT (values: '', 'big, brown', 'two␊lines')`,
		mustCall(t, r, "describe_sqlite_table", map[string]any{"db_path": birds}).Text)
	require.Equal(t, "1 row\nName: wren\nseen: 12", ask(t, r, birds, "SELECT Name, seen FROM bird_list ORDER BY seen DESC LIMIT 1"))
	require.Equal(t, "1 row\nsum(seen): 19\navg(wing_span): 5.25", ask(t, r, birds, "SELECT sum(seen), avg(wing_span) FROM bird_list"),
		"a missing number is no zero")
	require.Equal(t, "1 row\nName: kite\nwing_span: NULL", ask(t, r, birds, "SELECT Name, wing_span FROM bird_list WHERE Name = 'kite'"))
	require.Equal(t, "1 row\nsum(menge): 3", ask(t, r, "semicolon.csv", "SELECT sum(menge) FROM semicolon"))
	require.Equal(t, "1 row\n城市: 日内瓦", ask(t, r, "tabs.tsv", "SELECT 城市 FROM tabs WHERE 人口 > 150"))
	require.Equal(t, "2 rows\nname | tags | age | ok | town\nAda | [\"x\"] | 36 | true | NULL\nBob | NULL | NULL | NULL | Chur", ask(t, r, "list.json", "SELECT * FROM list"))
	require.Equal(t, "1 row\nname: Bob", ask(t, r, "inside.json", "SELECT name FROM guests WHERE age < 18"))
	require.Equal(t, "1 row\nmax(a): 2", ask(t, r, "rows.jsonl", "SELECT max(a) FROM rows"))
	require.Equal(t, "1 row\nn: 2", ask(t, r, "packed.csv.gz", "SELECT n FROM packed WHERE kind = 'b'"))

	// What is not found in a short file is seen in it.
	require.Equal(t, "0 rows (columns: ort)\nThe file is short; this is all of it:\nort;menge\nBern;1\nGenf;2", ask(t, r, "semicolon.csv", "SELECT ort FROM semicolon WHERE ort = 'Geneva'"))
	require.Contains(t, ask(t, r, "semicolon.csv", "SELECT count(*) FROM semicolon WHERE ort = 'Geneva'"), "this is all of it")
	require.Contains(t, ask(t, r, "semicolon.csv", "SELECT sum(menge) FROM semicolon WHERE ort = 'Geneva'"), "sum(menge): NULL\nThe file is short")

	before := tree(t, dir)
	callError(t, r, "query_sqlite", map[string]any{"db_path": "semicolon.csv", "query": "DELETE FROM semicolon"}, KindDenied)
	wrong := callError(t, r, "query_sqlite", map[string]any{"db_path": "semicolon.csv", "query": "SELECT menge FROM orte"}, KindInvalidArguments)
	require.ErrorContains(t, wrong, "semicolon(ort, menge)")
	require.Equal(t, before, tree(t, dir))
}

func TestLargeTables(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var b strings.Builder
	b.WriteString("n,double\n")
	for i := range 12_345 { // more than one statement inserts, and no whole number of them
		fmt.Fprintf(&b, "%d,%d\n", i, 2*i)
	}
	writeFiles(t, dir, map[string]string{"many.csv": b.String()})
	r := builtins(t, dir)
	require.Equal(t, "1 row\ncount(*): 12345\nsum(n): 76193340\nmax(double): 24688", ask(t, r, "many.csv", "SELECT count(*), sum(n), max(double) FROM many"))
}

func TestTextFilesWithoutATable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cases := map[string]struct{ text, why string }{
		"numbers.csv":  {"1,2\n3,4\n", "does not name the columns"},
		"gap.csv":      {"a,,c\n1,2,3\n", "does not name the columns"},
		"twice.csv":    {"a,A\n1,2\n", `two of its columns are called "A"`},
		"one.csv":      {"a\n1\n", "it has 1 column"},
		"ragged.csv":   {"a,b\n1,2\n1,2,3\n", "wrong number of fields"},
		"header.csv":   {"a,b\n", "it has no rows"},
		"blank.csv":    {"\n\n", "it is empty"},
		"object.json":  {`{"a":1,"b":{"c":[1,2]}}`, "not a list of objects"},
		"scalars.json": {`[1,2]`, "not a list of objects"},
		"broken.json":  {`[{"a":1,"b":2},`, "not a list of objects"},
		"two.json":     {`{"x":[{"a":1,"b":2}],"y":[{"a":1,"b":2}]}`, "several lists"},
		"wide.csv":     {strings.Repeat("a,", 250) + "b\n" + strings.Repeat("1,", 250) + "1\n", "it has 251 columns"},
	}
	for name, c := range cases {
		writeFiles(t, dir, map[string]string{name: c.text})
	}
	writeFiles(t, dir, map[string]string{"prose.txt": "a,b\n1,2\n"})
	r := builtins(t, dir)
	for name, c := range cases {
		problem := callError(t, r, "query_sqlite", map[string]any{"db_path": name, "query": "SELECT 1"}, KindWrongKind)
		require.ErrorContains(t, problem, c.why, name)
		require.Equal(t, "read_file", problem.Instead, name)
	}
	require.ErrorContains(t, callError(t, r, "query_sqlite", map[string]any{"db_path": "prose.txt", "query": "SELECT 1"}, KindWrongKind), "is a text file")
	damaged := "broken.csv.gz"
	require.NoError(t, os.WriteFile(filepath.Join(dir, damaged), []byte("\x1f\x8b\x08\x00garbage"), 0o600))
	callError(t, r, "query_sqlite", map[string]any{"db_path": damaged, "query": "SELECT 1"}, KindFailed)
}

// Not parallel: it sets the folder for temporary files.
func TestTablesLeaveNothingBehind(t *testing.T) {
	dir, temporary := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", temporary)
	writeFiles(t, dir, map[string]string{"a.csv": "x,y\n1,2\n", "ragged.csv": "a,b\n1\n"})
	r := builtins(t, dir)
	require.Equal(t, "1 row\ny: 2", ask(t, r, "a.csv", "SELECT y FROM a"))
	callError(t, r, "query_sqlite", map[string]any{"db_path": "ragged.csv", "query": "SELECT 1"}, KindWrongKind)
	left, err := os.ReadDir(temporary)
	require.NoError(t, err)
	require.Empty(t, left)

	t.Setenv("TMPDIR", filepath.Join(temporary, "gone"))
	callError(t, r, "query_sqlite", map[string]any{"db_path": "a.csv", "query": "SELECT y FROM a"}, KindFailed)
}

func FuzzTables(f *testing.F) {
	for _, text := range []string{"a,b\n1,2\n", "a;b\n\"x\n", `[{"a":1}]`, `{"x":[{"a":1,"b":null}]}`, "{\"a\":1,\"b\":2}\n{\"b\":3}", "\xff,\n"} {
		f.Add(text, uint8(0))
	}
	f.Fuzz(func(t *testing.T, text string, kind uint8) {
		var content *table
		var err error
		switch kind % 3 {
		case 0:
			content, err = separatedTable("t", []byte(text), separators[".csv"])
		case 1:
			content, err = objectTable("t", []byte(text), false)
		default:
			content, err = objectTable("t", []byte(text), true)
		}
		if err != nil {
			require.ErrorAs(t, err, new(errNoTable))
			return
		}
		for _, row := range content.rows {
			require.Len(t, row, len(content.columns))
		}
		require.NoError(t, content.store(t.Context(), filepath.Join(t.TempDir(), "t.db")))
	})
}
