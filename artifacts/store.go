package artifacts

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/llama-agent/llama-agent/internal/sqlitedb"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

//go:embed queries.sql
var queryText string

// Names in the folder of a store.
const (
	databaseName  = "artifacts.sqlite"
	contentFolder = "content"
)

// Options configure a store. The zero value works: nothing is ever removed by itself.
type Options struct {
	// MaxBytes bounds the content of all owners together, each content counted once. When a new one does not fit, what was not
	// used for longest and is not live is removed. 0: no limit.
	MaxBytes int64
	// MaxAge is how long an artifact that is not live is kept after its last use. [Store.GC] removes older ones. 0: no limit.
	MaxAge time.Duration
	// Grace is how long after its last use an artifact is never removed, whatever Live says of it: a call that is running may
	// have a reference that is not stored yet. Default 10 min; negative: none.
	Grace time.Duration
	// Live tells what may still be referenced. By default everything is, so that no limit removes anything.
	Live Live

	Clock       func() time.Time // default [time.Now]
	BusyTimeout time.Duration    // longest wait for another process's write, default 10 s
}

// Live reports whether an artifact may be referenced by a conversation or thread that still exists. It is called without locks
// before an artifact is removed, from one goroutine at a time for each call that removes; it must not write to the store. An
// error ends the removal.
type Live func(ctx context.Context, owner, ref string) (bool, error)

func (o Options) withDefaults() Options {
	if o.Grace == 0 {
		o.Grace = 10 * time.Minute
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Live == nil {
		o.Live = func(context.Context, string, string) (bool, error) { return true, nil }
	}
	return o
}

func (o Options) validate() error {
	switch {
	case o.MaxBytes < 0:
		return fmt.Errorf("the size limit is %d bytes; it must not be negative", o.MaxBytes)
	case o.MaxAge < 0:
		return fmt.Errorf("the age limit is %v; it must not be negative", o.MaxAge)
	}
	return nil
}

// A Store keeps artifacts in a folder: artifacts.sqlite, and content/<SHA-256>.bin. It is safe for concurrent use, also by several
// processes on one machine. Folders on network drives are not supported: their locks don't work.
//
// A crash at any point loses at most what was being put. Content that was put survives a power failure.
//
// Errors of the database are [*sqlitedb.Error] and those of content files [*StorageError]; both name the file and what to do, and
// are one of the package's sentinels, such as [ErrFull].
type Store struct {
	dir   string
	db    *sqlitedb.Prepared
	files folder
	opts  Options
}

// Open opens the store in the folder dir, and creates it when it does not exist. Only the user may read what is in it.
func Open(ctx context.Context, dir string, opts Options) (*Store, error) {
	if err := opts.validate(); err != nil {
		return nil, fmt.Errorf("opening artifacts in %q: %w", dir, err)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("opening artifacts in %q: %w", dir, err)
	}
	content := filepath.Join(dir, contentFolder)
	if err := os.MkdirAll(content, 0o700); err != nil {
		return nil, &StorageError{Doing: "opening artifacts in", Path: dir, Err: err}
	}
	migrations, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		return nil, err
	}
	db, err := sqlitedb.Open(ctx, filepath.Join(dir, databaseName), sqlitedb.Options{
		BusyTimeout: opts.BusyTimeout, Migrations: migrations, VersionTable: "artifacts_version",
	})
	if err != nil {
		return nil, fmt.Errorf("opening artifacts: %w", err)
	}
	prepared, err := db.Prepare(ctx, queryText, ErrClosed)
	if err != nil {
		return nil, err
	}
	return &Store{dir: dir, db: prepared, files: folder{dir: content, fs: osFiles{}}, opts: opts.withDefaults()}, nil
}

// Dir returns the absolute path of the folder.
func (s *Store) Dir() string { return s.dir }

// Close closes the store. Closing it again does nothing; every other use after it is [ErrClosed].
func (s *Store) Close() error { return s.db.Close() }

// tx runs fn with the write lock of the database held; doing says what for.
func (s *Store) tx(ctx context.Context, doing string, fn func(*txn) error) error {
	return s.db.Tx(ctx, doing, func(tx *sqlitedb.Tx) error { return fn(&txn{tx}) })
}

// read runs fn on one state of the database.
func (s *Store) read(ctx context.Context, doing string, fn func(*txn) error) error {
	return s.db.View(ctx, doing, func(tx *sqlitedb.Tx) error { return fn(&txn{tx}) })
}

// txn is a transaction with the store's queries.
type txn struct{ *sqlitedb.Tx }

// change runs a query that changes rows, and returns how many.
func (t *txn) change(ctx context.Context, query string, args ...any) (int64, error) {
	result, err := t.Do(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}
