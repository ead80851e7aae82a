package markdown

import (
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"pgregory.net/rapid"

	"github.com/llama-agent/llama-agent/tui/cells"
)

// fragments are parts of texts that are likely to go wrong next to each other.
var fragments = []string{
	"\n", "\n", "\n\n", "word ", "two words", "# Title\n", "## ", "- ", "- item\n", "  - nested\n", "    ", "1. ", "1. one\n", "2) two\n", "10. ", "* ", "> ", "> quote\n",
	"```", "```go\n", "~~~\n", "code()\n", "`", "**", "*", "_", "~~", "[", "](", "](http://e.org)", ")", "![", "| a | b |\n", "|---|--:|\n", "| 1 | 2,5 |\n", "|",
	"---\n", "===\n", "-", "<b>", "<!-- x -->\n", "&amp;", "&#27;", "\\", "\t", "\r\n", "\r", "\x1b[2J", "\u009b", "\u202e", "[red]", "汉字，", "👨\u200d👩\u200d👧", "e\u0301", "\xff", "\xe6",
	"[a]: http://e.org\n", "- [x] done\n", "https://e.org/x ", strings.Repeat("long", 30), "   ", "\n    indented\n", "\n\n\n",
}

func anyText(t *rapid.T) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(fragments), 0, 40).Draw(t, "text"), "")
}

// TestStreamIsRender feeds a text in pieces, cut anywhere, and looks at it in between in several widths.
func TestStreamIsRender(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text, width := anyText(t), rapid.IntRange(1, 50).Draw(t, "width")
		var s Stream
		for rest := text; rest != ""; {
			n := min(rapid.IntRange(1, 12).Draw(t, "piece"), len(rest))
			s.Append(rest[:n])
			rest = rest[n:]
			if rapid.Bool().Draw(t, "look") {
				requireFits(t, s.Lines(width), width)
			}
			if rapid.IntRange(0, 9).Draw(t, "resize") == 0 {
				requireFits(t, s.Lines(width+7), width+7)
			}
		}
		s.Finish()
		require.Equal(t, marked(Render(text, width)), marked(s.Lines(width)), "%q", text)
	})
}

// TestStreamOfLongBlocks does the same with blocks that are shown in parts.
func TestStreamOfLongBlocks(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"paragraph":    strings.Repeat("word and **bold** ", 3000) + "\n\nend",
		"lines":        strings.Repeat("a line\n", 6000) + "\nend",
		"code":         "```go\n" + strings.Repeat("x := 1 // **no**\n", 3000) + "```\nend",
		"open code":    "~~~~ c\n" + strings.Repeat("```\ncode\n", 4000),
		"list":         strings.Repeat("1. item **b**\n", 4000) + "\nend",
		"loose list":   strings.Repeat("- item\n\n  more\n\n", 4000) + "end",
		"item":         "- " + strings.Repeat("word ", 8000) + "\n- two\n\nend",
		"table":        "| a | b |\n|---|---|\n" + strings.Repeat("| 汉字 | 12 |\n", 2000) + "\nend",
		"quote":        strings.Repeat("> said\n", 4000) + "\nend",
		"wide letters": strings.Repeat("汉", 20000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s Stream
			for i, rest := 0, text; rest != ""; i++ {
				n := min(97+i%7, len(rest))
				s.Append(rest[:n])
				rest = rest[n:]
				if i%20 == 0 {
					requireFits(t, s.Lines(40), 40)
				}
			}
			s.Finish()
			whole := Render(text, 40)
			require.Equal(t, marked(whole), marked(s.Lines(40)))
			if last := whole[len(whole)-1].Marked(); strings.HasSuffix(text, "end") {
				require.Equal(t, "end", last, "the block ended where it ends")
			}
		})
	}
}

func TestLongBlocksStayWhatTheyAre(t *testing.T) {
	t.Parallel()
	lines := Render("```go\n"+strings.Repeat("x **y**\n", 5000)+"```\nend", 40)
	require.Len(t, lines, 5003)
	for _, l := range lines[1:5001] {
		require.Equal(t, "  {code}x **y**{}", l.Marked())
	}
	lines = Render("```\n"+strings.Repeat("x\n", maxBlock/2-100)+"```\n"+strings.Repeat("\n", 500)+"end **b**", 40)
	require.Equal(t, "end {text+bold}b{}", lines[len(lines)-1].Marked(), "a part that ends with the code block ends it")
	lines = Render(strings.Repeat("1. x\n", 9999), 40)
	require.Equal(t, "{accent}9999. {}x", lines[9998].Marked(), "the count goes on")
	require.Len(t, lines, 9999)
	lines = Render("| a | b |\n|---|---|\n"+strings.Repeat("| x | 1 |\n", 4000), 40)
	require.Equal(t, "x{muted} │ {}1", lines[len(lines)-1].Marked())
	for _, l := range lines {
		require.NotContains(t, l.String(), "|", "every row is one of a table")
	}
}

