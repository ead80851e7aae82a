package conversation

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"
)

// Status is the state of a turn.
type Status string

// The states of a turn.
const (
	Running     Status = "running"
	Done        Status = "done"
	Failed      Status = "failed"
	Interrupted Status = "interrupted" // stopped, or left by a process that is gone
)

func (s Status) known() bool { return s == Running || s.ended() }

func (s Status) ended() bool { return s == Done || s == Failed || s == Interrupted }

// Turn is what a user said and what came of it. Times are in UTC, to the microsecond.
type Turn struct {
	Conversation string `json:"conversation_id"`
	Number       int    `json:"number"` // from 1; that of a dropped turn does not come again
	Thread       string `json:"thread_id"`
	Goal         string `json:"goal"` // what the user said
	Answer       string `json:"answer"`
	Status       Status `json:"status"`
	Error        string `json:"error,omitempty"`   // why it failed
	Process      string `json:"process,omitempty"` // who runs it, in the caller's terms; empty once it ended
	// Transcript is what was done, as JSON that means something to the caller only. It may be nil.
	Transcript json.RawMessage `json:"transcript,omitempty"`
	Started    time.Time       `json:"started"`
	Finished   time.Time       `json:"finished,omitzero"` // zero while it runs
}

// Outcome is how a turn ended.
type Outcome struct {
	Status     Status // [Done], [Failed] or [Interrupted]
	Answer     string // also a part of one
	Error      string
	Transcript json.RawMessage // valid JSON, stored byte for byte; nil for none

	// Process guards against a process that comes late: when it isn't empty and another one runs the turn, that is a
	// [*RunningError] and the turn stays as it is.
	Process string
}

func (o Outcome) validate() error {
	if !o.Status.ended() {
		return fmt.Errorf("%w: a turn can't end with the status %q; it must be done, failed or interrupted", ErrInvalid, clip(string(o.Status)))
	}
	if len(o.Transcript) > 0 && !json.Valid(o.Transcript) {
		return fmt.Errorf("%w: the transcript (%d bytes) is not valid JSON", ErrInvalid, len(o.Transcript))
	}
	return nil
}

// row is a turn as the database has it.
type row struct {
	Turn
	key, conversation int64
}

// scanTurn reads the columns of the queries by_thread, running, oldest and newest.
func scanTurn(from scanner) (row, error) {
	var r row
	var n int64
	var status string
	var transcript []byte
	err := from.Scan(number{&r.key}, number{&r.conversation}, text{&r.Conversation}, number{&n}, text{&r.Thread}, text{&status}, text{&r.Process},
		instant{&r.Started}, instant{&r.Finished}, text{&r.Error}, text{&r.Goal}, text{&r.Answer}, data{&transcript})
	if err != nil {
		return row{}, err
	}
	r.Number, r.Status, r.Transcript = int(n), Status(status), transcript
	if reason := r.damage(); reason != "" {
		return row{}, fmt.Errorf("turn %d of conversation %q: %s: %w", n, clip(r.Conversation), reason, ErrCorrupt)
	}
	return r, nil
}

// damage tells what is wrong with what the database has, or nothing.
func (r *row) damage() string {
	switch {
	case r.Number < 1:
		return "it has no number"
	case CheckID(r.Thread) != nil:
		return "it has no thread"
	case !r.Status.known():
		return "its status is none"
	case len(r.Transcript) > 0 && !json.Valid(r.Transcript):
		return "its transcript is no JSON"
	}
	for _, s := range []string{r.Process, r.Error, r.Goal, r.Answer} {
		if !utf8.ValidString(s) {
			return "a text of it is not valid UTF-8"
		}
	}
	return ""
}

// turn returns the turn of a thread.
func (t *txn) turn(ctx context.Context, thread string) (row, error) {
	r, err := scanTurn(t.Row(ctx, "by_thread", thread))
	if errors.Is(err, sql.ErrNoRows) {
		return row{}, &UnknownError{ID: thread, Thread: true}
	}
	return r, err
}

// idle returns a [*RunningError] when a turn of the conversation runs.
func (t *txn) idle(ctx context.Context, conversation int64) error {
	r, err := scanTurn(t.Row(ctx, "running", conversation))
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return err
	}
	return &RunningError{Turn: r.Turn}
}

// retitle makes the title of a conversation of its first turn.
func (t *txn) retitle(ctx context.Context, conversation int64) error {
	var goal string
	err := t.Row(ctx, "first_goal", conversation).Scan(text{&goal})
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	return t.do(ctx, "set_title", conversation, titleOf(goal))
}

// Begin appends a running turn to a conversation and makes that the last one. process says who runs it.
//
// The error is [ErrInvalid] for a thread that [CheckID] refuses, an [*UnknownError] for a conversation that does not exist, a
// [*ThreadTakenError] for a thread that a turn has, and a [*RunningError] while a turn of the conversation runs.
func (s *Store) Begin(ctx context.Context, conversation, thread, goal, process string) (Turn, error) {
	if err := CheckID(thread); err != nil {
		return Turn{}, fmt.Errorf("beginning a turn: thread: %w", err)
	}
	goal, process = valid(goal), valid(process)
	var begun row
	err := s.tx(ctx, "beginning a turn in", func(t *txn) error {
		key, err := t.key(ctx, conversation)
		if err != nil {
			return err
		}
		taken, err := t.turn(ctx, thread)
		if err == nil {
			return &ThreadTakenError{Turn: taken.Turn}
		}
		if !errors.Is(err, ErrUnknown) {
			return err
		}
		if err := t.idle(ctx, key); err != nil {
			return err
		}
		begun, err = t.begin(ctx, key, thread, goal, process, s.now())
		return err
	})
	return begun.Turn, err
}

