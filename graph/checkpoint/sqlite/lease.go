package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/llama-agent/llama-agent/graph/checkpoint"
)

// lease returns the lease of a thread, or the zero Lease.
func (t *txn) lease(ctx context.Context, thread string) (checkpoint.Lease, error) {
	l := checkpoint.Lease{Thread: thread}
	var acquired, expires int64
	err := t.row(ctx, "lease", thread).Scan(&l.Token, &l.Owner, &l.Process.Host, &l.Process.PID, &l.Process.Start, &acquired, &expires)
	if errors.Is(err, sql.ErrNoRows) {
		return checkpoint.Lease{}, nil
	}
	l.Acquired, l.Expires = fromMicros(acquired), fromMicros(expires)
	return l, err
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
		_, err = t.exec(ctx, "put_lease", l.Thread, l.Token, l.Owner, l.Process.Host, l.Process.PID, l.Process.Start,
			micros(l.Acquired), micros(l.Expires))
		return err
	})
}

// Renew implements [checkpoint.Leaser].
func (s *Saver) Renew(ctx context.Context, thread, token string, expires time.Time) error {
	return s.tx(ctx, "renewing the lease of a thread in", func(t *txn) error {
		res, err := t.exec(ctx, "renew_lease", thread, token, micros(expires))
		if err != nil {
			return err
		}
		n, err := res.RowsAffected()
		if err == nil && n == 0 {
			err = fmt.Errorf("renewing the lease of thread %q: %w", thread, checkpoint.ErrLeaseLost)
		}
		return err
	})
}

// Release implements [checkpoint.Leaser].
func (s *Saver) Release(ctx context.Context, thread, token string) error {
	return s.tx(ctx, "releasing the lease of a thread in", func(t *txn) error {
		_, err := t.exec(ctx, "drop_lease", thread, token)
		return err
	})
}
