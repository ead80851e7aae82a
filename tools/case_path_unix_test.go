//go:build unix

package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// pathCalls are calls of every tool that takes a path.
func pathCalls(path string) map[string]map[string]any {
	return map[string]map[string]any{
		"list_files":            {"pattern": path},
		"read_file":             {"file_path": path},
		"get_file_metadata":     {"file_path": path},
		"search_file":           {"file_path": path, "query": "SECRET"},
		"count_lines":           {"path": path},
		"aggregate_log_errors":  {"log_path": path},
		"search_log":            {"log_path": path, "query": "SECRET"},
		"get_log_window":        {"log_path": path, "line_number": 1},
		"describe_sqlite_table": {"db_path": path},
		"query_sqlite":          {"db_path": path, "query": "SELECT * FROM secrets"},
	}
}

// requireNothingOfOutside looks at all of a result, for programs too.
func requireNothingOfOutside(t *testing.T, result Result, err error) {
	t.Helper()
	data, jsonErr := json.Marshal(result.Data)
	require.NoError(t, jsonErr)
	all := result.Text + string(data)
	if err != nil {
		all += err.Error()
	}
	require.NotContains(t, all, "SECRET-CONTENT")
	require.NotContains(t, all, "secret-name")
	require.NotContains(t, all, "root:x:")
}

// hidingPlace is a workspace beside a folder that nobody may learn anything of, with links in all directions.
func hidingPlace(t *testing.T) (workspace, outside string) {
	t.Helper()
	base := t.TempDir()
	workspace, outside = filepath.Join(base, "ws"), filepath.Join(base, "ws-secret")
	writeFiles(t, workspace, map[string]string{"a.txt": "inside\n", "sub/b.txt": "inside too\n", "sub/deep/c.txt": "inside three\n"})
	writeFiles(t, outside, map[string]string{"secret-name.txt": "SECRET-CONTENT\n", "s": "SECRET-CONTENT\n"})
	makeDatabase(t, filepath.Join(outside, "s.db"), "CREATE TABLE secrets(v)", "INSERT INTO secrets VALUES('SECRET-CONTENT')")
	for link, to := range map[string]string{
		"leak": "/etc/passwd", "link": outside, "sub/up": "../../ws-secret", "chain1": "chain2", "chain2": "link", "dangling": filepath.Join(outside, "new.txt"), "loop1": "loop2", "loop2": "loop1",
		"db": filepath.Join(outside, "s.db"), "sub/deep/root": "/", "sub/deep/ws": "../../../ws-secret/../ws-secret", "proc": "/proc/self/root", "inside": "sub", "file": "sub/b.txt", "here": ".", "back": "sub/deep/../..",
	} {
		require.NoError(t, os.Symlink(to, filepath.Join(workspace, link)))
	}
	return workspace, outside
}

