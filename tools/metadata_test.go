package tools

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMetadata(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		"a.txt": "one\ntwo", "app.log.gz": gzipped(t, "a\nb\nc\n"), "pic.png": png, "sub/x": "x", "sub/y/z": "x", "wide.txt": utf16Text(binary.LittleEndian, "a\nb\n"),
	})
	at := time.Date(2024, 3, 1, 12, 0, 0, 0, time.UTC)
	require.NoError(t, os.Chtimes(filepath.Join(dir, "a.txt"), at, at))
	makeDatabase(t, filepath.Join(dir, "shop.db"), "CREATE TABLE orders(id)")
	r := builtins(t, dir)
	require.Equal(t, "a.txt\nkind: text\nsize: 7 bytes\nlines: 2\nencoding: utf-8\nmodified: 2024-03-01T12:00:00Z\nThe file is short; this is all of it:\none\ntwo",
		mustCall(t, r, "get_file_metadata", map[string]any{"file_path": "a.txt"}).Text)
	for path, says := range map[string]string{
		"app.log.gz": "compressed with gzip\n",
		"pic.png":    "kind: binary (image/png)",
		"sub":        "kind: folder\ncontains: 1 file, 1 folder",
		"shop.db":    "kind: sqlite\n",
		"wide.txt":   "lines: 2\nencoding: utf-16le",
	} {
		require.Contains(t, mustCall(t, r, "get_file_metadata", map[string]any{"file_path": path}).Text, says)
	}
	require.Equal(t, 3, *mustCall(t, r, "get_file_metadata", map[string]any{"file_path": "app.log.gz"}).Data.(FileMetadata).Lines)
	require.Equal(t, []string{"orders"}, mustCall(t, r, "get_file_metadata", map[string]any{"file_path": "shop.db"}).Data.(FileMetadata).Tables)
}
