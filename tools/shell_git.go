package tools

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A gitRule lists what a subcommand of git may be asked to do.
type gitRule struct {
	programRule
	// safe are options put first, so that nothing the repository configures is run.
	safe []string
	// listOnly allows operands only together with one of these options: without, the subcommand would write.
	listOnly []string
	noArgs   bool // operands are refused
	fallback string
}

const (
	gitDiffOptions = ` -a -b -B? -C? -D -M? -p -R -s -U? -u -w -W -z --abbrev? --binary --cc --check --color? --color-words? --compact-summary
		--diff-algorithm= --diff-filter= --dirstat? --find-copies? --find-renames? --full-index --function-context --histogram
		--ignore-all-space --ignore-blank-lines --ignore-space-at-eol --ignore-space-change --inter-hunk-context= --minimal --name-only
		--name-status --no-color --no-patch --no-prefix --no-renames --numstat --patch --patch-with-stat --patience --pickaxe-all
		--pickaxe-regex --raw --relative? --shortstat --stat? --summary --text --unified? --word-diff? --word-diff-regex= -G= -S=`
	gitLogOptions = ` -c -E -F -g -i -L= -m -n= -P --abbrev-commit --after= --all --all-match --ancestry-path --author= --author-date-order --basic-regexp
		--before= --boundary --branches? --cherry --cherry-mark --cherry-pick --committer= --count --date= --date-order --decorate?
		--decorate-refs= --exclude= --extended-regexp --first-parent --fixed-strings --follow --format? --full-history --glob= --graph
		--grep= --invert-grep --left-only --left-right --log-size --max-count= --max-parents? --merges --min-parents? --no-abbrev-commit
		--no-decorate --no-merges --no-notes --no-walk? --oneline --parents --perl-regexp --pretty? --regexp-ignore-case --remotes?
		--reverse --right-only --since= --skip= --source --tags? --topo-order --until= --walk-reflogs`
)

// gitSafeDiff keeps external diff programs, text converters and submodules (with configurations of their own) out.
var gitSafeDiff = []string{"--no-ext-diff", "--no-textconv", "--ignore-submodules=all"}

