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
		for saved, err := range s.list(ctx, q, false) {
			if !yield(saved.Info, err) {
				return
			}
		}
	}
}

// History implements [checkpoint.Historian]. Like List it works in pages; between two it keeps the values that older checkpoints
// share with those it yielded.
func (s *Saver) History(ctx context.Context, q checkpoint.Query) iter.Seq2[*checkpoint.Saved, error] {
	return s.list(ctx, q, true)
}

// list yields checkpoints, in full or only their Info.
func (s *Saver) list(ctx context.Context, q checkpoint.Query, full bool) iter.Seq2[*checkpoint.Saved, error] {
	return func(yield func(*checkpoint.Saved, error) bool) {
		l := lister{q: q, before: maxSeq + 1, left: q.Limit, parents: map[int64]string{}, full: full, known: map[valueAt]*part{}}
		if l.left <= 0 {
			l.left = math.MaxInt
		}
		for l.left > 0 && !l.end {
			if err := s.read(ctx, "listing checkpoints of", func(t *txn) error { return l.page(ctx, t) }); err != nil {
				yield(&checkpoint.Saved{}, err)
				return
			}
			for _, r := range l.listed {
				if !yield(r.saved, r.err) {
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

	full  bool
	last  *boundary // the last row, when it could be read
	known map[valueAt]*part
}

type listed struct {
	saved *checkpoint.Saved
	row   *boundary // that saved is still to be completed from
	err   error
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
	err = t.Each(ctx, func(rows *sql.Rows) error {
		if err := row.scan(rows); err != nil {
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
		if err := l.complete(ctx, t, s, &l.listed[i]); err != nil {
			return err
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
	if err == nil && b.ParentSeq > 0 {
		l.parents[b.ParentSeq] = b.Parent
	}
	l.listed = append(l.listed, listed{&checkpoint.Saved{Checkpoint: checkpoint.Checkpoint{Info: b.Info}}, b, err})
}

// complete reads what belongs to a listed checkpoint but isn't in its row.
func (l *lister) complete(ctx context.Context, t *txn, s *space, r *listed) (err error) {
	if l.full && r.err == nil {
		var saved *checkpoint.Saved
		saved, r.err = t.complete(ctx, s, r.row, l.last, l.known)
		l.last = r.row
		for _, v := range r.row.values { // older checkpoints can't refer to them
			delete(l.known, valueAt{v.Channel, r.row.Seq})
		}
		if r.err == nil {
			r.saved = saved
			return nil
		}
		if !isDamage(r.err) || ctx.Err() != nil {
			return r.err
		}
	} else if r.err != nil {
		l.last = nil
	}
	if r.err != nil {
		r.err = t.damaged(ctx, s, r.saved.Seq, r.saved.ID, r.err)
	}
	return nil
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
	saved := &checkpoint.Saved{}
	saved.Thread, saved.Namespace, saved.ID, saved.Seq = s.thread, s.namespace, id, newest
	l.listed = append(l.listed, listed{saved, nil, errors.New("its row is missing")})
	return true
}
