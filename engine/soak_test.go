package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/llama-agent/llama-agent/engine/llama"
	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/llms"
	"golang.org/x/sync/errgroup"
)

// After ten thousand calls, whole, cut off, cancelled and failed, an engine holds no more than after the first few, and
// what it believes of its memory is what is there.
func TestTenThousandCalls(t *testing.T) { // alone, since it looks at the heap
	for _, kind := range []llama.MemoryKind{llama.MemoryCells, llama.MemoryState, llama.MemoryMixed} {
		t.Run(fmt.Sprint(kind), func(t *testing.T) { soak(t, kind) })
	}
}

func soak(t *testing.T, kind llama.MemoryKind) {
	reply := func(prompt string) string {
		h := hashReply(prompt)
		return `{"name":"` + h[:min(len(h), 6)] + `","n":7,"end":true}`
	}
	decodes, batches, whole := 0, 0, atomic.Int32{}
	r := forcingRig(t, 400, func(r *rig, c *Config) {
		c.Draft, r.mem.kind, c.StateMaxBytes = true, kind, 20_000
		r.model.reply = reply
		r.mem.before = func(llama.Token, int) {
			if decodes++; decodes%97 == 0 {
				r.mem.Abort()
			}
		}
		r.mem.decodeErr = func(*llama.Batch) error {
			if batches++; batches%1013 == 0 {
				return errFake
			}
			return nil
		}
	})
	r.sched.cost = func(int) time.Duration { return time.Second }
	one := func(random *rand.Rand) error {
		text := strings.Repeat(string(rune('a'+random.IntN(26))), random.IntN(40))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		options := []llms.CallOption{llms.WithMaxTokens(1 + random.IntN(60))}
		if random.IntN(2) == 0 {
			options = append(options, anySchema)
		}
		if at := random.IntN(30); at < 10 {
			options = append(options, llms.WithStreamingFunc(func(context.Context, []byte) error {
				if at--; at == 0 {
					cancel()
				}
				return nil
			}))
		}
		got, _, err := r.ask(ctx, text, options...)
		if want := reply(promptOf(text)); err == nil && !strings.HasPrefix(want, got) {
			return fmt.Errorf("%q, not %q", got, want)
		}
		if err == nil {
			whole.Add(1)
		}
		if err != nil && ctx.Err() == nil && !errors.Is(err, errFake) {
			return err
		}
		return nil
	}
	run := func(calls int) {
		var g errgroup.Group
		for worker := range 4 {
			g.Go(func() error {
				random := rand.New(rand.NewPCG(uint64(worker), uint64(calls)))
				for range calls / 4 {
					if err := one(random); err != nil {
						return err
					}
				}
				return nil
			})
		}
		require.NoError(t, g.Wait())
	}
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	run(1000)
	before := heap()
	run(10_000)
	require.Less(t, float64(heap()), float64(before)+2e6, "bytes")
	require.Zero(t, r.model.samplers.Load())
	require.Greater(t, whole.Load(), int32(5000))

	require.NoError(t, r.Close()) // the owner is gone: its state may be read
	require.Empty(t, r.sched.active)
	require.Empty(t, r.sched.waiting)
	for i, seq := range r.sched.cache.seqs {
		require.False(t, seq.busy)
		if seq.lost {
			require.True(t, strings.HasPrefix(detokenize(r.mem.tokens(i)), detokenize(seq.tokens)))
		} else {
			require.Equal(t, detokenize(r.mem.tokens(i)), detokenize(seq.tokens))
		}
	}
	require.LessOrEqual(t, r.Stats().StateBytes, int64(20_000))
	got := r.Stats().CachedTokens
	require.Equal(t, r.sched.cache.cachedTokens(), got)
}
