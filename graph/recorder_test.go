package graph_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/graph"
	"github.com/llama-agent/llama-agent/graph/checkpoint"
	"github.com/llama-agent/llama-agent/graph/checkpoint/sqlite"
)

// steps describes a thread's history, oldest first.
func steps(t *testing.T, g *graph.Graph, thread string) []string {
	t.Helper()
	var out []string
	for snap, err := range g.History(t.Context(), thread) {
		require.NoError(t, err)
		cp := snap.Checkpoint
		out = append([]string{fmt.Sprintf("%d %s %v %v next %v", cp.Step, cp.Source, cp.Nodes, trail.Get(snap.State), snap.Next)}, out...)
	}
	return out
}

func TestHistory(t *testing.T) {
	t.Parallel()
	savers(t, func(t *testing.T, s checkpoint.Saver) {
		g := chain(t, graph.Options{Saver: s}, "a", "b")
		for range 2 {
			_, err := g.Invoke(t.Context(), graph.Update{trail.Add("in")}, graph.Thread("t"))
			require.NoError(t, err)
		}
		require.Equal(t, []string{
			"-1 input [] [] next [__start__]",
			"0 loop [__start__] [in] next [a]",
			"1 loop [a] [in a] next [b]",
			"2 loop [b] [in a b] next []",
			"3 input [] [in a b] next [__start__]",
			"4 loop [__start__] [in a b in] next [a]",
			"5 loop [a] [in a b in a] next [b]",
			"6 loop [b] [in a b in a b] next []",
		}, steps(t, g, "t"))
		for snap, err := range g.History(t.Context(), "t") {
			require.NoError(t, err)
			for _, task := range snap.Tasks {
				require.True(t, task.Done)
				require.NotEmpty(t, trail.In(task.Update))
			}
			require.Positive(t, snap.Checkpoint.Bytes)
		}
		for _, err := range g.History(t.Context(), "nobody") {
			require.ErrorIs(t, err, graph.ErrUnknownThread)
		}
	})
}

func TestDurability(t *testing.T) {
	t.Parallel()
	savers(t, func(t *testing.T, s checkpoint.Saver) {
		boom := errors.New("boom")
		var fail atomic.Bool
		b := graph.New("durability", trail, total, hint)
		b.Node("a", func(context.Context, graph.State) (graph.Update, error) {
			return graph.Update{trail.Add("a"), total.Merge(1), hint.Set("h")}, nil
		})
		b.Node("b", func(_ context.Context, st graph.State) (graph.Update, error) {
			return graph.Update{trail.Add("b" + hint.Get(st)), total.Merge(1)}, nil
		})
		b.Node("c", func(context.Context, graph.State) (graph.Update, error) {
			if fail.Load() {
				return nil, boom
			}
			return graph.Update{trail.Add("c")}, nil
		})
		b.Edge(graph.Start, "a").Edge("a", "b").Edge("b", "c")
		g, err := b.Compile(graph.Options{Saver: s})
		require.NoError(t, err)
		for _, mode := range []graph.Durability{graph.Sync, graph.Async, graph.Exit} {
			thread := string(mode)
			fail.Store(true)
			_, err := g.Invoke(t.Context(), graph.Update{trail.Add("in")}, graph.Thread(thread), graph.WithDurability(mode))
			require.ErrorIs(t, err, boom)
			snap, err := g.State(t.Context(), thread)
			require.NoError(t, err)
			require.Equal(t, []string{"in", "a", "bh"}, trail.Get(snap.State), mode)
			require.Equal(t, 2, total.Get(snap.State))
			require.Equal(t, []string{"c"}, snap.Next)
			require.Contains(t, snap.Tasks[0].Error, "boom")
			_, ok := hint.Lookup(snap.State)
			require.False(t, ok)
			want := 4
			if mode == graph.Exit {
				want = 1
			}
			require.Len(t, steps(t, g, thread), want, mode)
			fail.Store(false)
			st, err := g.Invoke(t.Context(), nil, graph.Thread(thread), graph.WithDurability(mode))
			require.NoError(t, err)
			require.Equal(t, []string{"in", "a", "bh", "c"}, trail.Get(st))
			snap, err = g.State(t.Context(), thread)
			require.NoError(t, err)
			require.Equal(t, 3, snap.Checkpoint.Step)
			require.Equal(t, []string{"in", "a", "bh", "c"}, trail.Get(snap.State))
		}
	})
}

