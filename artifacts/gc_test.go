package artifacts

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/llama-agent/llama-agent/internal/sqlitedb/sqlitedbtest"
)

// liveOwners is a Live of the owners named.
func liveOwners(owners ...string) Live {
	return func(_ context.Context, owner, _ string) (bool, error) {
		for _, o := range owners {
			if o == owner {
				return true, nil
			}
		}
		return false, nil
	}
}

func collect(t testing.TB, s *Store) Collection {
	t.Helper()
	c, err := s.GC(t.Context())
	require.NoError(t, err)
	return c
}

func namesOf(removed []Removed) map[string]Reason {
	names := map[string]Reason{}
	for _, r := range removed {
		names[r.Artifact.Owner+"/"+r.Artifact.Name] = r.Reason
	}
	return names
}

func TestQuotaRemovesWhatWasUnusedLongest(t *testing.T) {
	t.Parallel()
	clock := newClock()
	s := open(t, Options{Clock: clock.Time, Live: liveOwners("live"), Grace: -1})
	text := func(c string) string { return strings.Repeat(c, 100) }
	put(t, s, "dead", "oldest", text("a"))
	used := put(t, s, "dead", "used later", text("b"))
	put(t, s, "live", "needed", text("c"))
	put(t, s, "dead", "second", text("d"))
	shared := put(t, s, "dead", "shared with the living", text("e"))
	put(t, s, "live", "shared", text("e"))
	put(t, s, "dead", "third", text("f"))
	clock.Pass(time.Hour)
	requireContent(t, s, used, text("b"))
	require.Equal(t, Collection{Removed: []Removed{}, Left: 600}, collect(t, s), "without limits nothing goes")

	limited := openIn(t, s.Dir(), Options{Clock: clock.Time, Live: liveOwners("live"), Grace: -1, MaxBytes: 400})
	c := collect(t, limited)
	require.Equal(t, map[string]Reason{"dead/oldest": ReasonQuota, "dead/second": ReasonQuota}, namesOf(c.Removed))
	require.EqualValues(t, 200, c.Freed)
	require.EqualValues(t, 400, c.Left)
	require.Zero(t, c.Over)
	require.Len(t, contentFiles(t, s), 4)

	tight := openIn(t, s.Dir(), Options{Clock: clock.Time, Live: liveOwners("live"), Grace: -1, MaxBytes: 100})
	c = collect(t, tight)
	require.Equal(t, map[string]Reason{"dead/third": ReasonQuota, "dead/used later": ReasonQuota}, namesOf(c.Removed))
	require.EqualValues(t, 200, c.Left)
	require.EqualValues(t, 100, c.Over, "the rest is live")
	requireContent(t, s, shared, text("e"))
	usage, err := s.Usage(t.Context())
	require.NoError(t, err)
	require.Equal(t, Usage{Artifacts: 3, Contents: 2, Bytes: 200}, usage)
}

func TestAgeLimit(t *testing.T) {
	t.Parallel()
	clock := newClock()
	s := open(t, Options{Clock: clock.Time, Live: liveOwners("live"), Grace: -1, MaxAge: 24 * time.Hour})
	put(t, s, "live", "old", "one")
	put(t, s, "dead", "old", "one")
	put(t, s, "dead", "alone", "two")
	kept := put(t, s, "dead", "used", "three")
	clock.Pass(24 * time.Hour)
	require.Empty(t, collect(t, s).Removed, "it is not older than the limit")
	requireContent(t, s, kept, "three")
	clock.Pass(time.Second)
	c := collect(t, s)
	require.Equal(t, map[string]Reason{"dead/old": ReasonAge, "dead/alone": ReasonAge}, namesOf(c.Removed))
	require.EqualValues(t, len("two"), c.Freed, "somebody else has the other one")
	require.EqualValues(t, len("one")+len("three"), c.Left)
	require.Len(t, contentFiles(t, s), 2)
}

