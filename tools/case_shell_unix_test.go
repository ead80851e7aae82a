//go:build unix

package tools

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Beside the commands of TestOnlyTheWholeCommandIsAllowedOrRefused: other line ends, spellings and places to hide a program.
func TestCaseOnlyTheWholeCommand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"a": "x\n", "my dir/inner.txt": "x\n", "id": "#!/bin/sh\ntouch pwned\n", "ls": "#!/bin/sh\ntouch pwned\n"})
	for _, program := range []string{"id", "ls"} {
		require.NoError(t, os.Chmod(filepath.Join(dir, program), 0o755))
	}
	r := shellRegistry(t, ShellOptions{Workspace: dir, AllowedCommands: []string{"ls", "cat", "echo"}})
	for name, command := range map[string]string{
		"newline": "ls\nid>pwned", "newline at the end": "ls\n", "carriage return": "ls\r\nid", "vertical tab": "ls\vid", "form feed": "ls\fid", "NEL": "ls\u0085id", "escape": "ls\x1bid", "NUL": "ls\x00id",
		"line continuation": "ls \\\nid", "semicolon in no quotes": "ls 'a';id", "quoted operator and a real one": "echo 'a;b' ; id", "and": "ls&&id", "or": "ls a||id", "pipe": "ls|id", "pipe with errors": "ls|&id",
		"background": "ls&id", "background in a pipe": "ls & cat", "substitution": "echo $(id)", "backquotes": "echo `id`", "in double quotes": `echo "x$(id)x"`, "backquotes in double quotes": "echo \"`id`\"",
		"nested": "echo $(echo $(id))", "arithmetic with substitution": "echo $(($(id)))", "old arithmetic": "echo $[1+1]", "process substitution": "cat <(id)", "in a redirection": "cat 2> >(id)", "subshell": "(id)",
		"group": "{ id;}", "redirection": "ls>pwned", "append": "ls>>pwned", "clobber": "ls >|pwned", "both": "ls &>pwned", "descriptor": "ls 3>pwned", "errors": "cat nope 2>pwned", "before the program": ">pwned ls",
		"read and write": "cat <>pwned", "to a variable": "ls {fd}>pwned", "assignment": "A=1 id", "assignment of a path": "PATH=. ls", "of a preload": "LD_PRELOAD=./x.so ls", "array": "a=(id)", "by path": "./ls", "absolute": "/opt/x/ls",
		"parent": "../x/ls", "own folder by a word": "./id", "backslash": `l\s\;id;id`, "by quotes": `"i"'d'`, "empty and id": `'' id`, "tilde": "~/ls", "variable": "$SHELL -c id", "indirect": "${!SHELL}", "glob as a program": "i*",
		"alias": "alias ls=id; ls", "function": "ls() { id; }; ls", "keyword": "if true; then id; fi", "negated": "! id", "time": "time id", "exec": "exec id", "eval": "eval id", "dot": ". ./id", "command": "command id",
		"builtin": "builtin eval id", "trap": "trap id EXIT", "here document": "cat <<X\n$(id)\nX", "here string": "cat <<<$(id)", "brace expansion": "{ls,id}", "extended glob": "ls @($(id))", "test": "[[ $(id) ]]",
		"upper case": "LS", "with a suffix": "ls.exe", "full-width": "ｌｓ", "homoglyph": "lѕ", "no-break space": "ls\u00a0id", "zero-width space": "l\u200bs", "direction mark": "ls \u202e;id",
		"comment that ends": "ls # x\nid", "coprocess": "coproc id", "select": "select x in a; do id; done",
	} {
		t.Run("BC-17 "+name, func(t *testing.T) {
			refused(t, r, dir, command)
			require.NoFileExists(t, filepath.Join(dir, "pwned"))
		})
	}
	for command, want := range map[string]string{
		`echo 'a;b'`: "a;b\n", `echo "a && b"`: "a && b\n", `ls "my dir"`: "inner.txt\n", `echo 'a | b > c & d'`: "a | b > c & d\n", `echo "it's"`: "it's\n", `echo 'a # b'`: "a # b\n",
		`echo '$(id)' '` + "`id`" + `'`: "$(id) `id`\n", `echo \;id`: ";id\n", `echo "<(id)"`: "<(id)\n", `echo A=1`: "A=1\n", `echo -- -n`: "-- -n\n", `echo "$"`: "$\n",
	} {
		t.Run("BC-17 control "+command, func(t *testing.T) {
			result, err := run(t, r, command)
			require.NoError(t, err)
			require.Equal(t, want, result.Data.(ShellResult).Stdout)
		})
	}
}

