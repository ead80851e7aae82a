package artifacts

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"syscall"
	"unicode/utf8"

	"github.com/llama-agent/llama-agent/internal/sqlitedb"
)

// Sentinels for [errors.Is]. The last five tell failures of the disk apart, whether of the database or of a content file.
var (
	ErrUnknown = errors.New("artifacts: unknown reference")         // a *[UnknownError]
	ErrDamaged = errors.New("artifacts: stored content is damaged") // a *[DamagedError]
	ErrQuota   = errors.New("artifacts: the store is full")         // a *[QuotaError]
	ErrRange   = errors.New("artifacts: no such range")             // a *[RangeError]
	ErrQuery   = errors.New("artifacts: unusable query")            // a *[QueryError]
	ErrOwner   = errors.New("artifacts: unusable owner")
	ErrClosed  = errors.New("artifacts: the store is closed")

	ErrLocked      = sqlitedb.ErrLocked      // another process held the database locked for longer than the busy timeout
	ErrCorrupt     = sqlitedb.ErrCorrupt     // the database is none, or damaged
	ErrNotWritable = sqlitedb.ErrNotWritable // the folder or a file in it
	ErrFull        = sqlitedb.ErrFull        // the disk
	ErrNewer       = sqlitedb.ErrNewer       // written by a newer version of this package
)

// UnknownError says that an owner has no artifact of a reference. It is the same whether nobody has it, another owner does, or
// it is no reference at all.
type UnknownError struct {
	Ref string // as it was given, at most 80 characters of it
}

func (e *UnknownError) Error() string {
	return fmt.Sprintf("there is no artifact %s; use a reference exactly as a result gave it", strconv.Quote(e.Ref))
}

// Is reports whether target is [ErrUnknown].
func (e *UnknownError) Is(target error) bool { return target == ErrUnknown }

func unknown(ref string) error {
	const most = 80
	n := 0
	for i := range ref {
		if n == most {
			return &UnknownError{Ref: ref[:i] + "…"}
		}
		n++
	}
	return &UnknownError{Ref: ref}
}

// DamagedError says that the content of an artifact is not what was put. The same content makes it whole when it is put again.
type DamagedError struct {
	Artifact Artifact
	Path     string // of the content file
	Reason   string // such as "the file is missing"
	Err      error  // of the file system, or nil
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("reading the content of %s in %q: %s; call %s again to store a new result",
		e.Artifact.Ref, e.Path, e.Reason, e.Artifact.Tool)
}

func (e *DamagedError) Unwrap() error { return e.Err }

// Is reports whether target is [ErrDamaged].
func (e *DamagedError) Is(target error) bool { return target == ErrDamaged }

// QuotaError says that content does not fit into the store, although everything was removed that may be. Sizes are in bytes.
type QuotaError struct {
	Dir  string
	Need int64 // of the content
	Used int64 // of all content that is stored
	Max  int64
}

func (e *QuotaError) Error() string {
	return fmt.Sprintf("storing %d bytes in %q: %d of at most %d bytes are used, and conversations that still exist need them; "+
		"delete old conversations, or raise the limit", e.Need, e.Dir, e.Used, e.Max)
}

// Is reports whether target is [ErrQuota].
func (e *QuotaError) Is(target error) bool { return target == ErrQuota }

// StorageError is a failure of the content folder, with what to do about it where there is something. Failures of the database
// are [*sqlitedb.Error].
type StorageError struct {
	Doing string // such as "storing content in"
	Path  string
	Err   error
}

func (e *StorageError) Error() string {
	s := fmt.Sprintf("%s %q: %v", e.Doing, e.Path, e.Err)
	switch {
	case errors.Is(e, ErrFull):
		return s + "; free space on its disk and try again"
	case errors.Is(e, ErrNotWritable):
		return s + "; make the folder and its files readable and writable, or choose another one"
	}
	return s
}

func (e *StorageError) Unwrap() error { return e.Err }

// Is reports whether e is of the kind target.
func (e *StorageError) Is(target error) bool {
	kind := e.kind()
	return kind != nil && target == kind
}

func (e *StorageError) kind() error {
	switch {
	case errors.Is(e.Err, syscall.ENOSPC), errors.Is(e.Err, syscall.EDQUOT), errors.Is(e.Err, syscall.EFBIG):
		return ErrFull
	case errors.Is(e.Err, fs.ErrPermission), errors.Is(e.Err, syscall.EROFS):
		return ErrNotWritable
	}
	return nil
}

// RangeError says that an artifact has no such range.
type RangeError struct {
	Artifact Artifact
	Reason   string // what is wrong, such as "start_line 7 is past the end"
	Fix      string
}

func (e *RangeError) Error() string {
	return fmt.Sprintf("reading %s: %s; %s", e.Artifact.Ref, e.Reason, e.Fix)
}

// Is reports whether target is [ErrRange].
func (e *RangeError) Is(target error) bool { return target == ErrRange }

// QueryError says that a query cannot be searched for.
type QueryError struct {
	Reason string
	Fix    string
	Err    error // of the regular expression, or nil
}

func (e *QueryError) Error() string { return fmt.Sprintf("searching: %s; %s", e.Reason, e.Fix) }

func (e *QueryError) Unwrap() error { return e.Err }

// Is reports whether target is [ErrQuery].
func (e *QueryError) Is(target error) bool { return target == ErrQuery }

// checkOwner refuses what cannot name an owner. It is a mistake of the program, not of a model.
func checkOwner(owner string) error {
	const most = 1000
	switch {
	case owner == "":
		return fmt.Errorf("%w: it is empty", ErrOwner)
	case len(owner) > most:
		return fmt.Errorf("%w: it has %d bytes; at most %d are allowed", ErrOwner, len(owner), most)
	case !utf8.ValidString(owner):
		return fmt.Errorf("%w: it is not valid UTF-8", ErrOwner)
	}
	for i := range len(owner) {
		if owner[i] == 0 {
			return fmt.Errorf("%w: it holds a zero byte", ErrOwner)
		}
	}
	return nil
}
