package fulltext_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/llama-agent/llama-agent/graph/store/fulltext"
)

func TestTokens(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                        "",
		"Hello, World!":           "hello world",
		"user_id=77 gpt4 3.14":    "user id 77 gpt4 3 14",
		"don't":                   "don t",
		"naïve Zürich ÅNGSTRÖM":   "naive zurich angstrom",
		"e\u0301te\u0301":         "ete",
		"Straße STRASSE ﬁn İ ΣΊΣ": "strasse strasse fin i σισ",
		"ＦＵＬＬ　ｗｉｄｔｈ１２":            "full width12",
		"Чайковский":              "чаиковскии",
		"x² ① Ⅻ ½":                "x2 1 xii 1 2",
		"冰淇淋":                     "冰淇 淇淋 淋",
		"冰":                       "冰",
		"吃冰，喝茶。":                  "吃冰 冰 喝茶 茶",
		"Go语言123程序":               "go 语言 言 123 程序 序",
		"東京タワー":                   "東京 京タ タワ ワー ー",
		"ﾃﾚﾋﾞ":                    "テレ レビ ビ",
		"か\u3099":                 "が",
		"서울에서 김치":                 "서울 울에 에서 서 김치 치",
		"ข้าว":                    "ข\u0e49 \u0e49า าว ว",
		"𠮷野家":                     "𠮷野 野家 家",
		"葛\U000E0100飾":            "葛飾 飾",
		"soft\u00ADhyphen zero\u200Bwidth join\u200Der": "softhyphen zero width joiner",
		"हिन्दी भाषा":                                   "हिन्दी भाषा",
		"\u05E9\u05C1\u05B8\u05DC\u05D5\u05B9\u05DD":    "\u05E9\u05DC\u05D5\u05DD",
		"\u0623\u064E\u0647\u0640\u0644":                "\u0627\u0647\u0644",
		"🍕 -- ___ \u0301 \x00 \xff":                     "",
		"a\x00b\xffc":                                   "a b c",
		strings.Repeat("x", fulltext.MaxToken+1):        strings.Repeat("x", fulltext.MaxToken),
		strings.Repeat("ö", fulltext.MaxToken) + "x":    strings.Repeat("o", fulltext.MaxToken),
	} {
		require.Equal(t, want, strings.Join(fulltext.Tokens(text), " "), "%+q", text)
	}
}

func TestSegmenterKeepsTextsApart(t *testing.T) {
	t.Parallel()
	var s fulltext.Segmenter
	s.Add("foo")
	s.Add("bar 冰淇")
	s.Add("淇淋")
	require.Equal(t, []string{"foo", "bar", "冰淇", "淇", "淇淋", "淋"}, s.Tokens())
	require.Nil(t, fulltext.Parse("冰淇淋", true).Count(s.Tokens()), "a run that isn't in one text")

	for range 3 {
		s.Add(strings.Repeat("冰", fulltext.MaxTokens/2))
	}
	require.Len(t, s.Tokens(), fulltext.MaxTokens)

	s = fulltext.Segmenter{}
	s.Add("first")
	s.Add(strings.Repeat(" ", fulltext.MaxText-len("first")-2))
	s.Add("last")
	s.Add("never")
	require.Equal(t, []string{"first", "la"}, s.Tokens())
}

func TestParse(t *testing.T) {
	t.Parallel()
	show := func(q fulltext.Query) string {
		terms := make([]string, len(q.Terms))
		for i, term := range q.Terms {
			var phrases []string
			for _, p := range term {
				text := strings.Join(p.Tokens, "+")
				if p.Prefix {
					text += "*"
				}
				phrases = append(phrases, text)
			}
			terms[i] = strings.Join(phrases, "|")
		}
		return strings.Join(terms, " ")
	}
	for _, test := range []struct {
		text     string
		one, all string
	}{
		{"", "", ""},
		{`"*" OR`, "or", "or"},
		{"I like Like pizza", "i like|like* pizza|pizza*", "i like|like* pizza|pizza*"},
		{"冰", "冰*", "冰*"},
		{"冰淇淋", "冰淇 淇淋", "冰淇+淇淋"},
		{"冰淇 冰淇淋 冰", "冰淇 淇淋 冰*", "冰淇 冰淇+淇淋 冰*"},
	} {
		require.Equal(t, test.one, show(fulltext.Parse(test.text, false)), test.text)
		require.Equal(t, test.all, show(fulltext.Parse(test.text, true)), test.text)
	}
	for _, all := range []bool{false, true} {
		for _, text := range []string{strings.Repeat("冰淇淋是什么", 100_000), strings.Repeat("a b c d e f g h ", 1000) + "x", manyWords(1000)} {
			n := 0
			for _, term := range fulltext.Parse(text, all).Terms {
				n += len(term[0].Tokens)
			}
			require.LessOrEqual(t, n, fulltext.MaxTerms)
		}
	}
}

