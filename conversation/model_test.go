package conversation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/llama-agent/llama-agent/internal/sqlitedb"
)

// model is what a store has to do, in memory.
type model struct {
	conversations []*modelConversation // the one that changed last comes last
	last          string
}

type modelConversation struct {
	id               string
	created, updated time.Time
	numbers          int
	turns            []Turn
}

func (m *model) conversation(id string) *modelConversation {
	for _, c := range m.conversations {
		if c.id == id {
			return c
		}
	}
	return nil
}

func (m *model) turn(thread string) (*modelConversation, *Turn) {
	for _, c := range m.conversations {
		for i := range c.turns {
			if c.turns[i].Thread == thread {
				return c, &c.turns[i]
			}
		}
	}
	return nil, nil
}

func (c *modelConversation) running() bool {
	return slices.ContainsFunc(c.turns, func(t Turn) bool { return t.Status == Running })
}

func (m *model) changed(c *modelConversation, now time.Time) {
	c.updated = now
	m.conversations = append(slices.DeleteFunc(m.conversations, func(o *modelConversation) bool { return o == c }), c)
}

func (m *model) create(id string, now time.Time) error {
	if m.conversation(id) != nil {
		return ErrExists
	}
	m.conversations = append(m.conversations, &modelConversation{id: id, created: now, updated: now})
	return nil
}

func (m *model) begin(id, thread, goal, process string, now time.Time) error {
	c := m.conversation(id)
	if c == nil {
		return ErrUnknown
	}
	if _, taken := m.turn(thread); taken != nil {
		return ErrThreadTaken
	}
	if c.running() {
		return ErrRunning
	}
	c.numbers++
	c.turns = append(c.turns, Turn{Conversation: id, Number: c.numbers, Thread: thread, Goal: goal, Status: Running, Process: process, Started: now})
	m.last = id
	m.changed(c, now)
	return nil
}

func (m *model) finish(thread string, o Outcome, now time.Time) error {
	c, t := m.turn(thread)
	switch {
	case o.Status == Running:
		return ErrInvalid
	case t == nil:
		return ErrUnknown
	case t.Status == Done:
		return ErrStatus
	case t.Status == Running && o.Process != "" && o.Process != t.Process:
		return ErrRunning
	}
	t.Status, t.Answer, t.Error, t.Transcript, t.Process, t.Finished = o.Status, o.Answer, o.Error, o.Transcript, "", now
	m.changed(c, now)
	return nil
}

func (m *model) reopen(thread, process string, now time.Time) error {
	c, t := m.turn(thread)
	switch {
	case t == nil:
		return ErrUnknown
	case t.Status == Done:
		return ErrStatus
	case c.running():
		return ErrRunning
	}
	t.Status, t.Process, t.Error, t.Finished = Running, process, "", time.Time{}
	m.changed(c, now)
	return nil
}

func (m *model) interrupt(thread, process string, now time.Time) error {
	c, t := m.turn(thread)
	switch {
	case t == nil:
		return ErrUnknown
	case t.Status == Interrupted:
		return nil
	case t.Status != Running:
		return ErrStatus
	case t.Process != process:
		return ErrRunning
	}
	t.Status, t.Process, t.Finished = Interrupted, "", now
	m.changed(c, now)
	return nil
}

func (m *model) drop(thread string, now time.Time) error {
	c, t := m.turn(thread)
	switch {
	case t == nil:
		return ErrUnknown
	case t.Status == Running:
		return ErrRunning
	case t.Status == Done:
		return ErrStatus
	}
	c.turns = slices.DeleteFunc(c.turns, func(o Turn) bool { return o.Thread == thread })
	m.changed(c, now)
	return nil
}

func (m *model) choose(id string) error {
	if m.conversation(id) == nil {
		return ErrUnknown
	}
	m.last = id
	return nil
}

func (m *model) remove(id string) error {
	c := m.conversation(id)
	if c == nil {
		return ErrUnknown
	}
	m.conversations = slices.DeleteFunc(m.conversations, func(o *modelConversation) bool { return o == c })
	if m.last == id {
		m.last = ""
	}
	return nil
}

// summary is the entry of a conversation in a list.
func (c *modelConversation) summary() Conversation {
	s := Conversation{ID: c.id, Turns: len(c.turns), Created: c.created, Updated: c.updated}
	if len(c.turns) > 0 {
		s.Title, s.Status = titleOf(c.turns[0].Goal), c.turns[len(c.turns)-1].Status
	}
	return s
}