// Beside the commands of TestProgramsCannotRunOrWriteThroughTheirOptions: joined, shortened, repeated and late options.
func TestCaseOptionsThatRunOrWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"a": "id\n", "b": "id\n", "list": "/etc/passwd\n", "sub/x": "x\n", "-exec": "x\n", "-delete": "x\n", "--output=y": "x\n"})
	allowed := append(DefaultCommands(), "sed", "tar", "awk", "gawk", "xargs", "env", "nice", "rg", "tree", "vim", "less", "man", "python3.12", "perl5", "busybox", "sudo", "nohup", "tee", "install", "ssh", "curl")
	r := shellRegistry(t, ShellOptions{Workspace: dir, AllowedCommands: allowed})
	for _, command := range []string{
		`find . -exec id {} +`, `find -exec id \;`, `find . -name a -exec id \; -print`, `find . \( -exec id \; \)`, `find . ! -delete`, `find . -okdir id \;`, `find a -fprintf x %p`, "find . -D exec", "find -O3 .", "find *", "find -- . -delete",
		"find . -type f -fls=x", "find -P . -delete", "find -L", "find . , -delete", "find . -newer list -delete", "find . -samefile /etc/passwd", "find . -anewer ../x",
		"git -c core.pager=id log", "git -ccore.pager=id log", "git --git-dir=. log", "git --work-tree=/ status", "git --exec-path=. status", "git --namespace=x log", "git --no-pager -c a=b log", "git -P log", "git --html-path",
		"git grep -O", "git grep --open-files-in-pager", "git grep --open-files-in-page=id x", "git grep -iOid x", "git grep --no-index x /etc", "git log --outpu=x", "git log -p --output x", "git show --ext-diff",
		"git diff --no-inde a b", "git log --textcon", "git blame --ignore-revs-file=/etc/passwd a", "git blame -S list a", "git cat-file --batch", "git cat-file --filters HEAD:a", "git rev-parse --parseopt", "git for-each-ref --shell",
		"git branch --edit-description", "git branch -f x", "git branch -c x y", "git branch -u x", "git branch --set-upstream-to=x", "git tag -a x", "git tag -F list x", "git remote -v update", "git remote prune x", "git status --no-optional-locks",
		"git fetch --upload-pack=id .", "git fetch --upload-pac=id", "git ls-remote ext::id", "git pull", "git clone ext::id x", "git init x", "git worktree add x", "git gc", "git fsck", "git am", "git apply a", "git format-patch -1", "git bundle create x HEAD",
		"git reflog expire", "git notes add", "git update-ref x y", "git hash-object -w a", "git send-email", "git mergetool", "git gui", "git instaweb", "git svn", "git daemon", "git shell", "git sh-setup", "git -h", "git help -a", "git var GIT_EDITOR",
		"sed -n '1e id' -i a", "sed -i.bak p a", "sed -Ei p a", "sed -ni p a", "sed --in-plac p a", "sed --follow-symlinks p a", "sed -fscript a", "sed --file=a a", "sed --debug p a",
		"sort -oa b", "sort -ro x a", "sort --outpu=x a", "sort a -o x", "sort -- a -o ../x", "sort --compress-prog=id a", "sort -S1b -T . a", "sort --temporary-directory=. a", "sort --random-source=/etc/passwd a", "sort --files0-from=-",
		"awk 1 a", "gawk -i inplace 1 a", "tar -cf x a", "tar --to-command=id -xf x", "xargs -a list id", "env -S id", "env", "nice id", "vim -c '!id' a", "less a", "man ls", "python3.12 -c 1", "perl5 -e 1", "busybox sh", "sudo id", "nohup id",
		"tee x", "install a x", "ssh x", "curl file:///etc/passwd", "rg --pre=id x", "rg --pre-glob '*' --pre id x", "rg --search-zip x", "rg -zS x", "rg --ignore-file=/etc/passwd x", "rg --follow x", "rg --debug x",
		"uniq a -- b", "uniq -c a b", "uniq +1 a", "wc --files0-fro=list", "wc --files0-from=-", "du --files0-from=list", "du --exclude-from=/etc/passwd", "date -us 12:00", "date -f list", "date --file=list", "file -flist", "file --files-from=list",
		"file -mlist a", "file -Z a", "tail -fn1 a", "tail --follow=name a", "tail -1f a", "tail +1f a", "tail +f a", "tail --pid=1 a", "tail -F", "grep -f list ../x", "grep -rR x .", "grep --dereference-recursive x .", "grep --include=x -R x",
		"ls --dereference-command-line link", "ls -H a", "ls --hyperlink a", "cat -- ../x", "head -qn1 /etc/passwd", "stat --dereference a", "stat -fL a", "cut -f1 ../x", "tree -o x", "tree --output x",
	} {
		t.Run("BC-18 "+command, func(t *testing.T) { refused(t, r, dir, command) })
	}
	for command, want := range map[string]string{
		"tail +1 a": "", "tail -n +1 a": "id\n", "find . -name '-exec' -type f": "./-exec\n", "cat ./--output=y": "x\n", "sort -r a b": "id\nid\n", "grep -- -x a": "", "git --version": "", "find sub -type f -printf '%f\\n'": "x\n",
		"grep -c -e--output a": "0\n",
	} {
		t.Run("BC-18 control "+command, func(t *testing.T) {
			result, err := run(t, r, command)
			require.NoError(t, err)
			if want != "" {
				require.Equal(t, want, result.Data.(ShellResult).Stdout)
			}
		})
	}
}

