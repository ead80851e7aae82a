package artifacts

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// described is an artifact as a store would return it.
func described(src Source, content string) Artifact {
	a := newArtifact("me", src, []byte(content))
	a.Ref = "artifact://k3v9x2ab"
	return a
}

func numbered(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()
}

func TestDescriptor(t *testing.T) {
	t.Parallel()
	src := Source{Tool: "read_file", Name: "logs/big.log", Facts: []Fact{{"path", "logs/big.log"}, {"total_lines", "1000"}, {"at_end", "true"}}}
	const header = "[large result of read_file (logs/big.log), stored as artifact://k3v9x2ab: "
	const footer = `[to find something in it: search_artifact with artifact_id "artifact://k3v9x2ab"; to read on: retrieve_artifact with it and `
	facts := "path: logs/big.log\ntotal_lines: 1000\nat_end: true\n"
	for name, tc := range map[string]struct {
		content string
		limits  Limits
		want    string
	}{
		"whole lines": {numbered(1, 1000), Limits{60, 600}, header + "8893 bytes, 1000 lines, text/plain]\n" + facts +
			"--- lines 1 to 4:\nline 1\nline 2\nline 3\nline 4\n--- 8837 bytes left out; lines 998 to 1000:\nline 998\nline 999\nline 1000\n" + footer + "start_line 5]"},
		"CR LF": {strings.ReplaceAll(numbered(1, 1000), "\n", "\r\n"), Limits{40, 0}, header + "9893 bytes, 1000 lines, text/plain]\n" +
			"--- lines 1 to 2:\nline 1\nline 2\n--- 9856 bytes left out; lines 999 to 1000:\nline 999\nline 1000\n" + footer + "start_line 3]"},
		"one line": {strings.Repeat("汉字", 1000), Limits{7, 0}, header + "6000 bytes, 1 line, text/plain]\n" +
			"--- line 1:\n汉字汉字\n--- 5979 bytes left out; line 1:\n字汉字\n" + footer + "offset 12]"},
		"a short line before a long one": {"a\n" + strings.Repeat("b", 100) + "\nc\n", Limits{20, 0}, header + "105 bytes, 3 lines, text/plain]\n" +
			"--- lines 1 to 2:\na\nbbbbbbbb\n--- 85 bytes left out; lines 2 to 3:\nbbbbbbb\nc\n" + footer + "offset 10]"},
		"facts that fit": {numbered(1, 100), Limits{0, 32}, header + "792 bytes, 100 lines, text/plain]\npath: logs/big.log\nat_end: true\n" +
			"--- 792 bytes left out\n" + footer + "start_line 1]"},
		"a preview of everything": {"one\ntwo\n", Limits{100, 0}, header + "8 bytes, 2 lines, text/plain]\n--- all of it:\none\ntwo"},
		"two halves that meet":    {"1234567890", Limits{10, 0}, header + "10 bytes, 1 line, text/plain]\n--- all of it:\n1234567890"},
		"empty":                   {"", Limits{10, 0}, header + "0 bytes, 0 lines, text/plain]\n[the content is empty]"},
		"control characters": {"\x1b]0;x\x07\xff" + strings.Repeat("\u202e", 100), Limits{24, 0}, header + "307 bytes, 1 line, text/plain]\n" +
			"--- line 1:\n␛]0;x␇\\xFF\n--- 297 bytes left out; line 1:\n<U+202E>\n" + footer + "offset 7]"},
		"binary": {"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x01", Limits{24, 600}, header + "18 bytes, 3 lines, application/octet-stream]\n" + facts +
			"[the content is binary; it cannot be shown, searched or read as text]"},
		"UTF-16": {"\xff\xfea\x00b\x00", Limits{24, 0}, header + "6 bytes, 1 line, text/plain; charset=utf-16]\n" +
			"[the content is utf-16; it cannot be shown, searched or read as text]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := described(src, tc.content)
			require.Equal(t, tc.want, Descriptor(a, []byte(tc.content), tc.limits, ""))
		})
	}
}

