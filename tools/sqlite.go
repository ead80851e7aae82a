package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/llama-agent/llama-agent/tools/internal/readdb"
)

// SQLiteOptions configure the SQLite tools. Zero fields take the defaults.
type SQLiteOptions struct {
	// Workspace is the folder that paths are relative to. It is required.
	Workspace string
	// AllowedRoots are the folders that may be read, absolute or relative to the workspace; by default the workspace.
	AllowedRoots []string
	MaxRows      int           // the most that a query returns; 100
	MaxChars     int           // of all values of a query, in characters; 300000
	Timeout      time.Duration // of one call; 10 s
}

func (o SQLiteOptions) withDefaults() SQLiteOptions {
	o.MaxRows = cmp.Or(o.MaxRows, 100)
	o.MaxChars = cmp.Or(o.MaxChars, 300_000)
	o.Timeout = cmp.Or(o.Timeout, 10*time.Second)
	return o
}

// SQLite returns the tools describe_sqlite_table and query_sqlite. They open a database for each call, for reading, and
// make no files beside it.
func SQLite(options SQLiteOptions) []Tool {
	options = options.withDefaults()
	w := newWorkspace(options.Workspace, options.AllowedRoots)
	return []Tool{describeTool(w, options), queryTool(w, options)}
}

// A database is an open connection and what it needs to be thrown away with it.
type database struct {
	*readdb.Conn
	target target
	copied string // folder of a private copy, or ""
	// immutable tells that no locks are held, so that another program may change the file meanwhile.
	immutable bool
	isText    bool // the file is a text with a table
}

// maxCopiedDatabase bounds the private copy of a database whose write-ahead log cannot be read in place.
const maxCopiedDatabase = 1 << 30

// openDatabase opens the SQLite file, or the text file with a table, that a model named. Other files are refused with the tool that is for them.
func (w *workspace) openDatabase(ctx context.Context, path string) (*database, *Error) {
	t, problem := w.resolveFile(path, "a database", " to find the database")
	if problem != nil {
		return nil, problem
	}
	head, err := t.head()
	if err != nil {
		return nil, &Error{Kind: KindFailed, Message: fmt.Sprintf("opening %q: %s", t.show, plainReason(err))}
	}
	switch kind := sniff(head); {
	case kind.name == "sqlite", kind.name == "empty":
	case kind.name == "text", kind.name == "gzip" && hasTableName(t.show):
		return t.openTextTable(ctx)
	default:
		return nil, &Error{
			Kind:    KindWrongKind,
			Message: fmt.Sprintf("%q is not a SQLite database: its type is %s", t.show, kind.mime),
			Fix:     "use list_files to find the database",
		}
	}
	db, err := t.openDatabase(head)
	if err != nil {
		return nil, openFailed(t, err)
	}
	return db, nil
}

// openTextTable opens a text file as openTable does, and refuses one without a table with the tool that is for it.
func (t target) openTextTable(ctx context.Context) (*database, *Error) {
	out := &Error{
		Kind:    KindWrongKind,
		Message: fmt.Sprintf("%q is a text file, not a SQLite database", t.show),
		Fix:     fmt.Sprintf("use read_file or search_file with file_path %q", t.show),
		Instead: "read_file",
	}
	if !hasTableName(t.show) {
		return nil, out
	}
	db, err := t.openTable(ctx)
	if err == nil {
		return db, nil
	}
	if why, ok := errors.AsType[errNoTable](err); ok {
		out.Message = fmt.Sprintf("%q cannot be read as a table: %s", t.show, why.reason)
		return nil, out
	}
	return nil, openFailed(t, err)
}

func (t target) head() ([]byte, error) {
	f, err := t.open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readHead(f)
}

// openDatabase opens a database so that nothing is created beside it. In WAL mode SQLite wants to create its -shm file,
// so a database without a log is opened as immutable, and one with a log but without -shm is read from a private copy.
func (t target) openDatabase(head []byte) (*database, error) {
	const walVersionAt, wal = 19, 2
	if problem := t.checkCompanions(); problem != nil {
		return nil, problem
	}
	if len(head) <= walVersionAt || head[walVersionAt] != wal {
		return t.connect(t.real, false, "")
	}
	log, err := os.Stat(t.real + "-wal")
	if err != nil || log.Size() == 0 {
		return t.connect(t.real, true, "")
	}
	if _, err := os.Stat(t.real + "-shm"); err == nil {
		db, err := t.connect(t.real, false, "")
		if err == nil {
			if err = db.probe(); err == nil {
				return db, nil
			}
			err = errors.Join(err, db.Close())
		}
		if problem, ok := errors.AsType[*readdb.Error](err); !ok || problem.Primary() != readdb.CantOpen && problem.Primary() != readdb.ReadOnly {
			return nil, err
		}
	}
	return t.copyDatabase()
}

