// Package savertest is the conformance suite of checkpoint savers.
//
// A saver's own tests call [Run]. The suite checks the methods of [checkpoint.Saver] and, for each optional interface of package
// checkpoint that the saver implements, that one too.
package savertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/graph/checkpoint"
)

// epoch is the time of the first checkpoint in every test; savers must keep microseconds.
var epoch = time.Date(2024, 2, 29, 12, 0, 0, 123456000, time.UTC)

// Run runs the suite. open returns an empty saver that nobody else uses; it cleans up through t.
func Run(t *testing.T, open func(t *testing.T) checkpoint.Saver) {
	t.Helper()
	tests := []struct {
		name string
		run  func(*testing.T, checkpoint.Saver)
	}{
		{"RoundTrip", testRoundTrip},
		{"NotFound", testNotFound},
		{"Values", testValues},
		{"Fork", testFork},
		{"Results", testResults},
		{"SeveralBoundariesAreOne", testAtomic},
		{"List", testList},
		{"Namespaces", testNamespaces},
		{"CallerKeepsItsData", testIsolation},
		{"Concurrent", testConcurrent},
		{"Threads", testThreads},
		{"Status", testStatus},
		{"Prune", testPrune},
		{"DeleteThread", testDelete},
		{"Effects", testEffects},
		{"Lease", testLease},
		{"LeaseGuardsWrites", testFencing},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(t, open(t))
		})
	}
}

// boundary returns checkpoint seq of a thread, a child of the one before.
func boundary(thread string, seq int64) checkpoint.Boundary {
	info := checkpoint.Info{
		Thread: thread, ID: id(thread, seq), Seq: seq, Step: int(seq) - 2, Source: checkpoint.SourceLoop,
		Nodes: []string{"n" + strconv.Itoa(int(seq))}, Next: []string{"next"}, Time: epoch.Add(time.Duration(seq) * time.Second), Bytes: 7,
	}
	if seq > 1 {
		info.Parent, info.ParentSeq = id(thread, seq-1), seq-1
	}
	return checkpoint.Boundary{
		Checkpoint: checkpoint.Checkpoint{
			Info: info, Run: "run", Shape: "shape", Channels: map[string]int64{},
			Tasks: []checkpoint.Task{{ID: "task" + strconv.Itoa(int(seq)), Node: "next"}},
		},
		ShapeText: "the shape",
	}
}

func id(thread string, seq int64) string { return fmt.Sprintf("%s-%d", thread, seq) }

func save(t *testing.T, s checkpoint.Saver, bs ...checkpoint.Boundary) {
	t.Helper()
	require.NoError(t, s.Save(t.Context(), bs...))
}

func load(t *testing.T, s checkpoint.Saver, thread, id string) *checkpoint.Saved {
	t.Helper()
	saved, err := s.Load(t.Context(), checkpoint.Ref{Thread: thread, ID: id})
	require.NoError(t, err)
	return saved
}

func testRoundTrip(t *testing.T, s checkpoint.Saver) {
	b := boundary("t", 1)
	big := bytes.Repeat([]byte("0123456789"), 1000)
	b.Checkpoint.Joins = map[string][]string{"a+b→c": {"a"}}
	b.Checkpoint.Waiting = []checkpoint.Task{{Node: "last"}}
	b.Checkpoint.Tasks = []checkpoint.Task{
		{ID: "1", Node: "w", Send: true, Private: []checkpoint.Write{{Channel: "x", Op: "set", Data: []byte(`{"a":"<&>"}`)}}},
		{ID: "2", Node: "w", Send: true, Private: []checkpoint.Write{{Channel: "x", Op: "set", Data: big}, {Channel: "y", Op: "add", Data: []byte{0, 255, '"', '\n'}}}},
		{ID: "3", Node: "plain"},
	}
	b.Checkpoint.Next = []string{"w", "w", "plain"}
	b.Checkpoint.Channels = map[string]int64{"v": 1}
	b.Values = []checkpoint.Value{{Channel: "v", Data: []byte("value")}}
	save(t, s, b)

	got := load(t, s, "t", "")
	require.WithinDuration(t, b.Checkpoint.Time, got.Time, 0)
	got.Time = b.Checkpoint.Time
	require.Equal(t, b.Checkpoint, got.Checkpoint)
	require.Equal(t, map[string][][]byte{"v": {[]byte("value")}}, got.Values)
	require.Equal(t, "the shape", got.ShapeText)
	require.Empty(t, got.Results)
	require.EqualValues(t, 1, got.LastSeq)
	require.Equal(t, got.Checkpoint, load(t, s, "t", id("t", 1)).Checkpoint)
}

