package lifecycle

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/internal/sqlitedb/sqlitedbtest"
)

// A record that was changed in the file is an error that names it, never something else; putting the same again makes it whole.
func TestDamagedRecords(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a line of a log\n", 1000)
	flip := func(what string) string {
		return "UPDATE contents SET body = cast(substr(body, 1, 9) || x'7f' || substr(body, 11) AS BLOB) WHERE sha256 = (SELECT " + what + " FROM records WHERE key = 'k')"
	}
	for name, test := range map[string]struct{ text, query, says string }{
		"a byte of a short text": {"a short text", flip("text"), "its text: its SHA-256 is another"},
		"a byte of a long text":  {long, flip("text"), "its text: it"},
		"a byte of the data":     {"a short text", flip("data"), "its data: its SHA-256 is another"},
		"a text cut off":         {long, "UPDATE contents SET body = substr(body, 1, 20)", "its text: it cannot be unpacked"},
		"a longer text":          {"a short text", "UPDATE contents SET body = body || x'00'", "its text: it has another size"},
		"a size":                 {long, "UPDATE contents SET bytes = bytes - 1", "its text: it has another size"},
		"no size":                {long, "UPDATE contents SET bytes = -1", "its text: it has another size"},
		"a huge size":            {long, "UPDATE contents SET bytes = 1 << 60", "its text: it has another size"},
		"a coding":               {long, "UPDATE contents SET coding = 'zip'", "its text: its coding is unknown"},
		"a missing text":         {long, "PRAGMA foreign_keys = off; DELETE FROM contents WHERE sha256 = (SELECT text FROM records WHERE key = 'k'); PRAGMA foreign_keys = on", "its text is missing"},
		"a missing object":       {long, "PRAGMA foreign_keys = off; DELETE FROM contents WHERE sha256 = (SELECT data FROM records WHERE key = 'k'); PRAGMA foreign_keys = on", "its data is missing"},
		"the summary":            {long, "UPDATE records SET summary = 'other' WHERE key = 'k'", "the SHA-256 of its description is another"},
		"the order":              {long, "UPDATE records SET ord = 8 WHERE key = 'k'", "the SHA-256 of its description is another"},
		"another text's hash":    {long, "UPDATE records SET text = (SELECT text FROM records WHERE key = 'other') WHERE key = 'k'", "the SHA-256 of its description is another"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			put(t, s, "me", "other", "other text")
			r := Record{Owner: "me", Kind: KindEvidence, Key: "k", Name: "about", Text: test.text, Data: []byte(`{"some":"data"}`), Summary: "short", Importance: 1}
			want, err := s.Put(t.Context(), r)
			require.NoError(t, err)
			_, err = s.Copy(t.Context(), "me", "copy")
			require.NoError(t, err)
			sqlitedbtest.Execute(t, s.db, test.query)

			got, getErr := s.Get(t.Context(), []string{"me"}, want.Ref)
			require.Zero(t, got)
			list, listErr := s.List(t.Context(), "me", ListOptions{WithText: true})
			require.Nil(t, list)
			hits, searchErr := s.Search(t.Context(), []string{"me"}, "text a about", SearchOptions{WithText: true})
			require.Nil(t, hits)
			var damaged *DamagedError
			require.ErrorAs(t, getErr, &damaged)
			require.Equal(t, want.Ref, damaged.Record.Ref)
			require.ErrorContains(t, getErr, test.says)
			for _, err := range []error{getErr, listErr, searchErr} {
				require.ErrorIs(t, err, ErrDamaged)
				require.NotErrorIs(t, err, ErrUnknown)
				require.ErrorContains(t, err, s.Path())
			}

			again, err := s.Put(t.Context(), r)
			require.NoError(t, err)
			require.Equal(t, want.Ref, again.Ref)
			for _, owner := range []string{"me", "copy"} {
				whole := get(t, s, owner, want.Ref)
				require.Equal(t, r.Text, whole.Text)
				require.Equal(t, r.Data, whole.Data)
				require.Equal(t, r.Summary, whole.Summary)
				require.Equal(t, len(r.Text)+len(r.Data), whole.Bytes)
			}
			require.Equal(t, "other text", get(t, s, "me", put(t, s, "me", "other", "other text").Ref).Text)
			sqlitedbtest.Execute(t, s.db, test.query)
			require.NoError(t, s.RemoveRecord(t.Context(), "me", want.Ref), "what is damaged can be removed")
			requireUnknown(t, s, "me", want.Ref)
		})
	}
}

