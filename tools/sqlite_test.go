package tools

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// shopDatabase is a small database with one table of 200 rows, and one of everything else.
func shopDatabase(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	makeDatabase(t, filepath.Join(dir, "shop.db"),
		"CREATE TABLE t(a INTEGER, x INTEGER)",
		"WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c LIMIT 200) INSERT INTO t SELECT x, x FROM c",
		`CREATE TABLE orders(id INTEGER PRIMARY KEY, status TEXT NOT NULL DEFAULT 'new', total REAL, created DATETIME,
			customer_id INTEGER REFERENCES customers(id), data BLOB)`,
		"CREATE TABLE customers(id INTEGER PRIMARY KEY, name TEXT)",
		"CREATE INDEX orders_by_customer ON orders(customer_id, status)",
		"INSERT INTO customers VALUES(1,'Ada'),(2,'Bob')",
		"INSERT INTO orders VALUES(9007199254740993,'paid',12.5,'2024-01-02T03:04:05Z',1,x'00ff'),(2,'new',3,'2024-01-02 03:04:05',NULL,NULL)",
		"CREATE VIEW paid AS SELECT id, total FROM orders WHERE status = 'paid'",
	)
	return dir
}

func query(sql string) map[string]any { return map[string]any{"db_path": "shop.db", "query": sql} }

func TestStatementsThatWriteAreRefused(t *testing.T) {
	t.Parallel()
	dir := shopDatabase(t)
	r := builtins(t, dir)
	before := tree(t, dir)
	cwd, err := os.Getwd()
	require.NoError(t, err)
	beforeCwd := tree(t, cwd)
	for _, statement := range []string{
		"WITH x AS (SELECT 1) DELETE FROM t RETURNING a",
		"VACUUM INTO 'c.db'",
		"ATTACH 'e.db' AS e; CREATE TABLE e.x(a)",
		"ATTACH 'e.db' AS e",
		"/**/ VACUUM INTO 'c.db'",
		"VACUUM",
		"SELECT 1; DELETE FROM t",
		"SELECT 1; SELECT 2",
		"SELECT 1;; garbage",
		"PRAGMA journal_mode=DELETE",
		"PRAGMA journal_mode(wal)",
		"PRAGMA query_only=0",
		"PRAGMA writable_schema=1",
		"PRAGMA user_version=7",
		"PRAGMA wal_checkpoint",
		"PRAGMA optimize",
		"PRAGMA temp_store_directory='.'",
		"SELECT * FROM pragma_wal_checkpoint",
		"SELECT * FROM pragma_journal_mode('delete')",
		"SELECT load_extension('x')",
		"SELECT fts3_tokenizer('simple', x'00')",
		"DELETE FROM t", "UPDATE t SET a = 1", "INSERT INTO t VALUES(1, 2)", "REPLACE INTO t VALUES(1, 2)",
		"INSERT INTO t VALUES(1, 2) RETURNING a",
		"CREATE TABLE n(a)", "CREATE TEMP TABLE n(a)", "CREATE TEMP VIEW v AS SELECT 1", "CREATE INDEX i ON t(a)", "CREATE VIRTUAL TABLE f USING fts5(a)",
		"CREATE TRIGGER tr AFTER INSERT ON t BEGIN DELETE FROM t; END",
		"DROP TABLE t", "ALTER TABLE t RENAME TO u", "REINDEX", "ANALYZE",
		"BEGIN", "BEGIN IMMEDIATE", "COMMIT", "ROLLBACK", "SAVEPOINT s", "DETACH main",
		"EXPLAIN DELETE FROM t",
		"SELECT 1 \x00; DELETE FROM t",
		"", "-- nothing", " ; ",
	} {
		_, err := call(t, r, "query_sqlite", query(statement))
		var problem *Error
		require.ErrorAs(t, err, &problem, statement)
		require.Contains(t, []Kind{KindDenied, KindInvalidArguments, KindFailed}, problem.Kind, statement)
		require.NotEmpty(t, problem.Fix+problem.Message)
	}
	requireSameTree(t, before, dir, "a statement")
	requireSameTree(t, beforeCwd, cwd, "a statement")
}

