//go:build unix

package graph_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
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

// TestRandomKills runs this test binary again with these variables: a folder to work in, the script to play, and the number of the
// call of the saver at which the process kills itself (0: never).
const (
	killsDir    = "GRAPH_KILLS_DIR"
	killsScript = "GRAPH_KILLS_SCRIPT"
	killsAt     = "GRAPH_KILLS_AT"
)

// killScripts are the graphs that get killed, by name.
var killScripts = map[string]func(p *killProcess) (*graph.Graph, []graph.RunOption){
	"parallel": killParallel, "sends": killSends, "questions": killQuestions, "subgraphs": killSubgraphs,
	"async": func(p *killProcess) (*graph.Graph, []graph.RunOption) {
		g, _ := killParallel(p)
		return g, []graph.RunOption{graph.WithDurability(graph.Async)}
	},
	"exit": func(p *killProcess) (*graph.Graph, []graph.RunOption) {
		g, _ := killQuestions(p)
		return g, []graph.RunOption{graph.WithDurability(graph.Exit)}
	},
	"subgraphs, async": func(p *killProcess) (*graph.Graph, []graph.RunOption) {
		g, _ := killSubgraphs(p)
		return g, []graph.RunOption{graph.WithDurability(graph.Async)}
	},
	"subgraphs, exit": func(p *killProcess) (*graph.Graph, []graph.RunOption) {
		g, _ := killSubgraphs(p)
		return g, []graph.RunOption{graph.WithDurability(graph.Exit)}
	},
}

// killProcess is one life of a process that plays a script.
type killProcess struct {
	dir   string
	saver checkpoint.Saver
}

