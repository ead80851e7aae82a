package tools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A workspace turns paths that a model wrote into files that may be read. It holds no open files.
type workspace struct {
	dir   string   // absolute
	roots []string // allowed folders, absolute, links not yet resolved
}

// newWorkspace takes the workspace folder and the folders that may be read; relative ones are below the workspace, and
// none means the workspace alone.
func newWorkspace(dir string, allowedRoots []string) *workspace {
	w := &workspace{}
	if abs, err := filepath.Abs(dir); dir != "" && err == nil {
		w.dir = abs
	}
	if len(allowedRoots) == 0 {
		allowedRoots = []string{"."}
	}
	for _, root := range allowedRoots {
		w.roots = append(w.roots, w.abs(root))
	}
	return w
}

func (w *workspace) abs(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(w.dir, path)
}

// A target is an existing file or folder inside an allowed root.
type target struct {
	given string // as written by the model
	show  string // for messages: slashes, relative to the workspace where possible
	root  string // the allowed root, links resolved
	real  string // absolute, links resolved
	info  fs.FileInfo
}

// inRoot returns the path of the target below its root, as os.Root wants it.
func (t target) inRoot() string {
	rel, err := filepath.Rel(t.root, t.real)
	if err != nil {
		return t.real
	}
	return rel
}

// resolve finds an existing regular file or folder. Links are followed first; what decides is where they end.
func (w *workspace) resolve(path string) (target, *Error) {
	t, problem := w.locate(path)
	if problem != nil {
		return t, problem
	}
	info, err := os.Lstat(t.real)
	if err != nil {
		return t, w.missing(t, err)
	}
	t.info = info
	if !info.IsDir() && !info.Mode().IsRegular() {
		return t, &Error{
			Kind:    KindDenied,
			Message: fmt.Sprintf("%q is %s, not a file", t.show, modeName(info.Mode())),
			Fix:     "only regular files and folders can be read",
		}
	}
	return t, nil
}

// locate resolves the existing part of a path and checks that it stays inside an allowed root. The path need not exist.
func (w *workspace) locate(path string) (target, *Error) {
	t := target{given: path}
	switch {
	case w.dir == "":
		return t, &Error{Kind: KindFailed, Message: "no workspace folder is set", Fix: "answer without files"}
	case strings.ContainsRune(path, 0):
		return t, &Error{Kind: KindDenied, Message: fmt.Sprintf("the path %q contains a NUL byte", path), Fix: "give a plain path"}
	case strings.TrimSpace(path) == "":
		return t, &Error{Kind: KindInvalidArguments, Message: "the path is empty", Fix: "name a file of the workspace"}
	}
	abs := w.abs(filepath.FromSlash(path))
	t.show = w.show(abs)
	resolved, err := resolveLinks(abs)
	if err != nil {
		return t, &Error{Kind: KindDenied, Message: fmt.Sprintf("resolving %q: %s", t.show, plainReason(err)), Fix: "use another file"}
	}
	for _, root := range w.roots {
		realRoot, err := filepath.EvalSymlinks(root)
		if err == nil && isWithin(realRoot, resolved) {
			t.root, t.real = realRoot, resolved
			return t, nil
		}
	}
	return t, w.outside(path, abs)
}

func (w *workspace) outside(path, abs string) *Error {
	reason := "is outside the folders that may be read"
	for _, root := range w.roots {
		if isWithin(root, abs) {
			reason = "is a link to a place outside the folders that may be read"
		}
	}
	return &Error{
		Kind:    KindDenied,
		Message: fmt.Sprintf("%q %s", path, reason),
		Fix:     "use a path inside the workspace, relative to it; list_files shows what there is",
	}
}

// show returns the shortest unambiguous name of an absolute path.
func (w *workspace) show(abs string) string {
	if rel, err := filepath.Rel(w.dir, abs); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return filepath.ToSlash(abs)
}

// resolveLinks follows the links of the longest existing head of a path and appends the rest. A link whose end does not
// exist is an error: what would be there is unknown.
func resolveLinks(abs string) (string, error) {
	rest := ""
	for head := abs; ; {
		resolved, err := filepath.EvalSymlinks(head)
		if err == nil {
			return filepath.Join(resolved, rest), nil
		}
		if !errors.Is(err, fs.ErrNotExist) && !isNotDir(err) {
			return "", err
		}
		if info, lerr := os.Lstat(head); lerr == nil && info.Mode()&fs.ModeSymlink != 0 {
			return "", errors.New("it is a link to something that does not exist")
		}
		parent := filepath.Dir(head)
		if parent == head {
			return "", err
		}
		rest = filepath.Join(filepath.Base(head), rest)
		head = parent
	}
}

