package app

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/llama-agent/llama-agent/config"
	"github.com/llama-agent/llama-agent/engine/kvstore"
	"github.com/llama-agent/llama-agent/internal/sqlitedb"
)

// integrityTime bounds the check of one database: a huge one is a matter for SQLite's own tools.
const integrityTime = 15 * time.Second

// checkStores looks at every place that the agent writes to.
func checkStores(ctx context.Context, c *config.Config, m Machine) []Check {
	checks := []Check{
		checkDatabase(ctx, "tasks", c.Agent.DBPath, "--db-path"),
		checkDatabase(ctx, "conversations", c.Agent.ConversationDBPath, "agent.conversation_db_path"),
	}
	if _, err := os.Stat(c.Memory.ContextStorePath); err == nil || c.Memory.LifecycleContext {
		checks = append(checks, checkDatabase(ctx, "memory", c.Memory.ContextStorePath, "memory.context_store_path"))
	}
	checks = append(checks, checkKVStore(c))
	folder := nearestFolder(c.Agent.DBPath)
	if m.FreeDiskBytes != nil {
		const least = 200_000_000
		if free := m.FreeDiskBytes(folder); free > 0 && free < least {
			checks = append(checks, warning("disk", "free some space", "%s has %s left", folder, gigabytes(free)))
		}
	}
	return checks
}

// checkDatabase checks that a database can be read and written, and that what is in it is whole. setting is what chooses its place.
func checkDatabase(ctx context.Context, name, path, setting string) Check {
	elsewhere := "or choose another place with " + setting
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		folder := nearestFolder(path)
		if !mayWrite(folder) {
			return problem(name, "change its permissions, "+elsewhere, "%s cannot be made: %s is not writable", path, folder)
		}
		return ok(name, "%s will be made", path)
	case err != nil:
		return problem(name, "check its permissions, "+elsewhere, "%v", err)
	case info.IsDir():
		return problem(name, strings.TrimPrefix(elsewhere, "or "), "%s is a folder", path)
	case !mayWrite(path) || !mayWrite(filepath.Dir(path)):
		return problem(name, "change its permissions, "+elsewhere, "%s or its folder is not writable", path)
	}
	ctx, cancel := context.WithTimeout(ctx, integrityTime)
	defer cancel()
	if err := verifyDatabase(ctx, path); err != nil {
		switch {
		case errors.Is(err, sqlitedb.ErrLocked):
			return warning(name, "wait for the other process to end, or stop it", "%s is locked by another process", path)
		case errors.Is(err, context.DeadlineExceeded):
			return warning(name, "", "%s was not checked completely within %s", path, integrityTime)
		case ctx.Err() != nil:
			return warning(name, "", "the check was interrupted")
		}
		return problem(name, "", "%v", err)
	}
	return ok(name, "%s, %s, whole and writable", path, gigabytes(info.Size()))
}

// checkKVStore says what is kept of earlier prompts. The agent works without.
func checkKVStore(c *config.Config) Check {
	const name = "KV store"
	path, limit := c.Engine.KVStorePath, c.Engine.KVStoreMaxBytes
	if path == "" || limit == 0 {
		return ok(name, "off")
	}
	const fix = "change its permissions, choose another place with engine.kv_store_path, or set engine.kv_store_max_bytes to 0"
	size, err := kvstore.FolderBytes(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if folder := nearestFolder(path); !mayWrite(folder) {
			return warning(name, fix, "%s cannot be made: %s is not writable", path, folder)
		}
		return ok(name, "%s will be made", path)
	case err != nil:
		return warning(name, fix, "%v", err)
	case !mayWrite(path):
		return warning(name, fix, "%s is not writable", path)
	}
	return ok(name, "%s, %s of at most %s", path, gigabytes(size), gigabytes(limit))
}

// verifyDatabase has SQLite check the structure and takes the lock of a writer for a moment. It changes no data.
func verifyDatabase(ctx context.Context, path string) (err error) {
	db, err := sqlitedb.Open(ctx, path, sqlitedb.Options{BusyTimeout: time.Second})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	faults, err := quickCheck(ctx, db)
	if err != nil {
		return err
	}
	if len(faults) > 0 {
		return fmt.Errorf("database %q is damaged: %s; restore it from a copy, or move it away to start with an empty one", path, strings.Join(faults, "; "))
	}
	return db.Tx(ctx, "locking", func(*sql.Tx) error { return nil })
}

// quickCheck returns what is wrong with the structure of a database, at most three faults.
func quickCheck(ctx context.Context, db *sqlitedb.DB) (faults []string, err error) {
	rows, err := db.Read.QueryContext(ctx, "PRAGMA quick_check(3)")
	if err != nil {
		return nil, db.Err("checking", err)
	}
	defer rows.Close()
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return nil, db.Err("checking", err)
		}
		if line != "ok" {
			faults = append(faults, strings.Join(strings.Fields(line), " "))
		}
	}
	return faults, db.Err("checking", rows.Err())
}
