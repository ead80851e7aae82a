package conversation

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/internal/sqlitedb"
)

func TestCheckID(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"a", "0", "c-20060102-150405-1a2b", "A.b_c-d", strings.Repeat("x", 64)} {
		require.NoError(t, CheckID(id), id)
	}
	for _, id := range []string{"", ".", "..", "-a", "_a", "../x", "a/b", `a\b`, "a b", "a\n", "\na", "a\x00", "冰", "a:b", strings.Repeat("x", 65)} {
		err := CheckID(id)
		require.ErrorIs(t, err, ErrInvalid, "%q", id)
		require.ErrorContains(t, err, "letters, digits")
		require.NotContains(t, err.Error(), "\n")
	}
	require.Less(t, len(CheckID(strings.Repeat("x", 1<<20)).Error()), 300)
}

func TestCreate(t *testing.T) {
	t.Parallel()
	s := open(t)
	c := create(t, s, "my-conversation")
	require.Equal(t, "my-conversation", c.ID)
	require.Equal(t, c, get(t, s, "my-conversation"))
	require.Empty(t, c.Title)
	require.Empty(t, c.Status)
	require.Zero(t, c.Turns)
	require.Equal(t, c.Created, c.Updated)
	require.True(t, c.Created.After(clockStart))

	_, err := s.Create(t.Context(), "my-conversation")
	var exists *ExistsError
	require.ErrorAs(t, err, &exists)
	require.ErrorIs(t, err, ErrExists)
	require.Equal(t, "my-conversation", exists.ID)
	require.ErrorContains(t, err, "my-conversation")
	_, err = s.Create(t.Context(), "../x")
	require.ErrorIs(t, err, ErrInvalid)
	require.ErrorContains(t, err, "../x")
	require.Equal(t, []string{"my-conversation"}, idsOf(t, s, 0))

	require.Regexp(t, `^c-20240501-0800\d\d-[0-9a-f]{4}$`, create(t, s, "").ID)
}

func idsOf(t testing.TB, s *Store, limit int) []string {
	t.Helper()
	list, err := s.List(t.Context(), limit)
	require.NoError(t, err)
	ids := []string{}
	for _, c := range list {
		ids = append(ids, c.ID)
	}
	return ids
}

// A new ID that is in use is replaced by another.
func TestNewIDs(t *testing.T) {
	t.Parallel()
	suffixes := []string{"aaaa", "aaaa", "aaaa", "bbbb"}
	fixed := newClock().Time()
	s := openAt(t, filepath.Join(t.TempDir(), "x.sqlite"), Options{Clock: newClock().Time, NewID: func() string {
		suffix := suffixes[0]
		if len(suffixes) > 1 {
			suffixes = suffixes[1:]
		}
		return suffix
	}})
	s.opts.Clock = func() time.Time { return fixed }
	require.Equal(t, "c-20240501-080001-aaaa", create(t, s, "").ID)
	require.Equal(t, "c-20240501-080001-bbbb", create(t, s, "").ID)
	_, err := s.Create(t.Context(), "")
	require.ErrorIs(t, err, ErrExists, "the end comes when no other ID is made")
	s.opts.NewID = func() string { return "../x" }
	_, err = s.Create(t.Context(), "")
	require.ErrorIs(t, err, ErrInvalid)
}

// Those that changed last come first, whatever the clock says.
func TestListOrder(t *testing.T) {
	t.Parallel()
	s := open(t)
	fixed := clockStart
	s.opts.Clock = func() time.Time { return fixed }
	require.Equal(t, []string{}, idsOf(t, s, 0))
	for _, id := range []string{"c1", "c2", "c3"} {
		create(t, s, id)
	}
	require.Equal(t, []string{"c3", "c2", "c1"}, idsOf(t, s, 0))
	begin(t, s, "c1", "t1", "goal")
	require.Equal(t, []string{"c1", "c3", "c2"}, idsOf(t, s, 0))
	fixed = clockStart.Add(-1e12)
	begin(t, s, "c2", "t2", "goal")
	require.Equal(t, []string{"c2", "c1", "c3"}, idsOf(t, s, 0))
	first := func(id string) {
		t.Helper()
		require.Equal(t, id, idsOf(t, s, 1)[0])
	}
	finish(t, s, "t1", Outcome{Status: Failed})
	first("c1")
	require.NoError(t, s.Interrupt(t.Context(), "t2", "process of t2"))
	first("c2")
	_, err := s.Reopen(t.Context(), "t1", "p")
	require.NoError(t, err)
	first("c1")
	require.NoError(t, s.Interrupt(t.Context(), "t2", "process of t2"))
	first("c1")
	require.NoError(t, s.Drop(t.Context(), "t2"))
	first("c2")
	require.NoError(t, s.Select(t.Context(), "c3"))
	first("c2")
	require.NoError(t, s.Delete(t.Context(), "c2"))
	require.Equal(t, []string{"c1", "c3"}, idsOf(t, s, -1))
	require.Equal(t, []string{"c1", "c3"}, idsOf(t, s, 2))
	require.Equal(t, []string{"c1"}, idsOf(t, s, 1))
	create(t, s, "c4")
	first("c4")
}