func TestStatementsThatReadWork(t *testing.T) {
	t.Parallel()
	dir := shopDatabase(t)
	r := builtins(t, dir)
	for statement, want := range map[string]string{
		"WITH x AS (SELECT 1 AS n) SELECT n FROM x":                      "1 row\nn: 1",
		"-- first\n/* second */ SELECT count(*) AS n FROM t ; -- last\n": "1 row\nn: 200",
		";SELECT 5 AS n;;":                                    "1 row\nn: 5",
		"SELECT 'delete; drop' AS n":                          "1 row\nn: delete; drop",
		"VALUES (1, NULL), (2, '')":                           "2 rows\ncolumn1 | column2\n1 | NULL\n2 | ''",
		"SELECT id, created FROM orders ORDER BY id":          "2 rows\nid | created\n2 | 2024-01-02 03:04:05\n9007199254740993 | 2024-01-02T03:04:05Z",
		"SELECT total FROM orders ORDER BY id":                "2 rows\ntotal\n3.0\n12.5",
		"SELECT -9223372036854775808 AS low":                  "1 row\nlow: -9223372036854775808",
		"SELECT 'a|b' AS a, 'c\nd' AS b":                      "1 row\na: a\\|b\nb: c\\nd",
		"SELECT 'x' || char(27) || '[2J' AS esc":              "1 row\nesc: x␛[2J",
		"SELECT cast(x'ff41' AS TEXT) AS bad":                 `1 row` + "\n" + `bad: \xFFA`,
		"SELECT * FROM paid":                                  "1 row\nid: 9007199254740993\ntotal: 12.5",
		"SELECT a FROM t WHERE a > 1000":                      "0 rows (columns: a)",
		"PRAGMA user_version":                                 "1 row\nuser_version: 0",
		"SELECT name FROM pragma_table_info('customers')":     "2 rows\nname\nid\nname",
		"SELECT json_extract('{\"a\":[1,2]}', '$.a[1]') AS j": "1 row\nj: 2",
		"SELECT 1e999 AS inf":                                 "1 row\ninf: +Inf",
	} {
		require.Equal(t, want, mustCall(t, r, "query_sqlite", query(statement)).Text, statement)
	}
	sum := sha256.Sum256([]byte{0, 0xff})
	result := mustCall(t, r, "query_sqlite", query("SELECT id, data FROM orders WHERE data IS NOT NULL"))
	require.Equal(t, [][]any{{json.Number("9007199254740993"), BlobValue{2, hex.EncodeToString(sum[:])}}}, result.Data.(QueryResult).Rows)
	_, err := json.Marshal(mustCall(t, r, "query_sqlite", query("SELECT 1e999, 0.1, NULL, x'00'")).Data)
	require.NoError(t, err)
}

