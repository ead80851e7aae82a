//go:build cgo && !nollama

package engine

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/llama-agent/llama-agent/internal/testmodel"
	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/llms"
)

// benchEngine has the model of BENCH_MODEL, a path, or the starter model, with the settings of the program and the threads
// of BENCH_THREADS.
func benchEngine(b *testing.B) *Engine {
	path := os.Getenv("BENCH_MODEL")
	if path == "" {
		path = testmodel.Path(b, testmodel.Starter)
	}
	threads, _ := strconv.Atoi(os.Getenv("BENCH_THREADS")) // none: the default
	e, err := Open(b.Context(), Config{ModelPath: path, ContextSize: 4096, Threads: threads})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, e.Close()) })
	_, err = e.GenerateContent(b.Context(), user("Warm up."), llms.WithMaxTokens(8))
	require.NoError(b, err)
	return e
}

// BenchmarkDecode reports sampled tokens a second, greedy, after the prompt.
func BenchmarkDecode(b *testing.B) {
	e := benchEngine(b)
	var tokens int
	var spent time.Duration
	for b.Loop() {
		resp, err := e.GenerateContent(b.Context(), user("Write a long story about a river."), llms.WithMaxTokens(64))
		require.NoError(b, err)
		u := UsageOf(resp)
		tokens += u.CompletionTokens - 1 // the first one comes out of the prefill
		spent += u.Decode
	}
	b.ReportMetric(float64(tokens)/spent.Seconds(), "tokens/s")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkParallel reports sampled tokens a second of four calls at once, and how many times that of one call it is.
func BenchmarkParallel(b *testing.B) {
	e := benchEngine(b)
	const calls, tokens = 4, 48
	say := func(i int) (time.Time, time.Time) {
		var first, last time.Time
		_, err := e.GenerateContent(b.Context(), user(fmt.Sprintf("Write a long story about river %d.", i)), llms.WithMaxTokens(tokens),
			llms.WithStreamingFunc(func(context.Context, []byte) error {
				if last = time.Now(); first.IsZero() {
					first = last
				}
				return nil
			}))
		require.NoError(b, err)
		return first, last
	}
	// What all of n calls do between their first tokens and their last ones, prefill left out.
	together := func(n int) time.Duration {
		type span struct{ first, last time.Time }
		spans := make([]span, n)
		var g sync.WaitGroup
		for i := range n {
			g.Go(func() { spans[i].first, spans[i].last = say(i) })
		}
		g.Wait()
		from, to := spans[0].first, spans[0].last
		for _, s := range spans {
			if s.first.After(from) {
				from = s.first
			}
			if s.last.After(to) {
				to = s.last
			}
		}
		return to.Sub(from)
	}
	together(calls) // the prompts are cached
	var one, four time.Duration
	n := 0
	for b.Loop() {
		n++
		one += together(1)
		four += together(calls)
	}
	b.ReportMetric(float64(n*calls*tokens)/four.Seconds(), "tokens/s")
	b.ReportMetric(calls*float64(one)/float64(four), "x-of-one")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkPrefill reports prompt tokens a second, without those that are cached, and the time to the first token.
func BenchmarkPrefill(b *testing.B) {
	e := benchEngine(b)
	var tokens, n int
	var spent, ttft time.Duration
	for b.Loop() {
		n++
		text := fmt.Sprintf("%d. ", n) + strings.Repeat("The miller counted his stones. ", 60)
		resp, err := e.GenerateContent(b.Context(), user(text), llms.WithMaxTokens(1))
		require.NoError(b, err)
		u := UsageOf(resp)
		tokens += u.EvaluatedTokens
		spent += u.Prefill
		ttft += u.TTFT
	}
	b.ReportMetric(float64(tokens)/spent.Seconds(), "tokens/s")
	b.ReportMetric(float64(ttft.Milliseconds())/float64(n), "ms-to-first-token")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkFirstToken reports the time to the first token of a process's first call, the loading of the model left out:
// with what an earlier process kept of the prompt but its last message, and without.
func BenchmarkFirstToken(b *testing.B) {
	model := os.Getenv("BENCH_MODEL")
	if model == "" {
		model = testmodel.Path(b, testmodel.Starter)
	}
	dir := b.TempDir()
	messages := func(question string) []llms.MessageContent {
		return []llms.MessageContent{
			llms.TextParts(llms.ChatMessageTypeSystem, "You answer shortly. "+strings.Repeat("The miller counted his stones. ", 150)),
			llms.TextParts(llms.ChatMessageTypeHuman, question),
		}
	}
	first := func(b *testing.B, dir, question string) Usage {
		e, _ := openKept(b, dir, func(c *Config) {
			c.ModelPath, c.ContextSize = model, 4096
			c.Threads, _ = strconv.Atoi(os.Getenv("BENCH_THREADS")) // none: the default
		})
		resp, err := e.GenerateContent(b.Context(), messages(question), llms.WithMaxTokens(1))
		require.NoError(b, err)
		require.NoError(b, e.Close())
		return UsageOf(resp)
	}
	first(b, dir, "How many?")
	for name, dir := range map[string]string{"computed": "", "restored": dir} {
		b.Run(name, func(b *testing.B) {
			var u Usage
			n := 0
			for b.Loop() {
				n++
				u = u.Add(first(b, dir, fmt.Sprintf("What was counted, and by whom? %d", n)))
			}
			b.ReportMetric(float64(u.TTFT.Milliseconds())/float64(n), "ms-to-first-token")
			b.ReportMetric(float64(u.EvaluatedTokens)/float64(n), "evaluated")
			b.ReportMetric(0, "ns/op")
		})
	}
}
