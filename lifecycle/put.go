package lifecycle

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
)

// Put stores a record and returns it as it is stored. Ref and Bytes of r don't matter; Created is the time of the clock where it is
// zero, and Name is made one line.
//
// One record is stored for each owner, kind and key. When it has the same name, text and data already, it is returned as it is, with
// the summary, importance, order and time of the first Put, so that a task that is run again continues with the same bytes. When it
// has others, the new record takes its place under a new reference, and the old reference is unknown from then on.
//
// Memories are stored with [Store.Remember]. What cannot be stored is an [*InvalidError].
func (s *Store) Put(ctx context.Context, r Record) (Record, error) {
	r, err := r.prepared(s.clock())
	if err != nil {
		return Record{}, fmt.Errorf("storing a record: %w", err)
	}
	p, err := newIncoming(r, r.Created)
	if err != nil {
		return Record{}, fmt.Errorf("storing a record: %w", err)
	}
	stored, whole, err := s.holds(ctx, p)
	if err != nil || whole {
		return stored.Record, err
	}
	err = s.tx(ctx, "storing a record in", func(t *txn) (err error) {
		stored, err = t.put(ctx, p)
		return err
	})
	if err != nil {
		return Record{}, err
	}
	stored.Text, stored.Data = p.Text, slices.Clone(p.Data)
	return stored.Record, nil
}

// holds returns the stored record of the owner, kind and key of p, and whether it has the content of p and is whole.
func (s *Store) holds(ctx context.Context, p *incoming) (stored row, whole bool, err error) {
	err = s.view(ctx, "looking for a record in", func(t *txn) error {
		r, err := t.scan(t.Row(ctx, "by_key", p.Owner, string(p.Kind), p.Key))
		if err != nil || !p.same(r) {
			return err
		}
		err = t.load(ctx, &r)
		stored, whole = r, err == nil
		return err
	})
	if errors.Is(err, sql.ErrNoRows) || errors.Is(err, ErrDamaged) {
		return row{}, false, nil // is written anew
	}
	return stored, whole, err
}

// RemoveRecord removes a record of an owner; of a memory also the values it had before. A reference that the owner does not have is
// an [*UnknownError].
func (s *Store) RemoveRecord(ctx context.Context, owner, ref string) error {
	if err := checkReaders([]string{owner}); err != nil {
		return fmt.Errorf("removing a record: %w", err)
	}
	return s.tx(ctx, "removing a record from", func(t *txn) error {
		r, err := t.byRef(ctx, []string{owner}, ref)
		if err != nil && !errors.Is(err, ErrDamaged) {
			return err
		}
		var kind, key string
		if err := t.Row(ctx, "link_of", owner, r.id).Scan(&kind, &key); err != nil {
			return err
		}
		return t.unlink(ctx, owner, Kind(kind), key)
	})
}

// unlink removes what an owner has under a kind and key.
func (t *txn) unlink(ctx context.Context, owner string, kind Kind, key string) error {
	if kind == KindMemory {
		if _, err := t.change(ctx, "forget_past", owner, key); err != nil {
			return err
		}
	}
	_, err := t.change(ctx, "unlink", owner, string(kind), key)
	return err
}

// vacuumPages is how many pages Remove gives back to the file system at once. A page takes about 10 µs; more are used again.
const vacuumPages = 1 << 14

// Remove removes all records and memories of an owner, and returns how many there were. What other owners have as a copy stays
// theirs. The file gives the space back.
func (s *Store) Remove(ctx context.Context, owner string) (int, error) {
	if err := checkOwner(owner); err != nil {
		return 0, fmt.Errorf("removing records: %w", err)
	}
	var n int
	err := s.tx(ctx, "removing records from", func(t *txn) (err error) {
		if n, err = t.change(ctx, "unlink_owner", owner); err != nil {
			return err
		}
		past, err := t.change(ctx, "forget_owner", owner)
		if err != nil || n+past == 0 {
			return err
		}
		return s.db.Vacuum(ctx, t.Tx.Tx, vacuumPages)
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// Copy gives an owner the records and memories of another, for a copy of a conversation or thread: its references stay valid. It
// returns how many; what the new owner has under the same kind and key stays, and is not counted.
func (s *Store) Copy(ctx context.Context, from, to string) (int, error) {
	if err := errors.Join(checkOwner(from), checkOwner(to)); err != nil {
		return 0, fmt.Errorf("copying records: %w", err)
	}
	var n int
	err := s.tx(ctx, "copying records in", func(t *txn) (err error) {
		if _, err = t.change(ctx, "copy_past", from, to); err != nil {
			return err
		}
		n, err = t.change(ctx, "copy_owner", from, to)
		return err
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}
