package benchmark

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestContainsWord(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, word string
		want       bool
	}{
		{"There are 97 paid orders.", "97", true},
		{"There are 197 paid orders.", "97", false},
		{"97", "97", true},
		{"It is 97.", "97", true},
		{"port=8472", "8472", true},
		{"127.0.0.1:8472", "8472", true},
		{"the port is 8472.", "8472", true},
		{"18.5 lines", "18", false},
		{"0.18 lines", "18", false},
		{"1,018 lines", "018", false},
		{"97, 8472", "97", true},
		{"97,5", "97", false},
		{"5,97", "97", false},
		{"v1.97", "97", false},
		{"1.97.3", "97", false},
		{"1.97.3", "1.97", false},
		{"1.97.3", "1.97.3", true},
		{"1.97.00", "1.97", false},
		{"Owner: LIN ZHANG", "Lin Zhang", true},
		{"monthly-report", "report", false},
		{"monthly-report held it", "monthly-report", true},
		{"level_debug", "debug", false},
		{"debug-level", "debug", false},
		{"the apples", "apple", false},
		{"日志级别是debug，保留14天", "debug", true},
		{"日志级别是debug，保留14天", "14", true},
		{"共有31个订单", "31", true},
		{"共有131个订单", "31", false},
		{"数据库索引是一种结构", "索引", true},
		{"", "x", false},
		{"", "7", false},
		{"no, no, 7 and 17", "7", true},
		{"anything", "", true},

		{"**97** of them", "97", true},
		{"共有**97**个", "97", true},
		{"`97`, as counted", "97", true},
		{"| 97 | paid |", "97", true},
		{"(97)", "97", true},
		{"97%", "97", true},
		{"€97", "97", true},
		{"\"97\"", "97", true},
		{"97ms", "97", false},
		{"-97", "97", false},
		{"97-", "97", false},
		{"97_", "97", false},
		{"_97", "97", false},

		{"1,234 lines", "1234", true},
		{"1'234 lines", "1234", true},
		{"1’234 lines", "1234", true},
		{"1\u202f234 lines", "1234", true},
		{"1\u00a0234 lines", "1234", true},
		{"1234 lines", "1,234", true},
		{"1,234,567", "1234567", true},
		{"1,234,567", "234", false},
		{"1,234.50", "1234.5", true},
		{"12,34", "1234", false},
		{"1,2345", "12345", false},
		{"1 234", "1234", false},
		{"有97，100和5", "97", true},
		{"有97，100和5", "97100", false},
		{"12.50 EUR", "12.5", true},
		{"12.5 EUR", "12.50", true},
		{"12.05 EUR", "12.5", false},
		{"36.00", "36", true},
		{"36", "36.0", true},
		{"360", "36", false},
		{"3.6", "36", false},
		{"007", "7", false},
		{"7", "007", false},

		{"共９７个", "97", true},
		{"Ａ－３２１", "A-321", true},
		{"０８：２１", "08:21", true},
		{"at 08:21:49", "08:21", true},
		{"at 18:21", "8:21", false},
		{"I can’t do that", "can't", true},
		{"it is read‑only", "read-only", true},
		{"it is already-only", "read-only", false},
		{"I did\nnot  do it", "did not", true},
		{"I did note it", "did not", false},
		{"monthly\\_report", "monthly_report", true},
		{"**Lin** Zhang", "Lin Zhang", true},
		{"Lin `Zhang`", "Lin Zhang", true},
		{"Lin **Zhangs**", "Lin Zhang", false},
		{"Rosali\u0301a", "Rosalía", true},
		{"Rosali\u0301a", "Rosali", false},
		{"zero\u200bwidth", "zerowidth", true},
		{"feature/fee-cap", "feature/fee-cap", true},
		{"feature/fee-caps", "feature/fee-cap", false},
		{"my-feature/fee-cap", "feature/fee-cap", false},
		{"小郑的", "小郑", true},
		{"只讀", "只读", false},
		{"\xff97\xff", "97", true},
	} {
		require.Equal(t, c.want, ContainsWord(c.text, c.word), "%q in %q", c.word, c.text)
	}
}

// TestNumbersByValue sees every number found in every way to write it, and never inside another one.
func TestNumbersByValue(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		whole := rapid.OneOf(rapid.IntRange(0, 999), rapid.IntRange(1000, 99_999_999)).Draw(t, "whole")
		fraction := rapid.IntRange(0, 99).Draw(t, "fraction")
		word := fmt.Sprintf("%d.%02d", whole, fraction)
		grouped := strconv.Itoa(whole)
		for i := len(grouped) - 3; i > 0; i -= 3 {
			grouped = grouped[:i] + "," + grouped[i:]
		}
		before := rapid.SampledFrom([]string{"", "is ", "有", "**", "$", "(", "\n"}).Draw(t, "before")
		after := rapid.SampledFrom([]string{"", " of", "个", "**", ".", ", ", ")", "\n"}).Draw(t, "after")
		for _, same := range []string{word, word + "0", grouped + word[strings.Index(word, "."):]} {
			require.True(t, ContainsWord(before+same+after, word), "%q in %q", word, before+same+after)
			require.False(t, ContainsWord(before+"1"+same+after, word), "%q in %q", word, before+"1"+same+after)
			require.False(t, ContainsWord(before+same+"1"+after, word), "%q in %q", word, before+same+"1"+after)
			require.False(t, ContainsWord(before+same+"-x"+after, word))
			require.False(t, ContainsWord(before+same+".1"+after, word))
		}
		require.Equal(t, fraction == 0, ContainsWord(before+word+after, strconv.Itoa(whole)))
	})
}

// FuzzContainsWord sees no text break the search, and a word alone always found.
func FuzzContainsWord(f *testing.F) {
	f.Add("1,234 of \xff them", "1234")
	f.Add("ＡＢＣ-’\u0301", "abc")
	f.Fuzz(func(t *testing.T, text, word string) {
		ContainsWord(text, word)
		require.True(t, ContainsWord(word, word), "%q", word)
	})
}