func TestCasePathEscapes(t *testing.T) {
	t.Parallel()
	ws, outside := hidingPlace(t)
	r := builtins(t, ws)
	before, beforeOutside := tree(t, ws), tree(t, outside)
	for _, path := range []string{
		"leak", "link", "link/", "link/.", "link/secret-name.txt", "link/new.txt", "link/new/deeper.txt", "link/s", "link/../ws-secret/s", "sub/up/s", "sub/up/new.txt", "chain1/s", "chain1/new", "dangling", "dangling/x", "loop1", "loop1/x",
		"db", "link/s.db", "sub/deep/root/etc/passwd", "sub/deep/ws/s", "proc/etc/passwd", "inside/up/s", "here/link/s", "here/here/leak", "back/link/s",
		"../ws-secret/s", "a/../../ws-secret/s", "sub/../../ws-secret/s", "./.././ws-secret/s", "sub//..//..//ws-secret//s", "../ws/../ws-secret/s", "..", "../", "../..", "../../../../../../../../etc/passwd", "sub/deep/../../../ws-secret/s",
		"/etc/passwd", "/", "//etc/passwd", "/./etc/passwd", "/proc/self/environ", "/dev/stdin", "/dev/null", outside, outside + "/s", ws + "/../ws-secret/s", ws + "-secret/s", filepath.Dir(ws),
		"a.txt\x00", "a.txt\x00.png", "\x00", "../ws-secret/s\x00", "link/*", "link/**", "sub/up/*", "../*", "../**/*", "../ws-*/s", "/etc/pass*", outside + "/*", "chain?/../link/*", "**/../../ws-secret/*",
	} {
		for tool, args := range pathCalls(path) {
			t.Run("BC-20 "+tool+" "+path, func(t *testing.T) {
				result, err := call(t, r, tool, args)
				if err == nil && tool == "list_files" { // a link is a name in the workspace, which may be listed
					for _, f := range result.Data.(FileList).Files {
						require.Contains(t, f.Kind, "cannot be read")
					}
				} else {
					require.Error(t, err)
				}
				if err != nil { // what was asked for comes back
					err = errors.New(strings.ReplaceAll(err.Error(), path, ""))
				}
				requireNothingOfOutside(t, result, err)
			})
		}
	}
	for _, pattern := range []string{
		"**", "*", "*/*", "**/*", "l*/*", "lin?/*", "{link,sub}/*", "{../ws-secret,sub}/*", "{/etc,sub}/*", "[l]ink/*", "[.][.]/*", ".?/*", "?./ws-secret/*", "*/../*", "**/..", "sub/*/../../../ws-secret/*", "**/up/**", "**/secret*", "*secret*",
	} {
		for _, tool := range []string{"list_files", "search_file", "count_lines"} {
			t.Run("BC-20 "+tool+" "+pattern, func(t *testing.T) {
				result, err := call(t, r, tool, pathCalls(pattern)[tool])
				if err != nil || strings.Contains(pattern, "secret") { // the pattern itself comes back
					result.Text, result.Data = strings.ReplaceAll(result.Text, "secret*", ""), nil
					err = nil
				}
				requireNothingOfOutside(t, result, err)
			})
		}
	}
	for _, pattern := range []string{"../*", "link/*", "/etc/*"} {
		t.Run("BC-20 count_lines with pattern "+pattern, func(t *testing.T) {
			result, err := call(t, r, "count_lines", map[string]any{"path": ".", "pattern": pattern})
			requireNothingOfOutside(t, result, err)
			require.Error(t, err)
		})
	}
	for _, command := range []string{
		"echo /etc/*", "echo ../*", "echo */../../*", "echo link/*", "echo sub/up/*", "echo sub/deep/root/*", "ls -R .", "ls -la", "grep -r SECRET .", "find . -type f", "find . -name '*secret*' -o -name passwd", "du -a", "cat *", "head -n1 */*",
		"wc -l sub/*/*", "cat link/s", "cat chain1/s", "stat inside/up", "file *", "diff a.txt leak", "sort here/link/s", "cat ./leak", "ls here/link/",
	} {
		t.Run("BC-20 "+command, func(t *testing.T) {
			result, err := run(t, r, command)
			if err == nil { // a listing of a link shows its name and where it leads, and a command that finds nothing says what for
				data, _ := result.Data.(ShellResult)
				result.Text, result.Data = data.Stdout, nil
			}
			requireNothingOfOutside(t, result, nil)
			require.NotContains(t, result.Text, "/etc/host")
		})
	}
	for _, path := range []string{"inside/b.txt", "file", "here/a.txt", "back/a.txt", "here/here/sub/deep/c.txt", "sub/../a.txt", "./sub/./b.txt", ws + "/a.txt", ws + "/inside/deep/c.txt", "sub/deep/../b.txt"} {
		t.Run("BC-20 control "+path, func(t *testing.T) {
			require.Contains(t, mustCall(t, r, "read_file", map[string]any{"file_path": path}).Text, "inside")
			require.Equal(t, 1, mustCall(t, r, "count_lines", map[string]any{"path": path}).Data.(LineCounts).Total)
		})
	}
	requireSameTree(t, before, ws, "a call")
	requireSameTree(t, beforeOutside, outside, "a call")
}

// A workspace that is a link itself, or whose path has links, works as the folder that it leads to.
func TestCaseWorkspaceThroughLinks(t *testing.T) {
	t.Parallel()
	ws, outside := hidingPlace(t)
	link := filepath.Join(t.TempDir(), "workspace")
	require.NoError(t, os.Symlink(ws, link))
	r := builtins(t, link)
	for _, path := range []string{"a.txt", link + "/a.txt", ws + "/a.txt", "inside/b.txt"} {
		t.Run("BC-20 control "+path, func(t *testing.T) {
			require.Contains(t, mustCall(t, r, "read_file", map[string]any{"file_path": path}).Text, "inside")
			result, err := run(t, r, "cat "+path)
			require.NoError(t, err)
			require.Contains(t, result.Text, "inside")
		})
	}
	for _, path := range []string{"link/s", "../ws-secret/s", outside + "/s", link + "/../ws-secret/s", link + "/link/s"} {
		t.Run("BC-20 "+path, func(t *testing.T) {
			_, err := call(t, r, "read_file", map[string]any{"file_path": path})
			require.Error(t, err)
			requireNothingOfOutside(t, Result{}, err)
		})
	}
}

