package telemetry

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// Names of the files in the folder of a recorder.
const (
	InferenceFile = "inference_events.jsonl"
	ToolFile      = "tool_events.jsonl"
	LifecycleFile = "lifecycle_events.jsonl"
	MemoryFile    = "system_memory.csv"
	KVFile        = "kv_metrics.csv"
)

// maxWrite is the longest that a write may take before its file is given up.
const maxWrite = 5 * time.Second

// settle is how long a file that ends within a line is given to be ended by the process that may be writing it.
const settle = 5 * time.Millisecond

// A handle is what a file needs of an open one.
type handle interface {
	io.Writer
	io.ReaderAt
	io.Closer
	Stat() (fs.FileInfo, error)
}

// disk is where files are. Tests put faults in its place.
type disk interface {
	open(path string, flag int) (handle, error)
	// create makes a file that holds content, or fails with [fs.ErrExist]. Nobody sees it with less than its content.
	create(path string, content []byte) error
}

// A file is opened for each record. So a folder that is gone is noticed, a file that was moved away begins anew, and nothing is
// held open. It is safe for concurrent use.
type file struct {
	path   string
	header []byte // first line of a CSV file; nil: none
	disk   disk
	now    func() time.Time

	mu      sync.Mutex
	checked bool // that it does not end within a line
	dead    bool // given up
}

// append writes whole lines in one call. The first error gives the file up; it is returned once, later calls do nothing.
func (f *file) append(lines []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dead {
		return nil
	}
	begun := f.now()
	err := f.write(lines)
	if took := f.now().Sub(begun); err == nil && took > maxWrite {
		err = fmt.Errorf("it took %s", took.Round(time.Millisecond))
	}
	if err != nil {
		f.dead = true
		return fmt.Errorf("writing %q: %w", f.path, err)
	}
	return nil
}

func (f *file) write(lines []byte) error {
	// Not waiting matters for a named pipe without a reader, which would stop the run. Other files know no difference.
	const flags = os.O_RDWR | os.O_APPEND | syscall.O_NONBLOCK
	h, err := f.openOrCreate(flags)
	if err != nil {
		return err
	}
	err = f.writeTo(h, lines)
	// An error that a network file system kept for the end counts too.
	return errors.Join(err, h.Close())
}

func (f *file) openOrCreate(flags int) (handle, error) {
	if f.header == nil {
		return f.disk.open(f.path, flags|os.O_CREATE)
	}
	h, err := f.disk.open(f.path, flags)
	if !errors.Is(err, fs.ErrNotExist) {
		return h, err
	}
	if err := f.disk.create(f.path, f.header); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return f.disk.open(f.path, flags)
}

func (f *file) writeTo(h handle, lines []byte) error {
	info, err := h.Stat()
	if err != nil {
		return err
	}
	if info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket|fs.ModeDir) != 0 {
		return errors.New("it is no regular file; remove it or choose another folder")
	}
	if info.Size() == 0 && f.header != nil { // somebody else made it
		lines = append(append([]byte(nil), f.header...), lines...)
	}
	if !f.checked {
		if f.torn(h) {
			lines = append([]byte("\n"), lines...)
		}
		f.checked = true
	}
	n, err := h.Write(lines)
	if err == nil && n < len(lines) {
		err = io.ErrShortWrite
	}
	return err
}

// torn reports whether the file ends within a line, as one does whose process was killed or whose disk became full.
func (f *file) torn(h handle) bool {
	ends := func() (size int64, within bool) {
		info, err := h.Stat()
		if err != nil || info.Size() == 0 {
			return 0, false
		}
		var last [1]byte
		if _, err := h.ReadAt(last[:], info.Size()-1); err != nil {
			return 0, false
		}
		return info.Size(), last[0] != '\n'
	}
	size, within := ends()
	if !within {
		return false
	}
	// Another process may be in the middle of its write.
	time.Sleep(settle)
	again, within := ends()
	return within && again == size
}

// osDisk is the operating system's.
type osDisk struct{}

const (
	dirMode  = 0o700 // records are about one user's work
	fileMode = 0o600
)

func (osDisk) open(path string, flag int) (handle, error) {
	f, err := os.OpenFile(path, flag, fileMode)
	if err != nil {
		return nil, reason(err)
	}
	return f, nil
}

// create writes a file under another name and links it to its own, which fails when there is one. Where the file system has no
// links, the file is created and then written; a process that starts in between may put its row before the header.
func (osDisk) create(path string, content []byte) (err error) {
	temp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return reason(err)
	}
	defer os.Remove(temp.Name()) //nolint:errcheck // a name too many does no harm
	_, err = temp.Write(content)
	if err := errors.Join(err, temp.Close()); err != nil {
		return reason(err)
	}
	if err = os.Link(temp.Name(), path); err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return reason(err)
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Close())
}

// reason is an error without the path, which the caller says.
func reason(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
