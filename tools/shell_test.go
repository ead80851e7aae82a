//go:build unix

package tools

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func shellRegistry(t *testing.T, options ShellOptions) *Registry {
	t.Helper()
	r, err := NewRegistry(Shell(options)...)
	require.NoError(t, err)
	return r
}

func run(t *testing.T, r *Registry, command string) (Result, error) {
	t.Helper()
	return call(t, r, "execute_shell_command", map[string]any{"command": command})
}

// refused runs a command that must not run, and shows that it did nothing.
func refused(t *testing.T, r *Registry, dir, command string) *Error {
	t.Helper()
	before := tree(t, dir)
	_, err := run(t, r, command)
	var problem *Error
	require.ErrorAs(t, err, &problem, command)
	require.Contains(t, []Kind{KindDenied, KindInvalidArguments}, problem.Kind, command)
	require.NotEmpty(t, problem.Fix, command)
	requireSameTree(t, before, dir, command)
	return problem
}

func TestOnlyTheWholeCommandIsAllowedOrRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"a": "x\n", "my dir/inner.txt": "x\n"})
	r := shellRegistry(t, ShellOptions{Workspace: dir, AllowedCommands: []string{"ls", "cat", "echo", "touch"}})
	for _, command := range []string{
		"ls\nid>pwned", "ls;id", "ls&&id", "ls|sh", "ls&id", "ls & ls", "ls &", "echo $(id)", "echo `id`", "cat <(id)", "cat >(id)", "(id)", "(ls)", "{ id;}", "{ ls; }",
		"ls>pwned", "ls >> pwned", "ls 2>pwned", "ls >| pwned", "ls &> pwned", "ls <a", "A=1 id", "A=1", "A=1 ls", "./ls", "/opt/x/ls", "/bin/ls", "ls\r\nid", "ls\rid",
		"ls || id", "id || ls", "ls && ls && id", "! ls", "ls |& cat", "if ls; then ls; fi", "while ls; do ls; done", "for i in a; do ls; done", "case a in a) ls;; esac",
		"f() { ls; }", "f() { ls; }; f", "time ls", "coproc ls", "[[ -f a ]]", "((1))", "export A=1", "local a", "declare a", "let a=1",
		"cat <<E\nid\nE", "cat <<< id", "echo $HOME", "echo ${HOME}", `echo "$HOME"`, `echo "$(id)"`, "echo $((1+1))", "echo $'a'", `echo $"a"`, "echo ~", "echo ~root/x",
		"echo {a,b}", "echo {1..9}", "echo {{a,b}}", "echo {a}{b,c}", "echo {{a,b}", "echo x{a..c}y{z}", `echo {a,"b"}`, "$(echo id)", "`echo id`", "$SHELL", "eval id", "exec id", "command id", "builtin id", "source a", ". a", "env id", "xargs id",
		"ls\x00id", "ls \x1b[2J", "'ls' | 'sh'", `"id"`, `i\d`, "l's'; id", "echo @(a|b)", "echo !(a)", "ls 3>&1", "ls >&2 2>&-", "ls 2>&1 >pwned", "echo 'unfinished", "ls |", "&& ls", "ls;; ls", ")",
		"-", "--", "''", "echo a > /dev/tcp/x/1",
	} {
		refused(t, r, dir, command)
	}
	require.ErrorContains(t, refused(t, r, dir, "ls;id"), `"id" is not among the allowed programs; nothing was run; the allowed programs are ls, cat, echo, touch`)
	refused(t, r, dir, "touch made; id")
	refused(t, r, dir, "touch made && cat <(id)")

	for command, want := range map[string]string{
		`echo 'a;b'`:                  "a;b\n",
		`echo "a && b"`:               "a && b\n",
		`ls "my dir"`:                 "inner.txt\n",
		`ls my\ dir`:                  "inner.txt\n",
		`ls 'my dir' | cat`:           "inner.txt\n",
		`echo a; echo b`:              "a\nb\n",
		`echo a && echo b || echo c`:  "a\nb\n",
		`cat nope || echo c`:          "c\n",
		`cat nope && echo c`:          "",
		`cat nope 2>/dev/null`:        "",
		`echo a >/dev/null`:           "",
		`echo '$HOME' "\$x" \* '{a}'`: "$HOME $x * {a}\n",
		`echo *`:                      "a my dir\n",
		`echo m*/*.txt`:               "my dir/inner.txt\n",
		`echo no*thing`:               "no*thing\n",
		`l's'`:                        "a\nmy dir\n",
		`echo a # a comment`:          "a\n",
		`echo {a} {} @{0} \{a\} a{`:   "{a} {} @{0} {a} a{\n",
		`echo {~,{a}`:                 "{~,{a}\n",
		`echo "a"'b'c`:                "abc\n",
		"echo\ta":                     "a\n",
		`echo 漢字 "é"`:                 "漢字 é\n",
	} {
		result, err := run(t, r, command)
		require.NoError(t, err, command)
		require.Equal(t, want, result.Data.(ShellResult).Stdout, command)
	}
	result, err := run(t, r, "cat nope 2>&1 | cat")
	require.NoError(t, err)
	require.Contains(t, result.Data.(ShellResult).Stdout, "No such file")
	require.Empty(t, result.Data.(ShellResult).Stderr)
	result, err = run(t, r, "cat nope")
	require.NoError(t, err, "a failing program is a result")
	require.Equal(t, 1, result.Data.(ShellResult).ExitCode)
	require.Contains(t, result.Text, "exit code 1\nstderr:\ncat: nope")
}

