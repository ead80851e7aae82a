package artifacts

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func find(t testing.TB, content string, q Query) SearchResult {
	t.Helper()
	s := open(t, Options{})
	a := put(t, s, "me", "a", content)
	r, err := s.Search(t.Context(), "me", a.Ref, q)
	require.NoError(t, err)
	require.Equal(t, a.Ref, r.Artifact.Ref)
	return r
}

func TestSearch(t *testing.T) {
	t.Parallel()
	const text = "first ERROR\r\nsecond 汉字 error\n\nERROR fourth ERROR\nlast ERROR"
	long := strings.Repeat("é", 300) + "needle" + strings.Repeat("é", 300)
	for name, tc := range map[string]struct {
		content string
		q       Query
		want    []Match
		lines   int
		left    int
		other   bool
	}{
		"literal": {text, Query{Text: "ERROR"}, []Match{
			{1, 6, 5, "first ERROR"}, {4, 34, 5, "ERROR fourth ERROR"}, {5, 58, 5, "last ERROR"},
		}, 3, 0, false},
		"the first ones":      {text, Query{Text: "ERROR", MaxMatches: 1}, []Match{{1, 6, 5, "first ERROR"}}, 3, 2, false},
		"as many bytes":       {text, Query{Text: "ERROR", MaxBytes: 30}, []Match{{1, 6, 5, "first ERROR"}, {4, 34, 5, "ERROR fourth ERROR"}}, 3, 1, false},
		"in order":            {"x a\nx " + strings.Repeat("b", 50) + "\nx c\n", Query{Text: "x", MaxBytes: 20}, []Match{{1, 0, 1, "x a"}}, 3, 2, false},
		"letter case":         {text, Query{Text: "Error"}, []Match{{1, 6, 5, "first ERROR"}, {2, 27, 5, "second 汉字 error"}, {4, 34, 5, "ERROR fourth ERROR"}, {5, 58, 5, "last ERROR"}}, 4, 0, true},
		"not there":           {text, Query{Text: "WARN"}, []Match{}, 0, 0, false},
		"taken literally":     {text, Query{Text: "E.R"}, []Match{}, 0, 0, false},
		"characters":          {text, Query{Text: "汉字"}, []Match{{2, 20, 6, "second 汉字 error"}}, 1, 0, false},
		"expression":          {text, Query{Text: `(?i)error$`, Regex: true}, []Match{{1, 6, 5, "first ERROR"}, {2, 27, 5, "second 汉字 error"}, {4, 47, 5, "ERROR fourth ERROR"}, {5, 58, 5, "last ERROR"}}, 4, 0, false},
		"expression in case":  {text, Query{Text: `Error`, Regex: true}, []Match{}, 0, 0, false},
		"empty lines":         {text, Query{Text: `^$`, Regex: true}, []Match{{3, 33, 0, ""}}, 1, 0, false},
		"a long line":         {long, Query{Text: "needle"}, []Match{{1, 600, 6, "…" + strings.Repeat("é", 50) + "needle" + strings.Repeat("é", 147) + "…"}}, 1, 0, false},
		"bytes":               {"a\x00b\xffc\n", Query{Text: "\xff"}, []Match{{1, 3, 1, "a␀b\\xFFc"}}, 1, 0, false},
		"control characters":  {"\x1b[31mred\n", Query{Text: "red"}, []Match{{1, 5, 3, "␛[31mred"}}, 1, 0, false},
		"nothing":             {"", Query{Text: "x"}, []Match{}, 0, 0, false},
		"a match longer":      {strings.Repeat("z", 1000), Query{Text: "z+", Regex: true}, []Match{{1, 0, 1000, strings.Repeat("z", 400) + "…"}}, 1, 0, false},
		"less than one shows": {long, Query{Text: "needle", MaxBytes: 20}, []Match{{1, 600, 6, "…éééneedleéééé…"}}, 1, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := find(t, tc.content, tc.q)
			require.Equal(t, tc.want, r.Matches)
			require.Equal(t, tc.lines, r.Lines)
			require.Equal(t, tc.left, r.Left)
			require.Equal(t, tc.other, r.OtherCase)
			require.False(t, r.More)
		})
	}
}

