//go:build cgo && !nollama

package engine

import (
	"context"
	"errors"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/llama-agent/llama-agent/internal/testmodel"
	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/llms"
)

// promptTokens makes a message whose prompt has n tokens.
func promptTokens(t *testing.T, e *Engine, n int) []llms.MessageContent {
	t.Helper()
	have, err := e.CountTokens(t.Context(), user("a"))
	require.NoError(t, err)
	messages := user("a" + strings.Repeat(" a", n-have))
	got, err := e.CountTokens(t.Context(), messages)
	require.NoError(t, err)
	require.Equal(t, n, got)
	return messages
}

func TestRealPromptSizes(t *testing.T) {
	e := open(t, testmodel.Tiny, func(c *Config) { c.ContextSize, c.BatchSize = 256, 32 })
	size := e.ContextSize()
	require.Equal(t, 256, size)

	last := say(t, e, promptTokens(t, e, size-1))
	require.Equal(t, finishLength, last.StopReason)
	require.Equal(t, 1, usage(last).CompletionTokens)

	for _, n := range []int{size, size + 1, 20 * size} {
		_, err := e.GenerateContent(t.Context(), promptTokens(t, e, n))
		var ce *ContextError
		require.ErrorAs(t, err, &ce)
		require.Equal(t, ContextError{PromptTokens: n, ContextSize: size}, *ce)
		require.ErrorContains(t, err, strconv.Itoa(n))
		require.ErrorContains(t, err, strconv.Itoa(size))
	}

	c := say(t, e, user(""), llms.WithMaxTokens(3))
	require.NotZero(t, usage(c).PromptTokens, "an empty message is still a prompt")
	_, err := e.GenerateContent(t.Context(), nil)
	require.ErrorContains(t, err, "without messages")
	require.NotEmpty(t, say(t, e, user("Say hi.")).Content, "the engine still works")
}

// Batches of one size or another give the same counts, and a reply.
func TestRealSmallBatches(t *testing.T) {
	for _, batch := range []int{1, 7, 2048} {
		e := open(t, testmodel.Tiny, func(c *Config) { c.ContextSize, c.BatchSize = 256, batch })
		c := say(t, e, promptTokens(t, e, 60), llms.WithMaxTokens(2))
		require.Equal(t, 60, usage(c).EvaluatedTokens)
	}
}

func TestRealCancelDuringPrefill(t *testing.T) {
	e := open(t, testmodel.Tiny)
	const n = 3 * prefillChunk
	messages := promptTokens(t, e, n)
	ctx, cancel := context.WithCancel(t.Context())
	var at time.Time
	_, err := e.GenerateContent(ctx, messages, WithProgress(func(done, total int) {
		if at.IsZero() {
			require.Equal(t, n, total)
			at = time.Now()
			cancel()
		}
	}))
	took := time.Since(at)
	require.ErrorIs(t, err, context.Canceled)

	rest := usage(say(t, e, messages, llms.WithMaxTokens(1)))
	require.GreaterOrEqual(t, rest.CachedTokens, prefillChunk, "what was computed is kept")
	require.LessOrEqual(t, rest.CachedTokens, prefillChunk+microBatch, "at most one micro-batch more was computed")
	whole := rest.Prefill * n / time.Duration(rest.EvaluatedTokens)
	require.Less(t, took, whole, "cancelling takes less than the prefill")
}

func TestRealTimeout(t *testing.T) {
	e := open(t, testmodel.Tiny, func(c *Config) { c.RequestTimeout = time.Millisecond })
	_, err := e.GenerateContent(t.Context(), user(strings.Repeat("word ", 300)))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "request_timeout (1ms)")

	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errFake)
	_, err = e.GenerateContent(ctx, user("hi"))
	require.ErrorIs(t, err, errFake, "the caller's own reason")
}

// rss is the resident memory in bytes, 0 where the system does not tell.
func rss() int {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	pages, _ := strconv.Atoi(strings.Fields(string(b))[1])
	return pages * os.Getpagesize()
}

// cancelAndResend cancels a call after its first token and sends it again.
func cancelAndResend(e *Engine) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	_, err := e.GenerateContent(ctx, user("Tell me a story."), llms.WithStreamingFunc(func(context.Context, []byte) error { cancel(); return nil }))
	if !errors.Is(err, context.Canceled) {
		return err
	}
	_, err = e.GenerateContent(context.Background(), user("Tell me a story."), llms.WithMaxTokens(2))
	return err
}

func TestRealTwentyRounds(t *testing.T) {
	path := testmodel.Path(t, testmodel.Tiny)
	var goroutines, bytes int
	for round := 1; round <= 20; round++ {
		e, err := Open(t.Context(), Config{ModelPath: path, ContextSize: 256, Threads: 1, MaxTokens: 64})
		require.NoError(t, err)
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				if err := cancelAndResend(e); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		started, ended := make(chan struct{}), make(chan error, 1)
		go func() {
			var once sync.Once
			_, err := e.GenerateContent(context.Background(), user("Count to a thousand."), llms.WithMaxTokens(200),
				llms.WithStreamingFunc(func(context.Context, []byte) error { once.Do(func() { close(started) }); return nil }))
			ended <- err
		}()
		await(t, started, "first token")
		require.NoError(t, e.Close())
		require.ErrorIs(t, await(t, ended, "end of the call"), ErrClosed)
		if round == 6 || round == 20 {
			debug.FreeOSMemory()
			if round == 6 {
				goroutines, bytes = runtime.NumGoroutine(), rss()
			}
		}
	}
	require.LessOrEqual(t, runtime.NumGoroutine(), goroutines)
	// An engine is 150 MB, its context 30; the allocator keeps some of what was freed for each of its threads.
	require.Less(t, rss()-bytes, 64<<20, "resident memory grows")
}
