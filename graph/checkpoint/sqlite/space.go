package sqlite

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/llama-agent/llama-agent/graph/checkpoint"
)

// space is a row of spaces: a namespace of a thread. The root namespace's stands for the thread.
type space struct {
	key, root         int64
	thread, namespace string
	changed           int64  // of the root: higher than that of every thread changed before
	labels            string // of the root: a JSON object
	spaceRecord

	stored  bool
	damaged error // why nothing of it can be trusted
	rowKey  int64 // the key as stored, which damage may have changed
}

// spaceRecord is the column record of a space.
type spaceRecord struct {
	created time.Time // zero while the thread has no checkpoint
	updated time.Time
	step    int
	status  checkpoint.Status
	next    []string
	bytes   int64 // of the root: stored for the whole thread
	newest  newest
}

var statuses = []string{string(checkpoint.StatusDone), string(checkpoint.StatusPending), string(checkpoint.StatusFailed), string(checkpoint.StatusInterrupted)}

func (c *coder) space(s *spaceRecord) {
	c.version()
	c.time(&s.created)
	c.time(&s.updated)
	c.int(&s.step)
	c.word((*string)(&s.status), statuses)
	list(c, &s.next, c.name)
	c.int64(&s.bytes)
	c.int64(&s.newest.seq)
	c.id(&s.newest.id)
	c.int64(&s.newest.pending)
}

// The highest keys of spaces and seqs that the key of a boundary has room for.
const (
	maxSpace = 1<<31 - 1
	maxSeq   = 1<<32 - 1
)

// at returns the key of the boundary seq.
func (s *space) at(seq int64) int64 { return s.key<<32 + seq }

func seqOf(key int64) int64 { return key & maxSeq }

// place is that of everything in the space.
func (s *space) place() place { return place(0).text(s.thread).text(s.namespace) }

func (s *space) ownPlace() place {
	return s.place().number(s.key).number(s.root).number(s.changed).text(s.labels)
}

// scanSpace reads a row, and what follows it in the same query.
func scanSpace(row scanner, more ...any) (*space, error) {
	s := &space{stored: true}
	var sealed []byte
	err := row.Scan(append([]any{&s.key, &s.root, &s.thread, &s.namespace, &s.changed, &s.labels, &sealed}, more...)...)
	if err != nil {
		return nil, err
	}
	s.rowKey = s.key
	s.decode(sealed)
	return s, nil
}

// named says what a row was looked for by, which damage may have changed.
func (s *space) named(thread, namespace string) *space {
	if s != nil && s.damaged != nil {
		s.thread, s.namespace = thread, namespace
	}
	return s
}

// settle finds the key of a space whose row is damaged: the root space has it twice.
func (t *txn) settle(ctx context.Context, s *space) error {
	if s == nil || s.damaged == nil || s.namespace != "" {
		return nil
	}
	s.key &= maxSpace
	other := *s
	other.key = s.root & maxSpace
	_, err := t.last(ctx, s)
	if errors.Is(err, sql.ErrNoRows) {
		if _, err = t.last(ctx, &other); err == nil {
			s.key = other.key
		}
	}
	s.root = s.key
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
}

// decode fills s from its sealed record. Of a damaged one it keeps what messages say.
func (s *space) decode(sealed []byte) {
	record, err := s.ownPlace().open(sealed)
	if err != nil {
		record = sealed
	}
	c := coder{buf: record, reading: true}
	c.space(&s.spaceRecord)
	if err != nil || c.err != nil {
		s.damaged = fmt.Errorf("the entry of thread %q: %w", s.thread, errSum)
		s.newest = newest{id: s.newest.id}
	}
}

// owned is what a transaction that writes to a thread knows of it.
type owned struct {
	root       *space
	lease      string // token, or empty
	lastChange int64  // of any thread
}

// thread returns the root space of a thread; it isn't stored when the thread is new.
func (t *txn) thread(ctx context.Context, id string) (owned, error) {
	var o owned
	var last sql.NullInt64
	root, err := scanSpace(t.Row(ctx, "thread", id), &o.lease, &last)
	if err == nil {
		o.root, o.lastChange = root.named(id, ""), last.Int64
		return o, t.settle(ctx, root)
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return o, err
	}
	if o.root, err = t.lost(ctx, id, ""); err != nil {
		return o, err
	}
	if o.root == nil {
		o.root = &space{thread: id, labels: "{}"}
	}
	if o.lease, err = t.leaseToken(ctx, id); err != nil {
		return o, err
	}
	return o, t.Row(ctx, "last_change").Scan(&o.lastChange)
}