// begin appends a turn that may be appended.
func (t *txn) begin(ctx context.Context, conversation int64, thread, goal, process string, now int64) (row, error) {
	var n, before int64
	if err := t.Row(ctx, "count", conversation).Scan(number{&before}); err != nil {
		return row{}, err
	}
	if err := t.Row(ctx, "next_number", conversation).Scan(number{&n}); err != nil {
		return row{}, err
	}
	if err := t.do(ctx, "begin", conversation, n, thread, process, now, goal); err != nil {
		return row{}, err
	}
	if before == 0 {
		if err := t.do(ctx, "set_title", conversation, titleOf(goal)); err != nil {
			return row{}, err
		}
	}
	if err := t.do(ctx, "change", conversation, now); err != nil {
		return row{}, err
	}
	if err := t.do(ctx, "remember", conversation); err != nil {
		return row{}, err
	}
	return t.turn(ctx, thread)
}

// change runs fn on the turn of a thread and records that its conversation changed.
func (s *Store) change(ctx context.Context, doing, thread string, fn func(t *txn, r row, now int64) error) error {
	return s.tx(ctx, doing, func(t *txn) error {
		r, err := t.turn(ctx, thread)
		if err != nil {
			return err
		}
		now := s.now()
		if err := fn(t, r, now); err != nil {
			return err
		}
		return t.do(ctx, "change", r.conversation, now)
	})
}

// Reopen makes an interrupted or failed turn run again, in process. Error is gone from it; Answer and Transcript stay until the
// turn ends. The last conversation stays the same.
//
// The error is an [*UnknownError] for a thread of no turn, a [*StatusError] for a turn that is done, and a [*RunningError] while
// this or another turn of its conversation runs.
func (s *Store) Reopen(ctx context.Context, thread, process string) (Turn, error) {
	var opened row
	err := s.change(ctx, "reopening a turn in", thread, func(t *txn, r row, _ int64) error {
		if r.Status == Done {
			return &StatusError{Turn: r.Turn, Doing: "reopening", Fix: "its answer is there; begin another turn"}
		}
		err := t.idle(ctx, r.conversation)
		if err == nil {
			err = t.do(ctx, "reopen", r.key, valid(process))
		}
		if err == nil {
			opened, err = t.turn(ctx, thread)
		}
		return err
	})
	return opened.Turn, err
}

// Finish ends the turn of a thread with an outcome, which replaces all of an earlier one. A turn that was marked interrupted or
// failed can be finished without being opened again: its process may have been thought gone too soon.
//
// The error is [ErrInvalid] for an outcome that is none, an [*UnknownError] for a thread of no turn, a [*StatusError] for a turn
// that is done, and a [*RunningError] as [Outcome.Process] says.
func (s *Store) Finish(ctx context.Context, thread string, o Outcome) error {
	if err := o.validate(); err != nil {
		return fmt.Errorf("finishing the turn of thread %q: %w", clip(thread), err)
	}
	var transcript []byte // nil is NULL
	if len(o.Transcript) > 0 {
		transcript = o.Transcript
	}
	return s.change(ctx, "finishing a turn in", thread, func(t *txn, r row, now int64) error {
		switch {
		case r.Status == Done:
			return &StatusError{Turn: r.Turn, Doing: "finishing", Fix: "its answer stays; begin another turn"}
		case o.Process != "" && r.Status == Running && r.Process != valid(o.Process):
			return &RunningError{Turn: r.Turn}
		}
		return t.do(ctx, "finish", r.key, string(o.Status), now, valid(o.Error), valid(o.Answer), transcript)
	})
}

// Interrupt marks a running turn as interrupted, because process, which ran it, is gone. Answer and Transcript stay. A turn that
// is interrupted already stays as it is, without an error: somebody else found out first.
//
// The error is an [*UnknownError] for a thread of no turn, a [*RunningError] when another process runs the turn by now, and a
// [*StatusError] when it has ended otherwise.
func (s *Store) Interrupt(ctx context.Context, thread, process string) error {
	return s.tx(ctx, "interrupting a turn in", func(t *txn) error {
		r, err := t.turn(ctx, thread)
		switch {
		case err != nil:
			return err
		case r.Status == Interrupted:
			return nil
		case r.Status != Running:
			return &StatusError{Turn: r.Turn, Doing: "interrupting", Fix: "nothing is left to interrupt"}
		case r.Process != valid(process):
			return &RunningError{Turn: r.Turn}
		}
		now := s.now()
		if err := t.do(ctx, "interrupt", r.key, now); err != nil {
			return err
		}
		return t.do(ctx, "change", r.conversation, now)
	})
}

// Drop removes an interrupted or failed turn. The numbers of later turns stay, and its own does not come again.
//
// The error is an [*UnknownError] for a thread of no turn, a [*RunningError] for a turn that runs, and a [*StatusError] for one
// that is done.
func (s *Store) Drop(ctx context.Context, thread string) error {
	var pages int64
	err := s.change(ctx, "dropping a turn from", thread, func(t *txn, r row, _ int64) error {
		switch r.Status {
		case Running:
			return &RunningError{Turn: r.Turn}
		case Done:
			return &StatusError{Turn: r.Turn, Doing: "dropping", Fix: "only failed and interrupted turns can be dropped; delete the conversation to remove all of it"}
		}
		if err := t.do(ctx, "drop", r.key); err != nil {
			return err
		}
		if err := t.retitle(ctx, r.conversation); err != nil {
			return err
		}
		var err error
		pages, err = s.shrink(ctx, t)
		return err
	})
	if err == nil {
		s.merge(ctx, pages)
	}
	return err
}
