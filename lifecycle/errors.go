package lifecycle

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/llama-agent/llama-agent/internal/sqlitedb"
)

// Sentinels for [errors.Is]. The last five are failures of the database, which are [*sqlitedb.Error].
var (
	ErrUnknown = errors.New("lifecycle: unknown reference or key")   // an *[UnknownError]
	ErrDamaged = errors.New("lifecycle: a stored record is damaged") // a *[DamagedError]
	ErrInvalid = errors.New("lifecycle: unusable value")             // an *[InvalidError]
	ErrClosed  = errors.New("lifecycle: the store is closed")

	ErrLocked      = sqlitedb.ErrLocked      // another process held the database locked for longer than the busy timeout
	ErrCorrupt     = sqlitedb.ErrCorrupt     // the file is no database, or a damaged one
	ErrNotWritable = sqlitedb.ErrNotWritable // the file or its folder
	ErrFull        = sqlitedb.ErrFull        // the disk
	ErrNewer       = sqlitedb.ErrNewer       // written by a newer version of this package
)

// UnknownError says that an owner has no record of a reference, or no memory of a key. It is the same whether nobody has it,
// another owner does, or it is no reference at all.
type UnknownError struct {
	Ref string // as it was given, at most 80 characters of it; empty for a memory
	Key string // as it was given, at most 80 characters of it; empty for a reference
}

func (e *UnknownError) Error() string {
	if e.Key != "" {
		return fmt.Sprintf("nothing is remembered as %s; list the memories to see their keys", strconv.Quote(e.Key))
	}
	return fmt.Sprintf("there is no record %s; use a reference exactly as it was given", strconv.Quote(e.Ref))
}

// Is reports whether target is [ErrUnknown].
func (e *UnknownError) Is(target error) bool { return target == ErrUnknown }

// clipped shortens what was given to 80 characters.
func clipped(s string) string {
	const most = 80
	n := 0
	for i := range s {
		if n == most {
			return s[:i] + "…"
		}
		n++
	}
	return s
}

// DamagedError says that a record is not what was put. Putting the same again makes it whole.
type DamagedError struct {
	Record Record // what is known of it, without Text and Data
	Path   string // of the database
	Reason string // such as "the SHA-256 of its text is another"
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("reading %s (%s %s) in %q: it was changed: %s; restore the file from a copy, or remove the record",
		e.Record.Ref, e.Record.Kind, strconv.Quote(clipped(e.Record.Name)), e.Path, e.Reason)
}

// Is reports whether target is [ErrDamaged].
func (e *DamagedError) Is(target error) bool { return target == ErrDamaged }

// InvalidError says which value cannot be stored, and why.
type InvalidError struct {
	Field  string // such as "key"
	Reason string // such as "has 81 characters; at most 80 are allowed"
}

func (e *InvalidError) Error() string { return "the " + e.Field + " " + e.Reason }

// Is reports whether target is [ErrInvalid].
func (e *InvalidError) Is(target error) bool { return target == ErrInvalid }

func invalid(field, format string, args ...any) error {
	return &InvalidError{Field: field, Reason: fmt.Sprintf(format, args...)}
}

// Lengths of identifiers, in bytes.
const (
	maxOwner = 1000
	maxKey   = 1000
)

// checkOwner refuses what cannot name an owner of records.
func checkOwner(owner string) error {
	if owner == "" {
		return invalid("owner", "is empty; only memories can be everybody's")
	}
	return checkID("owner", owner, maxOwner)
}

// checkReaders refuses what cannot name owners; everybody, the empty one, can be among them.
func checkReaders(owners []string) error {
	for _, owner := range owners {
		if err := checkID("owner", owner, maxOwner); err != nil {
			return err
		}
	}
	return nil
}

func checkID(field, id string, limit int) error {
	switch {
	case len(id) > limit:
		return invalid(field, "has %d bytes; at most %d are allowed", len(id), limit)
	case !utf8.ValidString(id):
		return invalid(field, "is not valid UTF-8")
	case strings.ContainsRune(id, 0):
		return invalid(field, "holds a zero byte")
	}
	return nil
}
