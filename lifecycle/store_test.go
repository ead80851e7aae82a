package lifecycle

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/internal/sqlitedb"
	"github.com/llama-agent/llama-agent/internal/sqlitedb/sqlitedbtest"
)

func TestMain(m *testing.M) { sqlitedbtest.Main(m, child) }

func open(t testing.TB) *Store {
	t.Helper()
	clock := sqlitedbtest.NewClock(time.Date(2024, 5, 1, 8, 0, 0, 0, time.UTC), time.Second)
	return sqlitedbtest.Open(t, Open, filepath.Join(t.TempDir(), "folder", "memory.sqlite"), Options{Clock: clock.Time, Synchronous: sqlitedb.Off})
}

func put(t testing.TB, s *Store, owner, key, text string) Record {
	t.Helper()
	r, err := s.Put(context.Background(), Record{Owner: owner, Kind: KindEvidence, Key: key, Text: text, Importance: 0.5})
	require.NoError(t, err)
	return r
}

func get(t testing.TB, s *Store, owner, ref string) Record {
	t.Helper()
	r, err := s.Get(context.Background(), []string{owner}, ref)
	require.NoError(t, err)
	return r
}

func requireUnknown(t testing.TB, s *Store, owner, ref string) {
	t.Helper()
	_, err := s.Get(context.Background(), []string{owner}, ref)
	require.ErrorIs(t, err, ErrUnknown)
}

// rows counts the rows of a table.
func rows(t testing.TB, s *Store, table string) int {
	t.Helper()
	return sqlitedbtest.Value[int](t, s.db, "SELECT count(*) FROM "+table)
}

func TestRecordsComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	s := open(t)
	for i, text := range []string{
		"", "short", "\x00\xff not UTF-8 \xc3\x28", strings.Repeat("a line of a log\r\n", 10_000), strings.Repeat("我的狗叫布鲁诺。", 1000), "\ufeffmark",
	} {
		want := Record{
			Owner: "me", Kind: KindStep, Key: fmt.Sprint("step ", i), Name: "what it is", Text: text, Data: []byte(`{"text":` + text), Summary: "sum\x00mary \xff",
			Importance: 0.25, Created: time.Date(2020, 1, 2, 3, 4, 5, 6000, time.UTC), Order: int64(i - 2),
		}
		if i == 0 {
			want.Data = nil
		}
		got, err := s.Put(t.Context(), want)
		require.NoError(t, err)
		want.Ref, want.Bytes = got.Ref, len(text)+len(want.Data)
		require.Equal(t, want, got)
		require.Regexp(t, `^memory://[0-9a-hjkmnp-tv-z]{13}$`, got.Ref)
		require.Equal(t, want, get(t, s, "me", got.Ref))
		require.Equal(t, want, get(t, s, "me", strings.ToUpper(strings.TrimPrefix(got.Ref, Scheme))))
		if len(want.Data) > 0 {
			got.Data[0] = 'x'
			require.Equal(t, want, get(t, s, "me", got.Ref), "a result belongs to the caller")
		}
	}
	r, err := s.Put(t.Context(), Record{Owner: "me", Kind: KindNote, Key: "n", Name: " two\nlines\t\x1b[0m " + strings.Repeat("é", 200), Data: []byte{}, Importance: 1})
	require.NoError(t, err)
	require.Equal(t, "two lines [0m "+strings.Repeat("é", 141)+"…", r.Name)
	require.Nil(t, r.Data)
	require.Equal(t, time.Date(2024, 5, 1, 8, 0, 7, 0, time.UTC), r.Created)
}

func TestLargeTextsAreCompressed(t *testing.T) {
	t.Parallel()
	s := open(t)
	put(t, s, "me", "a", strings.Repeat("a line of a log\n", 100_000))
	var bytes, body int
	require.NoError(t, s.db.Write.QueryRowContext(t.Context(), "SELECT bytes, length(body) FROM contents").Scan(&bytes, &body))
	require.Equal(t, 1_600_000, bytes)
	require.Less(t, body, bytes/50)
}

