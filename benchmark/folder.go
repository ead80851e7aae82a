package benchmark

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// More names in a folder of results.
const (
	suiteCopy    = "suite.json" // the suite as it was measured, so that a run is resumed with the same one
	failuresFile = "failures.jsonl"
	lockFile     = ".lock"
	ownerFile    = ".owner"
	samplesDir   = "samples" // where samples work, and stay when they are kept
)

var (
	// ErrInUse says that another process works in a folder of results.
	ErrInUse = errors.New("benchmark: the folder of results is in use")
	// ErrNoResults says that a folder holds no results.
	ErrNoResults = errors.New("benchmark: no results")
)

// folder is a folder of results that this process has for itself until it is closed. A sample is in it as soon as its line in
// [samplesFile] is whole; everything else that is kept of it is written before.
type folder struct {
	path string
	lock *flock.Flock
}

// openFolder takes possession of a folder that exists.
func openFolder(path string, now time.Time) (*folder, error) {
	f := &folder{path: path, lock: flock.New(filepath.Join(path, lockFile))}
	mine, err := f.lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("locking the results in %q: %w", path, err)
	}
	if !mine {
		return nil, fmt.Errorf("%w: %q belongs to %s; wait until it has ended, or stop it", ErrInUse, path, f.owner())
	}
	text, err := json.Marshal(owner{os.Getpid(), now})
	if err == nil {
		err = swapIn(f.join(ownerFile), bytes.NewReader(append(text, '\n')))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("locking the results in %q: %w", path, err), f.lock.Unlock())
	}
	return f, nil
}

// owner is who works in a folder.
type owner struct {
	PID   int       `json:"pid"`
	Since time.Time `json:"since"`
}

func (f *folder) owner() string {
	var o owner
	data, err := os.ReadFile(f.join(ownerFile))
	if err != nil || json.Unmarshal(data, &o) != nil || o.PID == 0 {
		return "another process" // that has only just begun
	}
	return fmt.Sprintf("process %d since %s", o.PID, o.Since.Format(time.DateTime))
}

// close gives the folder back.
func (f *folder) close() error {
	err := os.Remove(f.join(ownerFile))
	return errors.Join(err, f.lock.Unlock())
}

func (f *folder) join(name string) string { return filepath.Join(f.path, name) }

func (f *folder) writeManifest(m *Manifest) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err == nil {
		err = swapIn(f.join(manifestFile), bytes.NewReader(append(text, '\n')))
	}
	if err != nil {
		return fmt.Errorf("writing %q: %w", f.join(manifestFile), err)
	}
	return nil
}

// StoredManifest reads the manifest of a folder of results. Its errors are [ErrNoResults], or a [*ResultsError] that says what is wrong
// with the file.
func StoredManifest(path string) (*Manifest, error) {
	m, err := loadManifest(filepath.Join(path, manifestFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w in %q: it has no %s", ErrNoResults, path, manifestFile)
	}
	return m, err
}

// StoredSuite reads the suite that the results in a folder were measured with.
func StoredSuite(path string, m *Manifest) (*SuiteFile, error) {
	data, err := os.ReadFile(filepath.Join(path, suiteCopy))
	if err != nil {
		return nil, fmt.Errorf("reading the suite of the results: %w", err)
	}
	if hashOf(data) != m.Suite.SHA256 {
		return nil, fmt.Errorf("the file %q is not the suite that was measured: its hash is another than in %s", filepath.Join(path, suiteCopy), manifestFile)
	}
	return parseSuite(m.Suite.File, "", data)
}

// entry is what is appended to one file.
type entry struct {
	file string
	data []byte
}

// commit appends to files, in their order, and returns when all is on the disk. When one of them cannot be written, all become
// what they were before, so that no part of a line is left.
func (f *folder) commit(entries []entry) error {
	var before []int64
	for i, e := range entries {
		size, err := f.size(e.file)
		if err == nil {
			before = append(before, size)
			err = appendTo(f.join(e.file), e.data)
		}
		if err == nil {
			continue
		}
		for j := range before {
			// What cannot be cut is repaired when the run is resumed.
			_ = os.Truncate(f.join(entries[j].file), before[j])
		}
		return fmt.Errorf("writing %q: %w", f.join(entries[i].file), reason(err))
	}
	return nil
}

// size is that of a file, 0 for one that is not there.
func (f *folder) size(name string) (int64, error) {
	info, err := os.Stat(f.join(name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, nil
	case err != nil:
		return 0, err
	}
	return info.Size(), nil
}

func appendTo(path string, data []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	if _, err = file.Write(data); err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// line is a value as one line of JSON.
func line(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.Bytes(), err
}
