package artifacts

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// Names in the content folder. Anything else there is somebody else's and is left alone.
const (
	contentSuffix = ".bin"
	tempPrefix    = "put-"
	tempSuffix    = ".tmp"
)

// maxTempAge is how long a file that is being written may not change before it counts as left behind by a process that is gone.
const maxTempAge = time.Hour

// fileSystem is what the content folder asks of the operating system to change it.
type fileSystem interface {
	createTemp(dir, pattern string) (tempFile, error)
	rename(from, to string) error
	remove(path string) error
	syncDir(dir string) error // makes names that were changed survive a power failure
}

type tempFile interface {
	io.Writer
	Name() string
	Sync() error
	Close() error
}

type osFiles struct{}

func (osFiles) createTemp(dir, pattern string) (tempFile, error) { return os.CreateTemp(dir, pattern) }
func (osFiles) rename(from, to string) error                     { return os.Rename(from, to) }
func (osFiles) remove(path string) error                         { return os.Remove(path) }

func (osFiles) syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil // folders cannot be synced there
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// folder is where content lies, each in a file named by its SHA-256.
type folder struct {
	dir string
	fs  fileSystem
}

type contentSum [sha256.Size]byte

func (s contentSum) String() string { return hex.EncodeToString(s[:]) }

// path is made of hexadecimal digits only.
func (f folder) path(sum contentSum) string { return filepath.Join(f.dir, sum.String()+contentSuffix) }

// write stores content under a temporary name and returns its path. It is on the disk then.
func (f folder) write(content []byte) (path string, err error) {
	const doing = "storing content in"
	file, err := f.fs.createTemp(f.dir, tempPrefix+"*"+tempSuffix)
	if err != nil {
		return "", &StorageError{Doing: doing, Path: f.dir, Err: err}
	}
	_, err = file.Write(content)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		_ = f.fs.remove(file.Name()) // what is left of it goes with the next collection
		return "", &StorageError{Doing: doing, Path: f.dir, Err: err}
	}
	return file.Name(), nil
}

// adopt gives written content its name. The caller holds the write lock of the database.
func (f folder) adopt(temp string, sum contentSum) error {
	err := f.fs.rename(temp, f.path(sum))
	if err == nil {
		err = f.fs.syncDir(f.dir)
	}
	if err != nil {
		return &StorageError{Doing: "storing content in", Path: f.dir, Err: err}
	}
	return nil
}

// errMissing and the others say why stored content cannot be given out.
var (
	errMissing  = errors.New("the file is missing")
	errNoFile   = errors.New("it is no regular file any more")
	errSize     = errors.New("the file has another size than what was stored")
	errChanged  = errors.New("the file was changed: its SHA-256 is another")
	errNotOpens = errors.New("the file cannot be read")
)

// read returns content of so many bytes, when it is still what was stored.
func (f folder) read(sum contentSum, size int64) ([]byte, error) {
	path := f.path(sum)
	// Opening a FIFO would wait for a writer, and a link may lead anywhere.
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w: %w", errMissing, err)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", errNotOpens, err)
	case !info.Mode().IsRegular():
		return nil, errNoFile
	case info.Size() != size:
		return nil, errSize
	}
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %w", errMissing, err)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNotOpens, err)
	}
	defer file.Close() // it was only read
	content := make([]byte, size)
	if _, err := io.ReadFull(file, content); err != nil {
		return nil, fmt.Errorf("%w: %w", errNotOpens, err)
	}
	if sha256.Sum256(content) != sum {
		return nil, errChanged
	}
	return content, nil
}

// removeFile removes a file and returns its size in bytes; one that is not there has 0.
func (f folder) removeFile(path string) (int64, error) {
	info, err := os.Lstat(path)
	if err == nil {
		err = f.fs.remove(path)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, nil
	case err != nil:
		return 0, &StorageError{Doing: "removing", Path: path, Err: err}
	}
	return info.Size(), nil
}

// listing is what lies in the content folder.
type listing struct {
	contents []contentSum
	stale    []string // paths of temporary files that nobody writes any more
}

// list reads the folder. now is for telling which temporary files are stale.
func (f folder) list(now time.Time) (listing, error) {
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return listing{}, &StorageError{Doing: "listing", Path: f.dir, Err: err}
	}
	var out listing
	for _, entry := range entries {
		name := entry.Name()
		if sum, ok := sumOf(name); ok {
			out.contents = append(out.contents, sum)
			continue
		}
		if !strings.HasPrefix(name, tempPrefix) || !strings.HasSuffix(name, tempSuffix) {
			continue
		}
		info, err := entry.Info()
		if err == nil && info.Mode().IsRegular() && now.Sub(info.ModTime()) > maxTempAge {
			out.stale = append(out.stale, filepath.Join(f.dir, name))
		}
	}
	return out, nil
}

// sumOf reads the name of a content file.
func sumOf(name string) (sum contentSum, ok bool) {
	digits, ok := strings.CutSuffix(name, contentSuffix)
	if !ok {
		return sum, false
	}
	raw, err := hex.DecodeString(digits)
	if err != nil || len(raw) != len(sum) || digits != strings.ToLower(digits) {
		return sum, false
	}
	return contentSum(raw), true
}