func testNotFound(t *testing.T, s checkpoint.Saver) {
	_, err := s.Load(t.Context(), checkpoint.Ref{Thread: "nobody"})
	require.ErrorIs(t, err, checkpoint.ErrNotFound)
	require.ErrorContains(t, err, "nobody")
	save(t, s, boundary("t", 1))
	_, err = s.Load(t.Context(), checkpoint.Ref{Thread: "t", ID: "other"})
	require.ErrorIs(t, err, checkpoint.ErrNotFound)
	require.ErrorContains(t, err, "other")
	_, err = s.Load(t.Context(), checkpoint.Ref{Thread: "t", Namespace: "sub"})
	require.ErrorIs(t, err, checkpoint.ErrNotFound)
	for info, err := range s.List(t.Context(), checkpoint.Query{Thread: "nobody"}) {
		t.Fatalf("an unknown thread has no checkpoints, got %v, %v", info, err)
	}
	require.ErrorIs(t, s.SaveResults(t.Context(), checkpoint.ResultSet{Thread: "nobody", Seq: 1}), checkpoint.ErrNotFound)
}

// grow saves n checkpoints; each appends an item to "list" and sets "last".
func grow(t *testing.T, s checkpoint.Saver, thread string, n int) {
	t.Helper()
	for seq := int64(1); seq <= int64(n); seq++ {
		b := boundary(thread, seq)
		b.Checkpoint.Channels = map[string]int64{"list": seq, "last": seq, "first": 1}
		b.Values = []checkpoint.Value{
			{Channel: "last", Data: fmt.Appendf(nil, "last%d", seq)},
			{Channel: "list", Delta: true, Prev: seq - 1, Data: fmt.Appendf(nil, "item%d", seq)},
		}
		if seq == 1 {
			b.Values = append(b.Values, checkpoint.Value{Channel: "first", Data: []byte("once")})
		}
		save(t, s, b)
	}
}

func joined(parts [][]byte) string { return string(bytes.Join(parts, []byte(" "))) }

func testValues(t *testing.T, s checkpoint.Saver) {
	grow(t, s, "t", 3)
	for seq, want := range map[int64]string{1: "item1", 2: "item1 item2", 3: "item1 item2 item3"} {
		got := load(t, s, "t", id("t", seq))
		require.Equal(t, want, joined(got.Values["list"]))
		require.Equal(t, fmt.Sprintf("last%d", seq), joined(got.Values["last"]))
		require.Equal(t, "once", joined(got.Values["first"]))
	}

	replaced := boundary("t", 4)
	replaced.Checkpoint.Channels = map[string]int64{"list": 4, "empty": 4}
	replaced.Values = []checkpoint.Value{{Channel: "list", Data: []byte("new")}, {Channel: "empty", Data: []byte{}}}
	save(t, s, replaced)
	got := load(t, s, "t", "")
	require.Len(t, got.Values, 2, "a channel that the checkpoint doesn't name has no value")
	require.Equal(t, "new", joined(got.Values["list"]))
	require.Len(t, got.Values["empty"], 1)
	require.Empty(t, got.Values["empty"][0])
}

