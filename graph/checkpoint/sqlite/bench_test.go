package sqlite_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/graph/checkpoint"
	"github.com/llama-agent/llama-agent/graph/checkpoint/sqlite"
)

func threadName(i int) string { return fmt.Sprintf("thread-%06d", i) }

// many stores n threads of so many checkpoints, each of which appends 100 bytes.
func many(t testing.TB, s *sqlite.Saver, n, checkpoints int) {
	t.Helper()
	var batch []checkpoint.Boundary
	for i := range n {
		batch = append(batch, thread(threadName(i), checkpoints)...)
		if len(batch) >= 1000 || i == n-1 {
			require.NoError(t, s.Save(context.Background(), batch...))
			batch = batch[:0]
		}
	}
}

// thread returns the boundaries of a thread; each appends 100 bytes to a list.
func thread(name string, n int) (bs []checkpoint.Boundary) {
	item := []byte(fmt.Sprintf("[%q]", fmt.Sprintf("%096d", 1)))
	for seq := int64(1); seq <= int64(n); seq++ {
		b := checkpoint.Boundary{
			Checkpoint: checkpoint.Checkpoint{
				Info: checkpoint.Info{Thread: name, ID: fmt.Sprintf("01890a5d-ac96-774b-bcce-%012x", seq), Seq: seq, ParentSeq: seq - 1,
					Step: int(seq), Source: checkpoint.SourceLoop, Nodes: []string{"node"}, Next: []string{"node"}, Time: clock},
				Run: "01890a5d-ac96-774b-bcce-b302099a8057", Shape: "shape", Channels: map[string]int64{"list": seq, "count": seq},
				Tasks: []checkpoint.Task{{ID: "0123456789abcdef01234567", Node: "node"}},
			},
			Values: []checkpoint.Value{{Channel: "count", Data: []byte("1")}, {Channel: "list", Delta: true, Prev: seq - 1, Data: item}},
			Labels: map[string]string{"goal": "measure"}, ShapeText: "shape",
		}
		if seq > 1 {
			b.Checkpoint.Parent = fmt.Sprintf("01890a5d-ac96-774b-bcce-%012x", seq-1)
			b.Results = []checkpoint.Result{{Task: "0123456789abcdef01234567", Node: "node", Done: true,
				Writes: []checkpoint.Write{{Channel: "list", Op: "add", Data: item}}}}
			b.Labels = nil
		}
		bs = append(bs, b)
	}
	return bs
}

// timed runs op until the benchmark ends, each time after undo, and reports the median.
func timed(b *testing.B, op func(i int), undo func(i int)) {
	b.Helper()
	b.ReportAllocs()
	var times []time.Duration
	for i := 0; b.Loop(); i++ {
		start := time.Now()
		op(i)
		times = append(times, time.Since(start))
		if undo != nil {
			b.StopTimer()
			undo(i)
			b.StartTimer()
		}
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2]), "p50-ns")
	b.ReportMetric(float64(times[len(times)*99/100]), "p99-ns")
}

// BenchmarkManyThreads measures what users do with a file of 10,000 threads.
func BenchmarkManyThreads(b *testing.B) {
	const threads, checkpoints = 10_000, 5
	ctx := context.Background()
	s, err := sqlite.Open(ctx, filepath.Join(b.TempDir(), "many.sqlite"), sqlite.Options{})
	require.NoError(b, err)
	defer func() { require.NoError(b, s.Close()) }()
	many(b, s, threads, checkpoints)
	check := func(ok bool, err error) {
		if err != nil || !ok {
			b.Fatal(ok, err)
		}
	}
	b.Run("list/first20", func(b *testing.B) {
		timed(b, func(int) {
			got, err := s.Threads(ctx, checkpoint.ThreadQuery{Limit: 20})
			check(len(got) == 20, err)
		}, nil)
	})
	b.Run("list/page100", func(b *testing.B) {
		var before int64
		timed(b, func(int) {
			got, err := s.Threads(ctx, checkpoint.ThreadQuery{Limit: 100, Before: before})
			check(len(got) == 100 || len(got) == 0, err)
			if before = 0; len(got) > 0 {
				before = got[len(got)-1].Change
			}
		}, nil)
	})
	b.Run("list/all", func(b *testing.B) {
		timed(b, func(int) {
			got, err := s.Threads(ctx, checkpoint.ThreadQuery{})
			check(len(got) == threads, err)
		}, nil)
	})
	b.Run("list/label", func(b *testing.B) {
		timed(b, func(int) {
			got, err := s.Threads(ctx, checkpoint.ThreadQuery{Limit: 20, Labels: map[string]string{"goal": "measure"}})
			check(len(got) == 20, err)
		}, nil)
	})
	b.Run("resume", func(b *testing.B) {
		timed(b, func(i int) {
			got, err := s.Load(ctx, checkpoint.Ref{Thread: threadName(i * 7919 % threads)})
			check(err == nil && len(got.Values["list"]) == checkpoints, err)
		}, nil)
	})
	b.Run("delete", func(b *testing.B) {
		timed(b, func(i int) {
			_, err := s.DeleteThread(ctx, threadName(i*7919%threads))
			check(true, err)
		}, func(i int) {
			check(true, s.Save(ctx, thread(threadName(i*7919%threads), checkpoints)...))
		})
	})
	b.Run("copy", func(b *testing.B) {
		timed(b, func(i int) {
			check(true, s.CopyThread(ctx, threadName(i*7919%threads), "copy"))
		}, func(int) {
			_, err := s.DeleteThread(ctx, "copy")
			check(true, err)
		})
	})
}

// BenchmarkLoad measures loading a thread whose list grew by one item a step.
func BenchmarkLoad(b *testing.B) {
	for _, n := range []int{10, 200, 1000, 10_000} {
		b.Run(fmt.Sprint("deltas=", n), func(b *testing.B) {
			s, err := sqlite.Open(context.Background(), filepath.Join(b.TempDir(), "x.sqlite"), sqlite.Options{})
			require.NoError(b, err)
			defer func() { require.NoError(b, s.Close()) }()
			require.NoError(b, s.Save(context.Background(), thread("t", n)...))
			timed(b, func(int) {
				got, err := s.Load(context.Background(), checkpoint.Ref{Thread: "t"})
				if err != nil || len(got.Values["list"]) != n {
					b.Fatal(err)
				}
			}, nil)
		})
	}
}
