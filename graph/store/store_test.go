package store_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/llama-agent/llama-agent/graph/store"
	"github.com/llama-agent/llama-agent/graph/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMemoryDefaults(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	n, value := store.Namespace{"n"}, map[string]any{"title": "alpha", "text": "beta"}
	m := store.NewMemory(store.Options{Clock: clock.Now, Expiry: store.Expiry{After: time.Hour, Sliding: true}, Fields: []string{"title"}})
	require.NoError(t, m.Write(t.Context(), store.Put(n, "default", value), store.Put(n, "own", value, store.Forever(), store.Fields("text")), store.Put(n, "short", value, store.TTL(time.Minute))))
	clock.Advance(40 * time.Minute)
	item, err := m.Get(t.Context(), n, "default")
	require.NoError(t, err)
	require.Equal(t, clock.Now().Add(time.Hour), item.Expires)
	item, err = m.Get(t.Context(), n, "own")
	require.NoError(t, err)
	require.Zero(t, item.Expires)
	_, err = m.Get(t.Context(), n, "short")
	require.ErrorIs(t, err, store.ErrNotFound)
	for text, key := range map[string]string{"alpha": "default", "beta": "own"} {
		items, err := m.Search(t.Context(), store.Query{Text: text})
		require.NoError(t, err)
		require.Len(t, items, 1)
		require.Equal(t, key, items[0].Key)
	}

	bad := store.NewMemory(store.Options{Fields: []string{"a..b"}})
	require.ErrorIs(t, bad.Write(t.Context(), store.Put(n, "k", value)), store.ErrInvalid)
	require.NoError(t, bad.Write(t.Context(), store.Put(n, "k", value, store.Fields("title"))))
}

func TestTyped(t *testing.T) {
	t.Parallel()
	type note struct {
		Text string `json:"text"`
		Tags []string
	}
	clock := storetest.NewClock()
	m := store.NewMemory(store.Options{Clock: clock.Now})
	space := store.Namespace{"users", "1"}
	notes := store.NewTyped[note](m, space, store.TTL(time.Hour))
	space[0] = "changed"
	first, second := note{"likes pizza", []string{"food"}}, note{Text: "likes cats"}
	require.NoError(t, notes.Put(t.Context(), "a", first))
	require.NoError(t, notes.Put(t.Context(), "b", second, store.Forever()))
	got, err := notes.Get(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, first, got)

	below := store.NewTyped[note](m, store.Namespace{"users", "1", "old"})
	require.NoError(t, below.Put(t.Context(), "c", second))
	found, err := notes.Search(t.Context(), store.Query{Text: "likes cats", All: true, Filter: []store.Condition{store.Ne("Tags[*]", "food")}})
	require.NoError(t, err)
	require.Len(t, found, 2)
	require.Equal(t, second, found[0].Value)
	require.Equal(t, "b", found[0].Item.Key)
	found, err = notes.Search(t.Context(), store.Query{Namespace: store.Namespace{"old"}})
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Equal(t, "c", found[0].Item.Key)

	clock.Advance(time.Hour)
	_, err = notes.Get(t.Context(), "a")
	require.ErrorIs(t, err, store.ErrNotFound, "the options of all puts")
	require.NoError(t, notes.Delete(t.Context(), "a", "b"))
	_, err = notes.Get(t.Context(), "b", store.Peek)
	require.ErrorIs(t, err, store.ErrNotFound)

	require.NoError(t, m.Write(t.Context(), store.Put(store.Namespace{"users", "1"}, "other", map[string]any{"text": 1})))
	_, err = notes.Get(t.Context(), "other")
	require.ErrorContains(t, err, `"other"`)
	_, err = notes.Search(t.Context(), store.Query{})
	require.ErrorContains(t, err, `"other"`)
	require.ErrorIs(t, store.NewTyped[int](m, store.Namespace{"n"}).Put(t.Context(), "k", 1), store.ErrInvalid)
}

