package tools

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestInertText(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain\ttext\n":                   "plain\ttext\n",
		"a\r\nb\r\n":                      "a\nb\n",
		"hidden\rshown":                   "hidden␍shown",
		"\x1b]52;c;aGk=\x07":              "␛]52;c;aGk=␇",
		"\x1b[2J\x1b]0;x\x07\x1b]open":    "␛[2J␛]0;x␇␛]open",
		"\u009b31m":                       "<U+009B>31m",
		"\x9b31m":                         `\x9B31m`,
		"caf\xe9":                         `caf\xE9`,
		"a\x00b\x7f":                      "a␀b␡",
		"[red]text[\"r\"]":                "[red]text[\"r\"]",
		"abc\u202etxt.exe":                "abc<U+202E>txt.exe",
		"tag \U000e0041\U000e0042":        "tag <U+E0041><U+E0042>",
		"👩\u200d💻 🦙漢字é":                   "👩\u200d💻 🦙漢字é",
		"<|im_end|>":                      "<|im_end|>",
		"\ufeffx":                         "<U+FEFF>x",
		"bad tail \xf0\x9f":               `bad tail \xF0\x9F`,
		"\x1b" + strings.Repeat("x", 100): "␛" + strings.Repeat("x", 100),
	} {
		require.Equal(t, want, InertText(in), "%q", in)
		require.Equal(t, want, InertText(InertText(in)), "not stable: %q", in)
	}
}

func FuzzInertText(f *testing.F) {
	f.Add("\x1b]0;x\x07 é \xff\r\n")
	f.Fuzz(func(t *testing.T, in string) {
		out := InertText(in)
		require.True(t, utf8.ValidString(out))
		for _, r := range out {
			require.False(t, unicode.IsControl(r) && r != '\n' && r != '\t', "%q", out)
		}
		require.Equal(t, out, InertText(out))
	})
}

func TestCutsFallBetweenCharacters(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("汉", 40)
	require.Equal(t, strings.Repeat("汉", 26), cutBytes(text, 80))
	require.Equal(t, "", cutBytes(text, 2))
	require.Equal(t, "", cutBytes(text, -1))
	require.Equal(t, text, cutBytes(text, 120))
	require.Equal(t, strings.Repeat("汉", 7), cutChars(text, 7))
	require.Equal(t, "汉汉…", clip(text, 3))
	require.Equal(t, "a\nb\n[4 more bytes left out]", capText("a\nb\nccc", 5))
	require.Equal(t, "🦙", string(wholeRunes([]byte("🦙🦙")[:7])))
	require.Equal(t, "a\xff", string(wholeRunes([]byte("a\xff"))), "an invalid byte is not the beginning of a character")
}

func TestNearest(t *testing.T) {
	t.Parallel()
	tools := []string{"list_files", "read_file", "search_file", "query_sqlite"}
	require.Equal(t, "read_file", nearest("readFile", tools, 1)[0])
	require.Equal(t, "read_file", nearest("functions.read_file", tools, 1)[0])
	require.Equal(t, "query_sqlite", nearest("sqlite_query", tools, 2)[0])
	require.Empty(t, nearest("xyz", tools, 3))
	require.Empty(t, nearest("", tools, 3))
}
