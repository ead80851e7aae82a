package tools

import (
	"fmt"
	"slices"
	"strings"
)

// neverAllowed tells programs that run other programs, whatever their arguments. Listing them as allowed has no effect.
func neverAllowed(name string) (reason string, never bool) {
	base := strings.TrimRight(name, "0123456789.-")
	switch base {
	case "sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "fish", "csh", "tcsh", "busybox", "toybox", "pwsh", "powershell", "cmd",
		"python", "pypy", "perl", "ruby", "node", "nodejs", "deno", "bun", "php", "lua", "luajit", "tclsh", "wish", "expect", "osascript",
		"awk", "gawk", "mawk", "nawk", "rscript", "julia", "guile":
		return "it is an interpreter", true
	case "env", "xargs", "parallel", "nohup", "timeout", "nice", "ionice", "setsid", "stdbuf", "time", "watch", "script", "entr",
		"sudo", "su", "doas", "chroot", "unshare", "nsenter", "command", "builtin", "exec", "eval", "source", "strace", "gdb", "flock",
		"systemd-run", "at", "batch", "crontab":
		return "it runs other programs", true
	case "tar", "bsdtar", "cpio", "zip", "ed", "ex", "vi", "vim", "nvim", "emacs", "nano", "less", "more", "most", "man":
		return "its options run other programs or write files", true
	case "ssh", "scp", "sftp", "rsync", "ftp", "telnet", "nc", "ncat", "netcat", "socat", "curl", "wget":
		return "it uses the network", true
	case "tee", "dd", "split", "csplit", "install", "truncate":
		return "it writes files", true
	}
	return "", false
}

// writers are programs whose purpose is to change something.
var writers = []string{
	"rm", "rmdir", "unlink", "shred", "mv", "cp", "ln", "mkdir", "touch", "chmod", "chown", "chgrp", "tee", "dd", "truncate", "install", "rename",
	"kill", "pkill", "killall", "shutdown", "reboot", "mkfs", "mount", "umount",
}

// writes reports whether a command is there to change something, so that no other command or tool does what is wanted of it.
func writes(argv []string) bool {
	inPlace := func(arg string) bool { return strings.HasPrefix(arg, "-i") || strings.HasPrefix(arg, "--in-place") }
	return slices.Contains(writers, argv[0]) || argv[0] == "sed" && slices.ContainsFunc(argv[1:], inPlace)
}

