package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/llama-agent/llama-agent/graph/checkpoint"
)

// effect returns the record of an effect and whether there is one.
func (t *txn) effect(ctx context.Context, key checkpoint.EffectKey) (checkpoint.Effect, bool, error) {
	e := checkpoint.Effect{EffectKey: key}
	var started, stored int64
	err := t.row(ctx, "effect", key.Thread, key.Namespace, key.Task, key.Key).Scan(&e.Seq, &started, &e.Done, &e.Result, &stored)
	if errors.Is(err, sql.ErrNoRows) {
		return e, false, nil
	} else if err != nil {
		return e, false, err
	}
	e.Started = fromMicros(started)
	if stored != effectSum(e) {
		return e, false, fmt.Errorf("reading effect %q of thread %q: %w: %w", key.Key, key.Thread, checkpoint.ErrDamaged, errSum)
	}
	return e, true, nil
}

func effectSum(e checkpoint.Effect) int64 {
	done := int64(0)
	if e.Done {
		done = 1
	}
	return sum(e.Thread, e.Namespace, e.Task, e.Key, e.Seq, micros(e.Started), done, e.Result)
}

func (t *txn) putEffect(ctx context.Context, e checkpoint.Effect) error {
	_, err := t.exec(ctx, "put_effect", e.Thread, e.Namespace, e.Task, e.Key, e.Seq, micros(e.Started), e.Done, e.Result, effectSum(e))
	return err
}

// BeginEffect implements [checkpoint.EffectLog].
func (s *Saver) BeginEffect(ctx context.Context, lease string, e checkpoint.Effect) (found checkpoint.Effect, fresh bool, err error) {
	err = s.tx(ctx, "recording an effect in", func(t *txn) error {
		if err := t.checkLease(ctx, e.Thread, lease); err != nil {
			return fmt.Errorf("recording an effect in thread %q: %w", e.Thread, err)
		}
		var exists bool
		if found, exists, err = t.effect(ctx, e.EffectKey); err != nil || exists {
			return err
		}
		found, fresh = e, true
		return t.putEffect(ctx, e)
	})
	if err != nil {
		return checkpoint.Effect{}, false, err
	}
	return found, fresh, nil
}

// FinishEffect implements [checkpoint.EffectLog].
func (s *Saver) FinishEffect(ctx context.Context, lease string, key checkpoint.EffectKey, result []byte) error {
	return s.tx(ctx, "recording the result of an effect in", func(t *txn) error {
		if err := t.checkLease(ctx, key.Thread, lease); err != nil {
			return fmt.Errorf("recording the result of an effect in thread %q: %w", key.Thread, err)
		}
		e, exists, err := t.effect(ctx, key)
		if err != nil {
			return err
		}
		if !exists {
			return fmt.Errorf("recording the result of effect %q: %w", key.Key, checkpoint.ErrNotFound)
		}
		e.Done, e.Result = true, result
		return t.putEffect(ctx, e)
	})
}

// AbandonEffect implements [checkpoint.EffectLog].
func (s *Saver) AbandonEffect(ctx context.Context, lease string, key checkpoint.EffectKey) error {
	return s.tx(ctx, "removing an effect from", func(t *txn) error {
		if err := t.checkLease(ctx, key.Thread, lease); err != nil {
			return fmt.Errorf("removing an effect of thread %q: %w", key.Thread, err)
		}
		_, err := t.exec(ctx, "drop_effect", key.Thread, key.Namespace, key.Task, key.Key)
		return err
	})
}
