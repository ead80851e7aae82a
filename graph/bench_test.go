package graph_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/graph"
	"github.com/llama-agent/llama-agent/graph/checkpoint"
	"github.com/llama-agent/llama-agent/graph/checkpoint/sqlite"
)

// The same graphs are built for LangGraph in benchmark/peers/langgraph/bench.py, under the same names and with the same units;
// scripts/bench_graph.sh runs both in turn.

// message is what agents append each step.
type message struct {
	ID      string `json:"id"`
	Role    string `json:"role"`
	Content string `json:"content"`
}

var dialog = graph.Append[message]("dialog")

// growingLoop returns a graph of one node that runs n times, each time adding to list what add returns.
func growingLoop(b testing.TB, opts graph.Options, n int, list graph.Channel, add func() graph.Write) *graph.Graph {
	b.Helper()
	bl := graph.New("loop", count, list)
	bl.Node("step", func(_ context.Context, s graph.State) (graph.Update, error) {
		return graph.Update{count.Set(count.Get(s) + 1), add()}, nil
	})
	bl.Edge(graph.Start, "step")
	bl.Branch("step", func(s graph.State) []graph.Next {
		if count.Get(s) < n {
			return []graph.Next{graph.To("step")}
		}
		return nil
	}, "step")
	g, err := bl.Compile(opts)
	require.NoError(b, err)
	return g
}

// loop returns a graph of one node that runs n times and appends a string of size bytes each time.
func loop(b testing.TB, opts graph.Options, n, size int) *graph.Graph {
	b.Helper()
	item := strings.Repeat("x", size)
	return growingLoop(b, opts, n, trail, func() graph.Write { return trail.Add(item) })
}

// input is what the loops start from.
func input() graph.Update { return graph.Update{count.Set(0)} }

// BenchmarkSuperstep measures a superstep of one node without a saver, in runs of 1,000.
func BenchmarkSuperstep(b *testing.B) {
	const steps = 1000
	g := loop(b, graph.Options{}, steps, 10)
	run := func() {
		_, err := g.Invoke(b.Context(), input(), graph.MaxSteps(steps+1))
		require.NoError(b, err)
	}
	run()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	b.ResetTimer()
	for range b.N {
		run()
	}
	b.StopTimer()
	runtime.ReadMemStats(&after)
	done := float64(b.N * steps)
	b.ReportMetric(float64(b.Elapsed())/done, "ns/step")
	b.ReportMetric(float64(after.Mallocs-before.Mallocs)/done, "allocs/step")
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/done, "B/step")
}

// BenchmarkFanOut measures a superstep of 1,000 Send tasks without a saver.
func BenchmarkFanOut(b *testing.B) {
	b.ReportAllocs()
	bl := graph.New("fan", total)
	bl.Node("work", func(_ context.Context, s graph.State) (graph.Update, error) {
		return graph.Update{total.Merge(total.Get(s))}, nil
	})
	bl.Branch(graph.Start, func(graph.State) []graph.Next {
		next := make([]graph.Next, 1000)
		for i := range next {
			next[i] = graph.Send("work", graph.Update{total.Merge(i)})
		}
		return next
	}, "work")
	g, err := bl.Compile(graph.Options{})
	require.NoError(b, err)
	for b.Loop() {
		s, err := g.Invoke(b.Context(), graph.Update{})
		if err != nil || total.Get(s) != 999*1000/2 {
			b.Fatal(err, total.Get(s))
		}
	}
}

// growing are loops whose list grows, by what it grows each step. begun is called when a step begins.
var growing = []struct {
	name  string
	build func(b testing.TB, opts graph.Options, n int, begun func()) *graph.Graph
}{
	{"text-100B", growingTexts(100)},
	{"text-1kB", growingTexts(1000)},
	{"message-1kB", func(b testing.TB, opts graph.Options, n int, begun func()) *graph.Graph {
		b.Helper()
		content := strings.Repeat("x", 1000)
		return growingLoop(b, opts, n, dialog, func() graph.Write {
			begun()
			return dialog.Add(message{ID: fmt.Sprintf("%036d", n), Role: "assistant", Content: content})
		})
	}},
}

