package lifecycle

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"math"
	"time"
)

// row is a record as the database has it, without its contents.
type row struct {
	Record
	id    int64
	first time.Time // when the key of a memory got its first value
	text  []byte    // SHA-256 of the text
	data  []byte    // SHA-256 of the data; nil when there is none

	textBytes, dataBytes sql.NullInt64 // null: the content is missing
}

// seal covers all that is stored of a record but its owners and its reference.
func (r row) seal() []byte {
	return sealed([]byte(r.Kind), []byte(r.Key), []byte(r.Name), []byte(r.Summary), number(int64(math.Float64bits(r.Importance))),
		number(r.first.UnixMicro()), number(r.Created.UnixMicro()), number(r.Order), r.text, r.data)
}

// damaged makes a [*DamagedError] of a row.
func (t *txn) damaged(r row, reason string) error {
	known := r.Record
	known.Text, known.Data = "", nil
	return &DamagedError{Record: known, Path: t.path, Reason: reason}
}

// scan reads the columns of the queries by_key, by_ref, by_id, oldest and newest. The row is as good as it can be read beside a
// [*DamagedError].
func (t *txn) scan(from interface{ Scan(...any) error }) (row, error) {
	var r row
	var id string
	var summary, seal []byte
	var first, created int64
	err := from.Scan(&r.Owner, &r.id, &id, &r.Kind, &r.Key, &r.Name, &summary, &r.Importance, &first, &created, &r.Order,
		&r.text, &r.data, &seal, &r.textBytes, &r.dataBytes)
	if err != nil {
		return row{}, err
	}
	r.Ref, r.Summary = Scheme+id, string(summary)
	r.first, r.Created = time.UnixMicro(first).UTC(), time.UnixMicro(created).UTC()
	r.Bytes = int(r.textBytes.Int64 + r.dataBytes.Int64)
	switch {
	case !bytes.Equal(seal, r.seal()):
		return r, t.damaged(r, "the SHA-256 of its description is another")
	case !r.textBytes.Valid:
		return r, t.damaged(r, "its text is missing")
	case r.data != nil && !r.dataBytes.Valid:
		return r, t.damaged(r, "its data is missing")
	}
	return r, nil
}

// load fills in the text and data of a row.
func (t *txn) load(ctx context.Context, r *row) error {
	text, err := t.content(ctx, *r, "text", r.text, r.textBytes.Int64)
	if err != nil {
		return err
	}
	r.Text = string(text)
	if r.data != nil {
		r.Data, err = t.content(ctx, *r, "data", r.data, r.dataBytes.Int64)
	}
	return err
}

// content returns one content of a row.
func (t *txn) content(ctx context.Context, r row, what string, sum []byte, size int64) ([]byte, error) {
	var coding string
	var body []byte
	err := t.Row(ctx, "content", sum).Scan(&coding, &body)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, t.damaged(r, "its "+what+" is missing")
	}
	if err != nil {
		return nil, err
	}
	raw, reason := decode(coding, body, size, sum)
	if reason != "" {
		return nil, t.damaged(r, "its "+what+": "+reason)
	}
	return raw, nil
}
