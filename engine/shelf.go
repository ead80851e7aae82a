package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/llama-agent/llama-agent/engine/kvstore"
	"github.com/llama-agent/llama-agent/engine/llama"
)

// shelf is the KV store of one model. The owner goroutine reads from it; a goroutine of its own writes.
type shelf struct {
	store   *kvstore.Store
	notices *slog.Logger
	log     *slog.Logger
	most    int64 // bytes that the chunks of one prompt may take

	root   atomic.Pointer[kvstore.Key] // nil until it is known which model this is
	broken atomic.Bool                 // writing failed, and is not tried again
	jobs   chan *shelfJob
	cancel context.CancelFunc
	work   sync.WaitGroup
}

// shelfJob is a chunk to write, or chunks that were used.
type shelfJob struct {
	key    kvstore.Key
	tokens []int32
	state  []byte
	used   []kvstore.Key
}

// loose names the chunks whose bits are not sure to be those that a process without the store would compute: other
// sequences were in the memory or in the batch, or the batches were cut elsewhere. A later exact one is preferred.
const loose = "loose"

// openShelf opens the store of a configuration, nil when it has none or when the folder cannot be used, which is told once.
// modelFiles are the model, stamped before it was loaded; how is what else the state depends on.
func openShelf(c Config, modelFiles []kvstore.Stamp, how []string) *shelf {
	if c.KVStorePath == "" || c.KVStoreMaxBytes == 0 || len(modelFiles) == 0 {
		return nil
	}
	store, err := kvstore.Open(c.KVStorePath, c.KVStoreMaxBytes, c.Now)
	if err != nil {
		c.Notices.Warn(fmt.Sprintf("%v; prompts of earlier runs are evaluated again. Make the folder usable, choose another one "+
			"with engine.kv_store_path, or set engine.kv_store_max_bytes to 0", err))
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &shelf{store: store, notices: c.Notices, log: c.Logger, most: c.KVStoreMaxBytes / 4, jobs: make(chan *shelfJob), cancel: cancel}
	s.work.Go(s.write)
	var sums []string
	for _, f := range modelFiles {
		if sum, ok := store.KnownSum(f); ok {
			sums = append(sums, sum.String())
		}
	}
	if len(sums) == len(modelFiles) {
		s.identify(sums, how)
	} else {
		s.work.Go(func() { s.sum(ctx, modelFiles, how) })
	}
	return s
}

// sum reads the model. That takes a second or more for the first run with it; until then the store is not used, and has
// nothing to give.
func (s *shelf) sum(ctx context.Context, modelFiles []kvstore.Stamp, how []string) {
	sums := make([]string, len(modelFiles))
	for i, f := range modelFiles {
		sum, err := s.store.Sum(ctx, f)
		if err != nil {
			s.log.Debug("the KV store is not used", "error", err)
			return
		}
		sums[i] = sum.String()
	}
	s.identify(sums, how)
}

func (s *shelf) identify(sums, how []string) {
	root := kvstore.Root(append(append([]string{"chunks 1", strconv.Itoa(len(sums))}, sums...), how...)...)
	s.root.Store(&root)
}

// close waits for what is being written.
func (s *shelf) close() {
	s.cancel()
	close(s.jobs)
	s.work.Wait()
}

// write puts chunks into the store. The first error that does not go away by itself ends that.
func (s *shelf) write() {
	for j := range s.jobs {
		if s.broken.Load() {
			continue
		}
		if j.used != nil {
			s.store.Touch(j.used...)
			continue
		}
		if err := s.store.Put(j.key, j.tokens, j.state); err != nil && !errors.Is(err, kvstore.ErrBusy) {
			s.fail(err)
		}
	}
}

// fail ends writing with one notice.
func (s *shelf) fail(err error) {
	if s.broken.Swap(true) {
		return
	}
	fix := "Make the folder usable, choose another one with engine.kv_store_path, or set engine.kv_store_max_bytes to 0"
	if errors.Is(err, kvstore.ErrTooLarge) {
		fix = "Raise engine.kv_store_max_bytes, or set it to 0"
	}
	s.notices.Warn(fmt.Sprintf("the KV cache is not kept for later runs: %v. %s", err, fix))
}

// chain returns the keys of the chunks of a prompt, nil while the model is not identified.
func (s *shelf) chain(prompt []llama.Token, cuts []int) []kvstore.Key {
	root := s.root.Load()
	if root == nil {
		return nil
	}
	keys := make([]kvstore.Key, len(cuts))
	key, start := *root, 0
	for i, end := range cuts {
		key = key.Next(int32s(prompt[start:end]))
		keys[i], start = key, end
	}
	return keys
}

// has reports whether there is a chunk of any quality.
func (s *shelf) has(key kvstore.Key) bool {
	return s.store.Has(key) || s.store.Has(key.Variant(loose))
}

// get returns the state of a chunk and whether it is exact.
func (s *shelf) get(key kvstore.Key, tokens []llama.Token) (state []byte, exact bool, err error) {
	if state, err = s.store.Get(key, int32s(tokens)); err == nil {
		return state, true, nil
	}
	if errors.Is(err, kvstore.ErrDamaged) {
		s.log.Debug("a file of the KV store was removed", "error", err)
	}
	state, err = s.store.Get(key.Variant(loose), int32s(tokens))
	return state, false, err
}

func int32s(tokens []llama.Token) []int32 {
	out := make([]int32, len(tokens))
	for i, t := range tokens {
		out[i] = int32(t)
	}
	return out
}