func TestPutAgain(t *testing.T) {
	t.Parallel()
	s := open(t)
	first, err := s.Put(t.Context(), Record{Owner: "me", Kind: KindTurn, Key: "1", Name: "n", Text: "one", Data: []byte("{}"), Summary: "s", Importance: 0.5, Order: 1})
	require.NoError(t, err)
	again, err := s.Put(t.Context(), Record{Owner: "me", Kind: KindTurn, Key: "1", Name: "n", Text: "one", Data: []byte("{}"), Summary: "other", Importance: 1, Order: 9})
	require.NoError(t, err)
	require.Equal(t, first, again)
	require.Equal(t, 1, rows(t, s, "records"))

	for _, changed := range []Record{{Name: "m", Text: "one", Data: []byte("{}")}, {Name: "n", Text: "two", Data: []byte("{}")}, {Name: "n", Text: "two"}} {
		changed.Owner, changed.Kind, changed.Key, changed.Importance = "me", KindTurn, "1", 0.7
		next, err := s.Put(t.Context(), changed)
		require.NoError(t, err)
		require.NotEqual(t, first.Ref, next.Ref)
		requireUnknown(t, s, "me", first.Ref)
		require.Equal(t, next, get(t, s, "me", next.Ref))
		require.Equal(t, 1, rows(t, s, "records"))
		first = next
	}
	require.Equal(t, 1, rows(t, s, "contents"), "what nobody has is gone")
	require.Equal(t, 2, rows(t, s, "postings"))
	list, err := s.List(t.Context(), "me", ListOptions{WithText: true})
	require.NoError(t, err)
	require.Equal(t, []Record{first}, list)
}

// A reference follows from what is stored, and from nothing else.
func TestReferencesAreReproducible(t *testing.T) {
	t.Parallel()
	later := sqlitedbtest.NewClock(time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC), time.Second)
	a, b := open(t), sqlitedbtest.Open(t, Open, filepath.Join(t.TempDir(), "other.sqlite"), Options{Clock: later.Time})
	put(t, b, "somebody", "else", "was here before")
	require.Equal(t, put(t, a, "me", "k", "text").Ref, put(t, b, "me", "k", "text").Ref)
	require.Equal(t, "memory://g86s4rc4m4wx1", put(t, a, "me", "k", "text").Ref)
	refs := map[string]bool{}
	for _, r := range []Record{
		put(t, a, "me", "k", "text"), put(t, a, "you", "k", "text"), put(t, a, "me", "k2", "text"), put(t, a, "me", "ktext", "-"), put(t, a, "m", "ek", "text"),
	} {
		refs[r.Ref] = true
	}
	require.Len(t, refs, 5)
}

// Two records whose references would be equal get longer ones.
func TestReferencesThatCollide(t *testing.T) {
	t.Parallel()
	s := open(t)
	a := put(t, s, "me", "a", "text")
	_, err := s.Remove(t.Context(), "me")
	require.NoError(t, err)
	other := put(t, s, "you", "b", "other")
	sqlitedbtest.Execute(t, s.db, "UPDATE records SET ref = ?", strings.TrimPrefix(a.Ref, Scheme))
	b := put(t, s, "me", "a", "text")
	require.True(t, strings.HasPrefix(b.Ref, a.Ref) && len(b.Ref) == len(a.Ref)+13, b.Ref)
	require.Equal(t, "text", get(t, s, "me", b.Ref).Text)
	require.Equal(t, "other", get(t, s, "you", a.Ref).Text)
	require.Equal(t, other.Text, get(t, s, "you", a.Ref).Text)
}

func TestInvalidRecords(t *testing.T) {
	t.Parallel()
	s := open(t)
	for says, change := range map[string]func(*Record){
		"the owner is empty":                            func(r *Record) { r.Owner = "" },
		"the owner holds a zero byte":                   func(r *Record) { r.Owner = "a\x00" },
		"the owner is not valid UTF-8":                  func(r *Record) { r.Owner = "\xff" },
		"the owner has 1001 bytes; at most 1000":        func(r *Record) { r.Owner = strings.Repeat("x", 1001) },
		`the kind is "fact", which is none`:             func(r *Record) { r.Kind = "fact" },
		"the kind is memory":                            func(r *Record) { r.Kind = KindMemory },
		"the key is empty":                              func(r *Record) { r.Key = "" },
		"the key holds a zero byte":                     func(r *Record) { r.Key = "\x00" },
		"the importance is 0; it must be above 0":       func(r *Record) { r.Importance = 0 },
		"the importance is 1.5; it must be above 0":     func(r *Record) { r.Importance = 1.5 },
		"the importance is NaN":                         func(r *Record) { r.Importance -= r.Importance; r.Importance /= r.Importance },
		"the text has 268435457 bytes; at most 2684354": func(r *Record) { r.Text = strings.Repeat("x", maxBytes+1) },
	} {
		r := Record{Owner: "me", Kind: KindNote, Key: "k", Text: "t", Importance: 0.5}
		change(&r)
		_, err := s.Put(t.Context(), r)
		require.ErrorIs(t, err, ErrInvalid)
		require.ErrorContains(t, err, "storing a record: ")
		require.ErrorContains(t, err, says)
	}
	require.Zero(t, rows(t, s, "records")+rows(t, s, "contents"))
	_, err := s.List(t.Context(), "me", ListOptions{Kinds: []Kind{"fact"}})
	require.ErrorIs(t, err, ErrInvalid)
	_, err = s.Search(t.Context(), []string{"me"}, "x", SearchOptions{Kinds: []Kind{"fact"}})
	require.ErrorIs(t, err, ErrInvalid)
	for _, owner := range []string{"\x00", "\xff"} {
		_, err = s.Get(t.Context(), []string{"me", owner}, "x")
		require.ErrorIs(t, err, ErrInvalid)
		_, err = s.Search(t.Context(), []string{owner}, "x", SearchOptions{})
		require.ErrorIs(t, err, ErrInvalid)
		_, err = s.Memories(t.Context(), owner)
		require.ErrorIs(t, err, ErrInvalid)
		_, err = s.List(t.Context(), owner, ListOptions{})
		require.ErrorIs(t, err, ErrInvalid)
		require.ErrorIs(t, s.RemoveRecord(t.Context(), owner, "x"), ErrInvalid)
	}
	_, err = s.Remove(t.Context(), "")
	require.ErrorIs(t, err, ErrInvalid, "an ID that is missing removes nothing")
	_, err = s.Copy(t.Context(), "me", "")
	require.ErrorIs(t, err, ErrInvalid)
}