// note appends a line to the process's diary, in one write.
func (p *killProcess) note(line string) {
	f, err := os.OpenFile(filepath.Join(p.dir, "diary"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer f.Close() // a lost line fails the test
	if _, err := f.WriteString(line + "\n"); err != nil {
		panic(err)
	}
}

// effect is a node that has an effect in every round.
func (p *killProcess) effect(name string) graph.NodeFunc {
	return func(ctx context.Context, s graph.State) (graph.Update, error) {
		key := name + strconv.Itoa(count.Get(s.Shared())) + hint.Get(s)
		got, err := graph.Once(ctx, key, func(context.Context) (string, error) {
			p.note("effect " + key)
			return "did " + key, nil
		})
		return graph.Update{trail.Add(got), total.Merge(1)}, err
	}
}

func (p *killProcess) ask(name string) graph.NodeFunc {
	return func(ctx context.Context, s graph.State) (graph.Update, error) {
		var u graph.Update
		for i := range 2 {
			answer, err := graph.Interrupt[string](ctx, fmt.Sprintf("%s %d", name, i))
			if err != nil {
				return nil, err
			}
			u = append(u, trail.Add(name+" got "+answer))
		}
		return u, nil
	}
}

// round counts rounds; again leads back to the nodes until three are over.
func round(context.Context, graph.State) (graph.Update, error) { return nil, nil }

func nextRound(_ context.Context, s graph.State) (graph.Update, error) {
	return graph.Update{count.Set(count.Get(s) + 1)}, nil
}

func again(nodes ...string) func(graph.State) []graph.Next {
	return func(s graph.State) []graph.Next {
		var next []graph.Next
		for _, n := range nodes {
			if count.Get(s) < 3 {
				next = append(next, graph.To(n))
			}
		}
		return next
	}
}

func killParallel(p *killProcess) (*graph.Graph, []graph.RunOption) {
	b := graph.New("parallel", count, trail, total, hint)
	b.Node("a", p.effect("a")).Node("b", p.effect("b")).Node("c", p.effect("c")).Node("d", round).Node("end", nextRound)
	for _, n := range []string{"a", "b", "c"} {
		b.Edge(graph.Start, n)
	}
	b.Edge("c", "d").Join([]string{"a", "b", "d"}, "end").Branch("end", again("a", "b", "c"), "a", "b", "c")
	return compiled(b.Compile(graph.Options{Saver: p.saver}))
}

func killSends(p *killProcess) (*graph.Graph, []graph.RunOption) {
	b := graph.New("sends", count, trail, total, hint)
	b.Node("plan", round).Node("w", p.effect("w")).Node("end", nextRound)
	b.Edge(graph.Start, "plan").Edge("w", "end").Branch("end", again("plan"), "plan")
	b.Branch("plan", func(graph.State) []graph.Next {
		var next []graph.Next
		for i := range 5 {
			next = append(next, graph.Send("w", graph.Update{hint.Set("/" + strconv.Itoa(i))}))
		}
		return next
	}, "w")
	return compiled(b.Compile(graph.Options{Saver: p.saver}))
}

func killQuestions(p *killProcess) (*graph.Graph, []graph.RunOption) {
	b := graph.New("questions", count, trail, total, hint)
	b.Node("ask1", p.ask("ask1")).Node("ask2", p.ask("ask2")).Node("pay", p.effect("pay")).Node("end", nextRound)
	for _, n := range []string{"ask1", "ask2", "pay"} {
		b.Edge(graph.Start, n)
	}
	b.Join([]string{"ask1", "ask2", "pay"}, "end").Branch("end", again("ask1", "ask2", "pay"), "ask1", "ask2", "pay")
	return compiled(b.Compile(graph.Options{Saver: p.saver}))
}

func killSubgraphs(p *killProcess) (*graph.Graph, []graph.RunOption) {
	below := func(name string, scope graph.Scope) *graph.Graph {
		b := graph.New(name, count, trail, total, hint)
		b.Node("pay", p.effect(name)).Node("ask", p.ask(name)).Node("z", p.effect("z"+name))
		b.Edge(graph.Start, "pay").Edge(graph.Start, "ask").Join([]string{"pay", "ask"}, "z")
		g, _ := compiled(b.Compile(graph.Options{AsSubgraph: scope}))
		return g
	}
	b := graph.New("subgraphs", count, trail, total, hint)
	b.Subgraph("fresh", below("fresh", graph.Inherit)).Subgraph("own", below("own", graph.Own)).Subgraph("none", below("none", graph.None))
	b.Node("end", nextRound)
	b.Edge(graph.Start, "fresh").Edge(graph.Start, "own").Edge("fresh", "none").Join([]string{"none", "own"}, "end")
	b.Branch("end", again("fresh", "own"), "fresh", "own")
	return compiled(b.Compile(graph.Options{Saver: p.saver}))
}

func compiled(g *graph.Graph, err error) (*graph.Graph, []graph.RunOption) {
	if err != nil {
		panic(err)
	}
	return g, nil
}

// killsMain is main when this process plays a script.
func killsMain() (code int, ok bool) {
	dir, ok := os.LookupEnv(killsDir)
	if !ok {
		return 0, false
	}
	at, err := strconv.Atoi(os.Getenv(killsAt))
	if err == nil {
		err = play(dir, os.Getenv(killsScript), int64(at))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1, true
	}
	return 0, true
}

// play starts or continues the script's thread until it has ended, answers its questions one by one, and leaves the final state
// behind.
func play(dir, script string, at int64) (err error) {
	ctx := context.Background()
	s, err := sqlite.Open(ctx, filepath.Join(dir, "db.sqlite"), sqlite.Options{Synchronous: sqlite.Normal})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	fmt.Println("open")
	p := &killProcess{dir: dir}
	p.saver = &mortal{Saver: s, at: at, diary: p}
	build := killScripts[script]
	if script == "hold" {
		build = killHold
	}
	g, opts := build(p)
	opts = append(opts, graph.Thread("t"), graph.MaxSteps(1000))
	in := graph.Update{trail.Add("in")}
	if _, err := g.State(ctx, "t"); err == nil {
		in = nil
	}
	for {
		_, err := g.Invoke(ctx, in, opts...)
		var stop *graph.InterruptedError
		switch {
		case errors.As(err, &stop):
			q := stop.Questions[len(stop.Questions)-1]
			opts = append(opts[:len(opts):len(opts)], graph.Answer(q.ID, "re "+string(q.Value)))
			if _, err := g.Invoke(ctx, nil, opts...); err != nil && !errors.Is(err, graph.ErrInterrupted) && !errors.Is(err, graph.ErrOutcomeUnknown) {
				return err
			}
			opts = opts[:len(opts)-1]
			in = nil
			continue
		case errors.Is(err, graph.ErrOutcomeUnknown):
			in, opts = nil, append(opts, graph.RetryUnknown()) // the diary says that it may have happened
			continue
		case err != nil && !errors.Is(err, graph.ErrNothingToResume):
			return err
		}
		break
	}
	snap, err := g.State(ctx, "t")
	if err != nil {
		return err
	}
	data, err := snap.State.MarshalJSON()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "final"), data, 0o600)
}

