package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/llama-agent/llama-agent/graph/store"
)

// row is an item as the file has it.
type row struct {
	store.Item
	sliding bool
}

// scan reads the columns namespace, key, created, updated, expires, sliding and value, after those in first.
func scan(from interface{ Scan(...any) error }, first ...any) (row, error) {
	var r row
	var ns, value []byte
	var created, updated, sliding int64
	var expires sql.NullInt64
	err := from.Scan(append(first, &ns, &r.Key, &created, &updated, &expires, &sliding, &value)...)
	if err != nil {
		return row{}, err
	}
	r.Value, r.sliding = value, sliding > 0
	r.Created, r.Updated = time.UnixMicro(created).UTC(), time.UnixMicro(updated).UTC()
	if expires.Valid {
		r.Expires = time.UnixMicro(expires.Int64).UTC()
	}
	r.Namespace, err = decode(ns)
	return r, err
}

// Get implements [store.Store].
func (s *Store) Get(ctx context.Context, ns store.Namespace, key string, opts ...store.ReadOption) (store.Item, error) {
	if err := errors.Join(ns.Validate(), store.ValidateKey(key)); err != nil {
		return store.Item{}, err
	}
	now := s.now()
	var r row
	err := s.db.One(ctx, "reading an item of", func(found *sql.Row) (err error) {
		r, err = scan(found)
		return err
	}, "get", encode(ns), key, now)
	if errors.Is(err, sql.ErrNoRows) {
		return store.Item{}, &store.NotFoundError{Namespace: slices.Clone(ns), Key: key}
	}
	if err != nil {
		return store.Item{}, err
	}
	if r.sliding && !slices.Contains(opts, store.Peek) {
		err = s.touch(ctx, now, []*store.Item{&r.Item})
	}
	return r.Item, err
}

// touch puts off the expiry of items that were read at now.
func (s *Store) touch(ctx context.Context, now int64, items []*store.Item) error {
	return s.tx(ctx, "putting off the expiry of items of", func(t *txn) error {
		for _, item := range items {
			var expires int64
			err := t.Row(ctx, "touch", encode(item.Namespace), item.Key, now).Scan(&expires)
			if errors.Is(err, sql.ErrNoRows) {
				continue // somebody removed or replaced it since it was read
			}
			if err != nil {
				return err
			}
			item.Expires = time.UnixMicro(expires).UTC()
		}
		return nil
	})
}

// Search implements [store.Store].
func (s *Store) Search(ctx context.Context, q store.Query) ([]store.Item, error) {
	if err := q.Validate(); err != nil {
		return nil, err
	}
	filter, err := store.NewFilter(q.Filter)
	if err != nil {
		return nil, err
	}
	now := s.now()
	p := page{filter: filter, skip: q.Offset, limit: q.Limit}
	if err := s.read(ctx, "searching", func(t *txn) error { return t.search(ctx, q, now, &p) }); err != nil {
		return nil, err
	}
	if !q.Peek && len(p.sliding) > 0 {
		touched := make([]*store.Item, len(p.sliding))
		for i, at := range p.sliding {
			touched[i] = &p.items[at]
		}
		if err := s.touch(ctx, now, touched); err != nil {
			return nil, err
		}
	}
	return p.items, nil
}

// page takes what a filter lets through and a page holds.
type page struct {
	filter      store.Filter
	skip, limit int

	items   []store.Item
	sliding []int // indexes of items whose expiry a read puts off
}

var errFull = errors.New("the page is full")

// add returns errFull after the last item.
func (p *page) add(r row) error {
	ok, err := p.filter.Holds(r.Value)
	if err != nil {
		return fmt.Errorf("reading item %q of %q: %w", r.Key, []string(r.Namespace), err)
	}
	if !ok {
		return nil
	}
	if p.skip > 0 {
		p.skip--
		return nil
	}
	if r.sliding {
		p.sliding = append(p.sliding, len(p.items))
	}
	if p.items = append(p.items, r.Item); len(p.items) == p.limit {
		return errFull
	}
	return nil
}

// batch is how many items are read at a time. Only what a page needs is read, but the ids of its items.
const batch = 256

type hit struct {
	id    int64
	score float64
}

func (t *txn) search(ctx context.Context, q store.Query, now int64, p *page) error {
	low, high := bounds(q.Namespace)
	limit, offset := -1, 0
	if len(q.Filter) == 0 { // then the database can count
		limit, offset, p.skip = max(q.Limit, 0), q.Offset, 0
		if limit == 0 {
			limit = -1
		}
	}
	query, args := "by_key", []any{low, high, now, limit, offset}
	switch {
	case q.Text != "":
		match, ok := expression(q)
		if !ok {
			return nil
		}
		query, args = "by_text", append(args, match)
	case q.Order == store.Newest:
		query = "newest"
	}
	var hits []hit
	err := t.Each(ctx, func(rows *sql.Rows) error {
		var h hit
		if err := rows.Scan(&h.id, &h.score); err != nil {
			return err
		}
		if hits = append(hits, h); len(hits) < batch {
			return nil
		}
		err := t.fetch(ctx, hits, p)
		hits = hits[:0]
		return err
	}, query, args...)
	if err == nil {
		err = t.fetch(ctx, hits, p)
	}
	if errors.Is(err, errFull) {
		err = nil
	}
	return err
}

// fetch reads items and adds them to a page in the order of hits.
func (t *txn) fetch(ctx context.Context, hits []hit, p *page) error {
	if len(hits) == 0 {
		return nil
	}
	ids := make([]int64, len(hits))
	for i, h := range hits {
		ids[i] = h.id
	}
	list, err := json.Marshal(ids)
	if err != nil {
		return err
	}
	found := make(map[int64]row, len(hits))
	err = t.Each(ctx, func(rows *sql.Rows) error {
		var id int64
		r, err := scan(rows, &id)
		found[id] = r
		return err
	}, "by_ids", string(list))
	if err != nil {
		return err
	}
	for _, h := range hits {
		r := found[h.id]
		r.Score = h.score
		if err := p.add(r); err != nil {
			return err
		}
	}
	return nil
}

// Namespaces implements [store.Store]. It takes a look at the file for each namespace, not for each item.
func (s *Store) Namespaces(ctx context.Context, q store.NamespaceQuery) ([]store.Namespace, error) {
	if err := q.Validate(); err != nil {
		return nil, err
	}
	fixed := q.Prefix
	if i := slices.Index(fixed, store.Any); i >= 0 {
		fixed = fixed[:i]
	}
	var found []store.Namespace
	err := s.read(ctx, "listing the namespaces of", func(t *txn) error {
		low, high := bounds(fixed)
		skip := q.Offset
		for now := s.now(); ; {
			var code []byte
			err := t.Row(ctx, "next_namespace", low, high, now).Scan(&code)
			if errors.Is(err, sql.ErrNoRows) {
				return nil
			}
			if err != nil {
				return err
			}
			ns, err := decode(code)
			if err != nil {
				return err
			}
			low = append(code, 0) // what follows: first those below it
			cut, ok := q.Select(ns)
			if !ok {
				continue
			}
			if q.MaxDepth > 0 && len(ns) >= q.MaxDepth {
				low = after(encode(cut)) // all below it are cut to the same
			}
			if skip > 0 {
				skip--
				continue
			}
			if found = append(found, cut); len(found) == q.Limit {
				return nil
			}
		}
	})
	return found, err
}