// requireSame compares all that a store tells with the model.
func (m *model) requireSame(t *rapid.T, s *Store) {
	ctx := context.Background()
	want := []Conversation{}
	for _, c := range slices.Backward(m.conversations) {
		want = append(want, c.summary())
	}
	limit := rapid.IntRange(0, 4).Draw(t, "list limit")
	if limit > 0 {
		want = want[:min(limit, len(want))]
	}
	list, err := s.List(ctx, limit)
	require.NoError(t, err)
	require.Equal(t, want, list)

	last, err := s.Last(ctx)
	if m.last == "" {
		require.ErrorIs(t, err, ErrNone)
	} else {
		require.NoError(t, err)
		require.Equal(t, m.conversation(m.last).summary(), last)
	}
	q := TurnQuery{After: rapid.IntRange(0, 3).Draw(t, "after"), Limit: rapid.IntRange(0, 3).Draw(t, "limit"), Newest: rapid.Bool().Draw(t, "newest")}
	for _, c := range m.conversations {
		want := []Turn{}
		for _, turn := range c.turns {
			got, err := s.ByThread(ctx, turn.Thread)
			require.NoError(t, err)
			require.Equal(t, turn, got)
			if turn.Number > q.After {
				want = append(want, turn)
			}
		}
		if n := len(want); q.Limit > 0 && q.Newest {
			want = want[max(0, n-q.Limit):]
		} else if q.Limit > 0 {
			want = want[:min(n, q.Limit)]
		}
		turns, err := s.Turns(ctx, c.id, q)
		require.NoError(t, err)
		require.Equal(t, want, turns, "%+v", q)
		n, err := s.Count(ctx, c.id)
		require.NoError(t, err)
		require.Equal(t, len(c.turns), n)
	}
}

// Whatever is done in whatever order, a store does as the model does.
func TestStoreDoesAsTheModel(t *testing.T) {
	t.Parallel()
	id := rapid.SampledFrom([]string{"c1", "c2", "c3"})
	thread := rapid.SampledFrom([]string{"t1", "t2", "t3", "t4", "t5", "t6"})
	process := rapid.SampledFrom([]string{"", "p", "q"})
	goal := rapid.OneOf(rapid.String(), rapid.StringN(60, 120, -1), rapid.SampledFrom([]string{"a\x00b", "\n", "two\nlines"}))
	status := rapid.SampledFrom([]Status{Done, Failed, Interrupted, Failed, Interrupted, Running})
	transcript := rapid.SampledFrom([]json.RawMessage{nil, json.RawMessage("null"), json.RawMessage(`{"a": 1}`)})
	folder, tries := t.TempDir(), 0
	rapid.Check(t, func(t *rapid.T) {
		tries++
		path := filepath.Join(folder, fmt.Sprintf("%d.sqlite", tries))
		now := clockStart
		opts := Options{Clock: func() time.Time { return now }, Synchronous: sqlitedb.Off}
		s, err := Open(context.Background(), path, opts)
		require.NoError(t, err)
		defer func() { require.NoError(t, s.Close()) }()
		m := &model{}
		ctx := context.Background()
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) { m.requireSame(t, s) },
			"create": func(t *rapid.T) {
				id := id.Draw(t, "id")
				_, err := s.Create(ctx, id)
				requireSameError(t, m.create(id, now), err)
			},
			"begin": func(t *rapid.T) {
				id, thread, goal, process := id.Draw(t, "id"), thread.Draw(t, "thread"), goal.Draw(t, "goal"), process.Draw(t, "process")
				turn, err := s.Begin(ctx, id, thread, goal, process)
				requireSameError(t, m.begin(id, thread, goal, process, now), err)
				if err == nil {
					_, want := m.turn(thread)
					require.Equal(t, *want, turn)
				}
			},
			"finish": func(t *rapid.T) {
				thread := thread.Draw(t, "thread")
				o := Outcome{Status: status.Draw(t, "status"), Answer: rapid.String().Draw(t, "answer"), Error: rapid.String().Draw(t, "error"),
					Transcript: transcript.Draw(t, "transcript"), Process: process.Draw(t, "process")}
				requireSameError(t, m.finish(thread, o, now), s.Finish(ctx, thread, o))
			},
			"reopen": func(t *rapid.T) {
				thread, process := thread.Draw(t, "thread"), process.Draw(t, "process")
				turn, err := s.Reopen(ctx, thread, process)
				requireSameError(t, m.reopen(thread, process, now), err)
				if err == nil {
					_, want := m.turn(thread)
					require.Equal(t, *want, turn)
				}
			},
			"interrupt": func(t *rapid.T) {
				thread, process := thread.Draw(t, "thread"), process.Draw(t, "process")
				requireSameError(t, m.interrupt(thread, process, now), s.Interrupt(ctx, thread, process))
			},
			"drop": func(t *rapid.T) {
				thread := thread.Draw(t, "thread")
				requireSameError(t, m.drop(thread, now), s.Drop(ctx, thread))
			},
			"select": func(t *rapid.T) {
				id := id.Draw(t, "id")
				requireSameError(t, m.choose(id), s.Select(ctx, id))
			},
			"delete": func(t *rapid.T) {
				id := id.Draw(t, "id")
				requireSameError(t, m.remove(id), s.Delete(ctx, id))
			},
			"pass time": func(t *rapid.T) {
				now = now.Add(time.Duration(rapid.IntRange(-1000, 1000).Draw(t, "milliseconds")) * time.Millisecond)
			},
			"open again": func(t *rapid.T) {
				require.NoError(t, s.Close())
				var err error
				s, err = Open(ctx, path, opts)
				require.NoError(t, err)
			},
		})
	})
}

// requireSameError compares what an error is.
func requireSameError(t *rapid.T, want, got error) {
	if want == nil {
		require.NoError(t, got)
		return
	}
	require.ErrorIs(t, got, want)
	for _, other := range []error{ErrUnknown, ErrExists, ErrNone, ErrRunning, ErrThreadTaken, ErrStatus, ErrInvalid} {
		require.Equal(t, errors.Is(want, other), errors.Is(got, other), "%v", got)
	}
}
