// Package readdb reads SQLite databases that are given by someone else's hand with SQL that is, too. A connection can
// run one reading statement at a time; the database itself refuses everything else, and a statement can be interrupted
// at any point.
//
// It calls SQLite's C interface as modernc.org/sqlite/lib offers it, because that module's database/sql driver cannot
// interrupt a statement after its first row, changes the text of date columns, and tells neither the rest of a text
// after its first statement nor whether a statement only reads.
package readdb

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

const (
	// maxValueBytes bounds a text or BLOB, and so the memory of one value.
	maxValueBytes = 64 << 20
	// maxStatementBytes bounds a statement.
	maxStatementBytes = 100_000
	// progressSteps is how many steps of SQLite's virtual machine pass between looks at the context. A step can take as long as
	// it takes to copy a value.
	progressSteps = 200
)

var (
	// ErrNotReading refuses a statement that could change something, or that the policy does not know.
	ErrNotReading = errors.New("readdb: the statement does not only read")
	// ErrSeveral refuses a text with more than one statement.
	ErrSeveral = errors.New("readdb: more than one statement")
	// ErrNone refuses a text without a statement.
	ErrNone = errors.New("readdb: no statement")
)

// An Error is SQLite's.
type Error struct {
	Code    int // extended result code
	Message string
	Offset  int // of the token the error is at, in bytes of the statement; -1 when unknown
}

func (e *Error) Error() string { return e.Message }

// Primary returns the primary result code, such as SQLITE_BUSY.
func (e *Error) Primary() int { return e.Code & 0xff }

// Refused tells whether the policy or the read-only mode refused the statement.
func (e *Error) Refused() bool {
	// A function that the policy denies is reported as a plain error.
	return e.Primary() == sqlite3.SQLITE_AUTH || e.Primary() == ReadOnly || strings.HasPrefix(e.Message, "not authorized")
}

// Primary result codes that callers tell apart.
const (
	Busy     = sqlite3.SQLITE_BUSY
	CantOpen = sqlite3.SQLITE_CANTOPEN
	ReadOnly = sqlite3.SQLITE_READONLY
	Corrupt  = sqlite3.SQLITE_CORRUPT
	NotADB   = sqlite3.SQLITE_NOTADB
	TooBig   = sqlite3.SQLITE_TOOBIG
	// Generic is most mistakes in a statement.
	Generic = sqlite3.SQLITE_ERROR
)

// A Conn is an open database. It belongs to one goroutine at a time.
type Conn struct {
	tls  *libc.TLS
	db   uintptr
	flag uintptr // *int32 in C memory: not 0 when the running statement is to stop
}

