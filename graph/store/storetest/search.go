package storetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/graph/store"
)

func testOrder(t *testing.T, f fixture) {
	f.write(t, store.Put(ns("b"), "x", doc{}), store.Put(ns("a", "c"), "x", doc{}), store.Put(ns("a"), "z", doc{}))
	f.write(t, store.Put(ns("a"), "y", doc{}), store.Put(ns("a b"), "w", doc{}), store.Put(ns("b"), "X", doc{}))
	places := func(q store.Query) []string {
		var all []string
		for _, item := range f.search(t, q) {
			require.Zero(t, item.Score)
			all = append(all, strings.Join(item.Namespace, "/")+":"+item.Key)
		}
		return all
	}
	require.Equal(t, []string{"a:y", "a:z", "a/c:x", "a b:w", "b:X", "b:x"}, places(store.Query{}))
	newest := []string{"b:X", "a b:w", "a:y", "a:z", "a/c:x", "b:x"}
	require.Equal(t, newest, places(store.Query{Order: store.Newest}), "the clock stands still")
	f.write(t, store.Put(ns("a"), "z", doc{}), store.Delete(ns("b"), "X"))
	require.Equal(t, []string{"a:z", "a b:w", "a:y", "a/c:x", "b:x"}, places(store.Query{Order: store.Newest}))
	require.Equal(t, []string{"a:z", "a:y", "a/c:x"}, places(store.Query{Order: store.Newest, Namespace: ns("a")}))
	require.Equal(t, []string{"a:y", "a:z", "a/c:x", "a b:w", "b:x"}, places(store.Query{}))
}

func testPages(t *testing.T, f fixture) {
	const n = 600
	var ops []store.Op
	for i := range n {
		ops = append(ops, store.Put(ns("a", fmt.Sprint(i%7)), fmt.Sprintf("%03d", i), doc{"text": strings.Repeat("word ", 1+i%3), "i": i, "even": i%2 == 0}))
	}
	f.write(t, ops...)
	for name, q := range map[string]store.Query{
		"key":      {},
		"newest":   {Order: store.Newest},
		"text":     {Text: "word"},
		"filter":   {Filter: []store.Condition{store.Eq("even", true)}},
		"both":     {Text: "word", Filter: []store.Condition{store.Eq("even", true)}},
		"filtered": {Order: store.Newest, Filter: []store.Condition{store.Lt("i", 300)}, Namespace: ns("a")},
	} {
		all := f.keys(t, q)
		want := n
		if len(q.Filter) > 0 {
			want = n / 2
		}
		require.Len(t, all, want, name)
		for _, limit := range []int{1, 100, 256, 1000} {
			var pages []string
			for offset := 0; offset <= want && offset < 5*limit; offset += limit {
				q.Limit, q.Offset = limit, offset
				pages = append(pages, f.keys(t, q)...)
			}
			require.Equal(t, all[:min(5*limit, want)], pages, "%s, %d at a time", name, limit)
		}
		q.Limit, q.Offset = 0, want-3
		require.Equal(t, all[want-3:], f.keys(t, q))
		q.Offset = want + 1
		require.Empty(t, f.keys(t, q))
	}
}