func TestExitKeepsQuestions(t *testing.T) {
	t.Parallel()
	g, effects := approval(t, checkpoint.NewMemory())
	th, exit := graph.Thread("t"), graph.WithDurability(graph.Exit)
	_, err := g.Invoke(t.Context(), graph.Update{}, th, exit)
	var stop *graph.InterruptedError
	require.ErrorAs(t, err, &stop)
	_, err = g.Invoke(t.Context(), nil, th, exit, graph.Answer(stop.Questions[0].ID, true), graph.Answer(stop.Questions[1].ID, true))
	require.NoError(t, err)
	require.EqualValues(t, 1, effects["counter"].Load())
}

func TestFork(t *testing.T) {
	t.Parallel()
	savers(t, func(t *testing.T, s checkpoint.Saver) {
		ran := 0
		b := graph.New("fork", count, trail)
		b.Node("a", note("a")).Node("b", func(ctx context.Context, st graph.State) (graph.Update, error) {
			_, err := graph.Once(ctx, "effect", func(context.Context) (int, error) { ran++; return ran, nil })
			return graph.Update{trail.Add(fmt.Sprint("b", count.Get(st)))}, err
		})
		b.Edge(graph.Start, "a").Edge("a", "b")
		g, err := b.Compile(graph.Options{Saver: s})
		require.NoError(t, err)
		th := graph.Thread("t")
		_, err = g.Invoke(t.Context(), graph.Update{count.Set(1)}, th)
		require.NoError(t, err)
		var before string // the checkpoint after a
		for snap, err := range g.History(t.Context(), "t") {
			require.NoError(t, err)
			if snap.Checkpoint.Step == 1 {
				before = snap.Checkpoint.ID
			}
		}
		st, err := g.Invoke(t.Context(), nil, th, graph.FromCheckpoint(before))
		require.NoError(t, err)
		require.Equal(t, []string{"a", "b1"}, trail.Get(st))
		require.Equal(t, 2, ran, "a fork has effects of its own")

		info, err := g.UpdateState(t.Context(), "t", "", graph.Update{count.Set(9)}, graph.FromCheckpoint(before))
		require.NoError(t, err)
		require.Equal(t, before, info.Parent)
		require.Equal(t, checkpoint.SourceUpdate, info.Source)
		require.Equal(t, []string{"b"}, info.Next, "what follows a, which ran last, is due")
		st, err = g.Invoke(t.Context(), nil, th)
		require.NoError(t, err)
		require.Equal(t, []string{"a", "b9"}, trail.Get(st))
		snap, err := g.StateAt(t.Context(), "t", before)
		require.NoError(t, err)
		require.Equal(t, 1, count.Get(snap.State), "the old branch stays as it was")

		first := ""
		for snap := range g.History(t.Context(), "t") {
			first = snap.Checkpoint.ID
		}
		st, err = g.Invoke(t.Context(), nil, th, graph.FromCheckpoint(first))
		require.NoError(t, err, "the input itself can be run again")
		require.Equal(t, []string{"a", "b1"}, trail.Get(st))
		_, err = g.Invoke(t.Context(), nil, th, graph.FromCheckpoint("ghost"))
		require.ErrorIs(t, err, checkpoint.ErrNotFound)
	})
}

