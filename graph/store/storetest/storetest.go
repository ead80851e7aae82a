// Package storetest is the conformance suite of long-term stores.
//
// A store's own tests call [Run]. The suite checks the methods of [store.Store] and, when the store is a [store.Sweeper], that
// one too. [Random] compares a store with [store.Memory] on random operations.
package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/graph/store"
)

// Open returns an empty store that nobody else uses, with the default options but for the clock. It cleans up through t.
type Open func(t *testing.T, clock func() time.Time) store.Store

// Clock is a clock that stands still. It is safe for concurrent use.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock at some moment, which is not of a whole second.
func NewClock() *Clock { return &Clock{now: time.Date(2024, 2, 29, 12, 0, 0, 123456000, time.UTC)} }

// Now returns the clock's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// fixture is a store under test.
type fixture struct {
	store.Store
	*Clock
}

// Run runs the suite.
func Run(t *testing.T, open Open) {
	t.Helper()
	tests := []struct {
		name string
		run  func(*testing.T, fixture)
	}{
		{"RoundTrip", testRoundTrip},
		{"NotFound", testNotFound},
		{"Replace", testReplace},
		{"Names", testNames},
		{"BadNames", testBadNames},
		{"BadValues", testBadValues},
		{"BadQueries", testBadQueries},
		{"WriteIsOne", testAtomic},
		{"DeleteAll", testDeleteAll},
		{"Expiry", testExpiry},
		{"Sliding", testSliding},
		{"Sweep", testSweep},
		{"Namespaces", testNamespaces},
		{"Order", testOrder},
		{"Pages", testPages},
		{"Filter", testFilter},
		{"Text", testText},
		{"TextRanking", testRanking},
		{"TextIsInert", testInert},
		{"TextFields", testFields},
		{"TextFollowsWrites", testTextFollows},
		{"CallerKeepsItsData", testIsolation},
		{"Concurrent", testConcurrent},
		{"Canceled", testCanceled},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			clock := NewClock()
			test.run(t, fixture{open(t, clock.Now), clock})
		})
	}
}

type doc map[string]any

func ns(elements ...string) store.Namespace { return elements }

func (f fixture) write(t *testing.T, ops ...store.Op) {
	t.Helper()
	require.NoError(t, f.Write(t.Context(), ops...))
}

func (f fixture) get(t *testing.T, n store.Namespace, key string, opts ...store.ReadOption) store.Item {
	t.Helper()
	item, err := f.Get(t.Context(), n, key, opts...)
	require.NoError(t, err)
	return item
}

func (f fixture) gone(t *testing.T, n store.Namespace, key string) {
	t.Helper()
	item, err := f.Get(t.Context(), n, key)
	require.ErrorIs(t, err, store.ErrNotFound)
	require.Zero(t, item)
}

func (f fixture) search(t *testing.T, q store.Query) []store.Item {
	t.Helper()
	items, err := f.Search(t.Context(), q)
	require.NoError(t, err)
	return items
}

// keys returns the keys that a query finds.
func (f fixture) keys(t *testing.T, q store.Query) []string {
	t.Helper()
	return keys(f.search(t, q))
}

func keys(items []store.Item) []string {
	names := []string{}
	for _, item := range items {
		names = append(names, item.Key)
	}
	return names
}

func testRoundTrip(t *testing.T, f fixture) {
	n := ns("users", "42", "memories")
	f.write(t, store.Put(n, "a", json.RawMessage(" { \"text\" : \"<b>&\\u0000 \\\"ü\\\" 冰淇淋\", \"n\": 1e400, \"big\": 12345678901234567890, \"list\": [ 1, null ] }\n")))
	item := f.get(t, n, "a")
	require.Equal(t, store.Item{
		Namespace: n, Key: "a", Value: json.RawMessage(`{"text":"<b>&\u0000 \"ü\" 冰淇淋","n":1e400,"big":12345678901234567890,"list":[1,null]}`),
		Created: f.Now(), Updated: f.Now(),
	}, item)
	require.Equal(t, []store.Item{item}, f.search(t, store.Query{}))

	type note struct {
		Text string `json:"text"`
		N    int    `json:"n"`
	}
	f.write(t, store.Put(n, "struct", note{"x", 3}), store.Put(n, "empty", doc{}))
	var got note
	require.NoError(t, f.get(t, n, "struct").Decode(&got))
	require.Equal(t, note{"x", 3}, got)
	require.Equal(t, "{}", string(f.get(t, n, "empty").Value))
	require.ErrorContains(t, f.get(t, n, "a").Decode(&[]int{}), `"a"`)

	f.write(t)
	large := strings.Repeat("x", store.MaxValue-len(`{"v":""}`))
	f.write(t, store.Put(n, "large", doc{"v": large}, store.NoText()))
	require.Len(t, f.get(t, n, "large").Value, store.MaxValue)
}