func testFilter(t *testing.T, f fixture) {
	n := ns("a")
	f.write(t,
		store.Put(n, "1", doc{"n": 1, "s": "apple", "b": true, "o": doc{"x": 1, "y": []int{1, 2}}, "tags": []string{"go", "db"}}),
		store.Put(n, "2", doc{"n": 2.5, "s": "Banana", "b": false, "o": doc{"y": []int{1, 2}, "x": 1.0}, "tags": []string{}, "a.b": "dot"}),
		store.Put(n, "3", doc{"n": -3, "s": "冰淇淋", "b": nil, "o": doc{"x": doc{"deep": "v"}}, "tags": []string{"go"}, "list": []doc{{"k": 1}, {"k": 5}}}),
		store.Put(n, "4", doc{"n": "10", "s": 10, "big": 9007199254740993}),
	)
	tests := []struct {
		conditions []store.Condition
		want       string
	}{
		{nil, "1234"},
		{[]store.Condition{store.Eq("n", 1)}, "1"},
		{[]store.Condition{store.Eq("n", 2.5)}, "2"},
		{[]store.Condition{store.Eq("n", 1.0)}, "1"},
		{[]store.Condition{store.Eq("n", "10")}, "4"},
		{[]store.Condition{store.Eq("n", 10)}, ""},
		{[]store.Condition{store.Ne("n", 1)}, "234"},
		{[]store.Condition{store.Gt("n", 1)}, "2"},
		{[]store.Condition{store.Gte("n", 1)}, "12"},
		{[]store.Condition{store.Lt("n", 1)}, "3"},
		{[]store.Condition{store.Lte("n", 1)}, "13"},
		{[]store.Condition{store.Gt("n", -5), store.Lt("n", 2)}, "13"},
		{[]store.Condition{store.Gt("s", "Banana")}, "13"},
		{[]store.Condition{store.Lte("s", "Banana")}, "2"},
		{[]store.Condition{store.Eq("s", "冰淇淋")}, "3"},
		{[]store.Condition{store.Gt("n", "0")}, "4"},
		{[]store.Condition{store.Gt("n", nil)}, ""},
		{[]store.Condition{store.Eq("b", true)}, "1"},
		{[]store.Condition{store.Eq("b", false)}, "2"},
		{[]store.Condition{store.Eq("b", nil)}, "34"},
		{[]store.Condition{store.Ne("b", nil)}, "12"},
		{[]store.Condition{store.Ne("missing", nil)}, ""},
		{[]store.Condition{store.Eq("o", doc{"x": 1, "y": []int{1, 2}})}, "12"},
		{[]store.Condition{store.Eq("o.y", []int{2, 1})}, ""},
		{[]store.Condition{store.Eq("o.x", 1)}, "12"},
		{[]store.Condition{store.Eq("o.x.deep", "v")}, "3"},
		{[]store.Condition{store.Eq("o.y[-1]", 2), store.Eq("o.y[0]", 1)}, "12"},
		{[]store.Condition{store.Eq("o.y[2]", 2)}, ""},
		{[]store.Condition{store.Eq("tags[*]", "go")}, "13"},
		{[]store.Condition{store.Ne("tags[*]", "go")}, "24"},
		{[]store.Condition{store.Eq("tags[*]", nil)}, ""},
		{[]store.Condition{store.Gt("list[*].k", 4)}, "3"},
		{[]store.Condition{store.Eq("o[*]", 1)}, "12"},
		{[]store.Condition{store.Eq(`a\.b`, "dot")}, "2"},
		{[]store.Condition{store.Eq("a.b", "dot")}, ""},
		{[]store.Condition{store.Eq("big", 9007199254740993)}, "4"},
		{[]store.Condition{store.Eq("big", 9007199254740992)}, ""},
		{[]store.Condition{store.Eq("s' OR 1=1 --", 1)}, ""},
	}
	for _, test := range tests {
		for _, q := range []store.Query{{}, {Text: "go banana 冰 v"}} {
			q.Filter = test.conditions
			got := f.keys(t, q)
			slices.Sort(got)
			want := test.want
			if q.Text != "" {
				want = strings.ReplaceAll(want, "4", "") // holds no text
			}
			require.Equal(t, want, strings.Join(got, ""), "%+v", q)
		}
	}
}

