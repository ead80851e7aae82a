package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/graph/checkpoint"
	checkpoints "github.com/llama-agent/llama-agent/graph/checkpoint/sqlite"
	"github.com/llama-agent/llama-agent/graph/store"
	"github.com/llama-agent/llama-agent/graph/store/sqlite"
	"github.com/llama-agent/llama-agent/internal/sqlitedb"
)

// The tests of several processes run this test binary again with the path of a file here.
const childPath = "STORE_TEST_CHILD_PATH"

const childBatch = 10

// child writes batches of items, and says so after each, until it is killed.
func child(path string) error {
	ctx := context.Background()
	s, err := sqlite.Open(ctx, path, sqlite.Options{Synchronous: sqlite.Normal})
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		var ops []store.Op
		for j := range childBatch {
			ops = append(ops, store.Put(store.Namespace{"child", fmt.Sprint(i)}, fmt.Sprint(j), map[string]any{"text": "written by the child 冰淇淋"}))
		}
		if err := s.Write(ctx, ops...); err != nil {
			return err
		}
		fmt.Println(i)
	}
}

// TestKilledWriter kills a process that writes while another one does too.
func TestKilledWriter(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "shared.sqlite")
	s := open(t, path, sqlite.Options{Synchronous: sqlite.Normal})
	var stderr strings.Builder
	cmd := exec.Command(os.Args[0])
	cmd.Env, cmd.Stderr = append(os.Environ(), childPath+"="+path), &stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	for n, line := 0, make([]byte, 64); n < 20; n++ {
		_, err := out.Read(line)
		require.NoError(t, err, "%s", &stderr)
		require.NoError(t, s.Write(t.Context(), store.Put(store.Namespace{"parent"}, fmt.Sprint(n), map[string]any{"text": "written by the parent"})))
	}
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()

	items, err := s.Search(t.Context(), store.Query{Namespace: store.Namespace{"child"}})
	require.NoError(t, err)
	require.NotEmpty(t, items)
	require.Zero(t, len(items)%childBatch, "a batch is there whole or not at all")
	for _, text := range []string{"child", "冰淇淋"} {
		found, err := s.Search(t.Context(), store.Query{Text: text})
		require.NoError(t, err)
		require.Len(t, found, len(items), "every item is found by its text")
	}
	found, err := s.Search(t.Context(), store.Query{Text: "parent"})
	require.NoError(t, err)
	require.Len(t, found, 20)
}

func TestTwoHandlesOnOneFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "shared.sqlite")
	handles := []*sqlite.Store{open(t, path, sqlite.Options{Synchronous: sqlite.Off}), open(t, path, sqlite.Options{Synchronous: sqlite.Off})}
	ctx, n := t.Context(), store.Namespace{"n"}
	const each = 50
	errs := make([]error, 4)
	var wg sync.WaitGroup
	for w := range errs {
		wg.Go(func() {
			for i := range each {
				err := handles[w%2].Write(ctx, store.Put(n, fmt.Sprint(w, " ", i), map[string]any{"text": fmt.Sprint("word", w)}), store.Put(n, "same", map[string]any{"text": "one"}))
				if err == nil {
					_, err = handles[1-w%2].Get(ctx, n, fmt.Sprint(w, " ", i)) // the other handle sees it at once
				}
				errs[w] = errors.Join(errs[w], err)
			}
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	for _, s := range handles {
		items, err := s.Search(ctx, store.Query{})
		require.NoError(t, err)
		require.Len(t, items, len(errs)*each+1)
		for w := range errs {
			items, err := s.Search(ctx, store.Query{Text: fmt.Sprint("word", w)})
			require.NoError(t, err)
			require.Len(t, items, each)
		}
	}
	require.NoError(t, handles[0].Write(ctx, store.DeleteAll(n)))
	items, err := handles[1].Search(ctx, store.Query{Text: "one"})
	require.NoError(t, err)
	require.Empty(t, items)
	check(t, path)
}

// check runs the checks of SQLite and of its full-text index.
func check(t *testing.T, path string) {
	t.Helper()
	db, err := sqlitedb.Open(t.Context(), path, sqlitedb.Options{})
	require.NoError(t, err)
	defer db.Close()
	var says string
	require.NoError(t, db.Read.QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&says))
	require.Equal(t, "ok", says)
	_, err = db.Write.ExecContext(t.Context(), "INSERT INTO store_text (store_text) VALUES ('integrity-check')")
	require.NoError(t, err)
}

// TestFileOfCheckpoints keeps items and checkpoints in one file, whichever comes first.
func TestFileOfCheckpoints(t *testing.T) {
	t.Parallel()
	for _, first := range []string{"store", "saver"} {
		t.Run(first+" first", func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "all.sqlite")
			var s *sqlite.Store
			if first == "store" {
				s = open(t, path, sqlite.Options{})
			}
			saver, err := checkpoints.Open(t.Context(), path, checkpoints.Options{})
			require.NoError(t, err)
			defer saver.Close()
			if s == nil {
				s = open(t, path, sqlite.Options{})
			}
			for i := range int64(10) {
				seq := i + 1
				require.NoError(t, saver.Save(t.Context(), checkpoint.Boundary{Checkpoint: checkpoint.Checkpoint{
					Info: checkpoint.Info{Thread: "t", ID: fmt.Sprint(seq), Seq: seq, ParentSeq: i, Time: time.Now()}}}))
				require.NoError(t, s.Write(t.Context(), store.Put(store.Namespace{"n"}, fmt.Sprint(seq), map[string]any{"text": "word"})))
			}
			_, err = saver.DeleteThread(t.Context(), "t")
			require.NoError(t, err)
			require.NoError(t, s.Close())
			s = open(t, path, sqlite.Options{})
			items, err := s.Search(t.Context(), store.Query{Text: "word"})
			require.NoError(t, err)
			require.Len(t, items, 10)
			again, err := checkpoints.Open(t.Context(), path, checkpoints.Options{})
			require.NoError(t, err)
			require.NoError(t, again.Close())
			check(t, path)
		})
	}
}

func TestItemsOutliveTheHandle(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a folder", "store.sqlite")
	s := open(t, path, sqlite.Options{})
	n := store.Namespace{"n"}
	require.NoError(t, s.Write(t.Context(), store.Put(n, "k", map[string]any{"text": "冰淇淋"}, store.TTL(time.Hour)), store.Put(n, "l", map[string]any{})))
	want, err := s.Search(t.Context(), store.Query{Order: store.Newest})
	require.NoError(t, err)
	require.NoError(t, s.Close())

	s = open(t, path, sqlite.Options{})
	got, err := s.Search(t.Context(), store.Query{Order: store.Newest})
	require.NoError(t, err)
	require.Equal(t, want, got)
	items, err := s.Search(t.Context(), store.Query{Text: "冰"})
	require.NoError(t, err)
	require.Len(t, items, 1)
	require.Equal(t, path, s.Path())
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	opts := sqlite.Options{Options: store.Options{Expiry: store.Expiry{After: time.Hour, Sliding: true}, Fields: []string{"title"}}}
	s, n := open(t, filepath.Join(t.TempDir(), "store.sqlite"), opts), store.Namespace{"n"}
	value := map[string]any{"title": "alpha", "text": "beta"}
	require.NoError(t, s.Write(t.Context(), store.Put(n, "default", value), store.Put(n, "own", value, store.Forever(), store.Fields("text"))))
	item, err := s.Get(t.Context(), n, "default")
	require.NoError(t, err)
	require.WithinDuration(t, time.Now().Add(time.Hour), item.Expires, time.Minute)
	item, err = s.Get(t.Context(), n, "own")
	require.NoError(t, err)
	require.Zero(t, item.Expires)
	for text, key := range map[string]string{"alpha": "default", "beta": "own"} {
		items, err := s.Search(t.Context(), store.Query{Text: text})
		require.NoError(t, err)
		require.Len(t, items, 1)
		require.Equal(t, key, items[0].Key)
	}

	_, err = sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "x.sqlite"), sqlite.Options{Options: store.Options{Fields: []string{"a..b"}}})
	require.ErrorIs(t, err, store.ErrInvalid)
	require.ErrorContains(t, err, "x.sqlite")
}