func TestProgramsCannotRunOrWriteThroughTheirOptions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"a": "id\n", "b": "id\n", "names": "/etc/passwd\x00", "sub/x": "x\n", "-o": "x\n"})
	allowed := append(DefaultCommands(), "sed", "tar", "awk", "xargs", "env", "sh", "bash", "python3", "rg", "tee", "perl", "diff", "tree", "timeout", "printenv")
	r := shellRegistry(t, ShellOptions{Workspace: dir, AllowedCommands: allowed})
	for _, command := range []string{
		`find . -exec id \;`, `find . -execdir id \;`, `find . -ok id \;`, "find . -fprint x", "find . -fprintf x %p", "find . -fprint0 x", "find . -fls x", "find . -delete",
		"find -L . -name x", "find -H .", "find . -follow", "find . -files0-from names", "find /etc", "find . -newer /etc/passwd", "find ../", "find . -name x -o -delete", "find . -exe id",
		"git -c alias.z='!id' z", "git -C /etc log", "git --git-dir=/x log", "git --exec-path=. log", "git --paginate log", "git -p log", "git --config-env=a=b log",
		"git grep --open-files-in-pager=id hi", "git grep -O hi", "git grep -Oid hi", "git grep --open-files=id hi", "git grep --op=id hi", "git grep -nOid hi",
		"git diff --no-index --output=x a /dev/null", "git diff --output=x", "git diff --outp=x", "git log --output=x", "git show --output x", "git diff -U --output=x", "git diff -U3 --output=x",
		"git log -S --output=x", "git diff --ext-diff", "git log --textconv", "git diff --textconv", "git diff a /etc/passwd", "git blame --contents /etc/passwd a", "git diff --no-index a ../x",
		"git fetch --upload-pac=id", "git commit", "git commit -m x", "git config --get x", "git config alias.x '!id'", "git add a", "git checkout .", "git stash", "git clone x", "git push", "git rebase -i",
		"git branch new", "git branch -D x", "git branch -m x y", "git tag v1", "git tag -d v1", "git tag -s v1", "git remote add x y", "git remote show origin", "git help log", "git archive HEAD", "git difftool",
		"git log -O/etc/passwd", "git grep -f /etc/passwd", "git ls-files -X /etc/passwd", "git ls-files --exclude-from=/etc/passwd", "git cat-file --textconv HEAD:a", "git rev-parse --git-path x", "git bisect run id",
		"git describe --dirty", "git submodule foreach id", "git alias", "git", "git diff -S /etc/passwd", "git log --since /etc/passwd",
		"sed -i s/a/b/ a", "sed --in-place s/a/b/ a", "sed -f a b", "sed -n -i.bak p a", "sed p /etc/passwd", "sed --expr=p a",
		"sort -o x a", "sort -ox a", "sort --output=x a", "sort --outp=x a", "sort --compress-program=id a", "sort -T . a", "sort --files0-from=names", "sort --files0-fro=names", "sort *",
		"awk 'BEGIN{system(\"id\")}'", "tar cf /dev/null --checkpoint=1 --checkpoint-action=exec=id a", "env id", "env", "xargs id", "sh -c id", "bash -c id", "python3 -c 1", "perl -e 1", "tee x", "timeout 1 id",
		"rg --pre id hi", "rg --pre=id hi .", "rg -z hi .", "rg --hostname-bin=id hi", "rg -L hi", "rg hi /etc", "rg -f /etc/passwd hi",
		"uniq a b", "wc --files0-from=names", "wc --files0-from names", "du --files0-from=names", "du -X /etc/passwd", "du -L", "du -D sub", "date -s 12:00", "date --set=12:00", "date 01010101", "date -f /etc/passwd", "date -r /etc/passwd",
		"file -m /etc/magic a", "file -f names", "file -C", "file -z a", "tail -f a", "tail -F a", "tail --follow a", "tail --retry a", "ls -L", "ls -LR", "ls --dereference", "grep -R x .", "grep -Rn x", "grep -f /etc/passwd a",
		"grep --file=/etc/passwd a", "grep --fil=/etc/passwd a", "grep -if/etc/passwd a", "grep -e x /etc/passwd", "stat -L a", "tree -o x", "tree -l", "tree --fromfile a", "diff . sub", "diff -r . sub", "diff --from-file=/etc/passwd a",
		"cat /etc/passwd", "cat ../x", "cat sub/../../x", "head -n 1 /etc/passwd", "ls /", "ls ..", "cat < a", "cat /proc/self/environ", "cat /dev/zero", "cat /dev/stdin", "head -c 5 /dev/urandom",
		"printenv ../x",
	} {
		refused(t, r, dir, command)
	}
	require.ErrorContains(t, refused(t, r, dir, "sort -o x a"), `sort is not allowed to use "-o"; nothing was run`)
	require.ErrorContains(t, refused(t, r, dir, "xargs id"), `"xargs" is never allowed: it runs other programs`)
	require.ErrorContains(t, refused(t, r, dir, "git push"), "only subcommands that read")
	for _, command := range []string{"sqlite3 a.db 'SELECT 1'", "sqlite3 a.db 'SELECT 'x'"} { // the second is no shell
		require.Equal(t, "query_sqlite", refused(t, r, dir, command).Instead, command)
	}
	require.ErrorContains(t, refused(t, r, dir, "grep 'x a"), "not valid shell", "of a program that may run, that is what is wrong")
	require.ErrorContains(t, refused(t, r, dir, "wc -l"), "its input is empty")

	for command, want := range map[string]string{
		"grep -c i a":                         "1\n",
		"grep /api a; echo done":              "done\n",
		"grep -e '../x' a; echo done":         "done\n",
		"head -1 a":                           "id\n",
		"head -n1 a":                          "id\n",
		"tail -n +1 a":                        "id\n",
		"cat a b | sort | uniq -c | cut -c7-": "2 id\n",
		"sort -t, -k 2 a":                     "id\n",
		"cut -d / -f 1 a":                     "id\n",
		"find . -name x -type f":              "./sub/x\n",
		`find sub \( -name x -o -name y \)`:   "sub/x\n",
		"find . -maxdepth 1 -size -1 -name a": "",
		"cat -- -o":                           "x\n",
		"grep -r x sub":                       "sub/x:x\n",
		"grep -rn --include='*x' x .":         "./sub/x:1:x\n",
		"wc -l < a || echo":                   "",
		"date -u -d 2024-01-02 +%F":           "2024-01-02\n",
		"cat a /dev/null":                     "id\n",
		"stat -c %s a":                        "3\n",
		"cat ./a":                             "id\n",
		"cat " + dir + "/a":                   "id\n",
	} {
		if want == "" && strings.Contains(command, "<") {
			refused(t, r, dir, command)
			continue
		}
		result, err := run(t, r, command)
		require.NoError(t, err, command)
		require.Equal(t, want, result.Data.(ShellResult).Stdout, command)
	}
	if _, err := exec.LookPath("sed"); err == nil {
		result, err := run(t, r, "sed -n 1p a")
		require.NoError(t, err)
		require.Equal(t, "id\n", result.Data.(ShellResult).Stdout)
		for _, script := range []string{"1e id", "w x", "1!e id", "s/i/id/we", "s/i/id/e", "s/i/j/w x", "r /etc/passwd", "R /etc/passwd"} {
			before := tree(t, dir)
			result, err := run(t, r, "sed '"+script+"' a")
			require.NoError(t, err)
			require.NotZero(t, result.Data.(ShellResult).ExitCode, script)
			require.NotContains(t, result.Text, "uid=")
			require.NotContains(t, result.Text, "root:")
			requireSameTree(t, before, dir, script)
		}
	}
}

