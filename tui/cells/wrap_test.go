package cells

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestWrap(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in    string
		width int
		want  string // lines joined by |
	}{
		{"", 5, ""},
		{"one two three", 7, "one two|three"},
		{"one two three", 8, "one two|three"},
		{"one  two", 4, "one|two"},
		{"trailing   ", 8, "trailing"},
		{"abcdefghij", 4, "abcd|efgh|ij"},
		{"see abcdefghij", 6, "see|abcdef|ghij"},
		{"well-known", 6, "well-|known"},
		{"a\nb\n\nc", 9, "a|b||c"},
		{"  indented text", 8, "  indent|ed text"},
		{"  in de", 5, "  in|de"},
		{"      x", 3, "|x"},
		{"    ", 2, ""},
		{"你好，世界再见", 4, "你|好，|世界|再见"},
		{"你好，世界再见", 5, "你|好，|世界|再见"},
		{"你好，世界再见", 6, "你好，|世界再|见"},
		{"汉", 1, "…"},
		{"a汉b", 1, "a|…|b"},
		{"👨\u200d👩\u200d👧👨\u200d👩\u200d👧", 3, "👨\u200d👩\u200d👧|👨\u200d👩\u200d👧"},
		{"x \x1b[2J y", 5, "x|␛[2J|y"},
		{"a\tb", 3, "a|b"},
		{"x", 0, "-"},
	} {
		got := joined(Wrap(Plain(c.in), c.width))
		if c.width <= 0 {
			require.Empty(t, Wrap(Plain(c.in), c.width))
			continue
		}
		require.Equal(t, c.want, got, "%q in %d", c.in, c.width)
	}
}

func TestWrapping(t *testing.T) {
	t.Parallel()
	list := Wrapping{Width: 9, First: Styled("• ", Style{Role: Accent}), Rest: Plain("  ")}
	require.Equal(t, "• one two|  three", joined(list.Lines(Plain("one two three"))))
	require.Equal(t, "• a|  b", joined(list.Lines(Plain("a\nb"))))
	require.Equal(t, "• ", joined(list.Lines(nil)))
	list.Width = 2
	require.Equal(t, "…x|…y", joined(list.Lines(Plain("xy"))), "prefixes leave room for text")
	list.Width = 1
	require.Equal(t, "x|y", joined(list.Lines(Plain("xy"))))
	require.Equal(t, "    if x|    {", joined(Wrapping{Width: 8, Indent: true}.Lines(Plain("    if x {"))))
	require.Equal(t, "|    x", joined(Wrapping{Width: 8, Indent: true}.Lines(Plain(strings.Repeat(" ", 30)+"x"))))
	require.Equal(t, "a  b|  c ", joined(Wrapping{Width: 4, Cut: true}.Lines(Plain("a  b  c "))))

	styled := Wrap(Line{{"one t", Style{Role: Good}}, {"wo ", Style{Role: Bad}}, {"three", Style{}}}, 4)
	require.Equal(t, "{good}one{}", styled[0].Marked())
	require.Equal(t, "{good}t{}{bad}wo{}", styled[1].Marked())
	require.Equal(t, "thre", styled[2].Marked())
}

// TestWrapKeepsTheText wraps anything: no line is too wide, and nothing but spaces is lost.
func TestWrapKeepsTheText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l, width := anyLine(t), rapid.IntRange(1, 20).Draw(t, "width")
		w := Wrapping{Width: width, Indent: rapid.Bool().Draw(t, "indent"), Cut: rapid.Bool().Draw(t, "cut")}
		var text strings.Builder
		for _, row := range w.Lines(l) {
			require.LessOrEqual(t, row.Width(), width, "%q", row.String())
			text.WriteString(row.String())
		}
		if width > 4 || !strings.Contains(text.String(), ellipsis) { // narrower than the widest cluster
			require.Equal(t, noSpaces(cleaned(l, lines).String()), noSpaces(text.String()))
		}
		if w.Cut && !w.Indent && width > 4 {
			require.Equal(t, cleaned(l, lines).String(), text.String())
		}
	})
}

func FuzzWrap(f *testing.F) {
	f.Add("one two\t汉字 👨\u200d👩\u200d👧\x1b[2J", 7)
	f.Add("🏻a🏻\u200d🙂 )", 2)
	f.Fuzz(func(t *testing.T, text string, width int) {
		width = 1 + max(width, -width, 0)%40
		for _, row := range Wrap(Plain(text), width) {
			require.LessOrEqual(t, row.Width(), width, "%q", row.String())
			require.Equal(t, row.String(), CleanLine(row.String()))
		}
	})
}

func joined(lines []Line) string {
	var out []string
	for _, l := range lines {
		out = append(out, l.String())
	}
	return strings.Join(out, "|")
}

func noSpaces(s string) string { return strings.ReplaceAll(s, " ", "") }

func BenchmarkWrap(b *testing.B) {
	for name, text := range map[string]string{
		"latin": strings.Repeat("The quick brown fox jumps over the lazy dog, again. ", 200),
		"cjk":   strings.Repeat("敏捷的棕色狐狸跳过了懒狗，又跳了一次。", 200),
		"word":  strings.Repeat("x", 10000),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				Wrap(Plain(text), 80)
			}
		})
	}
}
