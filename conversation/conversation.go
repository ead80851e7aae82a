package conversation

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// Conversation is what a list shows of a conversation. Times are in UTC, to the microsecond.
type Conversation struct {
	ID string `json:"conversation_id"`
	// Title is the first words of the first turn that was not dropped, in one line of at most 80 characters. It is empty without
	// turns. It comes from the user's text and is no more trusted than that.
	Title   string    `json:"title"`
	Turns   int       `json:"turns"`
	Status  Status    `json:"status"` // of the last turn; empty when there is none
	Created time.Time `json:"created"`
	Updated time.Time `json:"updated"` // when a turn of it last changed, or it was created
}

// scanConversation reads the columns of the queries get, last and list.
func scanConversation(row scanner) (c Conversation, err error) {
	var turns int64
	var status sql.Null[string]
	err = row.Scan(text{&c.ID}, text{&c.Title}, instant{&c.Created}, instant{&c.Updated}, number{&turns}, &status)
	if err != nil {
		return Conversation{}, err
	}
	c.Turns, c.Status = int(turns), Status(status.V)
	if CheckID(c.ID) != nil || (c.Turns > 0) != c.Status.known() {
		return Conversation{}, fmt.Errorf("conversation %q has %d turns and the status %q: %w", clip(c.ID), c.Turns, clip(status.V), ErrCorrupt)
	}
	return c, nil
}

// key returns the key of a conversation.
func (t *txn) key(ctx context.Context, id string) (key int64, err error) {
	err = t.Row(ctx, "key", id).Scan(number{&key})
	if errors.Is(err, sql.ErrNoRows) {
		return 0, &UnknownError{ID: id}
	}
	return key, err
}

// maxTries bounds how many new IDs are tried.
const maxTries = 20

// Create adds a conversation without turns. An empty id is replaced by a new one, such as c-20060102-150405-1a2b. The error is
// [ErrInvalid] for an ID that [CheckID] refuses, and an [*ExistsError] for one that is in use.
func (s *Store) Create(ctx context.Context, id string) (Conversation, error) {
	if id != "" {
		return s.create(ctx, id)
	}
	now := s.opts.Clock()
	for try := 1; ; try++ {
		c, err := s.create(ctx, makeID(now, s.opts.NewID()))
		if !errors.Is(err, ErrExists) || try == maxTries {
			return c, err
		}
	}
}

func (s *Store) create(ctx context.Context, id string) (c Conversation, err error) {
	if err := CheckID(id); err != nil {
		return Conversation{}, fmt.Errorf("creating a conversation: %w", err)
	}
	err = s.tx(ctx, "creating a conversation in", func(t *txn) error {
		_, err := t.key(ctx, id)
		if err == nil {
			return &ExistsError{ID: id}
		}
		if !errors.Is(err, ErrUnknown) {
			return err
		}
		if err := t.do(ctx, "create", id, s.now()); err != nil {
			return err
		}
		c, err = scanConversation(t.Row(ctx, "get", id))
		return err
	})
	return c, err
}

// Get returns a conversation, or an [*UnknownError].
func (s *Store) Get(ctx context.Context, id string) (c Conversation, err error) {
	err = s.read(ctx, "reading a conversation in", func(t *txn) (err error) {
		c, err = scanConversation(t.Row(ctx, "get", id))
		return err
	})
	if errors.Is(err, sql.ErrNoRows) {
		err = &UnknownError{ID: id}
	}
	return c, err
}

// List returns conversations, those first that changed last: by being created or by a turn that began, ended, was opened again or
// dropped. A limit of 0 or less is none.
func (s *Store) List(ctx context.Context, limit int) ([]Conversation, error) {
	list := []Conversation{}
	err := s.read(ctx, "listing the conversations in", func(t *txn) error {
		return t.Each(ctx, func(rows *sql.Rows) error {
			c, err := scanConversation(rows)
			list = append(list, c)
			return err
		}, "list", limitOf(limit))
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// limitOf returns a limit as SQLite takes it.
func limitOf(limit int) int {
	if limit <= 0 {
		return -1
	}
	return limit
}

// Last returns the conversation in which a turn was begun last, or that was selected since. The error is [ErrNone] when there was
// none, or it was deleted.
func (s *Store) Last(ctx context.Context) (c Conversation, err error) {
	err = s.read(ctx, "reading the last conversation in", func(t *txn) (err error) {
		c, err = scanConversation(t.Row(ctx, "last"))
		return err
	})
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrNone
	}
	return c, err
}

// Select makes a conversation the last one. That is no change of it.
func (s *Store) Select(ctx context.Context, id string) error {
	return s.tx(ctx, "selecting a conversation in", func(t *txn) error {
		key, err := t.key(ctx, id)
		if err != nil {
			return err
		}
		return t.do(ctx, "remember", key)
	})
}

// Delete removes a conversation with its turns, also a running one, whose end is then an [*UnknownError]. The file gives the pages
// back. When it was the last one there is none, until a turn begins or another is selected.
func (s *Store) Delete(ctx context.Context, id string) error {
	var pages int64
	err := s.tx(ctx, "deleting a conversation from", func(t *txn) error {
		key, err := t.key(ctx, id)
		if err != nil {
			return err
		}
		if err := t.do(ctx, "delete", key); err != nil {
			return err
		}
		pages, err = s.shrink(ctx, t)
		return err
	})
	if err == nil {
		s.merge(ctx, pages)
	}
	return err
}