func TestNoSecretsReachPrograms(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-test")
	t.Setenv("GIT_CONFIG_GLOBAL", "/somewhere")
	dir := t.TempDir()
	r := shellRegistry(t, ShellOptions{Workspace: dir, AllowedCommands: []string{"printenv", "cat"}})
	result, err := run(t, r, "printenv")
	require.NoError(t, err)
	environ := result.Data.(ShellResult).Stdout
	require.NotContains(t, environ, "sk-test")
	require.NotContains(t, environ, "/somewhere")
	require.Contains(t, environ, "GIT_TERMINAL_PROMPT=0\n")
	for line := range strings.Lines(environ) {
		if home, ok := strings.CutPrefix(strings.TrimSpace(line), "HOME="); ok {
			require.NoDirExists(t, home, "the private home folder is removed")
		}
	}
	require.False(t, Shell(ShellOptions{Workspace: dir, AllowedCommands: []string{"printenv"}})[0].Spec().ReadOnly, "an unknown program")
	offered := Shell(ShellOptions{Workspace: dir, AllowedCommands: []string{"ls", "python3", "env"}})[0].Spec()
	require.Equal(t, "Runs a command line, with pipes, of ls.", offered.Description)
	require.True(t, offered.ReadOnly)
}

func TestPathsInCommandsStayInTheWorkspace(t *testing.T) {
	t.Parallel()
	ws, outside := escapes(t)
	r := builtins(t, ws)
	for _, command := range []string{
		"cat leak", "cat link/s.txt", "cat sub/up", "cat link/*", "ls link", "ls link/", "find link/", "head " + outside + "/s.txt", "cat " + outside + "/*",
		"cat dangling", "grep SECRET link/s.txt", "wc -l leak", "git diff a.txt leak", "grep -f leak a.txt", "stat link/s.txt", "cat link-to-link", "cat self",
	} {
		_, err := run(t, r, command)
		var problem *Error
		require.ErrorAs(t, err, &problem, command)
		require.Equal(t, KindDenied, problem.Kind, command)
	}
	for command, want := range map[string]string{
		"cat inside":                  "inside\n",
		"cat folder/b.txt":            "inside too\n",
		"grep -rh SECRET .":           "",
		"cat *.txt":                   "inside\n",
		"echo lea* lin*":              "lea* lin*\n",
		"find . -name s.txt":          "",
		"grep -c . a.txt sub/b.txt":   "a.txt:1\nsub/b.txt:1\n",
		"find folder/ -name b.txt":    "folder/b.txt\n",
		"grep -rl inside folder/":     "folder/b.txt\n",
		"cat sub/*.txt | grep -c too": "1\n",
	} {
		result, err := run(t, r, command)
		require.NoError(t, err, command)
		require.Equal(t, want, result.Data.(ShellResult).Stdout, command)
	}
}