// mortal is a saver in whose calls the process dies.
type mortal struct {
	*sqlite.Saver
	diary *killProcess
	at    int64
	calls atomic.Int64
}

func (m *mortal) tick() {
	if m.calls.Add(1) == m.at {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

func (m *mortal) Load(ctx context.Context, ref checkpoint.Ref) (*checkpoint.Saved, error) {
	m.tick()
	return m.Saver.Load(ctx, ref)
}

func (m *mortal) Save(ctx context.Context, bs ...checkpoint.Boundary) error {
	m.tick()
	defer m.tick()
	return m.Saver.Save(ctx, bs...)
}

func (m *mortal) SaveResults(ctx context.Context, set checkpoint.ResultSet) error {
	m.tick()
	defer m.tick()
	return m.Saver.SaveResults(ctx, set)
}

func (m *mortal) List(ctx context.Context, q checkpoint.Query) iter.Seq2[checkpoint.Info, error] {
	return m.Saver.List(ctx, q)
}

func (m *mortal) BeginEffect(ctx context.Context, lease string, e checkpoint.Effect) (checkpoint.Effect, bool, error) {
	m.tick()
	defer m.tick()
	found, fresh, err := m.Saver.BeginEffect(ctx, lease, e)
	if err == nil && !fresh && !found.Done {
		m.diary.note("unknown " + e.Key)
	}
	return found, fresh, err
}

func (m *mortal) FinishEffect(ctx context.Context, lease string, key checkpoint.EffectKey, result []byte) error {
	m.tick()
	defer m.tick()
	return m.Saver.FinishEffect(ctx, lease, key, result)
}

func (m *mortal) Acquire(ctx context.Context, l checkpoint.Lease) error {
	defer m.tick()
	return m.Saver.Acquire(ctx, l)
}

// TestRandomKills kills processes at random moments, half of them inside the saver's calls, until 1,000 are dead (100 with
// -short), and continues each thread to its end.
func TestRandomKills(t *testing.T) {
	t.Parallel()
	want := 1000
	if testing.Short() {
		want = 100
	}
	var killed, unknown atomic.Int64
	for script := range killScripts {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			seed := rand.Uint64()
			rnd := rand.New(rand.NewPCG(seed, 0))
			t.Logf("seed %d", seed)
			undisturbed := t.TempDir()
			require.True(t, playOnce(t, undisturbed, script, 0, 0))
			final, err := os.ReadFile(filepath.Join(undisturbed, "final"))
			require.NoError(t, err)
			for deaths := 0; deaths < (want+len(killScripts)-1)/len(killScripts); {
				dir := t.TempDir()
				lives := 0
				for ended := false; !ended; lives++ {
					require.Less(t, lives, 300, "the thread is stuck")
					at, after := 0, time.Duration(0)
					if rnd.IntN(2) == 0 {
						at = 1 + rnd.IntN(25)
					} else {
						after = time.Duration(1 + rnd.IntN(20_000_000))
					}
					if ended = playOnce(t, dir, script, at, after); !ended {
						deaths++
						killed.Add(1)
					}
				}
				got, err := os.ReadFile(filepath.Join(dir, "final"))
				require.NoError(t, err)
				require.JSONEq(t, string(final), string(got))
				unknown.Add(checkDiary(t, dir))
			}
		})
	}
	t.Cleanup(func() { t.Logf("%d processes killed, %d effects of unknown outcome", killed.Load(), unknown.Load()) })
}