func TestClose(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "store.sqlite"), sqlite.Options{})
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	n := store.Namespace{"n"}
	_, getErr := s.Get(t.Context(), n, "k")
	_, searchErr := s.Search(t.Context(), store.Query{})
	_, listErr := s.Namespaces(t.Context(), store.NamespaceQuery{})
	_, sweepErr := s.Sweep(t.Context())
	for _, err := range []error{getErr, searchErr, listErr, sweepErr, s.Write(t.Context(), store.Delete(n, "k"))} {
		require.ErrorIs(t, err, store.ErrClosed)
		require.ErrorContains(t, err, "store.sqlite")
	}
}

func TestOpenErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := filepath.Join(dir, "notes.txt")
	require.NoError(t, os.WriteFile(text, []byte(strings.Repeat("not a database ", 1000)), 0o600))
	_, err := sqlite.Open(t.Context(), text, sqlite.Options{})
	require.ErrorIs(t, err, sqlite.ErrCorrupt)
	require.ErrorContains(t, err, "notes.txt")

	path := filepath.Join(dir, "newer.sqlite")
	db, err := sqlitedb.Open(t.Context(), path, sqlitedb.Options{VersionTable: "store_version", Migrations: fstest.MapFS{
		"00099_x.sql": {Data: []byte("-- +goose Up\nCREATE TABLE x (id INTEGER);\n")}}})
	require.NoError(t, err)
	require.NoError(t, db.Close())
	_, err = sqlite.Open(t.Context(), path, sqlite.Options{})
	require.ErrorIs(t, err, sqlite.ErrNewer)

	_, err = sqlite.Open(t.Context(), path, sqlite.Options{Synchronous: "SOMETIMES"})
	require.ErrorContains(t, err, "SOMETIMES")
}

// TestLocked waits for another process's write no longer than it may.
func TestLocked(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.sqlite")
	s := open(t, path, sqlite.Options{BusyTimeout: 50 * time.Millisecond})
	n := store.Namespace{"n"}
	require.NoError(t, s.Write(t.Context(), store.Put(n, "k", map[string]any{"v": 1}), store.Put(n, "sliding", map[string]any{}, store.Sliding(time.Hour))))
	db, err := sqlitedb.Open(t.Context(), path, sqlitedb.Options{})
	require.NoError(t, err)
	defer db.Close()
	tx, err := db.Write.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	defer tx.Rollback()
	require.ErrorIs(t, s.Write(t.Context(), store.Delete(n, "k")), sqlite.ErrLocked)
	_, err = s.Get(t.Context(), n, "k")
	require.NoError(t, err, "readers don't wait")
	_, err = s.Get(t.Context(), n, "sliding")
	require.ErrorIs(t, err, sqlite.ErrLocked, "an expiry that can't be put off is not silently kept")
	_, err = s.Get(t.Context(), n, "sliding", store.Peek)
	require.NoError(t, err)
}

// TestDamagedRows changes rows behind the store's back.
func TestDamagedRows(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.sqlite")
	s := open(t, path, sqlite.Options{})
	n := store.Namespace{"n"}
	require.NoError(t, s.Write(t.Context(), store.Put(n, "k", map[string]any{"text": "word"})))
	db, err := sqlitedb.Open(t.Context(), path, sqlitedb.Options{})
	require.NoError(t, err)
	defer db.Close()

	_, err = db.Write.ExecContext(t.Context(), "UPDATE store_items SET value = '{'")
	require.NoError(t, err)
	_, err = s.Search(t.Context(), store.Query{Text: "word", Filter: []store.Condition{store.Ne("x", 1)}})
	require.ErrorContains(t, err, `"k"`)
	item, err := s.Get(t.Context(), n, "k")
	require.NoError(t, err)
	require.ErrorContains(t, item.Decode(&map[string]any{}), `"k"`)

	_, err = db.Write.ExecContext(t.Context(), "UPDATE store_items SET namespace = x'6e'")
	require.NoError(t, err)
	_, err = s.Search(t.Context(), store.Query{})
	require.ErrorContains(t, err, "damaged")
	_, err = s.Namespaces(t.Context(), store.NamespaceQuery{})
	require.ErrorContains(t, err, "damaged")
}