// hostileRepository is a repository whose own configuration wants to run a program that leaves a mark.
func hostileRepository(t *testing.T, dir, mark string, settings ...string) {
	t.Helper()
	writeFiles(t, dir, map[string]string{"a.txt": "one\n", ".gitattributes": "*.txt diff=evil filter=evil\n"})
	script := filepath.Join(dir, "mark.sh")
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\ntouch "+mark+"\ncat\n"), 0o755))
	git := func(args ...string) {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
	}
	git("init", "-q")
	git("add", ".")
	git("-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "-q", "-m", "first")
	for _, setting := range settings {
		git("config", setting, script)
	}
	for _, hook := range []string{"post-index-change", "fsmonitor-watchman", "pre-commit"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, ".git", "hooks", hook), []byte("#!/bin/sh\ntouch "+mark+"\n"), 0o755))
	}
	writeFiles(t, dir, map[string]string{"a.txt": "two\n"})
	require.NoFileExists(t, mark)
}

func TestRepositoriesCannotRunPrograms(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	commands := []string{
		"git status", "git status --short", "git diff", "git diff HEAD", "git log -p", "git show", "git show --stat", "git blame a.txt", "git grep -n two", "git log --format=%G?",
		"git ls-files -m", "git describe --always", "git branch -a", "git tag -l", "git shortlog -s", "git rev-parse HEAD", "git cat-file -p HEAD:a.txt",
	}
	for _, setting := range []string{
		"core.fsmonitor", "core.pager", "core.editor", "core.sshCommand", "core.hooksPath", "gpg.program", "pager.log", "alias.status", "core.alternateRefsCommand", "credential.helper", "core.askPass",
	} {
		t.Run(setting, func(t *testing.T) {
			t.Parallel()
			dir, mark := t.TempDir(), filepath.Join(t.TempDir(), "mark")
			hostileRepository(t, dir, mark, setting)
			r := builtins(t, dir)
			before := tree(t, dir)
			for _, command := range commands {
				result, err := run(t, r, command)
				require.NoError(t, err, command)
				require.Zero(t, result.Data.(ShellResult).ExitCode, "%s: %s", command, result.Text)
				require.NoFileExists(t, mark, command)
				requireSameTree(t, before, dir, command)
			}
		})
	}
	for _, setting := range []string{"diff.evil.command", "diff.evil.textconv", "filter.evil.clean", "filter.evil.process", "diff.external", "core.worktree"} {
		t.Run(setting, func(t *testing.T) {
			t.Parallel()
			dir, mark := t.TempDir(), filepath.Join(t.TempDir(), "mark")
			hostileRepository(t, dir, mark, setting)
			r := builtins(t, dir)
			for _, command := range commands {
				_, err := run(t, r, command)
				require.ErrorContains(t, err, "own configuration makes git run programs or leave the folder ("+setting+")", command)
				require.NoFileExists(t, mark, command)
			}
		})
	}
	t.Run("outside", func(t *testing.T) {
		t.Parallel()
		base := t.TempDir()
		hostileRepository(t, base, filepath.Join(t.TempDir(), "mark"))
		writeFiles(t, base, map[string]string{"ws/x": "x\n", "other/.git": "gitdir: " + filepath.Join(base, ".git") + "\n"})
		result, err := run(t, builtins(t, filepath.Join(base, "ws")), "git log")
		require.NoError(t, err)
		require.NotZero(t, result.Data.(ShellResult).ExitCode, "a repository above the workspace was read")
		_, err = run(t, builtins(t, filepath.Join(base, "other")), "git log")
		require.ErrorContains(t, err, "partly outside")
	})
}

