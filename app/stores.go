package app

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"modernc.org/sqlite"
	sqlitelib "modernc.org/sqlite/lib"

	"github.com/llama-agent/llama-agent/config"
)

// integrityTime bounds the check of one database: a huge one is a matter for SQLite's own tools.
const integrityTime = 15 * time.Second

// checkStores looks at every place that the agent writes to.
func checkStores(ctx context.Context, c *config.Config, m Machine) []Check {
	checks := []Check{checkDatabase(ctx, "tasks", c.Agent.DBPath)}
	folder := nearestFolder(c.Agent.DBPath)
	if m.FreeDiskBytes != nil {
		const least = 200_000_000
		if free := m.FreeDiskBytes(folder); free > 0 && free < least {
			checks = append(checks, warning("disk", "free some space", "%s has %s left", folder, gigabytes(free)))
		}
	}
	return checks
}

// checkDatabase checks that a database can be read and written, and that what is in it is whole.
func checkDatabase(ctx context.Context, name, path string) Check {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		folder := nearestFolder(path)
		if !mayWrite(folder) {
			return problem(name, "change its permissions, or choose another place with --db-path", "%s cannot be made: %s is not writable", path, folder)
		}
		return ok(name, "%s will be made", path)
	case err != nil:
		return problem(name, "check its permissions, or choose another place with --db-path", "%v", err)
	case info.IsDir():
		return problem(name, "choose another place with --db-path", "%s is a folder", path)
	case !mayWrite(path) || !mayWrite(filepath.Dir(path)):
		return problem(name, "change its permissions, or choose another place with --db-path", "%s or its folder is not writable", path)
	}
	ctx, cancel := context.WithTimeout(ctx, integrityTime)
	defer cancel()
	if err := verifyDatabase(ctx, path); err != nil {
		var code *sqlite.Error
		switch {
		case errors.As(err, &code) && code.Code()&0xff == sqlitelib.SQLITE_BUSY:
			return warning(name, "wait for the other process to end, or stop it", "%s is locked by another process", path)
		case errors.Is(err, context.DeadlineExceeded):
			return warning(name, "", "%s was not checked completely within %s", path, integrityTime)
		case ctx.Err() != nil:
			return warning(name, "", "the check was interrupted")
		}
		return problem(name, fmt.Sprintf("move it away (mv %s %s.damaged) or restore a backup", path, path), "%s: %v", path, err)
	}
	return ok(name, "%s, %s, whole and writable", path, gigabytes(info.Size()))
}

// verifyDatabase takes the lock of a writer for a moment and has SQLite check the structure. It changes nothing.
func verifyDatabase(ctx context.Context, path string) error {
	address := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: "mode=rw&_pragma=busy_timeout(1000)"}
	db, err := sql.Open("sqlite", address.String())
	if err != nil {
		return err
	}
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	rows, err := conn.QueryContext(ctx, "PRAGMA quick_check(3)")
	if err != nil {
		return err
	}
	var faults []string
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return errors.Join(err, rows.Close())
		}
		if line != "ok" {
			faults = append(faults, strings.Join(strings.Fields(line), " "))
		}
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return err
	}
	if len(faults) > 0 {
		return fmt.Errorf("the database is damaged: %s", strings.Join(faults, "; "))
	}
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	_, err = conn.ExecContext(ctx, "ROLLBACK")
	return err
}