func TestGracePeriod(t *testing.T) {
	t.Parallel()
	clock := newClock()
	s := open(t, Options{Clock: clock.Time, Live: liveOwners(), MaxBytes: 10})
	put(t, s, "running", "a", "12345678")
	clock.Pass(9 * time.Minute)
	_, err := s.Put(t.Context(), "running", Source{Tool: "t"}, []byte("123"))
	var full *QuotaError
	require.ErrorAs(t, err, &full)
	require.Equal(t, &QuotaError{Dir: s.Dir(), Need: 3, Used: 8, Max: 10}, full)
	require.ErrorIs(t, err, ErrQuota)
	require.ErrorContains(t, err, "raise the limit")
	require.Len(t, contentFiles(t, s), 1)
	clock.Pass(time.Minute)
	put(t, s, "running", "b", "123")
	require.Len(t, contentFiles(t, s), 1, "room was made")
}

func TestPutMakesRoomOnlyAsFarAsItMust(t *testing.T) {
	t.Parallel()
	s := open(t, Options{Live: liveOwners("live"), Grace: -1, MaxBytes: 10})
	put(t, s, "live", "a", "123")
	put(t, s, "dead", "b", "456")
	c := put(t, s, "dead", "c", "789")
	d := put(t, s, "dead", "d", "xyz")
	list, err := s.List(t.Context(), "dead", 0)
	require.NoError(t, err)
	require.Equal(t, []string{d.Ref, c.Ref}, refsOf(list))
	_, err = s.Put(t.Context(), "dead", Source{Tool: "t"}, []byte("12345678901"))
	require.ErrorIs(t, err, ErrQuota, "it cannot fit")
	_, err = s.Put(t.Context(), "dead", Source{Tool: "t"}, []byte("12345678"))
	require.ErrorIs(t, err, ErrQuota, "the living need 3 bytes")
	put(t, s, "dead", "exactly", "1234567")
	usage, err := s.Usage(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 10, usage.Bytes)
	// What is stored already needs no room.
	put(t, s, "live", "same", "1234567")
}

func TestByDefaultEverythingIsLive(t *testing.T) {
	t.Parallel()
	clock := newClock()
	s := open(t, Options{Clock: clock.Time, MaxBytes: 5, MaxAge: time.Hour})
	put(t, s, "me", "a", "12345")
	clock.Pass(1000 * time.Hour)
	require.Empty(t, collect(t, s).Removed)
	_, err := s.Put(t.Context(), "me", Source{Tool: "t"}, []byte("1"))
	require.ErrorIs(t, err, ErrQuota)
}

func TestLiveThatFails(t *testing.T) {
	t.Parallel()
	broken := errors.New("the checkpoints cannot be read")
	s := open(t, Options{Grace: -1, MaxBytes: 5, Live: func(context.Context, string, string) (bool, error) { return false, broken }})
	a := put(t, s, "me", "a", "12345")
	_, err := s.Put(t.Context(), "me", Source{Tool: "t"}, []byte("1"))
	require.ErrorIs(t, err, broken)
	sqlitedbtest.Execute(t, s.db, "UPDATE totals SET bytes = 6")
	_, err = s.GC(t.Context())
	require.ErrorIs(t, err, broken)
	requireContent(t, s, a, "12345")
}

// What is used between the decision and the removal stays.
func TestUseDuringACollection(t *testing.T) {
	t.Parallel()
	for name, use := range map[string]func(t *testing.T, s *Store, a Artifact){
		"read":           func(t *testing.T, s *Store, a Artifact) { requireContent(t, s, a, "12345") },
		"put again":      func(t *testing.T, s *Store, _ Artifact) { put(t, s, "me", "a", "12345") },
		"put by another": func(t *testing.T, s *Store, _ Artifact) { put(t, s, "you", "a", "12345") },
		"copied": func(t *testing.T, s *Store, _ Artifact) {
			_, err := s.Copy(t.Context(), "me", "you")
			require.NoError(t, err)
		},
		"put as another": func(t *testing.T, s *Store, _ Artifact) { put(t, s, "me", "b", "12345") },
		"removed and put": func(t *testing.T, s *Store, a Artifact) {
			_, err := s.Remove(t.Context(), "me", a.Ref)
			require.NoError(t, err)
			put(t, s, "me", "a", "12345")
		},
	} {
		for limit, opts := range map[string]Options{"size": {MaxBytes: 3}, "age": {MaxAge: time.Minute}} {
			t.Run(name+"/"+limit, func(t *testing.T) {
				t.Parallel()
				clock := newClock()
				dir := filepath.Join(t.TempDir(), "store")
				user := openIn(t, dir, Options{Clock: clock.Time})
				a := put(t, user, "me", "a", "12345")
				put(t, user, "me", "newer", "x")
				clock.Pass(time.Hour)
				asked := 0
				opts.Clock, opts.Grace = clock.Time, -1
				opts.Live = func(_ context.Context, _, ref string) (bool, error) {
					if asked++; ref == a.Ref {
						use(t, user, a)
					}
					return false, nil
				}
				c := collect(t, openIn(t, dir, opts))
				require.Positive(t, asked)
				if limit == "age" && (strings.Contains(name, "another") || name == "copied") {
					return // that was no use of this one
				}
				require.NotContains(t, namesOf(c.Removed), "me/a")
				requireContent(t, user, a, "12345")
			})
		}
	}
}