func TestUnfinished(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a **bold te":            "a {text+bold}bold te{}",
		"a **bold ":              "a {text+bold}bold{}",
		"a **":                   "a",
		"a *b **c":               "a {text+italic}b {}{text+bold+italic}c{}",
		"a * b":                  "a * b",
		"2 * 3 * 4":              "2 * 3 * 4",
		"snake_case_na":          "snake_case_na",
		"~~gone":                 "{text+strike}gone{}",
		"x `co":                  "x {code}co{}",
		"x `a` and `b":           "x {code}a{} and {code}b{}",
		"x ``a`b":                "x {code}a`b{}",
		"x `":                    "x",
		"a \\*b":                 "a *b",
		"see [doc](http://e":     "see {link+underline}doc{}{muted} (http://e){}",
		"see [do":                "see [do",
		"| a | b |\n|--":         "{heading+bold}a{}{muted} │ {}{heading+bold}b{}\n{muted}──┼──{}",
		"|a|b|\n|--|--|\n|1|**x": "{heading+bold}a{}{muted} │ {}{heading+bold}b{}\n{muted}──┼──{}\n1{muted} │ {}{text+bold}x{}",
		"```go\nfunc":            "  {muted+italic}go{}\n  {code}func{}",
		"```\nfunc **x\n``":      "  {code}func **x{}",
		"- a\n  ```\n  b **c":    "{accent}• {}a\n    {code}b **c{}",
		"> ```\n> b **c":         "{quote}│   {}{code}b **c{}",
		"1. ~~~\n   a *b":        "{accent}1. {}  {code}a *b{}",
		"- a\n-":                 "{accent}• {}a",
		"text\n-":                "text",
		"text\n==":               "text",
		"#":                      "",
		"**Note:":                "{text+bold}Note:{}",
		"1. **Step":              "{accent}1. {}{text+bold}Step{}",
		"* *it":                  "{accent}• {}{text+italic}it{}",
		"42":                     "42",
		"a\xe6\xb1":              "a",
		"a **b\n\nc *d":          "a **b\n\nc {text+italic}d{}",
	} {
		var s Stream
		s.Append(in)
		require.Equal(t, want, strings.TrimRight(strings.Join(marked(s.Lines(30)), "\n"), " \n"), "%q", in)
		s.Finish()
		require.Equal(t, marked(Render(in, 30)), marked(s.Lines(30)), "%q", in)
	}
}

// TestWritingDoesNotJump: while a text is written, all lines but the last are those of the finished text. (The columns of
// a table are the exception; they grow with their cells.)
func TestWritingDoesNotJump(t *testing.T) {
	t.Parallel()
	const text = "# Title *one*\n\nSome **bold** and *it* `code x` ~~gone~~ see [the docs](http://x.org/a_b) or https://go.dev.\n" +
		"next line &amp; \\*star\\* <b>html</b> snake_case 2 * 3\n\n- one\n- two\n  more of two\n  - nested **a**\n  - nested b\n\n    para in b\n" +
		"- [x] done\n- [ ] open\n\n3. three\n4. four\n   ```sh\n   ls -l **x\n   ```\n5. **five:** x\n10. ten\n\n> quote **b**\n> second\n>> deep\n\n" +
		"```go\nfunc main() {\n\tfmt.Println(\"hello **x\")\n}\n```\nText:\n* x\n* y\n![alt](img.png)\n\n---\n\n汉字，**粗体**。\n\n~~~\nplain\n~~~\n\nEnd 42.\n"
	whole := marked(Render(text, 70))
	for i := range text {
		var s Stream
		s.Append(text[:i])
		got := marked(s.Lines(70))
		if n := len(got) - 1; n > 0 {
			require.LessOrEqual(t, n, len(whole), "%q", text[:i])
			require.Equal(t, whole[:n], got[:n], "%q", text[:i])
		}
	}
}

func TestStreamParts(t *testing.T) {
	t.Parallel()
	var s Stream
	require.Empty(t, s.Lines(10))
	s.Append("")
	s.Append("a\r")
	s.Append("\nb\r")
	s.Append("c\r\n")
	require.Equal(t, []string{"a", "b␍c"}, marked(s.Lines(10)))
	require.Empty(t, s.Lines(0))
	require.Equal(t, []string{"a", "b␍c"}, marked(s.Lines(10)))
	s.Finish()
	s.Append("\rd\xe6")
	require.Equal(t, []string{"a", "b␍c", `␍d\xE6`}, marked(s.Lines(10)))
}

// TestStreamIsLinear compares the work for a text with that for one four times as long: both grow by small pieces and are
// looked at after each.
func TestStreamIsLinear(t *testing.T) {
	t.Parallel()
	for name, part := range map[string]string{
		"paragraphs": "Some words of **text** that go on.\n\n",
		"one line":   strings.Repeat("words and more ", 10),
		"code":       "```go\n" + strings.Repeat("x := 1\n", 20),
		"list":       strings.Repeat("- item\n", 10),
		"table":      "| a | b |\n|---|---|\n" + strings.Repeat("| 1 | 2 |\n", 10),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			grow := func(n int) int {
				var s Stream
				for range n {
					s.Append(part)
					s.Lines(60)
				}
				return s.parsed
			}
			n := maxBlock / len(part)
			require.Less(t, grow(4*n), 5*grow(n))
		})
	}
}