// Whether somebody else has a record cannot be told from any answer.
func TestForeignRecordsAreUnknown(t *testing.T) {
	t.Parallel()
	s := open(t)
	theirs := put(t, s, "them", "k", "a secret")
	mine := put(t, s, "me", "k", "mine")
	answer := func(ref string) string {
		_, err := s.Get(t.Context(), []string{"me", ""}, ref)
		require.ErrorIs(t, err, ErrUnknown, ref)
		require.ErrorIs(t, s.RemoveRecord(t.Context(), "me", ref), ErrUnknown)
		return strings.ReplaceAll(err.Error(), fmt.Sprintf("%q", clipped(ref)), "REF")
	}
	for _, ref := range []string{theirs.Ref, "memory://0000000000000", "", "memory://", "../x", "x\x00", mine.Ref + "0", strings.Repeat("é", 200)} {
		require.Equal(t, "there is no record REF; use a reference exactly as it was given", answer(ref))
	}
	_, err := s.Get(t.Context(), nil, mine.Ref)
	require.ErrorIs(t, err, ErrUnknown)
	hits, err := s.Search(t.Context(), []string{"me", ""}, "secret", SearchOptions{})
	require.NoError(t, err)
	require.Empty(t, hits)
	list, err := s.List(t.Context(), "me", ListOptions{})
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Equal(t, "a secret", get(t, s, "them", theirs.Ref).Text)
}

func TestList(t *testing.T) {
	t.Parallel()
	s := open(t)
	for i, order := range []int64{3, 1, 2, 2} {
		kind := KindTurn
		if i == 2 {
			kind = KindNote
		}
		_, err := s.Put(t.Context(), Record{Owner: "me", Kind: kind, Key: fmt.Sprint(i), Text: "text", Importance: 1, Order: order})
		require.NoError(t, err)
	}
	keys := func(opts ListOptions) string {
		list, err := s.List(t.Context(), "me", opts)
		require.NoError(t, err)
		var keys []string
		for _, r := range list {
			require.Equal(t, map[bool]string{true: "text"}[opts.WithText], r.Text)
			require.Equal(t, 4, r.Bytes)
			keys = append(keys, r.Key)
		}
		return strings.Join(keys, " ")
	}
	require.Equal(t, "1 2 3 0", keys(ListOptions{}))
	require.Equal(t, "1 2", keys(ListOptions{Limit: 2, WithText: true}))
	require.Equal(t, "3 0", keys(ListOptions{Limit: 2, Newest: true}))
	require.Equal(t, "1 3 0", keys(ListOptions{Kinds: []Kind{KindTurn}}))
	require.Equal(t, "1 2 3 0", keys(ListOptions{Kinds: []Kind{KindTurn, KindNote, KindMemory}, Newest: true}))
	require.Empty(t, keys(ListOptions{Kinds: []Kind{KindMemory}}))
}

