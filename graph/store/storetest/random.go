package storetest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/llama-agent/llama-agent/graph/store"
)

// Random does the same random operations with a store and a [store.Memory] and compares what they return. With ranked also
// searches by text must give the same scores, which holds for stores that rank as [store.Memory] does.
func Random(t *testing.T, open Open, ranked bool) {
	t.Helper()
	clock := NewClock()
	m := machine{clock: clock, ranked: ranked, real: open(t, clock.Now)}
	var wipe []store.Op
	for _, e := range roots {
		wipe = append(wipe, store.DeleteAll(store.Namespace{e}))
	}
	rapid.Check(t, func(r *rapid.T) {
		m.model = store.NewMemory(store.Options{Clock: clock.Now})
		require.NoError(r, m.real.Write(context.Background(), wipe...)) // of what the round before has left
		r.Repeat(map[string]func(*rapid.T){
			"write":      m.write,
			"get":        m.get,
			"search":     m.search,
			"text":       m.text,
			"namespaces": m.namespaces,
			"advance":    func(r *rapid.T) { clock.Advance(time.Duration(rapid.IntRange(1, 90).Draw(r, "seconds")) * time.Second) },
			"sweep":      m.sweep,
		})
	})
}

// machine does everything twice.
type machine struct {
	clock       *Clock
	model, real store.Store
	ranked      bool
}

var roots = []string{"a", "b", "ab", "a\x01", "*", "冰"}

var (
	elements = rapid.SampledFrom(roots)
	names    = rapid.SampledFrom([]string{"k", "l", "K", "ü"})
	words    = rapid.SampledFrom([]string{"car", "cars", "carpet", "a", "ab", "冰淇淋", "冰", "淇淋冰", "naïve", "naive", "go语言", `"*`, "서울에서", "ข้าว"})
	spaces   = rapid.Custom(func(r *rapid.T) store.Namespace { return rapid.SliceOfN(elements, 1, 3).Draw(r, "namespace") })
	prefixes = rapid.Custom(func(r *rapid.T) store.Namespace { return rapid.SliceOfN(elements, 0, 2).Draw(r, "prefix") })
	texts    = rapid.Custom(func(r *rapid.T) string { return strings.Join(rapid.SliceOfN(words, 0, 5).Draw(r, "words"), " ") })
	patterns = rapid.Custom(func(r *rapid.T) store.Namespace {
		return rapid.SliceOfN(rapid.OneOf(elements, rapid.Just(store.Any)), 0, 2).Draw(r, "pattern")
	})
)

func operation(r *rapid.T) store.Op {
	n, key := spaces.Draw(r, "namespace"), names.Draw(r, "key")
	switch rapid.IntRange(0, 9).Draw(r, "kind") {
	case 0:
		return store.Delete(n, key)
	case 1:
		return store.DeleteAll(n)
	}
	value := doc{"text": texts.Draw(r, "text"), "other": texts.Draw(r, "other"), "n": rapid.IntRange(0, 3).Draw(r, "n")}
	opts := map[string][]store.PutOption{
		"plain": nil, "ttl": {store.TTL(time.Minute)}, "sliding": {store.Sliding(time.Minute)}, "fields": {store.Fields("text")}, "no text": {store.NoText()},
	}
	return store.Put(n, key, value, opts[rapid.SampledFrom([]string{"plain", "ttl", "sliding", "fields", "no text"}).Draw(r, "options")]...)
}

func (m *machine) write(r *rapid.T) {
	ops := rapid.SliceOfN(rapid.Custom(operation), 0, 6).Draw(r, "operations")
	require.NoError(r, m.model.Write(context.Background(), ops...))
	require.NoError(r, m.real.Write(context.Background(), ops...))
}

