package artifacts

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/internal/sqlitedb/sqlitedbtest"
)

func TestMain(m *testing.M) { sqlitedbtest.Main(m, child) }

// newClock returns a clock that only a test moves.
func newClock() *sqlitedbtest.Clock {
	return sqlitedbtest.NewClock(time.Date(2024, 5, 1, 8, 0, 0, 0, time.UTC), 0)
}

func openIn(t testing.TB, dir string, opts Options) *Store {
	t.Helper()
	return sqlitedbtest.Open(t, Open, dir, opts)
}

func open(t testing.TB, opts Options) *Store {
	t.Helper()
	return openIn(t, filepath.Join(t.TempDir(), "store"), opts)
}

func put(t testing.TB, s *Store, owner, name, content string) Artifact {
	t.Helper()
	a, err := s.Put(t.Context(), owner, Source{Tool: "read_file", Name: name}, []byte(content))
	require.NoError(t, err)
	return a
}

// contentFiles are the names in the content folder.
func contentFiles(t testing.TB, s *Store) []string {
	t.Helper()
	entries, err := os.ReadDir(s.files.dir)
	require.NoError(t, err)
	names := []string{}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func requireContent(t testing.TB, s *Store, a Artifact, want string) {
	t.Helper()
	got, content, err := s.Content(t.Context(), a.Owner, a.Ref)
	require.NoError(t, err)
	require.Equal(t, want, string(content))
	require.Equal(t, a.SHA256, got.SHA256)
}

func TestPutKeepsWhatItWasTold(t *testing.T) {
	t.Parallel()
	clock := newClock()
	s := open(t, Options{Clock: clock.Time})
	src := Source{
		Tool: "query_sqlite", Name: "shop.db", Arguments: []byte(`{"query":"SELECT 1"}`), ContentType: "text/csv",
		Facts: []Fact{{"rows", "2"}, {"columns", "a, b"}},
	}
	a, err := s.Put(t.Context(), "conversation-1", src, []byte("a,b\n1,2\n3,4"))
	require.NoError(t, err)
	require.Regexp(t, `^artifact://[0-9a-z]{8}$`, a.Ref)
	want := Artifact{
		Ref: a.Ref, Owner: "conversation-1", Tool: "query_sqlite", Name: "shop.db", ContentType: "text/csv", Facts: src.Facts,
		Arguments: sumText(`{"query":"SELECT 1"}`), SHA256: sumText("a,b\n1,2\n3,4"), Bytes: 11, Lines: 3, Encoding: UTF8, Created: clock.Time(), Used: clock.Time(),
	}
	require.Equal(t, want, a)

	got, err := s.Get(t.Context(), "conversation-1", a.Ref)
	require.NoError(t, err)
	require.Equal(t, a, got)
	reopened := openIn(t, s.Dir(), Options{})
	got, err = reopened.Get(t.Context(), "conversation-1", a.Ref)
	require.NoError(t, err)
	require.Equal(t, a, got)
	requireContent(t, reopened, a, "a,b\n1,2\n3,4")

	info, err := os.Stat(filepath.Join(s.Dir(), "content", a.SHA256+".bin"))
	require.NoError(t, err)
	require.Zero(t, info.Mode().Perm()&0o077, "only the user may read it")
	require.Len(t, contentFiles(t, s), 1)
}

func TestContentIsStoredOnce(t *testing.T) {
	t.Parallel()
	clock := newClock()
	s := open(t, Options{Clock: clock.Time})
	first := put(t, s, "one", "a.txt", "the same")
	clock.Pass(time.Hour)
	again := put(t, s, "one", "a.txt", "the same")
	require.Equal(t, first.Ref, again.Ref, "the same source and content")
	require.Equal(t, first.Created, again.Created)
	require.Equal(t, clock.Time(), again.Used, "putting is a use")
	other := put(t, s, "one", "b.txt", "the same")
	require.NotEqual(t, first.Ref, other.Ref, "it is about something else")
	foreign := put(t, s, "two", "a.txt", "the same")
	require.Equal(t, first.Ref, foreign.Ref, "a prompt with it is the same for everybody")
	changed := put(t, s, "one", "a.txt", "another")
	require.NotEqual(t, first.Ref, changed.Ref)

	require.Len(t, contentFiles(t, s), 2)
	usage, err := s.Usage(t.Context())
	require.NoError(t, err)
	require.Equal(t, Usage{Artifacts: 4, Contents: 2, Bytes: int64(len("the same") + len("another"))}, usage)
	owners, err := s.Owners(t.Context())
	require.NoError(t, err)
	require.Equal(t, []OwnerUsage{
		{Owner: "one", Artifacts: 3, Bytes: 8 + 8 + 7, Used: clock.Time()}, {Owner: "two", Artifacts: 1, Bytes: 8, Used: clock.Time()},
	}, owners)
	list, err := s.List(t.Context(), "one", 0)
	require.NoError(t, err)
	require.Equal(t, []string{changed.Ref, other.Ref, first.Ref}, refsOf(list), "the last used first")
	list, err = s.List(t.Context(), "one", 2)
	require.NoError(t, err)
	require.Len(t, list, 2)
}

func sumText(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

func refsOf(list []Artifact) []string {
	var refs []string
	for _, a := range list {
		refs = append(refs, a.Ref)
	}
	return refs
}

// Every spelling of what an owner does not have gives the same error but for the reference in it.
func TestOwnersAreApart(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	mine := put(t, s, "me", "a.txt", "mine")
	theirs := put(t, s, "them", "b.txt", "secret")
	for _, ref := range []string{
		theirs.Ref, strings.TrimPrefix(theirs.Ref, "artifact://"), "artifact://00000000", theirs.SHA256, "artifact://" + theirs.SHA256,
		"", "artifact://", "artifact://../../x", "../../x", "artifact://../content/" + theirs.SHA256, "artifact://0123456789abcdef",
		mine.Ref + "\x00", mine.Ref + "/..", mine.Ref + "'", mine.Ref + "%", "file:///etc/passwd", "/etc/passwd", "artifact://" + strings.Repeat("0", 10_000),
		"\x00", "\xff\xfe", "artifact://' OR 1=1 --", "ARTIFACT://" + strings.Repeat("Z", 52), mine.Ref + mine.Ref,
	} {
		_, getErr := s.Get(t.Context(), "me", ref)
		_, _, contentErr := s.Content(t.Context(), "me", ref)
		_, retrieveErr := s.Retrieve(t.Context(), "me", ref, Range{})
		_, searchErr := s.Search(t.Context(), "me", ref, Query{Text: "secret"})
		for _, err := range []error{getErr, contentErr, retrieveErr, searchErr} {
			var unknown *UnknownError
			require.ErrorAs(t, err, &unknown, "%q", ref)
			require.ErrorIs(t, err, ErrUnknown)
			require.Equal(t, fmt.Sprintf("there is no artifact %q; use a reference exactly as a result gave it", unknown.Ref), err.Error())
			require.True(t, strings.HasPrefix(ref, strings.TrimSuffix(unknown.Ref, "…")))
			require.Less(t, len(err.Error()), 500)
		}
		freed, err := s.Remove(t.Context(), "me", ref)
		require.NoError(t, err)
		require.Zero(t, freed)
	}
	requireContent(t, s, theirs, "secret")
	requireContent(t, s, mine, "mine")
	for _, owner := range []string{"", "a\x00b", "\xff", strings.Repeat("x", 1001)} {
		_, err := s.Put(t.Context(), owner, Source{Tool: "t"}, []byte("x"))
		require.ErrorIs(t, err, ErrOwner)
		_, err = s.Get(t.Context(), owner, mine.Ref)
		require.ErrorIs(t, err, ErrOwner)
		_, err = s.List(t.Context(), owner, 0)
		require.ErrorIs(t, err, ErrOwner)
		_, err = s.RemoveOwner(t.Context(), owner)
		require.ErrorIs(t, err, ErrOwner)
	}
}

func TestReferencesOfOneOwnerDiffer(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	first := put(t, s, "me", "a.txt", "one")
	// Another artifact has the same short reference.
	sqlitedbtest.Execute(t, s.db, "UPDATE artifacts SET source = zeroblob(32)")
	second := put(t, s, "me", "a.txt", "one")
	require.Len(t, second.Ref, len(first.Ref)+growID)
	require.True(t, strings.HasPrefix(second.Ref, first.Ref))
	require.Equal(t, second.Ref, put(t, s, "me", "a.txt", "one").Ref)
	for _, ref := range []string{first.Ref, second.Ref, strings.ToUpper(second.Ref), strings.TrimPrefix(second.Ref, scheme)} {
		_, err := s.Get(t.Context(), "me", ref)
		require.NoError(t, err, ref)
	}
}

func TestSourcesAreBounded(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	facts := make([]Fact, 100)
	for i := range facts {
		facts[i] = Fact{strings.Repeat("näme", 50), strings.Repeat("wört\x1b", 100)}
	}
	a, err := s.Put(t.Context(), "me", Source{
		Tool: strings.Repeat("tool", 100), Name: strings.Repeat("é\n", 1000), ContentType: strings.Repeat("text/", 100), Facts: facts,
	}, nil)
	require.NoError(t, err)
	require.LessOrEqual(t, len(a.Tool), maxToolBytes)
	require.LessOrEqual(t, len(a.Name), maxNameBytes)
	require.LessOrEqual(t, len(a.ContentType), maxTypeBytes)
	require.Len(t, a.Facts, maxFacts)
	for _, f := range a.Facts {
		require.LessOrEqual(t, len(f.Name), maxFactName)
		require.LessOrEqual(t, len([]rune(f.Value)), maxFactValue)
	}
	require.NotContains(t, a.Name+a.Summary(100_000), "\x1b")
	require.NotContains(t, a.Name, "\n")
	require.Zero(t, a.Bytes)
	require.Zero(t, a.Lines)
	requireContent(t, s, a, "")
}

func TestCopyKeepsReferences(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	a, b := put(t, s, "one", "a.txt", "first"), put(t, s, "one", "b.txt", "second")
	put(t, s, "two", "b.txt", "second")
	n, err := s.Copy(t.Context(), "one", "two")
	require.NoError(t, err)
	require.Equal(t, 1, n, "it had the other one")
	_, err = s.RemoveOwner(t.Context(), "one")
	require.NoError(t, err)
	a.Owner, b.Owner = "two", "two"
	requireContent(t, s, a, "first")
	requireContent(t, s, b, "second")
	n, err = s.Copy(t.Context(), "nobody", "two")
	require.NoError(t, err)
	require.Zero(t, n)
	_, err = s.Copy(t.Context(), "", "two")
	require.ErrorIs(t, err, ErrOwner)
}

func TestRemove(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	a, b, c := put(t, s, "one", "a", "shared"), put(t, s, "two", "a", "shared"), put(t, s, "one", "c", "alone")
	freed, err := s.Remove(t.Context(), "one", a.Ref, a.Ref, "artifact://00000000")
	require.NoError(t, err)
	require.Zero(t, freed, "somebody else has it")
	_, err = s.Get(t.Context(), "one", a.Ref)
	require.ErrorIs(t, err, ErrUnknown)
	requireContent(t, s, b, "shared")
	freed, err = s.RemoveOwner(t.Context(), "two")
	require.NoError(t, err)
	require.EqualValues(t, len("shared"), freed)
	require.Equal(t, []string{c.SHA256 + ".bin"}, contentFiles(t, s))
	freed, err = s.Remove(t.Context(), "one")
	require.NoError(t, err)
	require.Zero(t, freed)
	requireContent(t, s, c, "alone")
}

func TestClosedStore(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), t.TempDir(), Options{})
	require.NoError(t, err)
	a := put(t, s, "me", "a", "x")
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	_, err = s.Put(t.Context(), "me", Source{Tool: "t"}, []byte("x"))
	require.ErrorIs(t, err, ErrClosed)
	_, err = s.Get(t.Context(), "me", a.Ref)
	require.ErrorIs(t, err, ErrClosed)
	_, err = s.List(t.Context(), "me", 0)
	require.ErrorIs(t, err, ErrClosed)
	_, err = s.GC(t.Context())
	require.ErrorIs(t, err, ErrClosed)
	_, err = s.Remove(t.Context(), "me", a.Ref)
	require.ErrorIs(t, err, ErrClosed)
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	for _, opts := range []Options{{MaxBytes: -1}, {MaxAge: -time.Second}} {
		_, err := Open(t.Context(), t.TempDir(), opts)
		require.ErrorContains(t, err, "must not be negative")
	}
}

