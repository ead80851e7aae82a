package graph_test

import (
	"context"
	"database/sql"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/internal/sqlitedb"
)

// holdLock takes the write lock of a database until the returned function is called.
func holdLock(t testing.TB, path string) (release func()) {
	t.Helper()
	db, err := sqlitedb.Open(context.Background(), path, sqlitedb.Options{})
	require.NoError(t, err)
	held, free, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		_ = db.Tx(context.Background(), "holding", func(*sql.Tx) error { close(held); <-free; return nil })
		_ = db.Close()
	}()
	<-held
	return sync.OnceFunc(func() { close(free); <-done })
}