func TestCopyAndRemove(t *testing.T) {
	t.Parallel()
	s := open(t)
	a, b := put(t, s, "me", "a", strings.Repeat("text of a\n", 1000)), put(t, s, "me", "b", "text of b")
	theirs := put(t, s, "copy", "b", "their own b")
	for _, value := range []string{"Rex", "Bruno"} {
		_, _, err := s.Remember(t.Context(), "me", "dog", value)
		require.NoError(t, err)
	}
	n, err := s.Copy(t.Context(), "me", "copy")
	require.NoError(t, err)
	require.Equal(t, 2, n)
	n, err = s.Copy(t.Context(), "me", "copy")
	require.NoError(t, err)
	require.Zero(t, n)
	require.Equal(t, 4, rows(t, s, "records"), "nothing is stored twice")
	require.Equal(t, 4, rows(t, s, "contents"))

	got := get(t, s, "copy", a.Ref)
	require.Equal(t, "copy", got.Owner)
	require.Equal(t, a.Text, got.Text)
	requireUnknown(t, s, "copy", b.Ref)
	history, err := s.MemoryHistory(t.Context(), "copy", "dog")
	require.NoError(t, err)
	require.Len(t, history, 2)
	again := put(t, s, "copy", "a", a.Text)
	require.Equal(t, a.Ref, again.Ref, "it is there already")
	owners, err := s.Owners(t.Context())
	require.NoError(t, err)
	require.Len(t, owners, 2)
	require.Equal(t, OwnerUsage{Owner: "copy", Records: 3, Memories: 1, Bytes: int64(len(a.Text) + len("their own b") + len("Bruno")), Updated: owners[0].Updated}, owners[0])
	require.Equal(t, OwnerUsage{Owner: "me", Records: 3, Memories: 1, Bytes: int64(len(a.Text) + len("text of b") + len("Bruno")), Updated: owners[0].Updated}, owners[1])

	n, err = s.Remove(t.Context(), "me")
	require.NoError(t, err)
	require.Equal(t, 3, n)
	requireUnknown(t, s, "me", a.Ref)
	require.Equal(t, a.Text, get(t, s, "copy", a.Ref).Text)
	changed := put(t, s, "copy", "a", "changed")
	requireUnknown(t, s, "copy", a.Ref)
	_, err = s.Forget(t.Context(), "copy", "DOG")
	require.NoError(t, err)
	require.Zero(t, rows(t, s, "past_memories"))

	back := put(t, s, "me", "a", a.Text)
	require.Equal(t, a.Ref, back.Ref)
	require.NoError(t, s.RemoveRecord(t.Context(), "me", a.Ref))
	require.NoError(t, s.RemoveRecord(t.Context(), "copy", theirs.Ref))
	require.NoError(t, s.RemoveRecord(t.Context(), "copy", changed.Ref))
	for _, table := range []string{"owned", "records", "contents", "postings", "past_memories"} {
		require.Zero(t, rows(t, s, table), table)
	}
	n, err = s.Remove(t.Context(), "nobody")
	require.NoError(t, err)
	require.Zero(t, n)
}

func TestFileShrinks(t *testing.T) {
	t.Parallel()
	s := open(t)
	r, err := s.Put(t.Context(), Record{Owner: "me", Kind: KindEvidence, Key: "a", Data: incompressible(3 << 20), Importance: 1})
	require.NoError(t, err)
	require.NoError(t, s.db.MergeLog(t.Context()))
	full := size(t, s.Path())
	require.Greater(t, full, int64(3<<20))
	require.Equal(t, 3<<20, r.Bytes)
	_, err = s.Remove(t.Context(), "me")
	require.NoError(t, err)
	require.NoError(t, s.db.MergeLog(t.Context()))
	require.Less(t, size(t, s.Path()), full/10)
}

func incompressible(n int) []byte {
	out := make([]byte, n)
	x := uint64(88172645463325252)
	for i := range out {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		out[i] = byte(x)
	}
	return out
}

func size(t testing.TB, path string) int64 {
	t.Helper()
	fi, err := os.Stat(path)
	require.NoError(t, err)
	return fi.Size()
}

func TestParseRef(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"memory://k3v9x2abqwe7t": "memory://k3v9x2abqwe7t", "K3V9X2ABQWE7T": "memory://k3v9x2abqwe7t", "Memory://k3v9x2abqwe7t" + strings.Repeat("0", 13): "memory://k3v9x2abqwe7t" + strings.Repeat("0", 13),
		"": "", "memory://": "", "k3v9x2abqwe7": "", "k3v9x2abqwe7tt": "", "k3v9x2abqwe7l": "", "memory://memory://k3v9": "", strings.Repeat("0", 65): "", "\u212a3v9x2abqwe7t": "",
	} {
		ref, ok := ParseRef(s)
		require.Equal(t, want, ref, s)
		require.Equal(t, want != "", ok, s)
	}
}

func TestClosed(t *testing.T) {
	t.Parallel()
	s := open(t)
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	_, err := s.Put(t.Context(), Record{Owner: "me", Kind: KindNote, Key: "k", Importance: 1})
	require.ErrorIs(t, err, ErrClosed)
	_, err = s.Get(t.Context(), []string{"me"}, "x")
	require.ErrorIs(t, err, ErrClosed)
	_, err = s.Search(t.Context(), []string{"me"}, "x", SearchOptions{})
	require.ErrorIs(t, err, ErrClosed)
	_, err = s.Search(t.Context(), []string{"me"}, "", SearchOptions{})
	require.ErrorIs(t, err, ErrClosed)
	_, err = s.Memories(t.Context(), "")
	require.ErrorIs(t, err, ErrClosed)
	_, _, err = s.Remember(t.Context(), "", "k", "v")
	require.ErrorIs(t, err, ErrClosed)
}
