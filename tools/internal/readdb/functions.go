package readdb

import (
	"bytes"
	"runtime"
	"unicode/utf8"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// SQLite looks whether a statement is to stop between the steps of its virtual machine, and a call of a function is one step. Some
// of its own functions take time with the product of the sizes of their arguments, which is hours for two texts that a short
// statement can make. They are replaced by functions that take time with the sum, or refuse.

// maxPatternWork bounds how many comparisons of a LIKE or GLOB may be needed: about a second.
const maxPatternWork = 1 << 30

// A function is one that takes the place of SQLite's own. Its arguments are sqlite3_value pointers.
type function struct {
	name      string
	arguments int32
	call      uintptr
}

// functions are the replacements. They do what SQLite's do (https://www.sqlite.org/lang_corefunc.html).
func functions() []function {
	return []function{
		{"instr", 2, functionPointer(instr)},
		{"replace", 3, functionPointer(replace)},
		{"trim", 2, functionPointer(trimBoth)},
		{"ltrim", 2, functionPointer(trimLeft)},
		{"rtrim", 2, functionPointer(trimRight)},
		{"like", 2, functionPointer(like)},
		{"like", 3, functionPointer(like)},
		{"glob", 2, functionPointer(glob)},
	}
}

// replaceFunctions gives the connection the replacements. Each of them knows the connection's flag.
func (c *Conn) replaceFunctions() error {
	const flags = sqlite3.SQLITE_UTF8 | sqlite3.SQLITE_DETERMINISTIC | sqlite3.SQLITE_INNOCUOUS
	for _, f := range functions() {
		name, err := libc.CString(f.name)
		if err != nil {
			return err
		}
		rc := sqlite3.Xsqlite3_create_function_v2(c.tls, c.db, name, f.arguments, flags, c.flag, f.call, 0, 0, 0)
		libc.Xfree(c.tls, name)
		if rc != sqlite3.SQLITE_OK {
			return c.failed(rc)
		}
	}
	return nil
}

// A call is one call of a function.
type call struct {
	tls  *libc.TLS
	ctx  uintptr
	argv uintptr
}

func (c call) value(i int) uintptr {
	return libc.AtomicLoadPUintptr(c.argv + uintptr(i)*unsafe.Sizeof(uintptr(0)))
}

// begin reports whether the function has anything to compute: the statement is not to stop, and no argument is NULL.
func (c call) begin(arguments int32) bool {
	if libc.AtomicLoadPInt32(sqlite3.Xsqlite3_user_data(c.tls, c.ctx)) != 0 {
		sqlite3.Xsqlite3_result_error_code(c.tls, c.ctx, sqlite3.SQLITE_INTERRUPT)
		return false
	}
	for i := range int(arguments) {
		if sqlite3.Xsqlite3_value_type(c.tls, c.value(i)) == sqlite3.SQLITE_NULL {
			return false // the result is NULL by default
		}
	}
	return true
}

// text returns an argument as text, in a copy.
func (c call) text(i int) []byte {
	data := sqlite3.Xsqlite3_value_text(c.tls, c.value(i))
	return view(data, int(sqlite3.Xsqlite3_value_bytes(c.tls, c.value(i))))
}

func (c call) isBlob(i int) bool {
	return sqlite3.Xsqlite3_value_type(c.tls, c.value(i)) == sqlite3.SQLITE_BLOB
}

func (c call) blob(i int) []byte {
	data := sqlite3.Xsqlite3_value_blob(c.tls, c.value(i))
	return view(data, int(sqlite3.Xsqlite3_value_bytes(c.tls, c.value(i))))
}

func (c call) resultText(text []byte) {
	const copied = ^uintptr(0) // SQLITE_TRANSIENT
	if len(text) == 0 {
		text = []byte{0}[:0:1]
	}
	data := unsafe.SliceData(text)
	sqlite3.Xsqlite3_result_text(c.tls, c.ctx, uintptr(unsafe.Pointer(data)), int32(len(text)), copied)
	runtime.KeepAlive(data)
}

// instr returns where the second argument first is in the first: in bytes of two BLOBs, else in characters; from 1.
func instr(tls *libc.TLS, ctx uintptr, n int32, argv uintptr) {
	c := call{tls, ctx, argv}
	if !c.begin(n) {
		return
	}
	if c.isBlob(0) && c.isBlob(1) {
		sqlite3.Xsqlite3_result_int(tls, ctx, int32(bytes.Index(c.blob(0), c.blob(1))+1))
		return
	}
	text := c.text(0)
	at := bytes.Index(text, c.text(1))
	if at >= 0 {
		at = utf8.RuneCount(text[:at])
	}
	sqlite3.Xsqlite3_result_int(tls, ctx, int32(at+1))
}

// replace returns the first argument with each second one in it replaced by the third.
func replace(tls *libc.TLS, ctx uintptr, n int32, argv uintptr) {
	c := call{tls, ctx, argv}
	if !c.begin(n) {
		return
	}
	text, from, to := c.text(0), c.text(1), c.text(2)
	if len(from) == 0 {
		c.resultText(text)
		return
	}
	if found := bytes.Count(text, from); len(text)+found*(len(to)-len(from)) > maxValueBytes {
		sqlite3.Xsqlite3_result_error_toobig(tls, ctx)
		return
	}
	c.resultText(bytes.ReplaceAll(text, from, to))
}

func trimBoth(tls *libc.TLS, ctx uintptr, n int32, argv uintptr) {
	trim(call{tls, ctx, argv}, n, true, true)
}

func trimLeft(tls *libc.TLS, ctx uintptr, n int32, argv uintptr) {
	trim(call{tls, ctx, argv}, n, true, false)
}

func trimRight(tls *libc.TLS, ctx uintptr, n int32, argv uintptr) {
	trim(call{tls, ctx, argv}, n, false, true)
}

// trim removes the characters of the second argument from the ends of the first.
func trim(c call, n int32, left, right bool) {
	if !c.begin(n) {
		return
	}
	text, chars := c.text(0), map[string]bool{}
	for rest := c.text(1); len(rest) > 0; {
		_, size := utf8.DecodeRune(rest)
		chars[string(rest[:size])] = true
		rest = rest[size:]
	}
	for left && len(text) > 0 {
		_, size := utf8.DecodeRune(text)
		if !chars[string(text[:size])] {
			break
		}
		text = text[size:]
	}
	for right && len(text) > 0 {
		_, size := utf8.DecodeLastRune(text)
		if !chars[string(text[len(text)-size:])] {
			break
		}
		text = text[:len(text)-size]
	}
	c.resultText(text)
}

// noBlobs reports whether there is text to compare. A BLOB matches no pattern in the SQLite that this package uses.
func (c call) noBlobs() bool {
	if c.isBlob(0) || c.isBlob(1) {
		sqlite3.Xsqlite3_result_int(c.tls, c.ctx, 0)
		return false
	}
	return true
}

// patternFits refuses a pattern that could take too long.
func (c call) patternFits() bool {
	pattern := sqlite3.Xsqlite3_value_bytes(c.tls, c.value(0))
	text := sqlite3.Xsqlite3_value_bytes(c.tls, c.value(1))
	if int64(pattern)*int64(text) <= maxPatternWork {
		return true
	}
	c.fail("LIKE or GLOB pattern too complex for a text of this size; use instr, or a part of the text")
	return false
}

func (c call) fail(message string) {
	text, err := libc.CString(message)
	if err != nil {
		sqlite3.Xsqlite3_result_error_code(c.tls, c.ctx, sqlite3.SQLITE_NOMEM)
		return
	}
	sqlite3.Xsqlite3_result_error(c.tls, c.ctx, text, -1)
	libc.Xfree(c.tls, text)
}

// like is Y LIKE X, and Y LIKE X ESCAPE Z, with the arguments in that order.
func like(tls *libc.TLS, ctx uintptr, n int32, argv uintptr) {
	c := call{tls, ctx, argv}
	if !c.noBlobs() || !c.begin(n) {
		return
	}
	escape := rune(0)
	if n == 3 {
		var size int
		text := c.text(2)
		if escape, size = utf8.DecodeRune(text); len(text) == 0 || size != len(text) {
			c.fail("ESCAPE expression must be a single character")
			return
		}
		if escape == '%' || escape == '_' { // sqlite3_strlike takes them as wildcards
			c.fail("ESCAPE must not be a wildcard")
			return
		}
	}
	pattern, text := sqlite3.Xsqlite3_value_text(tls, c.value(0)), sqlite3.Xsqlite3_value_text(tls, c.value(1))
	if c.patternFits() {
		c.resultMatch(sqlite3.Xsqlite3_strlike(tls, pattern, text, uint32(escape)))
	}
}

// glob is Y GLOB X.
func glob(tls *libc.TLS, ctx uintptr, n int32, argv uintptr) {
	c := call{tls, ctx, argv}
	if !c.noBlobs() || !c.begin(n) {
		return
	}
	pattern, text := sqlite3.Xsqlite3_value_text(tls, c.value(0)), sqlite3.Xsqlite3_value_text(tls, c.value(1))
	if c.patternFits() {
		c.resultMatch(sqlite3.Xsqlite3_strglob(tls, pattern, text))
	}
}

// resultMatch returns 1 when a comparison gave 0.
func (c call) resultMatch(differs int32) {
	matches := int32(0)
	if differs == 0 {
		matches = 1
	}
	sqlite3.Xsqlite3_result_int(c.tls, c.ctx, matches)
}