// Open opens an existing database for reading. The path has no symbolic links: SQLite refuses them. With immutable,
// SQLite takes no locks, ignores a write-ahead log and makes no files; the caller knows that nothing changes the file.
// Without it, SQLite makes the -shm file of a database in WAL mode when that is missing.
func Open(path string, immutable bool) (*Conn, error) {
	uri := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: "mode=ro"}
	if !strings.HasPrefix(uri.Path, "/") {
		uri.Path = "/" + uri.Path
	}
	if immutable {
		uri.RawQuery += "&immutable=1"
	}
	c := &Conn{tls: libc.NewTLS()}
	if c.flag = libc.Xcalloc(c.tls, 1, 4); c.flag == 0 {
		c.tls.Close()
		return nil, errors.New("readdb: out of memory")
	}
	if err := c.open(uri.String()); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *Conn) open(uri string) error {
	name, err := libc.CString(uri)
	if err != nil {
		return err
	}
	defer libc.Xfree(c.tls, name)
	out := c.tls.Alloc(8)
	defer c.tls.Free(8)
	libc.AtomicStorePUintptr(out, 0)
	const flags = sqlite3.SQLITE_OPEN_READONLY | sqlite3.SQLITE_OPEN_URI | sqlite3.SQLITE_OPEN_FULLMUTEX | sqlite3.SQLITE_OPEN_NOFOLLOW
	rc := sqlite3.Xsqlite3_open_v2(c.tls, name, out, flags, 0)
	c.db = libc.AtomicLoadPUintptr(out) // set even on failure, to hold the message
	if rc != sqlite3.SQLITE_OK {
		return c.failed(rc)
	}
	sqlite3.Xsqlite3_extended_result_codes(c.tls, c.db, 1)
	sqlite3.Xsqlite3_busy_timeout(c.tls, c.db, 1000)
	for _, limit := range [][2]int32{
		{sqlite3.SQLITE_LIMIT_LENGTH, maxValueBytes},
		{sqlite3.SQLITE_LIMIT_SQL_LENGTH, maxStatementBytes},
		{sqlite3.SQLITE_LIMIT_ATTACHED, 0}, // VACUUM INTO attaches as well
		{sqlite3.SQLITE_LIMIT_WORKER_THREADS, 0},
	} {
		sqlite3.Xsqlite3_limit(c.tls, c.db, limit[0], limit[1])
	}
	if err := c.configure(sqlite3.SQLITE_DBCONFIG_DEFENSIVE, 1); err != nil {
		return err
	}
	if err := c.configure(sqlite3.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0); err != nil {
		return err
	}
	rows, err := c.prepare(context.Background(), "PRAGMA query_only=1", false)
	if err != nil {
		return err
	}
	if _, err := rows.Next(); err != nil {
		return errors.Join(err, rows.Close())
	}
	if err := rows.Close(); err != nil {
		return err
	}
	if err := c.replaceFunctions(); err != nil {
		return err
	}
	if rc := sqlite3.Xsqlite3_set_authorizer(c.tls, c.db, functionPointer(authorize), 0); rc != sqlite3.SQLITE_OK {
		return c.failed(rc)
	}
	sqlite3.Xsqlite3_progress_handler(c.tls, c.db, progressSteps, functionPointer(progress), c.flag)
	return nil
}

func (c *Conn) configure(option, value int32) error {
	args := libc.NewVaList(value, uintptr(0))
	if args == 0 {
		return errors.New("readdb: out of memory")
	}
	defer libc.Xfree(c.tls, args)
	if rc := sqlite3.Xsqlite3_db_config(c.tls, c.db, option, args); rc != sqlite3.SQLITE_OK {
		return c.failed(rc)
	}
	return nil
}

// Close closes the database. Calls after the first do nothing.
func (c *Conn) Close() error {
	if c.tls == nil {
		return nil
	}
	var err error
	if c.db != 0 {
		if rc := sqlite3.Xsqlite3_close_v2(c.tls, c.db); rc != sqlite3.SQLITE_OK {
			err = fmt.Errorf("closing database: SQLite result %d", rc)
		}
		c.db = 0
	}
	libc.Xfree(c.tls, c.flag)
	c.tls.Close()
	c.tls = nil
	return err
}

func (c *Conn) failed(rc int32) error {
	out := &Error{Code: int(rc), Offset: -1}
	if c.db == 0 {
		out.Message = libc.GoString(sqlite3.Xsqlite3_errstr(c.tls, rc))
		return out
	}
	if code := sqlite3.Xsqlite3_extended_errcode(c.tls, c.db); code&0xff == rc&0xff {
		out.Code = int(code)
		out.Message = libc.GoString(sqlite3.Xsqlite3_errmsg(c.tls, c.db))
		out.Offset = int(sqlite3.Xsqlite3_error_offset(c.tls, c.db))
	} else {
		out.Message = libc.GoString(sqlite3.Xsqlite3_errstr(c.tls, rc))
	}
	return out
}

// functionPointer makes a C function pointer of a declared function, as the transpiled code expects it: the address of
// the function's code pointer (https://golang.org/s/go11func).
func functionPointer[T any](f T) uintptr {
	return *(*uintptr)(unsafe.Pointer(&struct{ f T }{f}))
}

func progress(_ *libc.TLS, flag uintptr) int32 {
	return libc.AtomicLoadPInt32(flag)
}
