package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
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
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range boundaries {
		s.shapes[boundaries[i].Checkpoint.Shape] = true
	}
	return nil
}

func (t *txn) save(ctx context.Context, b *checkpoint.Boundary) error {
	cp := &b.Checkpoint
	if err := t.checkLease(ctx, cp.Thread, b.Lease); err != nil {
		return fmt.Errorf("saving to thread %q: %w", cp.Thread, err)
	}
	thread, err := t.putThread(ctx, b)
	if err != nil {
		return err
	}
	if err := t.putShape(ctx, cp.Shape, b.ShapeText); err != nil {
		return err
	}
	grown, err := t.putCheckpoint(ctx, thread, cp)
	if sqlitedb.IsConstraint(err) {
		return fmt.Errorf("saving checkpoint %q of thread %q: %w", cp.ID, cp.Thread, checkpoint.ErrExists)
	} else if err != nil {
		return err
	}
	for _, v := range b.Values {
		n, err := t.putValue(ctx, thread, cp, v)
		if err != nil {
			return err
		}
		grown += n
	}
	for _, r := range b.Results {
		n, err := t.putResult(ctx, thread, cp.Namespace, cp.ParentSeq, r)
		if err != nil {
			return err
		}
		grown += n
	}
	_, err = t.exec(ctx, "grow_thread", thread, grown)
	return err
}

func (t *txn) checkLease(ctx context.Context, thread, token string) error {
	if token == "" {
		return nil
	}
	var holder string
	err := t.row(ctx, "lease_token", thread).Scan(&holder)
	if errors.Is(err, sql.ErrNoRows) || err == nil && holder != token {
		return checkpoint.ErrLeaseLost
	}
	return err
}

func (t *txn) putThread(ctx context.Context, b *checkpoint.Boundary) (key int64, err error) {
	cp := &b.Checkpoint
	status := checkpoint.StatusPending
	if len(cp.Tasks) == 0 {
		status = checkpoint.StatusDone
	}
	next, err := json.Marshal(cp.Next)
	if err != nil {
		return 0, err
	}
	labels := []byte("{}")
	if len(b.Labels) > 0 {
		if labels, err = json.Marshal(b.Labels); err != nil {
			return 0, err
		}
	}
	err = t.row(ctx, "put_thread", cp.Thread, micros(cp.Time), cp.Step, string(status), string(next), string(labels), 0,
		cp.Namespace == "").Scan(&key)
	return key, err
}

func (t *txn) putShape(ctx context.Context, id, text string) error {
	t.s.mu.Lock()
	known := t.s.shapes[id]
	t.s.mu.Unlock()
	if known {
		return nil
	}
	_, err := t.exec(ctx, "put_shape", id, text)
	return err
}

func (t *txn) putCheckpoint(ctx context.Context, thread int64, cp *checkpoint.Checkpoint) (grown int64, err error) {
	p := packer{tx: t, thread: thread}
	r := checkpointRecord{Parent: cp.Parent, Run: cp.Run, Shape: cp.Shape, Nodes: cp.Nodes, Next: cp.Next, Channels: cp.Channels, Joins: cp.Joins}
	if r.Channels == nil {
		r.Channels = map[string]int64{}
	}
	if r.Tasks, err = p.tasks(ctx, cp.Tasks); err != nil {
		return 0, err
	}
	if r.Waiting, err = p.tasks(ctx, cp.Waiting); err != nil {
		return 0, err
	}
	r.Blobs = p.blobs
	record, err := json.Marshal(r)
	if err != nil {
		return 0, err
	}
	row := checkpointRow{seq: cp.Seq, id: cp.ID, parentSeq: cp.ParentSeq, step: int64(cp.Step), source: string(cp.Source),
		time: micros(cp.Time), bytes: cp.Bytes, record: string(record), payload: p.payload}
	_, err = t.exec(ctx, "put_checkpoint", thread, cp.Namespace, row.seq, row.id, row.parentSeq, row.step, row.source, row.time,
		row.bytes, row.record, row.payload, row.checksum(cp.Thread, cp.Namespace))
	return int64(len(record)+len(p.payload)) + p.stored, err
}

