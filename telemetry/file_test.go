package telemetry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// faulty is a disk on which something goes wrong.
type faulty struct {
	osDisk
	failOpen, failCreate, failWrite, failClose error
	short                                      bool   // the write before the failure is not complete
	writing                                    func() // is called by each write
}

type faultyHandle struct {
	handle
	d *faulty
}

func (d *faulty) open(path string, flag int) (handle, error) {
	if d.failOpen != nil {
		return nil, d.failOpen
	}
	h, err := d.osDisk.open(path, flag)
	if err != nil {
		return nil, err
	}
	return faultyHandle{h, d}, nil
}

func (d *faulty) create(path string, content []byte) error {
	if d.failCreate != nil {
		return d.failCreate
	}
	return d.osDisk.create(path, content)
}

func (h faultyHandle) Write(p []byte) (int, error) {
	if h.d.writing != nil {
		h.d.writing()
	}
	if h.d.short {
		return h.handle.Write(p[:len(p)/2])
	}
	if h.d.failWrite != nil {
		return 0, h.d.failWrite
	}
	return h.handle.Write(p)
}

func (h faultyHandle) Close() error { return errors.Join(h.handle.Close(), h.d.failClose) }

func openOn(t *testing.T, dir string, o Options, d disk) *Recorder {
	t.Helper()
	r, err := open(dir, o, d)
	require.NoError(t, err)
	t.Cleanup(func() { r.Close(context.WithoutCancel(t.Context())) })
	return r
}

// Whatever fails is told once, with the file, the reason and what to do, and ends nothing.
func TestFailuresAreToldOnce(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		d    *faulty
		says string
	}{
		"full":          {&faulty{failWrite: syscall.ENOSPC}, "no space left on device"},
		"read-only":     {&faulty{failOpen: syscall.EROFS, failCreate: syscall.EROFS}, "read-only file system"},
		"not permitted": {&faulty{failOpen: fs.ErrPermission}, "permission denied"},
		"no header":     {&faulty{failCreate: syscall.ENOSPC, failWrite: syscall.ENOSPC}, "no space left"},
		"short":         {&faulty{short: true}, io.ErrShortWrite.Error()},
		"at the close":  {&faulty{failClose: syscall.EDQUOT}, "quota"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			told := &told{}
			r := openOn(t, t.TempDir(), quiet(newClock(), told), test.d)
			for range 3 {
				task := r.Task("t")
				task.Inference("p", Inference{})
				task.Tool("p", ToolCall{})
				task.KV("p", KV{})
				task.End("done")
			}
			r.Close(t.Context())
			require.Len(t, told.lines(), 1)
			require.Contains(t, told.lines()[0], test.says)
			require.Contains(t, told.lines()[0], LifecycleFile)
			require.Contains(t, told.lines()[0], "telemetry.output_dir")
		})
	}
}

// A file that fails does not stop the others, and is not tried again.
func TestOtherFilesGoOn(t *testing.T) {
	t.Parallel()
	dir, told := t.TempDir(), &told{}
	require.NoError(t, os.Mkdir(filepath.Join(dir, InferenceFile), 0o700))
	r := openIn(t, dir, quiet(newClock(), told))
	task := r.Task("t")
	task.Inference("p", Inference{})
	require.NoError(t, os.Remove(filepath.Join(dir, InferenceFile)))
	task.Inference("p", Inference{})
	task.Tool("p", ToolCall{})
	require.NoFileExists(t, filepath.Join(dir, InferenceFile))
	require.Len(t, objects(t, read(t, dir, ToolFile)), 1)
	require.Len(t, told.lines(), 1)
	require.Contains(t, told.lines()[0], InferenceFile)
}