func (m *machine) get(r *rapid.T) {
	n, key := spaces.Draw(r, "namespace"), names.Draw(r, "key")
	opts := rapid.SampledFrom([][]store.ReadOption{nil, {store.Peek}}).Draw(r, "options")
	want, wantErr := m.model.Get(context.Background(), n, key, opts...)
	got, err := m.real.Get(context.Background(), n, key, opts...)
	require.Equal(r, wantErr, err)
	require.Equal(r, want, got)
}

func (m *machine) query(r *rapid.T) store.Query {
	q := store.Query{
		Namespace: prefixes.Draw(r, "namespace"),
		Order:     store.Order(rapid.IntRange(0, 1).Draw(r, "order")),
		Peek:      rapid.Bool().Draw(r, "peek"),
	}
	if rapid.Bool().Draw(r, "filtered") {
		q.Filter = []store.Condition{store.Gte("n", rapid.IntRange(0, 3).Draw(r, "n"))}
	}
	return q
}

func page(r *rapid.T, q *store.Query) {
	q.Limit, q.Offset = rapid.IntRange(0, 5).Draw(r, "limit"), rapid.IntRange(0, 5).Draw(r, "offset")
}

func (m *machine) both(r *rapid.T, q store.Query) (want, got []store.Item) {
	want, err := m.model.Search(context.Background(), q)
	require.NoError(r, err)
	got, err = m.real.Search(context.Background(), q)
	require.NoError(r, err)
	return want, got
}

func (m *machine) search(r *rapid.T) {
	q := m.query(r)
	page(r, &q)
	want, got := m.both(r, q)
	require.Equal(r, want, got)
}

func (m *machine) text(r *rapid.T) {
	q := m.query(r)
	q.Text, q.All = texts.Draw(r, "query"), rapid.Bool().Draw(r, "all")
	want, got := m.both(r, q)
	if q.Text == "" {
		require.Equal(r, want, got)
		return
	}
	full := slices.Clone(got)
	if m.ranked {
		for i := range min(len(want), len(got)) {
			near(r, want[i].Score, got[i].Score)
		}
	}
	for _, items := range [][]store.Item{want, got} {
		slices.SortFunc(items, func(a, b store.Item) int {
			return cmp.Or(a.Namespace.Compare(b.Namespace), strings.Compare(a.Key, b.Key))
		})
	}
	for i := range min(len(want), len(got)) {
		if m.ranked {
			near(r, want[i].Score, got[i].Score)
		}
		got[i].Score = want[i].Score
	}
	require.Equal(r, want, got)

	page(r, &q)
	q.Peek = true
	part, err := m.real.Search(context.Background(), q)
	require.NoError(r, err)
	end := len(full)
	if q.Limit > 0 {
		end = min(q.Offset+q.Limit, end)
	}
	require.Equal(r, keys(full[min(q.Offset, end):end]), keys(part))
}

// near allows for logarithms that differ in their last bits.
func near(r *rapid.T, want, got float64) {
	require.InEpsilon(r, want, got, 1e-12)
}

func (m *machine) namespaces(r *rapid.T) {
	q := store.NamespaceQuery{
		Prefix: patterns.Draw(r, "prefix"), Suffix: patterns.Draw(r, "suffix"), MaxDepth: rapid.IntRange(0, 3).Draw(r, "depth"),
		Limit: rapid.IntRange(0, 4).Draw(r, "limit"), Offset: rapid.IntRange(0, 3).Draw(r, "offset"),
	}
	want, err := m.model.Namespaces(context.Background(), q)
	require.NoError(r, err)
	got, err := m.real.Namespaces(context.Background(), q)
	require.NoError(r, err)
	require.Equal(r, fmt.Sprintf("%q", want), fmt.Sprintf("%q", got))
}

func (m *machine) sweep(r *rapid.T) {
	sweeper, ok := m.real.(store.Sweeper)
	if !ok {
		return
	}
	want, err := m.model.(store.Sweeper).Sweep(context.Background())
	require.NoError(r, err)
	got, err := sweeper.Sweep(context.Background())
	require.NoError(r, err)
	require.Equal(r, want, got)
}
