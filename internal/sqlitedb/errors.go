package sqlitedb

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"time"

	"modernc.org/sqlite"
)

// Sentinels for [errors.Is].
var (
	ErrLocked      = errors.New("sqlitedb: locked")
	ErrCorrupt     = errors.New("sqlitedb: not a database, or a damaged one")
	ErrNotWritable = errors.New("sqlitedb: not writable")
	ErrFull        = errors.New("sqlitedb: disk full")
	ErrNewer       = errors.New("sqlitedb: written by a newer version")
	ErrClosed      = errors.New("sqlitedb: closed")
)

// Result codes; see https://www.sqlite.org/rescode.html.
const (
	codeError      = 1
	codeBusy       = 5
	codeLocked     = 6
	codeReadOnly   = 8
	codeIOErr      = 10
	codeCorrupt    = 11
	codeFull       = 13
	codeCantOpen   = 14
	codeConstraint = 19
	codeNotADB     = 26
)

// code returns the primary result code of err, or 0.
func code(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

// IsConstraint reports whether err says that a row broke a constraint, such as a key used twice.
func IsConstraint(err error) bool { return code(err) == codeConstraint }

// Error is a failure of a database, with the file and, where there is something to do about it, what. Kind is one of the
// package's sentinels or nil.
type Error struct {
	Path  string
	Doing string // such as "opening"
	Kind  error
	Err   error
	wait  time.Duration
}

func (e *Error) Error() string {
	s := fmt.Sprintf("%s database %q: %v", e.Doing, e.Path, e.Err)
	switch {
	case errors.Is(e.Kind, ErrLocked):
		return fmt.Sprintf("%s database %q: another process has held it locked for more than %v; wait for it or stop it, then try again", e.Doing, e.Path, e.wait)
	case errors.Is(e.Kind, ErrCorrupt):
		return s + "; restore the file from a copy, or move it away to start with an empty one"
	case errors.Is(e.Kind, ErrNotWritable):
		return s + "; make the file and its folder writable, or choose another path"
	case errors.Is(e.Kind, ErrFull):
		return s + "; free space on its disk and try again"
	case errors.Is(e.Kind, ErrNewer):
		return s + "; update this program, or choose another file"
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// Is reports whether e is of the kind target.
func (e *Error) Is(target error) bool { return e.Kind != nil && target == e.Kind }

// Err makes an [*Error] of what database/sql returned while doing something, such as "saving a checkpoint in". Errors that
// are not the database's come back as they are, and so does nil.
func (db *DB) Err(doing string, err error) error {
	if err == nil {
		return nil
	}
	if own := (*Error)(nil); errors.As(err, &own) {
		return err
	}
	kind, isDB := Kind(err)
	if !isDB {
		return err
	}
	return &Error{Path: db.path, Doing: doing, Kind: kind, Err: err, wait: db.opts.BusyTimeout}
}

// Kind tells whether err comes from a database or its file, and which of the package's sentinels it is, or nil when none.
func Kind(err error) (kind error, isDB bool) { //nolint:revive // kind is the answer, not a failure of Kind
	var own *Error
	if errors.As(err, &own) {
		return own.Kind, true
	}
	switch code(err) {
	case 0:
	case codeBusy, codeLocked:
		return ErrLocked, true
	case codeCorrupt, codeNotADB:
		return ErrCorrupt, true
	case codeReadOnly, codeCantOpen:
		return ErrNotWritable, true
	case codeFull:
		return ErrFull, true
	default:
		return nil, true
	}
	switch {
	case err.Error() == "sql: database is closed":
		return ErrClosed, true
	case errors.Is(err, ErrNewer):
		return ErrNewer, true
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return ErrNotWritable, true
	case errors.Is(err, syscall.ENOSPC):
		return ErrFull, true
	}
	var path *fs.PathError
	return nil, errors.As(err, &path)
}