func TestDamagedMemories(t *testing.T) {
	t.Parallel()
	s := open(t)
	remember(t, s, "me", "cat", "Mimi")
	remember(t, s, "me", "dog", "Bruno")
	damage := func() {
		t.Helper()
		sqlitedbtest.Execute(t, s.db, "UPDATE contents SET body = x'00' WHERE sha256 = (SELECT text FROM records WHERE key = 'dog')")
	}
	damage()
	_, err := s.Memories(t.Context(), "me")
	require.ErrorIs(t, err, ErrDamaged)
	_, err = s.MemoryHistory(t.Context(), "me", "dog")
	require.ErrorIs(t, err, ErrDamaged)
	remember(t, s, "me", "dog", "Bruno")
	require.Equal(t, "cat=Mimi, dog=Bruno", memories(t, s, "me"))
	damage()
	_, replaced := remember(t, s, "me", "dog", "Rex")
	require.Nil(t, replaced, "nobody knows what it was")
	require.Equal(t, "cat=Mimi, dog=Rex", memories(t, s, "me"))
	damage()
	m, err := s.Forget(t.Context(), "me", "dog")
	require.NoError(t, err)
	require.Empty(t, m.Value)
	require.Equal(t, "cat=Mimi", memories(t, s, "me"))
}

func TestFilesThatAreNoStore(t *testing.T) {
	t.Parallel()
	sqlitedbtest.RefusesFiles(t, Open, Options{}, "memory_version")
}

// Pages of zeros in the file are an error, not an empty store.
func TestDamagedFile(t *testing.T) {
	t.Parallel()
	s := open(t)
	for i := range 200 {
		put(t, s, "me", fmt.Sprint(i), fmt.Sprintf("text %d", i))
	}
	require.NoError(t, s.db.MergeLog(t.Context()))
	require.NoError(t, s.Close())
	sqlitedbtest.Overwrite(t, s.Path(), 4096*3, -1, 0)
	damaged, err := Open(t.Context(), s.Path(), Options{})
	if err == nil {
		defer damaged.Close()
		_, err = damaged.List(t.Context(), "me", ListOptions{})
	}
	require.ErrorIs(t, err, ErrCorrupt)
	require.ErrorContains(t, err, s.Path())
}

// A full disk or one that turns read-only refuses what is new with what to do, and loses nothing.
func TestDiskThatFails(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		breaks, mends string
		is            error
		says          string
	}{
		"full":      {sqlitedbtest.DiskFull, sqlitedbtest.DiskFree, ErrFull, "free space on its disk"},
		"read-only": {sqlitedbtest.ReadOnly, sqlitedbtest.Writable, ErrNotWritable, "make the file and its folder writable"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			kept := put(t, s, "me", "kept", "kept text")
			remember(t, s, "me", "dog", "Rex")
			sqlitedbtest.Execute(t, s.db, test.breaks)
			big := Record{Owner: "me", Kind: KindEvidence, Key: "kept", Data: incompressible(1 << 20), Importance: 1}
			_, err := s.Put(t.Context(), big)
			require.ErrorIs(t, err, test.is)
			require.ErrorContains(t, err, s.Path())
			require.ErrorContains(t, err, test.says)
			if name == "read-only" {
				_, _, err = s.Remember(t.Context(), "me", "dog", "Bruno")
				require.ErrorIs(t, err, test.is)
			}
			require.Equal(t, kept, put(t, s, "me", "kept", "kept text"), "it is there already")
			require.Equal(t, "kept text", get(t, s, "me", kept.Ref).Text)
			require.Equal(t, "dog=Rex", memories(t, s, "me"))
			sqlitedbtest.Execute(t, s.db, test.mends)
			_, err = s.Put(t.Context(), big)
			require.NoError(t, err)
			requireUnknown(t, s, "me", kept.Ref)
		})
	}
}