func TestSummary(t *testing.T) {
	t.Parallel()
	s := open(t)
	created := create(t, s, "c1")
	begin(t, s, "c1", "t1", "  What is\nthis? ")
	c := get(t, s, "c1")
	require.Equal(t, "What is this?", c.Title)
	require.Equal(t, Running, c.Status)
	require.Equal(t, 1, c.Turns)
	require.Equal(t, created.Created, c.Created)
	require.True(t, c.Updated.After(c.Created))
	finish(t, s, "t1", Outcome{Status: Failed})
	begin(t, s, "c1", "t2", "another one")
	finish(t, s, "t2", Outcome{Status: Done})
	c = get(t, s, "c1")
	require.Equal(t, "What is this?", c.Title)
	require.Equal(t, Done, c.Status)
	require.Equal(t, 2, c.Turns)
	list, err := s.List(t.Context(), 0)
	require.NoError(t, err)
	require.Equal(t, []Conversation{c}, list)

	require.NoError(t, s.Drop(t.Context(), "t1"))
	require.Equal(t, "another one", get(t, s, "c1").Title)

	text, err := json.Marshal(c)
	require.NoError(t, err)
	require.JSONEq(t, fmt.Sprintf(`{"conversation_id": "c1", "title": "What is this?", "turns": 2, "status": "done", "created": %q, "updated": %q}`,
		c.Created.Format("2006-01-02T15:04:05Z"), c.Updated.Format("2006-01-02T15:04:05Z")), string(text))
}

func TestLast(t *testing.T) {
	t.Parallel()
	s := open(t)
	last := func(want string) {
		t.Helper()
		c, err := s.Last(t.Context())
		if want == "" {
			require.ErrorIs(t, err, ErrNone)
			return
		}
		require.NoError(t, err)
		require.Equal(t, get(t, s, want), c)
	}
	last("")
	create(t, s, "c1")
	create(t, s, "c2")
	create(t, s, "c3")
	last("")
	done(t, s, "c1", "t1", "goal")
	last("c1")
	begin(t, s, "c2", "t2", "goal")
	last("c2")
	require.NoError(t, s.Select(t.Context(), "c3"))
	last("c3")
	finish(t, s, "t2", Outcome{Status: Failed})
	_, err := s.Reopen(t.Context(), "t2", "p")
	require.NoError(t, err)
	last("c3")
	_, err = s.Begin(t.Context(), "c2", "t4", "goal", "p")
	require.ErrorIs(t, err, ErrRunning)
	last("c3")
	require.ErrorIs(t, s.Select(t.Context(), "c9"), ErrUnknown)
	last("c3")
	require.NoError(t, s.Delete(t.Context(), "c1"))
	last("c3")
	require.NoError(t, s.Delete(t.Context(), "c3"))
	last("")
	create(t, s, "c3")
	last("")
	require.NoError(t, s.Select(t.Context(), "c2"))
	last("c2")
}