func testText(t *testing.T, f fixture) {
	texts := map[string]string{
		"en": "The user's favourite food is PIZZA; she lived in Zürich, naïvely. gpt4 user_id=77",
		"zh": "用户喜欢吃冰淇淋和披萨。",
		"ja": "東京タワーが大好きです。ﾃﾚﾋﾞも",
		"ko": "서울에서 김치를 먹었다",
		"th": "ฉันชอบกินข้าวผัด",
		"ru": "Пользователь любит Чайковского",
		"mx": "用Go语言写agent程序",
	}
	for key, text := range texts {
		f.write(t, store.Put(ns("t"), key, doc{"nested": []any{doc{"text": text}}}))
	}
	tests := []struct {
		query string
		all   bool
		want  string
	}{
		{"pizza", false, "en"}, {"Pizza!", false, "en"}, {"ＰＩＺＺＡ", false, "en"}, {"izza", false, ""}, {"pizzas", false, ""},
		{"zurich", false, "en"}, {"ZÜRICH", false, "en"}, {"Zu\u0308rich", false, "en"}, {"naive", false, "en"}, {"NAÏVELY", false, "en"},
		{"fav", false, "en"}, {"fa", false, ""}, {"is", false, "en"}, {"77", false, "en"}, {"gpt4", false, "en"}, {"user_id", false, "en"},
		{"冰", false, "zh"}, {"冰淇", false, "zh"}, {"淇淋", false, "zh"}, {"冰淇淋", true, "zh"}, {"冰淋", false, ""}, {"萨", false, "zh"},
		{"喜欢冰淇淋", false, "zh"}, {"喜欢冰淇淋", true, ""}, {"喜欢 冰淇淋", true, "zh"}, {"用", false, "mx zh"}, {"和披", false, "zh"},
		{"東京", false, "ja"}, {"タワー", true, "ja"}, {"テレビ", true, "ja"}, {"テレヒ", true, ""}, {"好", false, "ja"},
		{"김치", false, "ko"}, {"서울", false, "ko"}, {"서", false, "ko"}, {"울서", false, ""},
		{"ข้าว", true, "th"}, {"กินข้าวผัด", true, "th"},
		{"чайковск", false, "ru"}, {"ЛЮБИТ", false, "ru"},
		{"go", false, "mx"}, {"语言", false, "mx"}, {"Go语言", true, "mx"}, {"go程序", true, "mx"}, {"agent", false, "mx"},
		{"pizza 冰淇淋", false, "en zh"}, {"pizza 冰淇淋", true, ""}, {"food pizza", true, "en"}, {"food sushi", true, ""}, {"food sushi", false, "en"},
		{strings.Repeat("nothing ", 1000) + "pizza", false, "en"},
		{strings.Repeat("pizza user food is the she lived in zurich ", 100), true, "en"},
	}
	for _, test := range tests {
		got := f.keys(t, store.Query{Namespace: ns("t"), Text: test.query, All: test.all})
		slices.Sort(got)
		require.Equal(t, test.want, strings.Join(got, " "), "%.60q, all: %v", test.query, test.all)
	}
	require.Empty(t, f.keys(t, store.Query{Namespace: ns("other"), Text: "pizza"}))
}

func testRanking(t *testing.T, f fixture) {
	for key, text := range map[string]string{
		"both":   "a fast car and a slow bicycle, both of them in the garage of the house",
		"car":    "a fast car of the kind that people like to drive on long roads every day",
		"cars":   "carriages of the kind that people like to drive on long roads every day",
		"short":  "bicycle",
		"long":   "bicycle " + strings.Repeat("and something else entirely ", 20),
		"common": "of the kind", "common2": "of the day", "common3": "of the house", "common4": "of the people",
	} {
		f.write(t, store.Put(ns("a"), key, doc{"text": text}))
	}
	items := f.search(t, store.Query{Text: "car bicycle"})
	require.Equal(t, "both", items[0].Key)
	for i, item := range items {
		require.Positive(t, item.Score)
		if i > 0 {
			require.LessOrEqual(t, item.Score, items[i-1].Score)
		}
	}
	place := func(query, key string) int { return slices.Index(f.keys(t, store.Query{Text: query}), key) }
	require.Less(t, place("car", "car"), place("car", "cars"), "whole words are better")
	require.Less(t, place("bicycle", "short"), place("bicycle", "long"), "short texts are better")
	require.Less(t, place("the bicycle", "short"), place("the bicycle", "common2"), "rare words count more")

	same := doc{"text": "twins twins"}
	f.write(t, store.Put(ns("b"), "y", same), store.Put(ns("b"), "x", same), store.Put(ns("a"), "z", same))
	require.Equal(t, []string{"z", "x", "y"}, f.keys(t, store.Query{Text: "twins"}), "ties go by namespace and key")
}

