package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"

	"github.com/llama-agent/llama-agent/graph/checkpoint"
	"github.com/llama-agent/llama-agent/internal/sqlitedb"
)

// checkpointRow is a row of checkpoints but for its thread and namespace.
type checkpointRow struct {
	seq       int64
	id        string
	parentSeq int64
	step      int64
	source    string
	time      int64
	bytes     int64
	record    string
	payload   []byte
	sum       int64
}

func (r *checkpointRow) checksum(thread, namespace string) int64 {
	return sum(thread, namespace, r.seq, r.id, r.parentSeq, r.step, r.source, r.time, r.bytes, r.record, r.payload)
}

type scanner interface{ Scan(dest ...any) error }

func (r *checkpointRow) scan(row scanner) error {
	return row.Scan(&r.seq, &r.id, &r.parentSeq, &r.step, &r.source, &r.time, &r.bytes, &r.record, &r.payload, &r.sum)
}

// decode checks the row and returns its record.
func (r *checkpointRow) decode(thread, namespace string) (rec checkpointRecord, err error) {
	if r.sum != r.checksum(thread, namespace) {
		return rec, errSum
	}
	err = json.Unmarshal([]byte(r.record), &rec)
	return rec, err
}

func (r *checkpointRow) info(thread, namespace string, rec checkpointRecord) checkpoint.Info {
	return checkpoint.Info{
		Thread: thread, Namespace: namespace, ID: r.id, Parent: rec.Parent, Seq: r.seq, ParentSeq: r.parentSeq,
		Step: int(r.step), Source: checkpoint.Source(r.source), Nodes: rec.Nodes, Next: rec.Next,
		Time: fromMicros(r.time), Bytes: r.bytes,
	}
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
	thread, err := t.threadKey(ctx, ref.Thread)
	if err != nil {
		return nil, err
	}
	var row checkpointRow
	if ref.ID == "" {
		err = row.scan(t.row(ctx, "newest", thread, ref.Namespace))
	} else {
		err = row.scan(t.row(ctx, "by_id", thread, ref.Namespace, ref.ID))
	}
	if errors.Is(err, sql.ErrNoRows) {
		return nil, &checkpoint.NotFoundError{Thread: ref.Thread, Checkpoint: ref.ID}
	} else if err != nil {
		return nil, err
	}
	saved, err := t.assemble(ctx, thread, ref, &row)
	if err == nil || ctx.Err() != nil {
		return saved, err
	}
	if kind, isDB := sqlitedb.Kind(err); isDB && !errors.Is(kind, sqlitedb.ErrCorrupt) {
		return nil, err
	}
	good, searchErr := t.lastGood(ctx, thread, ref, row.seq)
	return nil, &checkpoint.DamagedError{Thread: ref.Thread, Checkpoint: row.id, LastGood: good, Err: errors.Join(err, searchErr)}
}

// lastGood returns the ID of the newest checkpoint before seq that can be read.
func (t *txn) lastGood(ctx context.Context, thread int64, ref checkpoint.Ref, seq int64) (string, error) {
	for {
		var row checkpointRow
		err := row.scan(t.row(ctx, "page", thread, ref.Namespace, seq, 1))
		if errors.Is(err, sql.ErrNoRows) {
			return "", nil
		} else if err != nil {
			return "", err
		}
		if _, err := t.assemble(ctx, thread, ref, &row); err == nil {
			return row.id, nil
		} else if ctx.Err() != nil {
			return "", ctx.Err()
		}
		seq = row.seq
	}
}

// assemble reads what belongs to a checkpoint's row.
func (t *txn) assemble(ctx context.Context, thread int64, ref checkpoint.Ref, row *checkpointRow) (*checkpoint.Saved, error) {
	rec, err := row.decode(ref.Thread, ref.Namespace)
	if err != nil {
		return nil, err
	}
	saved := &checkpoint.Saved{Checkpoint: checkpoint.Checkpoint{
		Info: row.info(ref.Thread, ref.Namespace, rec), Run: rec.Run, Shape: rec.Shape, Channels: rec.Channels, Joins: rec.Joins}}
	u := unpacker{tx: t, thread: thread, payload: row.payload}
	if saved.Tasks, err = u.tasks(ctx, rec.Tasks); err != nil {
		return nil, fmt.Errorf("the private inputs of its tasks: %w", err)
	}
	if saved.Waiting, err = u.tasks(ctx, rec.Waiting); err != nil {
		return nil, fmt.Errorf("its waiting tasks: %w", err)
	}
	if saved.Values, err = t.values(ctx, thread, ref, rec.Channels); err != nil {
		return nil, err
	}
	if saved.Results, err = t.results(ctx, thread, ref.Namespace, row.seq); err != nil {
		return nil, err
	}
	err = t.row(ctx, "shape", rec.Shape).Scan(&saved.ShapeText)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, err
	}
	return saved, t.row(ctx, "last_seq", thread, ref.Namespace).Scan(&saved.LastSeq)
}

