package gguf

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"
	"github.com/gabriel-vasile/mimetype"
)

// FileError says why a file cannot serve as the model, or the adapter, that it is named as. Its message is one line: path,
// reason, what to do.
type FileError struct {
	Path   string
	Reason string // what is wrong, without the path
	Fix    string // what to do next
	Err    error  // the operating system's error, when there is one

	what string // that the file should be; empty: a model file
}

func (e *FileError) Error() string {
	text := fmt.Sprintf("%s %q: %s", cmp.Or(e.what, "model file"), e.Path, e.Reason)
	if e.Fix != "" {
		text += "; " + e.Fix
	}
	return text
}

func (e *FileError) Unwrap() error { return e.Err }

// damaged is the error for a header that contradicts the format. The path is filled in by inspectFile.
func damaged(format string, args ...any) *FileError {
	return &FileError{
		Reason: "its header is damaged: " + fmt.Sprintf(format, args...),
		Fix:    "download the file again, and compare its checksum with the publisher's",
	}
}

// missingError explains why path could not be opened, with the nearest model files of its folder.
func missingError(path string, err error) error {
	if path == "" {
		return &FileError{Path: path, Reason: "no path is given", Fix: "set engine.model_path, or pass --model-path", Err: err}
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return &FileError{Path: path, Reason: reading(err), Fix: "check the file's permissions", Err: err}
	}
	folder := filepath.Dir(path)
	if stat, statErr := os.Stat(folder); statErr != nil || !stat.IsDir() {
		return &FileError{Path: path, Reason: fmt.Sprintf("it does not exist, and neither does the folder %q", folder), Fix: "check the path", Err: err}
	}
	fix := fmt.Sprintf("the folder %q holds no .gguf file", folder)
	if names := nearest(modelNames(folder), filepath.Base(path)); len(names) > 0 {
		fix = "the folder holds " + quoteList(names)
	}
	return &FileError{Path: path, Reason: "it does not exist", Fix: fix, Err: err}
}

func directoryError(path string) error {
	fix := "it holds no .gguf file; give the path of one"
	if names := nearest(modelNames(path), ""); len(names) > 0 {
		fix = "give the path of one file; it holds " + quoteList(names)
	}
	return &FileError{Path: path, Reason: "it is a folder", Fix: fix}
}

// modelNames lists the .gguf files of a folder, without looking at more than a few thousand entries.
func modelNames(folder string) []string {
	f, err := os.Open(folder)
	if err != nil {
		return nil
	}
	defer f.Close()
	entries, _ := f.ReadDir(4096)
	var names []string
	for _, entry := range entries {
		if !entry.IsDir() && strings.EqualFold(filepath.Ext(entry.Name()), ".gguf") {
			names = append(names, entry.Name())
		}
	}
	slices.Sort(names)
	return names
}

// nearest returns at most three of names, those most like want first. All are returned in order when want is empty.
func nearest(names []string, want string) []string {
	distance := make(map[string]int, len(names))
	if want != "" {
		for _, name := range names {
			distance[name] = levenshtein.ComputeDistance(strings.ToLower(name), strings.ToLower(want))
		}
		slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(distance[a], distance[b]) })
	}
	return names[:min(len(names), 3)]
}

func quoteList(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = fmt.Sprintf("%q", name)
	}
	return strings.Join(quoted, ", ")
}

// checkMagic tells a GGUF file from everything else that gets a .gguf name, and leaves rs at its start.
func checkMagic(rs io.ReadSeeker, size int64) error {
	const minHeader = 24 // magic, version, two counts
	head := make([]byte, min(size, 4096))
	if _, err := io.ReadFull(rs, head); err != nil {
		return fmt.Errorf("reading the first bytes: %w", err)
	}
	if _, err := rs.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("going back to the start: %w", err)
	}
	again := "download the model again"
	switch {
	case size == 0:
		return &FileError{Reason: "it is empty (0 bytes)", Fix: again}
	case !bytes.HasPrefix(head, []byte("GGUF")):
		return &FileError{Reason: "it is not a GGUF file (" + lookLike(head) + ")", Fix: "use a model in GGUF format"}
	case size < minHeader:
		return &FileError{Reason: fmt.Sprintf("it is truncated: %d bytes are too few for a GGUF header (at least %d)", size, minHeader), Fix: again}
	}
	return nil
}

// lookLike guesses what a file is instead of GGUF, from its first bytes.
func lookLike(head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte("version https://git-lfs")):
		return "it is a Git LFS pointer; run git lfs pull"
	case bytes.HasPrefix(head, []byte("FUGG")):
		return "it is a GGUF file of a big-endian machine"
	case slices.ContainsFunc([]string{"lmgg", "fmgg", "tjgg", "algg"}, func(magic string) bool { return bytes.HasPrefix(head, []byte(magic)) }):
		return "it is in the older GGML format; convert it, or download the GGUF version"
	case len(head) > 9 && head[8] == '{' && bytes.Equal(head[4:8], make([]byte, 4)):
		return "it looks like a safetensors file"
	case len(bytes.Trim(head, "\x00")) == 0:
		return "it holds only zero bytes; a download may have reserved the space and not finished"
	}
	kind := mimetype.Detect(head)
	switch {
	case kind.Is("text/html"):
		return "it looks like an HTML page; the download may have needed a login"
	case kind.Is("application/octet-stream"):
		return "it is some other binary file"
	case strings.HasPrefix(kind.String(), "text/"):
		return "it looks like text"
	}
	return "it looks like " + kind.String()
}

// clean makes a short text from a file fit for a terminal: valid UTF-8, no control characters, at most maxShortText bytes.
func clean(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	text = strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) {
			return ' '
		}
		return r
	}, text))
	for len(text) > maxShortText {
		_, n := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-n]
	}
	return text
}