// checkCompanions refuses a database whose journal, log or shared memory is no plain file. SQLite opens them by their names: it
// would wait at a FIFO for ever, and follow a link to what must not be read.
func (t target) checkCompanions() *Error {
	for _, suffix := range []string{"-journal", "-wal", "-shm"} {
		info, err := os.Lstat(t.real + suffix)
		if err != nil || info.Mode().IsRegular() {
			continue
		}
		what := "a folder"
		if !info.IsDir() {
			what = modeName(info.Mode())
		}
		return &Error{
			Kind:    KindDenied,
			Message: fmt.Sprintf("the database %q cannot be read: %q beside it is %s, not a file", t.show, t.show+suffix, what),
			Fix:     "use another database, or ask the user to remove it",
		}
	}
	return nil
}

func (t target) connect(path string, immutable bool, copied string) (*database, error) {
	conn, err := readdb.Open(path, immutable)
	if err != nil {
		return nil, err
	}
	return &database{Conn: conn, target: t, copied: copied, immutable: immutable}, nil
}

// changed tells whether what was read may be a mixture of before and after a change by another program.
func (d *database) changed() bool {
	if !d.immutable {
		return false
	}
	if log, err := os.Stat(d.target.real + "-wal"); err == nil && log.Size() > 0 {
		return true
	}
	info, err := os.Stat(d.target.real)
	return err != nil || info.Size() != d.target.info.Size() || !info.ModTime().Equal(d.target.info.ModTime())
}

// errChanged asks for another try after changed.
func errChanged(t target) *Error {
	return &Error{
		Kind:    KindFailed,
		Message: fmt.Sprintf("another program changed %q while it was read", t.show),
		Fix:     "make the same call again",
	}
}

// probe reads the schema, which is when SQLite opens the log.
func (d *database) probe() error {
	rows, err := d.Query(context.Background(), "SELECT count(*) FROM sqlite_schema")
	if err != nil {
		return err
	}
	_, err = rows.Next()
	return errors.Join(err, rows.Close())
}

func (t target) copyDatabase() (*database, error) {
	if t.info.Size() > maxCopiedDatabase {
		return nil, fmt.Errorf("it has unfinished changes in its write-ahead log, and is too large to copy (%s)", byteSize(t.info.Size()))
	}
	return t.connectCopy(false, func(file string) error {
		// The log goes first: a page that is moved into the database in between is then in both.
		if err := copyFile(t.real+"-wal", file+"-wal"); err != nil {
			return err
		}
		return copyFile(t.real, file)
	})
}

// connectCopy opens a database that write makes in a private folder. The folder goes when the database is closed.
func (t target) connectCopy(immutable bool, write func(file string) error) (*database, error) {
	dir, err := os.MkdirTemp("", "llama-agent-db-")
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "copy.db")
	err = write(file)
	if err == nil {
		file, err = filepath.EvalSymlinks(file)
	}
	var db *database
	if err == nil {
		db, err = t.connect(file, immutable, dir)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return db, nil
}

func copyFile(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// Close closes the connection and removes the private copy.
func (d *database) Close() error {
	err := d.Conn.Close()
	if d.copied != "" {
		err = errors.Join(err, os.RemoveAll(d.copied))
	}
	return err
}

func openFailed(t target, err error) *Error {
	if problem, ok := errors.AsType[*Error](err); ok {
		return problem
	}
	out := &Error{Kind: KindFailed, Message: fmt.Sprintf("opening database %q: %v", t.show, err)}
	if problem, ok := errors.AsType[*readdb.Error](err); ok {
		switch problem.Primary() {
		case readdb.Corrupt, readdb.NotADB:
			out.Fix = "the file is damaged; tell the user"
		case readdb.Busy:
			out.Fix = "another program has locked it; try again later"
		}
	}
	return out
}

// sqliteInsteadOfText refuses a database where text is wanted, and names its tables.
func sqliteInsteadOfText(ctx context.Context, t target) *Error {
	out := &Error{
		Kind:    KindWrongKind,
		Message: fmt.Sprintf("%q is a SQLite database, not a text file", t.show),
		Fix:     fmt.Sprintf("use query_sqlite with db_path %q", t.show),
		Instead: "query_sqlite",
	}
	if tables := tableNames(ctx, t); len(tables) > 0 {
		out.Message += "; its tables are " + listNames(tables, 20)
		out.Data = map[string]any{"tables": tables}
	}
	return out
}
