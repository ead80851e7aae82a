package sqlitedb_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/llama-agent/llama-agent/internal/sqlitedb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var migrations = fstest.MapFS{
	"00001_items.sql": {Data: []byte("-- +goose Up\nCREATE TABLE items (id INTEGER PRIMARY KEY, data BLOB);\n")},
}

func open(t testing.TB, path string, opts sqlitedb.Options) *sqlitedb.DB {
	t.Helper()
	db, err := sqlitedb.Open(t.Context(), path, opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

func TestPragmasApplyToEveryConnection(t *testing.T) {
	t.Parallel()
	db := open(t, filepath.Join(t.TempDir(), "x.db"), sqlitedb.Options{BusyTimeout: 1234 * time.Millisecond, Readers: 3})
	for name, pool := range map[string]*sql.DB{"read": db.Read, "write": db.Write} {
		n := 3
		if name == "write" {
			n = 1
		}
		var conns []*sql.Conn
		for range n { // held at the same time, so that each is another connection
			c, err := pool.Conn(t.Context())
			require.NoError(t, err)
			conns = append(conns, c)
		}
		for i, c := range conns {
			for pragma, want := range map[string]string{
				"journal_mode": "wal", "busy_timeout": "1234", "foreign_keys": "1", "synchronous": "2", "auto_vacuum": "2",
				"query_only": map[string]string{"read": "1", "write": "0"}[name],
			} {
				var got string
				require.NoError(t, c.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got))
				require.Equal(t, want, got, "%s of %s connection %d", pragma, name, i)
			}
		}
		for _, c := range conns {
			require.NoError(t, c.Close())
		}
	}
}

func TestPathsWithSpecialCharacters(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a?b.db", "a%20b.db", "a#b.db", "a b.db", "日本 ü.db", "a&mode=ro.db", "d?r/#/%/x.db"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, filepath.FromSlash(name))
			db, err := sqlitedb.Open(t.Context(), path, sqlitedb.Options{Migrations: migrations})
			require.NoError(t, err)
			_, err = db.Write.ExecContext(t.Context(), "INSERT INTO items VALUES (1, 'x')")
			require.NoError(t, err)
			require.NoError(t, db.Close())
			require.FileExists(t, path)
			entries, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Len(t, entries, 1, "nothing else may be created beside %q", name)

			db = open(t, path, sqlitedb.Options{Migrations: migrations})
			var n int
			require.NoError(t, db.Read.QueryRowContext(t.Context(), "SELECT count(*) FROM items").Scan(&n))
			require.Equal(t, 1, n)
		})
	}
}

func TestOpenAtOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wg.Go(func() {
			db, err := sqlitedb.Open(context.Background(), path, sqlitedb.Options{Migrations: migrations})
			if err == nil {
				_, err = db.Write.Exec("INSERT INTO items (data) VALUES ('x')")
				err = errors.Join(err, db.Close())
			}
			errs[i] = err
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
}

func TestTwoSetsOfMigrationsInOneFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	others := fstest.MapFS{
		"00001_others.sql": {Data: []byte("-- +goose Up\nCREATE TABLE others (id INTEGER PRIMARY KEY);\n")},
		"00002_more.sql":   {Data: []byte("-- +goose Up\nCREATE TABLE more (id INTEGER PRIMARY KEY);\n")},
	}
	sets := []sqlitedb.Options{{Migrations: migrations}, {Migrations: others, VersionTable: "others_version"}}
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wg.Go(func() {
			db, err := sqlitedb.Open(context.Background(), path, sets[i%2])
			if err == nil {
				err = db.Close()
			}
			errs[i] = err
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	for _, opts := range sets {
		db := open(t, path, opts)
		for _, table := range []string{"items", "others", "more"} {
			_, err := db.Read.ExecContext(t.Context(), "SELECT count(*) FROM "+table)
			require.NoError(t, err)
		}
	}
	_, err := sqlitedb.Open(t.Context(), path, sqlitedb.Options{Migrations: migrations, VersionTable: "others_version"})
	require.ErrorIs(t, err, sqlitedb.ErrNewer, "each set has its own version")
}

func TestTxRollsBack(t *testing.T) {
	t.Parallel()
	db := open(t, filepath.Join(t.TempDir(), "x.db"), sqlitedb.Options{Migrations: migrations})
	boom := errors.New("boom")
	insert := func(tx *sql.Tx) { _, _ = tx.Exec("INSERT INTO items (data) VALUES ('x')") }
	require.ErrorIs(t, db.Tx(t.Context(), "testing", func(tx *sql.Tx) error { insert(tx); return boom }), boom)
	require.Panics(t, func() {
		_ = db.Tx(t.Context(), "testing", func(tx *sql.Tx) error { insert(tx); panic("boom") })
	})
	require.NoError(t, db.Tx(t.Context(), "testing", func(tx *sql.Tx) error { insert(tx); return nil }))
	var n int
	require.NoError(t, db.Read.QueryRow("SELECT count(*) FROM items").Scan(&n))
	require.Equal(t, 1, n)
	_, err := db.Read.Exec("DELETE FROM items")
	require.Error(t, err, "the readers must not write")
}

func TestLockedNamesTheFileAfterTheWait(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "locked.db")
	holder := open(t, path, sqlitedb.Options{Migrations: migrations})
	db := open(t, path, sqlitedb.Options{BusyTimeout: 50 * time.Millisecond})
	held, release := make(chan struct{}), make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- holder.Tx(context.Background(), "holding", func(*sql.Tx) error { close(held); <-release; return nil })
	}()
	<-held
	err := db.Tx(t.Context(), "saving to", func(*sql.Tx) error { return nil })
	require.ErrorIs(t, err, sqlitedb.ErrLocked)
	require.ErrorContains(t, err, "locked.db")
	require.ErrorContains(t, err, "50ms")
	close(release)
	require.NoError(t, <-done)
	require.NoError(t, db.Tx(t.Context(), "saving to", func(*sql.Tx) error { return nil }))
}

// TestCancelEndsTheWaitForTheLock: a cancelled context ends a transaction's wait for the lock of another process, here another
// DB, and that for the writer of its own.
func TestCancelEndsTheWaitForTheLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	holder := open(t, path, sqlitedb.Options{Migrations: migrations})
	other := open(t, path, sqlitedb.Options{BusyTimeout: time.Hour})
	held, release := make(chan struct{}), make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- holder.Tx(context.Background(), "holding", func(*sql.Tx) error { close(held); <-release; return nil })
	}()
	<-held
	for name, db := range map[string]*sqlitedb.DB{"another process": other, "this process": holder} {
		for _, wait := range []time.Duration{0, 50 * time.Millisecond} { // before it waits, and probably while it does
			ctx, cancel := context.WithCancel(t.Context())
			waited := make(chan error, 1)
			go func() { waited <- db.Tx(ctx, "saving to", func(*sql.Tx) error { return nil }) }()
			time.AfterFunc(wait, cancel)
			require.ErrorIs(t, <-waited, context.Canceled, name)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, other.Tx(ctx, "saving to", func(*sql.Tx) error { return nil }), context.DeadlineExceeded)
	var n int
	require.NoError(t, other.Read.QueryRow("SELECT count(*) FROM items").Scan(&n), "a reader that connects now waits for nobody")
	close(release)
	require.NoError(t, <-done)
	require.NoError(t, other.Tx(t.Context(), "saving to", func(*sql.Tx) error { return nil }), "the wait that ended has left nothing behind")
}

func TestWriterWaitsForLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	holder := open(t, path, sqlitedb.Options{Migrations: migrations})
	db := open(t, path, sqlitedb.Options{})
	held, release := make(chan struct{}), make(chan struct{})
	done := make(chan error, 2)
	go func() {
		done <- holder.Tx(context.Background(), "holding", func(*sql.Tx) error { close(held); <-release; return nil })
	}()
	<-held
	started := make(chan struct{})
	go func() {
		close(started)
		done <- db.Tx(context.Background(), "saving to", func(tx *sql.Tx) error {
			_, err := tx.Exec("INSERT INTO items (data) VALUES ('x')")
			return err
		})
	}()
	<-started
	time.Sleep(200 * time.Millisecond) // lets the second writer meet the lock; the test passes without it
	close(release)
	require.NoError(t, <-done)
	require.NoError(t, <-done)
}

func TestOpenErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := filepath.Join(dir, "notes.txt")
	require.NoError(t, os.WriteFile(text, []byte(strings.Repeat("this is a text file, not a database. ", 100)), 0o600))
	_, err := sqlitedb.Open(t.Context(), text, sqlitedb.Options{Migrations: migrations})
	require.ErrorIs(t, err, sqlitedb.ErrCorrupt)
	require.ErrorContains(t, err, "notes.txt")
	require.ErrorContains(t, err, "not a database")

	newer := fstest.MapFS{"00001_items.sql": migrations["00001_items.sql"],
		"00002_more.sql": {Data: []byte("-- +goose Up\nCREATE TABLE more (id INTEGER);\n")}}
	path := filepath.Join(dir, "newer.db")
	open(t, path, sqlitedb.Options{Migrations: newer})
	_, err = sqlitedb.Open(t.Context(), path, sqlitedb.Options{Migrations: migrations})
	require.ErrorIs(t, err, sqlitedb.ErrNewer)

	broken := fstest.MapFS{"00001_x.sql": {Data: []byte("-- +goose Up\nCREATE TABEL items (id INTEGER);\n")}}
	_, err = sqlitedb.Open(t.Context(), filepath.Join(dir, "b.db"), sqlitedb.Options{Migrations: broken})
	require.ErrorContains(t, err, "TABEL")

	_, err = sqlitedb.Open(t.Context(), filepath.Join(text, "x.db"), sqlitedb.Options{})
	require.ErrorContains(t, err, "notes.txt", "a file where a folder should be")

	_, err = sqlitedb.Open(t.Context(), filepath.Join(dir, "none.db"), sqlitedb.Options{ReadOnly: true})
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoFileExists(t, filepath.Join(dir, "none.db"))
}

func TestReadOnlyFolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "ro")
	path := filepath.Join(dir, "x.db")
	db, err := sqlitedb.Open(t.Context(), path, sqlitedb.Options{Migrations: migrations})
	require.NoError(t, err)
	require.NoError(t, db.Close())
	require.NoError(t, os.Chmod(path, 0o400))
	require.NoError(t, os.Chmod(dir, 0o500))
	t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
	if os.Getuid() == 0 {
		t.Skip("the superuser may write everywhere")
	}
	_, err = sqlitedb.Open(t.Context(), path, sqlitedb.Options{})
	require.ErrorIs(t, err, sqlitedb.ErrNotWritable)
	require.ErrorContains(t, err, path)
	ro := open(t, path, sqlitedb.Options{ReadOnly: true})
	var n int
	require.NoError(t, ro.Read.QueryRow("SELECT count(*) FROM items").Scan(&n))
}

func TestShrinkGivesSpaceBack(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	db := open(t, path, sqlitedb.Options{Migrations: migrations})
	for range 20 {
		_, err := db.Write.Exec("INSERT INTO items (data) VALUES (randomblob(100000))")
		require.NoError(t, err)
	}
	size := func() (n int64) {
		for _, suffix := range []string{"", "-wal"} {
			if fi, err := os.Stat(path + suffix); err == nil {
				n += fi.Size()
			}
		}
		return n
	}
	full := size()
	require.Greater(t, full, int64(2_000_000))
	_, err := db.Write.Exec("DELETE FROM items")
	require.NoError(t, err)
	require.NoError(t, db.Shrink(t.Context()))
	require.Less(t, size(), full/20)
}

