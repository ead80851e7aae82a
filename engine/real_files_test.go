//go:build cgo && !nollama

package engine

import (
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/llama-agent/llama-agent/internal/testmodel"
	"github.com/stretchr/testify/require"
)

// header is a GGUF file without tensors, of an architecture.
func header(architecture string) []byte {
	var b bytes.Buffer
	put := func(v any) {
		if err := binary.Write(&b, binary.LittleEndian, v); err != nil {
			panic(err)
		}
	}
	text := func(s string) {
		put(uint64(len(s)))
		b.WriteString(s)
	}
	b.WriteString("GGUF")
	put(uint32(3))
	put(uint64(0))
	put(uint64(1))
	text("general.architecture")
	put(uint32(8))
	text(architecture)
	return b.Bytes()
}

func TestRealUnusableFiles(t *testing.T) {
	tiny, err := os.ReadFile(testmodel.Path(t, testmodel.Tiny))
	require.NoError(t, err)
	folder := t.TempDir()
	for name, data := range map[string][]byte{
		"head.gguf": tiny[:100_000], "half.gguf": tiny[:len(tiny)/2], "tail.gguf": tiny[:len(tiny)-1000], "empty.gguf": {}, "ten.gguf": tiny[:10],
		"text.gguf": []byte("This is no model.\n"), "bert.gguf": header("bert"), "nosuch.gguf": header("nosuch"),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), data, 0o644))
	}
	require.NoError(t, os.Mkdir(filepath.Join(folder, "folder.gguf"), 0o755))
	for _, name := range []string{
		"head.gguf", "half.gguf", "tail.gguf", "empty.gguf", "ten.gguf", "text.gguf", "bert.gguf", "nosuch.gguf", "folder.gguf", "missing.gguf",
	} {
		path := filepath.Join(folder, name)
		_, err := Open(t.Context(), Config{ModelPath: path})
		var fe *ModelFileError
		require.ErrorAs(t, err, &fe, name)
		require.Equal(t, path, fe.Path)
		require.NotEmpty(t, fe.Reason, name)
		require.NotContains(t, err.Error(), "\n")
	}
	_, err = Open(t.Context(), Config{ModelPath: filepath.Join(folder, "bert.gguf")})
	require.ErrorContains(t, err, "embedding")
	_, err = Open(t.Context(), Config{ModelPath: filepath.Join(folder, "nosuch.gguf")})
	require.ErrorContains(t, err, "nosuch")

	// A tensor is missing: llama.cpp itself refuses that.
	require.NotEmpty(t, say(t, open(t, testmodel.Tiny), user("hi")).Content, "a good file still opens")
}

func TestRealDamagedNameIsRefusedByLlama(t *testing.T) {
	data, err := os.ReadFile(testmodel.Path(t, testmodel.Tiny))
	require.NoError(t, err)
	data = bytes.Replace(data, []byte("blk.0.attn_q.weight"), []byte("blk.0.attn_X.weight"), 1)
	path := filepath.Join(t.TempDir(), "renamed.gguf")
	require.NoError(t, os.WriteFile(path, data, 0o644))
	_, err = Open(t.Context(), Config{ModelPath: path})
	var fe *ModelFileError
	require.ErrorAs(t, err, &fe)
	require.Equal(t, path, fe.Path)
}

func TestRealLoadProgressAndCancel(t *testing.T) {
	path := testmodel.Path(t, testmodel.Tiny)
	var got []float32
	e, err := Open(t.Context(), Config{ModelPath: path, ContextSize: 256, Threads: 1, Progress: func(p float32) { got = append(got, p) }})
	require.NoError(t, err)
	require.NoError(t, e.Close())
	require.IsNonDecreasing(t, got)
	require.EqualValues(t, 1, got[len(got)-1])

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Open(ctx, Config{ModelPath: path})
	require.ErrorIs(t, err, context.Canceled)
}
