package editor

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func rows(v View) []string {
	var out []string
	for _, l := range v.Lines {
		out = append(out, l.String())
	}
	return out
}

func TestView(t *testing.T) {
	t.Parallel()
	var e Editor
	require.Equal(t, View{Lines: e.View(5, 2).Lines, Rows: 1}, e.View(5, 2))
	require.Equal(t, View{}, e.View(0, 5))
	require.Equal(t, View{}, e.View(5, 0))
	e.Insert("one two three")
	v := e.View(8, 5)
	require.Equal(t, []string{"one two ", "three"}, rows(v), "the space is where the cursor would be")
	require.Equal(t, [2]int{5, 1}, [2]int{v.X, v.Y})
	e.SetText("one two ")
	require.Equal(t, 7, e.View(8, 5).X)
	e.Insert(" ")
	require.Equal(t, []string{"one two ", " "}, rows(e.View(8, 5)))
	e.SetText("one two three")
	require.Equal(t, []string{"one ", "two ", "three"}, rows(e.View(6, 5)))
	require.Equal(t, []string{"o", "n", "e", " ", "t"}, rows(e.View(1, 20))[:5])
	require.Equal(t, 0, e.View(1, 20).X)
	e.SetText("汉字ab汉")
	require.Equal(t, []string{"汉字", "ab汉"}, rows(e.View(6, 5)))
	require.Equal(t, []string{"汉", "字", "ab", "汉"}, rows(e.View(4, 5)))
	e.SetText("a\tb\x1b[2J\u202e\u200d\xff")
	require.Equal(t, "a   b{muted}␛{}[2J{muted}<U+202E>{}{muted}<U+200D>{}{muted}\\xFF{}", strings.ReplaceAll(e.View(40, 1).Lines[0].Marked(), "{muted}   {}", "   "))
}

func TestViewScrolls(t *testing.T) {
	t.Parallel()
	var e Editor
	e.Insert("1\n2\n3\n4\n5")
	v := e.View(10, 2)
	require.Equal(t, View{Lines: v.Lines, X: 1, Y: 1, Top: 3, Rows: 5}, v)
	require.Equal(t, []string{"4", "5"}, rows(v))
	e.Up()
	require.Equal(t, 3, e.View(10, 2).Top, "nothing scrolls while the cursor is visible")
	e.Up()
	require.Equal(t, []string{"3", "4"}, rows(e.View(10, 2)))
	e.TextStart()
	require.Equal(t, []string{"1", "2"}, rows(e.View(10, 2)))
	e.TextEnd()
	e.View(10, 2)
	e.Backspace()
	e.Backspace()
	require.Equal(t, []string{"3", "4"}, rows(e.View(10, 2)))
	require.Equal(t, []string{"1", "2", "3", "4"}, rows(e.View(10, 9)), "no row is empty without need")
}

func TestVerticalMotionsKeepTheColumn(t *testing.T) {
	t.Parallel()
	var e Editor
	e.Insert("abcdef\n汉字汉\n\nabc")
	at := func(want string) {
		t.Helper()
		require.Equal(t, want, e.lines.between(place{e.cursor.line, 0}, e.cursor))
	}
	e.View(20, 5)
	e.Up()
	at("")
	e.Up()
	at("汉")
	e.Up()
	at("abc")
	e.Right()
	e.Down()
	at("汉字")
	e.Down()
	at("")
	e.Down()
	at("abc")
	e.SetText("one two three")
	e.View(6, 5)
	e.Up()
	require.Equal(t, "one two", e.lines.between(place{}, e.cursor))
	e.TextStart()
	e.End()
	require.Equal(t, View{Lines: e.View(6, 5).Lines, X: 5, Y: 2, Rows: 3}, e.View(6, 5))
	e.SetText("abcd汉")
	e.View(5, 5)
	e.Up()
	e.Insert("x")
	require.Equal(t, "abxcd汉", e.Text())
}

