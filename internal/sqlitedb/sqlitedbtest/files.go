package sqlitedbtest

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/internal/sqlitedb"
)

// NoDatabase writes a file of text.
func NoDatabase(t testing.TB, path string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("no database ", 1000)), 0o600))
}

// Newer makes a database as a later version of the program would, with the table that records the version.
func Newer(t testing.TB, path, versionTable string) {
	t.Helper()
	db, err := sqlitedb.Open(context.Background(), path, sqlitedb.Options{VersionTable: versionTable, Migrations: fstest.MapFS{
		"00099_x.sql": {Data: []byte("-- +goose Up\nCREATE TABLE x (id INTEGER);\n")}}})
	require.NoError(t, err)
	require.NoError(t, db.Close())
}

// RefusesFiles checks that files that are no store are errors that name them, and that nothing is opened for a context that has ended.
func RefusesFiles[S io.Closer, O any](t *testing.T, open Opener[S, O], opts O, versionTable string) {
	t.Helper()
	refused := func(path, named string, kind error) {
		t.Helper()
		_, err := open(t.Context(), path, opts)
		require.ErrorContains(t, err, named)
		if kind != nil {
			require.ErrorIs(t, err, kind)
		}
	}
	dir := t.TempDir()
	text := filepath.Join(dir, "notes.txt")
	NoDatabase(t, text)
	refused(text, text, sqlitedb.ErrCorrupt)
	refused(filepath.Join(text, "below.sqlite"), text, nil)
	refused(dir, dir, nil)

	newer := filepath.Join(dir, "newer.sqlite")
	Newer(t, newer, versionTable)
	refused(newer, newer, sqlitedb.ErrNewer)
	refused(newer, "update this program", sqlitedb.ErrNewer)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := open(ctx, filepath.Join(dir, "cancelled.sqlite"), opts)
	require.ErrorIs(t, err, context.Canceled)

	locked := filepath.Join(dir, "locked")
	require.NoError(t, os.Mkdir(locked, 0o700))
	if Lock(t, locked) {
		path := filepath.Join(locked, "new.sqlite")
		refused(path, path, sqlitedb.ErrNotWritable)
	}
}
