// Package sqlite keeps long-term items in a SQLite file, and finds them by text through its full-text index.
//
// A Write is one transaction. The file may be that of the checkpoints, of package graph/checkpoint/sqlite, or one of its own;
// several processes may use it on one machine at the same time. Files on network drives are not supported: their locks and
// shared memory don't work.
package sqlite

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
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
	db   *sqlitedb.Prepared
	opts store.Options
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
	prepared, err := db.Prepare(ctx, queryText, store.ErrClosed)
	if err != nil {
		return nil, err
	}
	return &Store{db: prepared, opts: opts.WithDefaults()}, nil
}

// Path returns the absolute path of the file.
func (s *Store) Path() string { return s.db.Path() }

// Close closes the file. Closing it again does nothing; every other use after it is [store.ErrClosed].
func (s *Store) Close() error { return s.db.Close() }

// now returns the time in the form that the file has.
func (s *Store) now() int64 { return s.opts.Clock().UnixMicro() }

// tx runs fn with the write lock held; doing says what for.
func (s *Store) tx(ctx context.Context, doing string, fn func(*txn) error) error {
	return s.db.Tx(ctx, doing, func(tx *sqlitedb.Tx) error { return fn(&txn{tx}) })
}

// read runs fn on one state of the database.
func (s *Store) read(ctx context.Context, doing string, fn func(*txn) error) error {
	return s.db.View(ctx, doing, func(tx *sqlitedb.Tx) error { return fn(&txn{tx}) })
}

// txn is a transaction with the store's queries.
type txn struct{ *sqlitedb.Tx }
