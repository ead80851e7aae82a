// Package sqlite stores checkpoints in a SQLite file.
//
// A boundary is one transaction and mostly one row. Checkpoints refer to channel values, values that grow are stored as their new
// items, and a large value is stored once a thread however often it is written, so a file grows with what changes. Every row has
// a checksum: damage is an error that names the checkpoint, never another state.
//
// Several processes may use one file on one machine at the same time. Files on network drives are not supported: their locks
// and shared memory don't work.
package sqlite

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"time"

	"github.com/llama-agent/llama-agent/graph/checkpoint"
	"github.com/llama-agent/llama-agent/internal/sqlitedb"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

//go:embed queries.sql
var queryText string

// Options configure a saver. The zero value works.
type Options struct {
	// Synchronous is how far a boundary goes before it counts as stored. The default [Full] survives a power failure;
	// [Normal] may then lose the last boundaries and effects, but is several times faster. Both survive a crash of the process.
	Synchronous Synchronous

	BusyTimeout time.Duration    // longest wait for another process's write, default 10 s
	Clock       func() time.Time // judges the expiry of leases, default [time.Now]
}

// pageSize is that of files this package creates, in bytes. Most boundaries are a few hundred bytes, of which each commit
// writes the pages whole.
const pageSize = 2048

// Synchronous is a level of durability.
type Synchronous string

// The levels of durability.
const (
	Full   Synchronous = "FULL"
	Normal Synchronous = "NORMAL"
	Off    Synchronous = "OFF"
)

// Saver is a [checkpoint.Saver] in a SQLite file. It implements all optional interfaces of package checkpoint and is safe for
// concurrent use.
//
// Errors of the file are [*sqlitedb.Error]: they name it and what to do, and are one of the package's sentinels, such as
// [ErrLocked].
type Saver struct {
	db    *sqlitedb.Prepared
	clock func() time.Time

	mu     sync.Mutex
	shapes map[string]string // texts that are known to be stored, by ID
}

// Sentinels for [errors.Is] that tell failures of the file apart.
var (
	ErrLocked      = sqlitedb.ErrLocked      // another process held it locked for longer than the busy timeout
	ErrCorrupt     = sqlitedb.ErrCorrupt     // not a database, or a damaged one
	ErrNotWritable = sqlitedb.ErrNotWritable // the file or its folder
	ErrFull        = sqlitedb.ErrFull        // the disk
	ErrNewer       = sqlitedb.ErrNewer       // written by a newer version of this package
)

var (
	_ checkpoint.Saver        = (*Saver)(nil)
	_ checkpoint.ThreadLister = (*Saver)(nil)
	_ checkpoint.Pruner       = (*Saver)(nil)
	_ checkpoint.Copier       = (*Saver)(nil)
	_ checkpoint.Historian    = (*Saver)(nil)
	_ checkpoint.EffectLog    = (*Saver)(nil)
	_ checkpoint.Leaser       = (*Saver)(nil)
)

// Open opens the file at path, and creates it and its folder when they don't exist.
func Open(ctx context.Context, path string, opts Options) (*Saver, error) {
	if opts.Clock == nil {
		opts.Clock = time.Now
	}
	migrations, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		return nil, err
	}
	db, err := sqlitedb.Open(ctx, path, sqlitedb.Options{
		Synchronous: sqlitedb.Synchronous(opts.Synchronous), BusyTimeout: opts.BusyTimeout, Migrations: migrations, PageSize: pageSize,
	})
	if err != nil {
		return nil, fmt.Errorf("opening checkpoints: %w", err)
	}
	prepared, err := db.Prepare(ctx, queryText, checkpoint.ErrClosed)
	if err != nil {
		if strings.Contains(err.Error(), "no such table") {
			err = fmt.Errorf("it holds something else, or checkpoints of a version that this one can't read; choose another path, or move it away: %w", err)
		}
		return nil, err
	}
	return &Saver{db: prepared, clock: opts.Clock, shapes: map[string]string{}}, nil
}

// Path returns the absolute path of the file.
func (s *Saver) Path() string { return s.db.Path() }

// Close closes the file. Closing it again does nothing; every other use after it is [checkpoint.ErrClosed].
func (s *Saver) Close() error { return s.db.Close() }

func (s *Saver) shape(id string) (text string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, ok = s.shapes[id]
	return text, ok
}

// addShape remembers a stored shape. A program has few graphs; a file that was used by many versions of it may have more.
func (s *Saver) addShape(id, text string) {
	const most = 100
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.shapes) >= most {
		clear(s.shapes)
	}
	s.shapes[id] = text
}

// tx runs fn with the write lock held; doing says what for.
func (s *Saver) tx(ctx context.Context, doing string, fn func(*txn) error) error {
	return s.db.Tx(ctx, doing, func(tx *sqlitedb.Tx) error { return fn(&txn{tx, s}) })
}

// read runs fn on one state of the database.
func (s *Saver) read(ctx context.Context, doing string, fn func(*txn) error) error {
	return s.db.View(ctx, doing, func(tx *sqlitedb.Tx) error { return fn(&txn{tx, s}) })
}

// txn is a transaction with the saver's queries.
type txn struct {
	*sqlitedb.Tx
	s *Saver
}

func fromMicros(n int64) time.Time { return time.UnixMicro(n).UTC() }
