package artifacts

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/llama-agent/llama-agent/internal/reference"
)

// Put stores content for an owner and returns its artifact. The content is not kept or changed. Putting the same content of the
// same source again returns the same artifact and counts as a use of it. The content is on the disk when Put returns.
//
// When the content does not fit under the size limit, room is made as [Store.GC] does; when that is not enough the error is a
// [*QuotaError] and nothing was stored. After any error nothing is stored that was not before.
func (s *Store) Put(ctx context.Context, owner string, src Source, content []byte) (Artifact, error) {
	if err := checkOwner(owner); err != nil {
		return Artifact{}, fmt.Errorf("storing an artifact: %w", err)
	}
	if err := s.db.Usable(); err != nil {
		return Artifact{}, err
	}
	p, err := newIncoming(newArtifact(owner, src, content))
	if err != nil {
		return Artifact{}, err
	}
	stored, whole, err := s.holds(ctx, p)
	if err != nil {
		return Artifact{}, err
	}
	if whole {
		// A collection may remove it before it is referenced. Then it is written again.
		ok, err := s.refer(ctx, p)
		if ok || err != nil {
			return p.Artifact, err
		}
	}
	if !stored || whole {
		if err := s.makeRoom(ctx, p.Bytes); err != nil {
			return Artifact{}, err
		}
	}
	temp, err := s.files.write(content)
	if err != nil {
		return Artifact{}, err
	}
	for try := 0; ; try++ {
		err = s.add(ctx, p, temp)
		// Others may have taken the room.
		if !errors.Is(err, ErrQuota) || try == maxTries {
			break
		}
		if err = s.makeRoom(ctx, p.Bytes); err != nil {
			break
		}
	}
	if err != nil {
		_, _ = s.files.removeFile(temp) // if it is still there; else it goes with the next collection
		return Artifact{}, err
	}
	return p.Artifact, nil
}

// incoming is an artifact on its way into the store, with all that can be computed before the database is locked.
type incoming struct {
	Artifact
	source  contentSum // see Artifact.sourceSum
	content contentSum
	facts   string
}

func newIncoming(a Artifact) (*incoming, error) {
	source, err := a.sourceSum()
	if err != nil {
		return nil, err
	}
	content, ok := sumOf(a.SHA256 + contentSuffix)
	if !ok {
		return nil, fmt.Errorf("storing an artifact: %q is no SHA-256", a.SHA256)
	}
	facts, err := json.Marshal(a.Facts)
	if err != nil {
		return nil, fmt.Errorf("encoding facts: %w", err)
	}
	return &incoming{Artifact: a, source: source, content: content, facts: string(facts)}, nil
}

// holds reports whether the content of p is stored, and whether it is whole.
func (s *Store) holds(ctx context.Context, p *incoming) (stored, whole bool, err error) {
	var size int64
	err = s.read(ctx, "looking for content in", func(t *txn) error {
		return t.Row(ctx, "content", p.content[:]).Scan(&size)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return false, false, nil
	}
	if err != nil {
		return false, false, err
	}
	_, damage := s.files.read(p.content, size) // is put in place anew
	return true, damage == nil, nil
}

// refer adds an artifact of content that is stored already. It returns false when the content is gone.
func (s *Store) refer(ctx context.Context, p *incoming) (ok bool, err error) {
	err = s.tx(ctx, "storing an artifact in", func(t *txn) error {
		var size int64
		err := t.Row(ctx, "content", p.content[:]).Scan(&size)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		ok = true
		return t.put(ctx, p, s.opts.Clock())
	})
	return ok, err
}

// add stores an artifact whose content has been written. The file gets its name in the transaction that adds the row: whoever
// holds the lock sees both or neither, unless a crash leaves a file without a row.
func (s *Store) add(ctx context.Context, p *incoming, temp string) error {
	adopted := false
	var refused error // not by the database
	err := s.tx(ctx, "storing an artifact in", func(t *txn) error {
		added, err := t.change(ctx, "put_content", p.content[:], p.Bytes, p.Lines, string(p.Encoding))
		if err != nil {
			return err
		}
		if err := t.put(ctx, p, s.opts.Clock()); err != nil {
			return err
		}
		var total int64
		if err := t.Row(ctx, "total").Scan(&total); err != nil {
			return err
		}
		if added > 0 && s.opts.MaxBytes > 0 && total > s.opts.MaxBytes {
			refused = s.quotaError(p.Bytes, total-p.Bytes)
			return refused
		}
		adopted = true
		refused = s.files.adopt(temp, p.content)
		return refused
	})
	if err != nil && adopted {
		// The cause of the failure is what the caller needs; what cannot be removed now goes with the next collection.
		_, _, _ = s.removeFiles(context.WithoutCancel(ctx), []contentSum{p.content})
	}
	if refused != nil {
		return refused
	}
	return err
}

func (s *Store) quotaError(need, used int64) error {
	return &QuotaError{Dir: s.dir, Need: need, Used: used, Max: s.opts.MaxBytes}
}

// put adds or touches the row of an artifact and gives it its reference.
func (t *txn) put(ctx context.Context, p *incoming, now time.Time) error {
	id, err := t.freeID(ctx, p)
	if err != nil {
		return err
	}
	arguments, err := digestBytes(p.Arguments)
	if err != nil {
		return err
	}
	_, err = t.change(ctx, "put", p.Owner, id, p.source[:], p.content[:], p.Tool, arguments, p.ContentType, p.Name, p.facts, now.UnixMicro())
	if err != nil {
		return err
	}
	r, err := scanRow(t.Row(ctx, "get", p.Owner, id))
	p.Artifact = r.Artifact
	return err
}

// freeID returns the shortest reference of an artifact that no other one of its owner has.
func (t *txn) freeID(ctx context.Context, p *incoming) (string, error) {
	full := reference.Coding.EncodeToString(p.source[:])
	for n := minID; n <= maxID; n += growID {
		var source []byte
		err := t.Row(ctx, "source_of", p.Owner, full[:n]).Scan(&source)
		if errors.Is(err, sql.ErrNoRows) || err == nil && string(source) == string(p.source[:]) {
			return full[:n], nil
		}
		if err != nil {
			return "", err
		}
	}
	return "", fmt.Errorf("storing an artifact: two have the reference %s", scheme+full)
}