// testInert searches for text that means something to search languages.
func testInert(t *testing.T, f fixture) {
	f.write(t,
		store.Put(ns("a"), "1", doc{"text": "alpha beta"}),
		store.Put(ns("a"), "2", doc{"text": "alpha near not and or"}),
		store.Put(ns("b"), "3", doc{"text": "alpha body scope"}))
	for query, want := range map[string]string{
		`"`: "", `*`: "", `"""`: "", `(`: "", `)`: "", `-`: "", `^`: "", `:`: "", `{}`: "", `''`: "", `;`: "", "\x00": "", "\xff\xfe": "", "🍕": "", " \n ": "",
		`"alpha`: "12", `alpha"`: "12", `alph*`: "12", `(alpha`: "12", `-alpha`: "12", `^beta`: "1", `"alpha beta`: "12", `alpha OR gamma`: "12",
		`beta NOT alpha`: "12", `NEAR(beta gamma, 2)`: "12", `body:beta`: "1", `scope : x OR beta`: "12", `beta) OR (body : alpha`: "12", "beta\x00gamma": "1",
		`' OR 1=1 --beta`: "12", `\beta\`: "1", "{body scope} : beta": "1", `+beta`: "1", `rank`: "", `%`: "", `beta/*`: "1",
	} {
		got := f.keys(t, store.Query{Namespace: ns("a"), Text: query})
		slices.Sort(got)
		require.Equal(t, want, strings.Join(got, ""), "%q", query)
	}
	require.Empty(t, f.search(t, store.Query{Text: `NOT gamma`, All: true}))
}

func testFields(t *testing.T, f fixture) {
	value := doc{"title": "alpha", "meta": doc{"author": "beta", "note.s": "gamma"}, "chapters": []doc{{"text": "delta"}, {"text": "epsilon", "x": "zeta"}}, "n": 77, "b": true}
	found := func(opts ...store.PutOption) string {
		f.write(t, store.Put(ns("a"), "k", value, opts...))
		var words []string
		for _, word := range []string{"alpha", "beta", "gamma", "delta", "epsilon", "zeta", "77", "true", "title", "author"} {
			if len(f.search(t, store.Query{Text: word})) > 0 {
				words = append(words, word)
			}
		}
		return strings.Join(words, " ")
	}
	require.Equal(t, "alpha beta gamma delta epsilon zeta", found(), "all strings, and neither names nor numbers")
	require.Equal(t, "alpha beta gamma delta epsilon zeta", found(store.Fields("$")))
	require.Equal(t, "alpha", found(store.Fields("title")))
	require.Equal(t, "alpha beta gamma", found(store.Fields("title", "meta")))
	require.Equal(t, "gamma", found(store.Fields(`meta.note\.s`)))
	require.Equal(t, "delta epsilon", found(store.Fields("chapters[*].text")))
	require.Equal(t, "epsilon zeta", found(store.Fields("chapters[-1]")))
	require.Equal(t, "", found(store.Fields("n", "missing", "title.x", "chapters.text")))
	require.Equal(t, "", found(store.NoText()))
	require.Equal(t, "alpha", found(store.Fields("title")), "searchable again")
	require.Len(t, f.search(t, store.Query{}), 1)
}

func testTextFollows(t *testing.T, f fixture) {
	a, b := ns("a"), ns("a", "b")
	f.write(t, store.Put(a, "1", doc{"text": "old words"}), store.Put(b, "2", doc{"text": "old words"}), store.Put(b, "3", doc{"text": "old words"}))
	f.write(t, store.Put(a, "1", doc{"text": "new words"}), store.Delete(b, "2"))
	require.Equal(t, []string{"3"}, f.keys(t, store.Query{Text: "old"}))
	require.Equal(t, []string{"1"}, f.keys(t, store.Query{Text: "new"}))
	require.ElementsMatch(t, []string{"1", "3"}, f.keys(t, store.Query{Text: "words"}))
	f.write(t, store.Put(b, "4", doc{"text": "other"}), store.DeleteAll(b))
	require.Empty(t, f.keys(t, store.Query{Text: "old other"}))
	f.write(t, store.Put(b, "5", doc{"text": "fresh"}))
	require.Equal(t, []string{"5"}, f.keys(t, store.Query{Text: "fresh old other"}), "nothing of removed items is left")
}
