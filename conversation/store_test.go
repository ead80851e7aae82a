package conversation

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/internal/sqlitedb"
	"github.com/llama-agent/llama-agent/internal/sqlitedb/sqlitedbtest"
)

func TestMain(m *testing.M) { sqlitedbtest.Main(m, child) }

var clockStart = time.Date(2024, 5, 1, 8, 0, 0, 0, time.UTC)

func newClock() *sqlitedbtest.Clock { return sqlitedbtest.NewClock(clockStart, time.Second) }

func openAt(t testing.TB, path string, opts Options) *Store {
	t.Helper()
	return sqlitedbtest.Open(t, Open, path, opts)
}

// open opens a new store, which need not survive a power failure.
func open(t testing.TB) *Store {
	t.Helper()
	return openAt(t, filepath.Join(t.TempDir(), "conversations.sqlite"), Options{Clock: newClock().Time, Synchronous: sqlitedb.Off})
}

func create(t testing.TB, s *Store, id string) Conversation {
	t.Helper()
	c, err := s.Create(t.Context(), id)
	require.NoError(t, err)
	return c
}

func begin(t testing.TB, s *Store, conversation, thread, goal string) Turn {
	t.Helper()
	turn, err := s.Begin(t.Context(), conversation, thread, goal, "process of "+thread)
	require.NoError(t, err)
	return turn
}

func finish(t testing.TB, s *Store, thread string, o Outcome) {
	t.Helper()
	require.NoError(t, s.Finish(t.Context(), thread, o))
}

// done appends a finished turn.
func done(t testing.TB, s *Store, conversation, thread, goal string) {
	t.Helper()
	begin(t, s, conversation, thread, goal)
	finish(t, s, thread, Outcome{Status: Done, Answer: "answer of " + thread})
}

func byThread(t testing.TB, s *Store, thread string) Turn {
	t.Helper()
	turn, err := s.ByThread(t.Context(), thread)
	require.NoError(t, err)
	return turn
}

func get(t testing.TB, s *Store, id string) Conversation {
	t.Helper()
	c, err := s.Get(t.Context(), id)
	require.NoError(t, err)
	return c
}

// everyCall calls each method with a conversation c1 and its threads t1, which is done, and t2, which is interrupted.
func everyCall(ctx context.Context, s *Store) (reads, writes map[string]error) {
	reads, writes = map[string]error{}, map[string]error{}
	_, reads["Get"] = s.Get(ctx, "c1")
	_, reads["List"] = s.List(ctx, 0)
	_, reads["Last"] = s.Last(ctx)
	_, reads["Turns"] = s.Turns(ctx, "c1", TurnQuery{})
	_, reads["Count"] = s.Count(ctx, "c1")
	_, reads["ByThread"] = s.ByThread(ctx, "t1")
	_, writes["Create"] = s.Create(ctx, "")
	_, writes["Begin"] = s.Begin(ctx, "c1", "t3", "goal", "p")
	_, writes["Reopen"] = s.Reopen(ctx, "t2", "p")
	writes["Finish"] = s.Finish(ctx, "t2", Outcome{Status: Failed})
	writes["Interrupt"] = s.Interrupt(ctx, "t2", "process of t2")
	writes["Drop"] = s.Drop(ctx, "t2")
	writes["Select"] = s.Select(ctx, "c1")
	writes["Delete"] = s.Delete(ctx, "c1")
	return reads, writes
}

func fill(t testing.TB, s *Store) {
	t.Helper()
	create(t, s, "c1")
	done(t, s, "c1", "t1", "first goal")
	begin(t, s, "c1", "t2", "second goal")
	require.NoError(t, s.Interrupt(t.Context(), "t2", "process of t2"))
}

func TestClose(t *testing.T) {
	t.Parallel()
	s := open(t)
	fill(t, s)
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	reads, writes := everyCall(t.Context(), s)
	for _, errs := range []map[string]error{reads, writes} {
		for name, err := range errs {
			require.ErrorIs(t, err, ErrClosed, name)
			require.ErrorContains(t, err, "conversations.sqlite", name)
		}
	}
}

