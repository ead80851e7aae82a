package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/llama-agent/llama-agent/graph/store"
)

func Example() {
	ctx := context.Background()
	st := store.NewMemory(store.Options{})
	ns := store.Namespace{"users", "42", "memories"}
	err := st.Write(ctx,
		store.Put(ns, "food", map[string]any{"text": "likes pizza"}),
		store.Put(ns, "pet", map[string]any{"text": "has a cat called Zoë"}),
	)
	if err != nil {
		panic(err)
	}
	item, err := st.Get(ctx, ns, "food")
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s\n", item.Value)
	_, err = st.Get(ctx, ns, "car")
	fmt.Println(errors.Is(err, store.ErrNotFound), err)
	// Output:
	// {"text":"likes pizza"}
	// true namespace ["users" "42" "memories"] has no item "car"
}

func ExampleStore_Search() {
	ctx := context.Background()
	var st store.Store = store.NewMemory(store.Options{})
	ns := store.Namespace{"notes"}
	err := st.Write(ctx,
		store.Put(ns, "1", map[string]any{"text": "The user's favourite dessert is ice cream.", "year": 2023}),
		store.Put(ns, "2", map[string]any{"text": "Zoë lives in Zürich.", "year": 2024}),
		store.Put(ns, "3", map[string]any{"text": "用户喜欢吃冰淇淋。", "year": 2024}),
	)
	if err != nil {
		panic(err)
	}
	show := func(q store.Query) {
		items, err := st.Search(ctx, q)
		if err != nil {
			panic(err)
		}
		for _, item := range items {
			fmt.Printf("%q finds %s\n", q.Text, item.Key)
		}
	}
	show(store.Query{Namespace: ns, Text: "Which desserts or ice creams does she like?"})
	show(store.Query{Text: "zurich"})
	show(store.Query{Text: "冰"})
	show(store.Query{Text: "喜欢 冰淇淋", All: true})
	show(store.Query{Filter: []store.Condition{store.Gte("year", 2024)}, Limit: 10})
	// Output:
	// "Which desserts or ice creams does she like?" finds 1
	// "zurich" finds 2
	// "冰" finds 3
	// "喜欢 冰淇淋" finds 3
	// "" finds 2
	// "" finds 3
}

func ExampleTTL() {
	ctx := context.Background()
	now := time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)
	st := store.NewMemory(store.Options{Clock: func() time.Time { return now }})
	ns := store.Namespace{"cache"}
	err := st.Write(ctx,
		store.Put(ns, "fixed", map[string]any{"v": 1}, store.TTL(time.Hour)),
		store.Put(ns, "sliding", map[string]any{"v": 2}, store.Sliding(time.Hour)),
	)
	if err != nil {
		panic(err)
	}
	for range 3 {
		for _, key := range []string{"fixed", "sliding"} {
			_, err := st.Get(ctx, ns, key)
			fmt.Printf("%s %-7s there: %v\n", now.Format("15:04"), key, err == nil)
		}
		now = now.Add(40 * time.Minute)
	}
	swept, err := st.Sweep(ctx)
	fmt.Println("swept:", swept, err)
	// Output:
	// 12:00 fixed   there: true
	// 12:00 sliding there: true
	// 12:40 fixed   there: true
	// 12:40 sliding there: true
	// 13:20 fixed   there: false
	// 13:20 sliding there: true
	// swept: 1 <nil>
}

func ExampleTyped() {
	type Preference struct {
		Food string   `json:"food"`
		Tags []string `json:"tags"`
	}
	ctx := context.Background()
	prefs := store.NewTyped[Preference](store.NewMemory(store.Options{}), store.Namespace{"users", "42"})
	if err := prefs.Put(ctx, "lunch", Preference{Food: "ramen", Tags: []string{"hot", "quick"}}); err != nil {
		panic(err)
	}
	p, err := prefs.Get(ctx, "lunch")
	fmt.Println(p.Food, err)
	found, err := prefs.Search(ctx, store.Query{Filter: []store.Condition{store.Eq("tags[*]", "quick")}})
	fmt.Println(len(found), found[0].Value.Tags, err)
	// Output:
	// ramen <nil>
	// 1 [hot quick] <nil>
}

func ExampleNamespaceQuery() {
	ctx := context.Background()
	st := store.NewMemory(store.Options{})
	for _, user := range []string{"1", "2"} {
		for _, kind := range []string{"notes", "facts"} {
			if err := st.Write(ctx, store.Put(store.Namespace{"users", user, kind}, "k", map[string]any{})); err != nil {
				panic(err)
			}
		}
	}
	for _, q := range []store.NamespaceQuery{
		{Prefix: store.Namespace{"users", store.Any, "notes"}},
		{MaxDepth: 2},
	} {
		found, err := st.Namespaces(ctx, q)
		if err != nil {
			panic(err)
		}
		for _, ns := range found {
			fmt.Println(strings.Join(ns, "/"))
		}
	}
	// Output:
	// users/1/notes
	// users/2/notes
	// users/1
	// users/2
}

func ExampleDeleteAll() {
	ctx := context.Background()
	st := store.NewMemory(store.Options{})
	user := store.Namespace{"users", "42"}
	err := st.Write(ctx,
		store.Put(user, "name", map[string]any{"v": "Zoë"}),
		store.Put(store.Namespace{"users", "42", "memories"}, "food", map[string]any{"text": "likes pizza"}),
		store.DeleteAll(user),
	)
	items, searchErr := st.Search(ctx, store.Query{})
	fmt.Println(len(items), err, searchErr)
	// Output: 0 <nil> <nil>
}
