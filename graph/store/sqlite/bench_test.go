package sqlite_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/graph/store"
	"github.com/llama-agent/llama-agent/graph/store/sqlite"
)

const (
	benchItems = 10_000
	benchUsers = 100
)

// fill writes 10,000 items of about 30 words each, a hundred for each user.
func fill(b *testing.B, s store.Store) {
	b.Helper()
	rnd := rand.New(rand.NewPCG(1, 2))
	var ops []store.Op
	for i := range benchItems {
		words := make([]string, 30)
		for j := range words { // few words are common, as in a language
			words[j] = fmt.Sprintf("word%d", int(5000/(1+rnd.Float64()*5000)))
		}
		text := strings.Join(words, " ") + fmt.Sprintf(" 用户%d喜欢冰淇淋 item%d", i%benchUsers, i)
		ops = append(ops, store.Put(benchSpace(i), fmt.Sprint("key", i), map[string]any{"text": text, "n": i}))
		if len(ops) == 1000 {
			require.NoError(b, s.Write(context.Background(), ops...))
			ops = ops[:0]
		}
	}
}

func benchSpace(i int) store.Namespace {
	return store.Namespace{"users", fmt.Sprint(i % benchUsers), "memories"}
}

// Benchmark measures stores of 10,000 items: the first part of a name is the store, the rest the operation.
func Benchmark(b *testing.B) {
	for _, kind := range []string{"memory", "normal", "full"} {
		var s store.Store = store.NewMemory(store.Options{})
		if kind != "memory" {
			sync := map[string]sqlite.Synchronous{"normal": sqlite.Normal, "full": sqlite.Full}[kind]
			s = open(b, filepath.Join(b.TempDir(), "bench.sqlite"), sqlite.Options{Synchronous: sync})
		}
		fill(b, s)
		ctx := context.Background()
		b.Run(kind+"/put", func(b *testing.B) {
			i := 0
			for b.Loop() {
				op := store.Put(benchSpace(i), fmt.Sprint("new", i%benchItems), map[string]any{"text": "the user likes pizza and 冰淇淋", "n": i})
				if err := s.Write(ctx, op); err != nil {
					b.Fatal(err)
				}
				i++
			}
		})
		if kind == "full" {
			continue // reading is the same
		}
		b.Run(kind+"/put100", func(b *testing.B) {
			i := 0
			for b.Loop() {
				var ops []store.Op
				for range 100 {
					ops = append(ops, store.Put(benchSpace(i), fmt.Sprint("new", i%benchItems), map[string]any{"text": "the user likes pizza and 冰淇淋", "n": i}))
					i++
				}
				if err := s.Write(ctx, ops...); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(kind+"/get", func(b *testing.B) {
			i := 0
			for b.Loop() {
				if _, err := s.Get(ctx, benchSpace(i), fmt.Sprint("key", i%benchItems)); err != nil {
					b.Fatal(err)
				}
				i++
			}
		})
		user, all := benchSpace(7), store.Namespace{"users"}
		for name, q := range map[string]store.Query{
			"text/user/rare":      {Namespace: user, Text: "item107"},
			"text/user/common":    {Namespace: user, Text: "word1 word2"},
			"text/user/cjk":       {Namespace: user, Text: "冰淇淋"},
			"text/all/rare":       {Namespace: all, Text: "item107"},
			"text/all/some":       {Namespace: all, Text: "word50 word90"},
			"text/all/common":     {Namespace: all, Text: "word1 word2"},
			"text/all/cjk":        {Namespace: all, Text: "冰淇淋"},
			"list/user":           {Namespace: user},
			"list/all":            {Namespace: all},
			"list/all/newest":     {Namespace: all, Order: store.Newest},
			"list/user/newest":    {Namespace: user, Order: store.Newest},
			"list/all/filter":     {Namespace: all, Filter: []store.Condition{store.Eq("n", 9000)}},
			"list/user/filter":    {Namespace: user, Filter: []store.Condition{store.Gt("n", 9000)}},
			"text/all/somefilter": {Namespace: all, Text: "word50", Filter: []store.Condition{store.Gt("n", 5000)}},
		} {
			q.Limit = 10
			b.Run(kind+"/search/"+name, func(b *testing.B) {
				for b.Loop() {
					if items, err := s.Search(ctx, q); err != nil || len(items) == 0 {
						b.Fatal(len(items), err)
					}
				}
			})
		}
		b.Run(kind+"/namespaces", func(b *testing.B) {
			for b.Loop() {
				if found, err := s.Namespaces(ctx, store.NamespaceQuery{}); err != nil || len(found) < benchUsers {
					b.Fatal(len(found), err)
				}
			}
		})
	}
}
