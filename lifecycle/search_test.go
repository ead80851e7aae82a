package lifecycle

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/llama-agent/llama-agent/graph/store/fulltext"
)

func keysOf(hits []Hit) string {
	var keys []string
	for _, h := range hits {
		keys = append(keys, h.Key)
	}
	return strings.Join(keys, " ")
}

func search(t testing.TB, s *Store, query string, opts SearchOptions) []Hit {
	t.Helper()
	hits, err := s.Search(t.Context(), []string{"me"}, query, opts)
	require.NoError(t, err)
	return hits
}

func TestSearch(t *testing.T) {
	t.Parallel()
	s := open(t)
	for i, r := range []Record{
		{Key: "dog", Text: "My dog is called Bruno. The dog is old."},
		{Key: "dogs", Text: "Dogs bark at the moon and at other animals all night long"},
		{Key: "cat", Text: "The cat is called Mimi"},
		{Key: "zh", Text: "我的狗叫布鲁诺，住在苏黎世"},
		{Key: "ja", Text: "犬の名前はブルーノです"},
		{Key: "ru", Text: "Мою собаку зовут Бруно"},
		{Key: "ar", Text: "اسم كلبي بَرونو"},
		{Key: "name", Name: "read_file config/Zürich.toml", Text: "port = 8080"},
	} {
		r.Owner, r.Kind, r.Importance, r.Order = "me", KindTurn, 1, int64(i)
		_, err := s.Put(t.Context(), r)
		require.NoError(t, err)
	}
	_, err := s.Put(t.Context(), Record{Owner: "me", Kind: KindNote, Key: "note", Text: "note on the dog", Importance: 1})
	require.NoError(t, err)
	for query, want := range map[string]string{
		"dog": "dog note dogs", "DOG bruno": "dog note dogs", "what is the cat called?": "cat dog note dogs", "狗": "zh", "布鲁诺": "zh", "住在哪里": "zh", "ブルーノ": "ja", "犬": "ja",
		"собаку": "ru", "БРУНО": "ru", "برونو": "ar", "zurich": "name", "8080": "name", "config": "name", "elephant": "", "": "", `" OR *`: "", "\x00\xff": "",
		strings.Repeat("unknown words ", 5000): "",
	} {
		require.Equal(t, want, keysOf(search(t, s, query, SearchOptions{})), query)
	}
	require.Equal(t, "dog dogs", keysOf(search(t, s, "dog", SearchOptions{Kinds: []Kind{KindTurn}})))
	require.Equal(t, "dog", keysOf(search(t, s, "dog", SearchOptions{Limit: 1})))
	require.Equal(t, "dogs", keysOf(search(t, s, "dog", SearchOptions{Limit: 1, ExcludeKeys: []string{"note", "dog"}})))
	hits := search(t, s, "bruno", SearchOptions{})
	require.Empty(t, hits[0].Text)
	require.Greater(t, hits[0].Score, 0.0)
	require.Equal(t, len("My dog is called Bruno. The dog is old."), hits[0].Bytes)
	require.Equal(t, "My dog is called Bruno. The dog is old.", search(t, s, "bruno", SearchOptions{WithText: true})[0].Text)
}

// What is stored for others, before or after, changes neither hits nor scores.
func TestSearchDependsOnItsOwnersOnly(t *testing.T) {
	t.Parallel()
	s := open(t)
	for i := range 5 {
		put(t, s, "me", fmt.Sprint(i), fmt.Sprintf("a dog and %d cats", i))
	}
	before := search(t, s, "dog 3 cats", SearchOptions{})
	require.Equal(t, "3", before[0].Key)
	for i := range 50 {
		put(t, s, "them", fmt.Sprint(i), fmt.Sprintf("3 cats and a dog %d", i))
	}
	_, err := s.Copy(t.Context(), "them", "you")
	require.NoError(t, err)
	require.Equal(t, before, search(t, s, "dog 3 cats", SearchOptions{}))
	_, err = s.Copy(t.Context(), "me", "you")
	require.NoError(t, err)
	hits, err := s.Search(t.Context(), []string{"me", "you", "me"}, "dog", SearchOptions{Limit: 1000})
	require.NoError(t, err)
	require.Len(t, hits, 5+50, "each record once")
}

func TestSearchOfEqualOnes(t *testing.T) {
	t.Parallel()
	s := open(t)
	for i, order := range []int64{7, 5, 5, 6} {
		_, err := s.Put(t.Context(), Record{Owner: "me", Kind: KindTurn, Key: fmt.Sprint(i), Text: "dog", Importance: 1, Order: order})
		require.NoError(t, err)
	}
	hits := search(t, s, "dog", SearchOptions{})
	require.Equal(t, []int64{5, 5, 6, 7}, []int64{hits[0].Order, hits[1].Order, hits[2].Order, hits[3].Order})
	require.Less(t, hits[0].Ref, hits[1].Ref)
}

// A search finds what counting every token of every record finds, with the same scores.
func TestSearchAgainstCounting(t *testing.T) {
	t.Parallel()
	words := rapid.SampledFrom([]string{"dog", "dogs", "doghouse", "do", "cat", "Café", "狗", "小狗", "狗叫", "8080", "a", "собака", "x_y", "dog-cat"})
	text := rapid.Map(rapid.SliceOfN(words, 0, 8), func(w []string) string { return strings.Join(w, " ") })
	s := open(t)
	rapid.Check(t, func(r *rapid.T) {
		_, err := s.Remove(t.Context(), "me")
		require.NoError(r, err)
		var texts []string
		for i, text := range rapid.SliceOfN(text, 1, 8).Draw(r, "texts") {
			put(t, s, "me", fmt.Sprint(i), text)
			texts = append(texts, text)
		}
		query := text.Draw(r, "query")
		q := fulltext.Parse(query, false)
		holding, tokens := make([]int, len(q.Phrases())), 0
		for _, text := range texts {
			tokens += len(fulltext.Tokens(text))
			for i, n := range q.Count(fulltext.Tokens(text)) {
				holding[i] += min(n, 1)
			}
		}
		want := map[string]float64{}
		for i, text := range texts {
			if counts := q.Count(fulltext.Tokens(text)); counts != nil {
				want[fmt.Sprint(i)] = fulltext.NewRanking(len(texts), tokens, holding).Score(len(fulltext.Tokens(text)), counts)
			}
		}
		hits := search(t, s, query, SearchOptions{Limit: 100})
		require.Len(r, hits, len(want))
		for _, h := range hits {
			require.InDelta(r, want[h.Key], h.Score, 1e-12)
		}
		require.True(r, slices.IsSortedFunc(hits, func(a, b Hit) int {
			if a.Score > b.Score {
				return -1
			}
			return 0
		}))
	})
}

func BenchmarkSearch(b *testing.B) {
	s := open(b)
	for i := range 500 {
		put(b, s, "me", fmt.Sprint(i), strings.Repeat(fmt.Sprintf("turn %d is about dogs and cats %d ", i, i*7919%1000), 30))
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Search(b.Context(), []string{"", "me"}, "what did I say about the dogs in turn 77?", SearchOptions{Limit: 5}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPut(b *testing.B) {
	s := open(b)
	var text strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&text, "2026-03-17T10:%02d:%02d.%03d INFO request id=%x took %d ms\n", i/60%60, i%60, i%1000, i*7919, i%500)
	}
	b.SetBytes(int64(text.Len()))
	n := 0
	for b.Loop() {
		n++
		put(b, s, "me", fmt.Sprint(n), fmt.Sprint(text.String(), n))
	}
}
