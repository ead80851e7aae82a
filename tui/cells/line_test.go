package cells

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestClipAndPad(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in    string
		width int
		want  string
	}{
		{"hello", 5, "hello"}, {"hello", 4, "hel…"}, {"hello", 1, "…"}, {"hello", 0, ""}, {"hello", -1, ""}, {"", 3, ""},
		{"汉字汉", 6, "汉字汉"}, {"汉字汉", 5, "汉字…"}, {"汉字汉", 4, "汉…"}, {"汉字汉", 2, "…"}, {"汉", 1, "…"},
		{"a👨\u200d👩\u200d👧b", 3, "a…"}, {"a\nb", 9, "a␊b"}, {"ab\tc", 9, "ab  c"},
	} {
		require.Equal(t, c.want, Plain(c.in).Clip(c.width).String(), "%q in %d", c.in, c.width)
	}
	two := Line{{"ab", Style{Role: Good}}, {"cd", Style{Role: Bad}}}
	require.Equal(t, "{good}ab{}{bad}…{}", two.Clip(3).Marked())
	require.Equal(t, "{good}a…{}", two.Clip(2).Marked())
	require.Equal(t, "{good}ab{}{bad}cd{} ", two.Pad(5).Marked())
	require.Equal(t, "  12,5", Plain("12,5").AlignRight(6).String())
	require.Equal(t, " 汉…  ", Plain("汉字汉").Clip(4).Center(6).String())
	require.Equal(t, " ab  ", Plain("ab").Center(5).String())
	require.Equal(t, "{good}ab{}{bad}…{}", two.Clip(3).Marked(), "nothing wrote into the line")
	require.Equal(t, "{good+bold}ab{}{bad+bold}cd{}", two.Restyle(func(s Style) Style { return s.With(Bold) }).Marked())
	require.Equal(t, "{code+strike}x{}", Styled("x", Style{Role: Muted, Attr: Strike}.As(Code)).Marked())
	require.Equal(t, "unknown", Role(99).String())
}

func TestClipAlwaysFits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l, width := anyLine(t), rapid.IntRange(0, 20).Draw(t, "width")
		require.LessOrEqual(t, l.Clip(width).Width(), width)
		require.Equal(t, width, l.Pad(width).Width())
		require.Equal(t, width, l.AlignRight(width).Width())
		require.Equal(t, width, l.Center(width).Width())
		if l.Width() <= width {
			require.Equal(t, CleanLine(cleaned(l, rowEnd).String()), CleanLine(l.Clip(width).String()))
		}
		g := NewGrid(200, 1)
		require.Equal(t, l.Width(), g.Draw(0, 0, l), "what is measured is what is drawn")
	})
}

func TestCluster(t *testing.T) {
	t.Parallel()
	var got []string
	var columns []int
	for rest := "ae\u0301汉👨\u200d👩\u200d👧\x1b\r\n"; rest != ""; {
		var c string
		var n int
		c, rest, n = Cluster(rest)
		got, columns = append(got, c), append(columns, n)
	}
	require.Equal(t, []string{"a", "e\u0301", "汉", "👨\u200d👩\u200d👧", "\x1b", "\r\n"}, got)
	require.Equal(t, []int{1, 1, 2, 2, 1, 1}, columns)
	c, rest, n := Cluster("")
	require.Equal(t, "", c+rest)
	require.Zero(t, n)
}