func testFork(t *testing.T, s checkpoint.Saver) {
	grow(t, s, "t", 3)
	b := boundary("t", 4)
	b.Checkpoint.Parent, b.Checkpoint.ParentSeq = id("t", 1), 1
	b.Checkpoint.Channels = map[string]int64{"list": 4}
	b.Values = []checkpoint.Value{{Channel: "list", Delta: true, Prev: 1, Data: []byte("branch")}}
	save(t, s, b)
	got := load(t, s, "t", "")
	require.Equal(t, "item1 branch", joined(got.Values["list"]))
	require.Equal(t, id("t", 1), got.Parent)
	require.Equal(t, "item1 item2 item3", joined(load(t, s, "t", id("t", 3)).Values["list"]))
	require.EqualValues(t, 4, load(t, s, "t", id("t", 2)).LastSeq)
}

func testResults(t *testing.T, s checkpoint.Saver) {
	big := bytes.Repeat([]byte("x"), 5000)
	save(t, s, boundary("t", 1))
	one := checkpoint.Result{Task: "a", Node: "n", Done: true,
		Writes:  []checkpoint.Write{{Channel: "x", Op: "add", Data: big}, {Channel: "x", Op: "add", Data: []byte("<small>")}, {Channel: "y", Op: "set", Data: []byte{}}},
		Targets: []checkpoint.Target{{Node: "m", Send: true, Private: []checkpoint.Write{{Channel: "x", Op: "set", Data: big}}}, {Node: "k"}}}
	two := checkpoint.Result{Task: "b", Node: "q", Interrupts: []checkpoint.Interrupt{{ID: "i", Value: []byte(`{"ask":"<?>"}`)}}}
	require.NoError(t, s.SaveResults(t.Context(), checkpoint.ResultSet{Thread: "t", Seq: 1, Results: []checkpoint.Result{one, two}}))

	got := load(t, s, "t", "")
	require.Len(t, got.Results, 2)
	r, ok := got.Result("a")
	require.True(t, ok)
	requireResult(t, one, r)
	r, ok = got.Result("b")
	require.True(t, ok)
	requireResult(t, two, r)
	require.True(t, r.Pending())

	two.Answers, two.Done, two.Writes = [][]byte{[]byte(`"yes"`)}, true, one.Writes[:1]
	child := boundary("t", 2)
	child.Results = []checkpoint.Result{two, {Task: "c", Node: "n", Error: "it broke"}}
	save(t, s, child)
	require.Empty(t, load(t, s, "t", "").Results, "results belong to the parent")
	got = load(t, s, "t", id("t", 1))
	require.Len(t, got.Results, 3)
	r, _ = got.Result("b")
	requireResult(t, two, r)
	require.False(t, r.Pending())
	r, _ = got.Result("c")
	require.Equal(t, "it broke", r.Error)
}

func requireResult(t *testing.T, want, got checkpoint.Result) {
	t.Helper()
	require.Len(t, got.Writes, len(want.Writes))
	for i := range want.Writes {
		require.Equal(t, want.Writes[i].Channel, got.Writes[i].Channel)
		require.Equal(t, want.Writes[i].Op, got.Writes[i].Op)
		require.True(t, bytes.Equal(want.Writes[i].Data, got.Writes[i].Data), "write %d", i)
	}
	want.Writes, got.Writes = nil, nil
	require.Equal(t, want, got)
}

func testAtomic(t *testing.T, s checkpoint.Saver) {
	first, second := boundary("t", 1), boundary("t", 2)
	second.Results = []checkpoint.Result{{Task: "task1", Done: true}}
	save(t, s, first, second)
	require.Len(t, load(t, s, "t", id("t", 1)).Results, 1)

	taken := boundary("t", 2)
	taken.Checkpoint.ID = "another"
	err := s.Save(t.Context(), boundary("t", 3), taken)
	require.ErrorIs(t, err, checkpoint.ErrExists)
	require.EqualValues(t, 2, load(t, s, "t", "").Seq, "nothing of a failed Save may be left")

	sameID := boundary("t", 3)
	sameID.Checkpoint.ID = id("t", 1)
	require.ErrorIs(t, s.Save(t.Context(), sameID), checkpoint.ErrExists)
	save(t, s, boundary("t", 3))
}

