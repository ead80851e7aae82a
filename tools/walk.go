package tools

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// An entry is a file, folder or link that a walk found.
type entry struct {
	path string // as target.show
	dir  bool
	link bool // a symbolic link; not followed
	// ignored tells that the entry is hidden, or named by an ignore file, and so is not part of a listing by default.
	ignored bool
}

// A walker visits what is below a folder, in order of name, without following links and without leaving the root.
// Folders named .git are never entered.
type walker struct {
	w       *workspace
	hidden  bool // descend into hidden folders
	ignored bool // descend into ignored folders
}

// walk calls fn for everything below start. fn may return fs.SkipAll to end the walk, or fs.SkipDir for a folder.
// Folders that cannot be read are passed over.
func (k *walker) walk(ctx context.Context, start target, fn func(entry) error) error {
	root, err := os.OpenRoot(start.root)
	if err != nil {
		return fmt.Errorf("opening folder %q: %w", start.show, err)
	}
	defer root.Close()
	run := walkRun{walker: k, root: root, fn: fn}
	rel := filepath.ToSlash(start.inRoot())
	files := run.parentIgnores(rel)
	err = run.dir(ctx, rel, strings.TrimSuffix(start.show, "/"), files, false)
	if errors.Is(err, fs.SkipAll) {
		return nil
	}
	return err
}

type walkRun struct {
	*walker
	root *os.Root
	fn   func(entry) error
}

// parentIgnores reads the ignore files of the folders above a folder, from the root down.
func (r *walkRun) parentIgnores(rel string) []ignoreFile {
	var files []ignoreFile
	if rel == "." {
		return nil
	}
	parts := strings.Split(rel, "/")
	for i := range parts {
		dir := path.Join(parts[:i]...)
		files = r.appendIgnores(files, dir)
	}
	return files
}

func (r *walkRun) appendIgnores(files []ignoreFile, dir string) []ignoreFile {
	const maxBytes = 1 << 20
	for _, name := range []string{".gitignore", ".ignore"} {
		f, err := r.root.OpenFile(filepath.FromSlash(path.Join(dir, name)), os.O_RDONLY|openNonblock, 0)
		if err != nil {
			continue
		}
		info, err := f.Stat()
		if err == nil && info.Mode().IsRegular() {
			if text, err := io.ReadAll(io.LimitReader(f, maxBytes)); err == nil {
				files = append(files, ignoreFile{dir: dir, rules: parseIgnore(string(text))})
			}
		}
		_ = f.Close() // opened for reading
	}
	return files
}

func (r *walkRun) dir(ctx context.Context, rel, show string, files []ignoreFile, inIgnored bool) error {
	f, err := r.root.Open(filepath.FromSlash(rel))
	if err != nil {
		return nil //nolint:nilerr // folders that cannot be read are passed over
	}
	children, err := f.ReadDir(-1)
	_ = f.Close() // opened for reading
	if err != nil && len(children) == 0 {
		return nil
	}
	sortEntries(children)
	if rel == "." {
		rel = ""
	}
	files = r.appendIgnores(slices.Clip(files), rel)
	for _, child := range children {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := r.child(ctx, child, rel, show, files, inIgnored); err != nil {
			return err
		}
	}
	return nil
}

func (r *walkRun) child(ctx context.Context, child fs.DirEntry, rel, show string, files []ignoreFile, inIgnored bool) error {
	e := entry{path: joinShown(show, child.Name()), dir: child.IsDir(), link: child.Type()&fs.ModeSymlink != 0}
	childRel := path.Join(rel, child.Name())
	hidden := strings.HasPrefix(child.Name(), ".")
	named := isIgnored(files, childRel, e.dir)
	e.ignored = inIgnored || hidden || named
	err := r.fn(e)
	if errors.Is(err, fs.SkipDir) {
		return nil
	}
	if err != nil || !e.dir || child.Name() == ".git" || hidden && !r.hidden || named && !r.ignored {
		return err
	}
	return r.dir(ctx, childRel, e.path, files, e.ignored)
}

