package conversation

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBegin(t *testing.T) {
	t.Parallel()
	s := open(t)
	create(t, s, "c1")
	create(t, s, "c2")
	turn := begin(t, s, "c1", "t1", "the goal")
	require.False(t, turn.Started.IsZero())
	require.Equal(t, Turn{Conversation: "c1", Number: 1, Thread: "t1", Goal: "the goal", Status: Running, Process: "process of t1", Started: turn.Started}, turn)
	require.Equal(t, turn, byThread(t, s, "t1"))

	_, err := s.Begin(t.Context(), "c1", "t2", "goal", "p")
	var running *RunningError
	require.ErrorAs(t, err, &running)
	require.ErrorIs(t, err, ErrRunning)
	require.Equal(t, turn, running.Turn)
	require.ErrorContains(t, err, `turn 1 of conversation "c1" is running in thread "t1"`)
	begin(t, s, "c2", "t2", "goal") // other conversations are free

	finish(t, s, "t1", Outcome{Status: Done})
	for _, conversation := range []string{"c1", "c2"} {
		_, err = s.Begin(t.Context(), conversation, "t1", "goal", "p")
		var taken *ThreadTakenError
		require.ErrorAs(t, err, &taken)
		require.ErrorIs(t, err, ErrThreadTaken)
		require.Equal(t, byThread(t, s, "t1"), taken.Turn)
		require.ErrorContains(t, err, `thread "t1" belongs to turn 1 of conversation "c1"`)
	}
	_, err = s.Begin(t.Context(), "c1", "../t", "goal", "p")
	require.ErrorIs(t, err, ErrInvalid)
	require.ErrorContains(t, err, "../t")
	require.Equal(t, 2, begin(t, s, "c1", "t3", "goal").Number)
	require.Equal(t, 2, get(t, s, "c1").Turns)
	require.Equal(t, 1, get(t, s, "c2").Turns)
}

func TestFinish(t *testing.T) {
	t.Parallel()
	s := open(t)
	create(t, s, "c1")
	begun := begin(t, s, "c1", "t1", "goal")
	for _, status := range []Status{Running, "", "ended"} {
		err := s.Finish(t.Context(), "t1", Outcome{Status: status})
		require.ErrorIs(t, err, ErrInvalid)
		require.ErrorContains(t, err, fmt.Sprintf("%q", status))
		require.ErrorContains(t, err, `"t1"`)
	}
	err := s.Finish(t.Context(), "t1", Outcome{Status: Done, Transcript: json.RawMessage(`{"a":`)})
	require.ErrorIs(t, err, ErrInvalid)
	require.ErrorContains(t, err, "JSON")
	require.Equal(t, begun, byThread(t, s, "t1"))

	want := begun
	want.Process, want.Status, want.Answer, want.Error, want.Transcript = "", Failed, "part of it", "the model said no", json.RawMessage(` {"calls": [1.0]} `)
	finish(t, s, "t1", Outcome{Status: Failed, Answer: want.Answer, Error: want.Error, Transcript: want.Transcript, Process: "process of t1"})
	got := byThread(t, s, "t1")
	require.True(t, got.Finished.After(got.Started))
	want.Finished = got.Finished
	require.Equal(t, want, got)

	// A process that was thought gone ends its turn after all. What it says replaces all of the old.
	finish(t, s, "t1", Outcome{Status: Done, Answer: "all of it", Process: "process of t1"})
	want.Status, want.Answer, want.Error, want.Transcript = Done, "all of it", "", nil
	got = byThread(t, s, "t1")
	require.True(t, got.Finished.After(want.Finished))
	want.Finished = got.Finished
	require.Equal(t, want, got)

	err = s.Finish(t.Context(), "t1", Outcome{Status: Failed, Error: "too late"})
	var refused *StatusError
	require.ErrorAs(t, err, &refused)
	require.ErrorIs(t, err, ErrStatus)
	require.Equal(t, want, refused.Turn)
	require.ErrorContains(t, err, `finishing turn 1 of conversation "c1" (thread "t1"): it is done`)
	require.Equal(t, want, byThread(t, s, "t1"))
}