// space returns the row of a namespace, or nil when there is none.
func (t *txn) space(ctx context.Context, thread, namespace string) (*space, error) {
	s, err := scanSpace(t.Row(ctx, "space", thread, namespace))
	if errors.Is(err, sql.ErrNoRows) {
		return t.lost(ctx, thread, namespace)
	} else if err != nil {
		return nil, err
	}
	return s, t.settle(ctx, s.named(thread, namespace))
}

// lost looks for a row whose name was damaged.
func (t *txn) lost(ctx context.Context, thread, namespace string) (*space, error) {
	s, err := scanSpace(t.Row(ctx, "space_by_hash", spaceHash(thread, namespace)))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil //nolint:nilnil // no such space is an answer
	} else if err != nil {
		return nil, err
	}
	return s, t.settle(ctx, s.named(thread, namespace))
}

// known returns the root space of a thread that has checkpoints, or a NotFoundError.
func (t *txn) known(ctx context.Context, thread string) (*space, error) {
	s, err := t.space(ctx, thread, "")
	if err != nil {
		return nil, err
	}
	if s == nil {
		return nil, &checkpoint.NotFoundError{Thread: thread}
	}
	return s, nil
}

// spaceHash is 63 bits of the SHA-256 of a name: no two rows have the same.
func spaceHash(parts ...string) int64 {
	var buf []byte
	for _, p := range parts {
		buf = append(binary.AppendUvarint(buf, uint64(len(p))), p...)
	}
	sum := sha256.Sum256(buf)
	return int64(binary.BigEndian.Uint64(sum[:8]) >> 1) //nolint:gosec // 63 bits fit
}

// touch puts the thread first in the list.
func (o *owned) touch() (moved bool) {
	if o.root.stored && o.root.changed == o.lastChange {
		return false
	}
	o.lastChange++
	o.root.changed = o.lastChange
	return true
}

// putSpace stores a row; ordered says whether its place in the list or its labels changed.
func (t *txn) putSpace(ctx context.Context, s *space, ordered bool) error {
	c := coder{}
	c.space(&s.spaceRecord)
	record := s.ownPlace().seal(c.buf)
	var err error
	switch {
	case !s.stored:
		_, err = t.Do(ctx, "add_space", s.key, s.root, s.thread, s.namespace, spaceHash(s.thread, s.namespace), s.changed, s.labels, record)
	case s.damaged != nil:
		_, err = t.Do(ctx, "mend_space", s.rowKey, s.key, s.root, s.thread, s.namespace, spaceHash(s.thread, s.namespace), s.changed, s.labels, record)
	case ordered:
		_, err = t.Do(ctx, "set_space_order", s.key, record, s.changed, s.labels)
	default:
		_, err = t.Do(ctx, "set_space", s.key, record)
	}
	s.stored, s.damaged = true, nil
	return err
}

// prepare gives a new space its key, and one whose row is damaged what can be told from its boundaries.
func (t *txn) prepare(ctx context.Context, s *space) error {
	if !s.stored {
		if err := t.Row(ctx, "next_space").Scan(&s.key); err != nil {
			return err
		}
		if s.namespace == "" {
			s.root = s.key
		}
		return nil
	}
	if s.damaged == nil {
		return nil
	}
	s.spaceRecord = spaceRecord{created: s.created}
	if !json.Valid([]byte(s.labels)) {
		s.labels = "{}"
	}
	last, err := t.last(ctx, s)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	} else if err != nil {
		return err
	}
	s.newest.seq = last.seq()
	s.bytes, err = t.bytesOf(ctx, s)
	return err
}

// bytesOf returns the bytes that the thread of a root space stores.
func (t *txn) bytesOf(ctx context.Context, root *space) (bytes int64, err error) {
	err = t.Row(ctx, "bytes_of", root.thread, root.key).Scan(&bytes)
	return bytes, err
}

func (s *space) addLabels(labels map[string]string) error {
	if len(labels) == 0 {
		return nil
	}
	all := map[string]string{}
	if err := json.Unmarshal([]byte(s.labels), &all); err != nil {
		return fmt.Errorf("reading the labels of thread %q: %w", s.thread, err)
	}
	maps.Copy(all, labels)
	data, err := json.Marshal(all)
	s.labels = string(data)
	return err
}
