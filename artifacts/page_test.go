package artifacts

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/llama-agent/llama-agent/internal/reference"
)

func TestPages(t *testing.T) {
	t.Parallel()
	const text = "one\ntwo 汉字\r\n\nfour\nlast"
	for name, tc := range map[string]struct {
		content string
		r       Range
		want    Page // without its artifact
	}{
		"everything fits":          {text, Range{}, Page{Content: []byte(text), Next: 26, StartLine: 1, EndLine: 5, AtEnd: true}},
		"whole lines":              {text, Range{StartLine: 2, MaxLines: 2}, Page{Content: []byte("two 汉字\r\n\n"), Offset: 4, Next: 17, StartLine: 2, EndLine: 3}},
		"a line without end":       {text, Range{StartLine: 5}, Page{Content: []byte("last"), Offset: 22, Next: 26, StartLine: 5, EndLine: 5, AtEnd: true}},
		"only lines that fit":      {text, Range{StartLine: 1, MaxBytes: 10}, Page{Content: []byte("one\n"), Next: 4, StartLine: 1, EndLine: 1}},
		"a line fits exactly":      {text, Range{StartLine: 1, MaxBytes: 16}, Page{Content: []byte("one\ntwo 汉字\r\n"), Next: 16, StartLine: 1, EndLine: 2}},
		"a line that is too long":  {text, Range{StartLine: 2, MaxBytes: 9}, Page{Content: []byte("two 汉"), Offset: 4, Next: 11, StartLine: 2, EndLine: 2, CutLine: true}},
		"max_lines alone":          {text, Range{MaxLines: 1}, Page{Content: []byte("one\n"), Next: 4, StartLine: 1, EndLine: 1}},
		"bytes":                    {text, Range{Offset: 4, Length: 3}, Page{Content: []byte("two"), Offset: 4, Next: 7, StartLine: 2, EndLine: 2, CutLine: true}},
		"bytes in a character":     {text, Range{Offset: 9, Length: 2}, Page{Content: []byte("汉"), Offset: 8, Next: 11, StartLine: 2, EndLine: 2, CutLine: true}},
		"less than a character":    {text, Range{Offset: 8, Length: 1}, Page{Content: []byte("汉"), Offset: 8, Next: 11, StartLine: 2, EndLine: 2, CutLine: true}},
		"to the end":               {text, Range{Offset: 22}, Page{Content: []byte("last"), Offset: 22, Next: 26, StartLine: 5, EndLine: 5, AtEnd: true}},
		"at the end":               {text, Range{Offset: 26}, Page{Content: []byte(""), Offset: 26, Next: 26, StartLine: 5, EndLine: 5, AtEnd: true}},
		"ends with a line":         {"a\nb\n", Range{Offset: 0, Length: 2}, Page{Content: []byte("a\n"), Next: 2, StartLine: 1, EndLine: 1}},
		"empty":                    {"", Range{}, Page{Content: []byte(""), StartLine: 1, EndLine: 1, AtEnd: true}},
		"first line of nothing":    {"", Range{StartLine: 1}, Page{Content: []byte(""), StartLine: 1, EndLine: 1, AtEnd: true}},
		"the longest length":       {"汉b", Range{Offset: 2, Length: 1<<63 - 1}, Page{Content: []byte("汉b"), Next: 4, StartLine: 1, EndLine: 1, AtEnd: true}},
		"bytes that are no text":   {"\x80\x80\xff\xe6", Range{Offset: 1, Length: 2}, Page{Content: []byte("\x80\xff"), Offset: 1, Next: 3, StartLine: 1, EndLine: 1, CutLine: true}},
		"a replacement character":  {"\uFFFDx", Range{Offset: 2, Length: 1}, Page{Content: []byte("\uFFFD"), Next: 3, StartLine: 1, EndLine: 1, CutLine: true}},
		"a character cut off":      {"ab\xe6\xb1", Range{Offset: 3}, Page{Content: []byte("\xb1"), Offset: 3, Next: 4, StartLine: 1, EndLine: 1, AtEnd: true}},
		"the end of a huge length": {"ab", Range{Offset: 1, Length: 1 << 62}, Page{Content: []byte("b"), Offset: 1, Next: 2, StartLine: 1, EndLine: 1, AtEnd: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, problem := pageOf([]byte(tc.content), tc.r)
			require.Nil(t, problem)
			require.Equal(t, tc.want, got)
		})
	}
}

func TestRangesThatThereAreNot(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	a, empty := put(t, s, "me", "a", "one\ntwo\n"), put(t, s, "me", "empty", "")
	for name, tc := range map[string]struct {
		ref  string
		r    Range
		says string
	}{
		"line past the end":    {a.Ref, Range{StartLine: 3}, "start_line 3 is past the end; there are 2 lines; use a start_line from 1 to 2"},
		"byte past the end":    {a.Ref, Range{Offset: 9}, "offset 9 is past the end; there are 8 bytes; use an offset from 0 to 7"},
		"line of nothing":      {empty.Ref, Range{StartLine: 2}, "use a start_line from 1 to 1"},
		"byte of nothing":      {empty.Ref, Range{Offset: 1}, "use an offset from 0 to 0"},
		"negative line":        {a.Ref, Range{StartLine: -1}, "negative"},
		"negative offset":      {a.Ref, Range{Offset: -1}, "negative"},
		"negative length":      {a.Ref, Range{Length: -1}, "negative"},
		"negative page":        {a.Ref, Range{MaxBytes: -1}, "negative"},
		"lines and bytes":      {a.Ref, Range{StartLine: 1, Offset: 1}, "lines and bytes are both given; use start_line and max_lines, or offset and length"},
		"lines and byte count": {a.Ref, Range{MaxLines: 1, Length: 1}, "lines and bytes are both given"},
	} {
		_, err := s.Retrieve(t.Context(), "me", tc.ref, tc.r)
		require.ErrorIs(t, err, ErrRange, name)
		require.ErrorContains(t, err, "reading "+tc.ref+": ", name)
		require.ErrorContains(t, err, tc.says, name)
	}
}

