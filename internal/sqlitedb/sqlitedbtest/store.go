// Package sqlitedbtest is what the tests of stores in SQLite files share: opening and closing them, damaging their files, clocks, and
// other processes that use the same file. It knows nothing about what the files hold.
package sqlitedbtest

import (
	"context"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/internal/sqlitedb"
)

// Opener opens a store, as the function Open of its package does.
type Opener[S io.Closer, O any] func(ctx context.Context, path string, opts O) (S, error)

// Open opens a store, which is closed at the end of the test.
func Open[S io.Closer, O any](t testing.TB, open Opener[S, O], path string, opts O) S {
	t.Helper()
	s, err := open(context.Background(), path, opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// Statements for [Execute] that make a disk fail, as far as the store can tell, and mend it.
const (
	DiskFull = "PRAGMA max_page_count = 1" // the pages that are there stay
	DiskFree = "PRAGMA max_page_count = 1000000"
	ReadOnly = "PRAGMA query_only = on"
	Writable = "PRAGMA query_only = off"
)

// Execute runs statements on the connection that writes, behind the back of the store.
func Execute(t testing.TB, db *sqlitedb.Prepared, query string, args ...any) {
	t.Helper()
	_, err := db.Write.ExecContext(context.Background(), query, args...)
	require.NoError(t, err)
}

// Value returns the only column of the first row of a query.
func Value[T any](t require.TestingT, db *sqlitedb.Prepared, query string, args ...any) T {
	var v T
	require.NoError(t, db.Write.QueryRowContext(context.Background(), query, args...).Scan(&v))
	return v
}

// Overwrite sets the bytes of a file from one offset up to another; a negative one is the end.
func Overwrite(t testing.TB, path string, from, to int, with byte) {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	if to < 0 {
		to = len(content)
	}
	require.Less(t, from, to, "there is something to overwrite")
	for i := from; i < to; i++ {
		content[i] = with
	}
	require.NoError(t, os.WriteFile(path, content, 0o600))
}

// Lock makes a folder read-only until the end of the test, and reports whether that keeps this user from writing there.
func Lock(t testing.TB, dir string) bool {
	t.Helper()
	if os.Geteuid() == 0 {
		return false // permissions don't bind root
	}
	require.NoError(t, os.Chmod(dir, 0o500))
	t.Cleanup(func() { require.NoError(t, os.Chmod(dir, 0o700)) })
	return true
}
