package benchmark

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFixtureDigest(t *testing.T) {
	t.Parallel()
	folder := func(t *testing.T) string {
		dir := t.TempDir()
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "logs", "empty"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "a.txt"), []byte("one"), 0o644))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "logs", "b.log"), []byte("two"), 0o644))
		require.NoError(t, os.Symlink("a.txt", filepath.Join(dir, "link")))
		return dir
	}
	digest := func(dir string) string {
		d, err := FixtureDigest(dir)
		require.NoError(t, err)
		return d
	}
	before := digest(folder(t))
	require.Len(t, before, 64)
	for what, change := range map[string]func(dir string) error{
		"nothing": func(string) error { return nil },
		"the time": func(dir string) error {
			return os.Chtimes(filepath.Join(dir, "a.txt"), time.Unix(1, 0), time.Unix(2, 0))
		},
	} {
		dir := folder(t)
		require.NoError(t, change(dir))
		require.Equal(t, before, digest(dir), what)
	}
	for what, change := range map[string]func(dir string) error{
		"a byte":           func(dir string) error { return os.WriteFile(filepath.Join(dir, "a.txt"), []byte("onf"), 0o644) },
		"emptied":          func(dir string) error { return os.Truncate(filepath.Join(dir, "a.txt"), 0) },
		"removed":          func(dir string) error { return os.Remove(filepath.Join(dir, "logs", "b.log")) },
		"a folder removed": func(dir string) error { return os.Remove(filepath.Join(dir, "logs", "empty")) },
		"all removed":      func(dir string) error { return os.RemoveAll(filepath.Join(dir, "logs")) },
		"a file added":     func(dir string) error { return os.WriteFile(filepath.Join(dir, "c"), nil, 0o644) },
		"a folder added":   func(dir string) error { return os.Mkdir(filepath.Join(dir, "c"), 0o755) },
		"renamed":          func(dir string) error { return os.Rename(filepath.Join(dir, "a.txt"), filepath.Join(dir, "A.txt2")) },
		"permissions":      func(dir string) error { return os.Chmod(filepath.Join(dir, "a.txt"), 0o600) },
		"a link": func(dir string) error {
			return os.Remove(filepath.Join(dir, "link"))
		},
		"a link's target": func(dir string) error {
			link := filepath.Join(dir, "link")
			if err := os.Remove(link); err != nil {
				return err
			}
			return os.Symlink("logs", link)
		},
		"contents swapped": func(dir string) error {
			if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("two"), 0o644); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(dir, "logs", "b.log"), []byte("one"), 0o644)
		},
	} {
		dir := folder(t)
		require.NoError(t, change(dir), what)
		require.NotEqual(t, before, digest(dir), what)
	}
	_, err := FixtureDigest(filepath.Join(t.TempDir(), "none"))
	require.ErrorIs(t, err, fs.ErrNotExist)
}
