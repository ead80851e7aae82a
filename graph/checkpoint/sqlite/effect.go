package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/llama-agent/llama-agent/graph/checkpoint"
)

// effect codes what a row's columns don't say.
func (c *coder) effect(e *checkpoint.Effect) {
	c.version()
	c.string(&e.Task)
	c.string(&e.Key)
	c.time(&e.Started)
	c.bools(&e.Done)
	known := e.Result != nil
	c.bools(&known)
	if known {
		result := string(e.Result)
		c.string(&result)
		if c.reading {
			e.Result = []byte(result)
		}
	}
}

func effectHash(k checkpoint.EffectKey) int64 { return spaceHash(k.Thread, k.Namespace, k.Task, k.Key) }

// effectRow is a row of effects.
type effectRow struct {
	key    int64
	effect checkpoint.Effect
	err    error // why it can't be read
}

func (r *effectRow) place() place {
	return place(0).number(r.key).text(r.effect.Thread).text(r.effect.Namespace).number(r.effect.Seq)
}

func scanEffect(row scanner) (r effectRow, err error) {
	e := &r.effect
	var sealed []byte
	if err := row.Scan(&r.key, &e.Thread, &e.Namespace, &e.Seq, &sealed); err != nil {
		return r, err
	}
	record, err := r.place().open(sealed)
	c := coder{buf: record, reading: true}
	c.effect(e)
	r.err = errors.Join(err, c.err)
	return r, nil
}

// effect returns the record of an effect and whether there is one. That there is none is believed only when all effects of the
// same superstep can be read: a damaged one, which may be any of them, must not happen a second time.
func (t *txn) effect(ctx context.Context, key checkpoint.EffectKey, seq int64) (checkpoint.Effect, bool, error) {
	r, err := scanEffect(t.Row(ctx, "effect", effectHash(key)))
	switch {
	case errors.Is(err, sql.ErrNoRows):
		err = t.Each(ctx, func(rows *sql.Rows) error {
			r, err := scanEffect(rows)
			return errors.Join(err, r.err)
		}, "effects_at", key.Thread, seq)
		if errors.Is(err, errSum) || errors.Is(err, errRecord) {
			return r.effect, false, damagedEffect(key, err)
		}
		return r.effect, false, err
	case err != nil:
		return r.effect, false, err
	case r.err != nil:
		return r.effect, false, damagedEffect(key, r.err)
	case r.effect.EffectKey != key:
		return r.effect, false, damagedEffect(key, errRecord)
	}
	return r.effect, true, nil
}

func damagedEffect(key checkpoint.EffectKey, err error) error {
	return fmt.Errorf("reading effect %q of task %q in thread %q: %w: %w", key.Key, key.Task, key.Thread, checkpoint.ErrDamaged, err)
}

func (t *txn) putEffect(ctx context.Context, e checkpoint.Effect) error {
	c := coder{}
	c.effect(&e)
	r := effectRow{key: effectHash(e.EffectKey), effect: e}
	_, err := t.Do(ctx, "put_effect", r.key, e.Thread, e.Namespace, e.Seq, r.place().seal(c.buf))
	return err
}

// BeginEffect implements [checkpoint.EffectLog].
func (s *Saver) BeginEffect(ctx context.Context, lease string, e checkpoint.Effect) (found checkpoint.Effect, fresh bool, err error) {
	err = s.tx(ctx, "recording an effect in", func(t *txn) error {
		if err := t.checkLease(ctx, e.Thread, lease); err != nil {
			return fmt.Errorf("recording an effect in thread %q: %w", e.Thread, err)
		}
		var exists bool
		if found, exists, err = t.effect(ctx, e.EffectKey, e.Seq); err != nil || exists {
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
		e, exists, err := t.effect(ctx, key, 0)
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
		e, exists, err := t.effect(ctx, key, 0)
		if err != nil || !exists || e.Done {
			return err
		}
		_, err = t.Do(ctx, "drop_effect", effectHash(key))
		return err
	})
}