// playOnce runs a process and reports whether it came to the end; otherwise it was killed, after so many calls of its saver or so
// long after it opened the database.
func playOnce(t *testing.T, dir, script string, at int, after time.Duration) bool {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), killsDir+"="+dir, killsScript+"="+script, killsAt+"="+strconv.Itoa(at))
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	var complaints strings.Builder
	cmd.Stderr = &complaints
	require.NoError(t, cmd.Start())
	r := bufio.NewReader(out)
	_, err = r.ReadString('\n')
	require.NoError(t, err, "%s", &complaints)
	if after > 0 {
		time.Sleep(after) // chance is the point
		_ = cmd.Process.Kill()
	}
	_, _ = io.Copy(io.Discard, r)
	err = cmd.Wait()
	if err == nil {
		return true
	}
	require.Equal(t, -1, cmd.ProcessState.ExitCode(), "%s", &complaints)
	return false
}

// checkDiary checks that no effect with a result was repeated, and returns the number of those whose outcome was unknown.
func checkDiary(t *testing.T, dir string) (unknown int64) {
	t.Helper()
	for line, n := range lines(t, dir, "diary") {
		what, key, _ := strings.Cut(line, " ")
		if what == "unknown" {
			unknown += int64(n)
			continue
		}
		require.LessOrEqual(t, n, 1+lines(t, dir, "diary")["unknown "+key], "effect %s", key)
	}
	return unknown
}

// killHold is a graph whose node holds the thread for as long as the process lives, unless the file "go" is there.
func killHold(p *killProcess) (*graph.Graph, []graph.RunOption) {
	b := graph.New("hold", trail)
	b.Node("hold", func(ctx context.Context, _ graph.State) (graph.Update, error) {
		if _, err := os.Stat(filepath.Join(p.dir, "go")); err != nil {
			fmt.Println("holding")
			<-ctx.Done()
		}
		return graph.Update{trail.Add("held")}, ctx.Err()
	}).Edge(graph.Start, "hold")
	return compiled(b.Compile(graph.Options{Saver: p.saver}))
}

func TestTwoProcessesOnOneThread(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), killsDir+"="+dir, killsScript+"=hold", killsAt+"=0")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	r := bufio.NewReader(out)
	for line := ""; line != "holding\n"; {
		line, err = r.ReadString('\n')
		require.NoError(t, err)
	}

	s, err := sqlite.Open(t.Context(), filepath.Join(dir, "db.sqlite"), sqlite.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go"), nil, 0o600))
	g, _ := killHold(&killProcess{dir: dir, saver: s})
	_, err = g.Invoke(t.Context(), nil, graph.Thread("t"))
	var busy *checkpoint.BusyError
	require.ErrorAs(t, err, &busy)
	require.ErrorContains(t, err, fmt.Sprintf("process %d", cmd.Process.Pid))
	_, err = g.UpdateState(t.Context(), "t", graph.End, nil)
	require.ErrorAs(t, err, &busy)
	snap, err := g.State(t.Context(), "t")
	require.NoError(t, err, "reading is free")
	require.Equal(t, []string{"hold"}, snap.Next)

	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	st, err := g.Invoke(t.Context(), nil, graph.Thread("t"))
	require.NoError(t, err, "the lease of a dead process is free at once")
	require.Equal(t, []string{"in", "held"}, trail.Get(st))
}
