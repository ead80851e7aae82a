package sqlitedb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
)

// Prepared is a database with named queries that are prepared once. It is safe for concurrent use.
type Prepared struct {
	*DB
	errClosed error
	reads     map[string]*sql.Stmt // on the pool of readers
	writes    map[string]*sql.Stmt // on the writer

	mu     sync.Mutex
	closed bool
}

// Prepare prepares the queries of a file of [Queries], those that begin with SELECT for readers and the writer, the others for
// the writer. The database belongs to the result from then on, also when Prepare fails: then it is closed. Every use after
// [Prepared.Close] is an error that is errClosed.
func (db *DB) Prepare(ctx context.Context, queries string, errClosed error) (*Prepared, error) {
	p := &Prepared{DB: db, errClosed: errClosed, reads: map[string]*sql.Stmt{}, writes: map[string]*sql.Stmt{}}
	for name, query := range Queries(queries) {
		err := prepareIn(ctx, db.Write, p.writes, name, query)
		if err == nil && strings.HasPrefix(query, "SELECT") {
			err = prepareIn(ctx, db.Read, p.reads, name, query)
		}
		if err != nil {
			return nil, errors.Join(db.Err("opening", err), p.Close())
		}
	}
	return p, nil
}

func prepareIn(ctx context.Context, pool *sql.DB, stmts map[string]*sql.Stmt, name, query string) error {
	stmt, err := pool.PrepareContext(ctx, query) //nolint:sqlclosecheck // kept for all calls; Prepared.Close closes it
	if err != nil {
		return fmt.Errorf("preparing query %q: %w", name, err)
	}
	stmts[name] = stmt
	return nil
}

// Close closes the queries and the database. Closing again does nothing.
func (p *Prepared) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil
	}
	p.closed = true
	var errs []error
	for _, stmts := range []map[string]*sql.Stmt{p.reads, p.writes} {
		for _, stmt := range stmts {
			errs = append(errs, stmt.Close())
		}
	}
	return errors.Join(append(errs, p.DB.Close())...)
}

// Usable returns an error once p is closed.
func (p *Prepared) Usable() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return fmt.Errorf("using database %q: %w", p.Path(), p.errClosed)
	}
	return nil
}

// Tx runs fn with the write lock held, like [DB.Tx].
func (p *Prepared) Tx(ctx context.Context, doing string, fn func(*Tx) error) error {
	if err := p.Usable(); err != nil {
		return err
	}
	return p.DB.Tx(ctx, doing, func(tx *sql.Tx) error { return fn(&Tx{Tx: tx, stmts: p.writes}) })
}

// View runs fn on one state of the database.
func (p *Prepared) View(ctx context.Context, doing string, fn func(*Tx) error) error {
	if err := p.Usable(); err != nil {
		return err
	}
	tx, err := p.Read.BeginTx(ctx, nil)
	if err != nil {
		return p.Err(doing, err)
	}
	defer tx.Rollback() // nothing was written
	return p.Err(doing, fn(&Tx{Tx: tx, stmts: p.reads}))
}

// One runs a query for one row, which scan reads. No row is [sql.ErrNoRows].
func (p *Prepared) One(ctx context.Context, doing string, scan func(*sql.Row) error, query string, args ...any) error {
	if err := p.Usable(); err != nil {
		return err
	}
	err := scan(p.reads[query].QueryRowContext(ctx, args...))
	if errors.Is(err, sql.ErrNoRows) {
		return err
	}
	return p.Err(doing, err)
}

// Tx is a transaction with the queries of a [Prepared] by name. Like every transaction it belongs to one goroutine.
type Tx struct {
	*sql.Tx
	stmts map[string]*sql.Stmt
}

// Do runs a query that returns no rows.
func (t *Tx) Do(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return t.StmtContext(ctx, t.stmts[query]).ExecContext(ctx, args...) //nolint:sqlclosecheck // the end of the transaction closes it
}

// Row runs a query for one row.
func (t *Tx) Row(ctx context.Context, query string, args ...any) *sql.Row {
	return t.StmtContext(ctx, t.stmts[query]).QueryRowContext(ctx, args...) //nolint:sqlclosecheck // the end of the transaction closes it
}

// Rows runs a query for rows, which the caller closes.
func (t *Tx) Rows(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return t.StmtContext(ctx, t.stmts[query]).QueryContext(ctx, args...) //nolint:sqlclosecheck // the end of the transaction closes it
}

// Each calls fn for every row of a query, until fn returns an error.
func (t *Tx) Each(ctx context.Context, fn func(*sql.Rows) error, query string, args ...any) error {
	rows, err := t.Rows(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close() // its error is that of Err
	for rows.Next() {
		if err := fn(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
