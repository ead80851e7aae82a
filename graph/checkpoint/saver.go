package checkpoint

import (
	"context"
	"iter"
	"time"
)

// Ref names a checkpoint: the one with ID, or the newest of the thread and namespace when ID is empty.
type Ref struct {
	Thread    string
	Namespace string
	ID        string
}

// Query selects checkpoints of one thread and namespace.
type Query struct {
	Thread    string
	Namespace string
	Limit     int // at most so many; 0: all
}

// ResultSet holds results of tasks of one checkpoint.
type ResultSet struct {
	Thread    string
	Namespace string
	Seq       int64 // of the checkpoint the tasks belong to
	Lease     string
	Results   []Result
}

// Saver stores checkpoints. All methods are safe for concurrent use, also by several processes where the medium
// allows it. What a method gets is the saver's to read until it returns; what it returns belongs to the caller.
type Saver interface {
	// Load returns a checkpoint, its values and the results of its tasks. It returns an error that is [ErrNotFound] when
	// there is no such checkpoint, and a [*DamagedError] when one exists but can't be read: never an empty state.
	Load(ctx context.Context, ref Ref) (*Saved, error)

	// Save stores boundaries in order, all in one transaction. It returns an error that is [ErrLeaseLost] when a
	// boundary names a lease that isn't its thread's current one, and one that is [ErrExists] when a Seq or ID is taken.
	Save(ctx context.Context, boundaries ...Boundary) error

	// SaveResults stores results of tasks beside their checkpoint; a result replaces the task's earlier one.
	SaveResults(ctx context.Context, set ResultSet) error

	// List yields checkpoints newest first. An unknown thread yields nothing.
	List(ctx context.Context, q Query) iter.Seq2[Info, error]
}

// Status is the condition of a thread.
type Status string

// The conditions of a thread.
const (
	StatusRunning     Status = "running"     // a live owner holds its lease
	StatusDone        Status = "done"        // nothing is due
	StatusPending     Status = "pending"     // tasks are due and nobody runs them
	StatusFailed      Status = "failed"      // a due task failed the last time it ran
	StatusInterrupted Status = "interrupted" // a due task waits for an answer, or a breakpoint stopped the run
	StatusDamaged     Status = "damaged"     // what is stored of it can't be read; loading it tells what is left
)

// ResultStatus returns the condition that a stored result puts its thread in, or "" if it doesn't change it.
func ResultStatus(r Result) Status {
	switch {
	case r.Task == BreakpointTask || r.Pending():
		return StatusInterrupted
	case !r.Done && r.Error != "":
		return StatusFailed
	}
	return ""
}

// ThreadInfo describes a thread. Times, Steps, Status and Next are those of its newest checkpoint in the root namespace. Of a
// damaged thread only ID, Status and Change are known.
type ThreadInfo struct {
	ID      string            `json:"id"`
	Created time.Time         `json:"created"`
	Updated time.Time         `json:"updated"`
	Steps   int               `json:"steps"` // last superstep
	Status  Status            `json:"status"`
	Next    []string          `json:"next,omitempty"`
	Labels  map[string]string `json:"labels,omitempty"`
	Bytes   int64             `json:"bytes"` // stored values and results, of all namespaces

	// Change is higher the later the thread changed, compared with that of other threads. It means nothing else.
	Change int64 `json:"change"`
}

// ThreadQuery selects threads.
type ThreadQuery struct {
	Limit  int               // at most so many; 0: all
	Labels map[string]string // only threads that have all of these

	// Before is the Change of the last thread of the page before; 0 begins with the first. A thread that changes between
	// two pages moves to the front: it may be missing from the rest, but no thread is listed twice.
	Before int64
}

// ThreadLister is a [Saver] that knows its threads.
type ThreadLister interface {
	// Threads returns threads, the last changed one first.
	Threads(ctx context.Context, q ThreadQuery) ([]ThreadInfo, error)
}

// Freed is what removing checkpoints gave back.
type Freed struct {
	Checkpoints int
	Bytes       int64 // stored values and results; a file shrinks by about as much
}

