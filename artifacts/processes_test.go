package artifacts

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/internal/reference"
	"github.com/llama-agent/llama-agent/internal/sqlitedb/sqlitedbtest"
)

// child is another process on the same folder.
func child(dir string, does []string) error {
	switch does[0] {
	case "work":
		return work(dir, does[1])
	case "put-and-die":
		return putAndDie(dir, does[1])
	case "put-beyond-limit":
		return putBeyondLimit(dir)
	}
	return fmt.Errorf("a child cannot %q", does[0])
}

const rounds = 40

// work puts content that other processes put too, reads it back, and collects everything that nobody needs. Owners that begin
// with "live" keep what they have.
func work(dir, name string) error {
	ctx := context.Background()
	s, err := Open(ctx, dir, Options{MaxBytes: 28_000, Grace: -1, Live: func(_ context.Context, owner, _ string) (bool, error) {
		return strings.HasPrefix(owner, "live"), nil
	}})
	if err != nil {
		return err
	}
	for i := range rounds {
		content := []byte(strings.Repeat(fmt.Sprintf("content %d\n", i), 100))
		for _, owner := range []string{"live-" + name, "dead-" + name} {
			a, err := s.Put(ctx, owner, Source{Tool: "t"}, content)
			if errors.Is(err, ErrQuota) && owner != "live-"+name {
				continue
			}
			if err != nil {
				return fmt.Errorf("putting content %d: %w", i, err)
			}
			_, got, err := s.Content(ctx, owner, a.Ref)
			if errors.Is(err, ErrUnknown) && owner != "live-"+name {
				continue
			}
			if err != nil || string(got) != string(content) {
				return fmt.Errorf("reading content %d: %w", i, err)
			}
		}
		if _, err := s.GC(ctx); err != nil {
			return err
		}
		if i >= 10 { // make room for the next ones
			old := strings.Repeat(fmt.Sprintf("content %d\n", i-10), 100)
			a := newArtifact("live-"+name, Source{Tool: "t"}, []byte(old))
			source, err := a.sourceSum()
			if err != nil {
				return err
			}
			if _, err := s.Remove(ctx, "live-"+name, scheme+reference.Coding.EncodeToString(source[:])[:minID]); err != nil {
				return err
			}
		}
	}
	return s.Close()
}

// Processes that put, read, remove and collect at once lose nothing that is needed, and leave nothing else.
func TestProcessesShareAFolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	sqlitedbtest.Together(t, sqlitedbtest.Command(dir, "work", "one"), sqlitedbtest.Command(dir, "work", "two"))
	s := openIn(t, dir, Options{})
	stored := map[string]bool{}
	for _, name := range []string{"one", "two"} {
		list, err := s.List(t.Context(), "live-"+name, 0)
		require.NoError(t, err)
		require.Len(t, list, 10)
		for _, a := range list {
			_, _, err := s.Content(t.Context(), a.Owner, a.Ref)
			require.NoError(t, err)
		}
		dead, err := s.List(t.Context(), "dead-"+name, 0)
		require.NoError(t, err)
		for _, a := range append(list, dead...) {
			stored[a.SHA256+".bin"] = true
		}
	}
	require.Zero(t, collect(t, s).Orphans)
	require.Len(t, contentFiles(t, s), len(stored))
}

// dying is a file system on which the process ends right before or after one operation.
type dying struct {
	osFiles
	at string
}

func (d dying) die(at string) {
	if d.at == at {
		p, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = p.Kill()
		}
		if err != nil {
			panic(err)
		}
		select {}
	}
}

func (d dying) createTemp(dir, pattern string) (tempFile, error) {
	f, err := d.osFiles.createTemp(dir, pattern)
	d.die("created")
	return f, err
}

func (d dying) rename(from, to string) error {
	d.die("written")
	err := d.osFiles.rename(from, to)
	d.die("renamed")
	return err
}

func (d dying) syncDir(dir string) error {
	err := d.osFiles.syncDir(dir)
	d.die("synced")
	return err
}

const dyingContent = "content of a process that dies"

func putAndDie(dir, at string) error {
	ctx := context.Background()
	s, err := Open(ctx, dir, Options{})
	if err != nil {
		return err
	}
	s.files.fs = dying{at: at}
	_, err = s.Put(ctx, "me", Source{Tool: "t"}, []byte(dyingContent))
	if at == "done" && err == nil {
		dying{at: at}.die("done")
	}
	return errors.Join(err, errors.New("it did not die"))
}

// A process that is killed while it puts leaves a whole artifact or none. What is left of none is removed, and putting the same
// works.
func TestKilledWhilePutting(t *testing.T) {
	t.Parallel()
	for at, files := range map[string]struct{ left, orphans int }{
		"created": {1, 1}, "written": {1, 1}, "renamed": {1, 1}, "synced": {1, 1}, "done": {1, 0},
	} {
		for _, collected := range []bool{true, false} {
			t.Run(fmt.Sprint(at, "/", collected), func(t *testing.T) {
				t.Parallel()
				s := open(t, Options{Clock: func() time.Time { return time.Now().Add(2 * maxTempAge) }})
				kept := put(t, s, "me", "kept", "kept content")
				err := sqlitedbtest.Command(s.Dir(), "put-and-die", at).Run()
				var exit *exec.ExitError
				require.ErrorAs(t, err, &exit)
				require.Equal(t, -1, exit.ExitCode(), "it was killed")
				require.Len(t, contentFiles(t, s), 1+files.left)
				list, err := s.List(t.Context(), "me", 0)
				require.NoError(t, err)
				require.Len(t, list, 2-files.orphans)
				if collected {
					c := collect(t, s)
					require.Equal(t, files.orphans, c.Orphans)
					require.Len(t, contentFiles(t, s), 2-files.orphans)
				}
				requireContent(t, s, put(t, s, "me", "again", dyingContent), dyingContent)
				requireContent(t, s, kept, "kept content")
				collect(t, s)
				require.Len(t, contentFiles(t, s), 2)
			})
		}
	}
}