func TestUpdateState(t *testing.T) {
	t.Parallel()
	savers(t, func(t *testing.T, s checkpoint.Saver) {
		g := chain(t, graph.Options{Saver: s}, "a", "b", "c")
		_, err := g.UpdateState(t.Context(), "new", "", graph.Update{trail.Add("seed")})
		require.NoError(t, err)
		require.Equal(t, []string{"0 update [__start__] [seed] next [a]"}, steps(t, g, "new"))
		_, err = g.UpdateState(t.Context(), "new", "b", graph.Update{trail.Add("as b")}, graph.Labels(map[string]string{"edited": "yes"}))
		require.NoError(t, err)
		st, err := g.Invoke(t.Context(), nil, graph.Thread("new"))
		require.NoError(t, err)
		require.Equal(t, []string{"seed", "as b", "c"}, trail.Get(st))
		_, err = g.UpdateState(t.Context(), "new", "ghost", nil)
		require.ErrorContains(t, err, `"ghost"`)
		_, err = g.UpdateState(t.Context(), "", "a", nil)
		require.ErrorIs(t, err, graph.ErrNoThread)
		_, err = chain(t, graph.Options{}, "a").UpdateState(t.Context(), "t", "a", nil)
		require.ErrorIs(t, err, graph.ErrNoSaver)
	})
}

func TestOtherShape(t *testing.T) {
	t.Parallel()
	savers(t, func(t *testing.T, s checkpoint.Saver) {
		fail := errors.New("not yet")
		build := func(node string, channels ...graph.Channel) *graph.Graph {
			b := graph.New("shape", channels...)
			b.Node("a", note("a")).Node(node, func(context.Context, graph.State) (graph.Update, error) { return nil, fail })
			g, err := b.Edge(graph.Start, "a").Edge("a", node).Compile(graph.Options{Saver: s})
			require.NoError(t, err)
			return g
		}
		_, err := build("b", trail, count).Invoke(t.Context(), graph.Update{count.Set(1)}, graph.Thread("t"))
		require.ErrorIs(t, err, fail)
		next := build("b", trail, total)
		_, err = next.Invoke(t.Context(), nil, graph.Thread("t"))
		var shape *graph.ShapeError
		require.ErrorAs(t, err, &shape)
		require.ErrorContains(t, err, `channel "count": value of int is gone`)
		require.ErrorContains(t, err, `channel "total": reduced of int is new`)
		_, err = next.Invoke(t.Context(), nil, graph.Thread("t"), graph.AllowOtherShape())
		require.ErrorIs(t, err, fail)
		_, err = build("renamed", trail, count).Invoke(t.Context(), nil, graph.Thread("t"), graph.AllowOtherShape())
		var unknown *graph.UnknownNodeError
		require.ErrorAs(t, err, &unknown, "a node that is due must exist")
		_, err = build("b", trail, graph.Value[[]string]("count")).Invoke(t.Context(), nil, graph.Thread("t"), graph.AllowOtherShape())
		var codec *graph.CodecError
		require.ErrorAs(t, err, &codec, "another type must fit what is stored")
		require.Equal(t, "count", codec.Channel)

		_, err = next.UpdateState(t.Context(), "t", "a", nil, graph.AllowOtherShape())
		require.NoError(t, err)
		_, err = next.Invoke(t.Context(), nil, graph.Thread("t"))
		require.ErrorIs(t, err, fail, "from its first boundary on the thread is one of the new graph")
		_, err = next.UpdateState(t.Context(), "t", "a", graph.Update{trail.Add("more")})
		require.NoError(t, err)
		_, err = build("b", total, graph.Value[[]string]("trail")).Invoke(t.Context(), nil, graph.Thread("t"), graph.AllowOtherShape())
		require.ErrorAs(t, err, &codec, "the last items of a list must not pass for all of it")
		require.Equal(t, "trail", codec.Channel)
	})
}

