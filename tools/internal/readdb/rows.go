package readdb

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// Rows are the result of one running statement. Close them before the next statement of the connection.
type Rows struct {
	conn    *Conn
	ctx     context.Context // of this one statement
	stmt    uintptr
	columns []string
	unwatch func() bool
	// stopped is closed when the watcher of the context has finished writing to the connection's flag.
	stopped chan struct{}
}

// Query compiles one statement and begins to run it. The text may hold comments and a semicolon at the end, and nothing
// else beside the statement. When ctx ends, the statement stops, and Next returns the context's error.
func (c *Conn) Query(ctx context.Context, text string) (*Rows, error) {
	return c.prepare(ctx, text, true)
}

func (c *Conn) prepare(ctx context.Context, text string, mustRead bool) (*Rows, error) {
	if c.tls == nil {
		return nil, errors.New("readdb: the connection is closed")
	}
	if len(text) > maxStatementBytes {
		return nil, fmt.Errorf("readdb: the statement is longer than %d bytes", maxStatementBytes)
	}
	if strings.IndexByte(text, 0) >= 0 {
		return nil, errors.New("readdb: the statement contains a NUL byte")
	}
	source, err := libc.CString(text)
	if err != nil {
		return nil, err
	}
	defer libc.Xfree(c.tls, source)
	r := &Rows{conn: c, ctx: ctx}
	r.watch()
	if err := r.compile(source, mustRead); err != nil {
		return nil, errors.Join(r.contextError(err), r.Close())
	}
	return r, nil
}

// watch makes the statement stop when the context ends.
func (r *Rows) watch() {
	c, flag := r.conn, r.conn.flag
	libc.AtomicStorePInt32(flag, 0)
	r.stopped = make(chan struct{})
	r.unwatch = context.AfterFunc(r.ctx, func() {
		defer close(r.stopped)
		libc.AtomicStorePInt32(flag, 1)
		// Steps that take long by themselves, such as the count of all rows of a table, look for this instead of the flag.
		sqlite3.Xsqlite3_interrupt(c.tls, c.db)
	})
}

// compile takes the first statement of the source and refuses another one after it.
func (r *Rows) compile(source uintptr, mustRead bool) error {
	c := r.conn
	rest := source
	for r.stmt == 0 {
		if libc.AtomicLoadPUint8(rest) == 0 {
			return ErrNone
		}
		stmt, tail, rc := c.prepareNext(rest)
		if rc != sqlite3.SQLITE_OK {
			return c.failed(rc)
		}
		if stmt == 0 && tail == rest {
			return ErrNone
		}
		r.stmt, rest = stmt, tail
	}
	for libc.AtomicLoadPUint8(rest) != 0 {
		stmt, tail, rc := c.prepareNext(rest)
		if stmt != 0 {
			sqlite3.Xsqlite3_finalize(c.tls, stmt)
		}
		if rc != sqlite3.SQLITE_OK || stmt != 0 || tail == rest {
			return ErrSeveral
		}
		rest = tail
	}
	count := sqlite3.Xsqlite3_column_count(c.tls, r.stmt)
	if mustRead && (sqlite3.Xsqlite3_stmt_readonly(c.tls, r.stmt) == 0 || count == 0) {
		return ErrNotReading
	}
	for i := range count {
		r.columns = append(r.columns, goString(sqlite3.Xsqlite3_column_name(c.tls, r.stmt, i)))
	}
	return nil
}

func (c *Conn) prepareNext(source uintptr) (stmt, tail uintptr, rc int32) {
	out := c.tls.Alloc(16)
	defer c.tls.Free(16)
	libc.AtomicStorePUintptr(out, 0)
	libc.AtomicStorePUintptr(out+8, source)
	rc = sqlite3.Xsqlite3_prepare_v2(c.tls, c.db, source, -1, out, out+8)
	return libc.AtomicLoadPUintptr(out), libc.AtomicLoadPUintptr(out + 8), rc
}

// contextError prefers the context's error over that of the interruption it caused.
func (r *Rows) contextError(err error) error {
	if ctxErr := r.ctx.Err(); ctxErr != nil {
		return ctxErr
	}
	return err
}

// Columns returns the names of the columns. The slice belongs to r.
func (r *Rows) Columns() []string { return r.columns }

// Next steps to the next row and reports whether there is one.
func (r *Rows) Next() (bool, error) {
	if r.stmt == 0 {
		return false, nil
	}
	if err := r.ctx.Err(); err != nil {
		return false, err
	}
	switch rc := sqlite3.Xsqlite3_step(r.conn.tls, r.stmt); rc {
	case sqlite3.SQLITE_ROW:
		return true, nil
	case sqlite3.SQLITE_DONE:
		return false, nil
	default:
		return false, r.contextError(r.conn.failed(rc))
	}
}

// Close ends the statement. Calls after the first do nothing.
func (r *Rows) Close() error {
	if r.unwatch != nil {
		if !r.unwatch() {
			<-r.stopped
		}
		r.unwatch = nil
	}
	if r.stmt != 0 {
		// The result repeats the error of the last step, which Next has returned.
		sqlite3.Xsqlite3_finalize(r.conn.tls, r.stmt)
		r.stmt = 0
	}
	return nil
}

// A Value is one value of a row.
type Value struct {
	Type  Type
	Int   int64
	Float float64
	Text  string // of Text, at most the bytes asked for
	Bytes int    // of Text and Blob: all of them
	// SHA256 is of a Blob.
	SHA256 [sha256.Size]byte
}

// A Type is a storage class of SQLite.
type Type int

// The storage classes.
const (
	Null Type = iota
	Int
	Float
	Text
	Blob
)

// Value returns a value of the current row. Of a text, at most maxBytes are copied; they may end inside a character.
func (r *Rows) Value(column, maxBytes int) Value {
	tls, i := r.conn.tls, int32(column)
	switch sqlite3.Xsqlite3_column_type(tls, r.stmt, i) {
	case sqlite3.SQLITE_INTEGER:
		return Value{Type: Int, Int: sqlite3.Xsqlite3_column_int64(tls, r.stmt, i)}
	case sqlite3.SQLITE_FLOAT:
		return Value{Type: Float, Float: sqlite3.Xsqlite3_column_double(tls, r.stmt, i)}
	case sqlite3.SQLITE_TEXT:
		data := sqlite3.Xsqlite3_column_text(tls, r.stmt, i)
		size := int(sqlite3.Xsqlite3_column_bytes(tls, r.stmt, i))
		return Value{Type: Text, Bytes: size, Text: string(view(data, min(size, maxBytes)))}
	case sqlite3.SQLITE_BLOB:
		data := sqlite3.Xsqlite3_column_blob(tls, r.stmt, i)
		size := int(sqlite3.Xsqlite3_column_bytes(tls, r.stmt, i))
		return Value{Type: Blob, Bytes: size, SHA256: sha256.Sum256(view(data, size))}
	}
	return Value{}
}

// view returns memory that SQLite owns until the next step.
func view(data uintptr, size int) []byte {
	if data == 0 || size <= 0 {
		return nil
	}
	return libc.GoBytes(data, size)
}
