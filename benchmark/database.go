package benchmark

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"modernc.org/sqlite"
)

// limitAttached is SQLITE_LIMIT_ATTACHED; see https://www.sqlite.org/c3ref/c_limit_attached.html.
const limitAttached = 7

// scriptLimit is how long filling a database may take. It ends statements that would never end.
const scriptLimit = time.Minute

// databaseFile returns the bytes of a SQLite database that the statements of script have filled. The same script gives the
// same bytes, as long as it asks neither the clock nor for random numbers. A script reaches no other file.
func databaseFile(script string) (data []byte, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), scriptLimit)
	defer cancel()
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, fmt.Errorf("making a database: %w", err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	// A database in memory belongs to one connection.
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("making a database: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if _, err := sqlite.Limit(conn, limitAttached, 0); err != nil {
		return nil, fmt.Errorf("making a database: %w", err)
	}
	if _, err := conn.ExecContext(ctx, script); err != nil {
		return nil, fmt.Errorf("running the SQL of a database: %w", err)
	}
	if _, err := conn.ExecContext(ctx, "BEGIN; ROLLBACK"); err != nil {
		return nil, fmt.Errorf("running the SQL of a database: it leaves a transaction open: %w", err)
	}
	err = conn.Raw(func(driver any) error {
		// The driver has had this method since 1.26; without it, the dependency is a wrong one.
		data, err = driver.(interface{ Serialize() ([]byte, error) }).Serialize()
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("writing a database: %w", err)
	}
	return data, nil
}