func testNotFound(t *testing.T, f fixture) {
	f.write(t, store.Put(ns("a", "b"), "key", doc{}))
	for _, n := range []store.Namespace{ns("a"), ns("b"), ns("a", "b", "c"), ns("A", "b")} {
		f.gone(t, n, "key")
	}
	f.gone(t, ns("a", "b"), "other")
	_, err := f.Get(t.Context(), ns("a", "b"), "other")
	var missing *store.NotFoundError
	require.ErrorAs(t, err, &missing)
	require.Equal(t, store.NotFoundError{Namespace: ns("a", "b"), Key: "other"}, *missing)

	f.write(t, store.Delete(ns("a", "b"), "other"), store.DeleteAll(ns("x")), store.Delete(ns("a", "b"), "key"))
	f.gone(t, ns("a", "b"), "key")
	f.write(t, store.Delete(ns("a", "b"), "key"))
	require.Empty(t, f.search(t, store.Query{Namespace: ns("nobody")}))
}

func testReplace(t *testing.T, f fixture) {
	n, created := ns("a"), f.Now()
	f.write(t, store.Put(n, "k", doc{"v": 1}, store.TTL(time.Hour)))
	f.Advance(time.Minute)
	f.write(t, store.Put(n, "k", doc{"w": 2}))
	require.Equal(t, store.Item{Namespace: n, Key: "k", Value: json.RawMessage(`{"w":2}`), Created: created, Updated: f.Now()},
		f.get(t, n, "k"), "value and expiry are the new ones, and it is the same item")

	f.write(t, store.Delete(n, "k"), store.Put(n, "k", doc{"x": 3}))
	require.Equal(t, f.Now(), f.get(t, n, "k").Created)
}