func TestValueThatCannotBeStored(t *testing.T) {
	t.Parallel()
	ratio := graph.Value[float64]("ratio")
	acc := graph.Reduced("acc", func(a, b float64) float64 { return a * b })
	bad := math.NaN()
	s := checkpoint.NewMemory()
	b := graph.New("codec", ratio, acc, trail)
	b.Node("n", func(context.Context, graph.State) (graph.Update, error) { return graph.Update{ratio.Set(bad)}, nil })
	g, err := b.Edge(graph.Start, "n").Compile(graph.Options{Saver: s})
	require.NoError(t, err)
	for _, mode := range []graph.Durability{graph.Sync, graph.Async} {
		_, err = g.Invoke(t.Context(), graph.Update{}, graph.Thread(string(mode)), graph.WithDurability(mode))
		var codec *graph.CodecError
		require.ErrorAs(t, err, &codec)
		require.ErrorContains(t, err, `"ratio"`)
		require.ErrorContains(t, err, `node "n"`)
		snap, err := g.State(t.Context(), string(mode))
		require.NoError(t, err)
		require.Equal(t, 0, snap.Checkpoint.Step)
	}
}

func TestThreadHasOneOwner(t *testing.T) {
	t.Parallel()
	savers(t, func(t *testing.T, s checkpoint.Saver) {
		started, release := make(chan struct{}), make(chan struct{})
		first := true
		g := single(t, func(context.Context, graph.State) (graph.Update, error) {
			if first {
				first = false
				close(started)
				<-release
			}
			return nil, nil
		}, graph.Options{Saver: s})
		done := make(chan error)
		go func() {
			// A term much shorter than the run: renewing must keep others out.
			_, err := g.Invoke(context.Background(), graph.Update{}, graph.Thread("t"), graph.Lease("worker 7", time.Second))
			done <- err
		}()
		<-started
		time.Sleep(1500 * time.Millisecond)
		_, err := g.Invoke(t.Context(), nil, graph.Thread("t"))
		var busy *checkpoint.BusyError
		require.ErrorAs(t, err, &busy)
		require.ErrorIs(t, err, graph.ErrThreadBusy)
		require.Equal(t, "worker 7", busy.Owner)
		_, err = g.UpdateState(t.Context(), "t", "n", nil)
		require.ErrorIs(t, err, graph.ErrThreadBusy)
		_, err = g.State(t.Context(), "t")
		require.NoError(t, err, "reading is free")
		_, err = g.Invoke(t.Context(), graph.Update{}, graph.Thread("other"))
		require.NoError(t, err)
		close(release)
		require.NoError(t, <-done)
		_, err = g.UpdateState(t.Context(), "t", "n", nil)
		require.NoError(t, err)
	})
}

func TestLostLeaseStopsTheRun(t *testing.T) {
	t.Parallel()
	savers(t, func(t *testing.T, s checkpoint.Saver) {
		leaser := s.(checkpoint.Leaser)
		g := single(t, func(ctx context.Context, _ graph.State) (graph.Update, error) {
			far := time.Now().Add(time.Hour) // as another host would after the lease expired
			err := leaser.Acquire(ctx, checkpoint.Lease{Thread: "t", Token: "thief", Acquired: far, Expires: far.Add(time.Hour)})
			if err != nil {
				return nil, err
			}
			<-ctx.Done()
			return nil, ctx.Err()
		}, graph.Options{Saver: s})
		_, err := g.Invoke(t.Context(), graph.Update{}, graph.Thread("t"), graph.Lease("", 30*time.Millisecond))
		require.ErrorIs(t, err, checkpoint.ErrLeaseLost)
		snap, err := g.State(t.Context(), "t")
		require.NoError(t, err)
		require.Equal(t, 0, snap.Checkpoint.Step)
	})
}

func TestStateAsJSON(t *testing.T) {
	t.Parallel()
	blob := graph.Value[[]byte]("blob", graph.WithCodec(rawCodec{}))
	g, err := graph.New("json", trail, count, blob).Node("n", noop).Edge(graph.Start, "n").Compile(graph.Options{Saver: checkpoint.NewMemory()})
	require.NoError(t, err)
	s, err := g.Invoke(t.Context(), graph.Update{trail.Add("<&>"), blob.Set([]byte{1, 2, 255})}, graph.Thread("t"))
	require.NoError(t, err)
	data, err := json.Marshal(s)
	require.NoError(t, err)
	require.JSONEq(t, `{"trail":["<&>"],"blob":"AQL/"}`, string(data))
	require.Equal(t, []string{"trail", "blob"}, s.Channels())
	snap, err := g.State(t.Context(), "t")
	require.NoError(t, err)
	require.Equal(t, []byte{1, 2, 255}, blob.Get(snap.State), "a codec of one's own round-trips")
	data, err = json.Marshal(graph.State{})
	require.NoError(t, err)
	require.JSONEq(t, `{}`, string(data))
	require.Empty(t, trail.Get(graph.State{}))
}