// values reads the channels' values and checks that none of their parts is missing or damaged.
func (t *txn) values(ctx context.Context, thread int64, ref checkpoint.Ref, channels map[string]int64) (map[string][][]byte, error) {
	wanted, err := json.Marshal(channels)
	if err != nil {
		return nil, err
	}
	type part struct {
		channel   string
		seq       int64
		prev, ref sql.NullInt64
		data      []byte
		sum       int64
	}
	var parts []part
	err = t.each(ctx, func(rows *sql.Rows) error {
		var p part
		if err := rows.Scan(&p.channel, &p.seq, &p.prev, &p.data, &p.ref, &p.sum); err != nil {
			return err
		}
		parts = append(parts, p)
		return nil
	}, "values", thread, ref.Namespace, string(wanted))
	if err != nil {
		return nil, err
	}
	values := make(map[string][][]byte, len(channels))
	reached := make(map[string]int64, len(channels)) // seq of the last part
	for _, p := range parts {
		if p.sum != valueSum(ref.Thread, ref.Namespace, p.channel, p.seq, p.prev, p.data, p.ref) {
			return nil, fmt.Errorf("the value that step sequence %d wrote to channel %q: %w", p.seq, p.channel, errSum)
		}
		if before := reached[p.channel]; p.prev.Int64 != before {
			return nil, fmt.Errorf("part of the value of channel %q is missing", p.channel)
		}
		if p.ref.Valid {
			if p.data, err = t.blob(ctx, thread, p.ref.Int64); err != nil {
				return nil, fmt.Errorf("channel %q: %w", p.channel, err)
			}
		}
		values[p.channel] = append(values[p.channel], p.data)
		reached[p.channel] = p.seq
	}
	for name, seq := range channels {
		if reached[name] != seq {
			return nil, fmt.Errorf("the value of channel %q is missing", name)
		}
	}
	return values, nil
}

func (t *txn) results(ctx context.Context, thread int64, namespace string, seq int64) ([]checkpoint.Result, error) {
	type row struct {
		task, record string
		payload      []byte
		sum          int64
	}
	var stored []row
	err := t.each(ctx, func(rows *sql.Rows) error {
		var r row
		if err := rows.Scan(&r.task, &r.record, &r.payload, &r.sum); err != nil {
			return err
		}
		stored = append(stored, r)
		return nil
	}, "results", thread, namespace, seq)
	if err != nil {
		return nil, err
	}
	var results []checkpoint.Result
	for _, r := range stored {
		if r.sum != sum(namespace, seq, r.task, r.record, r.payload) {
			return nil, fmt.Errorf("the result of task %q: %w", r.task, errSum)
		}
		res, err := t.decodeResult(ctx, thread, r.task, r.record, r.payload)
		if err != nil {
			return nil, fmt.Errorf("the result of task %q: %w", r.task, err)
		}
		results = append(results, res)
	}
	return results, nil
}

func (t *txn) decodeResult(ctx context.Context, thread int64, task, record string, payload []byte) (res checkpoint.Result, err error) {
	var r resultRecord
	if err := json.Unmarshal([]byte(record), &r); err != nil {
		return res, err
	}
	res = checkpoint.Result{Task: task, Node: r.Node, Done: r.Done, Error: r.Error, Handled: r.Handled}
	u := unpacker{tx: t, thread: thread, payload: payload}
	if res.Writes, err = u.writes(ctx, r.Writes); err != nil {
		return res, err
	}
	for _, target := range r.Targets {
		private, err := u.writes(ctx, target.Private)
		if err != nil {
			return res, err
		}
		res.Targets = append(res.Targets, checkpoint.Target{Node: target.Node, Send: target.Send, Private: private})
	}
	questions, err := u.writes(ctx, r.Interrupts)
	if err != nil {
		return res, err
	}
	for _, q := range questions {
		res.Interrupts = append(res.Interrupts, checkpoint.Interrupt{ID: q.Channel, Value: q.Data})
	}
	answers, err := u.writes(ctx, r.Answers)
	if err != nil {
		return res, err
	}
	for _, a := range answers {
		res.Answers = append(res.Answers, a.Data)
	}
	res.Nested, err = u.nested(ctx, r.Nested)
	return res, err
}

// List implements [checkpoint.Saver]. It holds no lock and no connection while the caller handles a page.
func (s *Saver) List(ctx context.Context, q checkpoint.Query) iter.Seq2[checkpoint.Info, error] {
	const page = 100
	return func(yield func(checkpoint.Info, error) bool) {
		before, left := int64(math.MaxInt64), q.Limit
		if left <= 0 {
			left = math.MaxInt
		}
		for left > 0 {
			rows, err := s.page(ctx, q, before, min(page, left))
			if err != nil {
				yield(checkpoint.Info{}, err)
				return
			}
			for _, r := range rows {
				rec, err := r.decode(q.Thread, q.Namespace)
				if err != nil {
					err = &checkpoint.DamagedError{Thread: q.Thread, Checkpoint: r.id, Err: err}
				}
				if !yield(r.info(q.Thread, q.Namespace, rec), err) {
					return
				}
				before = r.seq
			}
			if len(rows) < page {
				return
			}
			left -= len(rows)
		}
	}
}

func (s *Saver) page(ctx context.Context, q checkpoint.Query, before int64, n int) (page []checkpointRow, err error) {
	err = s.read(ctx, "listing checkpoints of", func(t *txn) error {
		thread, err := t.threadKey(ctx, q.Thread)
		if errors.Is(err, checkpoint.ErrNotFound) {
			return nil
		} else if err != nil {
			return err
		}
		return t.each(ctx, func(rows *sql.Rows) error {
			var r checkpointRow
			if err := r.scan(rows); err != nil {
				return err
			}
			page = append(page, r)
			return nil
		}, "page", thread, q.Namespace, before, n)
	})
	return page, err
}