// programRules are the programs this package knows, all of which only read under their rule. Options that run programs,
// write files, read lists of file names, wait for changes, or follow links are missing on purpose.
var programRules = map[string]programRule{
	"ls": {options: options(`-1 -A -a -B -C -c -d -F -f -G -g -h -i -k -l -m -N -n -o -p -Q -q -R -r -S -s -t -U -u -v -w= -X -x
		--all --almost-all --author --color? --directory --file-type --format= --full-time --group-directories-first --hide= --ignore=
		--human-readable --inode --no-group --numeric-uid-gid --recursive --reverse --si --size --sort= --time= --time-style=`)},
	"cat": {needsInput: true, options: options(`-A -b -E -e -n -s -T -t -u -v --number --number-nonblank --show-all --show-ends
		--show-nonprinting --show-tabs --squeeze-blank`)},
	"pwd":   {options: options("-L -P"), operands: noOperands},
	"echo":  {rewrite: anyText},
	"true":  {rewrite: anyText},
	"false": {rewrite: anyText},
	"seq":   {rewrite: anyText},
	"grep": {digits: true, operands: patternThenPaths, options: options(`-A= -a -B= -b -C= -c -E -e= -F -f@ -G -H -h -I -i -L -l -m= -n -o
		-P -q -r -s -T -v -w -x -y -Z -z --after-context= --basic-regexp --before-context= --byte-offset --color? --colour? --context= --count
		--exclude= --exclude-dir= --extended-regexp --file@ --files-with-matches --files-without-match --fixed-strings --ignore-case
		--include= --invert-match --line-number --line-regexp --max-count= --no-filename --no-messages --only-matching --perl-regexp
		--quiet --recursive --regexp= --silent --text --with-filename --word-regexp`)},
	"rg":   {rewrite: ripgrep},
	"wc":   {needsInput: true, options: options("-c -L -l -m -w --bytes --chars --lines --max-line-length --total= --words")},
	"head": {needsInput: true, digits: true, options: options("-c= -n= -q -v -z --bytes= --lines= --quiet --silent --verbose")},
	"tail": {needsInput: true, digits: true, operands: notFollowed, options: options("-c= -n= -q -r -v -z --bytes= --lines= --quiet --silent --verbose")},
	"sort": {needsInput: true, complete: separated, options: options(`-b -C -c -d -f -g -h -i -k= -M -m -n -R -r -s -t= -u -V -z --check? --dictionary-order
		--field-separator= --general-numeric-sort --human-numeric-sort --ignore-case --ignore-leading-blanks --key= --merge --month-sort
		--numeric-sort --reverse --sort= --stable --unique --version-sort --zero-terminated`)},
	"uniq": {needsInput: true, operands: oneInput, options: options(`-c -D -d -f= -i -s= -u -w= -z --all-repeated? --check-chars= --count
		--ignore-case --repeated --skip-chars= --skip-fields= --unique --zero-terminated`)},
	"cut": {needsInput: true, complete: separated, options: options(`-b= -c= -d= -f= -n -s -w -z --bytes= --characters= --complement --delimiter= --fields=
		--only-delimited --output-delimiter= --zero-terminated`)},
	"tr":   {operands: anyOperands, options: options("-C -c -d -s -t --complement --delete --squeeze-repeats --truncate-set1")},
	"nl":   {needsInput: true, options: options("-b= -d= -f= -h= -i= -l= -n= -p -s= -v= -w=")},
	"tac":  {needsInput: true, options: options("-b -r -s=")},
	"rev":  {needsInput: true, options: options("")},
	"stat": {needsInput: true, options: options("-c= -f -t --file-system --format= --printf= --terse")},
	"file": {needsInput: true, options: options("-0 -b -E -I -i -k -N -n -r --brief --keep-going --mime --mime-encoding --mime-type --no-pad --raw")},
	"du": {options: options(`-0 -a -b -B= -c -d= -h -k -l -m -S -s -t= -x --all --apparent-size --block-size= --bytes --count-links --exclude=
		--human-readable --inodes --max-depth= --one-file-system --separate-dirs --si --summarize --threshold= --time? --time-style= --total`)},
	"tree":     {options: options("-a -C -D -d -f -g -h -I= -i -L= -n -P= -p -r -s -t -u --dirsfirst --du --gitignore --noreport --prune")},
	"date":     {operands: dateFormat, options: options("-d= -I? -R -r@ -u --date= --iso-8601? --reference@ --rfc-3339= --rfc-email --universal --utc")},
	"basename": {operands: anyOperands, options: options("-a -s= -z --multiple --suffix= --zero")},
	"dirname":  {operands: anyOperands, options: options("-z --zero")},
	"diff": {digits: true, operands: filesOnly, options: options(`-a -B -b -C= -c -d -E -i -N -q -s -t -U= -u -W= -w -y --brief --context? --ignore-all-space
		--ignore-blank-lines --ignore-case --ignore-space-change --label= --minimal --new-file --report-identical-files --side-by-side
		--suppress-common-lines --text --unified? --width=`)},
	"cmp":       {options: options("-b -i= -l -n= -s --bytes= --ignore-initial= --print-bytes --quiet --silent --verbose")},
	"comm":      {options: options("-1 -2 -3 --check-order --nocheck-order --output-delimiter= --total")},
	"md5sum":    {needsInput: true, options: options("-b -t --binary --tag --text")},
	"sha1sum":   {needsInput: true, options: options("-b -t --binary --tag --text")},
	"sha256sum": {needsInput: true, options: options("-b -t --binary --tag --text")},
	"find":      {rewrite: findExpression},
	"sed":       {rewrite: sedScript},
	"git":       {rewrite: gitCommand},
}

func anyText(_ *argChecker, argv []string) ([]string, *Error) { return argv, nil }

func anyOperands(*argChecker, parsedArgs) *Error { return nil }

func noOperands(c *argChecker, parsed parsedArgs) *Error {
	if len(parsed.operands) > 0 {
		return c.refuseOption(parsed.operands[0], nil)
	}
	return nil
}

// patternThenPaths is grep's: the first operand is a pattern unless an option gave one.
func patternThenPaths(c *argChecker, parsed parsedArgs) *Error {
	files := parsed.operands
	if !parsed.given["-e"] && !parsed.given["-f"] && !parsed.given["--regexp"] && !parsed.given["--file"] {
		if len(files) == 0 {
			return c.missingValue("for the pattern")
		}
		files = files[1:]
	}
	if c.first && len(files) == 0 && !parsed.given["-r"] && !parsed.given["--recursive"] {
		return c.noInput()
	}
	return c.paths(files)
}

// notFollowed is tail's: it takes +5f as a place to begin and to follow the file from.
func notFollowed(c *argChecker, parsed parsedArgs) *Error {
	if len(parsed.operands) > 0 && strings.HasPrefix(parsed.operands[0], "+") && strings.HasSuffix(parsed.operands[0], "f") {
		return c.refuseOption(parsed.operands[0], nil)
	}
	return c.paths(parsed.operands)
}

