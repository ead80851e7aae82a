package artifacts_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/llama-agent/llama-agent/artifacts"
)

// openExample opens a store in a folder of its own. The function removes it.
func openExample(opts artifacts.Options) (*artifacts.Store, func()) {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	store, err := artifacts.Open(context.Background(), dir, opts)
	if err != nil {
		panic(err)
	}
	return store, func() {
		_ = store.Close()
		_ = os.RemoveAll(dir)
	}
}

// A large result is stored, and a model sees a descriptor of it.
func ExampleDescriptor() {
	store, done := openExample(artifacts.Options{})
	defer done()
	var log strings.Builder
	for i := 1; i <= 5000; i++ {
		fmt.Fprintf(&log, "request %d served\n", i)
	}
	facts, err := artifacts.FactsOf(map[string]any{"level": "INFO", "errors": 0})
	if err != nil {
		fmt.Println(err)
		return
	}
	a, err := store.Put(context.Background(), "conversation-1", artifacts.Source{Tool: "read_file", Name: "app.log", Facts: facts}, []byte(log.String()))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(artifacts.Descriptor(a, []byte(log.String()), artifacts.Limits{PreviewChars: 80, SummaryChars: 600}, ""))
	// Output:
	// [large result of read_file (app.log), stored as artifact://r8dj8ybg: 98893 bytes, 5000 lines, text/plain]
	// errors: 0
	// level: INFO
	// --- lines 1 to 2:
	// request 1 served
	// request 2 served
	// --- 98819 bytes left out; lines 4999 to 5000:
	// request 4999 served
	// request 5000 served
	// [to find something in it: search_artifact with artifact_id "artifact://r8dj8ybg"; to read on: retrieve_artifact with it and start_line 3]
}

// What a search finds can be read by its line or by its bytes.
func ExampleStore_Search() {
	store, done := openExample(artifacts.Options{})
	defer done()
	ctx := context.Background()
	a, err := store.Put(ctx, "conversation-1", artifacts.Source{Tool: "read_file"}, []byte("all is well\nERROR: 汉字 are missing\nall is well\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	found, err := store.Search(ctx, "conversation-1", a.Ref, artifacts.Query{Text: "汉字"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range found.Matches {
		line, _ := store.Retrieve(ctx, "conversation-1", a.Ref, artifacts.Range{StartLine: m.Line, MaxLines: 1})
		part, _ := store.Retrieve(ctx, "conversation-1", a.Ref, artifacts.Range{Offset: m.Offset, Length: m.Length})
		fmt.Printf("line %d: %q, bytes %d to %d: %q\n", m.Line, line.Content, part.Offset, part.Next, part.Content)
	}

	_, err = store.Search(ctx, "conversation-2", a.Ref, artifacts.Query{Text: "汉字"})
	fmt.Println("another owner:", errors.Is(err, artifacts.ErrUnknown))
	// Output:
	// line 2: "ERROR: 汉字 are missing\n", bytes 19 to 25: "汉字"
	// another owner: true
}

// A collection removes what was not used for longest, and nothing that is live.
func ExampleStore_GC() {
	now := time.Date(2024, 5, 1, 8, 0, 0, 0, time.UTC)
	store, done := openExample(artifacts.Options{
		MaxAge: 24 * time.Hour,
		Live:   func(_ context.Context, owner, _ string) (bool, error) { return owner == "conversation-1", nil },
		Clock:  func() time.Time { return now },
	})
	defer done()
	ctx := context.Background()
	for _, owner := range []string{"conversation-1", "deleted"} {
		if _, err := store.Put(ctx, owner, artifacts.Source{Tool: "read_file"}, []byte("content of "+owner)); err != nil {
			fmt.Println(err)
			return
		}
	}
	now = now.Add(48 * time.Hour)
	c, err := store.GC(ctx)
	for _, r := range c.Removed {
		fmt.Println("removed one of", r.Artifact.Owner, "because of its", r.Reason)
	}
	fmt.Println(c.Freed, "bytes freed,", c.Left, "left", err)
	// Output:
	// removed one of deleted because of its age
	// 18 bytes freed, 25 left <nil>
}
