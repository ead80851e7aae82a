package kvstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// clock is a time that tests move.
type clock struct{ t time.Time }

func newClock() *clock                 { return &clock{time.Unix(1_700_000_000, 0)} }
func (c *clock) now() time.Time        { return c.t }
func (c *clock) after(d time.Duration) { c.t = c.t.Add(d) }
func open(t testing.TB, limit int64) (*Store, *clock) {
	t.Helper()
	return openAt(t, t.TempDir(), limit)
}

func openAt(t testing.TB, dir string, limit int64) (*Store, *clock) {
	t.Helper()
	c := newClock()
	s, err := Open(dir, limit, c.now)
	require.NoError(t, err)
	return s, c
}

// chunk makes the i-th chunk: its key, tokens and state of n bytes.
func chunk(i, n int) (Key, []int32, []byte) {
	tokens := []int32{int32(i), -1, int32(i * i)}
	return Root("test").Next(tokens), tokens, bytes.Repeat([]byte{byte(i), 7}, n)[:n]
}

func files(t testing.TB, s *Store) []string {
	t.Helper()
	entries, err := os.ReadDir(s.Dir())
	require.NoError(t, err)
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func TestPutAndGet(t *testing.T) {
	t.Parallel()
	s, _ := open(t, 1<<20)
	key, tokens, state := chunk(1, 5000)
	_, err := s.Get(key, tokens)
	require.ErrorIs(t, err, ErrMissing)
	require.False(t, s.Has(key))
	require.NoError(t, s.Put(key, tokens, state))
	require.True(t, s.Has(key))
	got, err := s.Get(key, tokens)
	require.NoError(t, err)
	require.Equal(t, state, got)

	again, _ := openAt(t, s.Dir(), 1<<20)
	got, err = again.Get(key, tokens)
	require.NoError(t, err)
	require.Equal(t, state, got)
	n, err := again.Bytes()
	require.NoError(t, err)
	require.Equal(t, fileSize(3, 5000), n)
	require.Len(t, files(t, s), 1, "no file is left of the writing")
	info, err := os.Stat(s.path(key))
	require.NoError(t, err)
	require.Zero(t, info.Mode()&0o077, "prompts are private")
}

func TestKeys(t *testing.T) {
	t.Parallel()
	root := Root("a", "bc")
	seen := map[Key]string{}
	for name, k := range map[string]Key{
		"root": root, "other cut": Root("ab", "c"), "more": Root("a", "bc", ""), "next": root.Next([]int32{1, 2}), "next 2": root.Next([]int32{1, 3}),
		"in two steps": root.Next([]int32{1}).Next([]int32{2}), "variant": root.Next([]int32{1, 2}).Variant("x"), "none": root.Next(nil),
	} {
		require.Empty(t, seen[k], name)
		seen[k] = name
	}
	require.Equal(t, root.Next([]int32{1, 2}), Root("a", "bc").Next([]int32{1, 2}))
}

// Every way to damage a file ends in the same: the chunk is missing, and the file gone.
func TestDamagedFiles(t *testing.T) {
	t.Parallel()
	key, tokens, state := chunk(3, 400)
	var whole bytes.Buffer
	require.NoError(t, writeChunk(&whole, key, tokens, state))
	put32 := func(at int, v uint32) func([]byte) []byte {
		return func(b []byte) []byte { binary.LittleEndian.PutUint32(b[at:], v); return b }
	}
	damages := map[string]func(b []byte) []byte{
		"empty": func([]byte) []byte { return nil }, "text": func([]byte) []byte { return []byte("This is no chunk.\n") },
		"longer": func(b []byte) []byte { return append(b, 0) }, "zeros": func(b []byte) []byte { return make([]byte, len(b)) },
		"version": put32(8, version+1), "tokens": put32(12, 0xFFFFFFFF), "fewer tokens": put32(12, 2), "state": put32(16, 1<<31), "huge state": put32(20, 0x7FFFFFFF),
	}
	for _, n := range []int{1, 8, headBytes - 1, headBytes, headBytes + 12, whole.Len() / 2, whole.Len() - 1} {
		damages[fmt.Sprintf("cut at %d", n)] = func(b []byte) []byte { return b[:n] }
	}
	for _, at := range []int{0, 9, 13, 17, 30, headBytes, headBytes + 11, headBytes + 12, headBytes + 200, whole.Len() - 33, whole.Len() - 32, whole.Len() - 1} {
		damages[fmt.Sprintf("bit at %d", at)] = func(b []byte) []byte { b[at] ^= 0x10; return b }
	}
	otherKey, otherTokens, _ := chunk(4, 400)
	damages["another chunk"] = func([]byte) []byte {
		var b bytes.Buffer
		require.NoError(t, writeChunk(&b, otherKey, otherTokens, state))
		return b.Bytes()
	}
	damages["other tokens"] = func([]byte) []byte {
		var b bytes.Buffer
		require.NoError(t, writeChunk(&b, key, otherTokens, state))
		return b.Bytes()
	}
	s, _ := open(t, 1<<20)
	for name, damage := range damages {
		require.NoError(t, os.WriteFile(s.path(key), damage(slices.Clone(whole.Bytes())), 0o600))
		_, err := s.Get(key, tokens)
		require.ErrorIs(t, err, ErrMissing, name)
		require.ErrorIs(t, err, ErrDamaged, name)
		require.NoFileExists(t, s.path(key), name)
	}
	require.NoError(t, os.Mkdir(s.path(key), 0o700))
	_, err := s.Get(key, tokens)
	require.ErrorIs(t, err, ErrMissing)
	require.NoError(t, s.Put(key, tokens, state))
	got, err := s.Get(key, tokens)
	require.NoError(t, err)
	require.Equal(t, state, got, "the store works on")
}

func TestLeastRecentlyUsedGoesFirst(t *testing.T) {
	t.Parallel()
	s, c := open(t, 10*fileSize(3, 1000))
	var keys []Key
	put := func(i int) {
		key, tokens, state := chunk(i, 1000)
		c.after(time.Second)
		require.NoError(t, s.Put(key, tokens, state))
		keys = append(keys, key)
	}
	for i := range 10 {
		put(i)
	}
	c.after(time.Second)
	s.Touch(keys[2], keys[1], Root("none"), keys[0])
	put(10)
	held := func() (out []int) {
		for i, k := range keys {
			if s.Has(k) {
				out = append(out, i)
			}
		}
		return out
	}
	require.Equal(t, []int{0, 1, 2, 5, 6, 7, 8, 9, 10}, held())
	for i := 11; i < 18; i++ {
		put(i)
	}
	require.Contains(t, held(), 2, "the first of those touched stays longest")
	require.NotContains(t, held(), 0)
}

func TestWhatIsTooLarge(t *testing.T) {
	t.Parallel()
	s, _ := open(t, 1000)
	key, tokens, state := chunk(1, 2000)
	require.ErrorIs(t, s.Put(key, tokens, state), ErrTooLarge)
	require.Empty(t, files(t, s))
	_, err := Open(t.TempDir(), 0, time.Now)
	require.Error(t, err)
}

// Files that the store did not make stay, whatever they are.
func TestForeignFilesStay(t *testing.T) {
	t.Parallel()
	s, _ := open(t, fileSize(3, 1000))
	others := []string{"notes.txt", "model.kv", Root("x").String(), Root("x").String() + ".kv.txt", "sum-1.txt"}
	for _, name := range others {
		require.NoError(t, os.WriteFile(filepath.Join(s.Dir(), name), make([]byte, 5000), 0o600))
	}
	require.NoError(t, os.Symlink(filepath.Join(s.Dir(), "notes.txt"), filepath.Join(s.Dir(), Root("link").String()+suffix)))
	for i := range 3 {
		key, tokens, state := chunk(i, 1000)
		require.NoError(t, s.Put(key, tokens, state))
	}
	for _, name := range others {
		require.FileExists(t, filepath.Join(s.Dir(), name))
	}
	require.Len(t, files(t, s), len(others)+2)
}

func TestLeftoversOfAKilledProcess(t *testing.T) {
	t.Parallel()
	s, c := open(t, 1<<20)
	left := filepath.Join(s.Dir(), tempPrefix+"123")
	require.NoError(t, os.WriteFile(left, make([]byte, 100), 0o600))
	require.NoError(t, os.Chtimes(left, c.t, c.t))
	key, tokens, state := chunk(1, 10)
	require.NoError(t, s.Put(key, tokens, state))
	require.FileExists(t, left, "another process may still write to it")
	require.NoError(t, os.Truncate(left, 1<<20-100))
	require.NoError(t, os.Chtimes(left, c.t, c.t))
	require.ErrorIs(t, s.Put(key, tokens, state), ErrBusy)
	c.after(staleTemp + time.Second)
	require.NoError(t, s.Put(key, tokens, state))
	require.NoFileExists(t, left)
}

var errFull = errors.New("no space left on device")

// fullFile takes some bytes and then no more.
type fullFile struct {
	*os.File
	room     int
	badClose bool
}

func (f *fullFile) Write(p []byte) (int, error) {
	if len(p) > f.room {
		n, _ := f.File.Write(p[:f.room])
		f.room = 0
		return n, errFull
	}
	f.room -= len(p)
	return f.File.Write(p)
}

func (f *fullFile) Close() error {
	err := f.File.Close()
	if f.badClose {
		return errFull
	}
	return err
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	s, _ := open(t, 1<<20)
	key, tokens, state := chunk(1, 1000)
	for _, room := range []int{0, 10, 100, 1000, int(fileSize(3, 1000)) - 1, 1 << 20} {
		s.create = func(dir, pattern string) (file, error) {
			f, err := os.CreateTemp(dir, pattern)
			return &fullFile{f, room, room == 1<<20}, err
		}
		require.ErrorIs(t, s.Put(key, tokens, state), errFull)
		require.Empty(t, files(t, s), "nothing is left behind")
	}
	s.create = func(string, string) (file, error) { return nil, os.ErrPermission }
	require.ErrorIs(t, s.Put(key, tokens, state), os.ErrPermission)
}

func TestFolderThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(name, nil, 0o600))
	for _, dir := range []string{name, filepath.Join(name, "below"), ""} {
		_, err := Open(dir, 1<<20, time.Now)
		require.Error(t, err, dir)
	}
	s, _ := open(t, 1<<20)
	require.NoError(t, os.RemoveAll(s.Dir()))
	key, tokens, state := chunk(1, 10)
	require.Error(t, s.Put(key, tokens, state))
	_, err := s.Get(key, tokens)
	require.ErrorIs(t, err, ErrMissing)
}