func TestCommandsThatNeverReturn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"a": "x\n"})
	r := shellRegistry(t, ShellOptions{Workspace: dir, AllowedCommands: []string{"sleep", "yes", "cat", "echo", "head", "tail"}, Timeout: 300 * time.Millisecond, MaxOutputBytes: 1000})
	for _, command := range []string{"sleep 60", "yes", "yes | cat", "echo first; sleep 60", "sleep 60 | cat", "sleep 60 || echo never"} {
		result, err := run(t, r, command)
		var problem *Error
		require.ErrorAs(t, err, &problem, command)
		require.Equal(t, KindTimeout, problem.Kind)
		require.ErrorContains(t, err, "timed out")
		data := problem.Data.(ShellResult)
		require.True(t, data.TimedOut)
		require.LessOrEqual(t, len(data.Stdout), 1000)
		require.NotContains(t, data.Stdout, "never")
		if strings.HasPrefix(command, "echo first") {
			require.Equal(t, "first\n", data.Stdout, "the partial output")
			require.Contains(t, result.Text, "timed out; the output so far:\nfirst")
		}
	}
	result, err := run(t, r, "yes | head -n 2")
	require.NoError(t, err)
	require.Equal(t, "y\ny\n", result.Data.(ShellResult).Stdout)
	for _, command := range []string{"cat", "sleep 60 & echo hi", "git commit"} {
		refused(t, r, dir, command)
	}

	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	_, err = r.WithLimits(Limits{}).Call(ctx, "execute_shell_command", []byte(`{"command":"sleep 0.2 && sleep 60"}`))
	require.ErrorIs(t, err, context.Canceled)
}

