//go:build cgo && !nollama

package engine

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/llama-agent/llama-agent/engine/llama"
	"github.com/llama-agent/llama-agent/internal/testgguf"
	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/llms"
	"golang.org/x/sync/errgroup"
)

// builtModel is a model with random weights. exact: going back gives the same bits, because nothing depends on where its
// cells are.
type builtModel struct {
	name  string
	file  testgguf.File
	exact bool
}

func builtModels() []builtModel {
	return []builtModel{
		{"mamba", testgguf.Mamba(), true},
		{"lfm2", testgguf.LFM2(), false},
		{"lfm2 with a window", testgguf.LFM2Window(24), false},
		{"gemma3", testgguf.Gemma3(24), false},
	}
}

// eachBuilt runs a test with every model; open gives a new engine on it.
func eachBuilt(t *testing.T, test func(t *testing.T, m builtModel, open func(dir string, adjust ...func(*Config)) (*Engine, *tap))) {
	t.Parallel()
	for _, m := range builtModels() {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			path := m.file.Write(t, "tiny.gguf")
			test(t, m, func(dir string, adjust ...func(*Config)) (*Engine, *tap) {
				return openKept(t, dir, append([]func(*Config){func(c *Config) {
					c.ModelPath, c.ContextSize, c.KVCacheType, c.FlashAttention = path, 4096, "f32", "off" // little rounding
				}}, adjust...)...)
			})
		})
	}
}

// requireRows compares the logits of all tokens of a reply.
func requireRows(t *testing.T, m builtModel, want, got [][]float32) {
	t.Helper()
	require.Len(t, got, len(want))
	if m.exact {
		require.Equal(t, want, got)
	}
	for i := range want {
		for j := range want[i] {
			require.Less(t, math.Abs(float64(want[i][j]-got[i][j])), 0.005, "token %d", i)
		}
	}
}

// cold is the reply to a question and the logits of its tokens in an engine that has computed nothing before.
func cold(t *testing.T, open func(string, ...func(*Config)) (*Engine, *tap), messages []llms.MessageContent) (string, [][]float32, Usage) {
	t.Helper()
	e, rows := open("")
	c := say(t, e, messages)
	require.NoError(t, e.Close())
	return c.Content, rows.rows, usage(c)
}

// Replies and logits are those of a cold engine, whatever was asked before, and few tokens are computed for them.
func TestRealStatesChangeNothing(t *testing.T) {
	eachBuilt(t, func(t *testing.T, m builtModel, open func(string, ...func(*Config)) (*Engine, *tap)) {
		text, rows, u := cold(t, open, question("Where?"))
		require.Zero(t, u.CachedTokens)
		require.Greater(t, u.PromptTokens, 800)
		long := question("Where?", llms.TextParts(llms.ChatMessageTypeHuman, "Where?"), llms.TextParts(llms.ChatMessageTypeAI, "In other words than it was said."))
		longText, longRows, _ := cold(t, open, long)

		e, warm := open("")
		ask := func(messages []llms.MessageContent) (string, [][]float32, Usage) {
			warm.rows = nil
			c := say(t, e, messages)
			return c.Content, warm.rows, usage(c)
		}
		for _, q := range []string{"Who?", "What was counted?"} {
			ask(question(q))
		}
		for what, evaluated := range map[string]int{"from a boundary": 100, "again": 1} {
			if what == "again" {
				ask(question("Where?"))
			}
			gotText, gotRows, got := ask(question("Where?"))
			require.Equal(t, text, gotText, what)
			requireRows(t, m, rows, gotRows)
			require.LessOrEqual(t, got.EvaluatedTokens, evaluated, what)
			require.Equal(t, u.PromptTokens, got.CachedTokens+got.EvaluatedTokens)
		}
		gotText, gotRows, got := ask(long)
		require.Equal(t, longText, gotText)
		require.Less(t, got.EvaluatedTokens, 150)
		m.exact = false // the boundary before the last token of the shorter prompt cuts the batches elsewhere
		requireRows(t, m, longRows, gotRows)

		// Calls beside each other.
		var g errgroup.Group
		for i := range 9 {
			q, want := "Where?", text
			if i%3 == 2 {
				q, want = "Who?", ""
			}
			g.Go(func() error {
				resp, err := e.GenerateContent(t.Context(), question(q))
				if err == nil && want != "" && resp.Choices[0].Content != want {
					err = fmt.Errorf("%q, not %q", resp.Choices[0].Content, want)
				}
				return err
			})
		}
		require.NoError(t, g.Wait())
	})
}

