package lifecycle

import (
	"sort"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/llama-agent/llama-agent/internal/sqlitedb/sqlitedbtest"
)

// model is a store that keeps everything in maps.
type model map[string]map[string]Record // by owner, then kind and key

func (m model) of(owner string) map[string]Record {
	if m[owner] == nil {
		m[owner] = map[string]Record{}
	}
	return m[owner]
}

func slot(r Record) string { return string(r.Kind) + "/" + r.Key }

// TestAgainstModel does random things to a store and a model, and compares what is in them.
func TestAgainstModel(t *testing.T) {
	t.Parallel()
	owner := rapid.SampledFrom([]string{"a", "b", "c"})
	key := rapid.SampledFrom([]string{"1", "2", "3"})
	text := rapid.SampledFrom([]string{"", "x", "y", "z"})
	s := open(t)
	rapid.Check(t, func(r *rapid.T) {
		m := model{}
		for _, o := range []string{"a", "b", "c"} {
			_, err := s.Remove(t.Context(), o)
			require.NoError(r, err)
		}
		known := map[string]bool{}
		r.Repeat(map[string]func(*rapid.T){
			"put": func(r *rapid.T) {
				rec := Record{
					Owner: owner.Draw(r, "owner"), Kind: rapid.SampledFrom([]Kind{KindTurn, KindNote}).Draw(r, "kind"), Key: key.Draw(r, "key"),
					Text: text.Draw(r, "text"), Data: []byte(text.Draw(r, "data")), Importance: 1,
				}
				stored, err := s.Put(t.Context(), rec)
				require.NoError(r, err)
				old, ok := m.of(rec.Owner)[slot(rec)]
				if ok && old.Text == rec.Text && string(old.Data) == string(rec.Data) {
					require.Equal(r, old, stored)
				}
				m.of(rec.Owner)[slot(rec)] = stored
				known[stored.Ref] = true
			},
			"remember": func(r *rapid.T) {
				o, k, v := owner.Draw(r, "owner"), key.Draw(r, "key"), "v"+text.Draw(r, "text")
				mem, replaced, err := s.Remember(t.Context(), o, k, v)
				require.NoError(r, err)
				rec := Record{Ref: mem.Ref, Owner: o, Kind: KindMemory, Key: k, Text: v}
				old, ok := m.of(o)[slot(rec)]
				require.Equal(r, ok && old.Text != v, replaced != nil)
				m.of(o)[slot(rec)] = rec
				known[mem.Ref] = true
			},
			"copy": func(r *rapid.T) {
				from, to := owner.Draw(r, "from"), owner.Draw(r, "to")
				n, err := s.Copy(t.Context(), from, to)
				require.NoError(r, err)
				for at, rec := range m.of(from) {
					if _, ok := m.of(to)[at]; !ok {
						rec.Owner = to
						m.of(to)[at] = rec
						n--
					}
				}
				require.Zero(r, n)
			},
			"remove": func(r *rapid.T) {
				o := owner.Draw(r, "owner")
				n, err := s.Remove(t.Context(), o)
				require.NoError(r, err)
				require.Len(r, m.of(o), n)
				delete(m, o)
			},
			"remove record": func(r *rapid.T) {
				o := owner.Draw(r, "owner")
				var slots []string
				for at := range m.of(o) {
					slots = append(slots, at)
				}
				if len(slots) == 0 {
					return
				}
				sort.Strings(slots)
				at := rapid.SampledFrom(slots).Draw(r, "record")
				require.NoError(r, s.RemoveRecord(t.Context(), o, m.of(o)[at].Ref))
				delete(m.of(o), at)
			},
			"": func(r *rapid.T) { m.compare(t, r, s, known) },
		})
	})
}

// compare checks everything that is in the store, and that nothing else is.
func (m model) compare(t *testing.T, r *rapid.T, s *Store, known map[string]bool) {
	records, contents, tokens := map[string]bool{}, map[string]bool{}, 0
	for _, o := range []string{"a", "b", "c"} {
		list, err := s.List(t.Context(), o, ListOptions{WithText: true})
		require.NoError(r, err)
		require.Len(r, list, len(m.of(o)))
		has := map[string]bool{}
		for _, got := range list {
			want := m.of(o)[slot(got)]
			require.Equal(r, []string{want.Ref, want.Text, string(want.Data)}, []string{got.Ref, got.Text, string(got.Data)})
			has[got.Ref] = true
			if !records[got.Ref] {
				n, _, err := index(got.Name, got.Text)
				require.NoError(r, err)
				tokens += n
			}
			records[got.Ref], contents[got.Text] = true, true
			if got.Data != nil {
				contents[string(got.Data)] = true
			}
		}
		for ref := range known {
			got, err := s.Get(t.Context(), []string{o}, ref)
			require.Equal(r, has[ref], err == nil)
			require.Equal(r, has[ref], got.Ref == ref)
		}
	}
	require.Equal(r, len(records), rows(t, s, "records"))
	require.Equal(r, len(contents), rows(t, s, "contents"))
	require.Equal(r, tokens, sqlitedbtest.Value[int](r, s.db, "SELECT coalesce(sum(n), 0) FROM postings"))
}
