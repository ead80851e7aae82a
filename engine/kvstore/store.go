package kvstore

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// ErrMissing says that the store does not hold a chunk, or no longer, or not in a usable state.
var ErrMissing = errors.New("kvstore: no such chunk")

// ErrTooLarge says that a chunk is larger than the store may become, or than any chunk may be.
var ErrTooLarge = errors.New("kvstore: the chunk is larger than the store allows")

// ErrBusy says that there is no room at this moment, because of what other processes are writing.
var ErrBusy = errors.New("kvstore: other processes fill the store")

const (
	suffix     = ".kv"
	tempPrefix = "writing-"
	// staleTemp is the age at which a file that a process was writing is thought to have been left by a killed one.
	staleTemp = time.Hour
	// lowWater is the share of the cap that eviction goes down to, in percent, so that it is not needed for every chunk.
	lowWater = 90
)

// Store is a folder of chunks. Its methods are safe for concurrent use by goroutines and processes; it holds nothing open.
type Store struct {
	dir   string
	limit int64
	now   func() time.Time
	// create makes the file that a chunk is written to, and is replaced in tests.
	create func(dir, pattern string) (file, error)
}

type file interface {
	io.WriteCloser
	Name() string
}

// Open uses a folder, which is made when it is not there, for up to limit bytes. now gives the time of use of chunks.
func Open(dir string, limit int64, now func() time.Time) (*Store, error) {
	if limit <= 0 {
		return nil, fmt.Errorf("kvstore: a limit of %d bytes", limit)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("opening the KV store %q: %w", dir, err)
	}
	s := &Store{dir: dir, limit: limit, now: now, create: func(dir, pattern string) (file, error) { return os.CreateTemp(dir, pattern) }}
	if _, err := list(dir); err != nil {
		return nil, fmt.Errorf("opening the KV store %q: %w", dir, err)
	}
	return s, nil
}

// Dir is the folder.
func (s *Store) Dir() string { return s.dir }

func (s *Store) path(key Key) string { return filepath.Join(s.dir, key.String()+suffix) }

// Has reports whether there is a file for a chunk. It may turn out to be unusable.
func (s *Store) Has(key Key) bool {
	info, err := os.Lstat(s.path(key))
	return err == nil && info.Mode().IsRegular()
}

// Get returns the state of a chunk. The caller owns it. tokens are those that the chunk must have. The error is
// ErrMissing; a file that is damaged, or is no chunk at all, is removed, and the error is ErrDamaged too.
func (s *Store) Get(key Key, tokens []int32) ([]byte, error) {
	path := s.path(key)
	state, err := s.read(path, key, tokens)
	switch {
	case err == nil:
		return state, nil
	case errors.Is(err, ErrDamaged):
		// Another process may have put a good one in its place just now; losing that costs one computation.
		err = errors.Join(err, os.Remove(path))
	case errors.Is(err, fs.ErrNotExist):
		return nil, ErrMissing
	}
	return nil, fmt.Errorf("%w: reading %s: %w", ErrMissing, filepath.Base(path), err)
}

func (s *Store) read(path string, key Key, tokens []int32) ([]byte, error) {
	info, err := os.Lstat(path) // opening a pipe would wait for its other end
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, damaged("not a file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil { // of the file that is read, should it be another one by now
		return nil, err
	}
	return readChunk(f, info.Size(), key, tokens)
}

// Put keeps a chunk, and drops the chunks that were not used for the longest time when the folder would become too large.
// Readers see the whole file or none. Two processes that put at the same moment can go above the limit by what they put;
// the next one goes back below it.
//
// The file is not forced to the disk: after a power cut it can be damaged, which its checksum tells.
func (s *Store) Put(key Key, tokens []int32, state []byte) error {
	size := fileSize(len(tokens), len(state))
	if len(tokens) > maxTokens || len(state) > maxPayload || size > s.limit {
		return fmt.Errorf("%w: %d bytes", ErrTooLarge, size)
	}
	if err := s.makeRoom(size); err != nil {
		return fmt.Errorf("putting a chunk into %q: %w", s.dir, err)
	}
	if err := s.write(key, tokens, state); err != nil {
		return fmt.Errorf("putting a chunk into %q: %w", s.dir, err)
	}
	return nil
}

func (s *Store) write(key Key, tokens []int32, state []byte) error {
	f, err := s.create(s.dir, tempPrefix+"*")
	if err != nil {
		return err
	}
	err = writeChunk(f, key, tokens, state)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		t := s.now()
		err = os.Chtimes(f.Name(), t, t)
	}
	if err == nil {
		err = os.Rename(f.Name(), s.path(key))
	}
	if err != nil {
		return errors.Join(err, ignoreMissing(os.Remove(f.Name())))
	}
	return nil
}

// Touch notes that chunks were used, the first as the last one used: with a parent before its children, no chunk
// outlives the ones that it builds on. Chunks that are gone are left out; other errors don't matter, since they only make
// eviction less wise.
func (s *Store) Touch(keys ...Key) {
	t := s.now()
	for i, key := range slices.Backward(keys) {
		at := t.Add(time.Duration(len(keys)-i) * time.Microsecond)
		_ = os.Chtimes(s.path(key), at, at)
	}
}

// Bytes is the size of the files of the store.
func (s *Store) Bytes() (int64, error) { return FolderBytes(s.dir) }

// FolderBytes is the size of the files of a store in a folder, which need not be open. Other files do not count.
func FolderBytes(dir string) (int64, error) {
	entries, err := list(dir)
	return total(entries), err
}

// entry is a file of the store.
type entry struct {
	name string
	size int64
	used time.Time
}

// list returns the files of the store, those that were not used for the longest time first. Other files are not looked at.
func list(dir string) ([]entry, error) {
	names, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	out := make([]entry, 0, len(names))
	for _, d := range names {
		if !d.Type().IsRegular() || !ours(d.Name()) {
			continue
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // another process removed it
		}
		if err != nil {
			return nil, err
		}
		out = append(out, entry{d.Name(), info.Size(), info.ModTime()})
	}
	slices.SortFunc(out, func(a, b entry) int {
		if c := a.used.Compare(b.used); c != 0 {
			return c
		}
		return strings.Compare(a.name, b.name)
	})
	return out, nil
}

// ours reports whether a name is one that the store gives.
func ours(name string) bool {
	return strings.HasPrefix(name, tempPrefix) || isChunkName(name) || isSumName(name)
}

func total(entries []entry) int64 {
	var n int64
	for _, e := range entries {
		n += e.size
	}
	return n
}

// makeRoom removes files until size more bytes fit.
func (s *Store) makeRoom(size int64) error {
	entries, err := list(s.dir)
	if err != nil {
		return err
	}
	used := total(entries)
	stale := s.now().Add(-staleTemp)
	for _, e := range entries {
		if strings.HasPrefix(e.name, tempPrefix) && e.used.Before(stale) {
			if err := s.remove(e); err != nil {
				return err
			}
			used -= e.size
		}
	}
	if used+size <= s.limit {
		return nil
	}
	goal := max(s.limit/100*lowWater-size, 0)
	for _, e := range entries {
		if used <= goal {
			break
		}
		if strings.HasPrefix(e.name, tempPrefix) {
			continue // being written, or removed above
		}
		if err := s.remove(e); err != nil {
			return err
		}
		used -= e.size
	}
	if used+size > s.limit {
		return ErrBusy
	}
	return nil
}

func (s *Store) remove(e entry) error { return ignoreMissing(os.Remove(filepath.Join(s.dir, e.name))) }

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
