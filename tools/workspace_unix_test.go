//go:build unix

package tools

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// escapes makes a workspace beside a secret, with links and names that try to reach it.
func escapes(t *testing.T) (workspace, outside string) {
	t.Helper()
	base := t.TempDir()
	workspace, outside = filepath.Join(base, "ws"), filepath.Join(base, "ws-secret")
	writeFiles(t, workspace, map[string]string{"a.txt": "inside\n", "sub/b.txt": "inside too\n"})
	writeFiles(t, outside, map[string]string{"s.txt": "SECRET\n"})
	makeDatabase(t, filepath.Join(outside, "s.db"), "CREATE TABLE secrets(v)")
	for link, to := range map[string]string{
		"leak":         "/etc/passwd",
		"link":         outside,
		"sub/up":       "../../ws-secret/s.txt",
		"leak.db":      filepath.Join(outside, "s.db"),
		"dangling":     filepath.Join(outside, "not-there"),
		"inside":       "a.txt",
		"inside-abs":   filepath.Join(workspace, "a.txt"),
		"folder":       "sub",
		"self":         "self",
		"sub/back":     "..",
		"link-to-link": "leak",
	} {
		require.NoError(t, os.Symlink(to, filepath.Join(workspace, link)))
	}
	return workspace, outside
}

func TestPathsStayInTheWorkspace(t *testing.T) {
	t.Parallel()
	ws, outside := escapes(t)
	r := builtins(t, ws)
	for _, path := range []string{
		"leak", "link/s.txt", "link/new.txt", "link", "sub/up", "a/../../ws-secret/s.txt", "../ws-secret/s.txt", "..", "../",
		filepath.Join(outside, "s.txt"), outside, "/etc/passwd", "/", "dangling", "link-to-link",
		"./../ws-secret/s.txt", "self", "a.txt\x00.png",
	} {
		for _, tool := range []string{
			"read_file", "get_file_metadata", "search_file", "count_lines", "aggregate_log_errors", "search_log", "get_log_window",
		} {
			args := map[string]any{"file_path": path}
			switch tool {
			case "search_file":
				args["query"] = "SECRET"
			case "count_lines":
				args = map[string]any{"path": path}
			case "aggregate_log_errors":
				args = map[string]any{"log_path": path}
			case "search_log":
				args = map[string]any{"log_path": path, "query": "SECRET"}
			case "get_log_window":
				args = map[string]any{"log_path": path, "line_number": 1}
			}
			problem := callError(t, r, tool, args, KindDenied)
			require.NotContains(t, problem.Error(), "SECRET")
		}
	}
	callError(t, r, "query_sqlite", map[string]any{"db_path": "leak.db", "query": "SELECT * FROM secrets"}, KindDenied)
	callError(t, r, "describe_sqlite_table", map[string]any{"db_path": "link/s.db"}, KindDenied)
	for _, pattern := range []string{"../**", "link/*", "/etc/*", outside + "/*", "sub/../../ws-secret/*"} {
		callError(t, r, "list_files", map[string]any{"pattern": pattern}, KindDenied)
	}
	require.NoFileExists(t, filepath.Join(outside, "new.txt"))

	for _, path := range []string{"inside", "inside-abs", "folder/b.txt", "sub/back/a.txt", "sub/../a.txt", filepath.Join(ws, "a.txt"), "./a.txt"} {
		result := mustCall(t, r, "read_file", map[string]any{"file_path": path})
		require.Contains(t, result.Text, "inside", path)
	}
}

func TestWalksDoNotFollowLinks(t *testing.T) {
	t.Parallel()
	ws, _ := escapes(t)
	r := builtins(t, ws)
	list := mustCall(t, r, "list_files", nil)
	require.NotContains(t, list.Text, "s.txt")
	require.NotContains(t, list.Text, "SECRET")
	require.Contains(t, list.Text, "leak  0 bytes  cannot be read")
	require.Contains(t, list.Text, "inside  7 bytes  text")
	found := mustCall(t, r, "search_file", map[string]any{"file_path": "**", "query": "SECRET"})
	require.Zero(t, found.Data.(SearchResult).Total)
	require.NotContains(t, found.Text, "SECRET\n")
	counts := mustCall(t, r, "count_lines", map[string]any{"path": "."}).Data.(LineCounts)
	for _, f := range counts.Files {
		require.NotContains(t, f.Path, "link/")
	}
}

