package lifecycle

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"time"

	"github.com/llama-agent/llama-agent/internal/sqlitedb"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

//go:embed queries.sql
var queryText string

// Options configure a store. The zero value works.
type Options struct {
	Clock       func() time.Time     // default [time.Now]
	BusyTimeout time.Duration        // longest wait for another process's write, default 10 s
	Synchronous sqlitedb.Synchronous // default [sqlitedb.Full]
}

// A Store keeps records and memories in a SQLite file. It is safe for concurrent use, also by several processes on one machine.
//
// Every change is one transaction: after an error, or the end of the process at any point, it is done or not. Errors of the database
// are [*sqlitedb.Error], which name the file and what to do.
type Store struct {
	db    *sqlitedb.Prepared
	clock func() time.Time
}

// Open opens the store in the file at path, and creates it and its folder when they do not exist. Only the user may read it.
func Open(ctx context.Context, path string, opts Options) (*Store, error) {
	migrations, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		return nil, err
	}
	db, err := sqlitedb.Open(ctx, path, sqlitedb.Options{
		BusyTimeout: opts.BusyTimeout, Synchronous: opts.Synchronous, Migrations: migrations, VersionTable: "memory_version",
	})
	if err != nil {
		return nil, fmt.Errorf("opening the context memory: %w", err)
	}
	prepared, err := db.Prepare(ctx, queryText, ErrClosed)
	if err != nil {
		return nil, fmt.Errorf("opening the context memory: %w", err)
	}
	clock := opts.Clock
	if clock == nil {
		clock = time.Now
	}
	return &Store{db: prepared, clock: clock}, nil
}

// Path returns the absolute path of the file.
func (s *Store) Path() string { return s.db.Path() }

// Close closes the store. Closing it again does nothing; every other use after it is [ErrClosed].
func (s *Store) Close() error { return s.db.Close() }

// tx runs fn with the write lock of the database held; doing says what for.
func (s *Store) tx(ctx context.Context, doing string, fn func(*txn) error) error {
	return s.db.Tx(ctx, doing, func(tx *sqlitedb.Tx) error { return fn(&txn{Tx: tx, path: s.db.Path()}) })
}

// view runs fn on one state of the database.
func (s *Store) view(ctx context.Context, doing string, fn func(*txn) error) error {
	return s.db.View(ctx, doing, func(tx *sqlitedb.Tx) error { return fn(&txn{Tx: tx, path: s.db.Path()}) })
}

// txn is a transaction with the store's queries.
type txn struct {
	*sqlitedb.Tx
	path string // of the database
}

// change runs a query that changes rows, and returns how many.
func (t *txn) change(ctx context.Context, query string, args ...any) (int, error) {
	result, err := t.Do(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	n, err := result.RowsAffected()
	return int(n), err
}

// jsonList encodes a list for a query.
func jsonList[T any](list []T) (string, error) {
	if list == nil {
		list = []T{}
	}
	text, err := json.Marshal(list)
	return string(text), err
}