func TestQueryMistakesNameWhatThereIs(t *testing.T) {
	t.Parallel()
	r := builtins(t, shopDatabase(t))
	for statement, says := range map[string][]string{
		"SELECT state FROM orders":             {"no such column: state", `did you mean "status"`, "orders(id, status, total, created, customer_id, data)"},
		"SELECT o.statu FROM orders o":         {"no such column: o.statu", `did you mean "status"`},
		"SELECT * FROM order_":                 {"no such table: order_", `did you mean "orders"`, "customers(id, name)"},
		"SELEC * FROM orders":                  {`near "SELEC": syntax error`, "at `SELEC * FROM orders`", "the tables are"},
		"SELECT id FROM orders, customers":     {"ambiguous column name: id", "customers(id, name)"},
		"SELECT sum(total) FROM customers":     {"no such column: total", "total is a column of orders, paid: write orders.total, and have that table in the query", "they join by orders.customer_id = customers.id"},
		"SELECT nosuch(1)":                     {"no such function: nosuch"},
		"SELECT * FROM orders WHERE (id = 1":   {"incomplete input"},
		"SELECT count(*) FROM orders WHERE 1=": {"incomplete input"},
	} {
		problem := callError(t, r, "query_sqlite", query(statement), KindInvalidArguments)
		for _, text := range says {
			require.Contains(t, problem.Error(), text)
		}
	}
	require.ErrorContains(t, callError(t, r, "query_sqlite", query("SELECT 1; SELECT 2"), KindInvalidArguments), "more than one statement")
	require.ErrorContains(t, callError(t, r, "query_sqlite", query("DROP TABLE t"), KindDenied), "nothing was changed")
	require.ErrorContains(t, callError(t, r, "query_sqlite", map[string]any{"db_path": "shp.db", "query": "SELECT 1"}, KindNotFound), `did you mean "shop.db"`)
}

func TestRunawayQueriesStop(t *testing.T) {
	t.Parallel()
	dir := shopDatabase(t)
	r, err := NewRegistry(SQLite(SQLiteOptions{Workspace: dir, Timeout: 200 * time.Millisecond, MaxRows: 10, MaxChars: 1000})...)
	require.NoError(t, err)
	endless := "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT count(*) FROM c"
	for _, statement := range []string{
		endless,
		"SELECT * FROM t a,t b,t c,t d,t e WHERE a.x+b.x+c.x+d.x+e.x<0",
		"SELECT 1 UNION ALL SELECT * FROM (" + endless + ")", // endless after its first row
		"SELECT * FROM t a,t b,t c,t d,t e ORDER BY a.x+b.x+c.x+d.x+e.x",
		"WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT group_concat(x) FROM c",
	} {
		problem := callError(t, r, "query_sqlite", query(statement), KindTimeout)
		require.ErrorContains(t, problem, "did not finish within 200ms")
		require.Contains(t, mustCall(t, r, "query_sqlite", query("SELECT count(*) AS n FROM t")).Text, "n: 200", "the next query works")
	}

	ctx, cancel := context.WithCancel(t.Context())
	started := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		close(started)
		_, err := r.WithLimits(Limits{}).Call(ctx, "query_sqlite", json.RawMessage(`{"db_path":"shop.db","query":"`+endless+`"}`))
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
	<-started
	cancel()
	wg.Wait()
}

