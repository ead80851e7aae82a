package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/llama-agent/llama-agent/graph/checkpoint"
	"github.com/llama-agent/llama-agent/internal/sqlitedb"
)

// boundaryRow is a row of boundaries. Its bytes are valid until the next row is read, when it is one of several.
type boundaryRow struct {
	key, root  int64
	id, record []byte
}

type scanner interface{ Scan(dest ...any) error }

func (r *boundaryRow) scan(row scanner) error { return row.Scan(&r.key, &r.root, &r.id, &r.record) }

// scanRaw is scan without a copy.
func (r *boundaryRow) scanRaw(row scanner) error {
	return row.Scan(&r.key, &r.root, (*sql.RawBytes)(&r.id), (*sql.RawBytes)(&r.record))
}

func (r *boundaryRow) seq() int64 { return seqOf(r.key) }

// open checks the row and returns its record.
func (r *boundaryRow) open(s *space) ([]byte, error) {
	return s.place().boundary(r.root, r.seq(), r.id).open(r.record)
}

// decode returns all of the row but its large values.
func (r *boundaryRow) decode(s *space) (*boundary, error) {
	b := &boundary{}
	b.Thread, b.Namespace, b.Seq, b.ID = s.thread, s.namespace, r.seq(), readID(r.id)
	record, err := r.open(s)
	if err != nil {
		return b, err
	}
	c := coder{buf: record, reading: true}
	c.boundary(b)
	return b, c.err
}

// decodeValues returns the values alone.
func (r *boundaryRow) decodeValues(s *space) (*boundary, error) {
	record, err := r.open(s)
	if err != nil {
		return nil, err
	}
	b := &boundary{}
	b.Seq = r.seq()
	c := coder{buf: record, reading: true}
	c.version()
	c.boundaryValues(b)
	return b, c.err
}

// Load implements [checkpoint.Saver].
func (s *Saver) Load(ctx context.Context, ref checkpoint.Ref) (saved *checkpoint.Saved, err error) {
	err = s.read(ctx, "loading a checkpoint from", func(t *txn) error {
		saved, err = t.load(ctx, ref)
		return err
	})
	if err != nil {
		return nil, err
	}
	return saved, nil
}

func (t *txn) load(ctx context.Context, ref checkpoint.Ref) (*checkpoint.Saved, error) {
	s, err := t.space(ctx, ref.Thread, ref.Namespace)
	if err != nil {
		return nil, err
	}
	if s == nil || s.damaged == nil && s.newest.seq == 0 {
		return nil, &checkpoint.NotFoundError{Thread: ref.Thread, Checkpoint: ref.ID}
	}
	var row boundaryRow
	if ref.ID != "" {
		err = t.find(ctx, s, ref.ID, &row)
	} else if s.damaged != nil {
		return nil, t.damagedSpace(ctx, s)
	} else if err = row.scan(t.Row(ctx, "boundary", s.at(s.newest.seq))); errors.Is(err, sql.ErrNoRows) {
		return nil, t.damaged(ctx, s, s.newest.seq, s.newest.id, errors.New("its row is missing"))
	}
	if err != nil {
		return nil, err
	}
	saved, err := t.assemble(ctx, s, &row)
	if err == nil || ctx.Err() != nil {
		return saved, err
	}
	if !isDamage(err) {
		return nil, err
	}
	return nil, t.damaged(ctx, s, row.seq(), readID(row.id), err)
}

// isDamage tells what is wrong with stored data from what is wrong with reading it now.
func isDamage(err error) bool {
	kind, isDB := sqlitedb.Kind(err)
	return !isDB || errors.Is(kind, sqlitedb.ErrCorrupt)
}