func TestConversationsOutliveTheHandle(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a % ? # name.sqlite")
	s := openAt(t, path, Options{})
	require.Equal(t, path, s.Path())
	fill(t, s)
	list, err := s.List(t.Context(), 0)
	require.NoError(t, err)
	turns, err := s.Turns(t.Context(), "c1", TurnQuery{})
	require.NoError(t, err)
	require.NoError(t, s.Close())

	s = openAt(t, path, Options{})
	again, err := s.List(t.Context(), 0)
	require.NoError(t, err)
	require.Equal(t, list, again)
	require.Len(t, again, 1)
	turnsAgain, err := s.Turns(t.Context(), "c1", TurnQuery{})
	require.NoError(t, err)
	require.Equal(t, turns, turnsAgain)
	last, err := s.Last(t.Context())
	require.NoError(t, err)
	require.Equal(t, "c1", last.ID)

	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), "conversations are private")
}

func TestOpenErrors(t *testing.T) {
	t.Parallel()
	sqlitedbtest.RefusesFiles(t, Open, Options{}, "conversation_version")

	_, err := Open(t.Context(), filepath.Join(t.TempDir(), "odd.sqlite"), Options{Synchronous: "SOMETIMES"})
	require.ErrorContains(t, err, "SOMETIMES")
	require.ErrorContains(t, err, "odd.sqlite")
}

func TestFolderThatIsReadOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "conversations.sqlite")
	s := openAt(t, path, Options{})
	fill(t, s)
	require.NoError(t, s.Close())
	if !sqlitedbtest.Lock(t, dir) {
		t.Skip("permissions don't bind this user")
	}
	_, err := Open(t.Context(), path, Options{})
	require.ErrorIs(t, err, ErrNotWritable)
	require.ErrorContains(t, err, path)
}

// A file that can't be written any more still gives out what it has, and says so otherwise.
func TestReadingWithoutWriting(t *testing.T) {
	t.Parallel()
	s := open(t)
	fill(t, s)
	sqlitedbtest.Execute(t, s.db, sqlitedbtest.ReadOnly)
	reads, writes := everyCall(t.Context(), s)
	for name, err := range reads {
		require.NoError(t, err, name)
	}
	for name, err := range writes {
		require.ErrorIs(t, err, ErrNotWritable, name)
		require.ErrorContains(t, err, "conversations.sqlite", name)
	}
}

// A disk that is full refuses a turn and leaves everything as it was.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	s := open(t)
	fill(t, s)
	before := get(t, s, "c1")
	sqlitedbtest.Execute(t, s.db, sqlitedbtest.DiskFull)
	_, err := s.Begin(t.Context(), "c1", "t3", strings.Repeat("long ", 1<<16), "p")
	require.ErrorIs(t, err, ErrFull)
	require.ErrorContains(t, err, "conversations.sqlite")
	require.Equal(t, before, get(t, s, "c1"))
	_, err = s.ByThread(t.Context(), "t3")
	require.ErrorIs(t, err, ErrUnknown)
	sqlitedbtest.Execute(t, s.db, sqlitedbtest.DiskFree)
	require.Equal(t, 3, begin(t, s, "c1", "t3", "goal").Number)
}

