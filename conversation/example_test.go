package conversation_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/llama-agent/llama-agent/conversation"
)

// A turn is left by a process that crashed. The next one finds it, and resumes it.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	store, err := conversation.Open(ctx, filepath.Join(dir, "conversations.sqlite"), conversation.Options{})
	if err != nil {
		panic(err)
	}
	defer store.Close()

	last, err := store.Last(ctx)
	if errors.Is(err, conversation.ErrNone) {
		last, err = store.Create(ctx, "c-dog")
	}
	if err != nil {
		panic(err)
	}
	if _, err := store.Begin(ctx, last.ID, "t-1", "My dog is called Bruno.", "process 17"); err != nil {
		panic(err)
	}

	_, err = store.Begin(ctx, last.ID, "t-2", "What is my dog called?", "process 42")
	var running *conversation.RunningError
	if errors.As(err, &running) {
		fmt.Println(err)
		if err := store.Interrupt(ctx, running.Turn.Thread, running.Turn.Process); err != nil {
			panic(err)
		}
	}
	if _, err := store.Reopen(ctx, "t-1", "process 42"); err != nil {
		panic(err)
	}
	err = store.Finish(ctx, "t-1", conversation.Outcome{Status: conversation.Done, Answer: "A good name.", Process: "process 42"})
	if err != nil {
		panic(err)
	}

	turns, err := store.Turns(ctx, last.ID, conversation.TurnQuery{Limit: 8, Newest: true})
	if err != nil {
		panic(err)
	}
	for _, turn := range turns {
		fmt.Printf("%d %s: %s %s\n", turn.Number, turn.Status, turn.Goal, turn.Answer)
	}
	// Output:
	// turn 1 of conversation "c-dog" is running in thread "t-1"; wait for it to end, or stop it
	// 1 done: My dog is called Bruno. A good name.
}
