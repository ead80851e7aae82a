// Package sqlitedb opens the SQLite files of this program in one way: write-ahead log, a wait for locks on every connection,
// foreign keys, one writer and several readers, numbered migrations, and errors that name the file.
//
// It knows nothing about what the files hold.
package sqlitedb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/pressly/goose/v3"
	"modernc.org/sqlite" // also the "sqlite" driver
)

// Synchronous says how far a commit goes before it returns; see https://www.sqlite.org/pragma.html#pragma_synchronous.
type Synchronous string

// The levels of durability in write-ahead-log mode. After the crash of a process none of them loses a commit.
const (
	Full   Synchronous = "FULL"   // a power failure loses nothing
	Normal Synchronous = "NORMAL" // a power failure may lose the last commits, never the database
	Off    Synchronous = "OFF"    // a power failure may damage the database
)

// Options configure a database. The zero value works for a database without migrations.
type Options struct {
	Synchronous Synchronous   // default [Full]
	BusyTimeout time.Duration // longest wait for another process's lock, default 10 s
	ReadOnly    bool          // open an existing file for reading; no file is created or migrated
	Readers     int           // connections for reading, default 4
	PageSize    int           // bytes, a power of two from 512 to 65536, of a file that is created; default 4096

	// Migrations holds files named NNNNN_name.sql in goose's form ("-- +goose Up", "-- +goose Down") at its root. They are
	// applied in order; a database that has more of them is refused with [ErrNewer].
	Migrations fs.FS

	// VersionTable is the table that records which migrations were applied, default goose's own. Each set of migrations that
	// shares a file with another needs one.
	VersionTable string
}

func (o Options) withDefaults() Options {
	if o.Synchronous == "" {
		o.Synchronous = Full
	}
	if o.BusyTimeout == 0 {
		o.BusyTimeout = 10 * time.Second
	}
	if o.Readers == 0 {
		o.Readers = 4
	}
	if o.VersionTable == "" {
		o.VersionTable = goose.DefaultTablename
	}
	if o.PageSize == 0 {
		o.PageSize = 4096
	}
	return o
}

func (o Options) validate() error {
	switch {
	case o.Synchronous != Full && o.Synchronous != Normal && o.Synchronous != Off:
		return fmt.Errorf("synchronous is %q; it must be FULL, NORMAL or OFF", o.Synchronous)
	case o.BusyTimeout < 0:
		return fmt.Errorf("the busy timeout is %v; it must not be negative", o.BusyTimeout)
	case o.PageSize < 512 || o.PageSize > 65536 || o.PageSize&(o.PageSize-1) != 0:
		return fmt.Errorf("the page size is %d; it must be a power of two from 512 to 65536", o.PageSize)
	case o.Readers < 0:
		return fmt.Errorf("the number of readers is %d; it must not be negative", o.Readers)
	}
	return nil
}

// DB is an open database. It is safe for concurrent use.
type DB struct {
	Read  *sql.DB // pool of connections that refuse to write
	Write *sql.DB // one connection; its transactions take the write lock when they begin. Read when opened for reading

	path string
	opts Options
}

// Open opens the database file at path, creating it and its folder when they don't exist. Any character may be part of path.
// Errors are those of [DB.Err].
func Open(ctx context.Context, path string, opts Options) (*DB, error) {
	opts = opts.withDefaults()
	if err := opts.validate(); err != nil {
		return nil, fmt.Errorf("opening database %q: %w", path, err)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("opening database %q: %w", path, err)
	}
	db := &DB{path: abs, opts: opts}
	if opts.ReadOnly {
		err = db.openReadOnly(ctx)
	} else {
		err = db.openReadWrite(ctx)
	}
	if err != nil {
		_ = db.Close()
		return nil, db.Err("opening", err)
	}
	return db, nil
}

// Path returns the absolute path of the file.
func (db *DB) Path() string { return db.path }

