package cells

import (
	"strings"
	"testing"

	"github.com/rivo/uniseg"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestGridDraw(t *testing.T) {
	t.Parallel()
	g := NewGrid(8, 3)
	require.Equal(t, 6, g.Draw(0, 0, Concat(Plain("a汉"), Styled("b字", Style{Role: Code}))))
	require.Equal(t, 9, g.Draw(-1, 1, Plain("汉汉汉汉汉")), "drawing stops at the edge")
	g.Draw(5, 2, Plain("\x1b[2J"))
	g.Draw(0, 3, Plain("below"))
	g.Draw(0, -1, Plain("above"))
	require.Equal(t, "a汉b字\n 汉汉汉\n     ␛[2\n", g.String())
	require.Equal(t, "a汉{code}b字{}\n 汉汉汉\n     ␛[2\n", g.Marked())
	require.Equal(t, Cell{"汉", 2, Style{}}, g.At(1, 0))
	require.Equal(t, Cell{"", 0, Style{}}, g.At(2, 0))
	require.Equal(t, " ", g.At(0, 1).Text, "half of a wide cluster is a space")
	require.Equal(t, " ", g.At(7, 1).Text, "half of a wide cluster is a space")
	require.Equal(t, " ", g.At(8, 0).Text)
}

func TestGridOverdraw(t *testing.T) {
	t.Parallel()
	g := NewGrid(6, 1)
	g.Draw(0, 0, Plain("汉字汉"))
	g.Draw(1, 0, Plain("x"))
	require.Equal(t, " x字汉\n", g.String())
	g.Draw(1, 0, Plain("字"))
	require.Equal(t, " 字 汉\n", g.String())
	g.Sub(Rect{5, 0, 1, 1}).Draw(0, 0, Plain("y"))
	require.Equal(t, " 字  y\n", g.String(), "the half outside of the part becomes a space too")
}

func TestGridSubAndBox(t *testing.T) {
	t.Parallel()
	g := NewGrid(20, 4)
	inner := g.Box(Rect{0, 0, 20, 4}, Rounded(), Plain("Übersicht über alles"), Style{Role: Border})
	w, h := inner.Size()
	require.Equal(t, [2]int{18, 2}, [2]int{w, h})
	inner.Draw(0, 0, Plain("你好，世界🙂é👨\u200d👩\u200d👧 x x x x"))
	inner.Draw(0, 1, Plain("[red]\x1b[31m\"]\r"))
	require.Equal(t, ""+
		"╭─ Übersicht übe… ─╮\n"+
		"│你好，世界🙂é👨\u200d👩\u200d👧 x │\n"+
		"│[red]␛[31m\"]␍     │\n"+
		"╰──────────────────╯\n", g.String())
	require.Equal(t, "+-+\n| |\n+-+\n", draw(3, 3, func(g *Grid) { g.Box(Rect{0, 0, 3, 3}, ASCII(), Plain("t"), Style{}) }))
	for _, r := range []Rect{{0, 0, 1, 1}, {0, 0, -5, 9}, {50, 50, 9, 9}, {-3, -3, 2, 2}} {
		w, h = g.Box(r, ASCII(), nil, Style{}).Size()
		require.Zero(t, w*h, "%v", r)
	}
	g = NewGrid(-1, 5)
	g.Draw(0, 0, Plain("x"))
	require.Equal(t, strings.Repeat("\n", 5), g.String())
	require.Equal(t, Rect{2, 1, 0, 0}, Rect{1, 0, 1, 1}.Inset(1, 1))
}

func TestGridFillAndRestyle(t *testing.T) {
	t.Parallel()
	g := NewGrid(3, 1)
	g.Draw(0, 0, Plain("abc"))
	g.Restyle(Rect{1, 0, 9, 9}, func(s Style) Style { return s.With(Reverse) })
	require.Equal(t, "a{text+reverse}bc{}\n", g.Marked())
	g.Sub(Rect{0, 0, 2, 1}).Fill(Style{Role: Selection})
	require.Equal(t, "{selection}  {}{text+reverse}c{}\n", g.Marked())
	require.Equal(t, "a\nb\n", draw(3, 2, func(g *Grid) {
		require.Equal(t, 2, g.DrawLines([]Line{Plain("a"), Plain("b"), Plain("c")}))
	}))
}

// TestGridSyllablesOfManyColumns: a cluster that takes three columns is in two cells, so that everything behind it
// stands where it is drawn.
func TestGridSyllablesOfManyColumns(t *testing.T) {
	t.Parallel()
	syllable := "\u1000\u103c\u1031"
	require.Equal(t, 3, Width(syllable))
	g := NewGrid(5, 1)
	require.Equal(t, 4, g.Draw(0, 0, Plain(syllable+"|")))
	require.Equal(t, "|", g.At(3, 0).Text)
	require.Equal(t, syllable+"|\n", g.String())
}

func TestBar(t *testing.T) {
	t.Parallel()
	for share, want := range map[float64]string{
		-1: "░░░░", 0: "░░░░", 1: "████", 7: "████", 0.5: "██░░", 0.53: "██▏░", 0.72: "██▉░",
	} {
		require.Equal(t, want, Bar(4, share, Style{}, Style{}).String(), "%v", share)
	}
	nan := 0.0
	require.Equal(t, "░", Bar(1, nan/nan, Style{}, Style{}).String())
	require.Empty(t, Bar(0, 1, Style{}, Style{}))
}

// TestGridRowsAreStraight draws anything anywhere: every row stays as wide as the grid, and every cell holds what it says.
func TestGridRowsAreStraight(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g := NewGrid(rapid.IntRange(0, 12).Draw(t, "width"), 3)
		for range rapid.IntRange(1, 8).Draw(t, "draws") {
			part := g.Sub(Rect{rapid.IntRange(-2, 9).Draw(t, "px"), 0, rapid.IntRange(0, 12).Draw(t, "pw"), 3})
			part.Draw(rapid.IntRange(-4, 12).Draw(t, "x"), rapid.IntRange(-1, 3).Draw(t, "y"), anyLine(t))
		}
		for y := range 3 {
			n := 0
			for x := range g.area.Width {
				c := g.At(x, y)
				n += c.Width
				if c.Width == 0 {
					require.Equal(t, 2, g.At(x-1, y).Width, "a right half has a left one")
					require.Empty(t, c.Text)
				} else {
					require.Equal(t, c.Width, min(uniseg.StringWidth(c.Text), 2), "%q", c.Text)
				}
			}
			require.Equal(t, g.area.Width, n)
		}
	})
}

func draw(width, height int, f func(*Grid)) string {
	g := NewGrid(width, height)
	f(g)
	return g.String()
}

// anyLine returns a line of parts that are likely to go wrong.
func anyLine(t *rapid.T) Line {
	parts := []string{
		"a", "word", " ", "  ", "-", "/", "汉", "字，", "。", "🙂", "é", "e\u0301", "👨\u200d👩\u200d👧", "🇩", "🇪", "\u200d", "\u0301", "\u200b",
		"\u1000\u103c\u1031", "ᄒ", "ᅡ", "ᆫ", "\t", "\x1b[2J", "\r", "⸻", "\u0e33", "🏻", "(", ")", "[red]", "\xff", "\ufe0f", "1,234.5",
	}
	var out Line
	for range rapid.IntRange(0, 4).Draw(t, "spans") {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 0, 8).Draw(t, "parts"), "")
		out = append(out, Span{text, Style{Role: Role(rapid.IntRange(0, 2).Draw(t, "role"))}})
	}
	return out
}
