package artifacts

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/internal/sqlitedb/sqlitedbtest"
)

// Content that was changed is an error that names it, never content; putting the same again makes it whole.
func TestDamagedContent(t *testing.T) {
	t.Parallel()
	const content = "line one\nline two\n"
	for name, tc := range map[string]struct {
		damage func(t *testing.T, path string)
		says   string
	}{
		"a bit flipped": {func(t *testing.T, path string) {
			require.NoError(t, os.WriteFile(path, []byte("line one\nline 2wo\n"), 0o600))
		}, "its SHA-256 is another"},
		"cut": {func(t *testing.T, path string) {
			require.NoError(t, os.WriteFile(path, []byte("line one\n"), 0o600))
		}, "another size"},
		"longer": {func(t *testing.T, path string) {
			require.NoError(t, os.WriteFile(path, []byte(content+content), 0o600))
		}, "another size"},
		"emptied": {func(t *testing.T, path string) {
			require.NoError(t, os.Truncate(path, 0))
		}, "another size"},
		"missing": {func(t *testing.T, path string) {
			require.NoError(t, os.Remove(path))
		}, "the file is missing"},
		"a link": {func(t *testing.T, path string) {
			require.NoError(t, os.Rename(path, path+".moved"))
			require.NoError(t, os.Symlink(path+".moved", path))
		}, "no regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, Options{})
			a := put(t, s, "me", "a.txt", content)
			tc.damage(t, filepath.Join(s.Dir(), "content", a.SHA256+".bin"))
			_, got, contentErr := s.Content(t.Context(), "me", a.Ref)
			require.Nil(t, got)
			page, retrieveErr := s.Retrieve(t.Context(), "me", a.Ref, Range{})
			require.Zero(t, page)
			found, searchErr := s.Search(t.Context(), "me", a.Ref, Query{Text: "line"})
			require.Empty(t, found.Matches)
			for _, err := range []error{contentErr, retrieveErr, searchErr} {
				var damaged *DamagedError
				require.ErrorAs(t, err, &damaged)
				require.ErrorIs(t, err, ErrDamaged)
				require.NotErrorIs(t, err, ErrUnknown)
				require.Equal(t, a.Ref, damaged.Artifact.Ref)
				require.ErrorContains(t, err, a.Ref)
				require.ErrorContains(t, err, tc.says)
				require.ErrorContains(t, err, "call read_file again")
			}
			got2, err := s.Get(t.Context(), "me", a.Ref)
			require.NoError(t, err, "what is known of it is still there")
			require.Equal(t, a.Ref, got2.Ref)

			require.Equal(t, a.Ref, put(t, s, "me", "a.txt", content).Ref)
			requireContent(t, s, a, content)
		})
	}
}

// failing is a file system on which one operation fails.
type failing struct {
	osFiles
	at  string
	err error
}

func (f failing) createTemp(dir, pattern string) (tempFile, error) {
	if f.at == "create" {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: f.err}
	}
	file, err := f.osFiles.createTemp(dir, pattern)
	return failingFile{file, f}, err
}

func (f failing) rename(from, to string) error {
	if f.at == "rename" {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: f.err}
	}
	return f.osFiles.rename(from, to)
}

func (f failing) syncDir(dir string) error {
	if f.at == "sync folder" {
		return &fs.PathError{Op: "sync", Path: dir, Err: f.err}
	}
	return f.osFiles.syncDir(dir)
}

type failingFile struct {
	tempFile
	f failing
}

func (f failingFile) Write(p []byte) (int, error) {
	if f.f.at == "write" {
		n, err := f.tempFile.Write(p[:len(p)/2])
		return n, errors.Join(err, &fs.PathError{Op: "write", Path: f.Name(), Err: f.f.err})
	}
	return f.tempFile.Write(p)
}

func (f failingFile) Sync() error {
	if f.f.at == "sync" {
		return &fs.PathError{Op: "sync", Path: f.Name(), Err: f.f.err}
	}
	return f.tempFile.Sync()
}

func (f failingFile) Close() error {
	err := f.tempFile.Close()
	if f.f.at == "close" {
		return &fs.PathError{Op: "close", Path: f.Name(), Err: f.f.err}
	}
	return err
}

