package conversation

import (
	"context"
	"database/sql"
	"math"
	"slices"
)

// TurnQuery chooses turns of a conversation. The zero value chooses all.
type TurnQuery struct {
	After  int  // only turns with higher numbers
	Limit  int  // most turns; 0 or less: no limit
	Newest bool // with a limit: the last ones instead of the first
}

// Turns returns turns of a conversation in the order of their numbers, with whole texts. An unknown conversation is an
// [*UnknownError].
func (s *Store) Turns(ctx context.Context, conversation string, q TurnQuery) ([]Turn, error) {
	query := "oldest"
	if q.Newest {
		query = "newest"
	}
	after := q.After
	if after <= 0 {
		after = math.MinInt // a damaged number is found, not left out
	}
	turns := []Turn{}
	err := s.read(ctx, "reading the turns in", func(t *txn) error {
		key, err := t.key(ctx, conversation)
		if err != nil {
			return err
		}
		return t.Each(ctx, func(rows *sql.Rows) error {
			r, err := scanTurn(rows)
			turns = append(turns, r.Turn)
			return err
		}, query, key, after, limitOf(q.Limit))
	})
	if err != nil {
		return nil, err
	}
	if q.Newest {
		slices.Reverse(turns)
	}
	return turns, nil
}

// Count returns how many turns a conversation has. An unknown conversation is an [*UnknownError].
func (s *Store) Count(ctx context.Context, conversation string) (int, error) {
	var n int64
	err := s.read(ctx, "counting the turns in", func(t *txn) error {
		key, err := t.key(ctx, conversation)
		if err != nil {
			return err
		}
		return t.Row(ctx, "count", key).Scan(number{&n})
	})
	return int(n), err
}

// ByThread returns the turn of a thread, or an [*UnknownError].
func (s *Store) ByThread(ctx context.Context, thread string) (Turn, error) {
	var r row
	err := s.read(ctx, "reading a turn in", func(t *txn) (err error) {
		r, err = t.turn(ctx, thread)
		return err
	})
	return r.Turn, err
}