// Ids are no paths: whatever they are, nothing is read or made at a place that they name.
func TestCaseIDsAsPaths(t *testing.T) {
	t.Parallel()
	r, s := artifactTools(t, ArtifactOptions{})
	base := filepath.Dir(s.Dir())
	writeFiles(t, base, map[string]string{"x": "SECRET-CONTENT\n", "x.bin": "SECRET-CONTENT\n"})
	mine := storeArtifact(t, s, "me", "a.txt", "mine")
	for _, id := range []string{
		"../../x", "artifact://../../x", "../x", "../../x.bin", base + "/x", "/etc/passwd", "file:///etc/passwd", "artifact:///etc/passwd", "artifact://content/" + mine.SHA256, mine.SHA256 + ".bin", "..", ".", "/", "a/b", `..\..\x`, "x\x00",
		"%2e%2e%2fx", "artifact://%2e%2e/x", mine.Ref + "/../x", mine.Ref + "/../../../x", mine.Ref + "%00", "memory://x", "con", "*", "a' OR '1'='1", strings.Repeat("../", 20) + "etc/passwd",
	} {
		for _, tool := range r.Names() {
			t.Run(fmt.Sprintf("BC-20 %s %q", tool, id), func(t *testing.T) {
				args := map[string]any{"artifact_id": id}
				if tool == "search_artifact" {
					args["query"] = "SECRET"
				}
				_, err := callAs(t, r, "me", tool, args)
				require.ErrorContains(t, err, "there is no artifact")
				requireNothingOfOutside(t, Result{}, err)
			})
		}
		t.Run(fmt.Sprintf("BC-20 owner and tool %q", id), func(t *testing.T) {
			before := tree(t, base)
			out, a, err := virtualizer(s, 1).Apply(t.Context(), id, id, json.RawMessage(`{}`), "", Result{Text: "text of " + id})
			if strings.ContainsRune(id, 0) {
				require.Error(t, err)
				require.Equal(t, Result{Text: "text of " + id}, out)
				return
			}
			require.NoError(t, err)
			for name := range tree(t, base) {
				if before[name] == "" {
					require.Regexp(t, `^store/(content/[0-9a-f]{64}\.bin|artifacts\.sqlite(-wal|-shm)?)$`, name)
				}
			}
			_, content, err := s.Content(t.Context(), id, a.Ref)
			require.NoError(t, err)
			require.Equal(t, "text of "+id, string(content))
			_, err = s.RemoveOwner(t.Context(), id)
			require.NoError(t, err)
			require.FileExists(t, filepath.Join(base, "x"))
			_, content, err = s.Content(t.Context(), "me", mine.Ref)
			require.NoError(t, err)
			require.Equal(t, "mine", string(content))
		})
	}
}

// What cannot be read is named, and everything else is still found.
func TestCaseFoldersWithSpecialFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"a.log": "ERROR a\n", "z/z.log": "ERROR z\n", "closed.log": "ERROR closed\n", "no/x.log": "ERROR x\n"})
	for _, fifo := range []string{"pipe.log", "z/.gitignore", ".ignore", "a.log.1"} {
		require.NoError(t, makeFIFO(filepath.Join(dir, fifo)))
	}
	require.NoError(t, os.Symlink("pipe.log", filepath.Join(dir, "to-pipe.log")))
	require.NoError(t, os.Chmod(filepath.Join(dir, "closed.log"), 0))
	require.NoError(t, os.Chmod(filepath.Join(dir, "no"), 0))
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(dir, "no"), 0o700) })
	r := builtins(t, dir)
	t.Run("BC-20 search_file", func(t *testing.T) {
		found := mustCall(t, r, "search_file", map[string]any{"file_path": "**/*.log", "query": "ERROR"})
		require.Contains(t, found.Text, "a.log:1: ERROR a")
		require.Contains(t, found.Text, "z/z.log:1: ERROR z")
		require.Contains(t, found.Text, `skipped pipe.log: "pipe.log" is a FIFO, not a file`)
		require.Contains(t, found.Text, `skipped to-pipe.log: "to-pipe.log" is a FIFO, not a file`)
		if os.Geteuid() != 0 { // permissions don't bind root
			require.Contains(t, found.Text, `skipped closed.log: opening "closed.log": permission denied`)
		}
	})
	t.Run("BC-20 count_lines", func(t *testing.T) {
		require.Contains(t, mustCall(t, r, "count_lines", map[string]any{"path": "."}).Text, "not counted, because not text or not readable")
	})
	t.Run("BC-20 list_files", func(t *testing.T) {
		list := mustCall(t, r, "list_files", map[string]any{"include_hidden": true}).Text
		require.Contains(t, list, `pipe.log  0 bytes  cannot be read: "pipe.log" is a FIFO, not a file`)
		require.Contains(t, list, "a.log  8 bytes  text")
	})
	t.Run("BC-20 aggregate_log_errors", func(t *testing.T) {
		summary := mustCall(t, r, "aggregate_log_errors", map[string]any{"log_path": "a.log"})
		require.Empty(t, summary.Data.(LogSummary).Rotated, "a FIFO is no part of the log")
	})
	for _, command := range []string{"grep -r ERROR .", "cat *.log", "grep ERROR *.log", "git diff --stat a.log pipe.log", "wc -l pipe.log", "file pipe.log", "head -c1 to-pipe.log"} {
		t.Run("BC-19 "+command, func(t *testing.T) {
			result, err := run(t, r, command)
			if command == "grep -r ERROR ." {
				require.NoError(t, err)
				require.Contains(t, result.Text, "./z/z.log:ERROR z")
				return
			}
			require.ErrorContains(t, err, "is a FIFO, not a file; nothing was run")
		})
	}
}