// rawCodec stores bytes as they are.
type rawCodec struct{}

func (rawCodec) Encode(v any) ([]byte, error) { return v.([]byte), nil }

func (rawCodec) Decode(data []byte, into any) error {
	*into.(*[]byte) = append([]byte(nil), data...)
	return nil
}

// TestStorageGrowsWithWhatChanges runs 40 steps of 100 KB each, one of them twice the same: the file must stay near the size of
// the data, and shrink when old checkpoints go.
func TestStorageGrowsWithWhatChanges(t *testing.T) {
	t.Parallel()
	const n, size = 40, 100_000
	path := filepath.Join(t.TempDir(), "growth.sqlite")
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{Synchronous: sqlite.Off})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	scratch := graph.Value[string]("scratch")
	b := graph.New("growth", count, trail, scratch)
	b.Node("tool", func(_ context.Context, st graph.State) (graph.Update, error) {
		i := count.Get(st)
		if i == 7 {
			i = 6 // the same result again
		}
		result := strings.Repeat(fmt.Sprintf("result %06d ", i), size/14)
		return graph.Update{count.Set(count.Get(st) + 1), trail.Add(result), scratch.Set(result)}, nil
	})
	b.Edge(graph.Start, "tool").Branch("tool", func(st graph.State) []graph.Next {
		if count.Get(st) < n {
			return []graph.Next{graph.To("tool")}
		}
		return nil
	}, "tool")
	g, err := b.Compile(graph.Options{Saver: s})
	require.NoError(t, err)
	var sizes []int64
	for ev, err := range g.Stream(t.Context(), graph.Update{}, graph.Thread("t"), graph.Modes(graph.Checkpoints)) {
		require.NoError(t, err)
		if ev.Checkpoint.Step > 0 {
			require.Greater(t, ev.Checkpoint.Bytes, int64(size))
			require.Less(t, ev.Checkpoint.Bytes, int64(5*size), "a boundary's bytes don't grow with the run")
		}
		if ev.Checkpoint.Step%10 == 0 && ev.Checkpoint.Step > 0 {
			threads, err := s.Threads(t.Context(), checkpoint.ThreadQuery{})
			require.NoError(t, err)
			sizes = append(sizes, threads[0].Bytes)
		}
	}
	data := int64((n - 1) * (size/14 + 1) * 14)
	// trail holds lists of one item, scratch the item: two values a step, each stored once for channel and result alike.
	require.Less(t, sizes[3], data*22/10)
	require.Greater(t, sizes[3], data)
	require.InDelta(t, float64(sizes[0]), float64(sizes[3]-sizes[2]), float64(sizes[0])*0.15, "growth is linear: %v", sizes)

	before := fileSize(path)
	freed, err := s.Prune(t.Context(), "t", 1)
	require.NoError(t, err)
	require.Equal(t, n+1, freed.Checkpoints)
	require.Less(t, fileSize(path), before*6/10, "scratch's old values are gone; the trail stays")
	snap, err := g.State(t.Context(), "t")
	require.NoError(t, err)
	require.Len(t, trail.Get(snap.State), n)
	_, err = g.Invoke(t.Context(), graph.Update{count.Set(n - 1)}, graph.Thread("t"))
	require.NoError(t, err, "a pruned thread goes on")
	_, err = s.DeleteThread(t.Context(), "t")
	require.NoError(t, err)
	require.Less(t, fileSize(path), int64(200_000))
}