// testNames uses names that mean something to databases, shells and file systems.
func testNames(t *testing.T, f fixture) {
	names := []string{
		"a", "A", "ab", "a.b", "a/b", "a:b", "a%", "a_b", "*", "?", "'", `"`, `\`, "\\0", "\x01", "a\x01", "\x7f", " ", "  ", "\n", "--", "; DROP TABLE items",
		"..", "/", "ü", "u\u0308", "冰淇淋", "\U0010FFFF", "\uFFFD", "null", "0", "$", strings.Repeat("x", store.MaxElement),
	}
	var ops []store.Op
	for _, n := range names {
		for _, m := range names[:8] {
			ops = append(ops, store.Put(ns(n, m), n, doc{"n": n, "m": m}))
		}
	}
	f.write(t, ops...)
	for _, n := range names {
		for _, m := range names[:8] {
			var v struct{ N, M string }
			require.NoError(t, f.get(t, ns(n, m), n).Decode(&v))
			require.Equal(t, []string{n, m}, []string{v.N, v.M})
		}
		items := f.search(t, store.Query{Namespace: ns(n)})
		require.Len(t, items, 8, "only what is below %q", n)
		for _, item := range items {
			require.Equal(t, n, item.Namespace[0])
		}
	}
	all := f.search(t, store.Query{})
	require.Len(t, all, len(ops))
	require.True(t, slices.IsSortedFunc(all, func(a, b store.Item) int { return a.Namespace.Compare(b.Namespace) }))
	f.write(t, store.DeleteAll(ns("a")))
	require.Len(t, f.search(t, store.Query{}), len(ops)-8)

	deep := make(store.Namespace, store.MaxDepth)
	for i := range deep {
		deep[i] = strings.Repeat("ü", store.MaxElement/2)
	}
	key := strings.Repeat("k", store.MaxKey)
	f.write(t, store.Put(deep, key, doc{"text": "deep"}))
	require.Equal(t, deep, f.get(t, deep, key).Namespace)
	require.Equal(t, []string{key}, f.keys(t, store.Query{Namespace: deep, Text: "deep"}))
}

func testBadNames(t *testing.T, f fixture) {
	good := ns("a")
	bad := []struct {
		n    store.Namespace
		key  string
		says string
	}{
		{nil, "k", "namespace has no elements"},
		{ns("a", ""), "k", "namespace element 2 is empty"},
		{ns("a", "b\x00c"), "k", "NUL"},
		{ns(store.Any), "k", "NUL"},
		{ns("\xff"), "k", "UTF-8"},
		{ns(strings.Repeat("x", store.MaxElement+1)), "k", "513 bytes; at most 512"},
		{make(store.Namespace, store.MaxDepth+1), "k", "33 elements; at most 32"},
		{good, "", "key is empty"},
		{good, "a\x00", "NUL"},
		{good, "\xc3", "UTF-8"},
		{good, strings.Repeat("x", store.MaxKey+1), "at most 1024"},
	}
	for _, b := range bad {
		_, err := f.Get(t.Context(), b.n, b.key)
		errs := []error{err, f.Write(t.Context(), store.Put(b.n, b.key, doc{})), f.Write(t.Context(), store.Delete(b.n, b.key))}
		if b.key == "k" {
			errs = append(errs, f.Write(t.Context(), store.DeleteAll(b.n)))
		}
		for _, err := range errs {
			var name *store.NameError
			require.ErrorAs(t, err, &name, "%q %q", b.n, b.key)
			require.ErrorIs(t, err, store.ErrInvalid)
			require.ErrorContains(t, err, b.says)
			require.Less(t, len(err.Error()), 400, "long names are cut in messages")
		}
		if b.key == "k" && len(b.n) > 0 {
			_, err := f.Search(t.Context(), store.Query{Namespace: b.n})
			require.ErrorIs(t, err, store.ErrInvalid)
		}
	}
	require.Empty(t, f.search(t, store.Query{}))
}

func testBadValues(t *testing.T, f fixture) {
	n := ns("a")
	cyclic := map[string]any{}
	cyclic["self"] = cyclic
	bad := []struct {
		op   store.Op
		says string
	}{
		{store.Put(n, "k", "text"), "not a JSON object"},
		{store.Put(n, "k", nil), "not a JSON object"},
		{store.Put(n, "k", []int{1}), "not a JSON object"},
		{store.Put(n, "k", json.RawMessage(nil)), "not JSON"},
		{store.Put(n, "k", json.RawMessage(`{"a":1} x`)), "not JSON"},
		{store.Put(n, "k", json.RawMessage(`{"a":`)), "not JSON"},
		{store.Put(n, "k", json.RawMessage("{\"a\":\"\xff\"}")), "UTF-8"},
		{store.Put(n, "k", json.RawMessage(strings.Repeat(`{"a":`, 20_000)+"1"+strings.Repeat("}", 20_000))), "depth"},
		{store.Put(n, "k", doc{"f": func() {}}), "can't be encoded"},
		{store.Put(n, "k", cyclic), "can't be encoded"},
		{store.Put(n, "k", doc{"v": strings.Repeat("x", store.MaxValue)}), "at most 8388608"},
		{store.Put(n, "k", doc{}, store.TTL(0)), "must be positive"},
		{store.Put(n, "k", doc{}, store.Sliding(-time.Second)), "must be positive"},
		{store.Put(n, "k", doc{}, store.Fields("a..b")), `field "a..b"`},
		{store.Op{Namespace: n, Key: "k"}, "kind 0"},
	}
	for _, b := range bad {
		err := f.Write(t.Context(), b.op)
		require.ErrorIs(t, err, store.ErrInvalid, b.says)
		require.ErrorContains(t, err, b.says)
	}
	require.Empty(t, f.search(t, store.Query{}))
}

func testBadQueries(t *testing.T, f fixture) {
	f.write(t, store.Put(ns("a"), "k", doc{}))
	for _, q := range []store.Query{
		{Limit: -1},
		{Offset: -1},
		{Order: 7},
		{Namespace: ns("")},
		{Namespace: ns("a", store.Any)},
		{Filter: []store.Condition{{Field: "a", Op: "$in", Value: 1}}},
		{Filter: []store.Condition{{Field: "a"}}},
		{Filter: []store.Condition{store.Eq("", 1)}},
		{Filter: []store.Condition{store.Eq("a.", 1)}},
		{Filter: []store.Condition{store.Eq(".a", 1)}},
		{Filter: []store.Condition{store.Eq("a[", 1)}},
		{Filter: []store.Condition{store.Eq("a[x]", 1)}},
		{Filter: []store.Condition{store.Eq("a[0]b", 1)}},
		{Filter: []store.Condition{store.Eq(`a\`, 1)}},
		{Filter: []store.Condition{store.Eq(strings.Repeat("x", store.MaxField+1), 1)}},
		{Filter: []store.Condition{store.Eq("a", func() {})}},
	} {
		_, err := f.Search(t.Context(), q)
		require.ErrorIs(t, err, store.ErrInvalid, "%+v", q)
	}
	for _, q := range []store.NamespaceQuery{
		{Limit: -1}, {Offset: -1}, {MaxDepth: -1}, {Prefix: ns("")}, {Suffix: ns("a\x00")}, {Prefix: make(store.Namespace, store.MaxDepth+1)},
	} {
		_, err := f.Namespaces(t.Context(), q)
		require.ErrorIs(t, err, store.ErrInvalid, "%+v", q)
	}
}

func testAtomic(t *testing.T, f fixture) {
	n := ns("a")
	f.write(t, store.Put(n, "kept", doc{"v": 1}))
	err := f.Write(t.Context(), store.Put(n, "new", doc{}), store.DeleteAll(n), store.Put(n, "", doc{}))
	require.ErrorIs(t, err, store.ErrInvalid)
	require.Equal(t, []string{"kept"}, f.keys(t, store.Query{}), "one bad operation undoes all")

	f.write(t,
		store.Put(n, "x", doc{"v": 1}), store.Put(n, "x", doc{"v": 2}),
		store.Put(n, "y", doc{}), store.Delete(n, "y"),
		store.Put(ns("a", "b"), "below", doc{}), store.DeleteAll(ns("a", "b")), store.Put(ns("a", "b"), "after", doc{}),
	)
	require.Equal(t, []string{"kept", "x", "after"}, f.keys(t, store.Query{}), "operations apply in order")
	require.Equal(t, `{"v":2}`, string(f.get(t, n, "x").Value))
}

func testDeleteAll(t *testing.T, f fixture) {
	for _, n := range []store.Namespace{ns("a"), ns("a", "b"), ns("a", "b", "c"), ns("a", "bc"), ns("ab"), ns("b", "a", "b")} {
		f.write(t, store.Put(n, "k", doc{"text": "word"}))
	}
	f.write(t, store.DeleteAll(ns("a", "b")))
	want := []store.Namespace{ns("a"), ns("a", "bc"), ns("ab"), ns("b", "a", "b")}
	got, err := f.Namespaces(t.Context(), store.NamespaceQuery{})
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.Len(t, f.search(t, store.Query{Text: "word"}), 4)
}

func testExpiry(t *testing.T, f fixture) {
	n := ns("a")
	start := f.Now()
	f.write(t,
		store.Put(n, "minute", doc{"text": "word", "v": 1}, store.TTL(time.Minute)),
		store.Put(n, "hour", doc{"text": "word"}, store.TTL(time.Hour)),
		store.Put(n, "tiny", doc{"text": "word"}, store.TTL(time.Nanosecond)),
		store.Put(n, "ever", doc{"text": "word"}, store.Forever()),
		store.Put(ns("b"), "k", doc{}, store.TTL(time.Minute)),
	)
	require.Equal(t, start.Add(time.Minute), f.get(t, n, "minute").Expires)
	require.Equal(t, start.Add(time.Microsecond), f.get(t, n, "tiny").Expires)
	require.Zero(t, f.get(t, n, "ever").Expires)

	f.Advance(time.Minute - time.Microsecond)
	require.Equal(t, start.Add(time.Minute), f.get(t, n, "minute").Expires, "reading doesn't matter")
	f.Advance(time.Microsecond)
	f.gone(t, n, "minute")
	f.gone(t, n, "tiny")
	for _, q := range []store.Query{{}, {Text: "word"}, {Order: store.Newest}, {Filter: []store.Condition{store.Ne("x", 1)}}} {
		require.ElementsMatch(t, []string{"ever", "hour"}, f.keys(t, q), "%+v", q)
	}
	got, err := f.Namespaces(t.Context(), store.NamespaceQuery{})
	require.NoError(t, err)
	require.Equal(t, []store.Namespace{n}, got)

	f.write(t, store.Put(n, "minute", doc{"v": 2}))
	item := f.get(t, n, "minute")
	require.Equal(t, f.Now(), item.Created, "what took the place of an expired item is new")
	require.Zero(t, item.Expires)
}

func testSliding(t *testing.T, f fixture) {
	n := ns("a")
	put := store.Put(n, "k", doc{"text": "word"}, store.Sliding(time.Minute))
	f.write(t, put, store.Put(n, "fixed", doc{"text": "word"}, store.TTL(time.Minute)))
	step := 40 * time.Second
	f.Advance(step)
	require.Equal(t, f.Now().Add(time.Minute), f.get(t, n, "k").Expires, "the item shows the new expiry")
	f.Advance(step)
	f.gone(t, n, "fixed")
	for _, item := range f.search(t, store.Query{Text: "word"}) {
		require.Equal(t, f.Now().Add(time.Minute), item.Expires)
	}
	f.Advance(step)
	require.Equal(t, []string{"k"}, f.keys(t, store.Query{}))
	f.Advance(step)
	f.get(t, n, "k", store.Peek)
	f.search(t, store.Query{Peek: true})
	_, err := f.Namespaces(t.Context(), store.NamespaceQuery{})
	require.NoError(t, err)
	f.Advance(step)
	f.gone(t, n, "k")

	f.write(t, put)
	f.Advance(step)
	require.Empty(t, f.search(t, store.Query{Offset: 1}))
	require.Empty(t, f.search(t, store.Query{Filter: []store.Condition{store.Eq("text", "other")}}))
	f.Advance(step)
	f.gone(t, n, "k")
}

func testSweep(t *testing.T, f fixture) {
	sweeper, ok := f.Store.(store.Sweeper)
	if !ok {
		t.Skip("the store is no Sweeper")
	}
	n := ns("a")
	sweep := func() int {
		swept, err := sweeper.Sweep(t.Context())
		require.NoError(t, err)
		return swept
	}
	require.Zero(t, sweep())
	const many = 2500 // more than a store removes at a time
	var ops []store.Op
	for i := range many {
		ops = append(ops, store.Put(n, fmt.Sprint(i), doc{"text": "word"}, store.TTL(time.Minute)))
	}
	f.write(t, append(ops, store.Put(n, "ever", doc{"text": "word"}), store.Put(n, "later", doc{}, store.TTL(time.Hour)))...)
	require.Zero(t, sweep())
	f.Advance(time.Minute)
	require.Equal(t, []string{"ever", "later"}, f.keys(t, store.Query{}))
	require.Equal(t, many, sweep())
	require.Zero(t, sweep())
	require.Equal(t, []string{"ever", "later"}, f.keys(t, store.Query{}))
	require.Equal(t, []string{"ever"}, f.keys(t, store.Query{Text: "word"}))

	f.write(t, ops[:10]...)
	f.Advance(time.Minute)
	f.write(t, store.Put(n, "x", doc{}))
	require.Zero(t, sweep(), "a write removes a few expired items")
}

func testNamespaces(t *testing.T, f fixture) {
	for _, n := range []store.Namespace{
		ns("users", "1", "notes"), ns("users", "1", "notes", "old"), ns("users", "2", "notes"), ns("users", "2"), ns("users2", "1"), ns("teams", "1", "notes"), ns("*", "x"),
	} {
		f.write(t, store.Put(n, "k", doc{}), store.Put(n, "l", doc{}))
	}
	list := func(q store.NamespaceQuery) []string {
		found, err := f.Namespaces(t.Context(), q)
		require.NoError(t, err)
		texts := []string{}
		for _, n := range found {
			texts = append(texts, strings.Join(n, "/"))
		}
		return texts
	}
	all := []string{"*/x", "teams/1/notes", "users/1/notes", "users/1/notes/old", "users/2", "users/2/notes", "users2/1"}
	require.Equal(t, all, list(store.NamespaceQuery{}))
	require.Equal(t, all[2:6], list(store.NamespaceQuery{Prefix: ns("users")}))
	require.Equal(t, all[5:6], list(store.NamespaceQuery{Prefix: ns("users", "2", "notes")}))
	require.Empty(t, list(store.NamespaceQuery{Prefix: ns("user")}))
	require.Equal(t, all[:1], list(store.NamespaceQuery{Prefix: ns("*")}), "* is a name")
	require.Equal(t, []string{"teams/1/notes", "users/1/notes", "users/2/notes"}, list(store.NamespaceQuery{Suffix: ns("notes")}))
	require.Equal(t, []string{"teams/1/notes", "users/1/notes", "users/1/notes/old"}, list(store.NamespaceQuery{Prefix: ns(store.Any, "1", "notes")}))
	require.Equal(t, []string{"users/1/notes", "users/2/notes"}, list(store.NamespaceQuery{Prefix: ns("users"), Suffix: ns(store.Any, "notes")}))
	require.Equal(t, []string{"users/1/notes", "users/2", "users/2/notes"}, list(store.NamespaceQuery{Prefix: ns("users", store.Any), MaxDepth: 3})[0:3])
	require.Equal(t, []string{"*", "teams", "users", "users2"}, list(store.NamespaceQuery{MaxDepth: 1}))
	require.Equal(t, []string{"*/x", "teams/1", "users/1", "users/2", "users2/1"}, list(store.NamespaceQuery{MaxDepth: 2}))
	require.Equal(t, []string{"users/1"}, list(store.NamespaceQuery{MaxDepth: 2, Suffix: ns("old")}), "conditions look at the whole namespace")
	for limit := 1; limit <= len(all)+1; limit++ {
		var pages []string
		for offset := 0; offset <= len(all); offset += limit {
			pages = append(pages, list(store.NamespaceQuery{Limit: limit, Offset: offset})...)
		}
		require.Equal(t, all, pages)
	}
}

func testIsolation(t *testing.T, f fixture) {
	n, value := ns("a", "b"), json.RawMessage(`{"text":"first"}`)
	f.write(t, store.Put(n, "k", value))
	n[0], value[10] = "x", 'X'
	n = ns("a", "b")
	item := f.get(t, n, "k")
	require.Equal(t, `{"text":"first"}`, string(item.Value))
	item.Value[10], item.Namespace[0] = 'X', "x"
	found := f.search(t, store.Query{Text: "first"})
	require.Len(t, found, 1)
	found[0].Value[10], found[0].Namespace[0] = 'X', "x"
	spaces, err := f.Namespaces(t.Context(), store.NamespaceQuery{})
	require.NoError(t, err)
	spaces[0][0] = "x"
	require.Equal(t, `{"text":"first"}`, string(f.get(t, n, "k").Value))
	require.Equal(t, n, f.search(t, store.Query{})[0].Namespace)
}

func testConcurrent(t *testing.T, f fixture) {
	const writers, each = 8, 20
	ctx := t.Context()
	var wg sync.WaitGroup
	errs := make(chan error, 2*writers)
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				text := fmt.Sprintf("word%d common", w)
				err := f.Write(ctx,
					store.Put(ns("w", fmt.Sprint(w)), fmt.Sprint(i), doc{"text": text, "i": i}, store.Sliding(time.Hour)),
					store.Put(ns("shared"), "k", doc{"w": w, "i": i}),
					store.Delete(ns("w", fmt.Sprint(w)), fmt.Sprint(i-5)))
				if err != nil {
					errs <- err
					return
				}
			}
		})
		wg.Go(func() {
			for range each {
				_, err := f.Search(ctx, store.Query{Namespace: ns("w"), Text: "common", Limit: 3})
				if err == nil {
					_, err = f.Namespaces(ctx, store.NamespaceQuery{MaxDepth: 1})
				}
				if err != nil {
					errs <- err
					return
				}
				f.Advance(time.Second)
			}
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
	require.Len(t, f.search(t, store.Query{Namespace: ns("w")}), writers*5)
	require.Len(t, f.search(t, store.Query{Text: "common"}), writers*5)
	for w := range writers {
		require.ElementsMatch(t, []string{"15", "16", "17", "18", "19"}, f.keys(t, store.Query{Text: fmt.Sprintf("word%d", w)}))
	}
}

func testCanceled(t *testing.T, f fixture) {
	f.write(t, store.Put(ns("a"), "k", doc{"v": 1}))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, getErr := f.Get(ctx, ns("a"), "k")
	_, searchErr := f.Search(ctx, store.Query{})
	_, listErr := f.Namespaces(ctx, store.NamespaceQuery{})
	for _, err := range []error{getErr, searchErr, listErr, f.Write(ctx, store.DeleteAll(ns("a")))} {
		require.ErrorIs(t, err, context.Canceled)
	}
	require.Equal(t, `{"v":1}`, string(f.get(t, ns("a"), "k").Value))
}
