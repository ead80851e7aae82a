package gguf

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// maxParts bounds the files of one model that are looked at; llama.cpp counts them in 16 bits.
const maxParts = 1024

// splitName matches the names that llama.cpp gives the parts of a split model: llama_split_path in src/llama.cpp.
var splitName = regexp.MustCompile(`^(.*)-(\d{5})-of-(\d{5})(\.gguf)$`)

// partPath returns the path of part n (0-based) of the model that path belongs to, and whether path follows the pattern.
func partPath(path string, n int) (string, bool) {
	folder, name := filepath.Split(path)
	m := splitName.FindStringSubmatch(name)
	if m == nil {
		return "", false
	}
	return folder + fmt.Sprintf("%s-%05d-of-%s%s", m[1], n+1, m[3], m[4]), true
}

// Files returns the paths of all files of the model, in order.
func (info *Info) Files() []string {
	out := []string{info.Path}
	if info.SplitIndex != 0 || info.SplitCount > maxParts {
		return out
	}
	for n := 1; n < info.SplitCount; n++ {
		if path, ok := partPath(info.Path, n); ok {
			out = append(out, path)
		}
	}
	return out
}

// inspectParts looks at the other files of a split model, adds up their weights and notes what is wrong with them.
func (info *Info) inspectParts() {
	if info.SplitCount > maxParts {
		return
	}
	for n := 1; n < info.SplitCount; n++ {
		path, ok := partPath(info.Path, n)
		if !ok {
			return
		}
		part, err := inspectFile(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			info.MissingParts = append(info.MissingParts, filepath.Base(path))
			continue
		case err == nil:
			part.Path = path
			info.Parameters += part.Parameters
			info.weightBytes += part.weightBytes
			info.tensors += part.tensors
			if info.unusable.name == "" {
				info.unusable = part.unusable
			}
			err = part.checkPart(n)
		}
		if err != nil && info.partErr == nil {
			info.partErr = err
		}
	}
}

// checkPart checks a later file of a split model.
func (info *Info) checkPart(n int) error {
	if err := info.checkSize(); err != nil {
		err.Path = info.Path
		return err
	}
	// Another type than u16 makes llama.cpp abort.
	if v := info.meta["split.no"]; v.kind != kindUint16 || info.SplitIndex != n {
		return &FileError{Path: info.Path, Reason: fmt.Sprintf("it does not say that it is part %d of its model", n+1), Fix: againFix}
	}
	return nil
}

// checkSplit makes sure that a split model is opened by its first file and complete.
func (info *Info) checkSplit() *FileError {
	if info.SplitIndex > 0 || laterPart(info.Path) {
		fix := "give the first file of the model"
		if first, ok := partPath(info.Path, 0); ok {
			fix = fmt.Sprintf("give the first file, %q", filepath.Base(first))
		}
		return &FileError{Reason: "it is a later part of a model split into several files", Fix: fix}
	}
	if info.SplitCount <= 1 {
		return nil
	}
	m := splitName.FindStringSubmatch(filepath.Base(info.Path))
	switch {
	case info.SplitCount > maxParts:
		return &FileError{Reason: fmt.Sprintf("it claims to be split into %d files, more than %d", info.SplitCount, maxParts), Fix: againFix}
	case info.meta["split.count"].kind != kindUint16:
		return &FileError{Reason: fmt.Sprintf("its split.count has the type %s instead of u16", info.meta["split.count"].kind), Fix: againFix}
	case m == nil || strings.TrimLeft(m[3], "0") != strconv.Itoa(info.SplitCount):
		return &FileError{
			Reason: fmt.Sprintf("it is the first of %d files, but its name does not say so", info.SplitCount),
			Fix:    fmt.Sprintf("rename the files to NAME-00001-of-%05d.gguf and so on", info.SplitCount),
		}
	case len(info.MissingParts) > 0:
		return &FileError{
			Reason: fmt.Sprintf("%d of the model's %d files are missing: %s", len(info.MissingParts), info.SplitCount, quoteList(info.MissingParts[:min(len(info.MissingParts), 5)])),
			Fix:    "download them into the same folder",
		}
	}
	return nil
}

// laterPart reports whether the name says that the file is not the first one.
func laterPart(path string) bool {
	m := splitName.FindStringSubmatch(filepath.Base(path))
	return m != nil && m[2] != "00001" && m[2] != "00000"
}
