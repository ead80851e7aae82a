package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

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
	limit := q.Limit
	if limit <= 0 {
		limit = -1
	}
	now := s.clock()
	var infos []checkpoint.ThreadInfo
	err := s.read(ctx, "listing the threads of", func(t *txn) error {
		return t.each(ctx, func(rows *sql.Rows) error {
			var info checkpoint.ThreadInfo
			var l checkpoint.Lease
			var created, updated, expires int64
			var next, labels string
			err := rows.Scan(&info.ID, &created, &updated, &info.Steps, &info.Status, &next, &labels, &info.Bytes,
				&l.Token, &l.Process.Host, &l.Process.PID, &l.Process.Start, &expires)
			if err != nil {
				return err
			}
			info.Created, info.Updated, l.Expires = fromMicros(created), fromMicros(updated), fromMicros(expires)
			if err := errors.Join(json.Unmarshal([]byte(next), &info.Next), json.Unmarshal([]byte(labels), &info.Labels)); err != nil {
				return fmt.Errorf("reading thread %q: %w", info.ID, err)
			}
			if l.InForce(now) {
				info.Status = checkpoint.StatusRunning
			}
			infos = append(infos, info)
			return nil
		}, "threads", string(labels), limit)
	})
	return infos, err
}

// Prune implements [checkpoint.Pruner].
func (s *Saver) Prune(ctx context.Context, thread string, keep int) (freed checkpoint.Freed, err error) {
	err = s.tx(ctx, "pruning", func(t *txn) error {
		key, err := t.freeThread(ctx, thread)
		if err != nil {
			return err
		}
		var before, after int64
		if err := t.row(ctx, "thread_bytes", key).Scan(&before); err != nil {
			return err
		}
		spaces, err := t.namespaces(ctx, key)
		if err != nil {
			return err
		}
		for namespace := range spaces {
			n, err := t.pruneNamespace(ctx, thread, key, namespace, max(keep, 1))
			if err != nil {
				return err
			}
			freed.Checkpoints += n
		}
		if _, err := t.exec(ctx, "prune_blobs", key); err != nil {
			return err
		}
		err = t.row(ctx, "count_bytes", key).Scan(&after)
		freed.Bytes = before - after
		return err
	})
	if err != nil {
		return checkpoint.Freed{}, err
	}
	return freed, s.db.Shrink(ctx)
}

// freeThread returns the key of a thread that nobody owns.
func (t *txn) freeThread(ctx context.Context, thread string) (int64, error) {
	l, err := t.lease(ctx, thread)
	if err != nil {
		return 0, err
	}
	if l.InForce(t.s.clock()) {
		return 0, l.Busy()
	}
	return t.threadKey(ctx, thread)
}

// namespaces returns the number of checkpoints of each namespace.
func (t *txn) namespaces(ctx context.Context, thread int64) (map[string]int, error) {
	spaces := map[string]int{}
	err := t.each(ctx, func(rows *sql.Rows) error {
		var name string
		var n int
		if err := rows.Scan(&name, &n); err != nil {
			return err
		}
		spaces[name] = n
		return nil
	}, "namespaces", thread)
	return spaces, err
}

func (t *txn) pruneNamespace(ctx context.Context, id string, thread int64, namespace string, keep int) (removed int, err error) {
	var oldest int64
	err = t.row(ctx, "oldest_kept", thread, namespace, keep-1).Scan(&oldest)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	} else if err != nil {
		return 0, err
	}
	res, err := t.exec(ctx, "prune_checkpoints", thread, namespace, oldest)
	if err != nil {
		return 0, err
	}
	n, err := res.RowsAffected()
	if err != nil {
		return 0, err
	}
	if _, err := t.exec(ctx, "prune_results", thread, namespace, oldest); err != nil {
		return 0, err
	}
	if _, err := t.exec(ctx, "prune_effects", id, namespace, oldest); err != nil {
		return 0, err
	}
	_, err = t.exec(ctx, "prune_values", thread, namespace)
	return int(n), err
}

// DeleteThread implements [checkpoint.Pruner].
func (s *Saver) DeleteThread(ctx context.Context, thread string) (freed checkpoint.Freed, err error) {
	err = s.tx(ctx, "deleting a thread of", func(t *txn) error {
		key, err := t.freeThread(ctx, thread)
		if err != nil {
			return err
		}
		if err := t.row(ctx, "thread_bytes", key).Scan(&freed.Bytes); err != nil {
			return err
		}
		spaces, err := t.namespaces(ctx, key)
		if err != nil {
			return err
		}
		for _, n := range spaces {
			freed.Checkpoints += n
		}
		if _, err := t.exec(ctx, "drop_thread", key); err != nil {
			return err
		}
		for _, query := range []string{"drop_effects", "drop_leases"} {
			if _, err := t.exec(ctx, query, thread); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return checkpoint.Freed{}, err
	}
	return freed, s.db.Shrink(ctx)
}