// isWithin compares by path component, so that /a/bc is not within /a/b.
func isWithin(root, path string) bool {
	rel, err := filepath.Rel(root, path)
	return err == nil && filepath.IsLocal(rel)
}

// open opens a target for reading. Check and use cannot be raced out of the root: os.Root refuses to leave it, and what
// was opened is checked again, because the name may meanwhile be a FIFO.
func (t target) open() (*os.File, error) {
	root, err := os.OpenRoot(t.root)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := root.OpenFile(t.inRoot(), os.O_RDONLY|openNonblock, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		err = fmt.Errorf("it is %s, not a file", modeName(info.Mode()))
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// missing explains a path that could not be examined, with the names nearest to it.
func (w *workspace) missing(t target, err error) *Error {
	if !errors.Is(err, fs.ErrNotExist) && !isNotDir(err) {
		return &Error{Kind: KindFailed, Message: fmt.Sprintf("examining %q: %s", t.show, plainReason(err))}
	}
	out := &Error{Kind: KindNotFound, Message: fmt.Sprintf("there is no file %q", t.show)}
	near, some := w.nearestFiles(t.show)
	switch {
	case len(near) > 0:
		out.Fix = "did you mean " + quoteList(near, " or ") + "?"
		out.Data = map[string]any{"nearest": near}
	case len(some) > 0:
		out.Fix = "the workspace has " + quoteList(some, " and ") + "; list_files shows all"
		out.Data = map[string]any{"nearest": some}
	default:
		out.Fix = "the workspace has no files"
	}
	return out
}

// nearestFiles returns up to three files whose name or path is like path, and else the first few files there are. It
// looks at hidden and ignored files only when the others have none.
func (w *workspace) nearestFiles(path string) (near, some []string) {
	for _, all := range []bool{false, true} {
		paths := w.somePaths(all)
		if near = nearestPaths(filepath.ToSlash(path), paths); len(near) > 0 {
			return near, nil
		}
		if some == nil {
			some = paths[:min(5, len(paths))]
		}
	}
	return nil, some
}

// somePaths returns the files of a part of the allowed roots that is quick to walk.
func (w *workspace) somePaths(all bool) []string {
	const maxEntries = 10_000
	paths, seen := []string{}, 0
	walker := walker{w: w, hidden: all, ignored: all}
	for _, root := range w.roots {
		start, problem := w.resolve(root)
		if problem != nil || !start.info.IsDir() {
			continue
		}
		err := walker.walk(context.Background(), start, func(e entry) error {
			if seen++; seen > maxEntries {
				return fs.SkipAll
			}
			if !e.dir && (all || !e.ignored) {
				paths = append(paths, e.path)
			}
			return nil
		})
		if err != nil {
			break // suggestions are a courtesy
		}
	}
	return paths
}

// nearestPaths ranks paths: the same file name elsewhere, then a name that is alike, then a path that is.
func nearestPaths(wanted string, paths []string) []string {
	base := wanted[strings.LastIndexByte(wanted, '/')+1:]
	var near, names []string
	byName := map[string][]string{}
	for _, p := range paths {
		name := p[strings.LastIndexByte(p, '/')+1:]
		if strings.EqualFold(name, base) {
			near = append(near, p)
			continue
		}
		if byName[name] == nil {
			names = append(names, name)
		}
		byName[name] = append(byName[name], p)
	}
	for _, name := range nearest(base, names, 3) {
		near = append(near, byName[name]...)
	}
	for _, p := range nearest(wanted, paths, 3) {
		if !slices.Contains(near, p) {
			near = append(near, p)
		}
	}
	return near[:min(3, len(near))]
}

// modeName names what is neither a file nor a folder.
func modeName(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeNamedPipe != 0:
		return "a FIFO"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	case mode&fs.ModeSymlink != 0:
		return "a link"
	}
	return "a special file"
}

// plainReason drops the operation and the machine's path from an error of the file system.
func plainReason(err error) string {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err.Error()
	}
	if linkErr, ok := errors.AsType[*os.LinkError](err); ok {
		return linkErr.Err.Error()
	}
	return err.Error()
}

// resolveFile is resolve for a tool that is about one file. A folder is refused with the tool that lists it; wanted and purpose
// complete the sentences of that error.
func (w *workspace) resolveFile(path, wanted, purpose string) (target, *Error) {
	t, problem := w.resolve(path)
	if problem == nil && t.info.IsDir() {
		problem = &Error{
			Kind:    KindWrongKind,
			Message: fmt.Sprintf("%q is a folder, not %s", t.show, wanted),
			Fix:     fmt.Sprintf("use list_files with pattern %q", joinShown(t.show, "**")) + purpose,
			Instead: "list_files",
		}
	}
	return t, problem
}
