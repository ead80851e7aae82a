package cells

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
	"github.com/stretchr/testify/require"
)

func TestClean(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                             "",
		"plain text, 1 + 1":            "plain text, 1 + 1",
		"a\nb\r\nc":                    "a\nb\nc",
		"hidden\rshown":                "hidden␍shown",
		"\x1b]52;c;aGk=\x07":           "␛]52;c;aGk=␇",
		"\x1b[2J\x1b]0;x\x07\x1b]open": "␛[2J␛]0;x␇␛]open",
		"\u009b31m \x9b31m":            `<U+009B>31m \x9B31m`,
		"[red]text[-] [\"r\"]x[\"\"]":  "[red]text[-] [\"r\"]x[\"\"]",
		"abc\u202etxt.exe":             "abc<U+202E>txt.exe",
		"你好，世界🙂é👨\u200d👩\u200d👧": "你好，世界🙂é👨\u200d👩\u200d👧",
		"e\u0301 \u0301":                         "e\u0301 \u0301",
		"\u0301x":                                "◌\u0301x",
		"\n\u0301x":                              "\n◌\u0301x",
		"a\u200bb\u00adc":                        "abc",
		"a\u2028b":                               "a<U+2028>b",
		"\u200d\u200c\ufe0f":                     "",
		"\U0001f3fb":                             "<U+1F3FB>",
		"⸺⸻":                                     "—————",
		"\tx\ty":                                 "    x   y",
		"汉\tx\n\ty":                              "汉  x\n    y",
		"汉\u0301\tx":                             "汉\u0301  x",
		strings.Repeat("\u0301", 100):            "◌" + strings.Repeat("\u0301", 15) + "…",
		"a" + strings.Repeat("\u0e33", 40) + "b": "a" + strings.Repeat("\u0e33", 15) + "…b",
	} {
		require.Equal(t, want, Clean(in), "%q", in)
		require.Equal(t, want, Clean(Clean(in)), "not stable: %q", in)
	}
	require.Equal(t, "a␊b␊", CleanLine("a\r\nb\n"))
}

// TestCleanEveryCharacter looks at every character of Unicode alone, behind a letter, repeated, and before a letter.
func TestCleanEveryCharacter(t *testing.T) {
	t.Parallel()
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if r >= 0x3500 && r < 0x9f00 || r >= 0xac80 && r < 0xd700 || r >= 0x20000 && r < 0xe0000 || r > 0xe1000 {
			continue // many alike
		}
		c := string(r)
		for _, in := range []string{c, "a" + c + "汉", strings.Repeat(c, 20) + "a", "👩" + c + "👩"} {
			requireInert(t, in, lines)
		}
	}
}

func FuzzClean(f *testing.F) {
	f.Add("\x1b]0;x\x07 é \xff\r\n\t汉")
	f.Add("🇦\u200b🇧\u200d👩\u200d👩🏻")
	f.Add("ᄒ\u200bᅡᆫ\u1100\u1100")
	f.Fuzz(func(t *testing.T, in string) {
		requireInert(t, in, lines)
		requireInert(t, in, rowEnd)
	})
}

// requireInert states what every clean text is.
func requireInert(t *testing.T, in string, mode newlines) {
	t.Helper()
	out, _ := clean(in, 0, mode)
	if !utf8.ValidString(out) {
		require.Fail(t, "not UTF-8", "%q: %q", in, out)
	}
	for _, r := range out {
		if (unicode.IsControl(r) && (r != '\n' || mode == rowEnd)) || r == 0x202e || r == '\t' {
			require.Fail(t, "active", "%q: %q", in, out)
		}
	}
	if again, _ := clean(out, 0, mode); again != out {
		require.Equal(t, out, again, "not stable: %q", in)
	}
	if !isCleanSlow(out, mode) {
		require.Fail(t, "not clean", "%q: %q", in, out)
	}
	for _, row := range strings.Split(out, "\n") {
		for rest, state := row, -1; rest != ""; {
			var c string
			var w int
			c, rest, w, state = uniseg.FirstGraphemeClusterInString(rest, state)
			if w < 1 || len([]rune(c)) > maxClusterRunes+1 {
				require.Fail(t, "cluster", "%q of %d columns in %q: %q", c, w, in, out)
			}
		}
		if n := uniseg.StringWidth(row); n != width(row) {
			require.Equal(t, n, width(row), "%q", row)
		}
	}
}