// The same after calls that were cancelled in their prompt and in their reply, and after the cells were needed for others.
func TestRealStatesAfterTrouble(t *testing.T) {
	eachBuilt(t, func(t *testing.T, m builtModel, open func(string, ...func(*Config)) (*Engine, *tap)) {
		text, rows, _ := cold(t, open, question("Where?"))
		e, warm := open("", func(c *Config) { c.ContextSize = 2048 })
		check := func(what string) Usage {
			warm.rows = nil
			c := say(t, e, question("Where?"))
			require.Equal(t, text, c.Content, what)
			requireRows(t, m, rows, warm.rows)
			return usage(c)
		}
		check("first")
		for range 5 {
			ctx, cancel := context.WithCancel(t.Context())
			_, err := e.GenerateContent(ctx, question("Who? "+strings.Repeat("ba du ", 100)), WithProgress(func(int, int) { cancel() }))
			require.ErrorIs(t, err, context.Canceled)
			ctx, cancel = context.WithCancel(t.Context())
			_, err = e.GenerateContent(ctx, question("Where?"), llms.WithMaxTokens(200), llms.WithStreamingFunc(func(context.Context, []byte) error {
				cancel()
				return nil
			}))
			require.ErrorIs(t, err, context.Canceled)
			require.Less(t, check("after cancelled calls").EvaluatedTokens, 100)
		}
		for i := range 3 {
			say(t, e, user(strings.Repeat(fmt.Sprint(i), 1500)))
		}
		check("after others needed the cells")
		require.Less(t, check("again").EvaluatedTokens, 100)
	})
}

// Another process takes states, and the windows of layers, from disk; with the same bits.
func TestRealStatesOnDisk(t *testing.T) {
	t.Parallel()
	for _, m := range []builtModel{{name: "mamba", file: testgguf.Mamba()}, {name: "lfm2", file: testgguf.LFM2()}, {name: "gemma3", file: testgguf.Gemma3(300)}} {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			path, dir := m.file.Write(t, "tiny.gguf"), t.TempDir()
			open := func(dir string, _ ...func(*Config)) (*Engine, *tap) {
				return openKept(t, dir, func(c *Config) {
					c.ModelPath, c.ContextSize = path, 4096
					// The store does not trust the times of a file that has just been written.
					c.Now = func() time.Time { return time.Now().Add(time.Hour) }
				})
			}
			writer, _ := open(dir)
			require.True(t, keepable(writer.model.Info()))
			say(t, writer, question("Who?"))
			require.NoError(t, writer.Close())
			text, rows, _ := cold(t, open, question("Where?"))
			reader, warm := open(dir)
			c := say(t, reader, question("Where?"))
			require.Equal(t, text, c.Content)
			require.Equal(t, rows, warm.rows, "all logits")
			u := usage(c)
			require.Greater(t, u.RestoredTokens*10, u.PromptTokens*8)
			require.Equal(t, u.PromptTokens, u.CachedTokens+u.EvaluatedTokens)
		})
	}
	t.Run("a window shorter than a chunk", func(t *testing.T) {
		t.Parallel()
		dir, path := t.TempDir(), testgguf.Gemma3(24).Write(t, "tiny.gguf")
		for range 2 {
			e, err := Open(t.Context(), Config{ModelPath: path, ContextSize: 4096, Threads: 1, MaxTokens: 4, KVStorePath: dir, KVStoreMaxBytes: 1 << 30})
			require.NoError(t, err)
			require.Zero(t, usage(say(t, e, question("Who?"))).RestoredTokens)
			require.NoError(t, e.Close())
		}
	})
}

// Random calls, some cancelled, some beside others, leave the memory as the engine believes it to be.
func TestRealStatesSoak(t *testing.T) {
	eachBuilt(t, func(t *testing.T, _ builtModel, open func(string, ...func(*Config)) (*Engine, *tap)) {
		e, _ := open("", func(c *Config) { c.ContextSize, c.StateMaxBytes, c.MaxTokens = 1024, 200_000, 6 })
		var g errgroup.Group
		for worker := range 3 {
			g.Go(func() error {
				random := rand.New(rand.NewPCG(uint64(worker), 1))
				for range 60 {
					messages := []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeSystem, strings.Repeat("ba", 40+20*random.IntN(3)))}
					for range 1 + random.IntN(3) {
						messages = append(messages, llms.TextParts(llms.ChatMessageTypeHuman, strings.Repeat("du", 20+random.IntN(3))), llms.TextParts(llms.ChatMessageTypeAI, "ke"))
					}
					ctx, cancel := context.WithCancel(t.Context())
					var options []llms.CallOption
					switch random.IntN(4) {
					case 0:
						options = append(options, WithProgress(func(int, int) { cancel() }))
					case 1:
						options = append(options, llms.WithStreamingFunc(func(context.Context, []byte) error { cancel(); return nil }))
					}
					_, err := e.GenerateContent(ctx, messages[:len(messages)-1], options...)
					if err != nil && ctx.Err() == nil {
						cancel()
						return err
					}
					cancel()
				}
				return nil
			})
		}
		require.NoError(t, g.Wait())
		s := e.Stats()
		require.LessOrEqual(t, s.StateBytes, int64(200_000))
		free := e.free
		e.free = func() {} // what it held can be looked at
		require.NoError(t, e.Close())
		defer free()
		c := e.sched.mem.(*llama.Context)
		for i, seq := range e.sched.cache.seqs {
			require.False(t, seq.busy)
			if !seq.lost {
				require.Equal(t, len(seq.tokens)-1, c.SeqPosMax(i))
			}
			require.True(t, c.SeqRemove(i, 0, -1))
			require.Equal(t, -1, c.SeqPosMax(i))
		}
	})
}
