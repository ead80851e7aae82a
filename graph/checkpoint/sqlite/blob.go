package sqlite

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"slices"
)

// blobSize is the length in bytes from which a value is stored as a blob, once a thread. Below it what could be saved is not
// worth the hash and the index entry.
const blobSize = 2048

const hashSize = sha256.Size

func hashOf(data []byte) [hashSize]byte { return sha256.Sum256(data) }

// putBlobs stores the large values of a record that the thread doesn't have, and returns their bytes.
func (t *txn) putBlobs(ctx context.Context, root int64, large []largeData) (added int64, err error) {
	for _, l := range large {
		var one int
		err := t.Row(ctx, "has_blob", root, l.hash[:]).Scan(&one)
		if err == nil {
			continue
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return 0, err
		}
		if _, err := t.Do(ctx, "put_blob", root, l.hash[:], *l.data); err != nil {
			return 0, err
		}
		added += int64(l.size)
	}
	return added, nil
}

// fetch reads the large values of a record.
func (t *txn) fetch(ctx context.Context, root int64, large []largeData) (err error) {
	for _, l := range large {
		if *l.data, err = t.blob(ctx, root, l.hash); err != nil {
			return err
		}
	}
	return nil
}

// largeOf returns the entry of data among the large values of a record that was read.
func largeOf(large []largeData, data *[]byte) (largeData, bool) {
	i := slices.IndexFunc(large, func(l largeData) bool { return l.data == data })
	if i < 0 {
		return largeData{}, false
	}
	return large[i], true
}

func (t *txn) blob(ctx context.Context, root int64, hash [hashSize]byte) (data []byte, err error) {
	err = t.Row(ctx, "blob", root, hash[:]).Scan(&data)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, fmt.Errorf("value %x is missing", hash[:6])
	case err != nil:
		return nil, err
	case hashOf(data) != hash:
		return nil, fmt.Errorf("value %x: %w", hash[:6], errSum)
	}
	return data, nil
}
