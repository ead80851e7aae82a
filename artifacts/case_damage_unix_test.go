//go:build unix

package artifacts

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// What is put in the place of a content file is neither waited for nor followed.
func TestCaseContentFilesThatAreNone(t *testing.T) {
	t.Parallel()
	for name, create := range map[string]func(path string) error{
		"a FIFO":                func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a folder":              func(path string) error { return os.Mkdir(path, 0o700) },
		"a link to a FIFO":      func(path string) error { return os.Symlink("/dev/stdin", path) },
		"a link outside":        func(path string) error { return os.Symlink("/etc/passwd", path) },
		"a link that goes on":   func(path string) error { return os.Symlink(path, path) },
		"a link that is broken": func(path string) error { return os.Symlink(path+".none", path) },
	} {
		t.Run("BC-20 "+name, func(t *testing.T) {
			t.Parallel()
			s := open(t, Options{})
			a, other := put(t, s, "me", "a", "content"), put(t, s, "me", "b", "another")
			path := filepath.Join(s.files.dir, a.SHA256+".bin")
			require.NoError(t, os.Remove(path))
			require.NoError(t, create(path))
			_, content, err := s.Content(t.Context(), "me", a.Ref)
			require.Nil(t, content)
			require.ErrorIs(t, err, ErrDamaged)
			require.ErrorContains(t, err, "it is no regular file any more; call read_file again")
			requireContent(t, s, other, "another")
		})
	}
}