// onCreate is a file system that does something before it makes a file.
type onCreate struct {
	osFiles
	do func()
}

func (o onCreate) createTemp(dir, pattern string) (tempFile, error) {
	o.do()
	return o.osFiles.createTemp(dir, pattern)
}

// Room that another process takes before it is used is made again, and the limit holds.
func TestRoomThatIsTaken(t *testing.T) {
	t.Parallel()
	opts := Options{Live: liveOwners("live"), Grace: -1, MaxBytes: 10}
	s := open(t, opts)
	other := openIn(t, s.Dir(), opts)
	put(t, s, "dead", "a", "1234567890")
	s.files.fs = onCreate{do: func() { put(t, other, "dead", "b", "abcdefghij") }}
	a := put(t, s, "me", "c", "ABCDE")
	requireContent(t, s, a, "ABCDE")
	usage, err := s.Usage(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 5, usage.Bytes)

	s.files.fs = onCreate{do: func() { put(t, other, "live", "b", "abcdefghij") }}
	_, err = s.Put(t.Context(), "me", Source{Tool: "t"}, []byte("x"))
	require.ErrorIs(t, err, ErrQuota, "the other one is needed")
	require.Len(t, contentFiles(t, s), 1)
}

// Damaged content is made whole also where the limit has become smaller than what is stored: it takes no more room.
func TestMakingWholeNeedsNoRoom(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	a := put(t, s, "me", "a", "1234567890")
	require.NoError(t, os.Remove(filepath.Join(s.files.dir, a.SHA256+".bin")))
	smaller := openIn(t, s.Dir(), Options{MaxBytes: 5})
	put(t, smaller, "me", "a", "1234567890")
	requireContent(t, smaller, a, "1234567890")
}

// An artifact that is removed while it is read is unknown, not damaged.
func TestRemovedWhileReading(t *testing.T) {
	t.Parallel()
	clock := newClock()
	during := func() {}
	s := open(t, Options{Clock: func() time.Time { during(); return clock.Time() }})
	other := openIn(t, s.Dir(), Options{Clock: clock.Time})
	a := put(t, s, "me", "a", "content")
	during = func() {
		_, err := other.RemoveOwner(t.Context(), "me")
		require.NoError(t, err)
	}
	_, _, err := s.Content(t.Context(), "me", a.Ref)
	require.ErrorIs(t, err, ErrUnknown)
}

// A file that appears while its orphan is being removed is kept.
func TestPutDuringTheRemovalOfFiles(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	a := put(t, s, "me", "a", "12345")
	sum, ok := sumOf(a.SHA256 + contentSuffix)
	require.True(t, ok)
	files, _, err := s.removeFiles(t.Context(), []contentSum{sum})
	require.NoError(t, err)
	require.Zero(t, files)
	requireContent(t, s, a, "12345")
}