// The longest texts and numbers leave what does not depend on limits within 600 bytes.
func TestFixedPartOfDescriptorIsSmall(t *testing.T) {
	t.Parallel()
	content := strings.Repeat(strings.Repeat("x", 99)+"\n", 100_000)
	a := described(Source{Tool: strings.Repeat("t", 100), Name: strings.Repeat("名", 200), ContentType: strings.Repeat("text/x-", 30)}, content)
	a.Ref = scheme + strings.Repeat("z", maxID)
	a.Lines = math.MaxInt32
	for _, limits := range []Limits{{0, 0}, {1200, 600}, {150, 0}} {
		p := newPreview([]byte(content), limits.PreviewChars)
		d := Descriptor(a, []byte(content), limits, "")
		require.LessOrEqual(t, len(d)-len(p.first)-len(p.last), 600)
	}
}

// A descriptor shows what it may, from where it says, and the same each time.
func TestDescriptorKeepsItsLimits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		content := drawContent(t)
		limits := Limits{PreviewChars: rapid.IntRange(0, 300).Draw(t, "preview"), SummaryChars: rapid.IntRange(0, 300).Draw(t, "summary")}
		facts := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Fact {
			return Fact{rapid.String().Draw(t, "name"), rapid.String().Draw(t, "value")}
		}), 0, 5).Draw(t, "facts")
		a := described(Source{Tool: "t", Name: rapid.String().Draw(t, "name"), Facts: facts}, string(content))
		d := Descriptor(a, content, limits, "")
		require.Equal(t, d, Descriptor(a, content, limits, ""))
		require.True(t, utf8.ValidString(d))
		require.Equal(t, d, show([]byte(d)), "showing it again changes nothing")
		require.LessOrEqual(t, utf8.RuneCountInString(a.Summary(limits.SummaryChars)), limits.SummaryChars)
		if !a.Encoding.Readable() {
			return
		}
		p := newPreview(content, limits.PreviewChars)
		require.LessOrEqual(t, utf8.RuneCountInString(p.first)+utf8.RuneCountInString(p.last), limits.PreviewChars)
		require.LessOrEqual(t, len(d)-len(p.first)-len(p.last)-len(a.Summary(limits.SummaryChars)), 600)
		require.Equal(t, show(content[:p.head])+show(content[p.tail:]), p.first+p.last)
		if p.whole() {
			return
		}
		require.Less(t, p.head, p.tail)
		if i := strings.LastIndex(d, "offset "); strings.HasSuffix(d, fmt.Sprintf("offset %d]", p.head)) {
			require.Positive(t, i)
			page, problem := pageOf(content, Range{Offset: int64(p.head)})
			require.Nil(t, problem)
			require.EqualValues(t, p.head, page.Offset, "reading on begins where the preview ended")
			return
		}
		page, problem := pageOf(content, Range{StartLine: p.headLines + 1})
		require.Nil(t, problem)
		require.EqualValues(t, p.head, page.Offset, "reading on begins where the preview ended")
	})
}

func TestEncodings(t *testing.T) {
	t.Parallel()
	random := make([]byte, 3000)
	state := uint32(1)
	for i := range random {
		state = state*1664525 + 1013904223
		random[i] = byte(state >> 24)
	}
	for name, tc := range map[string]struct {
		content string
		want    Encoding
	}{
		"empty":                     {"", UTF8},
		"text":                      {"plain 汉字 🦙\r\n\ttab\f", UTF8},
		"terminal colours":          {"\x1b[31mred\x1b[0m\n", UTF8},
		"a NUL":                     {"one line\nERROR a\x00b\nthree lines\n", UTF8},
		"Latin-1":                   {"caf\xe9 one\nERROR caf\xe9\n", Mixed},
		"an error far away":         {strings.Repeat("text ", 10_000) + "\xff", Mixed},
		"cut at the sniffed size":   {strings.Repeat("é", sniffBytes/2-1) + "x汉字", UTF8},
		"random":                    {string(random), Binary},
		"UTF-16LE":                  {"\xff\xfea\x00", UTF16},
		"UTF-16BE":                  {"\xfe\xff\x00a", UTF16},
		"UTF-16 without a mark":     {"a\x00b\x00c\x00d\x00", Binary},
		"only NULs":                 {"\x00\x00\x00", Binary},
		"text with a byte at front": {"\x80" + strings.Repeat("text ", 100), Mixed},
	} {
		require.Equal(t, tc.want, encodingOf([]byte(tc.content)), name)
	}
}

