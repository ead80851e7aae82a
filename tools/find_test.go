package tools

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestFinderAgreesWithRegularExpressions(t *testing.T) {
	t.Parallel()
	letters := rapid.SampledFrom([]string{"a", "A", "b", "B", "@", "[", "{", "`", "é", "É", "ß", "ж", "Ж", "漢", " ", "0", "\x00", "-", "\xe9", "\xc3", "\n"})
	valid := rapid.SampledFrom([]string{"a", "A", "b", "B", "@", "[", "{", "`", "é", "É", "ß", "ж", "Ж", "漢", " ", "0", "-"})
	rapid.Check(t, func(rt *rapid.T) {
		text := strings.Join(rapid.SliceOfN(letters, 0, 60).Draw(rt, "text"), "")
		query := strings.Join(rapid.SliceOfN(valid, 1, 5).Draw(rt, "query"), "")
		f := newFinder(query)
		want := append([][]int{}, regexp.MustCompile("(?i)"+regexp.QuoteMeta(query)).FindAllStringIndex(text, -1)...)
		got := [][]int{}
		for from := 0; ; {
			start, end := f.find([]byte(text), from)
			if start < 0 {
				break
			}
			got = append(got, []int{start, end})
			from = end
		}
		require.Equal(rt, want, got, "%q in %q", query, text)
	})
}

func TestFinderKnowsWhetherCaseMatters(t *testing.T) {
	t.Parallel()
	for query, cased := range map[string]bool{"ERROR": true, "e": true, "é": true, "12:30": false, "漢字": false, "-": false} {
		require.Equal(t, cased, newFinder(query).cased, query)
	}
}

func BenchmarkFinder(b *testing.B) {
	text := []byte(strings.Repeat("2026-01-05 00:00:00,061 INFO  [worker-10] com.shop.http.RequestLogger - Order 4120 accepted with 449 items\n", 5000))
	for _, query := range []string{"ERROR", "timeout", "refused é", "时间"} {
		b.Run(query, func(b *testing.B) {
			f := newFinder(query)
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				f.find(text, 0)
			}
		})
	}
}
