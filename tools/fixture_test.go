package tools

import (
	"context"
	"database/sql"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	_ "modernc.org/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// writeFiles makes files below dir. Names use slashes.
func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
}

// makeDatabase runs statements on a new database and closes it.
func makeDatabase(t *testing.T, path string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	db.SetMaxOpenConns(1)
	for _, statement := range statements {
		_, err := db.ExecContext(t.Context(), statement)
		require.NoError(t, err, statement)
	}
	require.NoError(t, db.Close())
}

// builtins is a registry of all built-in tools over a workspace.
func builtins(t *testing.T, dir string) *Registry {
	t.Helper()
	var all []Tool
	all = append(all, Files(FileOptions{Workspace: dir})...)
	all = append(all, Logs(LogOptions{Workspace: dir})...)
	all = append(all, SQLite(SQLiteOptions{Workspace: dir})...)
	all = append(all, Shell(ShellOptions{Workspace: dir})...)
	r, err := NewRegistry(all...)
	require.NoError(t, err)
	return r
}

func call(t *testing.T, r *Registry, tool string, args map[string]any) (Result, error) {
	t.Helper()
	raw, err := json.Marshal(args)
	require.NoError(t, err)
	return r.Call(context.Background(), tool, raw)
}

func mustCall(t *testing.T, r *Registry, tool string, args map[string]any) Result {
	t.Helper()
	result, err := call(t, r, tool, args)
	require.NoError(t, err)
	return result
}

// callError calls a tool that must refuse, with an Error of the kind.
func callError(t *testing.T, r *Registry, tool string, args map[string]any, kind Kind) *Error {
	t.Helper()
	_, err := call(t, r, tool, args)
	require.Error(t, err)
	var toolErr *Error
	require.ErrorAs(t, err, &toolErr)
	require.Equal(t, kind, toolErr.Kind, toolErr.Error())
	require.NotContains(t, toolErr.Error(), "\n")
	if toolErr.Instead != "" {
		require.Contains(t, toolErr.Fix, "use "+toolErr.Instead, "the model reads what the agent does")
	}
	return toolErr
}

// tree lists every file below dir with its content, to show that nothing changed.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		out[filepath.ToSlash(rel)] = string(text)
		return err
	})
	require.NoError(t, err)
	return out
}

// requireSameTree compares with an earlier tree, and names the files that differ.
func requireSameTree(t *testing.T, before map[string]string, dir, doing string) {
	t.Helper()
	after := tree(t, dir)
	for name := range after {
		require.Contains(t, slices.Collect(maps.Keys(before)), name, "%s made a file", doing)
	}
	for name, text := range before {
		require.True(t, text == after[name], "%s changed %s", doing, name)
	}
}