func TestLinesOfAnUnchangedTextCostNothing(t *testing.T) {
	t.Parallel()
	var s Stream
	s.Append("# a\n\nb")
	s.Lines(20)
	before := s.parsed
	s.Lines(20)
	s.Append("")
	s.Lines(20)
	require.Equal(t, before, s.parsed)
	s.Lines(21)
	require.Greater(t, s.parsed, before)
}

// TestHostile lays out a megabyte of what is expensive for careless parsers.
func TestHostile(t *testing.T) {
	const size = 1 << 18
	for name, part := range map[string]string{
		"words": "word ", "letters": "x", "brackets": "[", "links": "[a](", "pairs": "[]", "images": "![a](<", "stars": "*a ", "star runs": "**a*", "underscores": "_a ", "ticks": "`a``b```",
		"quotes": ">", "nested lists": "+ ", "rules": "- ", "tables": "|a", "rows": "|\n", "deep": " -\n  ", "fences": "```\n~~~\n", "html": "<a href=", "entities": "&a", "numeric": "&#27;", "escapes": "\x1b]0;x\x07\r",
		"marks": "\u0301", "joiners": "👩\u200d", "tabs": "\t", "blank": "\n", "invalid": "\xff\xe6", "bidi": "\u202e", "tildes": "~~a~", "addresses": "a@b.", "urls": "http://a.b/(",
		"headings": "# ", "backslashes": "\\", "columns": "|-", "spaces": " ",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := strings.Repeat(part, size/len(part))
			var s Stream
			s.Append(text)
			requireFits(t, s.Lines(80), 80)
			require.Less(t, s.parsed, 5*size)
		})
	}
}

// failing is a parser with a bug.
type failing struct{ parser.Parser }

func (failing) Parse(text.Reader, ...parser.ParseOption) ast.Node { panic("a bug") }

func TestParserThatFails(t *testing.T) {
	t.Parallel()
	s := Stream{parser: failing{}, width: 40}
	d := s.parse([]byte("# a **b**\n\n&amp; \x1b[2J\n"))
	lines, _ := d.render(d.units, joint{})
	require.Equal(t, []string{"# a **b**", "", "&amp; ␛[2J"}, marked(lines))

	s = Stream{parser: failing{}}
	s.Append("# a")
	require.Equal(t, []string{"# a"}, marked(s.Lines(40)))
	s.Append("b")
	require.Equal(t, []string{"{heading+bold+underline}ab{}"}, marked(s.Lines(40)), "the next time it is Markdown again")
}

func FuzzRender(f *testing.F) {
	f.Add("# a\n\n- b\n\n```c\nd", 20, 3)
	f.Add("| a | b |\n|---|--:|\n| \x1b[2J | 1,5 |\n> x", 5, 1)
	for _, fragment := range fragments {
		f.Add(strings.Repeat(fragment, 3), 12, 2)
	}
	f.Fuzz(func(t *testing.T, text string, width, piece int) {
		width, piece = 1+max(width, -width, 0)%90, 1+max(piece, -piece, 0)%50
		whole := Render(text, width)
		requireFits(t, whole, width)
		var s Stream
		for rest := text; rest != ""; {
			n := min(piece, len(rest))
			s.Append(rest[:n])
			rest = rest[n:]
			requireFits(t, s.Lines(width), width)
		}
		s.Finish()
		require.Equal(t, marked(whole), marked(s.Lines(width)))
	})
}

// requireFits states what all lines are: no wider than asked, and inert.
func requireFits(t require.TestingT, lines []cells.Line, width int) {
	for _, l := range lines {
		if n := l.Width(); n > width {
			require.LessOrEqual(t, n, width, "%q", l.String())
		}
		for _, r := range l.String() {
			if unicode.IsControl(r) || r == 0x202e {
				require.Fail(t, "a control character", "%q", l.String())
			}
		}
	}
}

func marked(lines []cells.Line) []string {
	out := make([]string, 0, len(lines))
	for _, l := range lines {
		out = append(out, l.Marked())
	}
	return out
}

func BenchmarkStreamAppend(b *testing.B) {
	part := "Some words of **text** that `go` on and on.\n\n- one item\n- and two\n\n```go\nx := 1\n```\n\n"
	b.ReportAllocs()
	var s Stream
	n := 0
	for b.Loop() {
		at := n % (len(part) - 4)
		s.Append(part[at : at+4])
		s.Lines(80)
		n += 4
	}
}

func BenchmarkRender(b *testing.B) {
	text := strings.Repeat("# Title\n\nSome words of **text** that `go` on and on.\n\n- one item\n- and two\n\n| a | b |\n|---|--:|\n| x | 1.5 |\n\n", 200)
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Render(text, 80)
	}
}
