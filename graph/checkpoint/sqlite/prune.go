package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/llama-agent/llama-agent/graph/checkpoint"
)

// Prune implements [checkpoint.Pruner].
func (s *Saver) Prune(ctx context.Context, thread string, keep int) (freed checkpoint.Freed, err error) {
	err = s.tx(ctx, "pruning", func(t *txn) error {
		freed, err = t.prune(ctx, thread, max(keep, 1))
		return err
	})
	if err != nil {
		return checkpoint.Freed{}, err
	}
	return freed, s.db.Shrink(ctx)
}

func (t *txn) prune(ctx context.Context, thread string, keep int) (freed checkpoint.Freed, err error) {
	root, err := t.freeThread(ctx, thread)
	if err != nil {
		return freed, err
	}
	if root.damaged != nil {
		return freed, t.damagedSpace(ctx, root)
	}
	spaces, err := t.spacesOf(ctx, root)
	if err != nil {
		return freed, err
	}
	slices.SortStableFunc(spaces, func(a, b *space) int { return len(a.namespace) - len(b.namespace) })
	used, listed := map[[hashSize]byte]bool{}, map[string]bool{}
	for _, s := range spaces {
		var n int
		if slices.ContainsFunc(checkpoint.NamespaceTasks(s.namespace), func(task string) bool { return !listed[task] }) {
			n, err = t.dropSpace(ctx, s)
		} else {
			n, err = t.pruneSpace(ctx, s, keep, used, listed)
		}
		if err != nil {
			return freed, err
		}
		freed.Checkpoints += n
	}
	if err := t.pruneBlobs(ctx, root, used); err != nil {
		return freed, err
	}
	before := root.bytes
	if root.bytes, err = t.bytesOf(ctx, root); err != nil {
		return freed, err
	}
	freed.Bytes = before - root.bytes
	return freed, t.putSpace(ctx, root, false)
}

// pruneSpace removes all but the newest checkpoints of a namespace, and of the removed ones the values that no other needs.
// It adds the blobs that are still needed to used, and the tasks that are to listed.
func (t *txn) pruneSpace(ctx context.Context, s *space, keep int, used map[[hashSize]byte]bool, listed map[string]bool) (removed int, err error) {
	oldest, err := t.oldestKept(ctx, s, keep)
	if err != nil {
		return 0, err
	}
	if _, err := t.Do(ctx, "drop_results", s.key, oldest); err != nil {
		return 0, err
	}
	if _, err := t.Do(ctx, "prune_effects", s.thread, s.namespace, oldest); err != nil {
		return 0, err
	}
	if err := t.blobsOfResults(ctx, s, used); err != nil {
		return 0, err
	}
	p := pruning{s: s, oldest: oldest, needed: map[int64][]string{}, used: used, listed: listed}
	err = t.eachBoundary(ctx, s, maxSeq, p.row)
	if bad := (*rowError)(nil); errors.As(err, &bad) {
		return 0, t.damaged(ctx, s, bad.seq, bad.id, bad.err)
	} else if err != nil {
		return 0, err
	}
	for _, key := range p.drop {
		if _, err := t.Do(ctx, "drop_boundary", key); err != nil {
			return 0, err
		}
	}
	for _, r := range p.rewrite {
		if err := t.rewrite(ctx, s, r); err != nil {
			return 0, err
		}
	}
	return p.removed, nil
}

// oldestKept returns the seq of the oldest checkpoint that is kept, 0 when all are.
func (t *txn) oldestKept(ctx context.Context, s *space, keep int) (int64, error) {
	var key int64
	err := t.Row(ctx, "oldest_kept", s.at(0), s.at(maxSeq), keep-1).Scan(&key)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return seqOf(key), err
}

func (t *txn) blobsOfResults(ctx context.Context, s *space, used map[[hashSize]byte]bool) error {
	return t.Each(ctx, func(rows *sql.Rows) error {
		var seq int64
		var task string
		var record []byte
		if err := rows.Scan(&seq, &task, &record); err != nil {
			return err
		}
		_, large, err := decodeResult(s, seq, task, record)
		if err != nil {
			return fmt.Errorf("reading the result of task %q in thread %q: %w: %w", task, s.thread, checkpoint.ErrDamaged, err)
		}
		use(used, large)
		return nil
	}, "results_of", s.key)
}

func use(used map[[hashSize]byte]bool, large []largeData) {
	for _, l := range large {
		used[l.hash] = true
	}
}

