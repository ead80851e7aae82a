package tools

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestExtremesOfATableThatIsAFile(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ file, text, want string }{
		{"a.csv", "hill,height,zip\nAlder,210.5,0815\nBirch,1099,0816\nCedar,-95,0817\n", "\n[largest height: 1099 (Birch | 0816); smallest: -95 (Cedar | 0817)]"},
		{"a.CSV", "hill;height\n\"Alder; old\";2\nBirch;3\nCedar;1\n", "\n[largest height: 3 (Birch); smallest: 1 (Cedar)]"},
		{"a.tsv", "hill\theight\nAlder\t2\nBirch\t3\nCedar\t1\n", "\n[largest height: 3 (Birch); smallest: 1 (Cedar)]"},
		{"a.json", `[{"hill":"Alder","m":2},{"hill":"Birch","m":3},{"hill":"Cedar","m":1}]`, "\n[largest m: 3 (Birch); smallest: 1 (Cedar)]"},
		{"a.json", `{"hills":[{"m":2,"tags":["x"]},{"m":3,"tags":[]},{"m":1,"tags":[]}]}`, "\n[largest m: 3 ([]); smallest: 1 ([])]"},
		{"a.json", `[{"m":2},{"m":3},{"n":1}]`, ""},
		{"a.json", `[1,2,3]`, ""},
		{"a.json", `{"a":[{"m":2}],"b":2}`, ""},
		{"a.csv", "hill,height\nAlder,2\nBirch\nCedar,1\n", ""},
		{"a.csv", "hill,height\nAlder,2\nBirch,n/a\nCedar,1\n", ""},
		{"a.csv", "m\n1e999999999\n2\n3\n", ""},
		{"a.csv", "m\n" + strings.Repeat("9", 60) + "\n2\n3\n", ""},
		{"a.csv", "m\n1\n2\n", ""},
		{"a.csv", "", ""},
		{"a.txt", "hill,height\nAlder,2\nBirch,3\nCedar,1\n", ""},
		{"a.csv", "n,m\n" + strings.Repeat("x,1\n", maxTableRows) + "y,2\n", ""},
	} {
		require.Equal(t, test.want, tableExtremes(test.file, test.text), test.text)
	}
}

func TestAFileThatIsShownWholeTellsItsExtremes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"a.csv": "hill,height\nAlder,2\nBirch,3\nCedar,1\n"})
	r := builtins(t, dir)
	want := "Cedar,1\n[largest height: 3 (Birch); smallest: 1 (Cedar)]"
	require.True(t, strings.HasSuffix(mustCall(t, r, "read_file", map[string]any{"file_path": "a.csv"}).Text, want))
	require.True(t, strings.HasSuffix(mustCall(t, r, "search_file", map[string]any{"file_path": "a.csv", "query": "tallest"}).Text, want))
	require.NotContains(t, mustCall(t, r, "read_file", map[string]any{"file_path": "a.csv", "start_line": 2}).Text, "largest", "a part of a table")
}

func FuzzTableExtremes(f *testing.F) {
	f.Add("a.csv", "a,b\n1,2\n3,4\n5,6\n")
	f.Add("a.json", `[{"m":2},{"m":3},{"m":1}]`)
	f.Fuzz(func(t *testing.T, file, text string) {
		if out := tableExtremes(file, text); out != "" {
			require.True(t, strings.HasPrefix(out, "\n[largest "))
		}
	})
}
