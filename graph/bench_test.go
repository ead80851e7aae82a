package graph_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/graph"
	"github.com/llama-agent/llama-agent/graph/checkpoint/sqlite"
)

// loop returns a graph of one node that runs n times and appends size bytes each time.
func loop(b testing.TB, opts graph.Options, n, size int) *graph.Graph {
	b.Helper()
	item := string(make([]byte, 0, size))
	for len(item) < size {
		item += "x"
	}
	bl := graph.New("loop", count, trail)
	bl.Node("step", func(_ context.Context, s graph.State) (graph.Update, error) {
		return graph.Update{count.Set(count.Get(s) + 1), trail.Add(item)}, nil
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

// BenchmarkSuperstep measures a superstep of one node without a saver.
func BenchmarkSuperstep(b *testing.B) {
	b.ReportAllocs()
	g := loop(b, graph.Options{}, b.N, 10)
	b.ResetTimer()
	_, err := g.Invoke(context.Background(), graph.Update{}, graph.MaxSteps(b.N+1))
	require.NoError(b, err)
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
		s, err := g.Invoke(context.Background(), graph.Update{})
		if err != nil || total.Get(s) != 999*1000/2 {
			b.Fatal(err, total.Get(s))
		}
	}
}

// BenchmarkBoundarySQLite measures a superstep whose boundary goes to a SQLite file, of a graph that appends 100 bytes each
// step. Besides the mean it reports the median and the 99th percentile of the time between boundaries, in nanoseconds, and the
// bytes that the file grows by per boundary.
func BenchmarkBoundarySQLite(b *testing.B) {
	for _, level := range []sqlite.Synchronous{sqlite.Full, sqlite.Normal, sqlite.Off} {
		b.Run(fmt.Sprintf("synchronous=%s", level), func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "bench.sqlite")
			s, err := sqlite.Open(context.Background(), path, sqlite.Options{Synchronous: level})
			require.NoError(b, err)
			g := loop(b, graph.Options{Saver: s}, b.N, 100)
			times := make([]time.Duration, 0, b.N)
			b.ResetTimer()
			last := time.Now()
			for ev, err := range g.Stream(context.Background(), graph.Update{}, graph.Thread("t"), graph.Modes(graph.Checkpoints), graph.MaxSteps(b.N+1)) {
				if err != nil {
					b.Fatal(err)
				}
				now := time.Now()
				if ev.Checkpoint.Step > 0 {
					times = append(times, now.Sub(last))
				}
				last = now
			}
			b.StopTimer()
			require.NoError(b, s.Close()) // merges the log into the file
			slices.Sort(times)
			b.ReportMetric(float64(times[len(times)/2]), "p50-ns")
			b.ReportMetric(float64(times[len(times)*99/100]), "p99-ns")
			b.ReportMetric(float64(fileSize(path))/float64(b.N), "bytes/boundary")
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

// BenchmarkResume measures loading a thread of 200 steps and finding that nothing is due.
func BenchmarkResume(b *testing.B) {
	s, err := sqlite.Open(context.Background(), filepath.Join(b.TempDir(), "bench.sqlite"), sqlite.Options{Synchronous: sqlite.Off})
	require.NoError(b, err)
	defer func() { require.NoError(b, s.Close()) }()
	g := loop(b, graph.Options{Saver: s}, 200, 100)
	_, err = g.Invoke(context.Background(), graph.Update{}, graph.Thread("t"), graph.MaxSteps(201))
	require.NoError(b, err)
	for b.Loop() {
		snap, err := g.State(context.Background(), "t")
		if err != nil || len(trail.Get(snap.State)) != 200 {
			b.Fatal(err)
		}
	}
}