// find returns the row of a checkpoint by its ID.
func (t *txn) find(ctx context.Context, s *space, id string, row *boundaryRow) error {
	if s.damaged != nil {
		return t.findDamaged(ctx, s, id, row)
	}
	err := row.scan(t.Row(ctx, "boundary_by_id", s.root, storedID(id)))
	if err == nil && row.key>>32 == s.key {
		return nil
	}
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	// Damage may have changed the ID: then one row at least doesn't fit its checksum.
	err = t.eachBoundary(ctx, s, maxSeq, func(r *boundaryRow) error {
		if _, err := r.open(s); err != nil {
			return fmt.Errorf("nothing has this ID, but checkpoint %q of the thread: %w", readID(r.id), err)
		}
		return nil
	})
	if err != nil {
		return t.damaged(ctx, s, maxSeq, id, err)
	}
	return &checkpoint.NotFoundError{Thread: s.thread, Checkpoint: id}
}

// findDamaged is find in a space whose row can't be read: only its key is used.
func (t *txn) findDamaged(ctx context.Context, s *space, id string, row *boundaryRow) error {
	want := storedID(id)
	err := t.eachBoundary(ctx, s, maxSeq, func(r *boundaryRow) error {
		if bytes.Equal(r.id, want) {
			*row = boundaryRow{r.key, r.root, want, bytes.Clone(r.record)}
			return errFound
		}
		return nil
	})
	switch {
	case errors.Is(err, errFound):
		return nil
	case err != nil:
		return err
	}
	return t.damaged(ctx, s, maxSeq, id, s.damaged)
}

var errFound = errors.New("found")

// eachBoundary calls fn for every row of s up to seq, from the last to the first. The row is valid during the call.
func (t *txn) eachBoundary(ctx context.Context, s *space, seq int64, fn func(*boundaryRow) error) error {
	var row boundaryRow
	return t.Each(ctx, func(rows *sql.Rows) error {
		if err := row.scanRaw(rows); err != nil {
			return err
		}
		return fn(&row)
	}, "boundaries_down", s.at(0), s.at(seq))
}

// last returns the last row of s that has a checkpoint.
func (t *txn) last(ctx context.Context, s *space) (row boundaryRow, err error) {
	return row, row.scan(t.Row(ctx, "page", s.at(0), s.at(maxSeq), 1))
}

// damaged returns the error for a checkpoint that can't be read, with the newest before it that can.
func (t *txn) damaged(ctx context.Context, s *space, seq int64, id string, cause error) error {
	good, err := t.lastGood(ctx, s, seq)
	return &checkpoint.DamagedError{Thread: s.thread, Checkpoint: id, LastGood: good, Err: errors.Join(cause, err)}
}

// damagedSpace is damaged for a space whose own row can't be read, though all its checkpoints may.
func (t *txn) damagedSpace(ctx context.Context, s *space) error {
	id := s.newest.id // as far as it can be read
	row, err := t.last(ctx, s)
	switch {
	case err == nil:
		id = readID(row.id)
	case !errors.Is(err, sql.ErrNoRows):
		return err
	}
	return t.damaged(ctx, s, maxSeq, id, s.damaged)
}

// lastGood returns the ID of the newest checkpoint before seq that can be read.
func (t *txn) lastGood(ctx context.Context, s *space, seq int64) (string, error) {
	for {
		var row boundaryRow
		err := row.scan(t.Row(ctx, "page", s.at(0), s.at(seq)-1, 1))
		if errors.Is(err, sql.ErrNoRows) {
			return "", nil
		} else if err != nil {
			return "", err
		}
		if _, err := t.assemble(ctx, s, &row); err == nil {
			return readID(row.id), nil
		} else if ctx.Err() != nil {
			return "", ctx.Err()
		}
		seq = row.seq()
	}
}

// assemble reads what belongs to a checkpoint's row.
func (t *txn) assemble(ctx context.Context, s *space, row *boundaryRow) (*checkpoint.Saved, error) {
	b, err := row.decode(s)
	if err != nil {
		return nil, err
	}
	var later *boundary
	if b.Seq != s.newest.seq {
		if later, err = t.after(ctx, s, b.Seq); err != nil {
			return nil, err
		}
	}
	return t.complete(ctx, s, b, later, nil)
}

