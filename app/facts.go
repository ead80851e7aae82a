package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/llama-agent/llama-agent/agent"
	"github.com/llama-agent/llama-agent/config"
	"github.com/llama-agent/llama-agent/tools"
)

const (
	// shownFiles bounds how many files of the workspace the model is told of. Each costs about 10 tokens of every prompt.
	shownFiles = 40
	// searchedFiles bounds among how many files those are chosen; it is the most that list_files gives.
	searchedFiles = 2000
	// shownDatabases bounds how many databases are described, and maxDetailBytes how much each description takes.
	shownDatabases = 3
	maxDetailBytes = 2000
	// shownTables does the same for text files with a table. Larger ones than maxTableBytes would take longer than the rest of the start.
	shownTables   = 6
	maxTableBytes = 4 << 20
	// minNameRunes is how long a file's name must be to be looked for in a goal.
	minNameRunes = 3
)

// facts collects what the model is told about the workspace, and what is remembered for an owner. The stores of the agent itself are left out: their sizes
// change all the time, which would make each prompt a new one. In a workspace with more files than are shown, those that
// the goal names come first.
func (a *App) facts(ctx context.Context, owner, goal string, attach []string) (agent.Facts, error) {
	var facts agent.Facts
	var err error
	if facts.Remembered, err = a.remembered(ctx, owner); err != nil {
		return facts, err
	}
	c := a.options.Config
	registry, err := tools.NewRegistry(append(fileTools(c), databaseTools(c)...)...)
	if err != nil {
		return facts, err
	}
	list := workspaceFiles(ctx, c, registry)
	if ctx.Err() != nil {
		return facts, ctx.Err()
	}
	for _, f := range mostRelevant(list.Files, goal) {
		facts.Files = append(facts.Files, agent.File{Path: f.Path, Kind: f.Kind, Bytes: f.Bytes})
	}
	facts.FilesLeftOut = list.Total - len(facts.Files)
	facts.Mentioned = mentioned(goal, facts.Files)
	describeDatabases(ctx, registry, facts.Files)
	for _, path := range attach {
		shown, err := attached(c, path)
		if err != nil {
			return facts, err
		}
		facts.Attached = append(facts.Attached, shown)
	}
	if !facts.NamedIn(goal) { // else nothing has to be looked for in all files
		facts.Found = found(ctx, c.Workspace, goal, facts.Files)
	}
	facts.Restated = restates(goal, facts.Remembered)
	return facts, ctx.Err()
}

// restates reports whether a statement seems to give a new value for something that is remembered: it has two telling words of a memory, or
// one beside something with a digit. A memory stands in every later prompt, so that one that is out of date outweighs what was said since.
func restates(goal string, remembered []string) bool {
	if strings.ContainsAny(goal, "?？") {
		return false
	}
	words, _ := wordsOf(goal)
	enough := 2
	if strings.ContainsFunc(goal, unicode.IsDigit) {
		enough = 1
	}
	return slices.ContainsFunc(remembered, func(line string) bool {
		known, _ := wordsOf(line)
		shared := 0
		for _, word := range words {
			if slices.Contains(known, word) {
				shared++
			}
		}
		return shared >= enough
	})
}

// workspaceFiles lists the files of the workspace without the agent's own. An error of the tool means that there is nothing to list, which
// is no reason to refuse a task that may need no file.
func workspaceFiles(ctx context.Context, c *config.Config, registry *tools.Registry) tools.FileList {
	result, _ := registry.Call(ctx, "list_files", fmt.Appendf(nil, `{"max_results":%d}`, searchedFiles))
	list, _ := result.Data.(tools.FileList)
	own := ownPaths(c)
	files := slices.DeleteFunc(slices.Clone(list.Files), func(f tools.ListedFile) bool {
		return isBelow(filepath.Join(c.Workspace, f.Path), own)
	})
	list.Total -= len(list.Files) - len(files)
	list.Files = files
	return list
}

// mostRelevant picks the files to show, in the order of their paths: those that the goal names, then those in folders that it
// names, then those nearest to the top.
func mostRelevant(files []tools.ListedFile, goal string) []tools.ListedFile {
	if len(files) <= shownFiles {
		return files
	}
	goal = strings.ToLower(goal)
	rank := make(map[string]int, len(files))
	for _, f := range files {
		rank[f.Path] = relevance(strings.ToLower(f.Path), goal)
	}
	files = slices.Clone(files)
	slices.SortStableFunc(files, func(a, b tools.ListedFile) int { return cmp.Compare(rank[a.Path], rank[b.Path]) })
	files = files[:shownFiles]
	slices.SortFunc(files, func(a, b tools.ListedFile) int { return strings.Compare(a.Path, b.Path) })
	return files
}