// A process from which a turn was taken can't end the one that goes on elsewhere.
func TestLateProcess(t *testing.T) {
	t.Parallel()
	s := open(t)
	create(t, s, "c1")
	begin(t, s, "c1", "t1", "goal")
	require.NoError(t, s.Interrupt(t.Context(), "t1", "process of t1"))
	reopened, err := s.Reopen(t.Context(), "t1", "another")
	require.NoError(t, err)
	for _, err := range []error{
		s.Finish(t.Context(), "t1", Outcome{Status: Failed, Process: "process of t1"}),
		s.Interrupt(t.Context(), "t1", "process of t1"), // of somebody who looked at the turn before it was reopened
	} {
		var running *RunningError
		require.ErrorAs(t, err, &running)
		require.Equal(t, reopened, running.Turn)
		require.Equal(t, reopened, byThread(t, s, "t1"))
	}
	finish(t, s, "t1", Outcome{Status: Done, Process: "another"})
}

func TestReopen(t *testing.T) {
	t.Parallel()
	for _, status := range []Status{Failed, Interrupted} {
		t.Run(string(status), func(t *testing.T) {
			t.Parallel()
			s := open(t)
			create(t, s, "c1")
			begun := begin(t, s, "c1", "t1", "goal")
			finish(t, s, "t1", Outcome{Status: status, Answer: "part", Error: "why", Transcript: json.RawMessage("[1]")})
			begin(t, s, "c1", "t2", "goal")

			_, err := s.Reopen(t.Context(), "t1", "p")
			var running *RunningError
			require.ErrorAs(t, err, &running)
			require.Equal(t, "t2", running.Turn.Thread)
			require.Equal(t, status, byThread(t, s, "t1").Status)
			finish(t, s, "t2", Outcome{Status: Done})
			_, err = s.Reopen(t.Context(), "t2", "p")
			require.ErrorIs(t, err, ErrStatus)
			require.ErrorContains(t, err, "it is done")

			want := begun
			want.Process, want.Answer, want.Transcript = "p", "part", json.RawMessage("[1]")
			got, err := s.Reopen(t.Context(), "t1", "p")
			require.NoError(t, err)
			require.Equal(t, want, got)
			require.Equal(t, want, byThread(t, s, "t1"))
			require.Equal(t, Done, get(t, s, "c1").Status, "that of the last turn")

			_, err = s.Reopen(t.Context(), "t1", "q")
			require.ErrorAs(t, err, &running)
			require.Equal(t, want, running.Turn)
			_, err = s.Begin(t.Context(), "c1", "t3", "goal", "p")
			require.ErrorAs(t, err, &running)
			require.Equal(t, want, running.Turn)

			require.NoError(t, s.Interrupt(t.Context(), "t1", "p"))
			got = byThread(t, s, "t1")
			require.False(t, got.Finished.IsZero())
			want.Process, want.Status, want.Finished = "", Interrupted, got.Finished
			require.Equal(t, want, got, "what the first try left is not lost")
			finish(t, s, "t1", Outcome{Status: Done, Answer: "all"})
			got = byThread(t, s, "t1")
			require.Equal(t, "all", got.Answer)
			require.Nil(t, got.Transcript)
		})
	}
}

func TestInterrupt(t *testing.T) {
	t.Parallel()
	s := open(t)
	create(t, s, "c1")
	begun := begin(t, s, "c1", "t1", "goal")
	require.NoError(t, s.Interrupt(t.Context(), "t1", "process of t1"))
	want := byThread(t, s, "t1")
	require.True(t, want.Finished.After(begun.Started))
	finished := want.Finished
	begun.Process, begun.Status, begun.Finished = "", Interrupted, finished
	require.Equal(t, begun, want)
	require.NoError(t, s.Interrupt(t.Context(), "t1", "process of t1"))
	require.Equal(t, want, byThread(t, s, "t1"))
	for i, status := range []Status{Done, Failed} {
		thread := fmt.Sprintf("u%d", i)
		begin(t, s, "c1", thread, "goal")
		finish(t, s, thread, Outcome{Status: status})
		err := s.Interrupt(t.Context(), thread, "process of "+thread)
		require.ErrorIs(t, err, ErrStatus)
		require.ErrorContains(t, err, "it is "+string(status))
		require.Equal(t, status, byThread(t, s, thread).Status)
	}
}