func TestRowAndByteCaps(t *testing.T) {
	t.Parallel()
	dir := shopDatabase(t)
	r, err := NewRegistry(SQLite(SQLiteOptions{Workspace: dir, MaxRows: 10, MaxChars: 1000})...)
	require.NoError(t, err)
	rows := mustCall(t, r, "query_sqlite", query("SELECT a FROM t"))
	data := rows.Data.(QueryResult)
	require.Len(t, data.Rows, 10)
	require.True(t, data.Truncated)
	require.Equal(t, 200, *data.TotalRows)
	require.Contains(t, rows.Text, "200 rows; the first 10")
	require.Contains(t, rows.Text, "[more rows left out")

	exact := mustCall(t, r, "query_sqlite", query("SELECT a FROM t LIMIT 10")).Data.(QueryResult)
	require.False(t, exact.Truncated)

	big := mustCall(t, r, "query_sqlite", query("SELECT hex(zeroblob(20000000)) AS h"))
	require.Less(t, len(big.Text), 2000)
	require.Contains(t, big.Text, "more bytes]")
	wide := mustCall(t, r, "query_sqlite", query("SELECT a, hex(zeroblob(400)) FROM t")).Data.(QueryResult)
	require.Len(t, wide.Rows, 2)
	require.True(t, wide.Truncated)
	han := mustCall(t, r, "query_sqlite", query("SELECT replace(hex(zeroblob(5000)),'0','汉') AS h")).Data.(QueryResult)
	require.NotContains(t, han.Rows[0][0], `\x`, "a character was cut")
	require.ErrorContains(t, callError(t, r, "query_sqlite", query("SELECT zeroblob(100000000)"), KindLimit), "larger than 64 MB")
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	dir := shopDatabase(t)
	r := builtins(t, dir)
	require.Equal(t, strings.Join([]string{
		"shop.db: 4 tables and views",
		"table customers, 2 rows: id INTEGER primary key, name TEXT (values: 'Ada', 'Bob')",
		"table orders, 2 rows: id INTEGER primary key, status TEXT (values: 'new', 'paid'), total REAL, created DATETIME, customer_id INTEGER, data BLOB",
		"view paid, 1 row: id INTEGER, total REAL",
		"table t, 200 rows: a INTEGER, x INTEGER",
		"joins: orders.customer_id = customers.id",
	}, "\n"), mustCall(t, r, "describe_sqlite_table", map[string]any{"db_path": "shop.db"}).Text)

	one := mustCall(t, r, "describe_sqlite_table", map[string]any{"db_path": "shop.db", "table_name": "ORDERS"})
	require.Contains(t, one.Text, "- status TEXT not null default 'new' (values: 'new', 'paid')")
	require.Contains(t, one.Text, "- customer_id INTEGER references customers(id)")
	require.Contains(t, one.Text, "index orders_by_customer(customer_id, status)")
	require.Contains(t, one.Text, "first 2 rows:\n2 | new | 3.0 | 2024-01-02 03:04:05 | NULL | NULL")
	problem := callError(t, r, "describe_sqlite_table", map[string]any{"db_path": "shop.db", "table_name": "order"}, KindNotFound)
	require.ErrorContains(t, problem, `did you mean "orders"? the tables are customers, orders, paid, t`)

	makeDatabase(t, filepath.Join(dir, "odd.db"), `CREATE TABLE "we""ird 'name'"("se lect" TEXT, g AS (1))`, `INSERT INTO "we""ird 'name'" VALUES('x')`,
		"CREATE VIEW broken AS SELECT * FROM gone", "CREATE VIRTUAL TABLE notes USING fts5(body)", "INSERT INTO notes VALUES('hello world')")
	odd := mustCall(t, r, "describe_sqlite_table", map[string]any{"db_path": "odd.db"}).Text
	require.Contains(t, odd, `table we"ird 'name', 1 row: se lect TEXT (values: 'x'), g`)
	require.Contains(t, odd, "view broken (rows not counted: no such table: main.gone)")
	require.Contains(t, odd, "virtual notes, 1 row: body")
	require.NotContains(t, odd, "notes_data", "shadow tables are noise")
	found := mustCall(t, r, "query_sqlite", map[string]any{"db_path": "odd.db", "query": "SELECT body FROM notes WHERE notes MATCH 'hello'"})
	require.Contains(t, found.Text, "hello world")

	writeFiles(t, dir, map[string]string{"empty.db": "", "cut.db": "SQLite format 3\x00 and then nothing"})
	require.Equal(t, "empty.db: no tables", mustCall(t, r, "describe_sqlite_table", map[string]any{"db_path": "empty.db"}).Text)
	require.ErrorContains(t, callError(t, r, "describe_sqlite_table", map[string]any{"db_path": "cut.db"}, KindFailed), "the file is damaged")
}

func TestNamesThatMeanSomethingInURIs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"a?mode=rwc.db", "b#c.db", "d%41.db", "e&immutable=1.db", "f g.db"} {
		plain := filepath.Join(dir, "plain.db")
		makeDatabase(t, plain, "CREATE TABLE here(n)")
		require.NoError(t, os.Rename(plain, filepath.Join(dir, name)))
	}
	r := builtins(t, dir)
	before := tree(t, dir)
	for name := range before {
		require.Contains(t, mustCall(t, r, "describe_sqlite_table", map[string]any{"db_path": name}).Text, "table here", name)
	}
	requireSameTree(t, before, dir, "describing")
}

