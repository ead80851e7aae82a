package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/llama-agent/llama-agent/graph/checkpoint"
)

// CopyThread implements [checkpoint.Copier]. It reads and writes every row of the thread, about 20 µs each.
func (s *Saver) CopyThread(ctx context.Context, from, to string) error {
	return s.tx(ctx, "copying a thread of", func(t *txn) error {
		if err := t.copyThread(ctx, from, to); err != nil {
			return fmt.Errorf("copying thread %q to %q: %w", from, to, err)
		}
		return nil
	})
}

func (t *txn) copyThread(ctx context.Context, from, to string) error {
	root, err := t.freeThread(ctx, from)
	if err != nil {
		return err
	}
	target, err := t.thread(ctx, to)
	if err != nil {
		return err
	}
	if err := t.vacant(ctx, target.root); err != nil {
		return err
	}
	spaces, err := t.spacesOf(ctx, root)
	if err != nil {
		return err
	}
	target.touch()
	var rootKey int64
	for _, s := range spaces {
		if s.damaged != nil {
			return t.damagedSpace(ctx, s)
		}
		c := *s
		c.thread, c.root, c.changed, c.stored = to, rootKey, target.root.changed, false
		if err := t.prepare(ctx, &c); err != nil {
			return err
		}
		rootKey = c.root
		if err := t.copySpace(ctx, s, &c); err != nil {
			return err
		}
	}
	if _, err := t.Do(ctx, "copy_blobs", root.key, rootKey); err != nil {
		return err
	}
	return t.copyEffects(ctx, from, to)
}

// vacant returns an error unless nothing of the thread is stored.
func (t *txn) vacant(ctx context.Context, root *space) error {
	l, err := t.lease(ctx, root.thread)
	if err != nil {
		return err
	}
	if l.InForce(t.s.clock()) {
		return l.Busy()
	}
	var effects int // of a run that ended before its first checkpoint
	if err := t.Row(ctx, "count_effects", root.thread).Scan(&effects); err != nil {
		return err
	}
	if root.stored || effects > 0 {
		return fmt.Errorf("thread %q: %w", root.thread, checkpoint.ErrThreadExists)
	}
	return nil
}

// copySpace copies the rows of s to the space c, which isn't stored yet.
func (t *txn) copySpace(ctx context.Context, s, c *space) error {
	if err := t.copyResults(ctx, s, c); err != nil {
		return err
	}
	if err := t.putSpace(ctx, c, true); err != nil {
		return err
	}
	const chunk = 256
	for from, n := s.at(0), chunk; n == chunk; {
		var rows []boundaryRow
		err := t.Each(ctx, func(r *sql.Rows) error {
			var row boundaryRow
			err := row.scan(r)
			rows = append(rows, row)
			return err
		}, "chunk", from, s.at(maxSeq), chunk)
		if err != nil {
			return err
		}
		for _, row := range rows {
			record, err := row.open(s)
			if err != nil {
				return t.damaged(ctx, s, row.seq(), readID(row.id), err)
			}
			sealed := c.place().boundary(c.root, row.seq(), row.id).seal(record)
			if _, err := t.Do(ctx, "add_boundary", c.at(row.seq()), c.root, row.id, sealed); err != nil {
				return err
			}
			from = row.key + 1
		}
		n = len(rows)
	}
	return nil
}

func (t *txn) copyResults(ctx context.Context, s, c *space) error {
	type resultRow struct {
		seq    int64
		task   string
		record []byte
	}
	var rows []resultRow
	err := t.Each(ctx, func(r *sql.Rows) error {
		var row resultRow
		err := r.Scan(&row.seq, &row.task, &row.record)
		rows = append(rows, row)
		return err
	}, "results_of", s.key)
	if err != nil {
		return err
	}
	c.newest.pending = 0
	for _, r := range rows {
		record, err := s.place().result(r.seq, r.task).open(r.record)
		if err != nil {
			return fmt.Errorf("the result of task %q: %w: %w", r.task, checkpoint.ErrDamaged, err)
		}
		sealed := c.place().result(r.seq, r.task).seal(record)
		if r.seq == c.newest.seq {
			c.newest.pending += pendingSum(sealed)
		}
		if _, err := t.Do(ctx, "put_result", c.key, r.seq, r.task, sealed); err != nil {
			return err
		}
	}
	return nil
}

func (t *txn) copyEffects(ctx context.Context, from, to string) error {
	var effects []checkpoint.Effect
	err := t.Each(ctx, func(rows *sql.Rows) error {
		r, err := scanEffect(rows)
		if err == nil && r.err != nil {
			err = damagedEffect(r.effect.EffectKey, r.err)
		}
		effects = append(effects, r.effect)
		return err
	}, "effects_of", from)
	if err != nil {
		return err
	}
	for _, e := range effects {
		e.Thread = to
		if err := t.putEffect(ctx, e); err != nil {
			return err
		}
	}
	return nil
}
