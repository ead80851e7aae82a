package app

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/agent"
)

func TestFoundNamesTheFileThatHasTheWordsOfATask(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var files []agent.File
	for name, text := range map[string]string{
		"a.txt":        "The kettle is in the kitchen.\n\n\n\n\nWho waters the roses?\n",
		"b.md":         "Rules\n\n- roses: twice a week\n- the kettle belongs to Ada, who lends it\n",
		"c.log":        "kettle kettle\n",
		"d.txt":        "\xff\xfe roses kettle",
		"2031.txt":     "2031 1999\n",
		"e.txt":        "花园规则\n玫瑰每周浇水两次\n",
		"f.db":         "roses kettle",
		"gone.txt":     "",
		"wish-list.md": "- lamp\n\n\n- heater: granted\n",
		"large.txt":    strings.Repeat("x\n", maxLookedBytes/2) + "roses lends\n",
	} {
		kind := "text"
		if strings.HasSuffix(name, ".db") {
			kind = "sqlite"
		}
		files = append(files, agent.File{Path: name, Kind: kind})
		if kind == "sqlite" {
			files[len(files)-1].Detail = "  table plants, 3 rows: name TEXT (values: 'tulip', 'lily')"
		}
		if name != "gone.txt" {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		}
	}
	require.NoError(t, os.WriteFile(filepath.Join(t.TempDir(), "outside"), []byte("roses kettle"), 0o600))
	for goal, want := range map[string][]agent.Found{
		"Who lends the kettles for the Roses?":    {{Path: "b.md", Words: []string{"lends", "kettles", "roses"}}},
		"who waters the kettle":                   nil, // not in one place
		"Is the heater of the wish list granted?": {{Path: "wish-list.md", Words: []string{"heater", "wish", "granted"}}},
		"Whose wish is it?":                       nil,
		"How many plants are tulips?":             {{Path: "f.db", Words: []string{"plants", "tulips"}}},
		"roses in 2031 and 1999":                  nil,
		"What does it say about the roses?":       nil, // one word
		"玫瑰多久浇水？":                                 {{Path: "e.txt", Words: []string{"玫瑰", "浇水"}}},
		"which of them have this there and then":  nil,
		"":                                        nil,
	} {
		require.Equal(t, want, found(context.Background(), dir, goal, files), goal)
	}
	stopped, stop := context.WithCancel(context.Background())
	stop()
	require.Empty(t, found(stopped, dir, "Who lends the kettles for the roses?", files))
	require.Empty(t, found(context.Background(), filepath.Join(dir, "gone"), "Who lends the kettles for the roses?", files))
}

func TestFoundLeavesOutWhatIsMuchLess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var files []agent.File
	for name, text := range map[string]string{"1": "amber birch cedar delta\n", "2": "amber birch\n", "3": "amber birch\n", "4": "amber birch\n"} {
		files = append(files, agent.File{Path: name, Kind: "text"})
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	require.Equal(t, []agent.Found{{Path: "1", Words: []string{"amber", "birch", "cedar", "delta"}}},
		found(context.Background(), dir, "amber, birch, cedar, delta", files))
	require.Len(t, found(context.Background(), dir, "amber or birch", files), maxFound)
}

func TestFoundFollowsNoLinkOutOfTheWorkspace(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("amber birch"), 0o600))
	dir := t.TempDir()
	require.NoError(t, os.Symlink(secret, filepath.Join(dir, "link")))
	require.Empty(t, found(context.Background(), dir, "amber birch", []agent.File{{Path: "link", Kind: "text"}}))
}

func TestDistinctWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"数据库": 1, "数据 索引": 2, "公司名称": 2, "roses kettle": 2, "": 0} {
		order, _ := wordsOf(text)
		require.Equal(t, want, distinctWords(order), text)
	}
}
