package graph

import (
	"context"
)

// OnceOption configures an effect.
type OnceOption func(*onceConfig)

type onceConfig struct{ idempotent bool }

// Idempotent says that running the effect twice is the same as running it once, so that one of unknown outcome simply runs
// again.
func Idempotent() OnceOption { return func(c *onceConfig) { c.idempotent = true } }

// Once runs fn as a durable effect.
func Once[T any](ctx context.Context, key string, fn func(context.Context) (T, error), opts ...OnceOption) (T, error) {
	return fn(ctx)
}
