package editor

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func candidates(texts ...string) []Candidate {
	var out []Candidate
	for _, text := range texts {
		out = append(out, Candidate{Text: text})
	}
	return out
}

func names(matches []Match) []string {
	out := []string{}
	for _, m := range matches {
		out = append(out, m.Text)
	}
	return out
}

func TestFilterRanks(t *testing.T) {
	t.Parallel()
	all := candidates("xadx", "a/red", "Readme", "reading", "read", "r_e_a_d", "thread", "other")
	require.Equal(t, []string{"read", "reading", "Readme", "thread", "r_e_a_d"}, names(Filter("read", all)))
	require.Equal(t, []string{"a/red", "read", "Readme", "thread", "reading", "r_e_a_d"}, names(Filter("red", all)))
	require.Equal(t, names(Filter("", all)), []string{"xadx", "a/red", "Readme", "reading", "read", "r_e_a_d", "thread", "other"})
	require.Empty(t, Filter("zzz", all))
	require.Equal(t, []int{2, 3, 4}, Filter("red", all)[0].Marks)
	require.Equal(t, []int{0, 2, 4, 6}, Filter("read", all)[4].Marks)
	require.Equal(t, []int{0, 3}, Filter("汉字", candidates("汉字典"))[0].Marks)
	require.Equal(t, []int{1, 3}, Filter("ÄÖ", candidates("xäö"))[0].Marks)
	require.Len(t, Filter("a", candidates(make([]string, 2000)...)), 0)
	long := make([]string, maxMatches+5)
	for i := range long {
		long[i] = "a"
	}
	require.Len(t, Filter("a", candidates(long...)), maxMatches)
}

func TestPopup(t *testing.T) {
	t.Parallel()
	var e Editor
	var p Popup
	all := []Candidate{{Kind: "command", Text: "/help", Suffix: " "}, {Kind: "command", Text: "/history", Suffix: " "}, {Kind: "command", Text: "/quit"}}
	update := func() {
		query, _, _ := e.Word()
		p.Update(query, all)
	}
	require.False(t, p.Accept(&e))
	p.Move(1)
	require.False(t, p.Select(0))
	e.Insert("/h")
	update()
	require.True(t, p.Open())
	require.Equal(t, []string{"/help", "/history"}, names(p.Matches()))
	p.Move(-1)
	c, ok := p.Selected()
	require.True(t, ok)
	require.Equal(t, "/history", c.Text)
	e.Insert("i")
	update()
	c, _ = p.Selected()
	require.Equal(t, "/history", c.Text)
	e.Backspace()
	update()
	require.Equal(t, []string{"/help", "/history"}, names(p.Matches()))
	p.Dismiss()
	update()
	require.False(t, p.Open(), "it stays closed")
	require.Empty(t, p.Matches())
	e.Insert("e")
	update()
	require.True(t, p.Open(), "until the word changes")
	e.Left()
	require.True(t, p.Accept(&e))
	require.Equal(t, "/help ", e.Text())
	require.False(t, p.Open())
	e.Undo()
	require.Equal(t, "/he", e.Text())
	e.SetText("/quit")
	update()
	require.False(t, p.Open(), "there is nothing left to complete")
	e.SetText("x")
	update()
	require.False(t, p.Open())
}

func TestPopupKeepsTheSelection(t *testing.T) {
	t.Parallel()
	var p Popup
	p.Update("", candidates("ba", "ab", "abc"))
	require.True(t, p.Select(1))
	require.False(t, p.Select(3))
	require.False(t, p.Select(-1))
	p.Update("b", candidates("ba", "ab", "abc"))
	c, _ := p.Selected()
	require.Equal(t, "ab", c.Text)
	p.Update("ba", candidates("ba", "ab", "abc", "bac"))
	c, _ = p.Selected()
	require.Equal(t, "ba", c.Text, "the best where the selected one does not fit any more")
	p.Move(5)
	c, _ = p.Selected()
	require.Equal(t, "bac", c.Text)
}

func TestPopupWindow(t *testing.T) {
	t.Parallel()
	var p Popup
	_, first, selected := p.Window(3)
	require.Zero(t, first+selected)
	p.Update("", candidates("0", "1", "2", "3", "4"))
	for i, want := range [][3]int{{0, 0, 3}, {0, 1, 3}, {1, 1, 3}, {2, 1, 3}, {2, 2, 3}} {
		visible, first, selected := p.Window(3)
		require.Equal(t, want, [3]int{first, selected, len(visible)}, "%d", i)
		p.Move(1)
	}
	visible, _, _ := p.Window(9)
	require.Len(t, visible, 5)
	visible, _, _ = p.Window(0)
	require.Empty(t, visible)
}

func TestWord(t *testing.T) {
	t.Parallel()
	var e Editor
	word := func(wantQuery, wantWord string, wantFirst bool) {
		t.Helper()
		query, word, first := e.Word()
		require.Equal(t, []any{wantQuery, wantWord, wantFirst}, []any{query, word, first})
	}
	word("", "", true)
	e.Insert("  /tool read_file\u3000@src/汉字.go x\nb")
	word("b", "b", false)
	e.Up()
	e.Home()
	e.Right()
	e.Right()
	e.Right()
	word("/", "/tool", true)
	e.WordRight()
	e.WordRight()
	word("read_file", "read_file", false)
	e.Right()
	word("", "@src/汉字.go", false)
	e.Right()
	e.Right()
	word("@s", "@src/汉字.go", false)
	e.ReplaceWord("@x.go ")
	require.Equal(t, "  /tool read_file\u3000@x.go x\nb", e.Text(), "one space, not two")
	e.Insert("y")
	require.Equal(t, "  /tool read_file\u3000@x.go yx\nb", e.Text())
}

// TestFilterIsSound: what fits has the characters of the query where it says, and the order is that of the ranks.
func TestFilterIsSound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.SampledFrom([]rune("abAB/_汉ä")), 0, 6, -1)
		query := text.Draw(t, "query")
		matches := Filter(query, candidates(rapid.SliceOf(text).Draw(t, "texts")...))
		wanted, _ := fold(query)
		for i, m := range matches {
			if i > 0 {
				require.GreaterOrEqual(t, m.rank, matches[i-1].rank)
			}
			if query == "" {
				continue
			}
			require.Len(t, m.Marks, len(wanted))
			for k, at := range m.Marks {
				folded, _ := fold(m.Text[at:])
				require.Equal(t, wanted[k], folded[0])
				require.True(t, k == 0 || at > m.Marks[k-1])
			}
		}
	})
}