func TestClick(t *testing.T) {
	t.Parallel()
	var e Editor
	e.Insert("1\n2\n3\n汉字x\n5")
	e.View(10, 2)
	for _, c := range []struct {
		x, y int
		want string
	}{{0, 0, ""}, {1, 0, ""}, {2, 0, "汉"}, {3, 0, "汉"}, {99, 0, "汉字x"}, {-5, 0, ""}, {0, 1, ""}, {9, 99, "5"}} {
		e.Click(c.x, c.y)
		require.Equal(t, c.want, e.lines.between(place{e.cursor.line, 0}, e.cursor), "%v", c)
		e.TextEnd()
		e.View(10, 2)
	}
}

// TestViewShowsEverythingOnce: no row is too wide, the cursor is where the text before it ends, and every character
// is in one row.
func TestViewShowsEverythingOnce(t *testing.T) {
	t.Parallel()
	parts := []string{"a", "word", " ", "  ", "\n", "汉", "字", "🙂", "e\u0301", "👨\u200d👩\u200d👧", "\t", "x.", "\u1000\u103c\u1031"}
	rapid.Check(t, func(t *rapid.T) {
		var e Editor
		e.Insert(strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 0, 30).Draw(t, "text"), ""))
		width, height := rapid.IntRange(1, 15).Draw(t, "width"), rapid.IntRange(1, 40).Draw(t, "height")
		for range rapid.IntRange(0, 5).Draw(t, "moves") {
			rapid.SampledFrom([]func(){e.Up, e.Down, e.Left, e.Right, e.Home, e.WordLeft}).Draw(t, "move")()
			v := e.View(width, height)
			require.LessOrEqual(t, len(v.Lines), height)
			require.True(t, v.X >= 0 && v.X < width && v.Y >= 0 && v.Y < len(v.Lines), "the cursor at %d, %d", v.X, v.Y)
			for _, l := range v.Lines {
				require.LessOrEqual(t, l.Width(), width, "%q", l.String())
			}
			if width > 4 && v.Rows <= height && !strings.Contains(e.Text(), "\t") {
				require.Equal(t, strings.ReplaceAll(e.Text(), "\n", ""), strings.Join(rows(v), ""))
			}
			if width > 4 {
				x := v.X
				e.Click(v.X, v.Y)
				require.Equal(t, x, e.View(width, height).X, "a click on the cursor leaves it there")
			}
		}
	})
}

func TestPasteIsLaidOutOnce(t *testing.T) {
	t.Parallel()
	var e Editor
	e.Paste(strings.Repeat("a line of text\n", 10_000))
	e.View(80, 5)
	kept := make([]*layout, 10_000)
	copy(kept, e.lines.layout)
	e.TextStart()
	e.Newline()
	e.Insert("x")
	v := e.View(80, 5)
	require.Equal(t, 10_002, v.Rows)
	for i := 1; i < 10_000; i++ {
		if kept[i] != e.lines.layout[i+1] {
			require.Same(t, kept[i], e.lines.layout[i+1], "a line that did not change is not laid out again")
		}
	}
}

// TestChangedLayout compares the layout after a change with a new one.
func TestChangedLayout(t *testing.T) {
	t.Parallel()
	parts := []string{"a", "word", " ", "  ", "汉", "字", "🙂", "e", "\u0301", "👩", "\u200d", "🇩", "🇪", "\t", "x.", "\u1000\u103c\u1031", "\xff"}
	part := rapid.Map(rapid.SliceOfN(rapid.SampledFrom(parts), 0, 60), func(s []string) string { return strings.Join(s, "") })
	rapid.Check(t, func(t *rapid.T) {
		head, old, fresh, tail := part.Draw(t, "head"), part.Draw(t, "old"), part.Draw(t, "fresh"), part.Draw(t, "tail")
		width, hang := rapid.IntRange(1, 12).Draw(t, "width"), rapid.Bool().Draw(t, "hang")
		before := newLayout(head+old+tail, width, hang)
		kept := append([]int(nil), before.starts...)
		after := before.changed(head+fresh+tail, len(head), len(old), len(fresh))
		require.Equal(t, newLayout(head+fresh+tail, width, hang), after)
		require.Equal(t, kept, before.starts)
	})
}
