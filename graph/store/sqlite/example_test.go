package sqlite_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/llama-agent/llama-agent/graph/store"
	"github.com/llama-agent/llama-agent/graph/store/sqlite"
)

func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "memories.sqlite") // may be the file of the checkpoints
	for range 2 {
		st, err := sqlite.Open(ctx, path, sqlite.Options{Options: store.Options{Fields: []string{"text"}}})
		if err != nil {
			panic(err)
		}
		items, err := st.Search(ctx, store.Query{Namespace: store.Namespace{"users"}, Text: "冰淇淋", Limit: 5})
		if err != nil {
			panic(err)
		}
		fmt.Println("found:", len(items))
		if err := st.Write(ctx, store.Put(store.Namespace{"users", "42"}, "food", map[string]any{"text": "用户喜欢吃冰淇淋"})); err != nil {
			panic(err)
		}
		if err := st.Close(); err != nil {
			panic(err)
		}
	}
	// Output:
	// found: 0
	// found: 1
}
