package readdb

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// one returns the only value of a statement, or its error as text.
func one(t require.TestingT, c *Conn, statement string) string {
	rows, err := c.Query(context.Background(), statement)
	if err != nil {
		return "error: " + err.Error()
	}
	defer rows.Close()
	if _, err := rows.Next(); err != nil {
		return "error: " + err.Error()
	}
	switch v := rows.Value(0, 1000); v.Type {
	case Null:
		return "NULL"
	case Int:
		return fmt.Sprint(v.Int)
	case Text:
		return "text " + v.Text
	default:
		return fmt.Sprint("other ", v.Type, v.Bytes)
	}
}

// The functions that take the place of SQLite's own give what these give.
func TestReplacedFunctionsAgreeWithSQLite(t *testing.T) {
	t.Parallel()
	path := testDatabase(t)
	c, err := Open(path, true)
	require.NoError(t, err)
	defer c.Close()
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(path)+"?mode=ro")
	require.NoError(t, err)
	defer db.Close()
	literal := rapid.OneOf(
		rapid.SampledFrom([]string{"NULL", "12", "-3", "1.5", "x''", "x'61'", "x'6161'", "x'c3a9'", "''", "'%'", "'_'"}),
		rapid.Map(rapid.StringOfN(rapid.SampledFrom([]rune("aAbBéÉ漢%_*?[]^-!")), 0, 6, -1), func(s string) string { return "'" + s + "'" }),
	)
	form := rapid.SampledFrom([]string{
		"instr(%s, %s)", "replace(%s, %s, 'xy')", "replace(%s, %s, '')", "trim(%s, %s)", "ltrim(%s, %s)", "rtrim(%s, %s)", "%s LIKE %s", "%s NOT LIKE %s",
		"%s LIKE %s ESCAPE '!'", "%s GLOB %s", "like(%s, %s)", "glob(%s, %s)",
	})
	rapid.Check(t, func(rt *rapid.T) {
		expression := fmt.Sprintf(form.Draw(rt, "form"), literal.Draw(rt, "x"), literal.Draw(rt, "y"))
		var want any
		require.NoError(rt, db.QueryRowContext(t.Context(), "SELECT coalesce("+expression+", 'NULL') || ' ' || typeof("+expression+")").Scan(&want))
		require.Equal(rt, fmt.Sprintf("text %s", want), one(rt, c, "SELECT coalesce("+expression+", 'NULL') || ' ' || typeof("+expression+")"), expression)
	})
	require.Equal(t, "error: ESCAPE expression must be a single character", one(t, c, "SELECT 'a' LIKE 'b' ESCAPE 'cd'"))
	require.Equal(t, "error: ESCAPE must not be a wildcard", one(t, c, "SELECT 'a' LIKE 'b' ESCAPE '%'"))
	require.Equal(t, "error: string or blob too big", one(t, c, "SELECT replace(hex(zeroblob(1000000)), '0', hex(zeroblob(100)))"))
}

// A single call of a function cannot be interrupted, so none may take long, whatever its arguments are.
func TestNoFunctionTakesTheProductOfItsArguments(t *testing.T) {
	t.Parallel()
	c, err := Open(testDatabase(t), true)
	require.NoError(t, err)
	defer c.Close()
	const long, half = "replace(hex(zeroblob(4000000)),'0','a')", "replace(hex(zeroblob(2000000)),'0','a')"
	for expression, want := range map[string]string{
		"instr(" + long + ", " + half + "||'b')":                              "0",
		"length(replace(" + long + ", " + half + "||'b', ''))":                "8000000",
		"length(trim(" + long + ", " + half + "||'b'))":                       "0",
		"length(ltrim(" + long + ", replace(" + half + ",'a','b')||'a'))":     "0",
		"length(rtrim(" + long + ", replace(" + half + ",'a','b')||'a'))":     "0",
		long + " LIKE '%'||" + half + "||'b'":                                 "error: LIKE or GLOB pattern too complex for a text of this size; use instr, or a part of the text",
		long + " GLOB '*'||" + half + "||'b'":                                 "error: LIKE or GLOB pattern too complex for a text of this size; use instr, or a part of the text",
		long + " LIKE '%aaaaaaaaaaaaab'":                                      "0",
		"instr(" + strings.Replace(long, "'a'", "'é'", 1) + "||'x', 'x')":     "8000001",
		"json_patch('{}', '{}')":                                              "error: not authorized to use function: json_patch",
		"(SELECT count(*) FROM t WHERE a LIKE '%'||hex(zeroblob(1000))||'b')": "0",
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		done := make(chan string, 1)
		go func() { done <- one(t, c, "SELECT "+expression) }()
		select {
		case got := <-done:
			require.Equal(t, want, got, expression)
		case <-ctx.Done():
			t.Fatal("it does not end: " + expression)
		}
		cancel()
	}
}

// A statement without a jump is one run of steps; it stops at the next function all the same.
func TestInterruptionBetweenFunctions(t *testing.T) {
	t.Parallel()
	c, err := Open(testDatabase(t), true)
	require.NoError(t, err)
	defer c.Close()
	const slow = "replace(hex(zeroblob(30000000+a)),'0','b')||a LIKE '%bbbbbbbbbbbbbc'"
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	rows, err := c.Query(ctx, "SELECT "+strings.Repeat(slow+", ", 200)+"1 FROM t")
	if err == nil {
		_, err = rows.Next()
		require.NoError(t, rows.Close())
	}
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Equal(t, "3", one(t, c, "SELECT count(*) FROM t"), "the connection works on")
}
