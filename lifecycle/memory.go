package lifecycle

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// A Memory is a fact that the user asked to remember.
type Memory struct {
	Ref     string    `json:"ref"`
	Owner   string    `json:"owner"` // empty: everybody in this workspace
	Key     string    `json:"key"`   // as it was written
	Value   string    `json:"value"`
	Created time.Time `json:"created"`        // of the first value of the key
	Updated time.Time `json:"updated"`        // of this value
	Ended   time.Time `json:"ended,omitzero"` // when another value replaced this one; zero: it is the current one
}

// Lengths of a memory, in characters.
const (
	MaxMemoryKey   = 80
	MaxMemoryValue = 2000
)

// memoryKey checks a key and returns it as it is shown and as it is compared. Compared are keys without regard to compatibility
// forms, such as full-width letters, to case, and to runs of spaces.
func memoryKey(key string) (shown, compared string, err error) {
	shown = strings.TrimSpace(key)
	switch n := utf8.RuneCountInString(shown); {
	case !utf8.ValidString(shown):
		return "", "", invalid("key", "is not valid UTF-8")
	case n == 0:
		return "", "", invalid("key", "is empty; name what is remembered")
	case n > MaxMemoryKey:
		return "", "", invalid("key", "has %d characters; at most %d are allowed", n, MaxMemoryKey)
	case strings.ContainsFunc(shown, func(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }):
		return "", "", invalid("key", "holds a line end or a control character; it must be one line")
	}
	compared = strings.Join(strings.Fields(norm.NFKC.String(cases.Fold().String(norm.NFKC.String(shown)))), " ")
	return shown, compared, nil
}

func checkValue(value string) error {
	switch n := utf8.RuneCountInString(value); {
	case !utf8.ValidString(value):
		return invalid("value", "is not valid UTF-8")
	case strings.TrimSpace(value) == "":
		return invalid("value", "is empty; to remove a memory, forget it")
	case n > MaxMemoryValue:
		return invalid("value", "has %d characters; at most %d are allowed", n, MaxMemoryValue)
	}
	return nil
}

func memoryOf(r row) Memory {
	return Memory{Ref: r.Ref, Owner: r.Owner, Key: r.Name, Value: r.Text, Created: r.first, Updated: r.Created}
}

// Remember stores a value under a key for an owner, or for everybody when the owner is empty. A key has 1 to 80 characters on one
// line, and a value 1 to 2000. A value that the key had is returned as replaced, and stays in its history. Remembering the value
// that the key has changes nothing.
func (s *Store) Remember(ctx context.Context, owner, key, value string) (m Memory, replaced *Memory, err error) {
	shown, compared, err := memoryKey(key)
	if err = errors.Join(checkReaders([]string{owner}), err, checkValue(value)); err != nil {
		return Memory{}, nil, fmt.Errorf("remembering: %w", err)
	}
	now := s.clock().UTC().Truncate(time.Microsecond)
	r := Record{Owner: owner, Kind: KindMemory, Key: compared, Name: shown, Text: value, Importance: Importance(Signals{Kind: KindMemory}), Created: now}
	err = s.tx(ctx, "remembering in", func(t *txn) error {
		replaced = nil
		old, err := t.memory(ctx, owner, compared)
		first := now
		switch {
		case errors.Is(err, sql.ErrNoRows):
			if err := t.Row(ctx, "next_memory").Scan(&r.Order); err != nil {
				return err
			}
		case errors.Is(err, ErrDamaged):
			first, r.Order = old.first, old.Order // what it was cannot be kept
		case err != nil:
			return err
		case old.Text == value:
			m = memoryOf(old)
			return nil
		default:
			first, r.Order = old.first, old.Order
			past := memoryOf(old)
			past.Ended = now
			replaced = &past
			_, err := t.change(ctx, "end_memory", owner, compared, strings.TrimPrefix(past.Ref, Scheme), past.Key, past.Value,
				past.Created.UnixMicro(), past.Updated.UnixMicro(), now.UnixMicro())
			if err != nil {
				return err
			}
		}
		p, err := newIncoming(r, first)
		if err != nil {
			return err
		}
		stored, err := t.put(ctx, p)
		stored.Text = value
		m = memoryOf(stored)
		return err
	})
	if err != nil {
		return Memory{}, nil, err
	}
	return m, replaced, nil
}

