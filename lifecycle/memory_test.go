package lifecycle

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func remember(t testing.TB, s *Store, owner, key, value string) (Memory, *Memory) {
	t.Helper()
	m, replaced, err := s.Remember(t.Context(), owner, key, value)
	require.NoError(t, err)
	return m, replaced
}

func memories(t testing.TB, s *Store, owners ...string) string {
	t.Helper()
	list, err := s.Memories(t.Context(), owners...)
	require.NoError(t, err)
	var out []string
	for _, m := range list {
		out = append(out, m.Key+"="+m.Value)
	}
	return strings.Join(out, ", ")
}

func TestMemories(t *testing.T) {
	t.Parallel()
	s := open(t)
	at := func(second int) time.Time { return time.Date(2024, 5, 1, 8, 0, second, 0, time.UTC) }
	dog, replaced := remember(t, s, "", "My  Dog", "Rex")
	require.Nil(t, replaced)
	require.Equal(t, Memory{Ref: dog.Ref, Key: "My  Dog", Value: "Rex", Created: at(1), Updated: at(1)}, dog)
	remember(t, s, "", "cat", "Mimi")
	again, replaced := remember(t, s, "", " my dog ", "Rex")
	require.Nil(t, replaced)
	require.Equal(t, dog, again)

	bruno, replaced := remember(t, s, "", "MY DOG", "Bruno")
	dog.Ended = at(4)
	require.Equal(t, &dog, replaced)
	require.Equal(t, Memory{Ref: bruno.Ref, Key: "MY DOG", Value: "Bruno", Created: at(1), Updated: at(4)}, bruno)
	require.Equal(t, "MY DOG=Bruno, cat=Mimi", memories(t, s, ""), "in the order of first values")
	requireUnknown(t, s, "", dog.Ref)
	got := get(t, s, "", bruno.Ref)
	require.Equal(t, "Bruno", got.Text)
	require.Equal(t, KindMemory, got.Kind)
	require.InDelta(t, 1.0, got.Importance, 0)

	remember(t, s, "", "ｍｙ ｄｏｇ", "Rex")
	history, err := s.MemoryHistory(t.Context(), "", "my dog")
	require.NoError(t, err)
	var values []string
	for _, m := range history {
		values = append(values, fmt.Sprint(m.Key, "=", m.Value, " ", m.Ended.IsZero()))
	}
	require.Equal(t, []string{"My  Dog=Rex false", "MY DOG=Bruno false", "ｍｙ ｄｏｇ=Rex true"}, values)
	require.Equal(t, dog, history[0])

	last, err := s.Forget(t.Context(), "", "My dog")
	require.NoError(t, err)
	require.Equal(t, "Rex", last.Value)
	require.Equal(t, "cat=Mimi", memories(t, s, ""))
	_, err = s.Forget(t.Context(), "", "My dog")
	require.ErrorIs(t, err, ErrUnknown)
	require.ErrorContains(t, err, `nothing is remembered as "My dog"`)
	_, err = s.MemoryHistory(t.Context(), "", "My dog")
	require.ErrorIs(t, err, ErrUnknown)
	remember(t, s, "", "my dog", "Bruno")
	history, err = s.MemoryHistory(t.Context(), "", "my dog")
	require.NoError(t, err)
	require.Len(t, history, 1, "what was forgotten is gone")
	require.Equal(t, "cat=Mimi, my dog=Bruno", memories(t, s, ""))
}

// A conversation's own memory hides that of the workspace, and nobody else's is seen.
func TestMemoriesOfOwners(t *testing.T) {
	t.Parallel()
	s := open(t)
	remember(t, s, "me", "dog", "Bruno")
	remember(t, s, "", "cat", "Mimi")
	remember(t, s, "", "Dog", "Rex")
	theirs, _ := remember(t, s, "them", "fish", "Wanda")
	require.Equal(t, "dog=Bruno, cat=Mimi", memories(t, s, "", "me"))
	require.Equal(t, "cat=Mimi, Dog=Rex", memories(t, s, "me", ""))
	require.Equal(t, "cat=Mimi, Dog=Rex", memories(t, s, ""))
	require.Empty(t, memories(t, s))
	_, err := s.Forget(t.Context(), "me", "fish")
	require.ErrorIs(t, err, ErrUnknown)
	_, err = s.MemoryHistory(t.Context(), "me", "fish")
	require.ErrorIs(t, err, ErrUnknown)
	_, err = s.Get(t.Context(), []string{"", "me"}, theirs.Ref)
	require.ErrorIs(t, err, ErrUnknown)

	hits, err := s.Search(t.Context(), []string{"", "me"}, "dog", SearchOptions{Kinds: []Kind{KindMemory}, WithText: true})
	require.NoError(t, err)
	require.Len(t, hits, 1, "a value that does not count is not found")
	require.Equal(t, "Bruno", hits[0].Text)
	require.NoError(t, s.RemoveRecord(t.Context(), "me", hits[0].Ref))
	require.Equal(t, "cat=Mimi, Dog=Rex", memories(t, s, "", "me"))
}

func TestMemoriesThatCannotBe(t *testing.T) {
	t.Parallel()
	s := open(t)
	for _, test := range []struct{ key, value, says string }{
		{"", "v", "the key is empty"},
		{" \t ", "v", "the key is empty"},
		{strings.Repeat("狗", 81), "v", "the key has 81 characters; at most 80 are allowed"},
		{"a\nb", "v", "it must be one line"},
		{"a\u2028b", "v", "it must be one line"},
		{"a\xff", "v", "the key is not valid UTF-8"},
		{"k", "", "the value is empty"},
		{"k", " \n", "the value is empty"},
		{"k", strings.Repeat("狗", 2001), "the value has 2001 characters; at most 2000 are allowed"},
		{"k", "\xff", "the value is not valid UTF-8"},
	} {
		_, _, err := s.Remember(t.Context(), "me", test.key, test.value)
		require.ErrorIs(t, err, ErrInvalid)
		require.ErrorContains(t, err, test.says)
	}
	_, _, err := s.Remember(t.Context(), "a\x00", "k", "v")
	require.ErrorIs(t, err, ErrInvalid)
	require.Zero(t, rows(t, s, "records"))
	key, value := strings.Repeat("狗", 80), strings.Repeat("狗", 1999)+"\n"
	m, _ := remember(t, s, "me", key, value)
	require.Equal(t, key, m.Key)
	require.Equal(t, value, get(t, s, "me", m.Ref).Text)
	m, _ = remember(t, s, "me", "zero", "a\x00b")
	_, replaced := remember(t, s, "me", "zero", "c")
	require.Equal(t, m.Value, replaced.Value)
	history, err := s.MemoryHistory(t.Context(), "me", "zero")
	require.NoError(t, err)
	require.Equal(t, "a\x00b", history[0].Value)
}
