package sqlite

import (
	"context"
	"database/sql"
	"strings"

	"github.com/llama-agent/llama-agent/graph/store"
)

// prepared is an operation with all that can be computed before the file is locked.
type prepared struct {
	store.Op
	tokens []string
}

// Write implements [store.Store].
func (s *Store) Write(ctx context.Context, ops ...store.Op) error {
	todo := make([]prepared, len(ops))
	for i, op := range ops {
		op, err := s.opts.Prepare(op)
		if err != nil {
			return err
		}
		todo[i].Op = op
		if op.Kind == store.OpPut {
			if todo[i].tokens, err = op.Tokens(); err != nil {
				return err
			}
		}
	}
	now := s.now()
	return s.tx(ctx, "writing items to", func(t *txn) error {
		for _, op := range todo {
			if err := t.apply(ctx, op, now); err != nil {
				return err
			}
		}
		_, err := t.Do(ctx, "sweep", now, store.SweptByWrite)
		return err
	})
}

func (t *txn) apply(ctx context.Context, op prepared, now int64) error {
	ns := encode(op.Namespace)
	switch op.Kind {
	case store.OpPut:
		return t.put(ctx, op, now)
	case store.OpDelete:
		_, err := t.Do(ctx, "delete", ns, op.Key)
		return err
	default:
		_, err := t.Do(ctx, "delete_all", ns, after(ns))
		return err
	}
}

func (t *txn) put(ctx context.Context, op prepared, now int64) error {
	var expires sql.NullInt64
	var sliding int64
	if op.Expiry.After > 0 {
		ttl := max(op.Expiry.After.Microseconds(), 1)
		expires = sql.NullInt64{Int64: now + ttl, Valid: true}
		if op.Expiry.Sliding {
			sliding = ttl
		}
	}
	var id int64
	err := t.Row(ctx, "put", encode(op.Namespace), op.Key, now, expires, sliding, string(op.Value)).Scan(&id)
	if err != nil {
		return err
	}
	if len(op.tokens) == 0 {
		_, err = t.Do(ctx, "drop_text", id)
		return err
	}
	_, err = t.Do(ctx, "put_text", id, scopes(op.Namespace), strings.Join(op.tokens, " "))
	return err
}

// sweepBatch is how many items are removed at a time, so that a large sweep doesn't keep other writers waiting.
const sweepBatch = 1000

// Sweep implements [store.Sweeper]. Other writers get their turn in between, so an error can come after a part is done.
func (s *Store) Sweep(ctx context.Context) (int, error) {
	now := s.now()
	for total := 0; ; {
		var n int64
		err := s.tx(ctx, "removing expired items from", func(t *txn) error {
			res, err := t.Do(ctx, "sweep", now, sweepBatch)
			if err != nil {
				return err
			}
			n, err = res.RowsAffected()
			return err
		})
		if total += int(n); err != nil || n < sweepBatch {
			return total, err
		}
	}
}