func TestFactsOf(t *testing.T) {
	t.Parallel()
	type inner struct {
		Errors int            `json:"errors"`
		Levels map[string]int `json:"levels"`
		Deeper struct {
			Deep struct {
				TooDeep int `json:"too_deep"`
			} `json:"deep"`
		} `json:"deeper"`
	}
	object := struct {
		Path    string   `json:"path"`
		Big     int64    `json:"big"`
		Ratio   float64  `json:"ratio"`
		Yes     bool     `json:"yes"`
		No      bool     `json:"no"`
		Zero    int      `json:"zero"`
		Empty   string   `json:"empty"`
		Nothing *int     `json:"nothing"`
		Long    string   `json:"long"`
		Lines   string   `json:"lines"`
		Rows    [][]any  `json:"rows"`
		One     []string `json:"one"`
		None    []string `json:"none"`
		Inner   inner    `json:"inner"`
	}{
		Path: "a <b>", Big: 9007199254740993, Ratio: 0.5, Yes: true, Long: strings.Repeat("x", 201), Lines: "a\nb", One: []string{"x"}, None: []string{},
		Rows: [][]any{{1, "[{"}, {2, nil}}, Inner: inner{Errors: 3, Levels: map[string]int{"WARN": 2, "ERROR": 1}},
	}
	object.Inner.Deeper.Deep.TooDeep = 1
	facts, err := FactsOf(object)
	require.NoError(t, err)
	require.Equal(t, []Fact{
		{"path", "a <b>"}, {"big", "9007199254740993"}, {"ratio", "0.5"}, {"yes", "true"}, {"no", "false"}, {"zero", "0"}, {"rows", "2 items"}, {"one", "1 item"},
		{"inner.errors", "3"}, {"inner.levels.ERROR", "1"}, {"inner.levels.WARN", "2"},
	}, facts)

	many := map[string]int{}
	for i := range 100 {
		many[fmt.Sprint(i)] = i
	}
	facts, err = FactsOf(many)
	require.NoError(t, err)
	require.Len(t, facts, maxFacts)
	facts, err = FactsOf(nil)
	require.NoError(t, err)
	require.Empty(t, facts)
	for _, bad := range []any{[]int{1}, "text", 5, func() {}} {
		_, err := FactsOf(bad)
		require.ErrorContains(t, err, "collecting facts: ")
	}
}

func TestDescriptorShowsWhatTheTaskIsAbout(t *testing.T) {
	t.Parallel()
	content := numbered(1, 500) + "the key \x1b[2J lies under the third stair\n" + numbered(502, 1000)
	a := described(Source{Tool: "read_file"}, content)
	d := Descriptor(a, []byte(content), DefaultLimits(), "Where does the key lie?")
	require.Contains(t, d, "\nline 501: the key ␛[2J lies under the third stair\n", "with its number, made visible")
	require.NotContains(t, Descriptor(a, []byte(content), DefaultLimits(), "anything else"), "nearest")
	text, near := Describe(a, []byte(content+"the lock is at the gate\n"), DefaultLimits(), "Where is the lock?\nlook it up")
	require.Contains(t, text, "\nline 1001: the lock is at the gate\n", "also what the preview shows, because it is easily overlooked")
	require.True(t, near)
	_, near = Describe(a, []byte(content), DefaultLimits(), "Where does the key lie?\nfind many words that stand nowhere here, in another language perhaps")
	require.True(t, near, "each line is a question of its own")
	require.NotContains(t, Descriptor(a, []byte(content), Limits{SummaryChars: 600}, "Where does the key lie?"), "nearest", "without a preview there is none")

	rapid.Check(t, func(t *rapid.T) {
		content := drawContent(t)
		a := described(Source{Tool: "t"}, string(content))
		limits := Limits{PreviewChars: rapid.IntRange(0, 300).Draw(t, "preview")}
		about := rapid.StringMatching("([a-z]{1,4}|漢字| ){0,8}").Draw(t, "about")
		with := Descriptor(a, content, limits, about)
		require.Equal(t, with, Descriptor(a, content, limits, about))
		require.Equal(t, with, show([]byte(with)))
		added := utf8.RuneCountInString(with) - utf8.RuneCountInString(Descriptor(a, content, limits, ""))
		require.LessOrEqual(t, added, limits.PreviewChars/2+12*limits.PreviewChars/2+50, "numbers included")
	})
}
