// Package sqlite keeps long-term items in a SQLite file, and finds them by text through its full-text index.
//
// A Write is one transaction. The file may be that of the checkpoints, of package graph/checkpoint/sqlite, or one of its own;
// several processes may use it on one machine at the same time. Files on network drives are not supported: their locks and
// shared memory don't work.
package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"github.com/llama-agent/llama-agent/graph/store"
	"github.com/llama-agent/llama-agent/internal/sqlitedb"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

//go:embed queries.sql
var queryText string

// Options configure a store. The zero value works.
type Options struct {
	// Options are those of every store. Another default for fields changes how items are put from then on, not those that
	// are in the file.
	store.Options

	// Synchronous is how far a Write goes before it returns. The default [Full] survives a power failure; [Normal] may then
	// lose the last writes, but is several times faster. Both survive a crash of the process.
	Synchronous Synchronous

	BusyTimeout time.Duration // longest wait for another process's write, default 10 s
}

// Synchronous is a level of durability.
type Synchronous string

// The levels of durability.
const (
	Full   Synchronous = "FULL"
	Normal Synchronous = "NORMAL"
	Off    Synchronous = "OFF"
)

// Sentinels for [errors.Is] that tell failures of the file apart.
var (
	ErrLocked      = sqlitedb.ErrLocked      // another process held it locked for longer than the busy timeout
	ErrCorrupt     = sqlitedb.ErrCorrupt     // not a database, or a damaged one
	ErrNotWritable = sqlitedb.ErrNotWritable // the file or its folder
	ErrFull        = sqlitedb.ErrFull        // the disk
	ErrNewer       = sqlitedb.ErrNewer       // written by a newer version of this package
)

// Store is a [store.Store] in a SQLite file. It is a [store.Sweeper] too, and safe for concurrent use.
//
// Errors of the file are [*sqlitedb.Error]: they name it and what to do, and are one of the package's sentinels, such as
// [ErrLocked].
type Store struct {
	db     *sqlitedb.DB
	opts   store.Options
	reads  map[string]*sql.Stmt // prepared queries by name, for db.Read
	writes map[string]*sql.Stmt // and for db.Write

	mu     sync.Mutex
	closed bool
}

var (
	_ store.Store   = (*Store)(nil)
	_ store.Sweeper = (*Store)(nil)
)

// Open opens the file at path, and creates it and its folder when they don't exist.
func Open(ctx context.Context, path string, opts Options) (*Store, error) {
	if err := opts.Validate(); err != nil {
		return nil, fmt.Errorf("opening store %q: %w", path, err)
	}
	migrations, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		return nil, err
	}
	db, err := sqlitedb.Open(ctx, path, sqlitedb.Options{
		Synchronous: sqlitedb.Synchronous(opts.Synchronous), BusyTimeout: opts.BusyTimeout,
		Migrations: migrations, VersionTable: "store_version",
	})
	if err != nil {
		return nil, fmt.Errorf("opening store: %w", err)
	}
	s := &Store{db: db, opts: opts.WithDefaults(), reads: map[string]*sql.Stmt{}, writes: map[string]*sql.Stmt{}}
	if err := s.prepare(ctx); err != nil {
		_ = s.Close()
		return nil, db.Err("opening", err)
	}
	return s, nil
}

// readQueries run on the pool of readers, the others on the writer.
var readQueries = map[string]bool{"get": true, "by_key": true, "newest": true, "by_text": true, "by_ids": true, "next_namespace": true}

func (s *Store) prepare(ctx context.Context) error {
	for name, query := range sqlitedb.Queries(queryText) {
		pool, stmts := s.db.Write, s.writes
		if readQueries[name] {
			pool, stmts = s.db.Read, s.reads
		}
		stmt, err := pool.PrepareContext(ctx, query) //nolint:sqlclosecheck // kept for all calls; Store.Close closes it
		if err != nil {
			return fmt.Errorf("preparing query %q: %w", name, err)
		}
		stmts[name] = stmt
	}
	return nil
}

// Path returns the absolute path of the file.
func (s *Store) Path() string { return s.db.Path() }

// Close closes the file. Closing it again does nothing; every other use after it is [store.ErrClosed].
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	var errs []error
	for _, stmts := range []map[string]*sql.Stmt{s.reads, s.writes} {
		for _, stmt := range stmts {
			errs = append(errs, stmt.Close())
		}
	}
	return errors.Join(append(errs, s.db.Close())...)
}

func (s *Store) open() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return fmt.Errorf("using database %q: %w", s.db.Path(), store.ErrClosed)
	}
	return nil
}

// now returns the time in the form that the file has.
func (s *Store) now() int64 { return s.opts.Clock().UnixMicro() }

// tx runs fn with the write lock held; doing says what for.
func (s *Store) tx(ctx context.Context, doing string, fn func(*txn) error) error {
	if err := s.open(); err != nil {
		return err
	}
	return s.db.Tx(ctx, doing, func(tx *sql.Tx) error { return fn(&txn{tx, s.writes}) })
}

// read runs fn on one state of the database.
func (s *Store) read(ctx context.Context, doing string, fn func(*txn) error) error {
	if err := s.open(); err != nil {
		return err
	}
	tx, err := s.db.Read.BeginTx(ctx, nil)
	if err != nil {
		return s.db.Err(doing, err)
	}
	defer tx.Rollback() // nothing was written
	return s.db.Err(doing, fn(&txn{tx, s.reads}))
}

// txn is a transaction with the store's queries.
type txn struct {
	*sql.Tx
	stmts map[string]*sql.Stmt
}

func (t *txn) exec(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return t.StmtContext(ctx, t.stmts[query]).ExecContext(ctx, args...) //nolint:sqlclosecheck // the end of the transaction closes it
}

func (t *txn) row(ctx context.Context, query string, args ...any) *sql.Row {
	return t.StmtContext(ctx, t.stmts[query]).QueryRowContext(ctx, args...) //nolint:sqlclosecheck // the end of the transaction closes it
}

// each calls fn for every row of a query, until fn returns an error.
func (t *txn) each(ctx context.Context, fn func(*sql.Rows) error, query string, args ...any) error {
	rows, err := t.StmtContext(ctx, t.stmts[query]).QueryContext(ctx, args...) //nolint:sqlclosecheck // the end of the transaction closes it
	if err != nil {
		return err
	}
	defer rows.Close() // its error is that of Err
	for rows.Next() {
		if err := fn(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
