package lifecycle

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"
)

// byRef returns the record of a reference that one of the owners has.
func (t *txn) byRef(ctx context.Context, owners []string, ref string) (row, error) {
	list, err := jsonList(owners)
	if err != nil {
		return row{}, err
	}
	// What is no reference is looked up too, so that it takes as long as one that nobody has.
	id, _ := parseID(ref)
	r, err := t.scan(t.Row(ctx, "by_ref", list, id))
	if errors.Is(err, sql.ErrNoRows) {
		return row{}, &UnknownError{Ref: clipped(ref)}
	}
	return r, err
}

// Get returns a record of one of the owners, whole. A reference that none of them has is an [*UnknownError], also when others have
// it; a record that was changed in the file is a [*DamagedError].
func (s *Store) Get(ctx context.Context, owners []string, ref string) (Record, error) {
	if err := checkReaders(owners); err != nil {
		return Record{}, fmt.Errorf("looking for a record: %w", err)
	}
	var r row
	err := s.view(ctx, "looking for a record in", func(t *txn) (err error) {
		if r, err = t.byRef(ctx, owners, ref); err != nil {
			return err
		}
		return t.load(ctx, &r)
	})
	if err != nil {
		return Record{}, err
	}
	return r.Record, nil
}

// ListOptions narrow [Store.List].
type ListOptions struct {
	Kinds    []Kind // none: all
	Limit    int    // records; 0: all
	Newest   bool   // with a limit: the last ones instead of the first
	WithText bool   // fill in Text and Data
}

// List returns the records of an owner by their order, those of the same order as they were put.
func (s *Store) List(ctx context.Context, owner string, opts ListOptions) ([]Record, error) {
	if err := checkReaders([]string{owner}); err != nil {
		return nil, fmt.Errorf("listing records: %w", err)
	}
	kinds, err := kindList(opts.Kinds)
	if err != nil {
		return nil, fmt.Errorf("listing records: %w", err)
	}
	query, limit := "oldest", opts.Limit
	if opts.Newest {
		query = "newest"
	}
	if limit <= 0 {
		limit = -1
	}
	var list []row
	err = s.view(ctx, "listing records of", func(t *txn) error {
		err := t.Each(ctx, func(rows *sql.Rows) error {
			r, err := t.scan(rows)
			list = append(list, r)
			return err
		}, query, owner, kinds, limit)
		for i := range list {
			if err != nil || !opts.WithText {
				break
			}
			err = t.load(ctx, &list[i])
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	records := make([]Record, len(list))
	for i, r := range list {
		records[i] = r.Record
	}
	if opts.Newest {
		slices.Reverse(records)
	}
	return records, nil
}

// kindList encodes kinds for a query; none are all.
func kindList(kinds []Kind) (string, error) {
	for _, k := range kinds {
		if !k.known() {
			return "", invalid("kind", "is %q, which is none", string(k))
		}
	}
	if len(kinds) == 0 {
		kinds = Kinds()
	}
	return jsonList(kinds)
}

// OwnerUsage is what an owner has.
type OwnerUsage struct {
	Owner    string    `json:"owner"`   // empty: everybody
	Records  int       `json:"records"` // with memories
	Memories int       `json:"memories"`
	Bytes    int64     `json:"bytes"`   // of texts and data, before they are compressed
	Updated  time.Time `json:"updated"` // when the last record was put
}

// Owners returns everybody who has records, the last active first.
func (s *Store) Owners(ctx context.Context) ([]OwnerUsage, error) {
	var list []OwnerUsage
	err := s.view(ctx, "listing the owners of", func(t *txn) error {
		return t.Each(ctx, func(rows *sql.Rows) error {
			var o OwnerUsage
			var updated int64
			err := rows.Scan(&o.Owner, &o.Records, &o.Memories, &o.Bytes, &updated)
			o.Updated = time.UnixMicro(updated).UTC()
			list = append(list, o)
			return err
		}, "owners")
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}
