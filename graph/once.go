package graph

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/llama-agent/llama-agent/graph/checkpoint"
)

// OnceOption configures an effect.
type OnceOption func(*onceConfig)

type onceConfig struct{ idempotent bool }

// Idempotent says that running the effect twice is the same as running it once, so that one of unknown outcome simply runs
// again.
func Idempotent() OnceOption { return func(c *onceConfig) { c.idempotent = true } }

// RunAgain says that this effect, should its outcome be unknown, is to run again, because it is known or accepted that it didn't
// happen. [RetryUnknown] says so for all effects of a run.
func RunAgain() OnceOption { return Idempotent() }

// Settle records that an effect of unknown outcome has happened after all, with this result, which [Once] returns from then on.
// It is an error when the node that ctx belongs to hasn't begun such an effect, and does nothing when its result is known.
func Settle[T any](ctx context.Context, key string, result T) error {
	t := taskFrom(ctx)
	if t == nil || t.effects == nil {
		return fmt.Errorf("settling effect %q: %w", key, ErrNoThread)
	}
	unlock, err := t.lockEffect(ctx, key)
	if err != nil {
		return err
	}
	defer unlock()
	stored, fresh, err := t.effects.begin(ctx, t, key)
	switch {
	case err != nil:
	case fresh:
		err = t.effects.fail(ctx, t, key, errors.New("it was never begun"))
	case !stored.Done:
		err = t.effects.finish(ctx, t, key, result)
	}
	if err != nil {
		return fmt.Errorf("settling effect %q of node %q: %w", key, t.node, err)
	}
	return nil
}

// Once runs fn as a durable effect of the node that ctx belongs to: something that happens outside of the graph and must
// not happen again because the node does. The intent is stored before fn is called and its result, as JSON, after. When the
// task runs again, after a failure, a question or a crash, Once returns the stored result instead of calling fn.
//
// key names the effect within the task; a node that runs again in a loop, or a thread forked from an older checkpoint, has
// effects of its own. What the key should tell apart, such as arguments, must be part of it.
//
// An error of fn means that the effect is known not to have happened: nothing is stored, and the next attempt calls fn
// again. Three ends leave its outcome unknown: a crash before the result was stored, a panic, and an error of fn that is the
// end of its context or [ErrOutcomeUnknown]. From then on Once returns an [*OutcomeUnknownError], unless the effect is
// [Idempotent], the call has [RunAgain] or the run [RetryUnknown]: then fn is called again. A node that can find out what
// happened says so with [Settle].
//
// Without a thread, or with a saver that keeps no effects, Once just calls fn. Concurrent calls with one key wait for each
// other.
func Once[T any](ctx context.Context, key string, fn func(context.Context) (T, error), opts ...OnceOption) (T, error) {
	var cfg onceConfig
	for _, opt := range opts {
		opt(&cfg)
	}
	var zero T
	t := taskFrom(ctx)
	if t == nil || t.effects == nil {
		return fn(ctx)
	}
	unlock, err := t.lockEffect(ctx, key)
	if err != nil {
		return zero, err
	}
	defer unlock()
	t.beat()
	defer t.beat()

	stored, fresh, err := t.effects.begin(ctx, t, key)
	if err != nil {
		return zero, fmt.Errorf("recording the intent of effect %q of node %q: %w", key, t.node, err)
	}
	if stored.Done {
		var v T
		if err := json.Unmarshal(stored.Result, &v); err != nil {
			return zero, fmt.Errorf("decoding the stored result of effect %q of node %q: %w", key, t.node, err)
		}
		return v, nil
	}
	if !fresh && !cfg.idempotent && !t.effects.retryUnknown {
		return zero, &OutcomeUnknownError{Thread: t.effects.thread, Node: t.node, Key: key}
	}
	v, err := fn(ctx)
	if err != nil {
		return v, t.effects.fail(ctx, t, key, err)
	}
	if err := t.effects.finish(ctx, t, key, v); err != nil {
		return zero, fmt.Errorf("effect %q of node %q has happened, but storing its result failed: %w", key, t.node, err)
	}
	return v, nil
}

// effects records the effects of one run.
type effects struct {
	ready        func(context.Context) error // waits until the superstep's position is stored
	log          checkpoint.EffectLog
	thread       string
	namespace    string
	lease        string
	seq          int64 // of the checkpoint the superstep began at
	clock        func() time.Time
	retryUnknown bool
}

func (e *effects) key(t *taskCalls, key string) checkpoint.EffectKey {
	return checkpoint.EffectKey{Thread: e.thread, Namespace: e.namespace, Task: t.id, Key: key}
}

func (e *effects) begin(ctx context.Context, t *taskCalls, key string) (checkpoint.Effect, bool, error) {
	if err := e.ready(ctx); err != nil {
		return checkpoint.Effect{}, false, err
	}
	return e.log.BeginEffect(ctx, e.lease, checkpoint.Effect{EffectKey: e.key(t, key), Seq: e.seq, Started: e.clock()})
}

// finish stores a result, also when ctx has ended: the effect has happened.
func (e *effects) finish(ctx context.Context, t *taskCalls, key string, v any) error {
	data, err := JSON.Encode(v)
	if err != nil {
		return err
	}
	return e.log.FinishEffect(context.WithoutCancel(ctx), e.lease, e.key(t, key), data)
}

// fail returns err, after removing the intent when err says that the effect didn't happen.
func (e *effects) fail(ctx context.Context, t *taskCalls, key string, err error) error {
	cut := ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded))
	if cut || errors.Is(err, ErrOutcomeUnknown) {
		return err
	}
	if abandonErr := e.log.AbandonEffect(context.WithoutCancel(ctx), e.lease, e.key(t, key)); abandonErr != nil {
		return errors.Join(err, fmt.Errorf("removing the intent of effect %q of node %q: %w", key, t.node, abandonErr))
	}
	return err
}

// lockEffect waits until no other goroutine of the task runs the effect.
func (c *taskCalls) lockEffect(ctx context.Context, key string) (unlock func(), err error) {
	for {
		c.mu.Lock()
		if c.closed {
			c.mu.Unlock()
			return nil, context.Canceled
		}
		busy, taken := c.inFlight[key]
		if !taken {
			if c.inFlight == nil {
				c.inFlight = map[string]chan struct{}{}
			}
			free := make(chan struct{})
			c.inFlight[key] = free
			c.mu.Unlock()
			return func() {
				c.mu.Lock()
				delete(c.inFlight, key)
				c.mu.Unlock()
				close(free)
			}, nil
		}
		c.mu.Unlock()
		select {
		case <-busy:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
