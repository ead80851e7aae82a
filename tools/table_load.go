package tools

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	// The driver that writes the private database; readdb only reads.
	_ "modernc.org/sqlite"
)

// maxInsertValues bounds the values of one INSERT; SQLite takes 32,766.
const maxInsertValues = 2000

// openTable opens a text file with rows and columns as a database of one table, in a private copy that goes when it is closed.
func (t target) openTable(ctx context.Context) (*database, error) {
	content, err := readTable(ctx, t)
	if err != nil {
		return nil, err
	}
	db, err := t.connectCopy(true, func(file string) error { return content.store(ctx, file) })
	if err != nil {
		return nil, err
	}
	db.isText = true
	return db, nil
}

// store writes the table into a new database.
func (t *table) store(ctx context.Context, file string) (err error) {
	uri := url.URL{Scheme: "file", Path: filepath.ToSlash(file), RawQuery: "_pragma=journal_mode(off)&_pragma=synchronous(off)"}
	db, err := sql.Open("sqlite", uri.String())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)
	columns := make([]string, len(t.columns))
	for i, name := range t.columns {
		columns[i] = quoteName(name) + " " + t.types[i]
	}
	if _, err := db.ExecContext(ctx, fmt.Sprintf("CREATE TABLE %s(%s)", quoteName(t.name), strings.Join(columns, ", "))); err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, tx.Rollback())
		}
	}()
	places := "(" + strings.TrimSuffix(strings.Repeat("?,", len(t.columns)), ",") + ")"
	step := max(1, maxInsertValues/len(t.columns))
	for from := 0; from < len(t.rows); from += step {
		rows := t.rows[from:min(from+step, len(t.rows))]
		values := make([]any, 0, len(rows)*len(t.columns))
		for _, row := range rows {
			values = append(values, row...)
		}
		statement := "INSERT INTO " + quoteName(t.name) + " VALUES " + strings.TrimSuffix(strings.Repeat(places+",", len(rows)), ",")
		if _, err := tx.ExecContext(ctx, statement, values...); err != nil {
			return err
		}
	}
	return tx.Commit()
}
