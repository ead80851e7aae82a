package artifacts

import (
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// row is an artifact as the database has it.
type row struct {
	Artifact
	key     int64
	turn    int64 // the higher, the later it was used
	newest  int64 // the highest turn of any, where the query asks for it
	content contentSum
}

// scanRow reads the columns of the queries get, list and everything.
func scanRow(from interface{ Scan(...any) error }) (row, error) {
	var r row
	var id, facts, encoding string
	var arguments, sum []byte
	var created, used int64
	err := from.Scan(&r.key, &r.turn, &r.newest, &r.Owner, &id, &r.Tool, &arguments, &r.ContentType, &r.Name, &facts, &created, &used,
		&sum, &r.Bytes, &r.Lines, &encoding)
	if err != nil {
		return row{}, err
	}
	if len(sum) != len(r.content) || r.Bytes < 0 {
		return row{}, fmt.Errorf("artifact %s has no SHA-256: %w", scheme+id, ErrCorrupt)
	}
	if err := json.Unmarshal([]byte(facts), &r.Facts); err != nil {
		return row{}, fmt.Errorf("facts of artifact %s: %w: %w", scheme+id, ErrCorrupt, err)
	}
	r.content = contentSum(sum)
	r.Ref, r.SHA256, r.Encoding, r.Arguments = scheme+id, r.content.String(), Encoding(encoding), hex.EncodeToString(arguments)
	r.Created, r.Used = time.UnixMicro(created).UTC(), time.UnixMicro(used).UTC()
	return r, nil
}

func digestBytes(digits string) ([]byte, error) {
	raw, err := hex.DecodeString(digits)
	if raw == nil {
		raw = []byte{} // not NULL
	}
	return raw, err
}

// find returns an artifact of an owner.
func (s *Store) find(ctx context.Context, owner, ref string) (row, error) {
	if err := checkOwner(owner); err != nil {
		return row{}, fmt.Errorf("looking for an artifact: %w", err)
	}
	// What is no reference is looked up too, so that it takes as long as one that nobody has.
	id, _ := parseID(ref)
	var r row
	err := s.db.One(ctx, "looking for an artifact in", func(found *sql.Row) (err error) {
		r, err = scanRow(found)
		return err
	}, "get", owner, id)
	if errors.Is(err, sql.ErrNoRows) {
		return row{}, unknown(ref)
	}
	return r, err
}

// touchEvery is how exact the time of the last use of the newest artifact is. The order of uses is always exact.
const touchEvery = time.Minute

// touch records the use of an artifact. A use that cannot be recorded is no reason to refuse what was asked for: the artifact is
// then merely older than it should be.
func (s *Store) touch(ctx context.Context, r row) {
	now := s.opts.Clock()
	if r.turn == r.newest && now.Sub(r.Used) < touchEvery {
		return
	}
	_ = s.tx(ctx, "recording a use in", func(t *txn) error {
		_, err := t.change(ctx, "touch", r.key, now.UnixMicro())
		return err
	})
}

// load returns the content of an artifact of an owner, which is whole, and records the use.
func (s *Store) load(ctx context.Context, owner, ref string) (Artifact, []byte, error) {
	r, err := s.find(ctx, owner, ref)
	if err != nil {
		return Artifact{}, nil, err
	}
	// A collection spares what was used since it looked.
	s.touch(ctx, r)
	content, err := s.files.read(r.content, r.Bytes)
	if err == nil {
		return r.Artifact, content, nil
	}
	if _, gone := s.find(ctx, owner, ref); errors.Is(gone, ErrUnknown) {
		return Artifact{}, nil, gone // it was removed in between
	}
	return r.Artifact, nil, &DamagedError{Artifact: r.Artifact, Path: s.files.path(r.content), Reason: reasonOf(err), Err: err}
}

// reasonOf is the first part of what folder.read says.
func reasonOf(err error) string {
	for _, reason := range []error{errMissing, errNoFile, errSize, errChanged, errNotOpens} {
		if errors.Is(err, reason) {
			return reason.Error()
		}
	}
	return err.Error()
}

// Get returns an artifact without reading its content. Looking at it is no use of it. The error of a reference that the owner does
// not have is an [*UnknownError].
func (s *Store) Get(ctx context.Context, owner, ref string) (Artifact, error) {
	r, err := s.find(ctx, owner, ref)
	return r.Artifact, err
}

// Content returns an artifact and all of its content, which belongs to the caller. It is checked against its SHA-256; content
// that was changed or is missing gives a [*DamagedError].
func (s *Store) Content(ctx context.Context, owner, ref string) (Artifact, []byte, error) {
	return s.load(ctx, owner, ref)
}

// List returns the artifacts of an owner, the last used first, at most limit of them; 0: all.
func (s *Store) List(ctx context.Context, owner string, limit int) ([]Artifact, error) {
	if err := checkOwner(owner); err != nil {
		return nil, fmt.Errorf("listing artifacts: %w", err)
	}
	if limit <= 0 {
		limit = -1
	}
	var list []Artifact
	err := s.read(ctx, "listing the artifacts of", func(t *txn) error {
		return t.Each(ctx, func(rows *sql.Rows) error {
			r, err := scanRow(rows)
			list = append(list, r.Artifact)
			return err
		}, "list", owner, limit)
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// OwnerUsage is what an owner has.
type OwnerUsage struct {
	Owner     string    `json:"owner"`
	Artifacts int       `json:"artifacts"`
	Bytes     int64     `json:"bytes"` // of all of them; content that others have too, or that is there twice, counts each time
	Used      time.Time `json:"used"`  // the last use of any
}

// Owners returns everybody who has artifacts, the last active first.
func (s *Store) Owners(ctx context.Context) ([]OwnerUsage, error) {
	var list []OwnerUsage
	err := s.read(ctx, "listing the owners of", func(t *txn) error {
		return t.Each(ctx, func(rows *sql.Rows) error {
			var o OwnerUsage
			var used int64
			err := rows.Scan(&o.Owner, &o.Artifacts, &o.Bytes, &used)
			o.Used = time.UnixMicro(used).UTC()
			list = append(list, o)
			return err
		}, "owners")
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// Usage is what a store holds.
type Usage struct {
	Artifacts int   `json:"artifacts"`
	Contents  int   `json:"contents"`
	Bytes     int64 `json:"bytes"` // of the contents
	MaxBytes  int64 `json:"max_bytes"`
}

// Usage returns what the store holds.
func (s *Store) Usage(ctx context.Context) (Usage, error) {
	u := Usage{MaxBytes: s.opts.MaxBytes}
	err := s.read(ctx, "counting the artifacts of", func(t *txn) error {
		return t.Row(ctx, "counts").Scan(&u.Artifacts, &u.Contents, &u.Bytes)
	})
	return u, err
}

// Copy gives an owner the artifacts of another, for a copy of a conversation or thread: its references stay valid. It returns how
// many; those that the new owner has already are not counted.
func (s *Store) Copy(ctx context.Context, from, to string) (int, error) {
	if err := errors.Join(checkOwner(from), checkOwner(to)); err != nil {
		return 0, fmt.Errorf("copying artifacts: %w", err)
	}
	var n int64
	err := s.tx(ctx, "copying the artifacts of a conversation in", func(t *txn) (err error) {
		n, err = t.change(ctx, "copy_owner", from, to, s.opts.Clock().UnixMicro())
		return err
	})
	return int(n), err
}