func TestDrop(t *testing.T) {
	t.Parallel()
	s := open(t)
	create(t, s, "c1")
	for i, o := range []Outcome{{Status: Failed}, {Status: Done}, {Status: Failed}, {Status: Interrupted}} {
		thread := fmt.Sprintf("t%d", i+1)
		begin(t, s, "c1", thread, "goal "+thread)
		finish(t, s, thread, o)
	}
	begin(t, s, "c1", "t5", "goal t5")

	err := s.Drop(t.Context(), "t2")
	var refused *StatusError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, byThread(t, s, "t2"), refused.Turn)
	require.ErrorContains(t, err, "dropping turn 2")
	require.ErrorIs(t, s.Drop(t.Context(), "t5"), ErrRunning)
	require.Equal(t, 5, get(t, s, "c1").Turns)

	require.NoError(t, s.Drop(t.Context(), "t1"))
	require.NoError(t, s.Drop(t.Context(), "t4"))
	require.Equal(t, []int{2, 3, 5}, numbersOf(t, s, TurnQuery{}))
	require.Equal(t, "goal t2", get(t, s, "c1").Title)
	finish(t, s, "t5", Outcome{Status: Failed})
	require.NoError(t, s.Drop(t.Context(), "t5"))
	c := get(t, s, "c1")
	require.Equal(t, 2, c.Turns)
	require.Equal(t, Failed, c.Status)
	require.ErrorIs(t, s.Drop(t.Context(), "t5"), ErrUnknown)
	require.Equal(t, 6, begin(t, s, "c1", "t5", "again").Number, "5 does not come again")

	create(t, s, "c2")
	begin(t, s, "c2", "u1", "first")
	finish(t, s, "u1", Outcome{Status: Interrupted})
	require.NoError(t, s.Drop(t.Context(), "u1"))
	c = get(t, s, "c2")
	require.Zero(t, c.Turns)
	require.Empty(t, c.Title)
	require.Empty(t, c.Status)
	require.Equal(t, 2, begin(t, s, "c2", "u2", "second").Number)
	require.Equal(t, "second", get(t, s, "c2").Title)
}

// numbersOf returns the numbers of chosen turns of c1.
func numbersOf(t testing.TB, s *Store, q TurnQuery) []int {
	t.Helper()
	turns, err := s.Turns(t.Context(), "c1", q)
	require.NoError(t, err)
	numbers := []int{}
	for _, turn := range turns {
		numbers = append(numbers, turn.Number)
	}
	return numbers
}

func TestTurns(t *testing.T) {
	t.Parallel()
	s := open(t)
	create(t, s, "c1")
	require.Equal(t, []int{}, numbersOf(t, s, TurnQuery{}))
	for i := range 12 { // two digits: numbers are not ordered as texts
		done(t, s, "c1", fmt.Sprintf("t%d", i+1), "goal")
	}
	create(t, s, "c2")
	done(t, s, "c2", "u1", "goal")
	for _, tc := range []struct {
		query TurnQuery
		want  []int
	}{
		{TurnQuery{}, []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}},
		{TurnQuery{Newest: true}, []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}},
		{TurnQuery{Limit: 2}, []int{1, 2}},
		{TurnQuery{Limit: -2, After: 10}, []int{11, 12}},
		{TurnQuery{Limit: 3, Newest: true}, []int{10, 11, 12}},
		{TurnQuery{After: 8, Limit: 2}, []int{9, 10}},
		{TurnQuery{After: 8, Limit: 2, Newest: true}, []int{11, 12}},
		{TurnQuery{After: 11, Limit: 5, Newest: true}, []int{12}},
		{TurnQuery{After: 12}, []int{}},
		{TurnQuery{After: -1, Limit: 1}, []int{1}},
	} {
		require.Equal(t, tc.want, numbersOf(t, s, tc.query), "%+v", tc.query)
	}
	n, err := s.Count(t.Context(), "c1")
	require.NoError(t, err)
	require.Equal(t, 12, n)
	turns, err := s.Turns(t.Context(), "c2", TurnQuery{})
	require.NoError(t, err)
	require.Equal(t, []Turn{byThread(t, s, "u1")}, turns)
}