// memory returns the memory of a key; no row is [sql.ErrNoRows].
func (t *txn) memory(ctx context.Context, owner, compared string) (row, error) {
	r, err := t.scan(t.Row(ctx, "by_key", owner, string(KindMemory), compared))
	if err == nil {
		err = t.load(ctx, &r)
	}
	return r, err
}

// Forget removes a memory with all values it had, and returns the last one. A key that the owner does not have is an
// [*UnknownError]. A damaged memory can be forgotten; its value is empty then.
func (s *Store) Forget(ctx context.Context, owner, key string) (Memory, error) {
	_, compared, err := memoryKey(key)
	if err = errors.Join(checkReaders([]string{owner}), err); err != nil {
		return Memory{}, fmt.Errorf("forgetting: %w", err)
	}
	var m Memory
	err = s.tx(ctx, "forgetting in", func(t *txn) error {
		r, err := t.memory(ctx, owner, compared)
		if errors.Is(err, sql.ErrNoRows) {
			return &UnknownError{Key: clipped(key)}
		}
		if err != nil && !errors.Is(err, ErrDamaged) {
			return err
		}
		m = memoryOf(r)
		return t.unlink(ctx, owner, KindMemory, compared)
	})
	if err != nil {
		return Memory{}, err
	}
	return m, nil
}

// Memories returns the current memories of the owners in the order in which their keys got their first value. Where several owners
// have a key, the memory of the last of them counts; so ("", conversation) lets a conversation differ from its workspace.
func (s *Store) Memories(ctx context.Context, owners ...string) ([]Memory, error) {
	if err := checkReaders(owners); err != nil {
		return nil, fmt.Errorf("listing memories: %w", err)
	}
	kinds, err := jsonList([]Kind{KindMemory})
	if err != nil {
		return nil, err
	}
	var list []row
	err = s.view(ctx, "listing memories of", func(t *txn) error {
		found, err := t.candidates(ctx, owners, kinds)
		if err != nil {
			return err
		}
		for _, c := range found {
			r, err := t.scan(t.Row(ctx, "by_id", c.owner, c.id))
			if err == nil {
				err = t.load(ctx, &r)
			}
			if err != nil {
				return err
			}
			list = append(list, r)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(list, func(a, b row) int { return cmp.Compare(a.Order, b.Order) })
	memories := make([]Memory, len(list))
	for i, r := range list {
		memories[i] = memoryOf(r)
	}
	return memories, nil
}

// MemoryHistory returns all values that a key of an owner had, the current one last. A key that the owner does not have is an
// [*UnknownError].
func (s *Store) MemoryHistory(ctx context.Context, owner, key string) ([]Memory, error) {
	_, compared, err := memoryKey(key)
	if err = errors.Join(checkReaders([]string{owner}), err); err != nil {
		return nil, fmt.Errorf("reading the history of a memory: %w", err)
	}
	var history []Memory
	err = s.view(ctx, "reading the history of a memory in", func(t *txn) error {
		current, err := t.memory(ctx, owner, compared)
		if errors.Is(err, sql.ErrNoRows) {
			return &UnknownError{Key: clipped(key)}
		}
		if err != nil {
			return err
		}
		err = t.Each(ctx, func(rows *sql.Rows) error {
			m := Memory{Owner: owner}
			var first, created, ended int64
			err := rows.Scan(&m.Ref, &m.Key, &m.Value, &first, &created, &ended)
			m.Ref = Scheme + m.Ref
			m.Created, m.Updated, m.Ended = time.UnixMicro(first).UTC(), time.UnixMicro(created).UTC(), time.UnixMicro(ended).UTC()
			history = append(history, m)
			return err
		}, "past", owner, compared)
		history = append(history, memoryOf(current))
		return err
	})
	if err != nil {
		return nil, err
	}
	return history, nil
}