func TestOrphansAreRemoved(t *testing.T) {
	t.Parallel()
	clock := newClock()
	s := open(t, Options{Clock: clock.Time})
	a := put(t, s, "me", "a", "kept")
	files := map[string]bool{ // name: stays
		a.SHA256 + ".bin":                  true,
		strings.Repeat("ab", 32) + ".bin":  false,
		strings.Repeat("AB", 32) + ".bin":  true,
		strings.Repeat("ab", 31) + ".bin":  true,
		strings.Repeat("ab", 32) + ".bin~": true,
		"put-1.tmp":                        false,
		"put-new.tmp":                      true,
		"notes.txt":                        true,
		"put-.txt":                         true,
	}
	for name := range files {
		path := filepath.Join(s.files.dir, name)
		if name != a.SHA256+".bin" {
			require.NoError(t, os.WriteFile(path, []byte("orphan"), 0o600))
		}
		written := clock.Time().Add(-2 * maxTempAge)
		if name == "put-new.tmp" {
			written = clock.Time().Add(-maxTempAge)
		}
		require.NoError(t, os.Chtimes(path, written, written))
	}
	require.Equal(t, Collection{Removed: []Removed{}, Orphans: 2, OrphanBytes: 12, Left: 4}, collect(t, s))
	var want []string
	for name, stays := range files {
		if stays {
			want = append(want, name)
		}
	}
	require.ElementsMatch(t, want, contentFiles(t, s))
	requireContent(t, s, a, "kept")
	require.NoError(t, os.RemoveAll(s.files.dir))
	_, err := s.GC(t.Context())
	require.ErrorContains(t, err, "listing ")
	require.ErrorContains(t, err, s.files.dir)
}

// Collections of random stores keep what they must, and remove no more than they have to.
func TestChoiceOfVictims(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		now := newClock().Time()
		p := plan{now: now, need: rapid.Int64Range(0, 20).Draw(t, "need"), opts: Options{
			MaxBytes: rapid.Int64Range(0, 60).Draw(t, "max bytes"), MaxAge: time.Duration(rapid.IntRange(0, 5).Draw(t, "max age")) * time.Hour, Grace: time.Hour,
			Live: liveOwners("live"),
		}}
		sizes := map[contentSum]int64{}
		n := rapid.IntRange(0, 12).Draw(t, "artifacts")
		for i := range n {
			content := contentSum{byte(rapid.IntRange(0, 5).Draw(t, "content"))}
			if _, ok := sizes[content]; !ok {
				sizes[content] = rapid.Int64Range(1, 20).Draw(t, "size")
				p.total += sizes[content]
			}
			r := row{key: int64(i), turn: int64(i), content: content}
			r.Owner = rapid.SampledFrom([]string{"live", "dead", "dead too"}).Draw(t, "owner")
			r.Bytes, r.Ref = sizes[content], fmt.Sprint(i)
			r.Used = now.Add(-time.Duration(n-i) * time.Duration(rapid.IntRange(10, 60).Draw(t, "minutes")) * time.Minute)
			p.rows = append(p.rows, r)
		}
		groups, err := p.choose(context.Background())
		require.NoError(t, err)
		gone := map[int64]bool{}
		quota := 0
		for _, v := range groups {
			require.NotEmpty(t, v.rows)
			for _, r := range v.rows {
				require.False(t, gone[r.key], "removed twice")
				gone[r.key] = true
				require.NotEqual(t, "live", r.Owner)
				require.GreaterOrEqual(t, now.Sub(r.Used), time.Hour)
				if v.reason == ReasonAge {
					require.Positive(t, p.opts.MaxAge)
					require.Greater(t, now.Sub(r.Used), p.opts.MaxAge)
				}
			}
			if v.reason == ReasonQuota {
				quota++
			}
		}
		left := map[contentSum]int64{}
		for _, r := range p.rows {
			if !gone[r.key] {
				left[r.content] = r.Bytes
				old := p.opts.MaxAge > 0 && now.Sub(r.Used) > p.opts.MaxAge
				require.False(t, old && r.Owner != "live" && now.Sub(r.Used) >= time.Hour, "it is too old")
			}
		}
		var total int64
		for _, bytes := range left {
			total += bytes
		}
		if quota > 0 {
			last := groups[len(groups)-1].rows[0]
			require.Greater(t, total+last.Bytes+p.need, p.opts.MaxBytes, "the last one did not have to go")
		}
		if p.opts.MaxBytes == 0 || total+p.need <= p.opts.MaxBytes {
			return
		}
		for content := range left { // over the limit only with what is needed
			needed := false
			for _, r := range p.rows {
				needed = needed || r.content == content && !gone[r.key] && (r.Owner == "live" || now.Sub(r.Used) < time.Hour)
			}
			require.True(t, needed)
		}
	})
}
