package engine

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/llama-agent/llama-agent/engine/llama"
	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/llms"
	"go.uber.org/goleak"
	"golang.org/x/sync/errgroup"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) {
	if runRole() {
		return
	}
	goleak.VerifyTestMain(m)
}

func TestParallelCallsGetTheirOwnText(t *testing.T) {
	t.Parallel()
	r := newRig(t, 4096, nil)
	var g errgroup.Group
	for i := range 24 {
		text := fmt.Sprintf("question %d %s", i%8, strings.Repeat("x", 7*(i%8)))
		g.Go(func() error {
			got, u, err := r.ask(t.Context(), text)
			if err != nil {
				return err
			}
			if got != want(text) {
				return fmt.Errorf("%q: got %q, not %q", text, got, want(text))
			}
			if u.CachedTokens+u.EvaluatedTokens != u.PromptTokens || u.CompletionTokens != len(got) {
				return fmt.Errorf("%q: %+v", text, u)
			}
			return nil
		})
	}
	require.NoError(t, g.Wait())
}

func TestPrefixReuse(t *testing.T) {
	t.Parallel()
	r := newRig(t, 4096, nil)
	long := strings.Repeat("p", 200)
	reply, u, err := r.ask(t.Context(), long)
	require.NoError(t, err)
	require.Zero(t, u.CachedTokens)
	require.Equal(t, u.PromptTokens, u.EvaluatedTokens)

	_, again, err := r.ask(t.Context(), long)
	require.NoError(t, err)
	require.Equal(t, 1, again.EvaluatedTokens, "all but the token whose logits are needed is cached")
	require.Equal(t, u.PromptTokens-1, again.CachedTokens)

	conversation := append(user(long), llms.TextParts(llms.ChatMessageTypeAI, reply), llms.TextParts(llms.ChatMessageTypeHuman, "and now?"))
	resp, err := r.GenerateContent(t.Context(), conversation)
	require.NoError(t, err)
	next := UsageOf(resp)
	require.GreaterOrEqual(t, next.CachedTokens, u.PromptTokens+len(reply)-1, "the reply is cached too")
	require.Equal(t, next.PromptTokens, next.CachedTokens+next.EvaluatedTokens)

	// The branches of a conversation do not push each other out.
	for i := range 3 {
		_, _, err := r.ask(t.Context(), long+fmt.Sprint(i))
		require.NoError(t, err)
	}
	resp, err = r.GenerateContent(t.Context(), conversation)
	require.NoError(t, err)
	require.Equal(t, 1, UsageOf(resp).EvaluatedTokens)
}

func TestRunningPrefixIsShared(t *testing.T) {
	t.Parallel()
	prefix := strings.Repeat("s", 100)
	inReply, proceed := make(chan struct{}), make(chan struct{})
	var once sync.Once
	r := newRig(t, 4096, nil)
	done := make(chan error, 1)
	go func() {
		got, _, err := r.ask(t.Context(), prefix+"1", llms.WithStreamingFunc(func(context.Context, []byte) error {
			once.Do(func() { close(inReply); <-proceed })
			return nil
		}))
		if err == nil && got != want(prefix+"1") {
			err = fmt.Errorf("got %q", got)
		}
		done <- err
	}()
	await(t, inReply, "first token")
	got, u, err := r.ask(t.Context(), prefix+"2")
	require.NoError(t, err)
	require.Equal(t, want(prefix+"2"), got)
	require.Greater(t, u.CachedTokens, 100)
	close(proceed)
	require.NoError(t, await(t, done, "end of the first call"))
}

func TestEvictionMakesRoom(t *testing.T) {
	t.Parallel()
	r := newRig(t, 256, nil)
	for i := range 12 {
		text := strings.Repeat(string(rune('a'+i)), 100)
		got, u, err := r.ask(t.Context(), text)
		require.NoError(t, err)
		require.Equal(t, want(text), got)
		require.Less(t, u.CachedTokens, 40)
	}
	require.LessOrEqual(t, r.Stats().CachedTokens, 256)
	require.Positive(t, r.Stats().CachedTokens)
}

func TestCallsWaitForRoom(t *testing.T) {
	t.Parallel()
	r := newRig(t, 300, nil)
	var g errgroup.Group
	for i := range 6 {
		text := strings.Repeat(string(rune('a'+i)), 120)
		g.Go(func() error {
			got, _, err := r.ask(t.Context(), text, llms.WithMaxTokens(60))
			if err == nil && got != want(text) {
				err = fmt.Errorf("got %q, not %q", got, want(text))
			}
			return err
		})
	}
	require.NoError(t, g.Wait())
}

