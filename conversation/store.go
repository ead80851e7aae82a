package conversation

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/llama-agent/llama-agent/internal/sqlitedb"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

//go:embed queries.sql
var queryText string

// Options configure a store. The zero value works.
type Options struct {
	Clock func() time.Time // default [time.Now]

	// NewID returns the end of a new conversation's ID, by default 4 random hexadecimal digits. It is called from any goroutine,
	// and again while a conversation has the ID.
	NewID func() string

	BusyTimeout time.Duration // longest wait for another process's write, default 10 s

	// Synchronous is how far a change goes before its method returns. The default, [sqlitedb.Full], survives a power failure.
	Synchronous sqlitedb.Synchronous
}

func (o Options) withDefaults() Options {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.NewID == nil {
		o.NewID = randomSuffix
	}
	return o
}

// A Store keeps conversations in a SQLite file. It is safe for concurrent use, also by several processes on one machine; who
// writes waits for others that do, as long as the busy timeout. Each method is one transaction: a crash leaves all of what it did
// or nothing.
//
// Errors of the file are [*sqlitedb.Error]: they name it and what to do, and are one of the package's sentinels, such as
// [ErrCorrupt]. What can't be read is an error and never an empty result.
type Store struct {
	db   *sqlitedb.Prepared
	opts Options
}

// Open opens the file at path, and creates it when it does not exist. Only the user may read it. The folder belongs to the caller,
// who makes it with the permissions it should have. The file may hold other stores of this program too.
func Open(ctx context.Context, path string, opts Options) (*Store, error) {
	migrations, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		return nil, err
	}
	db, err := sqlitedb.Open(ctx, path, sqlitedb.Options{
		Synchronous: opts.Synchronous, BusyTimeout: opts.BusyTimeout, Migrations: migrations, VersionTable: "conversation_version",
	})
	if err != nil {
		return nil, fmt.Errorf("opening conversations: %w", err)
	}
	prepared, err := db.Prepare(ctx, queryText, ErrClosed)
	if err != nil {
		return nil, fmt.Errorf("opening conversations: %w", err)
	}
	return &Store{db: prepared, opts: opts.withDefaults()}, nil
}

// Path returns the absolute path of the file.
func (s *Store) Path() string { return s.db.Path() }

// Close closes the file. Closing it again does nothing; every other use after it is [ErrClosed].
func (s *Store) Close() error { return s.db.Close() }

// tx runs fn with the write lock held; doing says what for.
func (s *Store) tx(ctx context.Context, doing string, fn func(*txn) error) error {
	return s.located(doing, s.db.Tx(ctx, doing, func(tx *sqlitedb.Tx) error { return fn(&txn{tx}) }))
}

// read runs fn on one state of the database.
func (s *Store) read(ctx context.Context, doing string, fn func(*txn) error) error {
	return s.located(doing, s.db.View(ctx, doing, func(tx *sqlitedb.Tx) error { return fn(&txn{tx}) }))
}

// located gives the file to an error of a damaged row.
func (s *Store) located(doing string, err error) error {
	var located *sqlitedb.Error
	if !errors.Is(err, ErrCorrupt) || errors.As(err, &located) {
		return err
	}
	return &sqlitedb.Error{Path: s.db.Path(), Doing: doing, Kind: ErrCorrupt, Err: err}
}

// now returns the time in the form that the file has.
func (s *Store) now() int64 { return s.opts.Clock().UnixMicro() }

// shrink gives free pages back to the file system, and returns how many there were.
func (s *Store) shrink(ctx context.Context, t *txn) (pages int64, err error) {
	if err := t.Row(ctx, "free_pages").Scan(&pages); err != nil || pages == 0 {
		return 0, err
	}
	return pages, s.db.Vacuum(ctx, t.Tx.Tx, int(pages))
}

// mergedAtOnce is the free pages from which the log is worth merging, so that the file shrinks at once. With fewer it waits until
// the log is merged anyway.
const mergedAtOnce = 256

// merge makes the file shrink after so many pages were given back. What keeps it from that holds it up until a later merge, and
// takes nothing back of what was done.
func (s *Store) merge(ctx context.Context, pages int64) {
	if pages >= mergedAtOnce {
		_ = s.db.MergeLog(ctx)
	}
}

// txn is a transaction with the store's queries.
type txn struct{ *sqlitedb.Tx }

// do runs a query that changes something.
func (t *txn) do(ctx context.Context, query string, args ...any) error {
	_, err := t.Do(ctx, query, args...)
	return err
}

// valid makes text from outside valid UTF-8.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }
