package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/llama-agent/llama-agent/graph/checkpoint"
)

func (c *coder) lease(l *checkpoint.Lease) {
	c.version()
	c.string(&l.Owner)
	c.string(&l.Process.Host)
	c.int(&l.Process.PID)
	c.string(&l.Process.Start)
	c.time(&l.Acquired)
	c.time(&l.Expires)
}

func leasePlace(thread, token string) place { return place(0).text(thread).text(token) }

// decodeLease returns the lease of a row. A damaged one is nobody's: the thread is free, and who had it gets ErrLeaseLost
// from the next write, because its token isn't the thread's any more.
func decodeLease(thread, token string, sealed []byte) checkpoint.Lease {
	l := checkpoint.Lease{Thread: thread, Token: token}
	record, err := leasePlace(thread, token).open(sealed)
	c := coder{buf: record, reading: true}
	c.lease(&l)
	if err != nil || c.err != nil {
		return checkpoint.Lease{}
	}
	return l
}

// lease returns the lease of a thread, or the zero Lease.
func (t *txn) lease(ctx context.Context, thread string) (checkpoint.Lease, error) {
	var token string
	var sealed []byte
	err := t.Row(ctx, "lease", thread).Scan(&token, &sealed)
	if errors.Is(err, sql.ErrNoRows) {
		return checkpoint.Lease{}, nil
	}
	return decodeLease(thread, token, sealed), err
}

func (t *txn) putLease(ctx context.Context, l checkpoint.Lease) error {
	c := coder{}
	c.lease(&l)
	_, err := t.Do(ctx, "put_lease", l.Thread, l.Token, leasePlace(l.Thread, l.Token).seal(c.buf))
	return err
}

// leaseToken returns the token of a thread's lease, empty when there is none.
func (t *txn) leaseToken(ctx context.Context, thread string) (string, error) {
	l, err := t.lease(ctx, thread)
	return l.Token, err
}

// checkLease returns ErrLeaseLost unless token is empty or the thread's.
func (t *txn) checkLease(ctx context.Context, thread, token string) error {
	if token == "" {
		return nil
	}
	holder, err := t.leaseToken(ctx, thread)
	if err == nil && holder != token {
		return checkpoint.ErrLeaseLost
	}
	return err
}

// Acquire implements [checkpoint.Leaser].
func (s *Saver) Acquire(ctx context.Context, l checkpoint.Lease) error {
	return s.tx(ctx, "taking the lease of a thread in", func(t *txn) error {
		held, err := t.lease(ctx, l.Thread)
		if err != nil {
			return err
		}
		if held.InForce(l.Acquired) {
			return held.Busy()
		}
		return t.putLease(ctx, l)
	})
}

// Renew implements [checkpoint.Leaser].
func (s *Saver) Renew(ctx context.Context, thread, token string, expires time.Time) error {
	return s.tx(ctx, "renewing the lease of a thread in", func(t *txn) error {
		l, err := t.lease(ctx, thread)
		if err == nil && l.Token != token {
			err = checkpoint.ErrLeaseLost
		}
		if err != nil {
			return fmt.Errorf("renewing the lease of thread %q: %w", thread, err)
		}
		l.Expires = expires
		return t.putLease(ctx, l)
	})
}

// Release implements [checkpoint.Leaser].
func (s *Saver) Release(ctx context.Context, thread, token string) error {
	return s.tx(ctx, "releasing the lease of a thread in", func(t *txn) error {
		_, err := t.Do(ctx, "drop_lease", thread, token)
		return err
	})
}