// A mark in a prompt that tests stop at.
const marked = 'M'

// stopAt makes the memory signal when it comes to a micro-batch with the mark, and wait until the test goes on.
func stopAt(r *rig) (reached, proceed chan struct{}) {
	reached, proceed = make(chan struct{}, 1), make(chan struct{})
	r.mem.micro = 1
	r.mem.before = func(first llama.Token, _ int) {
		if first == marked {
			reached <- struct{}{}
			<-proceed
		}
	}
	return reached, proceed
}

func TestCancelDuringPrefill(t *testing.T) {
	t.Parallel()
	var reached, proceed chan struct{}
	r := newRig(t, 4096, func(r *rig, c *Config) { reached, proceed = stopAt(r); c.BatchSize = 512 })
	ctx, cancel := context.WithCancel(t.Context())
	text := strings.Repeat("a", 60) + string(marked) + strings.Repeat("b", 60)
	done := make(chan error, 1)
	go func() {
		_, _, err := r.ask(ctx, text)
		done <- err
	}()
	await(t, reached, "prefill")
	cancel()
	// The abort is noticed by the memory before its next micro-batch.
	require.Eventually(t, r.mem.aborted.Load, soon, soon/1e6)
	close(proceed)
	require.ErrorIs(t, await(t, done, "end of the call"), context.Canceled)

	r.mem.before = nil
	got, u, err := r.ask(t.Context(), text)
	require.NoError(t, err)
	require.Equal(t, want(text), got)
	require.Greater(t, u.CachedTokens, 60, "what was computed before the cancellation is kept")
	require.Less(t, u.CachedTokens, 100, "the rest was not computed")
	require.Equal(t, u.PromptTokens, u.CachedTokens+u.EvaluatedTokens)
}

func TestCancelDuringDecode(t *testing.T) {
	t.Parallel()
	r := newRig(t, 4096, func(r *rig, _ *Config) { r.model.reply = func(string) string { return strings.Repeat("y", 400) } })
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		tokens := 0
		_, _, err := r.ask(ctx, "hi", llms.WithMaxTokens(400), llms.WithStreamingFunc(func(context.Context, []byte) error {
			tokens++
			cancel()
			return nil
		}))
		require.ErrorIs(t, err, context.Canceled)
		require.Less(t, tokens, 400)
	}
	got, _, err := r.ask(t.Context(), "hi", llms.WithMaxTokens(400))
	require.NoError(t, err)
	require.Len(t, got, 400)
}

func TestCancelWhileWaiting(t *testing.T) {
	t.Parallel()
	var reached, proceed chan struct{}
	r := newRig(t, 4096, func(r *rig, c *Config) { reached, proceed = stopAt(r); c.Parallel = 1 })
	first := make(chan error, 1)
	go func() {
		_, _, err := r.ask(t.Context(), string(marked))
		first <- err
	}()
	await(t, reached, "prefill")
	ctx, cancel := context.WithCancel(t.Context())
	second := make(chan error, 1)
	go func() {
		_, _, err := r.ask(ctx, "never computed")
		second <- err
	}()
	cancel()
	require.ErrorIs(t, await(t, second, "end of the waiting call"), context.Canceled)
	close(proceed)
	require.NoError(t, await(t, first, "end of the first call"))
}

// An abort that was meant for one call hits the batch of all.
func TestAbortLeavesOthersAlone(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		t.Run(fmt.Sprint(kind), func(t *testing.T) {
			t.Parallel()
			n, every := 0, 11
			if !cuttable(kind) {
				every = 1999 // an abort costs whole prompts and replies
			}
			r := newRig(t, 4096, func(r *rig, _ *Config) {
				r.mem.kind = kind
				r.mem.micro = 1
				r.mem.before = func(llama.Token, int) {
					if n++; n%every == 0 {
						r.mem.Abort()
					}
				}
			})
			var g errgroup.Group
			for i := range 9 {
				text := strings.Repeat(string(rune('a'+i)), 5+20*i)
				g.Go(func() error {
					got, u, err := r.ask(t.Context(), text)
					if err == nil && got != want(text) {
						err = fmt.Errorf("got %q, not %q", got, want(text))
					}
					if err == nil && u.CachedTokens+u.EvaluatedTokens != u.PromptTokens {
						err = fmt.Errorf("%+v", u)
					}
					return err
				})
			}
			require.NoError(t, g.Wait())
		})
	}
}

