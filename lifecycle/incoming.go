package lifecycle

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/llama-agent/llama-agent/internal/reference"
)

// incoming is a record on its way into the store, with all that can be computed before the database is locked.
type incoming struct {
	row
	text, data content // data is empty when there is none
	digest     []byte  // what the reference is the beginning of
	tokens     int
	postings   string
}

func newIncoming(r Record, first time.Time) (*incoming, error) {
	p := &incoming{row: row{Record: r, first: first}}
	var err error
	if p.text, err = newContent([]byte(r.Text)); err != nil {
		return nil, err
	}
	p.row.text = p.text.sum[:]
	p.Bytes = p.text.bytes
	if len(r.Data) > 0 {
		if p.data, err = newContent(r.Data); err != nil {
			return nil, err
		}
		p.row.data = p.data.sum[:]
		p.Bytes += p.data.bytes
	}
	p.digest = sealed([]byte(r.Owner), []byte(r.Kind), []byte(r.Key), []byte(r.Name), p.row.text, p.row.data)
	p.tokens, p.postings, err = index(r.Name, r.Text)
	return p, err
}

// same reports whether a stored record has the content of p.
func (p *incoming) same(r row) bool {
	return r.Name == p.Name && bytes.Equal(r.text, p.row.text) && bytes.Equal(r.data, p.row.data)
}

// put makes p the record of its owner, kind and key, and returns what is stored then: one of the same content is left as it is.
// The contents of p are whole afterwards.
func (t *txn) put(ctx context.Context, p *incoming) (row, error) {
	for _, c := range []content{p.text, p.data} {
		if c.coding == "" {
			continue
		}
		if _, err := t.change(ctx, "put_content", c.sum[:], c.bytes, c.coding, c.body); err != nil {
			return row{}, err
		}
	}
	old, err := t.scan(t.Row(ctx, "by_key", p.Owner, string(p.Kind), p.Key))
	if err == nil && p.same(old) {
		return old, nil
	}
	if err != nil && !errors.Is(err, sql.ErrNoRows) && !errors.Is(err, ErrDamaged) {
		return row{}, err
	}
	// The new record comes first, so that contents it shares with the old one stay.
	id, err := t.record(ctx, p)
	if err != nil {
		return row{}, err
	}
	if _, err := t.change(ctx, "link", p.Owner, string(p.Kind), p.Key, id); err != nil {
		return row{}, err
	}
	return t.scan(t.Row(ctx, "by_id", p.Owner, id))
}

// record returns the id of the record of p, which others may have already.
func (t *txn) record(ctx context.Context, p *incoming) (int64, error) {
	fields := []any{
		string(p.Kind), p.Key, p.Name, []byte(p.Summary), p.Importance, p.first.UnixMicro(), p.Created.UnixMicro(), p.Order,
	}
	contents := []any{p.row.text, p.row.data, p.seal()}
	if p.row.data == nil {
		contents[1] = nil
	}
	var id int64
	err := t.Row(ctx, "by_digest", p.digest).Scan(&id)
	if err == nil {
		_, err := t.scan(t.Row(ctx, "by_id", p.Owner, id))
		if errors.Is(err, ErrDamaged) {
			_, err = t.change(ctx, "seal_record", append(append([]any{id}, fields...), contents...)...)
		}
		return id, err
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return 0, err
	}
	ref, err := t.freeRef(ctx, p.digest)
	if err != nil {
		return 0, err
	}
	args := append([]any{ref, p.digest}, fields...)
	result, err := t.Do(ctx, "put_record", append(append(args, p.tokens), contents...)...)
	if err != nil {
		return 0, err
	}
	if id, err = result.LastInsertId(); err != nil {
		return 0, err
	}
	_, err = t.change(ctx, "put_postings", id, p.postings)
	return id, err
}

// freeRef returns the shortest reference of a digest that no record has.
func (t *txn) freeRef(ctx context.Context, digest []byte) (string, error) {
	full := reference.Coding.EncodeToString(digest)
	for n := minID; n < maxID; n += growID {
		var taken bool
		if err := t.Row(ctx, "ref_taken", full[:n]).Scan(&taken); err != nil {
			return "", err
		}
		if !taken {
			return full[:n], nil
		}
	}
	return full, nil
}