// runDirect runs words past the check, as a program that starts others would.
func runDirect(t *testing.T, timeout time.Duration, argv ...string) ShellResult {
	t.Helper()
	s := &shell{w: newWorkspace(t.TempDir(), nil), options: ShellOptions{Timeout: timeout, MaxOutputBytes: 10_000}.withDefaults()}
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	result, err := s.run(ctx, &shellPlan{pipeline: []shellCommand{{argv: argv, stderr: toStderr}}})
	if err != nil {
		require.ErrorIs(t, err, context.DeadlineExceeded)
	}
	return result
}

// TestNoProcessSurvives checks by process ID that grandchildren are gone, also those that hold the output open.
func TestNoProcessSurvives(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"in the background":        `sleep 60 & echo $!`,
		"in a pipe":                `sleep 60 | cat & echo $!; wait`,
		"ignoring signals":         `trap "" TERM INT HUP; sleep 60 & echo $!; wait; sleep 60`,
		"below another shell":      `sh -c 'sleep 60 & echo $!; wait'`,
		"after the shell has gone": `(sleep 60 & echo $!) ; exit 3`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			started := time.Now()
			result := runDirect(t, time.Second, "sh", "-c", script)
			require.Less(t, time.Since(started), 30*time.Second, "it waited for the grandchild")
			pid, err := strconv.Atoi(strings.TrimSpace(result.Stdout))
			require.NoError(t, err, result.Stdout)
			require.Eventually(t, func() bool { return processGone(pid) }, 10*time.Second, 5*time.Millisecond, "process %d survived", pid)
		})
	}
}

// processGone tells whether a process has ended; a zombie that nobody reaps has.
func processGone(pid int) bool {
	if err := syscall.Kill(pid, 0); err != nil {
		return true
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && strings.Contains(string(stat), ") Z ")
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	require.Equal(t, 3, runDirect(t, 5*time.Second, "sh", "-c", "exit 3").ExitCode)
	require.Equal(t, 128+9, runDirect(t, 5*time.Second, "sh", "-c", "kill -9 $$").ExitCode)
	require.Empty(t, runDirect(t, 5*time.Second, "sh", "-c", "cat; read x").Stdout, "the input is empty")
}

func TestOutputIsCappedAtWholeCharacters(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"han": strings.Repeat("汉", 40), "ctl": "\x1b[2Jcaf\xe9\r\n"})
	r := shellRegistry(t, ShellOptions{Workspace: dir, MaxOutputBytes: 80})
	result, err := run(t, r, "cat han")
	require.NoError(t, err)
	data := result.Data.(ShellResult)
	require.Equal(t, strings.Repeat("汉", 26), data.Stdout)
	require.True(t, data.Truncated)
	require.EqualValues(t, 120, data.StdoutBytes)
	require.Contains(t, result.Text, "[42 more bytes left out")
	require.True(t, utf8.ValidString(result.Text))
	result, err = run(t, r, "cat ctl")
	require.NoError(t, err)
	require.Equal(t, "exit code 0\n␛[2Jcaf\\xE9", result.Text)
}

func TestMemoryIsBoundedUnderYes(t *testing.T) {
	t.Parallel()
	b := &cappedBuffer{limit: 1000}
	block := []byte(strings.Repeat("y\n", 16<<10))
	for range 10_000 {
		n, err := b.Write(block)
		require.NoError(t, err)
		require.Equal(t, len(block), n)
	}
	require.LessOrEqual(t, cap(b.kept), 2000)
	_, total, left := b.text()
	require.EqualValues(t, 10_000*len(block), total)
	require.EqualValues(t, total-1000, left)
}