func infos(t *testing.T, s checkpoint.Saver, q checkpoint.Query) []checkpoint.Info {
	t.Helper()
	var all []checkpoint.Info
	for info, err := range s.List(t.Context(), q) {
		require.NoError(t, err)
		all = append(all, info)
	}
	return all
}

func testList(t *testing.T, s checkpoint.Saver) {
	const n = 250
	for seq := int64(1); seq <= n; seq++ {
		save(t, s, boundary("t", seq))
	}
	all := infos(t, s, checkpoint.Query{Thread: "t"})
	require.Len(t, all, n)
	for i, info := range all {
		want := boundary("t", int64(n-i)).Checkpoint.Info
		require.WithinDuration(t, want.Time, info.Time, 0)
		info.Time = want.Time
		require.Equal(t, want, info)
	}
	require.Len(t, infos(t, s, checkpoint.Query{Thread: "t", Limit: 120}), 120)
	count := 0
	for _, err := range s.List(t.Context(), checkpoint.Query{Thread: "t"}) {
		require.NoError(t, err)
		if count++; count == 3 {
			break
		}
	}
	require.Equal(t, 3, count)

	// A consumer may use the saver while it lists.
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for info, err := range s.List(context.Background(), checkpoint.Query{Thread: "t", Limit: 5}) {
				if err == nil {
					_, err = s.Load(context.Background(), checkpoint.Ref{Thread: "t", ID: info.ID})
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

func testNamespaces(t *testing.T, s checkpoint.Saver) {
	root := boundary("t", 1)
	sub := boundary("t", 1)
	sub.Checkpoint.Namespace, sub.Checkpoint.ID = "sub", "sub-1"
	sub.Checkpoint.Channels = map[string]int64{"v": 1}
	sub.Values = []checkpoint.Value{{Channel: "v", Data: []byte("inner")}}
	save(t, s, root, sub)
	require.Empty(t, load(t, s, "t", "").Values)
	got, err := s.Load(t.Context(), checkpoint.Ref{Thread: "t", Namespace: "sub"})
	require.NoError(t, err)
	require.Equal(t, "inner", joined(got.Values["v"]))
	require.Equal(t, "sub", got.Namespace)
	require.Len(t, infos(t, s, checkpoint.Query{Thread: "t"}), 1)
	require.Len(t, infos(t, s, checkpoint.Query{Thread: "t", Namespace: "sub"}), 1)
}

func testIsolation(t *testing.T, s checkpoint.Saver) {
	data := []byte("mine")
	b := boundary("t", 1)
	b.Checkpoint.Channels = map[string]int64{"v": 1}
	b.Values = []checkpoint.Value{{Channel: "v", Data: data}}
	save(t, s, b)
	data[0] = 'X'
	b.Checkpoint.Channels["v"] = 99
	b.Checkpoint.Nodes[0] = "changed"
	got := load(t, s, "t", "")
	require.Equal(t, "mine", joined(got.Values["v"]))
	got.Values["v"][0][0] = 'X'
	got.Channels["v"] = 99
	require.Equal(t, "mine", joined(load(t, s, "t", "").Values["v"]))
	require.Equal(t, []string{"n1"}, load(t, s, "t", "").Nodes)
}

func testConcurrent(t *testing.T, s checkpoint.Saver) {
	const threads, each = 4, 25
	var wg sync.WaitGroup
	for i := range threads {
		wg.Go(func() {
			for seq := int64(1); seq <= each; seq++ {
				if err := s.Save(context.Background(), boundary("t"+strconv.Itoa(i), seq)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for i := range threads {
		require.Len(t, infos(t, s, checkpoint.Query{Thread: "t" + strconv.Itoa(i)}), each)
	}

	// Of several writers of one place in a thread exactly one succeeds.
	var mu sync.Mutex
	won := 0
	for i := range threads {
		wg.Go(func() {
			b := boundary("t0", each+1)
			b.Checkpoint.ID = "racer" + strconv.Itoa(i)
			err := s.Save(context.Background(), b)
			if err != nil && !errors.Is(err, checkpoint.ErrExists) {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				won++
			}
		})
	}
	wg.Wait()
	require.Equal(t, 1, won)
}

func testThreads(t *testing.T, s checkpoint.Saver) {
	lister, ok := s.(checkpoint.ThreadLister)
	if !ok {
		t.Skip("the saver doesn't list threads")
	}
	empty, err := lister.Threads(t.Context(), checkpoint.ThreadQuery{})
	require.NoError(t, err)
	require.Empty(t, empty)
	for _, name := range []string{"a", "b", "c"} {
		b := boundary(name, 1)
		b.Labels = map[string]string{"goal": "goal of " + name, "odd'\"$.": "x"}
		b.Checkpoint.Time = epoch // of all alike: order is that of writing
		save(t, s, b)
	}
	again := boundary("a", 2)
	again.Labels = map[string]string{"state": "done"}
	again.Checkpoint.Tasks, again.Checkpoint.Next = nil, nil
	save(t, s, again)

	all, err := lister.Threads(t.Context(), checkpoint.ThreadQuery{})
	require.NoError(t, err)
	require.Equal(t, []string{"a", "c", "b"}, ids(all))
	require.Equal(t, map[string]string{"goal": "goal of a", "state": "done", "odd'\"$.": "x"}, all[0].Labels)
	require.Equal(t, checkpoint.StatusDone, all[0].Status)
	require.Equal(t, checkpoint.StatusPending, all[1].Status)
	require.Equal(t, 0, all[0].Steps)
	require.Empty(t, all[0].Next)
	require.Equal(t, []string{"next"}, all[1].Next)
	require.WithinDuration(t, epoch, all[0].Created, 0)
	require.WithinDuration(t, again.Checkpoint.Time, all[0].Updated, 0)

	some, err := lister.Threads(t.Context(), checkpoint.ThreadQuery{Limit: 2})
	require.NoError(t, err)
	require.Equal(t, []string{"a", "c"}, ids(some))
	some, err = lister.Threads(t.Context(), checkpoint.ThreadQuery{Labels: map[string]string{"odd'\"$.": "x", "goal": "goal of b"}})
	require.NoError(t, err)
	require.Equal(t, []string{"b"}, ids(some))
	some, err = lister.Threads(t.Context(), checkpoint.ThreadQuery{Labels: map[string]string{"goal": "x"}})
	require.NoError(t, err)
	require.Empty(t, some)
}

func ids(threads []checkpoint.ThreadInfo) []string {
	var out []string
	for _, t := range threads {
		out = append(out, t.ID)
	}
	return out
}

func testStatus(t *testing.T, s checkpoint.Saver) {
	lister, ok := s.(checkpoint.ThreadLister)
	if !ok {
		t.Skip("the saver doesn't list threads")
	}
	status := func() checkpoint.Status {
		all, err := lister.Threads(t.Context(), checkpoint.ThreadQuery{})
		require.NoError(t, err)
		require.Len(t, all, 1)
		return all[0].Status
	}
	put := func(r checkpoint.Result) {
		require.NoError(t, s.SaveResults(t.Context(), checkpoint.ResultSet{Thread: "t", Seq: 1, Results: []checkpoint.Result{r}}))
	}
	save(t, s, boundary("t", 1))
	require.Equal(t, checkpoint.StatusPending, status())
	put(checkpoint.Result{Task: "x", Done: true})
	require.Equal(t, checkpoint.StatusPending, status())
	put(checkpoint.Result{Task: "task1", Error: "boom"})
	require.Equal(t, checkpoint.StatusFailed, status())
	put(checkpoint.Result{Task: "task1", Interrupts: []checkpoint.Interrupt{{ID: "i", Value: []byte(`1`)}}})
	require.Equal(t, checkpoint.StatusInterrupted, status())
	save(t, s, boundary("t", 2))
	require.Equal(t, checkpoint.StatusPending, status())
	if leaser, ok := s.(checkpoint.Leaser); ok {
		now := time.Now()
		require.NoError(t, leaser.Acquire(t.Context(), lease("t", "me", now, now.Add(time.Hour))))
		require.Equal(t, checkpoint.StatusRunning, status())
	}
}

func testPrune(t *testing.T, s checkpoint.Saver) {
	pruner, ok := s.(checkpoint.Pruner)
	if !ok {
		t.Skip("the saver doesn't prune")
	}
	_, err := pruner.Prune(t.Context(), "nobody", 1)
	require.ErrorIs(t, err, checkpoint.ErrNotFound)
	for seq := int64(1); seq <= 20; seq++ {
		b := boundary("t", seq)
		unique := strings.Repeat(strconv.Itoa(int(seq))+" ", 3000)
		b.Checkpoint.Channels = map[string]int64{"list": seq, "big": seq, "first": 1}
		b.Values = []checkpoint.Value{
			{Channel: "list", Delta: true, Prev: seq - 1, Data: fmt.Appendf(nil, "item%d", seq)},
			{Channel: "big", Data: []byte(unique)},
		}
		if seq == 1 {
			b.Values = append(b.Values, checkpoint.Value{Channel: "first", Data: bytes.Repeat([]byte("first"), 1000)})
		}
		b.Results = []checkpoint.Result{{Task: "r", Done: true, Writes: []checkpoint.Write{{Channel: "big", Op: "set", Data: []byte(unique)}}}}
		save(t, s, b)
	}
	grow(t, s, "other", 2)
	want := load(t, s, "t", id("t", 19))
	freed, err := pruner.Prune(t.Context(), "t", 2)
	require.NoError(t, err)
	require.Equal(t, 18, freed.Checkpoints)
	require.Greater(t, freed.Bytes, int64(100_000))
	left := infos(t, s, checkpoint.Query{Thread: "t"})
	require.Len(t, left, 2)
	require.EqualValues(t, 20, left[0].Seq)
	got := load(t, s, "t", id("t", 19))
	require.Equal(t, want, got, "what is kept must not change")
	_, err = s.Load(t.Context(), checkpoint.Ref{Thread: "t", ID: id("t", 18)})
	require.ErrorIs(t, err, checkpoint.ErrNotFound)
	require.Len(t, infos(t, s, checkpoint.Query{Thread: "other"}), 2)

	freed, err = pruner.Prune(t.Context(), "t", 0)
	require.NoError(t, err)
	require.Equal(t, 1, freed.Checkpoints, "the newest checkpoint stays")
	save(t, s, boundary("t", 21))
}

func testDelete(t *testing.T, s checkpoint.Saver) {
	pruner, ok := s.(checkpoint.Pruner)
	if !ok {
		t.Skip("the saver doesn't delete threads")
	}
	grow(t, s, "t", 3)
	grow(t, s, "other", 1)
	if leaser, ok := s.(checkpoint.Leaser); ok {
		now := time.Now()
		require.NoError(t, leaser.Acquire(t.Context(), lease("t", "me", now, now.Add(time.Hour))))
		_, err := pruner.DeleteThread(t.Context(), "t")
		require.ErrorIs(t, err, checkpoint.ErrThreadBusy)
		_, err = pruner.Prune(t.Context(), "t", 1)
		require.ErrorIs(t, err, checkpoint.ErrThreadBusy)
		require.NoError(t, leaser.Release(t.Context(), "t", "me"))
	}
	freed, err := pruner.DeleteThread(t.Context(), "t")
	require.NoError(t, err)
	require.Equal(t, 3, freed.Checkpoints)
	require.Positive(t, freed.Bytes)
	_, err = s.Load(t.Context(), checkpoint.Ref{Thread: "t"})
	require.ErrorIs(t, err, checkpoint.ErrNotFound)
	_, err = pruner.DeleteThread(t.Context(), "t")
	require.ErrorIs(t, err, checkpoint.ErrNotFound)
	require.EqualValues(t, 1, load(t, s, "other", "").Seq)
	grow(t, s, "t", 1)
	require.EqualValues(t, 1, load(t, s, "t", "").LastSeq)
}

func testEffects(t *testing.T, s checkpoint.Saver) {
	log, ok := s.(checkpoint.EffectLog)
	if !ok {
		t.Skip("the saver records no effects")
	}
	key := checkpoint.EffectKey{Thread: "t", Task: "task", Key: "pay"}
	begin := func(key checkpoint.EffectKey) (checkpoint.Effect, bool) {
		e, fresh, err := log.BeginEffect(t.Context(), "", checkpoint.Effect{EffectKey: key, Seq: 3, Started: epoch})
		require.NoError(t, err)
		require.Equal(t, key, e.EffectKey)
		require.EqualValues(t, 3, e.Seq)
		require.WithinDuration(t, epoch, e.Started, 0)
		return e, fresh
	}
	_, fresh := begin(key)
	require.True(t, fresh)
	e, fresh := begin(key)
	require.False(t, fresh)
	require.False(t, e.Done)

	require.NoError(t, log.FinishEffect(t.Context(), "", key, []byte(`{"ok":true}`)))
	e, fresh = begin(key)
	require.False(t, fresh)
	require.True(t, e.Done)
	require.JSONEq(t, `{"ok":true}`, string(e.Result))
	require.NoError(t, log.AbandonEffect(t.Context(), "", key))
	e, _ = begin(key)
	require.True(t, e.Done, "a finished effect stays")

	for _, other := range []checkpoint.EffectKey{
		{Thread: "u", Task: "task", Key: "pay"}, {Thread: "t", Task: "task2", Key: "pay"},
		{Thread: "t", Task: "task", Key: "pay2"}, {Thread: "t", Namespace: "sub", Task: "task", Key: "pay"},
	} {
		_, fresh := begin(other)
		require.True(t, fresh, "%v is another effect", other)
		require.NoError(t, log.AbandonEffect(t.Context(), "", other))
		_, fresh = begin(other)
		require.True(t, fresh, "an abandoned effect is forgotten")
	}
	require.ErrorIs(t, log.FinishEffect(t.Context(), "", checkpoint.EffectKey{Thread: "t", Task: "x", Key: "y"}, nil), checkpoint.ErrNotFound)
}

func lease(thread, token string, from, until time.Time) checkpoint.Lease {
	return checkpoint.Lease{Thread: thread, Token: token, Owner: "owner of " + token, Process: checkpoint.CurrentProcess(), Acquired: from, Expires: until}
}

func testLease(t *testing.T, s checkpoint.Saver) {
	leaser, ok := s.(checkpoint.Leaser)
	if !ok {
		t.Skip("the saver grants no leases")
	}
	ctx, minute := t.Context(), time.Minute
	require.NoError(t, leaser.Acquire(ctx, lease("t", "a", epoch, epoch.Add(minute))))
	err := leaser.Acquire(ctx, lease("t", "b", epoch.Add(minute-1000), epoch.Add(2*minute)))
	var busy *checkpoint.BusyError
	require.ErrorAs(t, err, &busy)
	require.Equal(t, "owner of a", busy.Owner)
	require.Equal(t, "t", busy.Thread)
	require.WithinDuration(t, epoch, busy.Since, 0)
	require.NoError(t, leaser.Acquire(ctx, lease("u", "c", epoch, epoch.Add(minute))), "another thread is free")

	require.NoError(t, leaser.Renew(ctx, "t", "a", epoch.Add(2*minute)))
	require.ErrorIs(t, leaser.Acquire(ctx, lease("t", "b", epoch.Add(minute), epoch.Add(3*minute))), checkpoint.ErrThreadBusy)
	require.NoError(t, leaser.Acquire(ctx, lease("t", "b", epoch.Add(2*minute), epoch.Add(3*minute))), "an expired lease is free")
	require.ErrorIs(t, leaser.Renew(ctx, "t", "a", epoch.Add(9*minute)), checkpoint.ErrLeaseLost)
	require.NoError(t, leaser.Release(ctx, "t", "a"), "releasing a lost lease must not end the new one")
	require.ErrorIs(t, leaser.Acquire(ctx, lease("t", "d", epoch.Add(2*minute), epoch.Add(3*minute))), checkpoint.ErrThreadBusy)
	require.NoError(t, leaser.Release(ctx, "t", "b"))
	require.NoError(t, leaser.Release(ctx, "t", "b"))
	require.NoError(t, leaser.Acquire(ctx, lease("t", "d", epoch.Add(2*minute), epoch.Add(3*minute))))

	gone := lease("dead", "x", epoch, epoch.Add(minute))
	gone.Process.Start = "another start"
	require.NoError(t, leaser.Acquire(ctx, gone))
	require.NoError(t, leaser.Acquire(ctx, lease("dead", "y", epoch, epoch.Add(minute))), "the number belongs to another process now")
	far := lease("far", "x", epoch, epoch.Add(minute))
	far.Process.Host, far.Process.Start = "elsewhere", "another start"
	require.NoError(t, leaser.Acquire(ctx, far))
	require.ErrorIs(t, leaser.Acquire(ctx, lease("far", "y", epoch, epoch.Add(minute))), checkpoint.ErrThreadBusy,
		"nothing is known of processes on other hosts")
}

func testFencing(t *testing.T, s checkpoint.Saver) {
	leaser, ok := s.(checkpoint.Leaser)
	if !ok {
		t.Skip("the saver grants no leases")
	}
	ctx := t.Context()
	require.NoError(t, leaser.Acquire(ctx, lease("t", "old", epoch, epoch.Add(time.Minute))))
	b := boundary("t", 1)
	b.Lease = "old"
	save(t, s, b)
	require.NoError(t, leaser.Acquire(ctx, lease("t", "new", epoch.Add(time.Hour), epoch.Add(2*time.Hour))))

	late := boundary("t", 2)
	late.Lease = "old"
	require.ErrorIs(t, s.Save(ctx, late), checkpoint.ErrLeaseLost)
	require.ErrorIs(t, s.SaveResults(ctx, checkpoint.ResultSet{Thread: "t", Seq: 1, Lease: "old", Results: []checkpoint.Result{{Task: "x"}}}), checkpoint.ErrLeaseLost)
	if log, ok := s.(checkpoint.EffectLog); ok {
		key := checkpoint.EffectKey{Thread: "t", Task: "a", Key: "k"}
		_, _, err := log.BeginEffect(ctx, "old", checkpoint.Effect{EffectKey: key})
		require.ErrorIs(t, err, checkpoint.ErrLeaseLost)
		_, _, err = log.BeginEffect(ctx, "new", checkpoint.Effect{EffectKey: key})
		require.NoError(t, err)
		require.ErrorIs(t, log.FinishEffect(ctx, "old", key, nil), checkpoint.ErrLeaseLost)
		require.ErrorIs(t, log.AbandonEffect(ctx, "old", key), checkpoint.ErrLeaseLost)
	}
	require.EqualValues(t, 1, load(t, s, "t", "").Seq)
	late.Lease = "new"
	save(t, s, late)
	require.True(t, slices.ContainsFunc(infos(t, s, checkpoint.Query{Thread: "t"}), func(i checkpoint.Info) bool { return i.Seq == 2 }))
}