// A write that takes long is the last one of its file.
func TestSlowDiskIsGivenUp(t *testing.T) {
	t.Parallel()
	c, told, dir := newClock(), &told{}, t.TempDir()
	took := maxWrite
	r := openOn(t, dir, quiet(c, told), &faulty{writing: func() { c.add(took) }})
	task := r.Task("t")
	require.Empty(t, told.lines(), "just within the limit")
	took = maxWrite + time.Millisecond
	task.Event("p", "slow", nil)
	require.Len(t, told.lines(), 1)
	require.Contains(t, told.lines()[0], "it took 5.001s")
	task.Event("p", "dropped", nil)
	require.Len(t, objects(t, read(t, dir, LifecycleFile)), 2)
}

func TestFolderIsGone(t *testing.T) {
	t.Parallel()
	dir, told := filepath.Join(t.TempDir(), "d"), &told{}
	r := openIn(t, dir, quiet(newClock(), told))
	task := r.Task("t")
	task.KV("p", KV{})
	require.NoError(t, os.RemoveAll(dir))
	task.KV("p", KV{})
	task.Event("p", "e", nil)
	task.End("done")
	require.NoDirExists(t, dir)
	require.Len(t, told.lines(), 1)
	require.Contains(t, told.lines()[0], "no such file")
}

// A file that was moved away begins anew, with its header.
func TestFileIsMovedAway(t *testing.T) {
	t.Parallel()
	dir, told := t.TempDir(), &told{}
	r := openIn(t, dir, quiet(newClock(), told))
	task := r.Task("t")
	task.KV("p", KV{UsedTokens: 1})
	require.NoError(t, os.Rename(filepath.Join(dir, KVFile), filepath.Join(dir, "old.csv")))
	task.KV("p", KV{UsedTokens: 2})
	require.Equal(t, "1", rows(t, read(t, dir, "old.csv"))[0]["used_tokens"])
	require.Equal(t, "2", rows(t, read(t, dir, KVFile))[0]["used_tokens"])
	require.Empty(t, told.lines())
}

func TestEmptyFileGetsItsHeader(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, KVFile), nil, 0o600))
	r := openIn(t, dir, quiet(newClock(), &told{}))
	r.Task("t").KV("p", KV{UsedTokens: 2})
	require.Equal(t, "2", rows(t, read(t, dir, KVFile))[0]["used_tokens"])
}

// What a killed process left of a line does not spoil the next one.
func TestTornLineStaysAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, LifecycleFile), []byte(begin+"\n"+begin[:40]), 0o600))
	r := openIn(t, dir, quiet(newClock(), &told{}))
	r.Task("t1").Event("p", "e", nil)
	lines := strings.Split(read(t, dir, LifecycleFile), "\n")
	require.Equal(t, []string{begin, begin[:40], begin}, lines[:3])
	require.Len(t, lines, 5)
}

func TestFilesArePrivate(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "d")
	r := openIn(t, dir, quiet(newClock(), &told{}))
	r.Task("t").KV("p", KV{})
	for path, mode := range map[string]fs.FileMode{dir: 0o700, filepath.Join(dir, KVFile): 0o600, filepath.Join(dir, LifecycleFile): 0o600} {
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, mode, info.Mode().Perm(), path)
	}
}

func TestUnwritableFolderIsTold(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		t.Skip("the system lets this user write everywhere")
	}
	dir, told := t.TempDir(), &told{}
	require.NoError(t, os.Chmod(dir, 0o500))
	r := openIn(t, filepath.Join(dir, "d"), quiet(newClock(), told))
	r.Task("t").End("done")
	require.Len(t, told.lines(), 1)
	require.Contains(t, told.lines()[0], "permission denied")
}

func TestCreateNeverReplaces(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	require.NoError(t, osDisk{}.create(path, []byte("one")))
	require.ErrorIs(t, osDisk{}.create(path, []byte("two")), fs.ErrExist)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "one", string(data))
	require.Error(t, osDisk{}.create(filepath.Join(path, "x"), nil))
}

func TestReasonDropsThePath(t *testing.T) {
	t.Parallel()
	_, err := os.Open(filepath.Join(t.TempDir(), "none"))
	require.Equal(t, syscall.ENOENT, reason(err))
	require.Equal(t, "x", reason(fmt.Errorf("x")).Error())
}
