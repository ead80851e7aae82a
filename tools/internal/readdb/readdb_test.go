package readdb

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	_ "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func testDatabase(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	path := filepath.Join(dir, "a.db")
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), "CREATE TABLE t(a, d DATE); INSERT INTO t VALUES(1, '2024-01-02'),(2.5, NULL),('x', x'0102')")
	require.NoError(t, err)
	require.NoError(t, db.Close())
	return path
}

func TestPolicy(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		action        int32
		first, second string
		want          bool
	}{
		{sqlite3.SQLITE_SELECT, "", "", true},
		{sqlite3.SQLITE_READ, "t", "a", true},
		{sqlite3.SQLITE_RECURSIVE, "", "", true},
		{sqlite3.SQLITE_FUNCTION, "", "count", true},
		{sqlite3.SQLITE_FUNCTION, "", "LOAD_extension", false},
		{sqlite3.SQLITE_PRAGMA, "table_info", "t", true},
		{sqlite3.SQLITE_PRAGMA, "Table_Info", "t", true},
		{sqlite3.SQLITE_PRAGMA, "user_version", "", true},
		{sqlite3.SQLITE_PRAGMA, "user_version", "7", false},
		{sqlite3.SQLITE_PRAGMA, "journal_mode", "delete", false},
		{sqlite3.SQLITE_PRAGMA, "query_only", "", false},
		{sqlite3.SQLITE_PRAGMA, "wal_checkpoint", "", false},
		{sqlite3.SQLITE_INSERT, "t", "", false},
		{sqlite3.SQLITE_ATTACH, "e.db", "", false},
		{sqlite3.SQLITE_TRANSACTION, "BEGIN", "", false},
		{sqlite3.SQLITE_CREATE_TEMP_TABLE, "n", "", false},
		{sqlite3.SQLITE_ANALYZE, "", "", false},
		{99999, "", "", false},
	} {
		require.Equal(t, tc.want, allowed(tc.action, tc.first, tc.second), "%+v", tc)
	}
}

func TestTheAuthorizerIsAsked(t *testing.T) {
	t.Parallel()
	c, err := Open(testDatabase(t), false)
	require.NoError(t, err)
	defer c.Close()
	for _, statement := range []string{"ATTACH 'e.db' AS e", "BEGIN", "PRAGMA query_only", "SELECT load_extension('x')", "DELETE FROM t", "EXPLAIN DELETE FROM t"} {
		_, err := c.Query(t.Context(), statement)
		var problem *Error
		require.ErrorAs(t, err, &problem, statement)
		require.True(t, problem.Refused(), "%s: %v", statement, err)
		require.Contains(t, problem.Message, "not authorized", statement)
	}
}

func TestValues(t *testing.T) {
	t.Parallel()
	c, err := Open(testDatabase(t), true)
	require.NoError(t, err)
	defer c.Close()
	rows, err := c.Query(t.Context(), "SELECT a, d FROM t")
	require.NoError(t, err)
	defer rows.Close()
	require.Equal(t, []string{"a", "d"}, rows.Columns())
	var got [][2]Value
	for {
		ok, err := rows.Next()
		require.NoError(t, err)
		if !ok {
			break
		}
		got = append(got, [2]Value{rows.Value(0, 100), rows.Value(1, 4)})
	}
	require.Len(t, got, 3)
	require.Equal(t, Value{Type: Int, Int: 1}, got[0][0])
	require.Equal(t, Value{Type: Text, Text: "2024", Bytes: 10}, got[0][1], "the text of a date column, cut")
	require.Equal(t, Value{Type: Float, Float: 2.5}, got[1][0])
	require.Equal(t, Value{}, got[1][1])
	require.Equal(t, 2, got[2][1].Bytes)
	require.Equal(t, Blob, got[2][1].Type)
}

func TestErrorsHaveAPlace(t *testing.T) {
	t.Parallel()
	c, err := Open(testDatabase(t), false)
	require.NoError(t, err)
	defer c.Close()
	_, err = c.Query(t.Context(), "SELECT nope FROM t")
	var problem *Error
	require.ErrorAs(t, err, &problem)
	require.Equal(t, 7, problem.Offset)
	require.Equal(t, Generic, problem.Primary())
	for statement, want := range map[string]error{
		"SELECT 1; SELECT 2": ErrSeveral, "SELECT 1; x": ErrSeveral, "": ErrNone, " /* */ ; -- x": ErrNone,
	} {
		_, err := c.Query(t.Context(), statement)
		require.ErrorIs(t, err, want, statement)
	}
	_, err = c.Query(t.Context(), "SELECT 1\x00")
	require.ErrorContains(t, err, "NUL")
}

func TestInterruption(t *testing.T) {
	t.Parallel()
	c, err := Open(testDatabase(t), false)
	require.NoError(t, err)
	defer c.Close()
	const endless = "SELECT 1 UNION ALL SELECT count(*) FROM (WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT x FROM c)"
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		rows, err := c.Query(ctx, endless)
		require.NoError(t, err)
		ok, err := rows.Next()
		require.NoError(t, err)
		require.True(t, ok)
		_, err = rows.Next()
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NoError(t, rows.Close())
		require.NoError(t, rows.Close())
		cancel()

		rows, err = c.Query(t.Context(), "SELECT 1")
		require.NoError(t, err, "the connection works on")
		ok, err = rows.Next()
		require.True(t, ok)
		require.NoError(t, err)
		require.NoError(t, rows.Close())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	rows, err := c.Query(ctx, "SELECT 1")
	if err == nil {
		_, err = rows.Next()
		require.NoError(t, rows.Close())
	}
	require.ErrorIs(t, err, context.Canceled)
}

func TestOpening(t *testing.T) {
	t.Parallel()
	path := testDatabase(t)
	dir := filepath.Dir(path)
	_, err := Open(filepath.Join(dir, "none.db"), false)
	var problem *Error
	require.ErrorAs(t, err, &problem)
	require.Equal(t, CantOpen, problem.Primary())
	require.NoFileExists(t, filepath.Join(dir, "none.db"))

	link := filepath.Join(dir, "link.db")
	require.NoError(t, os.Symlink(path, link))
	_, err = Open(link, false)
	require.Error(t, err, "a link is not followed")

	c, err := Open(path, false)
	require.NoError(t, err)
	require.NoError(t, c.Close())
	require.NoError(t, c.Close())
	_, err = c.Query(t.Context(), "SELECT 1")
	require.ErrorContains(t, err, "closed")
}
