package markdown

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRender(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in    string
		width int
		want  []string
	}{
		"blank":           {" \n\n", 20, []string{}},
		"no room":         {"x", 0, []string{}},
		"line ends":       {"a\nb  \nc\\\nd", 20, []string{"a", "b", "c", "d"}},
		"headings":        {"# A *b*\n## C\n### D\ntext\n===", 20, []string{"{heading+bold+underline}A {}{heading+bold+italic+underline}b{}", "", "{heading+bold}C{}", "", "{heading}D{}", "", "{heading+bold+underline}text{}"}},
		"emphasis":        {"**b** *i* ***bi*** ~~s~~ `c`", 40, []string{"{text+bold}b{} {text+italic}i{} {text+bold+italic}bi{} {text+strike}s{} {code}c{}"}},
		"nested code":     {"**b `c`**", 40, []string{"{text+bold}b {}{code+bold}c{}"}},
		"code in lines":   {"`a\nb`", 40, []string{"{code}a b{}"}},
		"escapes":         {`\*a\* &amp; &lt;b&gt; \& &nope; &#65; a\b`, 60, []string{`*a* & <b> & &nope; A a\b`}},
		"entity controls": {"a&#27;[2J&#x9b;b&#8238;c", 60, []string{`a␛[2J›b<U+202E>c`}},
		"html":            {"<div>\n<b>x</b> <!-- y -->\n</div>\n\n<script>\n\nz", 40, []string{"<div>", "<b>x</b> <!-- y -->", "</div>", "", "<script>", "", "z"}},
		"links": {"[a](http://b.c) [http://b.c](http://b.c) <http://d.e> https://f.g. [](http://h.i) ![p](q.png)", 200, []string{
			"{link+underline}a{}{muted} (http://b.c){} {link+underline}http://b.c{} {link+underline}http://d.e{} {link+underline}https://f.g{}. {link+underline}http://h.i{} {muted}image: {}{link+underline}p{}{muted} (q.png){}"}},
		"a link that lies":    {"[http://good.org](http://evil.org)", 60, []string{"{link+underline}http://good.org{}{muted} (http://evil.org){}"}},
		"mail":                {"[a@b.c](mailto:a@b.c)", 60, []string{"{link+underline}a@b.c{}"}},
		"references are text": {"[a][b] [b]\n\n[b]: http://c.d", 60, []string{"[a][b] [b]", "", "[b]: {link+underline}http://c.d{}"}},
		"lists": {"Text:\n- a\n- b\n  - c\n\n- d\n\n  e\n- [x] f\n- [ ] g", 20, []string{
			"Text:", "{accent}• {}a", "{accent}• {}b", "  {accent}◦ {}c", "", "{accent}• {}d", "", "  e", "{accent}• {}{good}[x] {}f", "{accent}• {}{muted}[ ] {}g"}},
		"numbers":         {"9. a\n9. b\n\n1) c", 20, []string{"{accent}9. {}a", "{accent}10. {}b", "", "{accent}1) {}c"}},
		"wrapped item":    {"- one two three", 11, []string{"{accent}• {}one two", "  three"}},
		"empty item":      {"- \n- a", 11, []string{"{accent}• {}", "{accent}• {}a"}},
		"code in an item": {"1. a\n   ```sh\n   ls\n   ```", 20, []string{"{accent}1. {}a", "     {muted+italic}sh{}", "     {code}ls{}"}},
		"quote":           {"> a **b**\n>\n> > c\n> - d", 20, []string{"{quote}│ a {}{quote+bold}b{}", "{quote}│{}", "{quote}│ │ c{}", "{quote}│ {}{accent}• {}{quote}d{}"}},
		"rule":            {"a\n\n---\nb", 5, []string{"a", "", "{muted}─────{}", "", "b"}},
		"code": {"```go x\n\tif a {\n\n\t\tb := \"a long string\"\n```", 18, []string{
			"  {muted+italic}go x{}", "  {code}    if a {{}", "", "  {code}        b := \"a{}", "{muted}↳ {}        {code}long{}", "{muted}↳ {}        {code}string\"{}"}},
		"indented code": {"    a *b*\n     c", 18, []string{"  {code}a *b*{}", "  {code} c{}"}},
		"empty code":    {"```\n```", 18, []string{"  "}},
		"tview markup":  {"[red]x[-] [\"r\"]", 18, []string{"[red]x[-] [\"r\"]"}},
	} {
		got := marked(Render(c.in, c.width))
		if name == "code" { // how a broken line ends is a matter of cells
			got, c.want = trimmed(got), trimmed(c.want)
		}
		require.Equal(t, c.want, got, name)
	}
}