// relevance ranks a path, the smallest first. It compares names only, so that it works in any language.
func relevance(file, goal string) int {
	named := func(name string) bool { return len([]rune(name)) >= minNameRunes && strings.Contains(goal, name) }
	base := path.Base(file)
	switch {
	case strings.Contains(goal, file):
		return 0
	case named(base):
		return 1
	case named(strings.TrimSuffix(base, path.Ext(base))):
		return 2
	}
	depth := strings.Count(file, "/")
	for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
		if named(path.Base(dir)) {
			return 3 + depth
		}
	}
	return 100 + depth
}

// describeDatabases tells the tables and columns of the first databases, and of the first text files that hold a table, so that the model
// need not ask before it queries.
func describeDatabases(ctx context.Context, registry *tools.Registry, files []agent.File) {
	databases, tables := 0, 0
	for i := range files {
		f := &files[i]
		count, most := &databases, shownDatabases
		table := tools.MayBeTable(f.Kind, f.Path)
		if table {
			count, most = &tables, shownTables
		}
		if *count == most || !table && tools.SubjectOf(f.Kind, f.Path) != tools.SubjectDatabase || table && f.Bytes > maxTableBytes {
			continue
		}
		arguments, err := json.Marshal(map[string]string{"db_path": f.Path})
		if err != nil {
			continue
		}
		// What cannot be read is shown without detail; the tools tell why when it is used.
		if result, err := registry.Call(ctx, "describe_sqlite_table", arguments); err == nil {
			f.Detail = detail(result.Text)
			*count++
			if table {
				f.Kind = tools.KindTable
			}
		}
	}
}

// detail shortens a description to whole lines, without its heading, and indents it.
func detail(text string) string {
	_, text, more := strings.Cut(strings.TrimRight(text, "\n"), "\n")
	if !more {
		return ""
	}
	var b strings.Builder
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if b.Len()+len(line) > maxDetailBytes {
			fmt.Fprintf(&b, "  and %d more lines; see describe_sqlite_table\n", len(lines)-i)
			break
		}
		b.WriteString("  " + line + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

// ownPaths lists the files and folders that the agent itself writes.
func ownPaths(c *config.Config) []string {
	return []string{
		c.Agent.DBPath, c.Agent.ConversationDBPath, c.Engine.KVStorePath, c.Tools.Artifact.StorageDir,
		c.Memory.ContextStorePath, c.Telemetry.OutputDir, c.TUI.LogFile,
	}
}

// isBelow reports whether path is one of the others, lies in one, or is a side file of a database ("-wal").
func isBelow(path string, others []string) bool {
	return slices.ContainsFunc(others, func(other string) bool {
		return other != "" && (path == other || strings.HasPrefix(path, other+string(filepath.Separator)) || strings.HasPrefix(path, other+"-"))
	})
}

// attached returns the path by which the tools know a file that the user named.
func attached(c *config.Config, path string) (string, error) {
	const fix = "copy it into the workspace, or allow its folder in tools.file.allowed_roots"
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("attaching %q: %w", path, err)
	}
	info, err := os.Stat(abs)
	if errors.Is(err, fs.ErrNotExist) {
		abs = c.Path(path)
		info, err = os.Stat(abs)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("attaching %q: there is no such file", path)
	case err != nil:
		return "", fmt.Errorf("attaching: %w", err)
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("attaching %q: it is not a regular file", path)
	}
	target, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return "", fmt.Errorf("attaching: %w", err)
	}
	if workspace, err := filepath.EvalSymlinks(c.Workspace); err == nil {
		if rel, err := filepath.Rel(workspace, target); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel), nil
		}
	}
	for _, root := range c.Tools.File.AllowedRoots {
		root, err := filepath.EvalSymlinks(root)
		if err != nil {
			continue
		}
		if rel, err := filepath.Rel(root, target); err == nil && filepath.IsLocal(rel) {
			return target, nil
		}
	}
	return "", fmt.Errorf("attaching %q: it lies outside the folders that tools may read; %s", path, fix)
}
