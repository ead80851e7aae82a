package conversation

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestTitle(t *testing.T) {
	t.Parallel()
	words := strings.Repeat("word ", 16) // 80 with the last space
	for goal, want := range map[string]string{
		"":                            "",
		" \n\t\x00 ":                  "",
		"hello":                       "hello",
		"\n  two\r\n\r\n\tlines\n":    "two lines",
		"a\u2028b\u0085c\u00a0d\x00e": "a b c d e",
		"\x1b[31mred":                 "[31mred",
		"evil \u202eexe.txt":          "evil exe.txt",
		words:                         strings.TrimSpace(words),
		words + "x":                   words[:79] + "…",
		words[:75] + "12345":          words[:75] + "12345",
		words[:75] + "123456":         words[:74] + "…",
		words[:75] + "1234 6":         words[:75] + "1234…",
		strings.Repeat("x", 80):       strings.Repeat("x", 80),
		strings.Repeat("x", 81):       strings.Repeat("x", 79) + "…",
		strings.Repeat("冰", 81):       strings.Repeat("冰", 79) + "…",
		strings.Repeat("x", 77) + "👩‍👩‍👧‍👦": strings.Repeat("x", 77) + "…",
		"e" + strings.Repeat("\u0301", 100): "e" + strings.Repeat("\u0301", 78) + "…",
		"short " + strings.Repeat("x", 100): "short " + strings.Repeat("x", 73) + "…",
	} {
		require.Equal(t, want, titleOf(goal), "%q", goal)
	}
}

func TestTitleOfAnything(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		goal := valid(rapid.OneOf(rapid.String(), rapid.StringN(70, 200, -1), rapid.StringOf(rapid.RuneFrom([]rune("ab \n\x00\u202e\u0301"))),
			rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "goal"))
		title := titleOf(goal)
		require.True(t, utf8.ValidString(title))
		require.LessOrEqual(t, utf8.RuneCountInString(title), maxTitle)
		require.Equal(t, strings.Join(strings.Fields(title), " "), title, "words with single spaces")
		for _, r := range title {
			require.False(t, unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r), "%q", title)
		}
		line := strings.Join(strings.FieldsFunc(goal, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
		line = strings.Map(func(r rune) rune {
			if unicode.Is(unicode.Bidi_Control, r) {
				return -1
			}
			return r
		}, line)
		line = strings.Join(strings.Fields(line), " ")
		if utf8.RuneCountInString(line) <= maxTitle {
			require.Equal(t, line, title)
			return
		}
		begins, cut := strings.CutSuffix(title, "…")
		require.True(t, cut)
		require.NotEmpty(t, begins)
		require.True(t, strings.HasPrefix(line, begins), "%q begins %q", title, line)
	})
}