var gitRules = map[string]gitRule{
	"status": {safe: []string{"--ignore-submodules=all"}, programRule: programRule{options: options(`-b -s -u? -v -z --ahead-behind --branch --column?
		--find-renames? --ignored? --long --no-ahead-behind --no-renames --porcelain? --renames --short --show-stash --untracked-files?`)}},
	"log":      {safe: gitSafeDiff, programRule: programRule{digits: true, options: options(gitDiffOptions + gitLogOptions)}},
	"show":     {safe: gitSafeDiff, programRule: programRule{digits: true, options: options(gitDiffOptions + gitLogOptions)}},
	"diff":     {safe: gitSafeDiff, programRule: programRule{options: options(gitDiffOptions + " --cached --exit-code --merge-base --quiet --staged")}},
	"shortlog": {fallback: "HEAD", programRule: programRule{digits: true, options: options("-c -e -n -s --committer --email --group= --numbered --summary" + gitLogOptions)}},
	"blame": {safe: []string{"--no-textconv"}, programRule: programRule{options: options(`-b -C? -c -e -f -L= -l -M? -n -p -s -t -w --abbrev? --date= --first-parent --incremental
		--line-porcelain --porcelain --reverse --root --show-email --show-name --show-number --show-stats`)}},
	"grep": {safe: []string{"--no-textconv"}, programRule: programRule{digits: true, operands: patternThenPaths, options: options(`-A= -B= -C= -c -E -e= -F -f@ -G -H -h -I -i -L -l -n
		-o -P -p -q -v -W -w -z --after-context= --all-match --and --basic-regexp --before-context= --break --cached --color? --column
		--context= --count --extended-regexp --files-with-matches --files-without-match --fixed-strings --full-name --function-context
		--heading --ignore-case --invert-match --line-number --max-count= --max-depth= --name-only --no-color --not --only-matching --or
		--perl-regexp --quiet --recursive --show-function --text --untracked --word-regexp`)}},
	"ls-files": {programRule: programRule{options: options(`-c -d -i -k -m -o -s -t -u -v -z --abbrev? --cached --deduplicate --deleted --directory --eol --error-unmatch
		--exclude-standard --format= --full-name --ignored --killed --modified --no-empty-directory --others --stage --unmerged`)}},
	"ls-tree": {programRule: programRule{options: options("-d -l -r -t -z --abbrev? --format= --full-name --full-tree --long --name-only --name-status --object-only")}},
	"rev-parse": {programRule: programRule{options: options(`--abbrev-ref? --absolute-git-dir --all --branches? --git-dir --is-bare-repository
		--is-inside-work-tree --is-shallow-repository --quiet -q --short? --show-cdup --show-prefix --show-toplevel --symbolic
		--symbolic-full-name --tags? --verify`)}},
	"rev-list":      {programRule: programRule{digits: true, options: options("--objects --timestamp --header" + gitLogOptions)}},
	"describe":      {programRule: programRule{options: options("--abbrev? --all --always --candidates= --contains --exact-match --exclude= --first-parent --long --match= --tags")}},
	"cat-file":      {programRule: programRule{options: options("-e -p -s -t")}},
	"merge-base":    {programRule: programRule{options: options("-a --all --fork-point --independent --is-ancestor --octopus")}},
	"name-rev":      {programRule: programRule{options: options("--all --always --exclude= --name-only --no-undefined --refs= --tags")}},
	"count-objects": {noArgs: true, programRule: programRule{options: options("-H -v --human-readable --verbose")}},
	"for-each-ref": {programRule: programRule{options: options(`--color? --contains? --count= --exclude= --format= --ignore-case --merged? --no-contains?
		--no-merged? --points-at= --sort=`)}},
	"branch": {listOnly: []string{"-l", "--list", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at"}, programRule: programRule{options: options(`-a -i -l -q -r -v --abbrev? --all --color? --column? --contains --format= --ignore-case --list
		--merged --no-abbrev --no-color --no-column --no-contains --no-merged --points-at= --quiet --remotes --show-current --sort= --verbose`)}},
	"tag": {listOnly: []string{"-l", "--list", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at"}, programRule: programRule{options: options(`-i -l -n? --color? --column? --contains --format= --ignore-case --list --merged --no-column
		--no-contains --no-merged --points-at= --sort=`)}},
	"remote": {noArgs: true, programRule: programRule{options: options("-v --verbose")}},
}

// gitCommand checks git: a known subcommand that reads, with spelled-out options. No global options are possible except
// --no-pager and --version, because they set configuration and folders.
func gitCommand(c *argChecker, argv []string) ([]string, *Error) {
	words := argv[1:]
	for len(words) > 0 && words[0] == "--no-pager" {
		words = words[1:]
	}
	if len(words) == 1 && words[0] == "--version" {
		return argv, nil
	}
	names := strings.Join(slices.Sorted(maps.Keys(gitRules)), ", ")
	if len(words) == 0 {
		return nil, &Error{Kind: KindInvalidArguments, Message: "git has no subcommand; nothing was run", Fix: "the allowed ones are " + names}
	}
	name, words := words[0], words[1:]
	rule, ok := gitRules[name]
	if !ok {
		return nil, refuse(fmt.Sprintf("git is not allowed to use %q", name), "only subcommands that read are: "+names)
	}
	sub := &argChecker{w: c.w, program: "git " + name, strict: true}
	parsed, problem := sub.parse(rule.programRule, words)
	if problem != nil {
		return nil, problem
	}
	if problem := rule.operandsAllowed(sub, parsed); problem != nil {
		return nil, problem
	}
	out := append([]string{"git", "--no-pager", name}, rule.safe...)
	out = append(out, words...)
	if rule.fallback != "" && len(parsed.operands) == 0 {
		out = append(out, rule.fallback)
	}
	if rule.operands != nil {
		return out, rule.operands(sub, parsed)
	}
	return out, sub.paths(parsed.operands)
}

func (r gitRule) operandsAllowed(c *argChecker, parsed parsedArgs) *Error {
	if len(parsed.operands) == 0 {
		return nil
	}
	if r.noArgs {
		return c.refuseOption(parsed.operands[0], r.options)
	}
	if r.listOnly == nil {
		return nil
	}
	for _, option := range r.listOnly {
		if parsed.given[option] {
			return nil
		}
	}
	return refuse(fmt.Sprintf("%s %s would write", c.program, parsed.operands[0]), "only listing is possible: "+c.program+" --list")
}

// gitEnviron makes git read nothing but the repository, and run nothing. Settings given this way win over the
// repository's own.
func gitEnviron(ceiling string) []string {
	env := []string{
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_ATTR_NOSYSTEM=1",
		"GIT_PAGER=cat", "GIT_EDITOR=false", "GIT_SEQUENCE_EDITOR=false", "GIT_ASKPASS=false", "GIT_TERMINAL_PROMPT=0",
		"GIT_SSH_COMMAND=false", "GIT_PROXY_COMMAND=false", "GIT_ALLOW_PROTOCOL=none", "GIT_NO_LAZY_FETCH=1",
		"GIT_OPTIONAL_LOCKS=0", "GIT_CEILING_DIRECTORIES=" + ceiling,
	}
	settings := [][2]string{
		{"core.fsmonitor", "false"}, {"core.hooksPath", "/dev/null"}, {"core.attributesFile", "/dev/null"}, {"core.excludesFile", "/dev/null"},
		{"core.pager", "cat"}, {"core.editor", "false"}, {"core.sshCommand", "false"}, {"core.alternateRefsCommand", "false"},
		{"credential.helper", ""}, {"protocol.allow", "never"}, {"diff.ignoreSubmodules", "all"}, {"submodule.recurse", "false"},
		{"log.showSignature", "false"}, {"gpg.program", "false"}, {"gpg.openpgp.program", "false"}, {"gpg.x509.program", "false"},
		{"gpg.ssh.program", "false"}, {"interactive.diffFilter", ""}, {"color.ui", "false"}, {"mailmap.file", "/dev/null"},
		{"blame.ignoreRevsFile", ""}, {"diff.orderFile", "/dev/null"},
	}
	for i, setting := range settings {
		n := strconv.Itoa(i)
		env = append(env, "GIT_CONFIG_KEY_"+n+"="+setting[0], "GIT_CONFIG_VALUE_"+n+"="+setting[1])
	}
	return append(env, "GIT_CONFIG_COUNT="+strconv.Itoa(len(settings)))
}

// gitRunsPrograms matches the settings by which a repository makes git run programs or look elsewhere, and which cannot
// be overridden because part of their name is free.
var gitRunsPrograms = regexp.MustCompile(`^(filter\..*\.(clean|smudge|process)|diff\..*\.(command|textconv)|diff\.external|core\.worktree|core\.gitproxy)$`)

// checkRepository refuses a repository that is not all inside the allowed roots, or whose own configuration would run
// programs. Outside a repository git itself says so.
func (s *shell) checkRepository(ctx context.Context, git string, env []string) *Error {
	places, ok := s.gitOutput(ctx, git, env, "rev-parse", "--absolute-git-dir", "--git-common-dir")
	if !ok {
		return nil
	}
	for place := range strings.Lines(places) {
		place = strings.TrimRight(place, "\r\n")
		if !filepath.IsAbs(place) {
			place = filepath.Join(s.w.dir, place)
		}
		if _, problem := s.w.locate(place); problem != nil || s.leadsOutside(place) {
			return refuse("the git repository is partly outside the folders that may be read", "use the file tools instead")
		}
	}
	// Without this, a git that does not know settings from the environment would follow the repository's.
	if scope, _ := s.gitOutput(ctx, git, env, "config", "--show-scope", "--get", "core.fsmonitor"); scope != "command\tfalse\n" {
		return refuse("the installed git is too old to be run safely", "use the file tools instead, or ask the user to install git 2.31 or later")
	}
	keys, ok := s.gitOutput(ctx, git, env, "config", "--list", "--name-only", "-z", "--includes")
	if !ok {
		return refuse("the configuration of the git repository cannot be read", "use the file tools instead")
	}
	for key := range strings.SplitSeq(keys, "\x00") {
		if gitRunsPrograms.MatchString(strings.ToLower(key)) {
			return refuse(fmt.Sprintf("the git repository's own configuration makes git run programs or leave the folder (%s)", key),
				"use the file tools instead, or ask the user to remove the setting")
		}
	}
	return nil
}

// leadsOutside tells whether links or alternates in a git folder lead out of the allowed roots, so that git would show what is there.
func (s *shell) leadsOutside(dir string) bool {
	outside := false
	// Errors are left for git to report: it cannot read what cannot be read here.
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil //nolint:nilerr // see above
		case d.IsDir() && d.Name() == "hooks":
			return fs.SkipDir // not run, nor read
		case d.Type()&fs.ModeSymlink != 0:
			_, problem := s.w.locate(path)
			outside = outside || problem != nil
		case d.Type().IsRegular() && d.Name() == "alternates":
			outside = outside || s.alternateOutside(path)
		}
		if outside {
			return fs.SkipAll
		}
		return nil
	})
	return outside
}

// alternateOutside tells whether a file names a folder of objects that is not inside the allowed roots, or has alternates itself.
func (s *shell) alternateOutside(file string) bool {
	text, err := os.ReadFile(file)
	if err != nil {
		return true
	}
	for line := range strings.Lines(string(text)) {
		place := strings.TrimRight(line, "\r\n")
		if place == "" || place[0] == '#' {
			continue
		}
		if !filepath.IsAbs(place) {
			place = filepath.Join(filepath.Dir(file), "..", place)
		}
		if _, problem := s.w.locate(place); problem != nil {
			return true
		}
		if _, err := os.Lstat(filepath.Join(place, "info", "alternates")); err == nil {
			return true
		}
	}
	return false
}

func (s *shell) gitOutput(ctx context.Context, git string, env []string, args ...string) (string, bool) {
	var out bytes.Buffer
	cmd := newCommand(ctx, git, args)
	cmd.Dir, cmd.Env, cmd.Stdout = s.w.dir, env, &out
	err := cmd.Run()
	return out.String(), err == nil
}

// unbornBranch is the branch that a repository in the workspace begins with, when git branch listed none because there is no commit.
func (s *shell) unbornBranch(argv []string) string {
	if argv[0] != "git" || !slices.Contains(argv, "branch") {
		return ""
	}
	t, problem := s.w.resolve(filepath.Join(".git", "HEAD"))
	if problem != nil || t.info == nil || !t.info.Mode().IsRegular() || t.info.Size() > 1024 {
		return ""
	}
	head, err := os.ReadFile(t.real)
	if err != nil {
		return ""
	}
	branch, _ := strings.CutPrefix(strings.TrimSpace(string(head)), "ref: refs/heads/")
	return branch
}