func TestVacuumInATransaction(t *testing.T) {
	t.Parallel()
	db := open(t, filepath.Join(t.TempDir(), "x.db"), sqlitedb.Options{Migrations: migrations})
	free := func() (n int) {
		require.NoError(t, db.Write.QueryRow("PRAGMA freelist_count").Scan(&n))
		return n
	}
	require.NoError(t, db.Tx(t.Context(), "filling", func(tx *sql.Tx) error {
		_, err := tx.Exec("INSERT INTO items (data) VALUES (zeroblob(400000))")
		return err
	}))
	left := 0
	require.NoError(t, db.Tx(t.Context(), "deleting from", func(tx *sql.Tx) error {
		_, err := tx.Exec("DELETE FROM items")
		require.NoError(t, err)
		require.NoError(t, tx.QueryRow("PRAGMA freelist_count").Scan(&left))
		require.Greater(t, left, 90)
		return db.Vacuum(t.Context(), tx, 60)
	}))
	require.Equal(t, left-60, free())
	require.NoError(t, db.Tx(t.Context(), "shrinking", func(tx *sql.Tx) error { return db.Vacuum(t.Context(), tx, 1000) }))
	require.Zero(t, free())
}

func TestPageSize(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for size, want := range map[int]int{0: 4096, 512: 512, 2048: 2048, 65536: 65536} {
		db := open(t, filepath.Join(dir, fmt.Sprint(size)), sqlitedb.Options{Migrations: migrations, PageSize: size})
		var pages, vacuum int
		require.NoError(t, db.Read.QueryRow("PRAGMA page_size").Scan(&pages))
		require.NoError(t, db.Read.QueryRow("PRAGMA auto_vacuum").Scan(&vacuum))
		require.Equal(t, want, pages)
		require.Equal(t, 2, vacuum)
	}
	open(t, filepath.Join(dir, "512"), sqlitedb.Options{PageSize: 4096}) // an existing file keeps its own
	for _, size := range []int{-1, 100, 3000, 1 << 17} {
		_, err := sqlitedb.Open(t.Context(), filepath.Join(dir, "x"), sqlitedb.Options{PageSize: size})
		require.ErrorContains(t, err, "page size")
	}
}

func TestClose(t *testing.T) {
	t.Parallel()
	db, err := sqlitedb.Open(t.Context(), filepath.Join(t.TempDir(), "x.db"), sqlitedb.Options{})
	require.NoError(t, err)
	require.NoError(t, db.Close())
	require.NoError(t, db.Close())
	require.ErrorIs(t, db.Tx(t.Context(), "saving to", func(*sql.Tx) error { return nil }), sqlitedb.ErrClosed)
}

func TestQueries(t *testing.T) {
	t.Parallel()
	q := sqlitedb.Queries("-- about the file\n-- name: one\nSELECT 1\n\n-- name: two\n-- why\nSELECT 2\nFROM x\n")
	require.Equal(t, map[string]string{"one": "SELECT 1", "two": "SELECT 2\nFROM x"}, q)
	require.Panics(t, func() { sqlitedb.Queries("SELECT 1\n-- name: one\nSELECT 1") })
	require.Panics(t, func() { sqlitedb.Queries("-- name: one\nSELECT 1\n-- name: one\nSELECT 1") })
}

func BenchmarkOpen(b *testing.B) {
	path := filepath.Join(b.TempDir(), "x.db")
	for range b.N {
		db, err := sqlitedb.Open(context.Background(), path, sqlitedb.Options{Migrations: migrations})
		if err != nil {
			b.Fatal(err)
		}
		if err := db.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	db, err := sqlitedb.Open(context.Background(), filepath.Join(dir, "items.db"), sqlitedb.Options{Migrations: migrations})
	if err != nil {
		panic(err)
	}
	defer db.Close()
	err = db.Tx(context.Background(), "adding items to", func(tx *sql.Tx) error {
		_, err := tx.Exec("INSERT INTO items (data) VALUES ('a'), ('b')")
		return err
	})
	if err != nil {
		panic(err)
	}
	var n int
	if err := db.Read.QueryRow("SELECT count(*) FROM items").Scan(&n); err != nil {
		panic(err)
	}
	fmt.Println(n)
	// Output: 2
}