func TestProgramsInTheWorkspaceAreNotFound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "ls"), []byte("#!/bin/sh\necho planted\n"), 0o755))
	r := shellRegistry(t, ShellOptions{Workspace: dir, SearchPath: []string{dir, ".", "/usr/bin", "/bin"}})
	result, err := run(t, r, "ls")
	require.NoError(t, err)
	require.Equal(t, "ls\n", result.Data.(ShellResult).Stdout)
	none := shellRegistry(t, ShellOptions{Workspace: dir, SearchPath: []string{dir}})
	_, err = run(t, none, "ls")
	require.ErrorContains(t, err, `"ls" is allowed but not installed`)
}

func TestGrepThatMatchesNothingShowsItsInput(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"a.txt": "pear\nplum\n"})
	r := builtins(t, dir)
	run := func(command string) (ShellResult, string) {
		result := mustCall(t, r, "execute_shell_command", map[string]any{"command": command})
		return result.Data.(ShellResult), result.Text
	}
	result, text := run("cat a.txt | sort | grep fig")
	require.Equal(t, "pear\nplum", result.Unfiltered)
	require.Contains(t, text, "nothing matched\nWithout the last grep the output is:\npear\nplum")
	for _, command := range []string{"grep fig a.txt", "cat a.txt | grep plum", "cat a.txt | grep fig | grep pear", "pwd; cat a.txt | grep fig"} {
		result, _ := run(command)
		require.Empty(t, result.Unfiltered, command)
	}
}

func TestCommandsThatChangeSomethingAreRefusedForGood(t *testing.T) {
	t.Parallel()
	r := builtins(t, t.TempDir())
	for command, final := range map[string]bool{
		"rm -rf logs": true, "sed -i s/a/b/ a.txt": true, "sed --in-place s/a/b/ a.txt": true, "tee a.txt": true, "cat a.txt | tee b.txt": true,
		"sed s/a/b/ a.txt": false, "awk 1 a.txt": false, "tac a.txt": false,
	} {
		require.Equal(t, final, callError(t, r, "execute_shell_command", map[string]any{"command": command}, KindDenied).Final, command)
	}
}

func TestFieldsAreSeparatedAsInTheFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		"t.csv": "name,price\npen,9\ncup,2\nlamp,31\n", "t.txt": "name price\npen 2\n", "t.ssv": "a;b,c;d\n", "empty": "",
	})
	r := builtins(t, dir)
	for command, want := range map[string]string{
		"sort t.csv -k 2 -nr | head -n 1": "exit code 0; the fields of t.csv are separated by \",\", so sort ran with -t','\nlamp,31",
		"sort --key=2 -n t.csv | tail -1": "exit code 0; the fields of t.csv are separated by \",\", so sort ran with -t','\nlamp,31",
		"cut -f 2 t.csv | head -1":        "exit code 0; the fields of t.csv are separated by \",\", so cut ran with -d','\nprice",
		"cut -f2 t.ssv":                   "exit code 0; the fields of t.ssv are separated by \";\", so cut ran with -d';'\nb,c",
		"cut -f 1 empty t.ssv":            "exit code 0; the fields of t.ssv are separated by \";\", so cut ran with -d';'\na",
		"cut -d, -f 1 t.ssv":              "exit code 0\na;b",
		"cut -c 1 t.ssv":                  "exit code 0\na",
		"sort -k 2 t.txt | head -n 1":     "exit code 0\npen 2",
		"sort t.ssv":                      "exit code 0\na;b,c;d",
		"cat t.ssv | cut -f 2":            "exit code 0\na;b,c;d",
	} {
		require.Equal(t, want, strings.TrimSpace(mustCall(t, r, "execute_shell_command", map[string]any{"command": command}).Text), command)
	}
}

func TestBranchOfARepositoryWithoutACommit(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		".git/HEAD": "ref: refs/heads/feature/first\n", ".git/config": "[core]\n\trepositoryformatversion = 0\n\tbare = false\n",
		".git/objects/info/alternates": "", ".git/refs/.keep": "",
	})
	r := builtins(t, dir)
	result := mustCall(t, r, "execute_shell_command", map[string]any{"command": "git branch"})
	require.Equal(t, "exit code 0, no output\nThe repository has no commit yet; its branch is feature/first", result.Text)
	require.Equal(t, "feature/first", result.Data.(ShellResult).Unborn)
	require.Empty(t, mustCall(t, r, "execute_shell_command", map[string]any{"command": "git ls-files"}).Data.(ShellResult).Unborn)
}