// A full or read-only disk refuses a new artifact with what to do, loses nothing, leaves nothing behind, and later it works.
func TestDiskThatFails(t *testing.T) {
	t.Parallel()
	for kind, tc := range map[string]struct {
		err  error
		is   error
		says string
	}{
		"full":      {syscall.ENOSPC, ErrFull, "free space on its disk and try again"},
		"quota":     {syscall.EDQUOT, ErrFull, "free space on its disk and try again"},
		"read-only": {syscall.EROFS, ErrNotWritable, "readable and writable, or choose another one"},
		"denied":    {syscall.EACCES, ErrNotWritable, "readable and writable, or choose another one"},
		"broken":    {syscall.EIO, nil, "input/output error"},
	} {
		for _, at := range []string{"create", "write", "sync", "close", "rename", "sync folder"} {
			t.Run(kind+"/"+at, func(t *testing.T) {
				t.Parallel()
				s := open(t, Options{})
				kept := put(t, s, "me", "kept", "kept content")
				s.files.fs = failing{at: at, err: tc.err}
				_, err := s.Put(t.Context(), "me", Source{Tool: "t"}, []byte("new content"))
				require.Error(t, err)
				require.ErrorIs(t, err, tc.err)
				if tc.is != nil {
					require.ErrorIs(t, err, tc.is)
				}
				require.ErrorContains(t, err, "storing content in ")
				require.ErrorContains(t, err, s.files.dir)
				require.ErrorContains(t, err, tc.says)
				require.Equal(t, 1, strings.Count(err.Error(), "storing"))
				list, err := s.List(t.Context(), "me", 0)
				require.NoError(t, err)
				require.Equal(t, []string{kept.Ref}, refsOf(list))
				requireContent(t, s, kept, "kept content")

				s.files.fs = osFiles{}
				require.Len(t, contentFiles(t, s), 1)
				requireContent(t, s, put(t, s, "me", "a", "new content"), "new content")
			})
		}
	}
}

// A database that cannot take the row leaves no content behind.
func TestFullDatabase(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	kept := put(t, s, "me", "kept", "kept content")
	sqlitedbtest.Execute(t, s.db, sqlitedbtest.DiskFull)
	facts := make([]Fact, maxFacts)
	for i := range facts {
		facts[i] = Fact{"fact", strings.Repeat("x", maxFactValue)}
	}
	_, err := s.Put(t.Context(), "me", Source{Tool: "t", Facts: facts}, []byte("new content"))
	require.ErrorIs(t, err, ErrFull)
	require.ErrorContains(t, err, databaseName)
	require.Equal(t, []string{kept.SHA256 + ".bin"}, contentFiles(t, s))
	requireContent(t, s, kept, "kept content")
}

func TestFoldersThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, []byte("x"), 0o600))
	_, err := Open(t.Context(), file, Options{})
	require.ErrorContains(t, err, "opening artifacts in ")
	require.ErrorContains(t, err, file)

	other := filepath.Join(dir, "other")
	require.NoError(t, os.MkdirAll(other, 0o700))
	sqlitedbtest.NoDatabase(t, filepath.Join(other, databaseName))
	_, err = Open(t.Context(), other, Options{})
	require.ErrorIs(t, err, ErrCorrupt)
	require.ErrorContains(t, err, databaseName)

	readOnly := filepath.Join(dir, "read-only")
	require.NoError(t, os.Mkdir(readOnly, 0o700))
	if !sqlitedbtest.Lock(t, readOnly) {
		return
	}
	_, err = Open(t.Context(), filepath.Join(readOnly, "store"), Options{})
	require.ErrorIs(t, err, ErrNotWritable)
	require.ErrorContains(t, err, "choose another one")
}

// A folder that turns read-only while it is in use still gives out what it has.
func TestReadingWithoutWriting(t *testing.T) {
	t.Parallel()
	clock := newClock()
	s := open(t, Options{Clock: clock.Time})
	a, b := put(t, s, "me", "a", "first"), put(t, s, "me", "b", "second")
	sqlitedbtest.Execute(t, s.db, sqlitedbtest.ReadOnly)
	clock.Pass(time.Hour)
	requireContent(t, s, a, "first")
	requireContent(t, s, b, "second")
	_, err := s.Put(t.Context(), "me", Source{Tool: "t"}, []byte("third"))
	require.ErrorIs(t, err, ErrNotWritable)
	require.Len(t, contentFiles(t, s), 2)
}

// Rows that somebody changed are errors, not other artifacts.
func TestDamagedRows(t *testing.T) {
	t.Parallel()
	for name, query := range map[string]string{
		"facts":    "UPDATE artifacts SET facts = '{'",
		"a hash":   "PRAGMA foreign_keys = off; UPDATE artifacts SET sha256 = x'01'; UPDATE contents SET sha256 = x'01'",
		"the size": "UPDATE contents SET bytes = -1",
	} {
		s := open(t, Options{MaxBytes: 1, Live: func(context.Context, string, string) (bool, error) { return false, nil }})
		a := put(t, s, "me", "a", "x")
		sqlitedbtest.Execute(t, s.db, query)
		_, _, err := s.Content(t.Context(), "me", a.Ref)
		require.ErrorIs(t, err, ErrCorrupt, name)
		_, err = s.List(t.Context(), "me", 0)
		require.ErrorIs(t, err, ErrCorrupt, name)
		_, err = s.GC(t.Context())
		require.ErrorIs(t, err, ErrCorrupt, name)
	}
}
