package checkpoint

import (
	"errors"
	"fmt"
	"time"
)

// Sentinels for [errors.Is].
var (
	ErrNotFound     = errors.New("checkpoint: not found")
	ErrExists       = errors.New("checkpoint: sequence number or ID is taken")
	ErrThreadExists = errors.New("checkpoint: the thread exists")
	ErrLeaseLost    = errors.New("checkpoint: the lease of the thread was lost")
	ErrThreadBusy   = errors.New("checkpoint: the thread is in use")
	ErrDamaged      = errors.New("checkpoint: stored data is damaged")
	ErrClosed       = errors.New("checkpoint: the saver is closed")
)

// BusyError says who holds a thread. It is [ErrThreadBusy].
type BusyError struct {
	Thread string
	Owner  string
	Since  time.Time
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("thread %q is in use by %s since %s; wait for it to finish, or stop it",
		e.Thread, e.Owner, e.Since.Local().Format("2006-01-02 15:04:05"))
}

func (e *BusyError) Is(target error) bool { return target == ErrThreadBusy }

// NotFoundError names the checkpoint or thread that doesn't exist. It is [ErrNotFound].
type NotFoundError struct {
	Thread     string
	Checkpoint string // empty when the thread itself is unknown
}

func (e *NotFoundError) Error() string {
	if e.Checkpoint == "" {
		return fmt.Sprintf("thread %q doesn't exist", e.Thread)
	}
	return fmt.Sprintf("thread %q has no checkpoint %q", e.Thread, e.Checkpoint)
}

func (e *NotFoundError) Is(target error) bool { return target == ErrNotFound }

// DamagedError says that a stored checkpoint can't be read. It is [ErrDamaged].
type DamagedError struct {
	Thread     string
	Checkpoint string
	LastGood   string // ID of the newest earlier checkpoint that can be read, or empty
	Err        error
}

func (e *DamagedError) Error() string {
	fix := "no earlier checkpoint of the thread can be read"
	if e.LastGood != "" {
		fix = fmt.Sprintf("continue from checkpoint %q, the last good one", e.LastGood)
	}
	return fmt.Sprintf("checkpoint %q of thread %q is damaged: %v; %s", e.Checkpoint, e.Thread, e.Err, fix)
}

func (e *DamagedError) Unwrap() error        { return e.Err }
func (e *DamagedError) Is(target error) bool { return target == ErrDamaged }