// oneInput is uniq's: its second operand is a file it writes.
func oneInput(c *argChecker, parsed parsedArgs) *Error {
	if len(parsed.operands) > 1 {
		return refuse("uniq would write to "+parsed.operands[1], "give it one file only")
	}
	return c.paths(parsed.operands)
}

// filesOnly is diff's: of folders it would compare what is in them, links included.
func filesOnly(c *argChecker, parsed parsedArgs) *Error {
	for _, word := range parsed.operands {
		if t, problem := c.w.resolve(word); problem == nil && t.info.IsDir() {
			return refuse(fmt.Sprintf("%s: %q is a folder", c.program, word), "compare two files")
		}
	}
	return c.paths(parsed.operands)
}

// dateFormat refuses operands that would set the clock.
func dateFormat(c *argChecker, parsed parsedArgs) *Error {
	for _, operand := range parsed.operands {
		if !strings.HasPrefix(operand, "+") {
			return refuse(fmt.Sprintf("date is not allowed to take %q", operand), "give a format such as +%Y-%m-%d")
		}
	}
	return nil
}

// findTests are the words of find's expression that neither run nor write anything, with what follows them.
var findTests = func() map[string]optionKind {
	out := options(`-a -and -daystart -depth -empty -executable -false -ls -mount -noleaf -nogroup -not -nouser -o -or -print -print0
		-prune -quit -readable -true -writable -xdev -amin= -atime= -cmin= -ctime= -fstype= -gid= -group= -ilname= -iname= -inum= -ipath=
		-iregex= -iwholename= -links= -lname= -maxdepth= -mindepth= -mmin= -mtime= -name= -newerat= -newerct= -newermt= -path= -perm=
		-printf= -regex= -regextype= -size= -type= -uid= -used= -user= -wholename= -xtype= -anewer@ -cnewer@ -newer@ -samefile@`)
	for _, operator := range []string{"(", ")", "!", ","} {
		out[operator] = optionFlag
	}
	return out
}()

// findExpression checks find: start folders, then an expression of known tests. Links are never followed.
func findExpression(c *argChecker, argv []string) ([]string, *Error) {
	words := argv[1:]
	for len(words) > 0 && !strings.HasPrefix(words[0], "-") && findTests[words[0]] == 0 {
		if problem := c.path(words[0]); problem != nil {
			return nil, problem
		}
		words = words[1:]
	}
	for i := 0; i < len(words); i++ {
		kind := findTests[words[i]]
		switch {
		case kind == 0:
			return nil, c.refuseOption(words[i], findTests)
		case kind == optionFlag:
			continue
		case i+1 == len(words):
			return nil, c.missingValue(words[i])
		}
		i++
		if problem := c.optionValue(kind, words[i]); problem != nil {
			return nil, problem
		}
	}
	return argv, nil
}

var sedRule = programRule{options: options("-E -e= -n -r -s -u -z --expression= --line-length= --quiet --regexp-extended --separate --silent --zero-terminated")}

// sedScript checks sed and adds --sandbox, with which sed itself refuses the commands that run programs and read or
// write files.
func sedScript(c *argChecker, argv []string) ([]string, *Error) {
	parsed, problem := c.parse(sedRule, argv[1:])
	if problem != nil {
		return nil, problem
	}
	files := parsed.operands
	if !parsed.given["-e"] && !parsed.given["--expression"] {
		if len(files) == 0 {
			return nil, c.missingValue("for the script")
		}
		files = files[1:]
	}
	if c.first && len(files) == 0 {
		return nil, c.noInput()
	}
	return append([]string{"sed", "--sandbox"}, argv[1:]...), c.paths(files)
}

var ripgrepRule = programRule{options: options(`-A= -B= -C= -c -e= -F -f@ -g= -H -I -i -l -m= -N -n -o -P -S -s -T= -t= -U -v -w -x --count
	--count-matches --files --files-with-matches --files-without-match --fixed-strings --glob= --heading --hidden --ignore-case
	--invert-match --line-number --max-count= --max-depth= --multiline --no-heading --no-ignore --no-line-number --only-matching
	--smart-case --sort= --stats --type= --type-not= --word-regexp`)}

// ripgrep checks rg and keeps it from reading a configuration file.
func ripgrep(c *argChecker, argv []string) ([]string, *Error) {
	parsed, problem := c.parse(ripgrepRule, argv[1:])
	if problem != nil {
		return nil, problem
	}
	files := parsed.operands
	if !parsed.given["-e"] && !parsed.given["-f"] && !parsed.given["--files"] {
		if len(files) == 0 {
			return nil, c.missingValue("for the pattern")
		}
		files = files[1:]
	}
	out := append([]string{"rg", "--no-config"}, argv[1:]...)
	if c.first && len(files) == 0 {
		out = append(out, ".") // without a path, rg would search its empty input
	}
	return out, c.paths(files)
}