func TestCaseCommandsThatHangOrFlood(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		script string
		says   string // of its output
	}{
		"a grandchild holds the output":     {"sleep 60 & echo hi", "hi\n"},
		"a pipe":                            {"echo hi; sleep 60 | cat", "hi\n"},
		"a trap":                            {`trap "" TERM INT HUP; echo hi; sleep 60`, "hi\n"},
		"a loop of its own":                 {"echo hi; while :; do :; done", "hi\n"},
		"stopped":                           {"echo hi; kill -STOP $$", "hi\n"},
		"input":                             {"cat; read x; echo hi", "hi\n"},
		"floods stderr":                     {"echo hi; yes >&2", "hi\n"},
		"floods both":                       {"yes & yes >&2", "y\ny\n"},
		"many children":                     {"echo hi; for i in 1 2 3 4 5 6 7 8; do sleep 60 & done; wait", "hi\n"},
		"one line without an end":           {"echo hi; yes | tr -d '\\n'", "hi\nyyy"},
		"output in the moment before it is": {"printf hi; exec sleep 60", "hi"},
	} {
		t.Run("BC-19 "+name, func(t *testing.T) {
			t.Parallel()
			started := time.Now()
			result := runDirect(t, time.Second, "sh", "-c", tc.script)
			require.Less(t, time.Since(started), 30*time.Second)
			require.True(t, strings.HasPrefix(result.Stdout, tc.says), "%q", clip(result.Stdout, 50))
			require.LessOrEqual(t, len(result.Stdout), 10_000)
			require.LessOrEqual(t, len(result.Stderr), 10_000)
			if strings.Contains(name, "floods") {
				require.True(t, result.Truncated)
				require.True(t, result.TimedOut)
			}
		})
	}
	t.Run("BC-19 a repository that git waits for", func(t *testing.T) {
		t.Parallel()
		if _, err := exec.LookPath("git"); err != nil {
			t.Skip("git is not installed")
		}
		dir := t.TempDir()
		out, err := exec.Command("git", "init", "-q", dir).CombinedOutput()
		require.NoError(t, err, string(out))
		require.NoError(t, os.Remove(filepath.Join(dir, ".git", "config")))
		require.NoError(t, syscall.Mkfifo(filepath.Join(dir, ".git", "config"), 0o600))
		r := shellRegistry(t, ShellOptions{Workspace: dir, Timeout: 500 * time.Millisecond})
		_, err = run(t, r, "git status")
		require.ErrorContains(t, err, "timed out")
	})
}

// gitIn runs git for a test, with nobody's configuration.
func gitIn(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=x", "GIT_AUTHOR_EMAIL=x@example.com", "GIT_COMMITTER_NAME=x", "GIT_COMMITTER_EMAIL=x@example.com")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
}

