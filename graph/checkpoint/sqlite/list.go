package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"iter"
	"math"

	"github.com/llama-agent/llama-agent/graph/checkpoint"
)

// List implements [checkpoint.Saver]. It holds no lock and no connection while the caller handles a page.
func (s *Saver) List(ctx context.Context, q checkpoint.Query) iter.Seq2[checkpoint.Info, error] {
	return func(yield func(checkpoint.Info, error) bool) {
		l := lister{q: q, before: maxSeq + 1, left: q.Limit, parents: map[int64]string{}}
		if l.left <= 0 {
			l.left = math.MaxInt
		}
		for l.left > 0 && !l.end {
			if err := s.read(ctx, "listing checkpoints of", func(t *txn) error { return l.page(ctx, t) }); err != nil {
				yield(checkpoint.Info{}, err)
				return
			}
			for _, r := range l.listed {
				if !yield(r.info, r.err) {
					return
				}
			}
		}
	}
}

// lister is the progress of a list.
type lister struct {
	q       checkpoint.Query
	before  int64            // seq of the last row, or above all
	left    int              // at most so many more
	parents map[int64]string // checkpoints that must come: the IDs of parents by seq
	listed  []listed         // the page
	end     bool
}

type listed struct {
	info checkpoint.Info
	err  error
}

func (l *lister) page(ctx context.Context, t *txn) error {
	const size = 100
	l.listed = l.listed[:0]
	s, err := t.space(ctx, l.q.Thread, l.q.Namespace)
	if err != nil || s == nil {
		l.end = true
		return err
	}
	if l.before > maxSeq && s.damaged == nil && s.newest.seq > 0 {
		l.parents[s.newest.seq] = s.newest.id
	}
	n := 0
	var row boundaryRow
	err = t.each(ctx, func(rows *sql.Rows) error {
		if err := row.scanRaw(rows); err != nil {
			return err
		}
		n++
		l.add(s, &row)
		return nil
	}, "page", s.at(0), s.at(l.before)-1, min(size, l.left))
	if err != nil {
		return err
	}
	if s.damaged != nil && n == 0 && l.before > maxSeq {
		return t.damagedSpace(ctx, s)
	}
	l.left -= n
	l.end = n < size
	for i := range l.listed {
		if damaged := (*checkpoint.DamagedError)(nil); errors.As(l.listed[i].err, &damaged) {
			if damaged.LastGood, err = t.lastGood(ctx, s, l.listed[i].info.Seq); err != nil {
				return err
			}
		}
	}
	return nil
}

// add lists a row, after what must come before it and didn't. Whatever was pruned is older than all that is left.
func (l *lister) add(s *space, row *boundaryRow) {
	b, err := row.decode(s)
	for l.lacks(s, b.Seq) {
	}
	l.before = b.Seq
	delete(l.parents, b.Seq)
	if err != nil {
		err = &checkpoint.DamagedError{Thread: s.thread, Checkpoint: b.ID, Err: err}
	} else if b.ParentSeq > 0 {
		l.parents[b.ParentSeq] = b.Parent
	}
	l.listed = append(l.listed, listed{b.Info, err})
}

// lacks lists the newest checkpoint above seq that must be there and isn't, as damaged.
func (l *lister) lacks(s *space, seq int64) bool {
	newest := seq
	for parent := range l.parents {
		newest = max(newest, parent)
	}
	if newest == seq {
		return false
	}
	id := l.parents[newest]
	delete(l.parents, newest)
	info := checkpoint.Info{Thread: s.thread, Namespace: s.namespace, ID: id, Seq: newest}
	l.listed = append(l.listed, listed{info, &checkpoint.DamagedError{Thread: s.thread, Checkpoint: id, Err: errors.New("its row is missing")}})
	return true
}
