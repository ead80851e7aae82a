package tools

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/artifacts"
)

// fullDiskDir is set for the process in which files may not become larger than fullDiskLimit.
const (
	fullDiskDir   = "TOOLS_TEST_FULL_DISK_DIR"
	fullDiskLimit = 1 << 20
)

// TestCaseFullDisk virtualizes where the disk takes no more: in a process of its own, because the limit holds for all of it.
func TestCaseFullDisk(t *testing.T) {
	if dir, ok := os.LookupEnv(fullDiskDir); ok {
		require.NoError(t, virtualizeOnFullDisk(dir))
		return
	}
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	cmd := exec.Command(os.Args[0], "-test.run=^TestCaseFullDisk$")
	cmd.Env = append(os.Environ(), fullDiskDir+"="+dir)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)

	s, err := artifacts.Open(t.Context(), dir, artifacts.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	list, err := s.List(t.Context(), "me", 0)
	require.NoError(t, err)
	require.Len(t, list, 2, "what could be stored is there after all")
	for _, a := range list {
		_, content, err := s.Content(t.Context(), "me", a.Ref)
		require.NoError(t, err)
		require.Contains(t, []string{strings.Repeat("before\n", 100), strings.Repeat("after\n", 100)}, string(content))
	}
	files, err := os.ReadDir(filepath.Join(dir, "content"))
	require.NoError(t, err)
	require.Len(t, files, 2, "nothing is left of what could not be")
}

func virtualizeOnFullDisk(dir string) error {
	ctx := context.Background()
	s, err := artifacts.Open(ctx, dir, artifacts.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	v := virtualizer(s, 100)
	if _, _, err := v.Apply(ctx, "me", "look", nil, "", Result{Text: strings.Repeat("before\n", 100)}); err != nil {
		return err
	}
	signal.Ignore(syscall.SIGXFSZ)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: fullDiskLimit, Max: fullDiskLimit}); err != nil {
		return err
	}
	in := Result{Text: strings.Repeat("a line of a result\n", fullDiskLimit/10), Data: map[string]any{"lines": 7}}
	out, a, err := v.Apply(ctx, "me", "look", nil, "", in)
	if a != nil || !reflect.DeepEqual(in, out) {
		return fmt.Errorf("the result was changed, with artifact %v", a)
	}
	for _, says := range []string{"storing a large result of look: ", dir, "free space on its disk and try again"} {
		if err == nil || !strings.Contains(err.Error(), says) {
			return fmt.Errorf("the error does not say %q: %w", says, err)
		}
	}
	out, a, err = v.Apply(ctx, "me", "look", nil, "", Result{Text: strings.Repeat("after\n", 100)})
	if err != nil || a == nil || !strings.Contains(out.Text, a.Ref) {
		return fmt.Errorf("a smaller result cannot be stored either: %w", err)
	}
	return nil
}