func growingTexts(size int) func(testing.TB, graph.Options, int, func()) *graph.Graph {
	return func(b testing.TB, opts graph.Options, n int, begun func()) *graph.Graph {
		b.Helper()
		item := strings.Repeat("x", size)
		return growingLoop(b, opts, n, trail, func() graph.Write { begun(); return trail.Add(item) })
	}
}

// BenchmarkBoundary measures the time from one step to the next in threads of 200 steps whose boundaries go to a SQLite file.
func BenchmarkBoundary(b *testing.B) {
	for _, level := range []sqlite.Synchronous{sqlite.Full, sqlite.Normal} {
		for _, grow := range growing {
			b.Run(fmt.Sprintf("%s/%s", level, grow.name), func(b *testing.B) {
				s := openFile(b, filepath.Join(b.TempDir(), "bench.sqlite"), level)
				var begun []time.Time
				g := grow.build(b, graph.Options{Saver: s}, 200, func() { begun = append(begun, time.Now()) })
				run := func(thread string) {
					_, err := g.Invoke(b.Context(), input(), graph.Thread(thread), graph.MaxSteps(201))
					require.NoError(b, err)
				}
				run("warm up")
				var times []time.Duration
				b.ReportAllocs()
				b.ResetTimer()
				for i := range b.N {
					begun = begun[:0]
					run(fmt.Sprint(i))
					for j := range begun[1:] {
						times = append(times, begun[j+1].Sub(begun[j]))
					}
				}
				b.StopTimer()
				require.NoError(b, s.Close())
				reportTimes(b, times)
			})
		}
	}
}

// BenchmarkDisk measures what a boundary with synchronous=FULL can't take less than: writing the pages that changed and syncing.
func BenchmarkDisk(b *testing.B) {
	f, err := os.Create(filepath.Join(b.TempDir(), "log"))
	require.NoError(b, err)
	defer func() { require.NoError(b, f.Close()) }()
	pages := make([]byte, 3*2072)
	var times []time.Duration
	for range 200 * b.N {
		start := time.Now()
		_, err := f.Write(pages)
		require.NoError(b, err)
		require.NoError(b, f.Sync())
		times = append(times, time.Since(start))
	}
	reportTimes(b, times)
}

func openFile(b testing.TB, path string, level sqlite.Synchronous) *sqlite.Saver {
	b.Helper()
	s, err := sqlite.Open(b.Context(), path, sqlite.Options{Synchronous: level})
	require.NoError(b, err)
	return s
}

func reportTimes(b *testing.B, times []time.Duration) {
	b.Helper()
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2]), "p50-ns")
	b.ReportMetric(float64(times[len(times)*99/100]), "p99-ns")
}

// BenchmarkFileSize reports the bytes of a closed file with one thread of 50 to 200 steps. What it measures is no time.
func BenchmarkFileSize(b *testing.B) {
	for _, grow := range growing {
		b.Run(grow.name, func(b *testing.B) {
			for range b.N {
				for steps := 50; steps <= 200; steps += 50 {
					path := filepath.Join(b.TempDir(), fmt.Sprint(steps, ".sqlite"))
					s := openFile(b, path, sqlite.Off)
					g := grow.build(b, graph.Options{Saver: s}, steps, func() {})
					_, err := g.Invoke(b.Context(), input(), graph.Thread("t"), graph.MaxSteps(steps+1))
					require.NoError(b, err)
					require.NoError(b, s.Close()) // merges the log into the file
					b.ReportMetric(float64(fileSize(path)), fmt.Sprintf("bytes-%d", steps))
				}
			}
		})
	}
}

// fileSize returns the bytes of a database and its log.
func fileSize(path string) (n int64) {
	for _, suffix := range []string{"", "-wal"} {
		if fi, err := os.Stat(path + suffix); err == nil {
			n += fi.Size()
		}
	}
	return n
}