// A git folder inside the workspace can be made of what is outside.
func TestCaseGitFoldersThatLeadOutside(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	outside := t.TempDir()
	writeFiles(t, outside, map[string]string{"s.txt": "SECRET\n"})
	gitIn(t, outside, "init", "-q")
	gitIn(t, outside, "add", ".")
	gitIn(t, outside, "commit", "-q", "-m", "SECRET")
	secret := filepath.Join(outside, ".git")
	replaced := func(name string) func(t *testing.T, git string) {
		return func(t *testing.T, git string) {
			require.NoError(t, os.RemoveAll(filepath.Join(git, name)))
			require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(git, name)), 0o700))
			require.NoError(t, os.Symlink(filepath.Join(secret, name), filepath.Join(git, name)))
		}
	}
	for name, change := range map[string]func(t *testing.T, git string){
		"objects": replaced("objects"), "refs": replaced("refs"), "refs/heads": replaced("refs/heads"), "objects/info": replaced("objects/info"), "logs": replaced("logs"),
		"alternates": func(t *testing.T, git string) {
			writeFiles(t, git, map[string]string{"objects/info/alternates": "# from\n" + filepath.Join(secret, "objects") + "\n"})
		},
		"relative alternates": func(t *testing.T, git string) {
			rel, err := filepath.Rel(filepath.Join(git, "objects"), filepath.Join(secret, "objects"))
			require.NoError(t, err)
			writeFiles(t, git, map[string]string{"objects/info/alternates": rel + "\n"})
		},
		"a link as the folder": func(t *testing.T, git string) {
			require.NoError(t, os.RemoveAll(git))
			require.NoError(t, os.Symlink(secret, git))
		},
		"a file that names it": func(t *testing.T, git string) {
			require.NoError(t, os.RemoveAll(git))
			require.NoError(t, os.WriteFile(git, []byte("gitdir: "+secret+"\n"), 0o600))
		},
		"a common folder": func(t *testing.T, git string) { writeFiles(t, git, map[string]string{"commondir": secret + "\n"}) },
	} {
		t.Run("BC-20 "+name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			writeFiles(t, dir, map[string]string{"a.txt": "one\n"})
			gitIn(t, dir, "init", "-q")
			gitIn(t, dir, "add", ".")
			gitIn(t, dir, "commit", "-q", "-m", "first")
			change(t, filepath.Join(dir, ".git"))
			r := builtins(t, dir)
			for _, command := range []string{"git log --all", "git show HEAD", "git rev-list --objects --all", "git cat-file -p HEAD", "git status"} {
				result, err := run(t, r, command)
				require.ErrorContains(t, err, "partly outside the folders that may be read", command)
				require.NotContains(t, result.Text+err.Error(), "SECRET")
			}
		})
	}
	t.Run("BC-20 HEAD", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		gitIn(t, dir, "init", "-q")
		replaced("HEAD")(t, filepath.Join(dir, ".git"))
		result, err := run(t, builtins(t, dir), "git log --all")
		require.NoError(t, err)
		require.Contains(t, result.Text, "not a git repository")
	})
	t.Run("BC-20 control", func(t *testing.T) {
		t.Parallel()
		base := t.TempDir()
		writeFiles(t, base, map[string]string{"one/a.txt": "one\n"})
		gitIn(t, filepath.Join(base, "one"), "init", "-q")
		gitIn(t, filepath.Join(base, "one"), "add", ".")
		gitIn(t, filepath.Join(base, "one"), "commit", "-q", "-m", "first")
		gitIn(t, base, "clone", "-q", "--shared", "one", "two")
		gitIn(t, filepath.Join(base, "one"), "worktree", "add", "-q", "../three")
		require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(base, "two", ".git", "hooks", "pre-commit")))
		for _, dir := range []string{"one", "two", "three"} {
			s := shellRegistry(t, ShellOptions{Workspace: filepath.Join(base, dir), AllowedRoots: []string{base}})
			result, err := run(t, s, "git log --oneline")
			require.NoError(t, err, dir)
			require.Contains(t, result.Text, "first", dir)
		}
	})
}