func (t *txn) putValue(ctx context.Context, thread int64, cp *checkpoint.Checkpoint, v checkpoint.Value) (grown int64, err error) {
	var prev sql.NullInt64
	if v.Delta {
		prev = sql.NullInt64{Int64: v.Prev, Valid: true}
	}
	data, blob := v.Data, sql.NullInt64{}
	if len(data) >= blobSize {
		blob.Valid, data = true, nil
		if blob.Int64, grown, err = t.putBlob(ctx, thread, v.Data); err != nil {
			return 0, err
		}
	} else if data == nil {
		data = []byte{}
	}
	_, err = t.exec(ctx, "put_value", thread, cp.Namespace, v.Channel, cp.Seq, prev, data, blob,
		valueSum(cp.Thread, cp.Namespace, v.Channel, cp.Seq, prev, data, blob))
	return grown + int64(len(data)), err
}

func valueSum(thread, namespace, channel string, seq int64, prev sql.NullInt64, data []byte, blob sql.NullInt64) int64 {
	p := int64(-1)
	if prev.Valid {
		p = prev.Int64
	}
	return sum(thread, namespace, channel, seq, p, data, blob.Int64)
}

// SaveResults implements [checkpoint.Saver].
func (s *Saver) SaveResults(ctx context.Context, set checkpoint.ResultSet) error {
	return s.tx(ctx, "saving results to", func(t *txn) error {
		if err := t.checkLease(ctx, set.Thread, set.Lease); err != nil {
			return fmt.Errorf("saving results to thread %q: %w", set.Thread, err)
		}
		thread, err := t.threadKey(ctx, set.Thread)
		if err != nil {
			return err
		}
		var grown int64
		var status checkpoint.Status
		for _, r := range set.Results {
			n, err := t.putResult(ctx, thread, set.Namespace, set.Seq, r)
			if err != nil {
				return err
			}
			grown += n
			if st := checkpoint.ResultStatus(r); st != "" && set.Namespace == "" {
				status = st
			}
		}
		_, err = t.exec(ctx, "touch_thread", thread, string(status), grown)
		return err
	})
}

func (t *txn) putResult(ctx context.Context, thread int64, namespace string, seq int64, res checkpoint.Result) (grown int64, err error) {
	p := packer{tx: t, thread: thread}
	r := resultRecord{Node: res.Node, Done: res.Done, Error: res.Error, Handled: res.Handled}
	if r.Writes, err = p.writes(ctx, res.Writes); err != nil {
		return 0, err
	}
	for _, target := range res.Targets {
		private, err := p.writes(ctx, target.Private)
		if err != nil {
			return 0, err
		}
		r.Targets = append(r.Targets, taskRecord{Node: target.Node, Send: target.Send, Private: private})
	}
	var questions, answers []checkpoint.Write
	for _, q := range res.Interrupts {
		questions = append(questions, checkpoint.Write{Channel: q.ID, Data: q.Value})
	}
	for _, a := range res.Answers {
		answers = append(answers, checkpoint.Write{Data: a})
	}
	if r.Interrupts, err = p.writes(ctx, questions); err != nil {
		return 0, err
	}
	if r.Answers, err = p.writes(ctx, answers); err != nil {
		return 0, err
	}
	if r.Nested, err = p.nested(ctx, res.Nested); err != nil {
		return 0, err
	}
	r.Blobs = p.blobs
	record, err := json.Marshal(r)
	if err != nil {
		return 0, fmt.Errorf("encoding the result of task %q: %w", res.Task, err)
	}
	_, err = t.exec(ctx, "put_result", thread, namespace, seq, res.Task, string(record), p.payload,
		sum(namespace, seq, res.Task, string(record), p.payload))
	return int64(len(record)+len(p.payload)) + p.stored, err
}
