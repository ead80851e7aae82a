package hostile

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestInert(t *testing.T) {
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
		require.Equal(t, want, Inert(in), "%q", in)
		require.Equal(t, want, Inert(Inert(in)), "not stable: %q", in)
	}
}

func FuzzInert(f *testing.F) {
	f.Add("\x1b]0;x\x07 é \xff\r\n")
	f.Fuzz(func(t *testing.T, in string) {
		out := Inert(in)
		require.True(t, utf8.ValidString(out))
		for _, r := range out {
			require.False(t, unicode.IsControl(r) && r != '\n' && r != '\t', "%q", out)
		}
		require.Equal(t, out, Inert(out))
	})
}
