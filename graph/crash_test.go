//go:build unix

package graph_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/graph"
	"github.com/llama-agent/llama-agent/graph/checkpoint"
	"github.com/llama-agent/llama-agent/graph/checkpoint/sqlite"
)

// The crash test runs this test binary again with these variables: a folder to work in, the number of the point at which the
// process kills itself (0: never), and whether effects of unknown outcome run again.
const (
	crashDir   = "GRAPH_CRASH_DIR"
	crashAt    = "GRAPH_CRASH_AT"
	crashRetry = "GRAPH_CRASH_RETRY"
	crashMode  = "GRAPH_CRASH_DURABILITY"
)

// crashProcess is one life of the process.
type crashProcess struct {
	dir   string
	at    int64
	count atomic.Int64
	saver *sqlite.Saver
	graph *graph.Graph
}

// point is a place to die. The name is left behind in a file.
func (p *crashProcess) point(name string) {
	if p.count.Add(1) != p.at {
		return
	}
	if err := os.WriteFile(filepath.Join(p.dir, "killed"), []byte(name), 0o600); err != nil {
		panic(err)
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
		panic(err)
	}
	select {}
}

// log appends a line to a file, in one write.
func (p *crashProcess) log(file, line string) {
	f, err := os.OpenFile(filepath.Join(p.dir, file), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer f.Close() // a lost line fails the test
	if _, err := f.WriteString(line + "\n"); err != nil {
		panic(err)
	}
}

// build makes a graph of two rounds: a, then b and c side by side, then d.
func (p *crashProcess) build() {
	effect := func(ctx context.Context, key string) (string, error) {
		return graph.Once(ctx, key, func(context.Context) (string, error) {
			p.log("effects", key)
			p.point("between intent and result of " + key)
			return "result of " + key, nil
		})
	}
	node := func(name string, body func(context.Context, int) error) graph.NodeFunc {
		return func(ctx context.Context, s graph.State) (graph.Update, error) {
			round := count.Get(s)
			p.log("nodes", fmt.Sprintf("%s%d", name, round))
			if err := body(ctx, round); err != nil {
				return nil, err
			}
			u := graph.Update{trail.Add(fmt.Sprintf("%s%d", name, round)), total.Merge(1)}
			if name == "d" {
				u = append(u, count.Set(round+1))
			}
			return u, nil
		}
	}
	b := graph.New("crash", count, trail, total)
	b.Node("a", node("a", func(ctx context.Context, round int) error {
		got, err := effect(ctx, fmt.Sprintf("pay%d", round))
		if err == nil && got != fmt.Sprintf("result of pay%d", round) {
			err = fmt.Errorf("a wrong result: %q", got)
		}
		p.point("after the effect of a")
		return err
	}))
	b.Node("b", node("b", func(context.Context, int) error { return nil }))
	b.Node("c", node("c", func(ctx context.Context, round int) error {
		for { // until b's result is stored beside the checkpoint
			snap, err := p.graph.State(ctx, "t")
			if err != nil && !errors.Is(err, graph.ErrUnknownThread) { // with async durability it comes later
				return err
			}
			for _, task := range snap.Tasks {
				if task.Node == "b" && task.Done {
					p.point("after b is stored, before c is done")
					_, err := effect(ctx, fmt.Sprintf("call%d", round))
					return err
				}
			}
			time.Sleep(time.Millisecond)
		}
	}))
	b.Node("d", node("d", func(context.Context, int) error { return nil }))
	b.Edge(graph.Start, "a").Edge("a", "b").Edge("a", "c").Join([]string{"b", "c"}, "d")
	b.Branch("d", func(s graph.State) []graph.Next {
		if count.Get(s) < 2 {
			return []graph.Next{graph.To("a")}
		}
		return nil
	}, "a")
	g, err := b.Compile(graph.Options{Saver: p.saver})
	if err != nil {
		panic(err)
	}
	p.graph = g
}

// live runs or resumes the thread and writes the outcome to a file.
func (p *crashProcess) live() error {
	var err error
	if p.saver, err = sqlite.Open(context.Background(), filepath.Join(p.dir, "db.sqlite"), sqlite.Options{}); err != nil {
		return err
	}
	p.build()
	in := graph.Update{}
	if _, err := p.graph.State(context.Background(), "t"); err == nil {
		in = nil
	}
	opts := []graph.RunOption{graph.Thread("t"), graph.Modes(graph.Checkpoints)}
	if os.Getenv(crashRetry) != "" {
		opts = append(opts, graph.RetryUnknown())
	}
	if mode := os.Getenv(crashMode); mode != "" {
		opts = append(opts, graph.WithDurability(graph.Durability(mode)))
	}
	for ev, err := range p.graph.Stream(context.Background(), in, opts...) {
		if err != nil {
			return errors.Join(err, p.saver.Close())
		}
		p.point(fmt.Sprintf("after boundary %d", ev.Checkpoint.Step))
	}
	snap, err := p.graph.State(context.Background(), "t")
	if err != nil {
		return err
	}
	data, err := snap.State.MarshalJSON()
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(filepath.Join(p.dir, "final"), data, 0o600), p.saver.Close())
}

// crashMain is main when this process is to be killed.
func crashMain() (code int, ok bool) {
	dir, ok := os.LookupEnv(crashDir)
	if !ok {
		return 0, false
	}
	return crashChild(dir), true
}

