package conversation

import (
	"errors"
	"fmt"

	"github.com/llama-agent/llama-agent/internal/sqlitedb"
)

// Sentinels for [errors.Is]. The last five tell failures of the file apart.
var (
	ErrUnknown     = errors.New("conversation: unknown")                          // an *[UnknownError]
	ErrExists      = errors.New("conversation: the ID is in use")                 // an *[ExistsError]
	ErrNone        = errors.New("conversation: there is no last conversation")    // nothing began, or it was deleted
	ErrRunning     = errors.New("conversation: a turn is running")                // a *[RunningError]
	ErrThreadTaken = errors.New("conversation: the thread belongs to a turn")     // a *[ThreadTakenError]
	ErrStatus      = errors.New("conversation: the state of the turn forbids it") // a *[StatusError]
	ErrInvalid     = errors.New("conversation: unusable argument")
	ErrClosed      = errors.New("conversation: the store is closed")

	ErrLocked      = sqlitedb.ErrLocked      // another process held it locked for longer than the busy timeout
	ErrCorrupt     = sqlitedb.ErrCorrupt     // not a database, or a damaged one
	ErrNotWritable = sqlitedb.ErrNotWritable // the file or its folder
	ErrFull        = sqlitedb.ErrFull        // the disk
	ErrNewer       = sqlitedb.ErrNewer       // written by a newer version of this package
)

// UnknownError says that there is no such conversation, or no turn of such a thread.
type UnknownError struct {
	ID     string // as it was given
	Thread bool   // it is the ID of a thread
}

func (e *UnknownError) Error() string {
	if e.Thread {
		return fmt.Sprintf("no turn of a conversation has the thread %q; it was deleted, or never belonged to one", clip(e.ID))
	}
	return fmt.Sprintf("there is no conversation %q; choose one of the list of conversations, or start a new one", clip(e.ID))
}

// Is reports whether target is [ErrUnknown].
func (e *UnknownError) Is(target error) bool { return target == ErrUnknown }

// ExistsError says that a conversation has the ID already.
type ExistsError struct {
	ID string
}

func (e *ExistsError) Error() string {
	return fmt.Sprintf("there is a conversation %q already; continue it, or choose another ID", e.ID)
}

// Is reports whether target is [ErrExists].
func (e *ExistsError) Is(target error) bool { return target == ErrExists }

// RunningError says that a turn is running, so that no other one of its conversation can. Whether its process is gone is for the
// caller to find out; see [Store.Interrupt].
type RunningError struct {
	Turn Turn // the one that is running
}

func (e *RunningError) Error() string {
	return fmt.Sprintf("turn %d of conversation %q is running in thread %q; wait for it to end, or stop it",
		e.Turn.Number, e.Turn.Conversation, e.Turn.Thread)
}

// Is reports whether target is [ErrRunning].
func (e *RunningError) Is(target error) bool { return target == ErrRunning }

// ThreadTakenError says that a thread belongs to a turn already.
type ThreadTakenError struct {
	Turn Turn // the one it belongs to
}

func (e *ThreadTakenError) Error() string {
	return fmt.Sprintf("thread %q belongs to turn %d of conversation %q; choose another thread ID",
		e.Turn.Thread, e.Turn.Number, e.Turn.Conversation)
}

// Is reports whether target is [ErrThreadTaken].
func (e *ThreadTakenError) Is(target error) bool { return target == ErrThreadTaken }

// StatusError says that a turn is in a state in which something can't be done with it.
type StatusError struct {
	Turn  Turn
	Doing string // such as "dropping"
	Fix   string // what to do instead
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("%s turn %d of conversation %q (thread %q): it is %s; %s",
		e.Doing, e.Turn.Number, e.Turn.Conversation, e.Turn.Thread, e.Turn.Status, e.Fix)
}

// Is reports whether target is [ErrStatus].
func (e *StatusError) Is(target error) bool { return target == ErrStatus }

// clip shortens what somebody gave as an ID for a message.
func clip(s string) string {
	const most = 80
	n := 0
	for i := range s {
		if n == most {
			return s[:i] + "…"
		}
		n++
	}
	return s
}