func TestSpecialFilesAreRefused(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "ws") // short, for the socket's name
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	socket, err := net.Listen("unix", filepath.Join(dir, "socket"))
	require.NoError(t, err)
	defer socket.Close()
	r := builtins(t, dir)
	for name, kind := range map[string]string{"pipe": "a FIFO", "socket": "a socket"} {
		for _, tool := range []string{"read_file", "get_file_metadata"} {
			require.ErrorContains(t, callError(t, r, tool, map[string]any{"file_path": name}, KindDenied), kind)
		}
		for _, tool := range []string{"aggregate_log_errors", "search_log"} {
			require.ErrorContains(t, callError(t, r, tool, map[string]any{"log_path": name}, KindDenied), kind)
		}
		callError(t, r, "get_log_window", map[string]any{"log_path": name, "line_number": 1}, KindDenied)
		callError(t, r, "query_sqlite", map[string]any{"db_path": name, "query": "SELECT 1"}, KindDenied)
		callError(t, r, "execute_shell_command", map[string]any{"command": "cat " + name}, KindDenied)
	}
	list := mustCall(t, r, "list_files", nil)
	require.Contains(t, list.Text, "is a FIFO")
	w := newWorkspace("/dev", nil)
	_, problem := w.resolve("null")
	require.ErrorContains(t, problem, "is a device")
}

func TestLogsThroughLinksInsideTheWorkspace(t *testing.T) {
	t.Parallel()
	ws, outside := escapes(t)
	writeFiles(t, ws, map[string]string{"logs/app.log": "ERROR x\n", "logs/app.log.1": "ERROR y\n"})
	writeFiles(t, outside, map[string]string{"old.log": "SECRET\n"})
	require.NoError(t, os.Symlink("logs/app.log", filepath.Join(ws, "current.log")))
	require.NoError(t, os.Symlink(filepath.Join(outside, "old.log"), filepath.Join(ws, "logs", "app.log.2")))
	result := mustCall(t, builtins(t, ws), "aggregate_log_errors", map[string]any{"log_path": "current.log"})
	require.Contains(t, result.Text, "\nx (error, once, line 1)")
	require.Contains(t, result.Text, "[older parts of this log were not read: logs/app.log.1]")
}

// TestOpenAfterTheCheck swaps a checked file for something else, as a racing program could.
func TestOpenAfterTheCheck(t *testing.T) {
	t.Parallel()
	ws, outside := escapes(t)
	w := newWorkspace(ws, nil)
	swap := func(path string, create func(string) error) target {
		checked, problem := w.resolve(path)
		require.Nil(t, problem)
		require.NoError(t, os.Remove(filepath.Join(ws, path)))
		require.NoError(t, create(filepath.Join(ws, path)))
		return checked
	}
	checked := swap("a.txt", func(p string) error { return os.Symlink(filepath.Join(outside, "s.txt"), p) })
	_, err := checked.open()
	require.Error(t, err)
	checked = swap("sub/b.txt", func(p string) error { return syscall.Mkfifo(p, 0o600) })
	_, err = checked.open()
	require.ErrorContains(t, err, "a FIFO")
}

func TestAllowedRootsBesideTheWorkspace(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	writeFiles(t, base, map[string]string{"ws/a.txt": "a\n", "logs/app.log": "ERROR x\n", "logs-old/b.log": "no\n"})
	r, err := NewRegistry(Files(FileOptions{Workspace: filepath.Join(base, "ws"), AllowedRoots: []string{".", "../logs"}})...)
	require.NoError(t, err)
	log := filepath.Join(base, "logs", "app.log")
	require.Contains(t, mustCall(t, r, "read_file", map[string]any{"file_path": log}).Text, "ERROR x")
	require.Contains(t, mustCall(t, r, "read_file", map[string]any{"file_path": "../logs/app.log"}).Text, log)
	found := mustCall(t, r, "search_file", map[string]any{"file_path": filepath.Join(base, "logs", "*.log"), "query": "ERROR"})
	require.Equal(t, 1, found.Data.(SearchResult).Total)
	callError(t, r, "read_file", map[string]any{"file_path": "../logs-old/b.log"}, KindDenied)
}

func TestFileNamesCannotDriveTheTerminal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := "evil\x1b]0;x\x07\n[red].txt"
	writeFiles(t, dir, map[string]string{name: "x\n"})
	r := builtins(t, dir)
	text := mustCall(t, r, "list_files", nil).Text
	require.NotContains(t, text, "\x1b")
	require.Contains(t, text, "[red]")
	_, err := call(t, r, "read_file", map[string]any{"file_path": "evil\x1b[2J"})
	require.NotContains(t, err.Error(), "\x1b")
	require.Contains(t, strings.ToLower(err.Error()), "there is no file")
}