func TestParallelPuts(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	contents := make([]string, 8)
	for i := range contents {
		contents[i] = strings.Repeat(fmt.Sprintln("content", i%4), 1000)
	}
	var wg sync.WaitGroup
	errs := make([]error, len(contents))
	for i, content := range contents {
		wg.Go(func() {
			for range 5 {
				a, err := s.Put(context.Background(), fmt.Sprint("owner", i%2), Source{Tool: "t"}, []byte(content))
				if err == nil {
					var got []byte
					_, got, err = s.Content(context.Background(), a.Owner, a.Ref)
					if err == nil && !bytes.Equal(got, []byte(content)) {
						err = fmt.Errorf("content %d is another", i)
					}
				}
				if err != nil {
					errs[i] = err
				}
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	require.Len(t, contentFiles(t, s), 4)
}

func TestCancelledContext(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	a := put(t, s, "me", "a", strings.Repeat("line\n", 3*checkLines))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Put(ctx, "me", Source{Tool: "t"}, []byte("never stored"))
	require.ErrorIs(t, err, context.Canceled)
	_, err = s.Search(ctx, "me", a.Ref, Query{Text: "line"})
	require.ErrorIs(t, err, context.Canceled)
	_, err = search(ctx, []byte(strings.Repeat("line\n", 3*checkLines)), Query{}, func([]byte, int) [][]int { return nil })
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, contentFiles(t, s), 1)
}
