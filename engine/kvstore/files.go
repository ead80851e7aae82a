package kvstore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// ErrChanged says that a file is not the one that was stamped.
var ErrChanged = errors.New("kvstore: the file was changed")

const (
	sumPrefix = "sum-"
	sumSuffix = ".txt"
	// settled is the age from which on another write to a file is sure to show in its stamp; some file systems keep times
	// in steps of two seconds.
	settled = 3 * time.Second
)

// Stamp tells one state of a file from another without reading it: its size and number, and when its content and its
// metadata were last changed. The last of these, where the system has it, cannot be set by programs, so that a copy that
// keeps the time of its source has a stamp of its own.
type Stamp struct {
	path    string
	text    string
	changed time.Time
}

// StampOf takes the stamp of a file.
func StampOf(path string) (Stamp, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Stamp{}, err
	}
	number, changed := changeOf(info)
	if changed.Before(info.ModTime()) {
		changed = info.ModTime()
	}
	return Stamp{path, fmt.Sprintf("%d %d %s %d", info.Size(), info.ModTime().UnixNano(), number, changed.UnixNano()), changed}, nil
}

func (s *Store) sumPath(stamp Stamp) string {
	sum := Root("file", stamp.text)
	return filepath.Join(s.dir, sumPrefix+sum.String()+sumSuffix)
}

// KnownSum returns the SHA-256 of a file that Sum has read before, in this process or another one.
func (s *Store) KnownSum(stamp Stamp) (Key, bool) {
	path := s.sumPath(stamp)
	info, err := os.Lstat(path)
	if err != nil || info.Size() != 2*sha256.Size || !info.Mode().IsRegular() {
		return Key{}, false
	}
	text, err := os.ReadFile(path)
	if err != nil || len(text) != 2*sha256.Size {
		return Key{}, false
	}
	raw, err := hex.DecodeString(string(text))
	if err != nil {
		return Key{}, false
	}
	t := s.now()
	_ = os.Chtimes(path, t, t) // only for eviction
	return Key(raw), true
}

// Sum reads a file for its SHA-256, which KnownSum then knows. The error is ErrChanged when the file has, or gets meanwhile,
// another stamp. It blocks as long as reading takes; a cancelled ctx stops it. A store that cannot be written to is no
// error.
func (s *Store) Sum(ctx context.Context, stamp Stamp) (Key, error) {
	sum, err := sumFile(ctx, stamp)
	if err != nil {
		return Key{}, fmt.Errorf("reading %s for its checksum: %w", filepath.Base(stamp.path), err)
	}
	if s.now().Sub(stamp.changed) >= settled {
		_ = s.writeSum(stamp, sum) // it would be computed again
	}
	return sum, nil
}

func sumFile(ctx context.Context, stamp Stamp) (Key, error) {
	f, err := os.Open(stamp.path)
	if err != nil {
		return Key{}, err
	}
	defer f.Close()
	h := sha256.New()
	buf := make([]byte, 1<<20)
	for {
		if err := ctx.Err(); err != nil {
			return Key{}, err
		}
		n, err := f.Read(buf)
		h.Write(buf[:n])
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Key{}, err
		}
	}
	now, err := StampOf(stamp.path)
	if err != nil {
		return Key{}, err
	}
	if now.text != stamp.text {
		return Key{}, ErrChanged
	}
	return Key(h.Sum(nil)), nil
}

func (s *Store) writeSum(stamp Stamp, sum Key) error {
	f, err := s.create(s.dir, tempPrefix+"*")
	if err != nil {
		return err
	}
	_, err = f.Write([]byte(sum.String()))
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), s.sumPath(stamp))
	}
	if err != nil {
		return errors.Join(err, ignoreMissing(os.Remove(f.Name())))
	}
	return nil
}

func isSumName(name string) bool {
	rest, ok := strings.CutPrefix(name, sumPrefix)
	rest, ok2 := strings.CutSuffix(rest, sumSuffix)
	return ok && ok2 && isHexKey(rest)
}

func isChunkName(name string) bool {
	rest, ok := strings.CutSuffix(name, suffix)
	return ok && isHexKey(rest)
}

func isHexKey(s string) bool {
	return len(s) == 2*len(Key{}) && strings.Trim(s, "0123456789abcdef") == ""
}