// pruning decides what becomes of each row of a space, given from the newest to the oldest.
type pruning struct {
	s       *space
	oldest  int64              // seq of the oldest checkpoint that is kept
	needed  map[int64][]string // channels whose value in the row seq is needed by a newer one
	used    map[[hashSize]byte]bool
	listed  map[string]bool // IDs of the tasks of checkpoints that are kept
	removed int
	drop    []int64 // keys
	rewrite []rewriting
}

// rewriting is a row that is kept with less in it.
type rewriting struct {
	*boundary
	large  []largeData // that it keeps
	values []string    // the channels whose values it keeps
}

// rowError says which row can't be read.
type rowError struct {
	seq int64
	id  string
	err error
}

func (e *rowError) Error() string { return e.err.Error() }

func (p *pruning) row(row *boundaryRow) error {
	// What is rewritten is needed after the next row was read.
	row = &boundaryRow{key: row.key, root: row.root, id: slices.Clone(row.id), record: slices.Clone(row.record)}
	b, err := row.decode(p.s)
	if err != nil {
		return &rowError{b.Seq, b.ID, err}
	}
	if b.Seq < p.oldest {
		p.old(b)
		return nil
	}
	for channel, seq := range b.Channels {
		p.need(seq, channel)
	}
	for _, task := range b.Tasks {
		p.listed[task.ID] = true
	}
	p.needBefore(b, channelsOf(b))
	use(p.used, b.large)
	if b.Seq == p.oldest && len(b.results) > 0 { // they are of a checkpoint that goes
		b.results = nil
		p.rewrite = append(p.rewrite, rewriting{b, b.large, channelsOf(b)})
		return nil
	}
	use(p.used, b.largeResults)
	return nil
}

// old keeps of a row only the values that are needed.
func (p *pruning) old(b *boundary) {
	needed := p.needed[b.Seq]
	if b.ID != "" {
		p.removed++
	}
	if len(needed) == 0 {
		p.drop = append(p.drop, p.s.at(b.Seq))
		return
	}
	p.needBefore(b, needed)
	r := rewriting{boundary: &boundary{values: b.values}, values: needed}
	r.Seq = b.Seq
	for i := range b.values {
		if l, ok := largeOf(b.large, &b.values[i].Data); ok && slices.Contains(needed, b.values[i].Channel) {
			r.large = append(r.large, l)
		}
	}
	use(p.used, r.large)
	p.rewrite = append(p.rewrite, r)
}

// need records that the value of a channel in the row seq is needed.
func (p *pruning) need(seq int64, channel string) {
	if !slices.Contains(p.needed[seq], channel) {
		p.needed[seq] = append(p.needed[seq], channel)
	}
}

// needBefore records what the values of channels in b continue.
func (p *pruning) needBefore(b *boundary, channels []string) {
	for _, v := range b.values {
		if v.Delta && v.Prev > 0 && slices.Contains(channels, v.Channel) {
			p.need(v.Prev, v.Channel)
		}
	}
}

func channelsOf(b *boundary) (names []string) {
	for _, v := range b.values {
		names = append(names, v.Channel)
	}
	return names
}

func (t *txn) rewrite(ctx context.Context, s *space, r rewriting) error {
	if err := t.fetch(ctx, s.root, r.large); err != nil {
		return fmt.Errorf("pruning thread %q: %w: %w", s.thread, checkpoint.ErrDamaged, err)
	}
	b := *r.boundary
	b.values = slices.DeleteFunc(slices.Clone(b.values), func(v checkpoint.Value) bool { return !slices.Contains(r.values, v.Channel) })
	c := coder{}
	c.boundary(&b)
	id := storedID(b.ID)
	_, err := t.Do(ctx, "set_boundary", s.at(b.Seq), id, s.place().boundary(s.root, b.Seq, id).seal(c.buf))
	return err
}

// pruneBlobs removes the blobs of a thread that aren't used.
func (t *txn) pruneBlobs(ctx context.Context, root *space, used map[[hashSize]byte]bool) error {
	var drop []int64
	err := t.Each(ctx, func(rows *sql.Rows) error {
		var key int64
		var hash []byte
		if err := rows.Scan(&key, &hash); err != nil {
			return err
		}
		if len(hash) != hashSize || !used[[hashSize]byte(hash)] {
			drop = append(drop, key)
		}
		return nil
	}, "blobs_of", root.key)
	if err != nil {
		return err
	}
	for _, key := range drop {
		if _, err := t.Do(ctx, "drop_blob", key); err != nil {
			return err
		}
	}
	return nil
}