// TestLockedDatabase holds the write lock while a run stores its boundaries: it waits, and past the limit it fails with the
// file's name and can be resumed.
func TestLockedDatabase(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "locked.sqlite")
	holder, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	require.NoError(t, err)
	require.NoError(t, holder.Close())
	for _, test := range []struct {
		limit, hold time.Duration
		fails       bool
	}{{30 * time.Second, 300 * time.Millisecond, false}, {100 * time.Millisecond, time.Hour, true}} {
		s, err := sqlite.Open(t.Context(), path, sqlite.Options{BusyTimeout: test.limit})
		require.NoError(t, err)
		thread := graph.Thread(fmt.Sprint(test.fails))
		release := func() {}
		locked := false
		g := single(t, func(ctx context.Context, _ graph.State) (graph.Update, error) {
			if !locked {
				locked = true
				release = holdLock(t, path)
				time.AfterFunc(test.hold, release)
			}
			return graph.Update{count.Set(1)}, nil
		}, graph.Options{Saver: s})
		_, err = g.Invoke(t.Context(), graph.Update{}, thread)
		release()
		if test.fails {
			require.ErrorIs(t, err, sqlite.ErrLocked)
			require.ErrorContains(t, err, "locked.sqlite")
			require.ErrorContains(t, err, "100ms")
			require.NoError(t, s.Close())
			s, err = sqlite.Open(t.Context(), path, sqlite.Options{Clock: func() time.Time { return time.Now().Add(time.Hour) }})
			require.NoError(t, err)
			g = single(t, func(context.Context, graph.State) (graph.Update, error) { return graph.Update{count.Set(2)}, nil },
				graph.Options{Saver: s, Clock: func() time.Time { return time.Now().Add(time.Hour) }})
			_, err = g.Invoke(t.Context(), nil, thread)
		}
		require.NoError(t, err)
		require.NoError(t, s.Close())
	}
	require.FileExists(t, path)
	_ = os.Remove(path)
}

// TestHistoryKnowsEveryResult: results stored while siblings ran and those stored with the boundary are both there.
func TestHistoryKnowsEveryResult(t *testing.T) {
	t.Parallel()
	savers(t, func(t *testing.T, s checkpoint.Saver) {
		const n = 50
		b := graph.New("wide", count, trail)
		b.Node("w", func(_ context.Context, st graph.State) (graph.Update, error) {
			return graph.Update{trail.Add(fmt.Sprint(count.Get(st)))}, nil
		})
		b.Branch(graph.Start, func(graph.State) (next []graph.Next) {
			for i := range n {
				next = append(next, graph.Send("w", graph.Update{count.Set(i)}))
			}
			return next
		}, "w")
		g, err := b.Compile(graph.Options{Saver: s})
		require.NoError(t, err)
		_, err = g.Invoke(t.Context(), graph.Update{}, graph.Thread("t"))
		require.NoError(t, err)
		for snap, err := range g.History(t.Context(), "t") {
			require.NoError(t, err)
			if snap.Checkpoint.Step != 0 {
				continue
			}
			require.Len(t, snap.Tasks, n)
			for i, task := range snap.Tasks {
				require.True(t, task.Done)
				require.Equal(t, []string{fmt.Sprint(i)}, trail.In(task.Update))
			}
		}
	})
}

// countingSaver counts transactions.
type countingSaver struct {
	checkpoint.Saver
	saves, results atomic.Int64
}

func (s *countingSaver) Save(ctx context.Context, bs ...checkpoint.Boundary) error {
	s.saves.Add(1)
	return s.Saver.Save(ctx, bs...)
}

func (s *countingSaver) SaveResults(ctx context.Context, set checkpoint.ResultSet) error {
	s.results.Add(1)
	return s.Saver.SaveResults(ctx, set)
}