// complete reads what belongs to a checkpoint but isn't in its row. later is the row after it, if there is one; known is as
// for values.
func (t *txn) complete(ctx context.Context, s *space, b, later *boundary, known map[valueAt]*part) (*checkpoint.Saved, error) {
	err := t.fetch(ctx, s.root, b.large)
	if err != nil {
		return nil, err
	}
	saved := &checkpoint.Saved{Checkpoint: b.Checkpoint, LastSeq: s.newest.seq}
	if saved.Values, err = t.values(ctx, s, b, known); err != nil {
		return nil, err
	}
	if saved.Results, err = t.results(ctx, s, b.Seq, later); err != nil {
		return nil, err
	}
	if saved.ShapeText, err = t.shapeText(ctx, b.Shape); err != nil {
		return nil, err
	}
	if s.damaged != nil {
		last, err := t.last(ctx, s)
		if err != nil {
			return nil, err
		}
		saved.LastSeq = last.seq()
	}
	return saved, nil
}

// shapeText returns the text of a shape. It is for messages only: a lost or damaged one is empty.
func (t *txn) shapeText(ctx context.Context, id string) (text string, err error) {
	if text, ok := t.s.shape(id); ok {
		return text, nil
	}
	var sum int64
	err = t.Row(ctx, "shape", id).Scan(&text, &sum)
	if errors.Is(err, sql.ErrNoRows) || err == nil && sum != shapeSum(id, text) {
		return "", nil
	} else if err == nil {
		t.s.addShape(id, text)
	}
	return text, err
}

// results returns what is known of the tasks of the checkpoint seq: what was stored beside it, and with the boundary after it.
func (t *txn) results(ctx context.Context, s *space, seq int64, later *boundary) ([]checkpoint.Result, error) {
	if seq == s.newest.seq && s.newest.pending == 0 && s.damaged == nil {
		return nil, nil
	}
	var results []checkpoint.Result
	var large []largeData
	var pending int64
	err := t.Each(ctx, func(rows *sql.Rows) error {
		var task string
		var record []byte
		if err := rows.Scan(&task, &record); err != nil {
			return err
		}
		pending += pendingSum(record)
		r, l, err := decodeResult(s, seq, task, record)
		if err != nil {
			return fmt.Errorf("the result of task %q: %w", task, err)
		}
		results, large = append(results, r), append(large, l...)
		return nil
	}, "results", s.key, seq)
	if err != nil {
		return nil, err
	}
	if seq == s.newest.seq && s.damaged == nil && pending != s.newest.pending {
		return nil, errors.New("the result of one of its tasks is missing")
	}
	if later != nil && later.ParentSeq == seq {
		for _, r := range later.results {
			results = slices.DeleteFunc(results, func(old checkpoint.Result) bool { return old.Task == r.Task })
		}
		results, large = append(results, later.results...), append(large, later.largeResults...)
	}
	return results, t.fetch(ctx, s.root, large)
}

// after returns the row after the checkpoint seq, which holds results of its tasks. When that is lost they are too: then the
// tasks run again, as they do whenever a thread is continued from a checkpoint that isn't its newest.
func (t *txn) after(ctx context.Context, s *space, seq int64) (*boundary, error) {
	var row boundaryRow
	err := row.scan(t.Row(ctx, "boundary", s.at(seq+1)))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil //nolint:nilnil // no row is an answer
	} else if err != nil {
		return nil, err
	}
	b, err := row.decode(s)
	if err != nil {
		return nil, nil //nolint:nilerr,nilnil // what is damaged is that boundary, not this one
	}
	return b, nil
}

func decodeResult(s *space, seq int64, task string, sealed []byte) (r checkpoint.Result, large []largeData, err error) {
	record, err := s.place().result(seq, task).open(sealed)
	if err != nil {
		return r, nil, err
	}
	c := coder{buf: record, reading: true}
	c.version()
	c.result(&r)
	if c.err == nil && r.Task != task {
		c.fail()
	}
	return r, c.large, c.err
}