func TestRetrievedContentIsTheCallers(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	a := put(t, s, "me", "a", "content")
	page, err := s.Retrieve(t.Context(), "me", a.Ref, Range{})
	require.NoError(t, err)
	require.Equal(t, a.Ref, page.Artifact.Ref)
	page.Content[0] = 'X'
	requireContent(t, s, a, "content")
}

// drawContent draws text with what is awkward in it.
func drawContent(t *rapid.T) []byte {
	piece := rapid.OneOf(
		rapid.SampledFrom([]string{"\n", "\r\n", "\r", "\x00", "\x1b[31m", "\xff", "\xe6\xb1", "\x80", "\uFFFD", "\ufeff", "\u202e", "é", "汉", "🦙", "e\u0301",
			"ERROR", "error", "a", " "}),
		rapid.StringN(0, 20, 60),
		rapid.Map(rapid.IntRange(1, 700), func(n int) string { return strings.Repeat("x", n) }),
	)
	return []byte(strings.Join(rapid.SliceOfN(piece, 0, 30).Draw(t, "content"), ""))
}

// Pages that follow each other are the content, none is too long, and none ends inside a character.
func TestPagesAreTheContent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		content := drawContent(t)
		limit := rapid.Int64Range(1, 50).Draw(t, "limit")
		byLines := rapid.Bool().Draw(t, "by lines")
		var all []byte
		r := Range{MaxBytes: limit}
		if byLines {
			r.StartLine = 1
		}
		for pages := 0; ; pages++ {
			require.LessOrEqual(t, pages, len(content))
			p, problem := pageOf(content, r)
			require.Nil(t, problem)
			require.EqualValues(t, len(all), p.Offset)
			require.EqualValues(t, len(all)+len(p.Content), p.Next)
			require.Equal(t, 1+bytes.Count(content[:p.Offset], []byte("\n")), p.StartLine)
			if _, first := utf8.DecodeRune(p.Content); int64(len(p.Content)) > limit {
				require.Len(t, p.Content, first, "more than the limit is one character")
			}
			requireWholeChars(t, content, p)
			all = append(all, p.Content...)
			require.Equal(t, len(all) == len(content), p.AtEnd)
			if p.AtEnd {
				break
			}
			require.NotEmpty(t, p.Content)
			r = Range{MaxBytes: limit, Offset: p.Next}
			if byLines && !p.CutLine {
				r = Range{MaxBytes: limit, StartLine: p.EndLine + 1}
			}
		}
		require.Equal(t, string(content), string(all))
	})
}

// requireWholeChars compares the characters of a page with those of the content at the same places.
func requireWholeChars(t require.TestingT, content []byte, p Page) {
	starts := map[int64]bool{int64(len(content)): true}
	for i := range string(content) {
		starts[int64(i)] = true
	}
	require.True(t, starts[p.Offset], "offset %d", p.Offset)
	require.True(t, starts[p.Next], "next offset %d", p.Next)
}

func FuzzRange(f *testing.F) {
	f.Add([]byte("one\ntwo 汉字\r\n"), 1, 1, int64(0), int64(0), int64(5))
	f.Add([]byte("\xe6\xb1\x89"), 0, 0, int64(2), int64(1), int64(1))
	f.Add([]byte("\xe6\xb1\x89"), 0, 0, int64(2), int64(1<<63-1), int64(1<<63-1))
	f.Add([]byte(""), 0, 1<<30, int64(-1), int64(1<<62), int64(0))
	f.Fuzz(func(t *testing.T, content []byte, startLine, maxLines int, offset, length, limit int64) {
		p, problem := pageOf(content, Range{StartLine: startLine, MaxLines: maxLines, Offset: offset, Length: length, MaxBytes: limit})
		if problem != nil {
			require.NotEmpty(t, problem.Reason)
			require.NotEmpty(t, problem.Fix)
			return
		}
		require.Equal(t, string(content[p.Offset:p.Next]), string(p.Content))
		requireWholeChars(t, content, p)
		if limit > utf8.UTFMax {
			require.LessOrEqual(t, int64(len(p.Content)), limit)
		}
		if maxLines > 0 {
			require.LessOrEqual(t, countLines(p.Content), maxLines)
		}
		require.Equal(t, p.AtEnd, int(p.Next) == len(content))
	})
}

func FuzzParseRef(f *testing.F) {
	for _, seed := range []string{"artifact://k3v9x2ab", "k3v9x2ab", "ARTIFACT://K3V9X2AB", "artifact://../../x", "", "artifact://", "\x00", strings.Repeat("a", 10_000), "artifact://iiiiiiii"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		ref, ok := ParseRef(s)
		if !ok {
			require.Empty(t, ref)
			return
		}
		require.Regexp(t, fmt.Sprintf(`^artifact://[%s]{8,52}$`, reference.Alphabet), ref)
		again, ok := ParseRef(ref)
		require.True(t, ok)
		require.Equal(t, ref, again)
		bare, ok := ParseRef(strings.TrimPrefix(ref, scheme))
		require.True(t, ok)
		require.Equal(t, ref, bare)
	})
}