func trimmed(lines []string) []string {
	out := make([]string, 0, len(lines))
	for _, l := range lines {
		out = append(out, strings.TrimRight(strings.ReplaceAll(strings.TrimRight(l, " "), " {}", "{}"), " "))
	}
	return out
}

func TestTable(t *testing.T) {
	t.Parallel()
	const table = "| Name | Count | Size | Note |\n|:--|---|:-:|--|\n| alpha | 1,234 | 1 | a `b` |\n| 汉字 | -5 |\n| c | n/a | 333 | one two three four |\n"
	require.Equal(t, []string{
		"Name  │ Count │ Size │ Note              ",
		"──────┼───────┼──────┼───────────────────",
		"alpha │ 1,234 │  1   │ a b               ",
		"汉字  │    -5 │      │                   ",
		"c     │   n/a │ 333  │ one two three four",
	}, texts(table, 60))
	require.Equal(t, []string{
		"Name  │ Count │ Size │ Note     ",
		"──────┼───────┼──────┼──────────",
		"alpha │ 1,234 │  1   │ a b      ",
		"──────┼───────┼──────┼──────────",
		"汉字  │    -5 │      │          ",
		"──────┼───────┼──────┼──────────",
		"c     │   n/a │ 333  │ one two  ",
		"      │       │      │ three    ",
		"      │       │      │ four     ",
	}, texts(table, 32))
	require.Equal(t, []string{
		"Name: alpha", "Count: 1,234", "Size: 1", "Note: a b", "────────",
		"Name: 汉字", "Count: -5", "────────",
		"Name: c", "Count: n/a", "Size: 333", "Note: one two", "  three four",
	}, texts(table, 14))
	require.Equal(t, []string{"a: ", "b: "}, texts("|a|b|\n|-|-|\n", 4))
	require.Equal(t, []string{"x", "y: 1"}, texts("||y|\n|-|-|\n|x|1|", 4))
	require.Equal(t, []string{"para", "", "a │ b", "──┼──", "1 │ 2"}, texts("para\n|a|b|\n|-|-|\n|1|2|", 20))
	require.Equal(t, []string{"a     │ b", "──────┼──", "x|y z │ 1"}, texts("|a|b|\n|-|-|\n|`x\\|y` z|1|", 20))
	require.Equal(t, "{heading+bold}a{}{muted} │ {}{heading+bold}b{}", Render("|a|b|\n|-|-|\n|1|2|", 20)[0].Marked())

	wide := strings.Repeat("|a", 200) + "|\n" + strings.Repeat("|-", 200) + "|\n" + strings.Repeat("|\n", 200)
	require.Contains(t, strings.Join(texts(wide, 40), "\n"), "|a|a", "a table of too many cells is text")
}

func texts(source string, width int) []string {
	out := []string{}
	for _, l := range Render(source, width) {
		out = append(out, l.String())
	}
	return out
}

func TestNumberKind(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]numeric{
		"1": isNumber, "-1.5": isNumber, "1,234.50": isNumber, "$ 5": isNumber, "12 %": isNumber, "3.2 GB": isNumber, "15 tok/s": isNumber, "1e-5": isNumber, "2026-01-02": isNumber,
		"12:30": isNumber, "±3": isNumber, "٣": isNumber, "-": isNothing, "N/A": isNothing, "—": isNothing,
		"a": isText, "v1": isText, "1 of many": isText, "": isText, "+": isText, "1 (x)": isText, "3 kilograms": isText,
	} {
		require.Equal(t, want, numberKind(text), "%q", text)
	}
}

func TestDepthIsBounded(t *testing.T) {
	t.Parallel()
	require.Equal(t, strings.Repeat("│ ", maxDepth)+strings.Repeat(">", 6), texts(strings.Repeat(">", maxDepth+6), 100)[0])
	lines := texts(strings.Repeat("[a](b) ", maxLinks+1), 100)
	require.Equal(t, maxLinks+1, strings.Count(strings.Join(lines, ""), "(b)"))
	require.Equal(t, 1, strings.Count(strings.Join(lines, ""), "[a](b)"))
}
