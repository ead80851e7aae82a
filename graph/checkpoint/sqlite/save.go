package sqlite

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/llama-agent/llama-agent/graph/checkpoint"
	"github.com/llama-agent/llama-agent/internal/sqlitedb"
)

// Save implements [checkpoint.Saver].
func (s *Saver) Save(ctx context.Context, boundaries ...checkpoint.Boundary) error {
	err := s.tx(ctx, "saving a checkpoint to", func(t *txn) error {
		for i := range boundaries {
			if err := t.save(ctx, &boundaries[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i := range boundaries {
		s.addShape(boundaries[i].Checkpoint.Shape, boundaries[i].ShapeText)
	}
	return nil
}

func (t *txn) save(ctx context.Context, b *checkpoint.Boundary) error {
	cp := &b.Checkpoint
	o, err := t.thread(ctx, cp.Thread)
	if err != nil {
		return err
	}
	if b.Lease != "" && b.Lease != o.lease {
		return fmt.Errorf("saving to thread %q: %w", cp.Thread, checkpoint.ErrLeaseLost)
	}
	if cp.Seq < 1 || cp.Seq > maxSeq {
		return fmt.Errorf("saving checkpoint %q of thread %q: its sequence number is %d; it must be 1 to %d", cp.ID, cp.Thread, cp.Seq, int64(maxSeq))
	}
	s, err := t.spaceToWrite(ctx, &o, cp.Namespace)
	if err != nil {
		return err
	}
	if cp.Seq <= s.newest.seq {
		return fmt.Errorf("saving checkpoint %q of thread %q: %w", cp.ID, cp.Thread, checkpoint.ErrExists)
	}
	if err := t.putShape(ctx, cp.Shape, b.ShapeText); err != nil {
		return err
	}
	grown, err := t.putBoundary(ctx, s, b)
	if sqlitedb.IsConstraint(err) {
		return fmt.Errorf("saving checkpoint %q of thread %q: %w", cp.ID, cp.Thread, checkpoint.ErrExists)
	} else if err != nil {
		return err
	}
	s.advance(cp)
	return t.putThread(ctx, &o, s, grown, b.Labels)
}

// spaceToWrite returns the row of a namespace of o's thread, ready to be changed, and makes o's ready too.
func (t *txn) spaceToWrite(ctx context.Context, o *owned, namespace string) (*space, error) {
	isNew := !o.root.stored
	if err := t.prepare(ctx, o.root); err != nil {
		return nil, err
	}
	if namespace == "" {
		return o.root, nil
	}
	if isNew { // so that the next space gets another key
		if err := t.putSpace(ctx, o.root, true); err != nil {
			return nil, err
		}
	}
	s, err := t.space(ctx, o.root.thread, namespace)
	if err != nil {
		return nil, err
	}
	if s == nil {
		s = &space{thread: o.root.thread, namespace: namespace, root: o.root.key, labels: "{}"}
	}
	return s, t.prepare(ctx, s)
}

// advance makes cp the newest checkpoint of its space.
func (s *space) advance(cp *checkpoint.Checkpoint) {
	s.newest = newest{seq: cp.Seq, id: cp.ID}
	s.updated, s.step, s.next, s.status = cp.Time, cp.Step, cp.Next, checkpoint.StatusPending
	if len(cp.Tasks) == 0 {
		s.status = checkpoint.StatusDone
	}
	if s.created.IsZero() {
		s.created = cp.Time
	}
}

// putThread stores a space that has changed, and what follows from that for its thread.
func (t *txn) putThread(ctx context.Context, o *owned, s *space, grown int64, labels map[string]string) error {
	root := o.root
	if s != root {
		if err := t.putSpace(ctx, s, false); err != nil {
			return err
		}
		if root.created.IsZero() {
			root.created = s.created
		}
	}
	root.bytes += grown
	if err := root.addLabels(labels); err != nil {
		return err
	}
	return t.putSpace(ctx, root, o.touch() || len(labels) > 0)
}

func (t *txn) putShape(ctx context.Context, id, text string) error {
	if _, stored := t.s.shape(id); stored {
		return nil
	}
	_, err := t.Do(ctx, "put_shape", id, text, shapeSum(id, text))
	return err
}

func shapeSum(id, text string) int64 { return int64(place(0).text(id).text(text)) }

func (t *txn) putBoundary(ctx context.Context, s *space, b *checkpoint.Boundary) (grown int64, err error) {
	cp := &b.Checkpoint
	row := boundary{Checkpoint: *cp, values: b.Values}
	if cp.ParentSeq == cp.Seq-1 {
		row.results = b.Results
	} else if grown, err = t.putResults(ctx, s, cp.ParentSeq, b.Results); err != nil {
		return 0, err
	}
	n, err := t.addBoundary(ctx, s, &row)
	return grown + n, err
}

// addBoundary stores a row and its large values.
func (t *txn) addBoundary(ctx context.Context, s *space, b *boundary) (grown int64, err error) {
	c := coder{buf: make([]byte, 0, 512)}
	c.boundary(b)
	grown, err = t.putBlobs(ctx, s.root, c.large)
	if err != nil {
		return 0, err
	}
	id := storedID(b.ID)
	record := s.place().boundary(s.root, b.Seq, id).seal(c.buf)
	_, err = t.Do(ctx, "add_boundary", s.at(b.Seq), s.root, id, record)
	return grown + int64(len(record)), err
}

// storedID returns the ID of a checkpoint as its column has it: how it is packed, and its packed bytes. Without an ID it is
// nil, for NULL.
func storedID(id string) []byte {
	if id == "" {
		return nil
	}
	packed, kind := packID(id)
	return append([]byte{byte(kind)}, packed...) //nolint:gosec // kind is 0 to 2
}

// readID is the inverse of storedID.
func readID(stored []byte) string {
	if len(stored) == 0 {
		return ""
	}
	return unpackID(stored[1:], int(stored[0]))
}

func (p place) boundary(root, seq int64, id []byte) place {
	return p.number(root).number(seq).bytes(id)
}

// SaveResults implements [checkpoint.Saver].
func (s *Saver) SaveResults(ctx context.Context, set checkpoint.ResultSet) error {
	return s.tx(ctx, "saving results to", func(t *txn) error { return t.saveResults(ctx, set) })
}

func (t *txn) saveResults(ctx context.Context, set checkpoint.ResultSet) error {
	o, err := t.thread(ctx, set.Thread)
	if err != nil {
		return err
	}
	if set.Lease != "" && set.Lease != o.lease {
		return fmt.Errorf("saving results to thread %q: %w", set.Thread, checkpoint.ErrLeaseLost)
	}
	if !o.root.stored {
		return &checkpoint.NotFoundError{Thread: set.Thread}
	}
	s := o.root
	if set.Namespace != "" {
		if s, err = t.space(ctx, set.Thread, set.Namespace); err != nil {
			return err
		}
	}
	if s == nil || s.newest.seq == 0 {
		return &checkpoint.NotFoundError{Thread: set.Thread}
	}
	for _, space := range []*space{o.root, s} {
		if space.damaged != nil {
			return t.damagedSpace(ctx, space)
		}
	}
	grown, err := t.putResults(ctx, s, set.Seq, set.Results)
	if err != nil {
		return err
	}
	for _, r := range set.Results {
		if status := checkpoint.ResultStatus(r); status != "" {
			s.status = status
		}
	}
	return t.putThread(ctx, &o, s, grown, nil)
}

// putResults stores results of tasks of the checkpoint seq beside it.
func (t *txn) putResults(ctx context.Context, s *space, seq int64, results []checkpoint.Result) (grown int64, err error) {
	for i := range results {
		n, err := t.putResult(ctx, s, seq, &results[i])
		if err != nil {
			return 0, err
		}
		grown += n
	}
	return grown, nil
}

func (t *txn) putResult(ctx context.Context, s *space, seq int64, r *checkpoint.Result) (grown int64, err error) {
	var old []byte
	err = t.Row(ctx, "result", s.key, seq, r.Task).Scan(&old)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, err
	}
	c := coder{}
	c.version()
	c.result(r)
	if grown, err = t.putBlobs(ctx, s.root, c.large); err != nil {
		return 0, err
	}
	record := s.place().result(seq, r.Task).seal(c.buf)
	if seq == s.newest.seq {
		s.newest.pending += pendingSum(record) - pendingSum(old)
	}
	_, err = t.Do(ctx, "put_result", s.key, seq, r.Task, record)
	return grown + int64(len(record)-len(old)), err
}

func (p place) result(seq int64, task string) place { return p.number(seq).text(task) }

// pendingSum is what a stored result adds to its space's sum over all results of the newest checkpoint: one, times 2^32, and
// its checksum. The sum tells when one is missing, so that no task that has finished runs again.
func pendingSum(sealed []byte) int64 {
	if len(sealed) < 4 {
		return 0
	}
	return 1<<32 + int64(binary.LittleEndian.Uint32(sealed[len(sealed)-4:]))
}