func TestSearchInOneHugeLine(t *testing.T) {
	t.Parallel()
	filler := strings.Repeat("x", 10<<20)
	content := "needle" + filler[:5<<20] + "needle needle" + filler[:5<<20] + "needle"
	r := find(t, content, Query{Text: "needle"})
	require.Equal(t, 1, r.Lines)
	require.Len(t, r.Matches, 3, "two that are shown together are one")
	require.EqualValues(t, []int64{0, 6 + 5<<20, int64(len(content)) - 6}, []int64{r.Matches[0].Offset, r.Matches[1].Offset, r.Matches[2].Offset})
	for _, m := range r.Matches {
		require.Contains(t, m.Text, "needle")
		require.Less(t, len(m.Text), 2*maxShown)
	}
	r = find(t, filler, Query{Text: "x"})
	require.Equal(t, 1, r.Lines)
	require.True(t, r.More, "not all places of the line were looked for")
}

func TestQueriesThatCannotBeSearched(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	a := put(t, s, "me", "a", "x")
	for name, tc := range map[string]struct {
		q    Query
		says string
	}{
		"empty":          {Query{}, "the query is empty"},
		"too long":       {Query{Text: strings.Repeat("x", maxQueryBytes+1)}, "at most 4096 are allowed"},
		"no expression":  {Query{Text: "(", Regex: true}, "is no regular expression"},
		"too large":      {Query{Text: "(a{1000}){1000}", Regex: true}, "is no regular expression"},
		"several lines":  {Query{Text: "a\nb"}, "within one line"},
		"empty in regex": {Query{Regex: true}, "the query is empty"},
	} {
		_, err := s.Search(t.Context(), "me", a.Ref, tc.q)
		require.ErrorIs(t, err, ErrQuery, name)
		require.ErrorContains(t, err, tc.says, name)
	}
}

// What a search found is exactly what is retrieved at the place that it names, by bytes and by lines.
func TestSearchOffsetsRetrieveWhatWasFound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		content := drawContent(t)
		q := Query{Text: rapid.SampledFrom([]string{"ERROR", "eRRor", "a", "é", "汉", "🦙", "\u0301", "\uFFFD", "x", "\xff", "\x00", "zzz"}).Draw(t, "query"), MaxMatches: 1 << 20, MaxBytes: 1 << 30}
		if rapid.Bool().Draw(t, "regex") {
			q.Regex = true
			q.Text = rapid.SampledFrom([]string{`(?i)error`, `[^a-z]+`, `.`, `x+$`, `^`, `汉|🦙`, `\w+`, `^a`, `[\x80-\x{10ffff}]`}).Draw(t, "expression")
		}
		finder, loose, problem := q.finders()
		require.NoError(t, problem)
		r, err := search(t.Context(), content, q, finder)
		require.NoError(t, err)
		exact := r.Lines > 0
		if !exact && loose != nil {
			r, err = search(t.Context(), content, q, loose)
			require.NoError(t, err)
		}
		expression := regexp.MustCompile("(?i)" + regexp.QuoteMeta(strings.ToValidUTF8(q.Text, "never")))
		if q.Regex {
			expression = regexp.MustCompile(q.Text)
		}
		lines := strings.Split(string(content), "\n")
		matching := 0
		for i, line := range lines {
			if i == len(lines)-1 && line == "" {
				break // there is no line after the last line end
			}
			line = strings.TrimSuffix(line, "\r")
			if !q.Regex && (exact || loose == nil) {
				if strings.Contains(line, q.Text) {
					matching++
				}
			} else if expression.MatchString(line) {
				matching++
			}
		}
		require.Equal(t, matching, r.Lines)
		require.Zero(t, r.Left)
		last := int64(-1)
		for _, m := range r.Matches {
			require.Greater(t, m.Offset, last, "in the order of the content")
			last = m.Offset
			require.True(t, utf8.ValidString(m.Text))
			line, problem := pageOf(content, Range{StartLine: m.Line, MaxLines: 1, MaxBytes: 1 << 30})
			require.Nil(t, problem)
			require.GreaterOrEqual(t, m.Offset, line.Offset)
			require.LessOrEqual(t, m.Offset+m.Length, line.Next)
			if m.Length == 0 {
				continue
			}
			p, problem := pageOf(content, Range{Offset: m.Offset, Length: m.Length, MaxBytes: 1 << 30})
			require.Nil(t, problem)
			require.Equal(t, m.Offset, p.Offset)
			require.Equal(t, m.Length, p.Next-p.Offset)
			require.Equal(t, m.Line, p.StartLine)
			if !q.Regex && exact {
				require.Equal(t, q.Text, string(p.Content))
			} else if !q.Regex {
				require.Equal(t, []int{0, len(p.Content)}, expression.FindIndex(p.Content))
			}
		}
	})
}