func TestUnknown(t *testing.T) {
	t.Parallel()
	s := open(t)
	fill(t, s)
	for _, id := range []string{"c2", "", "../x", "C1", "c1 ", "c1\x00", strings.Repeat("x", 1<<20)} {
		_, getErr := s.Get(t.Context(), id)
		_, turnsErr := s.Turns(t.Context(), id, TurnQuery{})
		_, countErr := s.Count(t.Context(), id)
		_, beginErr := s.Begin(t.Context(), id, "t9", "goal", "p")
		for _, err := range []error{getErr, turnsErr, countErr, beginErr, s.Select(t.Context(), id), s.Delete(t.Context(), id)} {
			var unknown *UnknownError
			require.ErrorAs(t, err, &unknown)
			require.ErrorIs(t, err, ErrUnknown)
			require.Equal(t, UnknownError{ID: id}, *unknown)
			require.ErrorContains(t, err, "there is no conversation")
			require.Less(t, len(err.Error()), 300)
		}
	}
	for _, thread := range []string{"t9", "", "../x", "t1\x00"} {
		_, byThreadErr := s.ByThread(t.Context(), thread)
		_, reopenErr := s.Reopen(t.Context(), thread, "p")
		for _, err := range []error{
			byThreadErr, reopenErr, s.Finish(t.Context(), thread, Outcome{Status: Done}), s.Interrupt(t.Context(), thread, "p"), s.Drop(t.Context(), thread),
		} {
			var unknown *UnknownError
			require.ErrorAs(t, err, &unknown)
			require.Equal(t, UnknownError{ID: thread, Thread: true}, *unknown)
			require.ErrorContains(t, err, fmt.Sprintf("thread %q", thread))
		}
	}
	require.Equal(t, []string{"c1"}, idsOf(t, s, 0))
}

func TestDelete(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.sqlite")
	s := openAt(t, path, Options{Synchronous: sqlitedb.Off})
	create(t, s, "kept")
	done(t, s, "kept", "t1", "goal")
	require.NoError(t, s.db.MergeLog(t.Context()))
	size := func() int64 {
		t.Helper()
		info, err := os.Stat(path)
		require.NoError(t, err)
		return info.Size()
	}
	empty := size()
	create(t, s, "large")
	for i := range 8 {
		thread := fmt.Sprintf("large-%d", i)
		begin(t, s, "large", thread, "goal")
		finish(t, s, thread, Outcome{Status: Done, Answer: strings.Repeat("x", 1<<20)})
	}
	require.NoError(t, s.db.MergeLog(t.Context()))
	require.Greater(t, size(), empty+8<<20)
	begin(t, s, "large", "running", "goal")
	require.NoError(t, s.Delete(t.Context(), "large"))
	require.Less(t, size(), empty+1<<16, "the file gives pages back")
	_, err := s.Get(t.Context(), "large")
	require.ErrorIs(t, err, ErrUnknown)
	require.ErrorIs(t, s.Finish(t.Context(), "running", Outcome{Status: Done}), ErrUnknown)
	_, err = s.ByThread(t.Context(), "large-0")
	require.ErrorIs(t, err, ErrUnknown)
	require.Equal(t, "answer of t1", byThread(t, s, "t1").Answer)

	create(t, s, "large")
	n, err := s.Count(t.Context(), "large")
	require.NoError(t, err)
	require.Zero(t, n, "a new conversation of the ID has none of the old turns")
	require.Equal(t, 1, begin(t, s, "large", "large-0", "goal").Number)
}

// Many goroutines on several handles: each turn gets its own number, and only one of a conversation runs.
func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.sqlite")
	handles := []*Store{openAt(t, path, Options{Synchronous: sqlitedb.Off}), openAt(t, path, Options{Synchronous: sqlitedb.Off})}
	create(t, handles[0], "shared")
	const workers, each = 4, 25
	errs := make([]error, workers)
	begun := make([]int, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			s := handles[w%2]
			for i := range each {
				thread := fmt.Sprintf("t-%d-%d", w, i)
				_, err := s.Begin(t.Context(), "shared", thread, "goal", "p")
				if errors.Is(err, ErrRunning) {
					continue
				}
				if err == nil {
					begun[w]++
					err = s.Finish(t.Context(), thread, Outcome{Status: Done, Answer: thread})
				}
				if err == nil {
					_, err = handles[1-w%2].ByThread(t.Context(), thread) // the other handle sees it at once
				}
				errs[w] = errors.Join(errs[w], err)
			}
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	turns, err := handles[0].Turns(t.Context(), "shared", TurnQuery{})
	require.NoError(t, err)
	total := 0
	for _, n := range begun {
		total += n
	}
	require.Len(t, turns, total)
	require.NotEmpty(t, turns)
	for i, turn := range turns {
		require.Equal(t, i+1, turn.Number)
		require.Equal(t, turn.Thread, turn.Answer)
	}
}