// Texts come back as they were given; only what is not UTF-8 can't.
func TestTexts(t *testing.T) {
	t.Parallel()
	s := open(t)
	create(t, s, "c1")
	for i, tc := range []struct{ given, want string }{
		{"", ""},
		{" \n", " \n"},
		{"\x00", "\x00"},
		{"a\x00b\x00", "a\x00b\x00"},
		{"\ufeff'; DROP TABLE turns; --", "\ufeff'; DROP TABLE turns; --"},
		{"e\u0301 👩‍👩‍👧 \u202e \U0010ffff", "e\u0301 👩‍👩‍👧 \u202e \U0010ffff"},
		{"bad \xff\xfe, cut 冰"[:len("bad \xff\xfe, cut 冰")-1], "bad \ufffd, cut \ufffd"},
		{"\xed\xa0\x80", "\ufffd"},
		{strings.Repeat("long\x00冰\n", 1<<19), strings.Repeat("long\x00冰\n", 1<<19)},
	} {
		thread := fmt.Sprintf("t%d", i)
		turn, err := s.Begin(t.Context(), "c1", thread, tc.given, tc.given)
		require.NoError(t, err)
		require.True(t, turn.Goal == tc.want && turn.Process == tc.want, "case %d", i)
		require.NoError(t, s.Interrupt(t.Context(), thread, tc.given))
		_, err = s.Reopen(t.Context(), thread, tc.given)
		require.NoError(t, err)
		transcript, err := json.Marshal(map[string]string{"text": tc.given})
		require.NoError(t, err)
		finish(t, s, thread, Outcome{Status: Failed, Answer: tc.given, Error: tc.given, Transcript: transcript, Process: tc.given})
		turns, err := s.Turns(t.Context(), "c1", TurnQuery{Limit: 1, Newest: true})
		require.NoError(t, err)
		got := turns[0]
		require.True(t, got.Goal == tc.want && got.Answer == tc.want && got.Error == tc.want && string(got.Transcript) == string(transcript), "case %d", i)
	}
}

// A transcript is JSON, byte for byte, also where JSON may hold bytes that are not UTF-8.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	s := open(t)
	create(t, s, "c1")
	for i, transcript := range []string{"null", " [ ] ", `{"b":1,"a":1e400}`, "\"\xff\"", `"` + strings.Repeat("x", 5<<20) + `"`} {
		thread := fmt.Sprintf("t%d", i)
		begin(t, s, "c1", thread, "goal")
		finish(t, s, thread, Outcome{Status: Done, Transcript: json.RawMessage(transcript)})
		require.True(t, transcript == string(byThread(t, s, thread).Transcript), "case %d", i)
	}
	begin(t, s, "c1", "empty", "goal")
	finish(t, s, "empty", Outcome{Status: Done, Transcript: json.RawMessage{}})
	require.Nil(t, byThread(t, s, "empty").Transcript)
}

func TestTurnJSON(t *testing.T) {
	t.Parallel()
	s := open(t)
	create(t, s, "c1")
	text, err := json.Marshal(begin(t, s, "c1", "t1", "goal"))
	require.NoError(t, err)
	require.JSONEq(t, `{"conversation_id": "c1", "number": 1, "thread_id": "t1", "goal": "goal", "answer": "", "status": "running",
		"process": "process of t1", "started": "2024-05-01T08:00:02Z"}`, string(text))
	finish(t, s, "t1", Outcome{Status: Failed, Answer: "part", Error: "why", Transcript: json.RawMessage(`[1]`)})
	text, err = json.Marshal(byThread(t, s, "t1"))
	require.NoError(t, err)
	require.JSONEq(t, `{"conversation_id": "c1", "number": 1, "thread_id": "t1", "goal": "goal", "answer": "part", "status": "failed",
		"error": "why", "transcript": [1], "started": "2024-05-01T08:00:02Z", "finished": "2024-05-01T08:00:03Z"}`, string(text))
}