func TestDecodeErrorFailsTheBatchOnly(t *testing.T) {
	t.Parallel()
	for _, err := range []error{llama.ErrDecode, llama.ErrBatch} {
		var fail bool
		r := newRig(t, 4096, func(r *rig, _ *Config) {
			r.mem.decodeErr = func(b *llama.Batch) error {
				if fail && b.Len() > 1 {
					fail = false
					return err
				}
				return nil
			}
		})
		_, _, e := r.ask(t.Context(), "before")
		require.NoError(t, e)
		fail = true
		_, _, e = r.ask(t.Context(), "fails")
		require.ErrorIs(t, e, err)
		got, u, e := r.ask(t.Context(), "fails")
		require.NoError(t, e)
		require.Equal(t, want("fails"), got)
		require.Equal(t, u.PromptTokens, u.CachedTokens+u.EvaluatedTokens)
	}
}

func TestMemoryWithoutRoomFailsOneCall(t *testing.T) {
	t.Parallel()
	full := false
	r := newRig(t, 4096, func(r *rig, _ *Config) {
		r.mem.decodeErr = func(*llama.Batch) error {
			if full {
				return llama.ErrNoRoom
			}
			return nil
		}
	})
	_, _, err := r.ask(t.Context(), "one")
	require.NoError(t, err)
	full = true
	_, _, err = r.ask(t.Context(), "two")
	require.ErrorIs(t, err, llama.ErrNoRoom)
	require.ErrorContains(t, err, "4096")
	full = false
	got, _, err := r.ask(t.Context(), "two")
	require.NoError(t, err)
	require.Equal(t, want("two"), got)
}

func TestSamplerErrors(t *testing.T) {
	t.Parallel()
	r := newRig(t, 4096, func(r *rig, _ *Config) { r.model.newErr = errFake })
	for range 20 { // more often than there are sequences
		_, _, err := r.ask(t.Context(), "hi")
		require.ErrorIs(t, err, errFake)
	}
	r.model.newErr = nil
	got, _, err := r.ask(t.Context(), "hi")
	require.NoError(t, err)
	require.Equal(t, want("hi"), got)
}

func TestCloseDuringWork(t *testing.T) {
	t.Parallel()
	var reached, proceed chan struct{}
	r := newRig(t, 4096, func(r *rig, c *Config) { reached, proceed = stopAt(r); c.BatchSize = 1024 })
	const calls = 6 // more than are computed at once
	errs := make(chan error, calls)
	for range calls {
		go func() {
			_, _, err := r.ask(t.Context(), string(marked)+strings.Repeat("x", 100))
			errs <- err
		}()
	}
	await(t, reached, "prefill")
	closed := make(chan error, 2)
	for range 2 {
		go func() { closed <- r.Close() }()
	}
	require.Eventually(t, r.mem.aborted.Load, soon, soon/1e6)
	require.Empty(t, closed, "Close waits")
	require.Zero(t, r.freed.Load())
	r.mem.before = nil // read by the owner only after it went on
	close(proceed)
	for range calls {
		require.ErrorIs(t, await(t, errs, "end of a call"), ErrClosed)
	}
	for range 2 {
		require.NoError(t, await(t, closed, "end of Close"))
	}
	_, _, err := r.ask(t.Context(), "late")
	require.ErrorIs(t, err, ErrClosed)
	_, err = r.CountTokens(t.Context(), user("late"))
	require.ErrorIs(t, err, ErrClosed)
	require.Equal(t, 4096, r.ContextSize())
	require.Equal(t, "fake", r.Info().Description)
	require.ErrorIs(t, r.sched.submit(&request{ctx: t.Context()}), ErrClosed)
}

func TestStreamingErrorEndsTheCall(t *testing.T) {
	t.Parallel()
	r := newRig(t, 4096, func(r *rig, _ *Config) { r.model.reply = func(string) string { return strings.Repeat("z", 30) } })
	for _, at := range []int{1, 15, 30} { // at 30 the scheduler is already done with the call
		n := 0
		_, _, err := r.ask(t.Context(), "hi", llms.WithStreamingFunc(func(context.Context, []byte) error {
			if n++; n == at {
				return errFake
			}
			return nil
		}))
		require.ErrorIs(t, err, errFake, "at token %d", at)
		require.Equal(t, at, n, "nothing is streamed after the error")
	}
}

// ended reports whether a request's last event is there, without waiting.
func ended(r *request) bool {
	for {
		select {
		case e := <-r.events:
			if e.end {
				return true
			}
		default:
			return false
		}
	}
}