func joinShown(dir, name string) string {
	if dir == "." || dir == "" {
		return name
	}
	return dir + "/" + name
}

// A fileGlob is a checked pattern over paths as a walk shows them.
type fileGlob struct {
	start   target // the folder to begin at
	pattern string
}

// glob reads a pattern: a folder means all files in it, and a pattern without a slash matches names in every folder.
func (w *workspace) glob(pattern string) (fileGlob, *Error) {
	pattern = path.Clean(filepath.ToSlash(strings.TrimSpace(pattern)))
	if filepath.IsAbs(pattern) {
		pattern = w.show(filepath.FromSlash(pattern))
	}
	if slices.Contains(strings.Split(pattern, "/"), "..") {
		return fileGlob{}, w.outside(pattern, w.abs(pattern))
	}
	if !doublestar.ValidatePattern(pattern) {
		return fileGlob{}, &Error{
			Kind:    KindInvalidArguments,
			Message: fmt.Sprintf("%q is not a valid file pattern", pattern),
			Fix:     "use *, ?, ** and [abc], for example **/*.log",
		}
	}
	if t, problem := w.resolve(pattern); problem == nil && t.info.IsDir() {
		return fileGlob{start: t, pattern: joinShown(escapeGlob(t.show), "**")}, nil
	}
	base, _ := doublestar.SplitPattern(pattern)
	if !strings.Contains(pattern, "/") {
		pattern = "**/" + pattern
	}
	start, problem := w.resolve(unescapeGlob(base))
	if problem != nil {
		return fileGlob{}, problem
	}
	if !start.info.IsDir() {
		return fileGlob{}, &Error{Kind: KindWrongKind, Message: fmt.Sprintf("%q is a file, not a folder", start.show), Fix: "use its path alone"}
	}
	return fileGlob{start: start, pattern: pattern}, nil
}

func (g fileGlob) match(path string) bool {
	ok, err := doublestar.Match(g.pattern, path)
	return err == nil && ok
}

// files returns the paths of the matching files, at most limit, in order of path. Files that are hidden or named by an
// ignore file are left out, unless nothing else matches.
func (g fileGlob) files(ctx context.Context, w *workspace, limit int) (globFiles, error) {
	found, err := g.collect(ctx, w, limit, false)
	if err != nil || found.total > 0 {
		return found, err
	}
	found, err = g.collect(ctx, w, limit, true)
	found.onlyIgnored = found.total > 0
	return found, err
}

// collect gathers what matches. With all, hidden and ignored files are among it.
func (g fileGlob) collect(ctx context.Context, w *workspace, limit int, all bool) (globFiles, error) {
	found := globFiles{folders: map[string]int{}}
	k := &walker{w: w, hidden: all, ignored: all}
	err := k.walk(ctx, g.start, func(e entry) error {
		if e.ignored && !all {
			found.left++
			return nil
		}
		if e.dir || !g.match(e.path) {
			return nil
		}
		found.total++
		folder, _, below := strings.Cut(strings.TrimPrefix(e.path, strings.TrimSuffix(g.start.show, ".")), "/")
		if below {
			found.folders[folder]++
		}
		if len(found.paths) < limit {
			found.paths = append(found.paths, e.path)
		}
		return nil
	})
	return found, err
}

// globFiles is what a pattern matches.
type globFiles struct {
	paths       []string
	total       int            // matching files, in paths or not
	folders     map[string]int // matching files by first folder below the start
	left        int            // hidden or ignored files and folders passed over
	onlyIgnored bool           // paths are hidden or ignored files, because there are no others
}

func escapeGlob(name string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "{", `\{`).Replace(name)
}

func unescapeGlob(name string) string {
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		if name[i] == '\\' && i+1 < len(name) {
			i++
		}
		b.WriteByte(name[i])
	}
	return b.String()
}

func sortEntries(entries []fs.DirEntry) {
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
}