// An evicted file under a reader: the reader has the whole of it.
func TestRemovedWhileReading(t *testing.T) {
	t.Parallel()
	s, _ := open(t, 1<<20)
	key, tokens, state := chunk(1, 1000)
	require.NoError(t, s.Put(key, tokens, state))
	f, err := os.Open(s.path(key))
	require.NoError(t, err)
	defer f.Close()
	require.NoError(t, os.Remove(s.path(key)))
	got, err := readChunk(f, fileSize(3, 1000), key, tokens)
	require.NoError(t, err)
	require.Equal(t, state, got)
}

// The store against a map with times of use.
func TestRandomOperations(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		require.NoError(rt, err)
		limit := rapid.Int64Range(500, 8000).Draw(rt, "limit")
		c := newClock()
		s, err := Open(dir, limit, c.now)
		require.NoError(rt, err)
		type held struct {
			n    int
			used int
		}
		model := map[int]held{}
		step := 0
		size := func() (n int64) {
			for _, h := range model {
				n += fileSize(3, h.n)
			}
			return n
		}
		rt.Repeat(map[string]func(*rapid.T){
			"put": func(rt *rapid.T) {
				step++
				c.after(time.Second)
				i, n := rapid.IntRange(0, 12).Draw(rt, "chunk"), rapid.IntRange(0, 2500).Draw(rt, "bytes")
				key, tokens, state := chunk(i, n)
				err := s.Put(key, tokens, state)
				if fileSize(3, n) > limit {
					require.ErrorIs(rt, err, ErrTooLarge)
					return
				}
				require.NoError(rt, err)
				if size()+fileSize(3, n) > limit {
					for size() > max(limit/100*lowWater-fileSize(3, n), 0) {
						oldest := -1
						for j, h := range model {
							if oldest < 0 || h.used < model[oldest].used {
								oldest = j
							}
						}
						delete(model, oldest)
					}
				}
				model[i] = held{n, step}
			},
			"get": func(rt *rapid.T) {
				i := rapid.IntRange(0, 12).Draw(rt, "chunk")
				key, tokens, state := chunk(i, model[i].n)
				got, err := s.Get(key, tokens)
				if _, ok := model[i]; !ok {
					require.ErrorIs(rt, err, ErrMissing)
					return
				}
				require.NoError(rt, err)
				require.True(rt, bytes.Equal(state, got))
			},
			"touch": func(rt *rapid.T) {
				step++
				c.after(time.Second)
				i := rapid.IntRange(0, 12).Draw(rt, "chunk")
				key, _, _ := chunk(i, 0)
				s.Touch(key)
				if h, ok := model[i]; ok {
					model[i] = held{h.n, step}
				}
			},
			"damage": func(rt *rapid.T) {
				i := rapid.IntRange(0, 12).Draw(rt, "chunk")
				key, tokens, _ := chunk(i, 0)
				b, err := os.ReadFile(s.path(key))
				if err != nil {
					return
				}
				b[rapid.IntRange(0, len(b)-1).Draw(rt, "byte")] ^= 1 << rapid.IntRange(0, 7).Draw(rt, "bit")
				require.NoError(rt, os.WriteFile(s.path(key), b, 0o600))
				_, err = s.Get(key, tokens)
				require.ErrorIs(rt, err, ErrMissing)
				delete(model, i)
			},
			"": func(rt *rapid.T) {
				n, err := s.Bytes()
				require.NoError(rt, err)
				require.Equal(rt, size(), n)
				require.LessOrEqual(rt, n, limit)
			},
		})
	})
}

func FuzzReadChunk(f *testing.F) {
	key, tokens, state := chunk(2, 100)
	var whole bytes.Buffer
	require.NoError(f, writeChunk(&whole, key, tokens, state))
	f.Add(whole.Bytes())
	f.Add(whole.Bytes()[:60])
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, size := range []int64{int64(len(b)), 1 << 40, 0} {
			got, err := readChunk(bytes.NewReader(b), size, key, tokens)
			if err == nil && (!bytes.Equal(b, whole.Bytes()) || !bytes.Equal(got, state)) {
				t.Fatal("another file was accepted")
			}
		}
	})
}

func TestWriteChunkPassesErrorsOn(t *testing.T) {
	t.Parallel()
	key, tokens, state := chunk(1, 10)
	r, w := io.Pipe()
	require.NoError(t, r.CloseWithError(errFull))
	require.ErrorIs(t, writeChunk(w, key, tokens, state), errFull)
}