func TestOneTransactionABoundary(t *testing.T) {
	t.Parallel()
	s := &countingSaver{Saver: checkpoint.NewMemory()}
	g := chain(t, graph.Options{Saver: s}, "a", "b", "c")
	_, err := g.Invoke(t.Context(), graph.Update{}, graph.Thread("t"))
	require.NoError(t, err, "a saver without leases and effects will do")
	require.EqualValues(t, 4, s.saves.Load(), "the input with the boundary after it, and one for each superstep")
	require.Zero(t, s.results.Load())
}

func TestShapeOfOpenBranches(t *testing.T) {
	t.Parallel()
	s := checkpoint.NewMemory()
	build := func(nodes ...string) *graph.Graph {
		b := graph.New("open", trail)
		for _, n := range nodes {
			b.Node(n, note(n))
		}
		b.Edge(graph.Start, "a").Branch("a", func(graph.State) []graph.Next { return nil })
		g, err := b.Compile(graph.Options{Saver: s})
		require.NoError(t, err)
		return g
	}
	_, err := build("a").Invoke(t.Context(), graph.Update{}, graph.Thread("t"))
	require.NoError(t, err)
	_, err = build("a", "b").Invoke(t.Context(), graph.Update{}, graph.Thread("t"))
	require.ErrorContains(t, err, `node "b" is new`)
}

func TestLabelsFromTheState(t *testing.T) {
	t.Parallel()
	savers(t, func(t *testing.T, s checkpoint.Saver) {
		lister, ok := s.(checkpoint.ThreadLister)
		if !ok {
			return
		}
		g := chain(t, graph.Options{Saver: s, Labels: func(s graph.State) map[string]string {
			return map[string]string{"length": strconv.Itoa(len(trail.Get(s))), "kind": "chain"}
		}, InterruptBefore: []string{"b"}}, "a", "b")
		labels := func() map[string]string {
			threads, err := lister.Threads(t.Context(), checkpoint.ThreadQuery{})
			require.NoError(t, err)
			return threads[0].Labels
		}
		_, err := g.Invoke(t.Context(), graph.Update{}, graph.Thread("t"), graph.Labels(map[string]string{"who": "me", "kind": "mine"}))
		require.ErrorIs(t, err, graph.ErrInterrupted)
		require.Equal(t, map[string]string{"length": "1", "kind": "chain", "who": "me"}, labels())
		_, err = g.Invoke(t.Context(), nil, graph.Thread("t"))
		require.NoError(t, err)
		require.Equal(t, "2", labels()["length"])

		bad := chain(t, graph.Options{Saver: s, Labels: func(graph.State) map[string]string { panic("oops") }}, "a")
		_, err = bad.Invoke(t.Context(), graph.Update{}, graph.Thread("u"))
		var panicked *graph.PanicError
		require.ErrorAs(t, err, &panicked)
	})
}

// unwilling is a saver that fails to save from a given call on.
type unwilling struct {
	checkpoint.Saver
	checkpoint.EffectLog
	saves atomic.Int64
	from  int64
}

func (u *unwilling) Save(ctx context.Context, bs ...checkpoint.Boundary) error {
	if u.saves.Add(1) >= u.from {
		return errors.New("no room")
	}
	return u.Saver.Save(ctx, bs...)
}

func TestEffectNeedsItsBoundaryStored(t *testing.T) {
	t.Parallel()
	for _, mode := range []graph.Durability{graph.Exit, graph.Async} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			memory := checkpoint.NewMemory()
			happened := false
			g := single(t, func(ctx context.Context, _ graph.State) (graph.Update, error) {
				_, err := graph.Once(ctx, "effect", func(context.Context) (int, error) { happened = true; return 0, nil })
				return nil, err
			}, graph.Options{Saver: &unwilling{Saver: memory, EffectLog: memory, from: 1}})
			_, err := g.Invoke(t.Context(), graph.Update{}, graph.Thread("t"), graph.WithDurability(mode))
			require.ErrorContains(t, err, "no room")
			require.False(t, happened, "an effect that a crash would forget must not happen")
			_, err = g.State(t.Context(), "t")
			require.ErrorIs(t, err, graph.ErrUnknownThread)
		})
	}
}