// BenchmarkManyThreads measures what users do with a file of 10,000 threads of 5 steps.
func BenchmarkManyThreads(b *testing.B) {
	const threads, steps = 10_000, 5
	path := filepath.Join(b.TempDir(), "many.sqlite")
	fillThreads(b, path, threads, steps)
	s := openFile(b, path, sqlite.Full)
	defer func() { require.NoError(b, s.Close()) }()
	g := loop(b, graph.Options{Saver: s}, steps, 100)
	measure := func(name string, op, undo func(thread string) error) {
		b.Run(name, func(b *testing.B) {
			var times []time.Duration
			for i := range b.N {
				thread := fmt.Sprint("t", i*7919%threads)
				start := time.Now()
				err := op(thread)
				times = append(times, time.Since(start))
				require.NoError(b, err)
				require.NoError(b, undo(thread))
			}
			reportTimes(b, times)
		})
	}
	nothing := func(string) error { return nil }
	measure("list", func(string) error {
		_, err := s.Threads(b.Context(), checkpoint.ThreadQuery{Limit: 20})
		return err
	}, nothing)
	measure("resume", func(thread string) error {
		_, err := g.State(b.Context(), thread)
		return err
	}, nothing)
	measure("delete", func(thread string) error {
		_, err := s.DeleteThread(b.Context(), thread)
		return err
	}, func(thread string) error { return s.CopyThread(b.Context(), "t", thread) })
}

// fillThreads stores the threads t0, t1 and so on, all copies of thread t.
func fillThreads(b *testing.B, path string, threads, steps int) {
	b.Helper()
	s := openFile(b, path, sqlite.Off)
	g := loop(b, graph.Options{Saver: s}, steps, 100)
	_, err := g.Invoke(b.Context(), input(), graph.Thread("t"))
	require.NoError(b, err)
	for i := range threads {
		require.NoError(b, s.CopyThread(b.Context(), "t", fmt.Sprint("t", i)))
	}
	require.NoError(b, s.Close())
}

// BenchmarkIdleThread reports what a thread of 5 steps costs while nothing runs in it: heap with a saver in memory, and bytes
// of a file, of which nothing is in memory. What it measures is no time.
func BenchmarkIdleThread(b *testing.B) {
	const threads, steps = 2000, 5
	heap := func() float64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	for range b.N {
		m := checkpoint.NewMemory()
		g := loop(b, graph.Options{Saver: m}, steps, 100)
		before := heap()
		for i := range threads {
			_, err := g.Invoke(b.Context(), input(), graph.Thread(fmt.Sprint("t", i)))
			require.NoError(b, err)
		}
		b.ReportMetric((heap()-before)/threads, "heap-B/thread")
		runtime.KeepAlive(m)

		path := filepath.Join(b.TempDir(), "idle.sqlite")
		fillThreads(b, path, threads, steps)
		b.ReportMetric(float64(fileSize(path))/threads, "file-B/thread")
	}
}

// BenchmarkResume measures loading a thread of 200 steps and finding that nothing is due.
func BenchmarkResume(b *testing.B) {
	s := openFile(b, filepath.Join(b.TempDir(), "bench.sqlite"), sqlite.Off)
	defer func() { require.NoError(b, s.Close()) }()
	g := loop(b, graph.Options{Saver: s}, 200, 100)
	_, err := g.Invoke(b.Context(), input(), graph.Thread("t"), graph.MaxSteps(201))
	require.NoError(b, err)
	for b.Loop() {
		snap, err := g.State(b.Context(), "t")
		if err != nil || len(trail.Get(snap.State)) != 200 {
			b.Fatal(err)
		}
	}
}

// BenchmarkHistory measures listing all states of a thread of 200 steps.
func BenchmarkHistory(b *testing.B) {
	s := openFile(b, filepath.Join(b.TempDir(), "bench.sqlite"), sqlite.Off)
	defer func() { require.NoError(b, s.Close()) }()
	g := loop(b, graph.Options{Saver: s}, 200, 100)
	_, err := g.Invoke(b.Context(), input(), graph.Thread("t"), graph.MaxSteps(201))
	require.NoError(b, err)
	for b.Loop() {
		n := 0
		for _, err := range g.History(b.Context(), "t") {
			require.NoError(b, err)
			n++
		}
		require.Equal(b, 202, n)
	}
}