func manyWords(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat("x", 1+i%50))
		b.WriteRune(rune('a' + i%26))
		b.WriteByte(' ')
	}
	return b.String()
}

// TestRanking compares with what SQLite computes for these texts.
func TestRanking(t *testing.T) {
	t.Parallel()
	texts := []string{"cat dog", "category dog fish", "冰淇淋"}
	q := fulltext.Parse("cat 冰", false)
	hits, tokens := make([]int, len(q.Phrases())), 0
	for _, text := range texts {
		tokens += 1 + len(fulltext.Tokens(text))
		for i, n := range q.Count(fulltext.Tokens(text)) {
			if n > 0 {
				hits[i]++
			}
		}
	}
	require.Equal(t, []int{1, 2, 1}, hits)
	r := fulltext.NewRanking(len(texts), tokens, hits)
	for i, want := range []float64{0.5518751917471865, 9.641434262948206e-07, 0.49250916713693127} {
		counts := q.Count(fulltext.Tokens(texts[i]))
		require.InEpsilon(t, want, r.Score(1+len(fulltext.Tokens(texts[i])), counts), 1e-12, texts[i])
	}
}

// TestPartsAreFound searches for parts of texts as they were written, in other case and with other marks.
func TestPartsAreFound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		runes := rapid.SliceOfN(rapid.SampledFrom([]rune("冰淇淋東京タワー서울用户가")), 1, 12).Draw(r, "run")
		text := rapid.String().Draw(r, "before") + " " + string(runes) + " " + rapid.String().Draw(r, "after")
		from := rapid.IntRange(0, len(runes)-1).Draw(r, "from")
		part := string(runes[from:rapid.IntRange(from+1, len(runes)).Draw(r, "to")])
		require.NotNil(r, fulltext.Parse(part, true).Count(fulltext.Tokens(text)), "%q in %q", part, text)

		word := rapid.StringMatching(`[a-zà-öA-Z0-9]{3,20}`).Draw(r, "word")
		text = "x " + word + " y"
		for _, q := range []string{strings.ToUpper(word), strings.ToLower(word), string([]rune(word)[:3])} {
			require.NotNil(r, fulltext.Parse(q, true).Count(fulltext.Tokens(text)), "%q in %q", q, text)
		}
	})
}

func FuzzTokens(f *testing.F) {
	for _, seed := range []string{"Hello 冰淇淋", "ﾃﾚﾋﾞ e\u0301", "\xff\x00", "ΐ ŉ ǰ ﷺ", "ข้าวผัด", "Go语言\u200d\U000E0100"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tokens := fulltext.Tokens(text)
		for _, token := range tokens {
			require.True(t, utf8.ValidString(token) && token != "")
			require.LessOrEqual(t, utf8.RuneCountInString(token), fulltext.MaxToken)
			for _, r := range token {
				if r < utf8.RuneSelf {
					require.True(t, 'a' <= r && r <= 'z' || '0' <= r && r <= '9', "%q", token)
				} else {
					require.True(t, unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsNumber(r), "%q", token)
				}
			}
		}
		for _, all := range []bool{false, true} {
			q := fulltext.Parse(text, all)
			require.Equal(t, len(tokens) == 0, len(q.Terms) == 0 || q.Count(tokens) == nil, "a text is found by itself")
		}
	})
}

func BenchmarkTokens(b *testing.B) {
	for name, text := range map[string]string{
		"ascii": strings.Repeat("The user likes pizza, and lives in Zurich. ", 25),
		"latin": strings.Repeat("The user likes pïzza, and lives in Zürich. ", 25),
		"han":   strings.Repeat("用户喜欢吃冰淇淋和披萨，住在苏黎世。", 20),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				fulltext.Tokens(text)
			}
		})
	}
}
