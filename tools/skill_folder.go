package tools

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"unicode/utf8"
)

// A skillFolder is an open folder of skills. Nothing outside it is read through it.
type skillFolder struct {
	root *os.Root
	real string // absolute, links resolved
	show string // for messages
}

// openSkillFolder opens a folder; nil without a problem when there is none. The workspace may come from anywhere, so a link in it
// does not make files elsewhere part of the prompt.
func openSkillFolder(w *workspace, abs string) (*skillFolder, *skillFault) {
	resolved, err := filepath.EvalSymlinks(abs)
	if err != nil {
		if _, lerr := os.Lstat(abs); errors.Is(err, fs.ErrNotExist) && errors.Is(lerr, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, fault(0, "correct it, or name another folder in tools.skills.dirs", "opening the folder: %s", plainReason(err))
	}
	if top, err := filepath.EvalSymlinks(w.dir); w.dir != "" && err == nil && isWithin(w.dir, abs) && !isWithin(top, resolved) {
		return nil, fault(0, "name the folder itself in tools.skills.dirs", "it is a link out of the workspace")
	}
	info, err := os.Stat(resolved)
	if err == nil && !info.IsDir() {
		return nil, fault(0, "name a folder in tools.skills.dirs", "it is not a folder")
	}
	var root *os.Root
	if err == nil {
		root, err = os.OpenRoot(resolved)
	}
	if err != nil {
		return nil, fault(0, "check its permissions", "opening the folder: %s", plainReason(err))
	}
	return &skillFolder{root: root, real: resolved, show: w.show(abs)}, nil
}

// leadsToFolder tells whether a link that the folder refuses to follow ends at a folder.
func (f *skillFolder) leadsToFolder(name string) bool {
	info, err := os.Stat(filepath.Join(f.real, name))
	return err == nil && info.IsDir()
}

// unreadable explains why a file below the folder cannot be examined or opened.
func (f *skillFolder) unreadable(name string, err error) *skillFault {
	end, linkErr := filepath.EvalSymlinks(filepath.Join(f.real, name))
	switch {
	case errors.Is(linkErr, fs.ErrNotExist):
		return fault(0, "correct or remove the link", "it is a link to something that does not exist")
	case linkErr == nil && !isWithin(f.real, end):
		return fault(0, "put the file itself there", "it is a link out of the folder of skills")
	}
	return fault(0, "check the file and its permissions", "reading it: %s", plainReason(err))
}

// read returns the text of a regular file of at most limit bytes.
func (f *skillFolder) read(name string, limit int) (string, *skillFault) {
	info, err := f.root.Stat(name)
	if err != nil {
		return "", f.unreadable(name, err)
	}
	if !info.Mode().IsRegular() {
		return "", notRegular(info.Mode())
	}
	file, err := f.root.OpenFile(name, os.O_RDONLY|openNonblock, 0)
	if err != nil {
		return "", f.unreadable(name, err)
	}
	defer file.Close()
	// The name may meanwhile be a FIFO, whose end never comes.
	if info, err := file.Stat(); err == nil && !info.Mode().IsRegular() {
		return "", notRegular(info.Mode())
	}
	text, err := io.ReadAll(io.LimitReader(file, int64(limit)+1))
	switch {
	case err != nil:
		return "", f.unreadable(name, err)
	case len(text) > limit:
		return "", fault(0, "shorten it", "it has more than %s", byteSize(int64(limit)))
	case !utf8.Valid(text):
		return "", fault(0, "save it as UTF-8", "it is not UTF-8 text")
	}
	return string(text), nil
}

func notRegular(mode fs.FileMode) *skillFault {
	what := "a folder"
	if !mode.IsDir() {
		what = modeName(mode)
	}
	return fault(0, "put a regular file there", "it is %s, not a file", what)
}

// files returns the names of the regular files in a folder of the folder, sorted, without hidden ones, links and except. They are
// at most limit.
func (f *skillFolder) files(name, except string, limit int) ([]string, error) {
	const maxEntries = 2000
	sub, err := f.root.OpenRoot(name)
	if err != nil {
		return nil, fmt.Errorf("opening %q: %w", name, err)
	}
	defer sub.Close()
	names, seen := []string{}, 0
	err = fs.WalkDir(sub.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if seen++; seen > maxEntries || len(names) == limit {
			return fs.SkipAll
		}
		switch {
		case err != nil && path != ".":
			return nil // what cannot be listed is left out
		case path != "." && d.Name()[0] == '.':
			if d.IsDir() {
				return fs.SkipDir
			}
		case err == nil && d.Type().IsRegular() && path != except:
			names = append(names, path)
		}
		return err
	})
	return names, err
}
