package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"math"
	"time"

	"github.com/llama-agent/llama-agent/graph/checkpoint"
)

// Threads implements [checkpoint.ThreadLister].
func (s *Saver) Threads(ctx context.Context, q checkpoint.ThreadQuery) ([]checkpoint.ThreadInfo, error) {
	labels := []byte("{}")
	if len(q.Labels) > 0 {
		var err error
		if labels, err = json.Marshal(q.Labels); err != nil {
			return nil, err
		}
	}
	limit, before := q.Limit, q.Before
	if limit <= 0 {
		limit = -1
	}
	if before <= 0 {
		before = math.MaxInt64
	}
	now := s.clock()
	var infos []checkpoint.ThreadInfo
	err := s.read(ctx, "listing the threads of", func(t *txn) error {
		return t.Each(ctx, func(rows *sql.Rows) error {
			info, err := scanThread(rows, now)
			infos = append(infos, info)
			return err
		}, "threads", string(labels), before, limit)
	})
	if err != nil {
		return nil, err
	}
	return infos, nil
}

// scanThread reads a row of the query "threads".
func scanThread(rows *sql.Rows, now time.Time) (info checkpoint.ThreadInfo, err error) {
	var token string
	var lease []byte
	s, err := scanSpace(rows, &token, &lease)
	if err != nil {
		return info, err
	}
	info = checkpoint.ThreadInfo{ID: s.thread, Change: s.changed}
	if s.damaged == nil {
		info.Created, info.Updated, info.Steps, info.Status, info.Next, info.Bytes = s.created, s.updated, s.step, s.status, s.next, s.bytes
		s.damaged = json.Unmarshal([]byte(s.labels), &info.Labels)
	}
	if s.damaged != nil { // which is no reason not to list the others
		info.Status = checkpoint.StatusDamaged
		return info, nil //nolint:nilerr // the status says it
	}
	if l := decodeLease(s.thread, token, lease); l.InForce(now) {
		info.Status = checkpoint.StatusRunning
	}
	return info, nil
}

// DeleteThread implements [checkpoint.Pruner]. It takes time in proportion to what the thread stored, not to the file.
func (s *Saver) DeleteThread(ctx context.Context, thread string) (freed checkpoint.Freed, err error) {
	err = s.tx(ctx, "deleting a thread of", func(t *txn) error {
		freed, err = t.deleteThread(ctx, thread)
		if err != nil {
			return err
		}
		// Rows fill their pages to two thirds, and earlier deletions of small threads may have left pages behind.
		return s.db.Vacuum(ctx, t.Tx.Tx, 64+int(freed.Bytes*2/pageSize))
	})
	if err != nil {
		return checkpoint.Freed{}, err
	}
	if freed.Bytes > mergedAtOnce {
		err = s.db.MergeLog(ctx)
	}
	return freed, err
}

// mergedAtOnce is the bytes from which a deleted thread is worth merging the log, so that the file shrinks at once. Smaller
// ones wait until the log is merged anyway.
const mergedAtOnce = 1 << 20

func (t *txn) deleteThread(ctx context.Context, thread string) (freed checkpoint.Freed, err error) {
	root, err := t.freeThread(ctx, thread)
	if err != nil {
		return freed, err
	}
	freed.Bytes = root.bytes
	spaces, err := t.spacesOf(ctx, root)
	if err != nil {
		return freed, err
	}
	for _, s := range spaces {
		n, err := t.dropSpace(ctx, s)
		if err != nil {
			return freed, err
		}
		freed.Checkpoints += n
	}
	if _, err := t.Do(ctx, "drop_blobs", root.key); err != nil {
		return freed, err
	}
	for _, query := range []string{"drop_effects", "drop_leases"} {
		if _, err := t.Do(ctx, query, thread); err != nil {
			return freed, err
		}
	}
	return freed, nil
}

// dropSpace removes a namespace but for its blobs, and returns the number of its checkpoints.
func (t *txn) dropSpace(ctx context.Context, s *space) (checkpoints int, err error) {
	if err := t.Row(ctx, "count_boundaries", s.at(0), s.at(maxSeq)).Scan(&checkpoints); err != nil {
		return 0, err
	}
	if _, err := t.Do(ctx, "drop_boundaries", s.at(0), s.at(maxSeq)); err != nil {
		return 0, err
	}
	if _, err := t.Do(ctx, "drop_results", s.key, int64(math.MaxInt64)); err != nil {
		return 0, err
	}
	if _, err := t.Do(ctx, "prune_effects", s.thread, s.namespace, int64(math.MaxInt64)); err != nil {
		return 0, err
	}
	_, err = t.Do(ctx, "drop_space", s.rowKey)
	return checkpoints, err
}

// freeThread returns the root space of a thread that nobody owns.
func (t *txn) freeThread(ctx context.Context, thread string) (*space, error) {
	l, err := t.lease(ctx, thread)
	if err != nil {
		return nil, err
	}
	if l.InForce(t.s.clock()) {
		return nil, l.Busy()
	}
	return t.known(ctx, thread)
}

// spacesOf returns all spaces of a thread.
func (t *txn) spacesOf(ctx context.Context, root *space) (spaces []*space, err error) {
	err = t.Each(ctx, func(rows *sql.Rows) error {
		s, err := scanSpace(rows)
		spaces = append(spaces, s)
		return err
	}, "spaces_of", root.thread, root.rowKey)
	return spaces, err
}
