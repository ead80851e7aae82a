package gbnf_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/llama-agent/llama-agent/engine/gbnf"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func start(t testing.TB, grammar string) *gbnf.Machine {
	t.Helper()
	g, err := gbnf.Parse(grammar)
	require.NoError(t, err)
	return g.Start()
}

func TestForced(t *testing.T) {
	t.Parallel()
	const object = `root ::= "{\"path\":" string (",\"kind\":" kind)? "}"
string ::= "\"" char{0,3} "\""  # of at most three
char ::= [^"\\\x7F\x00-\x1F] | [\\] (["\\bfnrt] | "u" [0-9a-fA-F]{4})
kind ::= ("\"read_file\"" | "\"read_lines\"" | "\"list\"") | "null"
`
	for _, c := range []struct {
		grammar, text, forced string
		end, over             bool
	}{
		{object, ``, `{"path":"`, false, false},
		{object, `{"path"`, `:"`, false, false},
		{object, `{"path":"a`, ``, false, false},
		{object, `{"path":"a\`, ``, false, false},
		{object, `{"path":"aé字`, `"`, false, false},
		{object, `{"path":"aé` + "\xe5\xad", ``, false, false},
		{object, `{"path":"a\u00`, ``, false, false},
		{object, `{"path":"a"`, ``, false, false},
		{object, `{"path":"a",`, `"kind":`, false, false},
		{object, `{"path":"a","kind":n`, `ull}`, false, false},
		{object, `{"path":"a","kind":"`, ``, false, false},
		{object, `{"path":"a","kind":"r`, `ead_`, false, false},
		{object, `{"path":"a","kind":"read_l`, `ines"}`, false, false},
		{object, `{"path":"a"}`, ``, true, true},
		{`root ::= "aé\n\x41\u00e9\U0001F999" "-"`, ``, "aé\nAé\U0001F999-", false, false},
		{`root ::= "ab"{2,}`, ``, "abab", false, false},
		{`root ::= "ab"{2,}`, `abab`, "", true, false},
		{`root ::= "ab"{2,}`, `ababa`, "b", false, false},
		{`root ::= "ab"{2}`, ``, "abab", false, false},
		{`root ::= ("ab"{2} | "abx") "!"`, ``, "ab", false, false},
		{`root ::= "a" root | "b"`, `aa`, "", false, false},
		{`root ::= [a] [b-b] [cc]`, ``, "abc", false, false},
		{`root ::= "a" .`, ``, "a", false, false},
		{`root ::= ("" | "a")* "b"`, ``, "", false, false},
		{`root ::= ("a"?){3} "b"`, `aaa`, "b", false, false},
		{"root ::= a\na ::=\n  \"x\"", ``, "x", false, false},
		{"root ::= \"a\"\nroot ::= \"b\"", ``, "b", false, false},
		{`root ::= ("x" # why
 | "x")`, ``, "x", false, false},
		{`root ::= "a"{0,2001} "b"`, strings.Repeat("a", 3000), "", false, false},
		{`root ::= ""`, ``, "", true, true},
	} {
		m := start(t, c.grammar)
		require.True(t, m.Push([]byte(c.text)), "%s: %s", c.grammar, c.text)
		require.Equal(t, c.forced, string(m.Forced()), "%s: %s", c.grammar, c.text)
		require.Equal(t, c.end, m.MayEnd(), "%s: %s", c.grammar, c.text)
		require.Equal(t, c.over, m.Over(), "%s: %s", c.grammar, c.text)
	}
}

func TestWhatDoesNotFitForcesNothing(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{
		{`root ::= "abc"`, "x"},
		{`root ::= "abc"`, "abcd"},
		{`root ::= [^a] "bc"`, "a"},
		{`root ::= . "bc"`, "\xff"},
		{`root ::= root "a" | "b"`, ""}, // left recursion: llama.cpp refuses it
	} {
		m := start(t, c[0])
		m.Push([]byte(c[1]))
		require.Empty(t, m.Forced(), c)
		require.False(t, m.MayEnd() || m.Over() || m.Allows([]byte("b")) || m.Push([]byte("b")), c)
	}
	require.Len(t, start(t, `root ::= "a" root`).Forced(), 4096, "a grammar without an end")
}

func TestAllowsChangesNothing(t *testing.T) {
	t.Parallel()
	m := start(t, `root ::= "a" ("é" | "b") "c"`)
	require.True(t, m.Push([]byte("a")))
	for range 2 {
		require.True(t, m.Allows([]byte("bc")))
		require.True(t, m.Allows([]byte("\xc3")), "the start of a character")
		require.False(t, m.Allows([]byte("c")))
		require.False(t, m.Allows([]byte("bb")))
	}
	require.True(t, m.Push([]byte("\xc3")))
	one, two := m.Clone(), m.Clone()
	require.True(t, one.Push([]byte("\xa9")))
	require.False(t, two.Push([]byte("\xa8")))
	require.Equal(t, "c", string(one.Forced()))
	require.Empty(t, m.Forced(), "in the middle of a character")
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	for grammar, want := range map[string]string{
		`root := "a"`:                        "::=",
		`root ::= "a`:                        "ends too early",
		`root ::= [a`:                        "ends too early",
		`root ::= []`:                        "empty",
		`root ::= ("a"`:                      ") is missing",
		`root ::= "a")`:                      "end of the line",
		`root ::= * "a"`:                     "nothing to repeat",
		`root ::= "a"{x}`:                    "number",
		`root ::= "a"{2`:                     "} is missing",
		`root ::= "a"{3,2}`:                  "3 to 2",
		`root ::= "a"{2001}`:                 "2001",
		`root ::= "\q"`:                      "unknown escape",
		`root ::= "\x4"`:                     "hexadecimal",
		`root ::= "\u12`:                     "ends too early",
		"root ::= \"\xff\"":                  "UTF-8",
		`root ::= gone`:                      `"gone" is not defined`,
		`other ::= "a"`:                      "no rule is called root",
		` ::= "a"`:                           "name",
		"":                                   "no rule is called root",
		"root ::= " + nested(1000):           "nested",
		`root ::= "a"{99999999999999999999}`: "too large",
	} {
		_, err := gbnf.Parse(grammar)
		var se *gbnf.SyntaxError
		require.ErrorAs(t, err, &se, "%.60s", grammar)
		require.ErrorContains(t, err, want, "%.60s", grammar)
	}
	for _, grammar := range []string{`root ::= <[5]>`, `root ::= "a" !<think>`} {
		_, err := gbnf.Parse(grammar)
		require.ErrorIs(t, err, gbnf.ErrUnsupported)
	}
}

func nested(n int) string { return strings.Repeat("(", n) + `"a"` + strings.Repeat(")", n) }

// language is a grammar's text and all the words that it allows.
type language struct {
	text  string
	words []string
}

const mostWords = 300

// languages draws small ones over a, b and é.
func languages(depth int) *rapid.Generator[language] {
	letter := rapid.Custom(func(t *rapid.T) language {
		return rapid.SampledFrom([]language{
			{`"a"`, []string{"a"}}, {`"ab"`, []string{"ab"}}, {`[ab]`, []string{"a", "b"}}, {`"é"`, []string{"é"}}, {`""`, []string{""}},
		}).Draw(t, "letter")
	})
	if depth == 0 {
		return letter
	}
	sub := languages(depth - 1)
	return rapid.Custom(func(t *rapid.T) language {
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			x, y := sub.Draw(t, "x"), sub.Draw(t, "y")
			return language{x.text + " " + y.text, join(x.words, y.words)}
		case 1:
			x, y := sub.Draw(t, "x"), sub.Draw(t, "y")
			return language{"(" + x.text + " | " + y.text + ")", unique(append(slices.Clone(x.words), y.words...))}
		case 2:
			x := sub.Draw(t, "x")
			least := rapid.IntRange(0, 2).Draw(t, "least")
			most := least + rapid.IntRange(0, 2).Draw(t, "more")
			var all []string
			power := []string{""}
			for n := 0; n <= most; n++ {
				if n >= least {
					all = append(all, power...)
				}
				power = join(power, x.words)
			}
			return language{fmt.Sprintf("(%s){%d,%d}", x.text, least, most), unique(all)}
		default:
			return letter.Draw(t, "letter")
		}
	})
}

func join(x, y []string) []string {
	var out []string
	for _, a := range x {
		for _, b := range y {
			out = append(out, a+b)
		}
	}
	if out = unique(out); len(out) > mostWords {
		return tooMany
	}
	return out
}

// tooMany stands for more words than are looked at; no language with it is used.
var tooMany = func() (out []string) {
	for i := range mostWords + 1 {
		out = append(out, fmt.Sprintf("%03d", i))
	}
	return out
}()

func unique(s []string) []string {
	slices.Sort(s)
	return slices.Compact(s)
}

// forced is what a text must go on with, found by looking at every word.
func forced(words []string, text string) (next string, end, over bool) {
	var rest []string
	for _, w := range words {
		if r, ok := strings.CutPrefix(w, text); ok {
			rest = append(rest, r)
			end = end || r == ""
		}
	}
	next = rest[0]
	for _, r := range rest {
		n := 0
		a, b := []rune(next), []rune(r)
		for n < len(a) && n < len(b) && a[n] == b[n] {
			n++
		}
		next = string(a[:n])
	}
	return next, end, end && len(rest) == 1
}

func TestForcedIsWhatAllWordsHaveInCommon(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := languages(4).Draw(t, "language")
		if len(l.words) > mostWords {
			return
		}
		g, err := gbnf.Parse("root ::= " + l.text)
		if err != nil {
			t.Fatalf("%s: %v", l.text, err)
		}
		word := rapid.SampledFrom(l.words).Draw(t, "word")
		m := g.Start()
		for i, c := range word + "$" {
			next, end, over := forced(l.words, word[:i])
			if got := string(m.Forced()); got != next || m.MayEnd() != end || m.Over() != over {
				t.Fatalf("%s after %q: forced %q, not %q; end %v, not %v", l.text, word[:i], got, next, m.MayEnd(), end)
			}
			for _, try := range []rune{'a', 'b', 'é', 'c'} {
				may := slices.ContainsFunc(l.words, func(w string) bool { return strings.HasPrefix(w, word[:i]+string(try)) })
				if m.Allows([]byte(string(try))) != may {
					t.Fatalf("%s after %q: %q allowed: %v", l.text, word[:i], try, !may)
				}
			}
			for _, b := range []byte(string(c)) { // bytes, not characters
				m.Push([]byte{b})
			}
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{`root ::= "a" [b-c]* (x | "d"){2,3}` + "\n" + `x ::= "\x41" # c`, `root ::= root "a"`, `root ::= .{1999}`, "root ::= <a>", `root ::= ((""*)*)*`} {
		f.Add(s, "ab")
	}
	f.Fuzz(func(t *testing.T, grammar, text string) {
		if len(grammar) > 500 || len(text) > 50 {
			return
		}
		g, err := gbnf.Parse(grammar)
		if err != nil {
			var se *gbnf.SyntaxError
			require.True(t, errors.As(err, &se) || errors.Is(err, gbnf.ErrUnsupported))
			return
		}
		m := g.Start()
		m.Push([]byte(text))
		next := m.Forced()
		if len(next) > 0 {
			require.True(t, m.Allows(next))
			require.False(t, m.MayEnd())
			for _, b := range []byte("ab\"{") {
				require.Equal(t, b == next[0], m.Allows([]byte{b}), "%q is forced", next)
			}
		}
	})
}