// Rows that somebody changed are errors that name the file, not other conversations or none.
func TestDamagedRows(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		query string
		turn  bool // the damage is in a turn and List does not see it
	}{
		"a status":         {"UPDATE turns SET status = 'odd'", false},
		"an ID":            {"UPDATE conversations SET id = '../c1' WHERE id = 'c0'; UPDATE conversations SET id = '' WHERE id = 'c1'", false},
		"a number":         {"UPDATE turns SET number = -number", true},
		"a thread":         {"UPDATE turns SET thread = '/' || thread WHERE thread = 't2'; UPDATE turns SET thread = '' WHERE thread = 't1'", true},
		"a transcript":     {"UPDATE turns SET transcript = x'7b'", true},
		"an answer":        {"UPDATE turns SET answer = CAST(x'ff' AS TEXT)", true},
		"a text's type":    {"UPDATE turns SET goal = x'00'", true},
		"a time's type":    {"UPDATE turns SET started = 'now'", true},
		"a title's type":   {"UPDATE conversations SET title = x'01'", false},
		"data's type":      {"UPDATE turns SET transcript = 7", true},
		"an update's time": {"UPDATE conversations SET updated = 'x'", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "conversations.sqlite")
			s := openAt(t, path, Options{})
			fill(t, s)
			// As a damaged file may be: without the checks of the tables.
			sqlitedbtest.Execute(t, s.db, "PRAGMA ignore_check_constraints = on; PRAGMA writable_schema = on; "+
				"UPDATE sqlite_schema SET sql = replace(sql, ') STRICT', ')'); PRAGMA writable_schema = reset")
			require.NoError(t, s.Close())
			s = openAt(t, path, Options{})
			sqlitedbtest.Execute(t, s.db, "PRAGMA ignore_check_constraints = on; "+tc.query)
			var errs []error
			if tc.turn {
				turns, err := s.Turns(t.Context(), "c1", TurnQuery{})
				require.Empty(t, turns)
				errs = append(errs, err)
			} else {
				list, err := s.List(t.Context(), 0)
				require.Empty(t, list)
				errs = append(errs, err)
			}
			if tc.turn && name != "a thread" {
				_, err := s.ByThread(t.Context(), "t1")
				errs = append(errs, err)
			}
			for _, err := range errs {
				require.ErrorIs(t, err, ErrCorrupt)
				var located *sqlitedb.Error
				require.ErrorAs(t, err, &located)
				require.Equal(t, path, located.Path)
				require.ErrorContains(t, err, path)
			}
		})
	}
}

// A file with overwritten pages is an error that names it.
func TestDamagedPages(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "conversations.sqlite")
	s := openAt(t, path, Options{})
	for i := range 50 {
		id := fmt.Sprintf("c%d", i)
		create(t, s, id)
		done(t, s, id, fmt.Sprintf("t%d", i), strings.Repeat("goal ", 500))
	}
	pageSize := sqlitedbtest.Value[int](t, s.db, "PRAGMA page_size")
	pages := map[string]int{}
	for _, table := range []string{"conversations", "turns", "turns_by_number", "conversations_by_change"} {
		pages[table] = sqlitedbtest.Value[int](t, s.db, "SELECT rootpage FROM sqlite_schema WHERE name = ?1", table)
	}
	require.NoError(t, s.Close())
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	damaged := func(name string, from, to int) string {
		path := filepath.Join(filepath.Dir(path), "damaged-"+name+".sqlite")
		require.NoError(t, os.WriteFile(path, whole, 0o600))
		sqlitedbtest.Overwrite(t, path, from, to, 0xa5)
		return path
	}
	for table, page := range pages {
		path := damaged(table, (page-1)*pageSize, page*pageSize)
		s := openAt(t, path, Options{})
		list, err := s.List(t.Context(), 0)
		require.ErrorIs(t, err, ErrCorrupt, table)
		require.ErrorContains(t, err, path)
		require.Nil(t, list)
		_, err = s.Begin(t.Context(), "c7", "new", "goal", "p")
		require.ErrorIs(t, err, ErrCorrupt, table)
		require.ErrorContains(t, err, path)
	}
	for name, from := range map[string]int{"all": 0, "all but the first": pageSize} {
		path := damaged(name, from, len(whole))
		_, err := Open(t.Context(), path, Options{BusyTimeout: time.Millisecond})
		require.ErrorContains(t, err, path, name)
	}
	require.NoError(t, os.WriteFile(path, whole[:len(whole)/2], 0o600))
	s, err = Open(t.Context(), path, Options{})
	if err == nil {
		defer s.Close()
		_, err = s.List(t.Context(), 0)
	}
	require.ErrorIs(t, err, ErrCorrupt, "cut")
	require.ErrorContains(t, err, path)
}

// The file may be that of another store.
func TestSharedFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "all.sqlite")
	db, err := sqlitedb.Open(t.Context(), path, sqlitedb.Options{Migrations: fstest.MapFS{
		"00001_x.sql": {Data: []byte("-- +goose Up\nCREATE TABLE x (id INTEGER);\n")}}})
	require.NoError(t, err)
	defer db.Close()
	s := openAt(t, path, Options{})
	fill(t, s)
	require.Equal(t, 2, get(t, s, "c1").Turns)
}