func (db *DB) openReadWrite(ctx context.Context) (err error) {
	if err := os.MkdirAll(filepath.Dir(db.path), 0o755); err != nil {
		return err
	}
	// The file may hold prompts and results: only its owner may read it.
	f, err := os.OpenFile(db.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	// Syncing without the file's times is enough, as in every other build of SQLite for Linux. Where it isn't available nothing
	// changes.
	_, _ = sqlite.Fdatasync(true)
	if db.Write, err = sql.Open("sqlite", db.dsn(db.writeParams())); err != nil {
		return err
	}
	db.Write.SetMaxOpenConns(1)
	if err := db.prepare(ctx); err != nil {
		return err
	}
	if db.Read, err = sql.Open("sqlite", db.dsn(db.readParams())); err != nil {
		return err
	}
	db.Read.SetMaxOpenConns(db.opts.Readers)
	db.Read.SetMaxIdleConns(db.opts.Readers)
	return nil
}

// prepare brings a new file into write-ahead-log mode and applies migrations. Processes that open the same new file at once
// step on each other's toes in both: SQLite doesn't wait for locks when it changes the mode, and migrations find tables that
// weren't there a moment ago. The loser tries again and finds the work done.
func (db *DB) prepare(ctx context.Context) error {
	deadline := time.Now().Add(db.opts.BusyTimeout)
	for pause := time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		err := db.create(ctx)
		if err == nil {
			err = db.Write.PingContext(ctx)
		}
		if err == nil {
			err = db.migrate(ctx)
		}
		if err == nil || permanent(err) || time.Now().After(deadline) {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// create settles in an empty file what can't be changed later. It takes the write lock, which a connection that is opened later
// must not.
func (db *DB) create(ctx context.Context) error {
	if fi, err := os.Stat(db.path); err != nil || fi.Size() > 0 {
		return err
	}
	params := db.params()
	// Both count only before a first page is written, which the second does.
	params.Set("_pragma", "page_size("+strconv.Itoa(db.opts.PageSize)+"); PRAGMA auto_vacuum(INCREMENTAL)")
	first, err := sql.Open("sqlite", db.dsn(params))
	if err != nil {
		return err
	}
	return errors.Join(first.PingContext(ctx), first.Close())
}

func permanent(err error) bool {
	if errors.Is(err, ErrNewer) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	switch code(err) {
	case codeBusy, codeLocked:
		return false
	case codeError:
		return !strings.Contains(err.Error(), "already exists")
	case codeConstraint: // another process recorded the migration first
		return false
	}
	return true
}

func (db *DB) migrate(ctx context.Context) error {
	if db.opts.Migrations == nil {
		return nil
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, db.Write, db.opts.Migrations, goose.WithTableName(db.opts.VersionTable))
	if err != nil {
		return err
	}
	has, known, err := p.GetVersions(ctx)
	if err != nil {
		return err
	}
	if has > known {
		return fmt.Errorf("it has schema version %d and this program knows %d: %w", has, known, ErrNewer)
	}
	if has == known {
		return nil
	}
	_, err = p.Up(ctx)
	return err
}

func (db *DB) openReadOnly(ctx context.Context) (err error) {
	if _, err := os.Stat(db.path); err != nil {
		return err
	}
	open := func(params url.Values) error {
		if db.Read, err = sql.Open("sqlite", db.dsn(params)); err != nil {
			return err
		}
		db.Read.SetMaxOpenConns(db.opts.Readers)
		db.Write = db.Read
		var tables int
		return db.Read.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables)
	}
	params := db.readParams()
	params.Set("mode", "ro")
	params.Del("_journal_mode")
	err = open(params)
	if c := code(err); c == codeCantOpen || c == codeReadOnly {
		// Reading a write-ahead log needs a shared-memory file beside it. Where none can be made nobody can be writing
		// either, and without a log the file alone is the database.
		if _, statErr := os.Stat(db.path + "-wal"); errors.Is(statErr, fs.ErrNotExist) {
			_ = db.Read.Close()
			params.Set("immutable", "1")
			err = open(params)
		}
	}
	return err
}

// dsn names the file as a URI, in which no character of the path has a meaning. Parameters in it apply to every connection
// that the pool opens.
func (db *DB) dsn(params url.Values) string {
	path := filepath.ToSlash(db.path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // C:/dir
	}
	u := url.URL{Scheme: "file", Path: path, RawQuery: params.Encode()}
	return u.String()
}

func (db *DB) params() url.Values {
	return url.Values{
		"_busy_timeout": {strconv.FormatInt(db.opts.BusyTimeout.Milliseconds(), 10)},
		"_journal_mode": {"WAL"},
		"_foreign_keys": {"on"},
		"_synchronous":  {string(db.opts.Synchronous)},
	}
}

func (db *DB) writeParams() url.Values {
	p := db.params()
	p.Set("_txlock", "immediate")
	// Merging the log into the database costs two syncs and stalls the commit that triggers it. Every 16 MiB instead of SQLite's
	// 1,000 pages keeps it out of the slowest percent of small commits. After a large transaction the log shrinks back to that
	// size.
	const merged = 16 << 20
	p.Add("_pragma", "wal_autocheckpoint("+strconv.Itoa(merged/db.opts.PageSize)+")")
	p.Add("_pragma", "journal_size_limit("+strconv.Itoa(merged)+")")
	return p
}

func (db *DB) readParams() url.Values {
	p := db.params()
	p.Set("_query_only", "on")
	return p
}

// Tx runs fn in a transaction that holds the write lock, and commits it when fn returns nil. A panic in fn rolls back.
// Errors are those of [DB.Err]; doing says what the transaction does, as in "saving a checkpoint".
func (db *DB) Tx(ctx context.Context, doing string, fn func(*sql.Tx) error) error {
	tx, err := db.Write.BeginTx(ctx, nil)
	if err != nil {
		return db.Err(doing, err)
	}
	defer tx.Rollback() // after a commit it does nothing, and before one its cause is returned
	if err := fn(tx); err != nil {
		return db.Err(doing, err)
	}
	if err := tx.Commit(); err != nil {
		return db.Err(doing, err)
	}
	return nil
}

// Vacuum gives at most so many free pages back to the file system when tx is committed; the file shrinks when the log is merged
// into it next. A page takes about 10 µs.
func (db *DB) Vacuum(ctx context.Context, tx *sql.Tx, pages int) error {
	rows, err := tx.QueryContext(ctx, "PRAGMA incremental_vacuum("+strconv.Itoa(pages)+")")
	if err != nil {
		return db.Err("shrinking", err)
	}
	defer rows.Close() // its error is that of Err
	for rows.Next() {  // each step frees a page
	}
	return db.Err("shrinking", rows.Err())
}

// MergeLog writes the log into the file and empties it. Other connections that read at the same time can hold it up; what they
// hold is merged later.
func (db *DB) MergeLog(ctx context.Context) error {
	return db.drain(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
}

// Shrink gives all free pages back to the file system and empties the log; see [DB.MergeLog].
func (db *DB) Shrink(ctx context.Context) error {
	if err := db.drain(ctx, "PRAGMA incremental_vacuum"); err != nil {
		return err
	}
	return db.MergeLog(ctx)
}

// drain runs a statement that works while its rows are read.
func (db *DB) drain(ctx context.Context, stmt string) error {
	rows, err := db.Write.QueryContext(ctx, stmt)
	if err != nil {
		return db.Err("shrinking", err)
	}
	defer rows.Close() // its error is that of Err
	for rows.Next() {
	}
	return db.Err("shrinking", rows.Err())
}

// Close closes the database. Closing it again does nothing; every other use after it is [ErrClosed].
func (db *DB) Close() error {
	var errs []error
	if db.Read != nil {
		errs = append(errs, db.Read.Close())
	}
	if db.Write != nil && db.Write != db.Read {
		errs = append(errs, db.Write.Close())
	}
	return errors.Join(errs...)
}

// Queries splits a file of named queries: each begins with a line "-- name: x" and ends at the next. It panics when a name
// comes twice or a query has none, which is a bug of the file.
func Queries(text string) map[string]string {
	queries := map[string]string{}
	for i, part := range strings.Split("\n"+text, "\n-- name:") {
		if i == 0 {
			if strings.TrimSpace(stripComments(part)) != "" {
				panic("sqlitedb: a query has no name")
			}
			continue
		}
		name, query, _ := strings.Cut(part, "\n")
		name = strings.TrimSpace(name)
		if _, dup := queries[name]; dup || name == "" {
			panic(fmt.Sprintf("sqlitedb: query name %q is missing or used twice", name))
		}
		queries[name] = strings.TrimSpace(stripComments(query))
	}
	return queries
}

func stripComments(text string) string {
	lines := strings.Split(text, "\n")
	kept := lines[:0]
	for _, l := range lines {
		if !strings.HasPrefix(strings.TrimSpace(l), "--") {
			kept = append(kept, l)
		}
	}
	return strings.Join(kept, "\n")
}