// TestWALDatabases reads databases in WAL mode in every state, without making a file.
func TestWALDatabases(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "wal.db")
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	db.SetMaxOpenConns(1)
	for _, statement := range []string{"PRAGMA journal_mode=WAL", "PRAGMA wal_autocheckpoint=0", "CREATE TABLE t(a)", "INSERT INTO t VALUES(1),(2),(3)"} {
		_, err := db.ExecContext(t.Context(), statement)
		require.NoError(t, err)
	}
	count := func(where string) string {
		t.Helper()
		names := func() (out []string) {
			entries, err := os.ReadDir(where)
			require.NoError(t, err)
			for _, e := range entries {
				out = append(out, e.Name())
			}
			return out
		}
		before := names()
		text := mustCall(t, builtins(t, where), "query_sqlite", map[string]any{"db_path": "wal.db", "query": "SELECT count(*) AS n FROM t"}).Text
		require.Equal(t, before, names(), "a file was made or removed")
		return text
	}
	require.Contains(t, count(dir), "n: 3", "while another connection writes")

	left := t.TempDir() // as a crash leaves it: a log without -shm
	for _, suffix := range []string{"", "-wal"} {
		data, err := os.ReadFile(path + suffix)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(left, "wal.db"+suffix), data, 0o600))
	}
	require.Contains(t, count(left), "n: 3", "from the log of a crashed program")

	require.NoError(t, db.Close())
	require.NoFileExists(t, path+"-wal")
	require.Contains(t, count(dir), "n: 3", "after everything was closed")
	require.NoError(t, os.Chmod(dir, 0o500))
	t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
	require.Contains(t, count(dir), "n: 3", "in a folder that cannot be written")
	require.NoError(t, os.Chmod(left, 0o500))
	t.Cleanup(func() { _ = os.Chmod(left, 0o700) })
	require.Contains(t, count(left), "n: 3")
}

func TestChangesWithoutLocksAreNoticed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "wal.db")
	makeDatabase(t, path, "PRAGMA journal_mode=WAL", "CREATE TABLE t(a)")
	w := newWorkspace(filepath.Dir(path), nil)
	db, problem := w.openDatabase(t.Context(), "wal.db")
	require.Nil(t, problem)
	defer db.Close()
	require.True(t, db.immutable)
	require.False(t, db.changed())
	makeDatabase(t, path, "INSERT INTO t VALUES(1)", "CREATE TABLE u AS SELECT zeroblob(100000)")
	require.True(t, db.changed())
}

func TestDatabasesInUse(t *testing.T) {
	t.Parallel()
	dir := shopDatabase(t)
	db, err := sql.Open("sqlite", filepath.Join(dir, "shop.db"))
	require.NoError(t, err)
	defer db.Close()
	tx, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	_, err = tx.ExecContext(t.Context(), "DELETE FROM t")
	require.NoError(t, err)
	r := builtins(t, dir)
	require.Contains(t, mustCall(t, r, "query_sqlite", query("SELECT count(*) AS n FROM t")).Text, "n: 200", "uncommitted changes are not seen")
	require.NoError(t, tx.Commit())
	require.Contains(t, mustCall(t, r, "query_sqlite", query("SELECT count(*) AS n FROM t")).Text, "n: 0")
}

func TestConcurrentQueries(t *testing.T) {
	t.Parallel()
	r := builtins(t, shopDatabase(t))
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			args := fmt.Sprintf(`{"db_path":"shop.db","query":"SELECT %d + count(*) AS n FROM t"}`, i)
			result, err := r.Call(t.Context(), "query_sqlite", json.RawMessage(args))
			if err != nil || result.Text != fmt.Sprintf("1 row\nn: %d", 200+i) {
				t.Errorf("got %q, %v", result.Text, err)
			}
		})
	}
	wg.Wait()
}