// crashChild is main of the process that gets killed.
func crashChild(dir string) int {
	at, err := strconv.Atoi(os.Getenv(crashAt))
	if err != nil {
		panic(err)
	}
	p := &crashProcess{dir: dir, at: int64(at)}
	switch err := p.live(); {
	case errors.Is(err, graph.ErrOutcomeUnknown):
		return 3
	case errors.Is(err, graph.ErrNothingToResume):
		return 4
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// life runs the process once and returns its exit code, -1 when it was killed.
func life(t *testing.T, dir string, at int, env ...string) int {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), append(env, crashDir+"="+dir, crashAt+"="+strconv.Itoa(at))...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	code := cmd.ProcessState.ExitCode()
	require.NotEqual(t, 1, code, "%s", out)
	require.NotEqual(t, 2, code, "%s", out)
	return code
}

func lines(t *testing.T, dir, file string) map[string]int {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, file))
	require.NoError(t, err)
	counts := map[string]int{}
	for l := range strings.Lines(string(data)) {
		counts[strings.TrimSpace(l)]++
	}
	return counts
}

const crashFinal = `{"count":2,"total":8,"trail":["a0","b0","c0","d0","a1","b1","c1","d1"]}`

// TestKilledAtEveryPoint kills the process at every boundary, between intent and result of every effect, and while one of two
// siblings has finished, and resumes it.
func TestKilledAtEveryPoint(t *testing.T) {
	t.Parallel()
	const points = 64 // more than there are: the loop ends with the first process that isn't killed
	for at := 1; at <= points; at++ {
		dir := t.TempDir()
		code := life(t, dir, at)
		if code == 0 {
			require.Greater(t, at, 12, "the process must have been killed at each of its points")
			return
		}
		require.Equal(t, -1, code)
		data, err := os.ReadFile(filepath.Join(dir, "killed"))
		require.NoError(t, err)
		where := string(data)
		t.Logf("point %d: %s", at, where)

		unknown, midEffect := strings.CutPrefix(where, "between intent and result of ")
		code = life(t, dir, 0)
		if midEffect {
			require.Equal(t, 3, code, "killed %s: the outcome must be unknown", where)
			require.Equal(t, 1, lines(t, dir, "effects")[unknown], "killed %s: nothing may run again unasked", where)
			code = life(t, dir, 0, crashRetry+"=1")
		}
		if where == "after boundary 6" { // the last one
			require.Equal(t, 4, code)
		} else {
			require.Equal(t, 0, code, "killed %s", where)
			final, err := os.ReadFile(filepath.Join(dir, "final"))
			require.NoError(t, err)
			require.JSONEq(t, crashFinal, string(final), "killed %s", where)
		}
		for key, n := range lines(t, dir, "effects") {
			want := 1
			if midEffect && key == unknown {
				want = 2
			}
			require.Equal(t, want, n, "killed %s: effect %s", where, key)
		}
		checkNodes(t, where, midEffect, lines(t, dir, "nodes"))
	}
	t.Fatal("the process has more points than expected")
}

// checkNodes checks that only nodes which had not finished when the process was killed ran again.
func checkNodes(t *testing.T, where string, midEffect bool, runs map[string]int) {
	t.Helper()
	again := map[string]int{}
	for node, n := range runs {
		if n > 1 {
			again[node] = n
		}
	}
	switch {
	case strings.HasPrefix(where, "after boundary"):
		require.Empty(t, again, "killed %s", where)
	case where == "after the effect of a":
		require.Len(t, again, 1, "killed %s", where)
		require.Contains(t, []int{again["a0"], again["a1"]}, 2)
	case midEffect:
		require.Len(t, again, 1, "killed %s", where)
	default: // c was running, b had finished
		require.Len(t, again, 1, "killed %s", where)
		require.Contains(t, []int{again["c0"], again["c1"]}, 2, "b may not run again")
	}
}

// TestKilledWithLooseDurability checks that effects don't repeat when the boundaries after them were lost.
func TestKilledWithLooseDurability(t *testing.T) {
	t.Parallel()
	async := crashMode + "=" + string(graph.Async)
	for _, at := range []int{7, 11, 14} {
		dir := t.TempDir()
		require.Equal(t, -1, life(t, dir, at, async))
		require.Equal(t, 0, life(t, dir, 0, async, crashRetry+"=1"))
		final, err := os.ReadFile(filepath.Join(dir, "final"))
		require.NoError(t, err)
		require.JSONEq(t, crashFinal, string(final))
		where, err := os.ReadFile(filepath.Join(dir, "killed"))
		require.NoError(t, err)
		for key, n := range lines(t, dir, "effects") {
			if !strings.HasSuffix(string(where), "result of "+key) {
				require.Equal(t, 1, n, "killed %s: effect %s", where, key)
			}
		}
	}
}

// TestLeaseOfADeadProcess checks that a thread is free at once when its owner has died, and not before.
func TestLeaseOfADeadProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.Equal(t, -1, life(t, dir, 3))
	s, err := sqlite.Open(t.Context(), filepath.Join(dir, "db.sqlite"), sqlite.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	now := time.Now()
	l := checkpoint.Lease{Thread: "t", Token: "x", Owner: "test", Process: checkpoint.CurrentProcess(), Acquired: now, Expires: now.Add(time.Hour)}
	require.NoError(t, s.Acquire(t.Context(), l))
	l.Token = "y"
	require.ErrorIs(t, s.Acquire(t.Context(), l), checkpoint.ErrThreadBusy)
}