func TestLongPromptsDontStallOthers(t *testing.T) {
	t.Parallel()
	mem := newFakeMemory(8192, 64, 4)
	mem.threads = 1
	m := &fakeModel{mem: mem, reply: func(string) string { return "0123456789" }}
	s := newScheduler(m, mem, Config{Threads: 1, Parallel: 2}.withDefaults())
	add := func(prompt string) *request {
		tokens, err := m.Tokenize(prompt, false, false)
		require.NoError(t, err)
		r := &request{ctx: t.Context(), prompt: tokens, maxTokens: 20, events: make(chan event, 500), queued: s.now()}
		s.waiting = append(s.waiting, r)
		return r
	}
	step := func() { s.admit(); s.tick() }

	long := add(strings.Repeat("l", 2000))
	step()
	require.Equal(t, 64, long.done)
	short := add("short")
	for steps := 1; !ended(short); steps++ {
		require.LessOrEqual(t, steps, 14, "the short call waits for the long prompt")
		before := long.done
		step()
		if long.done < 2000 {
			require.Greater(t, long.done, before, "the long prompt goes on beside it")
			require.LessOrEqual(t, long.done-before, 64)
		}
	}
	require.Empty(t, mem.faults)
}

// A step with several threads that hangs is computed by one.
func TestSlowStepsAreGivenUp(t *testing.T) {
	t.Parallel()
	slow := 0
	r := newRig(t, 4096, func(r *rig, c *Config) {
		c.Threads = 2
		r.model.reply = func(string) string { return strings.Repeat("z", 200) }
		r.mem.before = func(_ llama.Token, n int) {
			if n != 1 || r.mem.single == 1 {
				return
			}
			for slow++; !r.mem.aborted.Load(); {
				runtime.Gosched() // as long as nobody gives up
			}
		}
	})
	got, _, err := r.ask(t.Context(), "hi", llms.WithMaxTokens(300))
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("z", 200), got)
	require.Positive(t, slow)
	require.Equal(t, 1, r.sched.threads.class(1).threads)
}

func TestProgress(t *testing.T) {
	t.Parallel()
	r := newRig(t, 4096, nil)
	var got [][2]int
	_, u, err := r.ask(t.Context(), strings.Repeat("q", 200), WithProgress(func(done, total int) { got = append(got, [2]int{done, total}) }))
	require.NoError(t, err)
	require.NotEmpty(t, got)
	last := 0
	for _, p := range got {
		require.Greater(t, p[0], last)
		require.Equal(t, u.PromptTokens, p[1])
		last = p[0]
	}
	require.Equal(t, u.PromptTokens, last)
}

// Whatever calls come, in whatever order and with whatever cancellations, each gets the right text.
func TestSchedulerProperty(t *testing.T) {
	t.Parallel()
	words := rapid.SliceOfN(rapid.SampledFrom([]string{"aa", "ab", "b", strings.Repeat("c", 30), "d"}), 0, 6)
	rapid.Check(t, func(rt *rapid.T) {
		kind := rapid.SampledFrom(kinds).Draw(rt, "kind")
		abortEvery := rapid.IntRange(5, 60).Draw(rt, "abortEvery")
		if !cuttable(kind) {
			abortEvery *= 400 // an abort costs whole prompts and replies
		}
		n := 0
		r := forcingRig(t, rapid.IntRange(260, 800).Draw(rt, "size"), func(r *rig, c *Config) {
			c.BatchSize = rapid.IntRange(1, 64).Draw(rt, "batch")
			c.Parallel = rapid.IntRange(1, 3).Draw(rt, "parallel")
			r.mem.micro = rapid.IntRange(1, 16).Draw(rt, "micro")
			r.mem.kind = kind
			r.mem.before = func(llama.Token, int) {
				if n++; n%abortEvery == 0 {
					r.mem.Abort()
				}
			}
		})
		var g errgroup.Group
		for range rapid.IntRange(1, 8).Draw(rt, "calls") {
			text := strings.Join(words.Draw(rt, "words"), " ")
			cancelAt := rapid.IntRange(0, 12).Draw(rt, "cancelAt")
			options := []llms.CallOption{llms.WithMaxTokens(70)}
			if rapid.Bool().Draw(rt, "constrained") {
				options = append(options, anySchema)
			}
			g.Go(func() error {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				tokens := 0
				got, _, err := r.ask(ctx, text, append(options, llms.WithStreamingFunc(func(context.Context, []byte) error {
					if tokens++; tokens == cancelAt {
						cancel()
					}
					return nil
				}))...)
				if err != nil && ctx.Err() != nil {
					return nil
				}
				if want := named(promptOf(text)); err == nil && got != want {
					err = fmt.Errorf("%q: got %q, not %q", text, got, want)
				}
				return err
			})
		}
		require.NoError(rt, g.Wait())
		require.NoError(rt, r.Close())
		require.Empty(rt, r.mem.faults)
	})
}
