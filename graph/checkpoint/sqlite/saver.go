// Package sqlite stores checkpoints in a SQLite file.
package sqlite

import (
	"context"
	"errors"
	"time"

	"github.com/llama-agent/llama-agent/graph/checkpoint"
)

// Options configure a saver.
type Options struct {
	Synchronous string        // "full" (default), "normal" or "off"
	BusyTimeout time.Duration // longest wait for a lock, default 10 s
}

// Saver is a checkpoint.Saver in a SQLite file.
type Saver struct {
	checkpoint.Saver
	checkpoint.ThreadLister
	checkpoint.Pruner
	checkpoint.EffectLog
	checkpoint.Leaser
}

// Open opens or creates the file.
func Open(ctx context.Context, path string, opts Options) (*Saver, error) {
	return nil, errors.ErrUnsupported
}

// Close closes the saver.
func (s *Saver) Close() error { return nil }