// A git before 2.31 takes no settings from the environment, and would run what the repository says.
func TestCaseOldGit(t *testing.T) {
	t.Parallel()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	for name, script := range map[string]string{
		"settings are ignored":          "unset GIT_CONFIG_COUNT\nexec " + git + ` "$@"`,
		"--show-scope is not known":     `case "$*" in *--show-scope*) exit 129;; esac` + "\nexec " + git + ` "$@"`,
		"the repository says the same":  "unset GIT_CONFIG_COUNT\nexec " + git + ` "$@"`,
		"settings are ignored, a spoof": "unset GIT_CONFIG_COUNT\nexec " + git + ` "$@"`,
	} {
		t.Run("BC-18 "+name, func(t *testing.T) {
			t.Parallel()
			dir, bin, mark := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "mark")
			hostileRepository(t, dir, mark, "core.pager")
			gitIn(t, dir, "config", "core.fsmonitor", map[bool]string{true: "false", false: filepath.Join(dir, "mark.sh")}[strings.Contains(name, "same")])
			if strings.Contains(name, "spoof") {
				gitIn(t, dir, "config", "core.fsmonitor", "false\ncommand\tfalse")
			}
			writeExecutable(t, filepath.Join(bin, "git"), fmt.Sprintf("#!/bin/sh\n%s\n", script))
			r := shellRegistry(t, ShellOptions{Workspace: dir, SearchPath: []string{bin, "/usr/bin", "/bin"}})
			_, err := run(t, r, "git status")
			require.ErrorContains(t, err, "the installed git is too old to be run safely")
			require.NoFileExists(t, mark)
		})
	}
}

// A repository that lacks objects would make git fetch them.
func TestCaseLazyFetch(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir, mark := t.TempDir(), filepath.Join(t.TempDir(), "mark")
	hostileRepository(t, dir, mark)
	script := filepath.Join(dir, "mark.sh")
	for _, setting := range [][2]string{
		{"core.repositoryFormatVersion", "1"}, {"extensions.partialClone", "origin"}, {"remote.origin.promisor", "true"}, {"remote.origin.url", "ext::" + script}, {"remote.origin.uploadpack", script},
	} {
		gitIn(t, dir, "config", setting[0], setting[1])
	}
	out, err := exec.Command("git", "-C", dir, "rev-parse", "HEAD:a.txt").Output()
	require.NoError(t, err)
	blob := strings.TrimSpace(string(out))
	require.NoError(t, os.Remove(filepath.Join(dir, ".git", "objects", blob[:2], blob[2:])))
	r := builtins(t, dir)
	for _, command := range []string{"git show HEAD:a.txt", "git cat-file -p " + blob, "git log -p", "git diff", "git blame a.txt"} {
		t.Run("BC-18 "+command, func(t *testing.T) {
			result, err := run(t, r, command)
			require.NoError(t, err)
			require.NotZero(t, result.Data.(ShellResult).ExitCode)
			require.NoFileExists(t, mark)
		})
	}
}

func TestCaseBinaryOutputIsNotShown(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		"pic.png": png + strings.Repeat("\x00\xff\x80", 1000), "a.gz": gzipped(t, strings.Repeat("text\n", 100)), "latin.txt": "caf\xe9\n", "s.txt": "SQLite format 3 is a file format\n", "sub/a": "x\n", "sub/b": "x\n",
	})
	makeDatabase(t, filepath.Join(dir, "a.db"), "CREATE TABLE t(a)")
	r := builtins(t, dir)
	for command, says := range map[string]string{
		"cat pic.png":              "exit code 0\n[the output is not text and is not shown: its type is image/png, ",
		"cat a.gz":                 "its type is application/gzip",
		"head -c 200 a.db":         "its type is application/vnd.sqlite3",
		"cat latin.txt":            "exit code 0\ncaf\\xE9",
		"cat s.txt":                "SQLite format 3 is a file",
		"find sub -type f -print0": "sub/",
	} {
		t.Run("BC-26 "+command, func(t *testing.T) {
			result, err := run(t, r, command)
			require.NoError(t, err)
			require.Contains(t, result.Text, says)
			require.Less(t, len(result.Text), 200)
		})
	}
}

// writeExecutable writes a program that can be run at once. While it is open no other test may start a process: that would have the
// file open for writing between its fork and its exec, and the system then refuses to run it ("text file busy").
func writeExecutable(t *testing.T, path, text string) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o755))
}