// Pruner is a [Saver] that can remove checkpoints. Both methods refuse with [*BusyError] while a live owner holds the
// thread, and return an error that is [ErrNotFound] for an unknown thread.
type Pruner interface {
	// Prune keeps the newest keep checkpoints of each namespace of the thread, at least one, removes the others and
	// whatever only they used, and gives the space back. A namespace of a task (see [NamespaceTasks]) that no checkpoint lists
	// any more goes altogether.
	Prune(ctx context.Context, thread string, keep int) (Freed, error)

	// DeleteThread removes the thread with everything it stored.
	DeleteThread(ctx context.Context, thread string) (Freed, error)
}

// Copier is a [Saver] that can copy threads.
type Copier interface {
	// CopyThread makes a thread named to of all that from stores: the checkpoints of every namespace with their IDs and times,
	// values, results, effects and labels, but not its lease. The two have nothing in common from then on: the copy goes on
	// where from is, and doesn't repeat effects that have happened.
	//
	// All is copied or nothing. It returns an error that is [ErrNotFound] when from is unknown, [ErrThreadExists] when
	// anything of to is stored, a [*BusyError] while a live owner holds either, and one that is [ErrDamaged] when from can't
	// be read in full.
	CopyThread(ctx context.Context, from, to string) error
}

// Historian is a [Saver] that reads the checkpoints of a thread together for much less than one by one.
type Historian interface {
	// History yields what [Saver.Load] returns of each checkpoint that [Saver.List] yields, in that order. Those that can't be
	// read come with a [*DamagedError] and nothing but their [Info], as far as it is known. What is yielded shares memory:
	// nothing of it may be changed. Parts of a value that several checkpoints have in common are the same slices.
	History(ctx context.Context, q Query) iter.Seq2[*Saved, error]
}

// EffectKey names a durable effect.
type EffectKey struct {
	Thread    string
	Namespace string
	Task      string
	Key       string // chosen by the node
}

// Effect is what is known of a durable effect.
type Effect struct {
	EffectKey
	Seq     int64 // of the checkpoint whose task began it
	Started time.Time
	Done    bool   // a result is stored
	Result  []byte // JSON
}

// EffectLog is a [Saver] that records effects.
type EffectLog interface {
	// BeginEffect stores the intent e and returns (e, true) when there is no record of its key yet. Otherwise it changes
	// nothing and returns the record and false. The intent is durable when it returns.
	BeginEffect(ctx context.Context, lease string, e Effect) (Effect, bool, error)

	// FinishEffect stores the result of an effect that was begun. The result is durable when it returns.
	FinishEffect(ctx context.Context, lease string, key EffectKey, result []byte) error

	// AbandonEffect removes an intent whose effect is known not to have happened.
	AbandonEffect(ctx context.Context, lease string, key EffectKey) error
}

// Lease is the right to write to a thread.
type Lease struct {
	Thread   string
	Token    string // unique to one acquisition
	Owner    string // for people
	Process  Process
	Acquired time.Time
	Expires  time.Time
}

// InForce reports whether l still keeps others out at the time now.
func (l Lease) InForce(now time.Time) bool {
	return l.Token != "" && now.Before(l.Expires) && !l.Process.Gone()
}

// Busy returns the error for those l keeps out.
func (l Lease) Busy() *BusyError {
	return &BusyError{Thread: l.Thread, Owner: l.Owner, Since: l.Acquired}
}

// Leaser is a [Saver] that grants each thread to one owner at a time.
type Leaser interface {
	// Acquire grants l.Thread to l.Token. It returns a [*BusyError] while another lease is in force: one that hasn't
	// expired at l.Acquired and whose process, if it ran on this host, is still there.
	Acquire(ctx context.Context, l Lease) error

	// Renew moves the end of a lease. It returns an error that is [ErrLeaseLost] when the lease isn't the thread's.
	Renew(ctx context.Context, thread, token string, expires time.Time) error

	// Release ends a lease. Releasing one that is gone is fine.
	Release(ctx context.Context, thread, token string) error
}
