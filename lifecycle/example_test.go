package lifecycle_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/llama-agent/llama-agent/lifecycle"
)

// A store keeps what prompts leave out, and finds it again by words or by its reference.
func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	store, err := lifecycle.Open(ctx, filepath.Join(dir, "memory.sqlite"), lifecycle.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()

	turn := lifecycle.Signals{Kind: lifecycle.KindTurn, Text: "我的狗叫 Bruno"}
	record, err := store.Put(ctx, lifecycle.Record{
		Owner: "conversation", Kind: turn.Kind, Key: "turn 1", Text: turn.Text, Importance: lifecycle.Importance(turn), Order: 1,
	})
	fmt.Println(record.Ref, err)
	hits, err := store.Search(ctx, []string{"conversation"}, "狗叫什么名字？", lifecycle.SearchOptions{WithText: true})
	fmt.Println(hits[0].Text, err)
	_, err = store.Get(ctx, []string{"another conversation"}, record.Ref)
	fmt.Println(err)

	_, _, err = store.Remember(ctx, "", "editor", "vim")
	fmt.Println(err)
	_, replaced, err := store.Remember(ctx, "", "Editor", "emacs")
	fmt.Println(replaced.Value, err)
	memories, err := store.Memories(ctx, "", "conversation")
	fmt.Println(memories[0].Key, "=", memories[0].Value, err)
	// Output:
	// memory://k6yd1vr0k23kb <nil>
	// 我的狗叫 Bruno <nil>
	// there is no record "memory://k6yd1vr0k23kb"; use a reference exactly as it was given
	// <nil>
	// vim <nil>
	// Editor = emacs <nil>
}

// The turns of a conversation with a window that jumps.
func ExampleWindow() {
	limits := lifecycle.WindowLimits{Hot: 2, Activation: 400, Budget: 1000}
	var tokens []int
	for range 8 {
		tokens = append(tokens, 100)
		fmt.Print(lifecycle.Window(tokens, limits), " ")
	}
	// Output: 0 0 0 0 3 3 3 6
}
