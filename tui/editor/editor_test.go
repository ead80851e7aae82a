package editor

import (
	"strings"
	"testing"

	"github.com/rivo/uniseg"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

const wide = "你好，世界🙂é👨\u200d👩\u200d👧"

// TestWideCharacters is the input of a report about editors that count characters instead of clusters.
func TestWideCharacters(t *testing.T) {
	t.Parallel()
	for _, text := range []string{wide, "你好，世界🙂e\u0301👨\u200d👩\u200d👧"} {
		var e Editor
		for _, r := range text {
			e.Insert(string(r))
		}
		require.Equal(t, 15, e.View(40, 1).X)
		e.Left()
		require.Equal(t, 13, e.View(40, 1).X)
		e.Left()
		require.Equal(t, 12, e.View(40, 1).X)
		e.Left()
		require.Equal(t, 10, e.View(40, 1).X, "before the smile")
		e.Backspace()
		e.Backspace()
		v := e.View(40, 1)
		require.Equal(t, 6, v.X)
		require.Equal(t, strings.Replace(text, "世界", "", 1), v.Lines[0].String())
		require.Equal(t, strings.Replace(text, "世界", "", 1), e.Submit())
		require.True(t, e.Empty())
	}
}

func TestDeletingWholeClusters(t *testing.T) {
	t.Parallel()
	var e Editor
	e.Insert("a" + wide)
	for range uniseg.GraphemeClusterCount(wide) {
		e.Backspace()
	}
	require.Equal(t, "a", e.Text())
	e.Home()
	e.Delete()
	e.Delete()
	e.Backspace()
	require.Equal(t, "", e.Text())
	e.Insert("e")
	e.Insert("x")
	e.Insert("\u0301")
	e.Left()
	e.Backspace()
	require.Equal(t, "x\u0301", e.Text())
	e.SetText("ex\u0301")
	e.Left()
	e.Insert("👩\u200d")
	require.Equal(t, "e👩\u200dx\u0301", e.Text())
}

func TestMotions(t *testing.T) {
	t.Parallel()
	var e Editor
	e.Insert("one two.three\n\n  four")
	at := func() string { return e.lines.between(place{}, e.cursor) }
	for _, c := range []struct {
		key  func()
		want string
	}{
		{e.WordLeft, "one two.three\n\n  "}, {e.WordLeft, "one two.three\n\n"}, {e.WordLeft, "one two.three\n"}, {e.WordLeft, "one two.three"},
		{e.WordLeft, "one two."}, {e.WordLeft, "one "}, {e.WordLeft, ""}, {e.WordLeft, ""}, {e.Left, ""},
		{e.WordRight, "one"}, {e.WordRight, "one two"}, {e.WordRight, "one two.three"}, {e.WordRight, "one two.three\n"}, {e.Right, "one two.three\n\n"},
		{e.End, "one two.three\n\n  four"}, {e.Right, "one two.three\n\n  four"}, {e.WordRight, "one two.three\n\n  four"}, {e.Home, "one two.three\n\n"},
		{e.TextStart, ""}, {e.End, "one two.three"}, {e.TextEnd, "one two.three\n\n  four"},
	} {
		c.key()
		require.Equal(t, c.want, at())
	}
	e.DeleteWordLeft()
	require.Equal(t, "one two.three\n\n  ", e.Text())
	e.DeleteToStart()
	e.DeleteToStart()
	require.Equal(t, "one two.three\n", e.Text())
	e.TextStart()
	e.DeleteWordRight()
	require.Equal(t, " two.three\n", e.Text())
	e.DeleteToEnd()
	require.Equal(t, "\n", e.Text())
	e.DeleteToEnd()
	e.DeleteToEnd()
	e.Delete()
	require.Equal(t, "", e.Text())
}

func TestPaste(t *testing.T) {
	t.Parallel()
	var e Editor
	e.Insert("ab")
	e.Left()
	e.Paste("1\r\n2\r3\n4")
	require.Equal(t, "a1\n2\n3\n4b", e.Text())
	e.Insert("x")
	require.Equal(t, "a1\n2\n3\n4xb", e.Text())
	require.True(t, e.Undo())
	require.True(t, e.Undo())
	require.Equal(t, "ab", e.Text())
	e.Insert("\r\x1b[31m\xff\t")
	require.Equal(t, "a\r\x1b[31m\xff\tb", e.Submit(), "typed bytes stay")
}

func TestUndo(t *testing.T) {
	t.Parallel()
	var e Editor
	require.False(t, e.Undo())
	require.False(t, e.Redo())
	for _, c := range "one two" {
		e.Insert(string(c))
	}
	e.Backspace()
	e.Backspace()
	e.Newline()
	e.Insert("x")
	var texts []string
	for e.Undo() {
		texts = append(texts, e.Text())
	}
	require.Equal(t, []string{"one t\n", "one t", "one two", "one ", ""}, texts)
	for e.Redo() {
	}
	require.Equal(t, "one t\nx", e.Text())
	e.Undo()
	e.Insert("y")
	require.False(t, e.Redo(), "a change ends what could be made again")
	require.Equal(t, "one t\ny", e.Text())
	e.Home()
	e.Delete()
	e.Undo()
	require.Equal(t, place{1, 0}, e.cursor)
	for range maxChanges + 50 {
		e.Newline()
	}
	n := 0
	for e.Undo() {
		n++
	}
	require.Equal(t, maxChanges, n)
}

// naive is an editor that is obviously right: clusters before and behind the cursor.
type naive struct{ before, behind []string }

func clusters(s string) []string {
	var out []string
	for g := uniseg.NewGraphemes(s); g.Next(); {
		c := g.Str()
		if strings.HasSuffix(c, "\n") && len(c) > 1 { // CR LF is CR at the end of a line
			out = append(out, c[:len(c)-1], "\n")
			continue
		}
		out = append(out, c)
	}
	return out
}

// normal cuts the text anew, with the cursor behind the cluster that it is in.
func (n *naive) normal() {
	before, all := strings.Join(n.before, ""), clusters(strings.Join(n.before, "")+strings.Join(n.behind, ""))
	size := 0
	for i, c := range all {
		if size >= len(before) {
			n.before, n.behind = all[:i], all[i:]
			return
		}
		size += len(c)
	}
	n.before, n.behind = all, nil
}

func (n *naive) text() string { return strings.Join(n.before, "") + strings.Join(n.behind, "") }

// TestAgainstNaiveEditor presses keys in both editors, then takes everything back and makes it again.
func TestAgainstNaiveEditor(t *testing.T) {
	t.Parallel()
	parts := []string{
		"a", "b", " ", "word", "\n", "汉", "字", "🙂", "é", "e\u0301", "\u0301", "\u200d", "👩", "👧", "🇩", "🇪", "\t", "\r", "\x1b", "\xff", "\xe6\xb1", "ᄒ", "ᅡ", "\ufe0f", "x\ny", "\u0e33",
	}
	rapid.Check(t, func(t *rapid.T) {
		var e Editor
		var n naive
		states := []string{""}
		for range rapid.IntRange(1, 30).Draw(t, "keys") {
			switch rapid.IntRange(0, 7).Draw(t, "key") {
			case 0, 1, 2:
				text := rapid.SampledFrom(parts).Draw(t, "text")
				e.Insert(text)
				n.before = append(n.before[:len(n.before):len(n.before)], text)
			case 3:
				e.Backspace()
				n.before = n.before[:max(len(n.before)-1, 0)]
			case 4:
				e.Delete()
				n.behind = n.behind[min(len(n.behind), 1):]
			case 5:
				e.Left()
				if k := len(n.before); k > 0 {
					n.behind = append([]string{n.before[k-1]}, n.behind...)
					n.before = n.before[:k-1]
				}
			case 6:
				e.Right()
				if len(n.behind) > 0 {
					n.before = append(n.before[:len(n.before):len(n.before)], n.behind[0])
					n.behind = n.behind[1:]
				}
			case 7:
				e.View(rapid.IntRange(1, 9).Draw(t, "width"), 3)
				rapid.SampledFrom([]func(){e.Home, e.End, e.WordLeft, e.WordRight, e.TextStart, e.TextEnd, e.Up, e.Down}).Draw(t, "motion")()
				before := e.lines.between(place{}, e.cursor)
				require.Equal(t, len(before), len(strings.Join(clusters(before), "")))
				n.before, n.behind = []string{before}, []string{n.text()[len(before):]}
				n.normal()
				require.Equal(t, before, strings.Join(n.before, ""), "a motion ends between clusters")
			}
			n.normal()
			require.Equal(t, n.text(), e.Text())
			require.Equal(t, strings.Join(n.before, ""), e.lines.between(place{}, e.cursor), "the cursor in %q", n.text())
			states = append(states, e.Text())
		}
		final := e.Text()
		for e.Undo() {
			require.Contains(t, states, e.Text())
		}
		require.Equal(t, "", e.Text())
		for e.Redo() {
		}
		require.Equal(t, final, e.Submit())
	})
}

func BenchmarkPaste(b *testing.B) {
	text := strings.Repeat("a line of text that was copied, 汉字 too\n", 10_000)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		var e Editor
		e.Paste(text)
		e.View(80, 10)
	}
}

func BenchmarkKeyInLongLine(b *testing.B) {
	var e Editor
	e.Paste(strings.Repeat("a line of text that was copied, 汉字 too ", 25_000))
	b.ReportAllocs()
	for b.Loop() {
		e.Insert("x")
		e.View(80, 10)
	}
}

func BenchmarkKeyAfterPaste(b *testing.B) {
	var e Editor
	e.Paste(strings.Repeat("a line of text that was copied, 汉字 too\n", 10_000))
	b.ReportAllocs()
	for b.Loop() {
		e.Insert("x")
		e.View(80, 10)
		e.Backspace()
		e.View(80, 10)
	}
}