func TestErrorTexts(t *testing.T) {
	t.Parallel()
	m := store.NewMemory(store.Options{})
	n := store.Namespace{"users", "1"}
	_, err := m.Get(t.Context(), n, "k")
	require.EqualError(t, err, `namespace ["users" "1"] has no item "k"`)
	require.EqualError(t, m.Write(t.Context(), store.Put(n, "k", 1)), `the value of item "k" in ["users" "1"] is not a JSON object; put it into a field of one`)
	require.EqualError(t, m.Write(t.Context(), store.Put(n, "", 1)), `key is empty`)
	require.EqualError(t, m.Write(t.Context(), store.DeleteAll(nil)), `namespace has no elements; give it at least one`)
	require.EqualError(t, m.Write(t.Context(), store.Put(store.Namespace{"a", "b\x00"}, "k", 1)), `namespace element 2 "b\x00" holds a NUL character`)
	_, err = m.Search(t.Context(), store.Query{Limit: -1})
	require.EqualError(t, err, `limit is -1; it must not be negative, and 0 stands for all`)
	_, err = m.Search(t.Context(), store.Query{Filter: []store.Condition{store.Eq("a[x]", 1)}})
	require.EqualError(t, err, `field "a[x]" has something else than a number or * in brackets; write \[ for a bracket in a name`)
}

// FuzzFilter: no field, value or document makes a filter fail after it was prepared, and Ne is the opposite of Eq.
func FuzzFilter(f *testing.F) {
	for _, seed := range [][3]string{
		{"a", `1`, `{"a":1}`}, {"a.b[0]", `"x"`, `{"a":{"b":["x"]}}`}, {`a\.b[*]`, `null`, `{"a.b":[]}`}, {"[*][-1]", `{"x":[1e999,-0]}`, `{"y":[[1],{"x":[1e999,0]}]}`},
		{"$", `{}`, `{}`}, {"a", `-12345678901234567890`, `{"a":-12345678901234567891}`},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, field, value, doc string) {
		if !json.Valid([]byte(doc)) {
			t.Skip()
		}
		holds := map[store.Operator]bool{}
		for _, op := range []store.Operator{store.OperatorEq, store.OperatorNe, store.OperatorGt, store.OperatorGte, store.OperatorLt, store.OperatorLte} {
			filter, err := store.NewFilter([]store.Condition{{Field: field, Op: op, Value: json.RawMessage(value)}})
			if err != nil {
				require.ErrorIs(t, err, store.ErrInvalid)
				return
			}
			holds[op], err = filter.Holds(json.RawMessage(doc))
			require.NoError(t, err)
		}
		require.NotEqual(t, holds[store.OperatorEq], holds[store.OperatorNe])
		require.False(t, holds[store.OperatorGt] && !holds[store.OperatorGte], "%v", holds)
		require.False(t, holds[store.OperatorLt] && !holds[store.OperatorLte], "%v", holds)
		require.False(t, holds[store.OperatorGte] && holds[store.OperatorLte] && !holds[store.OperatorEq] && !holds[store.OperatorGt] && !holds[store.OperatorLt], "%v", holds)
	})
}

func TestNumbersCompareExactly(t *testing.T) {
	t.Parallel()
	ordered := []string{"-1e999", "-100000000000000000000001", "-100000000000000000000000", "-9007199254740993", "-9007199254740992", "-2", "-1.5", "-1", "0", "0.5", "1", "9007199254740992", "9007199254740993", "100000000000000000000000", "1e999"}
	for i, a := range ordered {
		for j, b := range ordered {
			for op, want := range map[store.Operator]bool{store.OperatorLt: i < j, store.OperatorGt: i > j, store.OperatorEq: i == j, store.OperatorLte: i <= j} {
				filter, err := store.NewFilter([]store.Condition{{Field: "n", Op: op, Value: json.RawMessage(b)}})
				require.NoError(t, err)
				got, err := filter.Holds(json.RawMessage(fmt.Sprintf(`{"n":%s}`, a)))
				require.NoError(t, err)
				require.Equal(t, want, got, "%s %s %s", a, op, b)
			}
		}
	}
	filter, err := store.NewFilter([]store.Condition{store.Eq("n", 0)})
	require.NoError(t, err)
	for _, zero := range []string{"0", "-0", "0.0", "0e9", "-0e1"} {
		got, err := filter.Holds(json.RawMessage(fmt.Sprintf(`{"n":%s}`, zero)))
		require.NoError(t, err)
		require.True(t, got, zero)
	}
}
