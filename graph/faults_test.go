package graph_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/graph"
	"github.com/llama-agent/llama-agent/graph/checkpoint"
)

var errFault = errors.New("the disk is full")

// faultKind says how calls of a saver fail.
type faultKind string

const (
	failBefore faultKind = "before" // one call does nothing
	failAfter  faultKind = "after"  // one call does its work and says that it failed
	failAlways faultKind = "always" // from one call on none does anything
	failCancel faultKind = "cancel" // during one call the context of the run ends, and the call with it if it has that context
)

// faultySaver is a saver whose call number at fails.
type faultySaver struct {
	*checkpoint.Memory
	kind faultKind

	mu      sync.Mutex
	at      int // 0: never
	calls   int
	cancel  context.CancelFunc // of the run
	hit     string             // the call that failed
	unknown map[string]bool    // effects whose outcome was unknown
}

func (s *faultySaver) call(ctx context.Context, name string, do func() error) error {
	s.mu.Lock()
	s.calls++
	bad := s.at > 0 && (s.calls == s.at || s.calls > s.at && s.kind == failAlways)
	if bad && s.hit == "" {
		s.hit = name
	}
	cancel := s.cancel
	s.mu.Unlock()
	if s.kind == failCancel {
		if bad {
			cancel()
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return do()
	}
	if bad && s.kind != failAfter {
		return errFault
	}
	if err := do(); !bad {
		return err
	}
	return errFault
}

// heal ends the faults and returns the name of the call that failed first.
func (s *faultySaver) heal() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	hit := s.hit
	if hit != "" {
		s.at = 0
	}
	return hit
}

func (s *faultySaver) Load(ctx context.Context, ref checkpoint.Ref) (saved *checkpoint.Saved, err error) {
	err = s.call(ctx, "Load", func() error { saved, err = s.Memory.Load(ctx, ref); return err })
	return saved, err
}

func (s *faultySaver) Save(ctx context.Context, bs ...checkpoint.Boundary) error {
	return s.call(ctx, "Save", func() error { return s.Memory.Save(ctx, bs...) })
}

func (s *faultySaver) SaveResults(ctx context.Context, set checkpoint.ResultSet) error {
	return s.call(ctx, "SaveResults", func() error { return s.Memory.SaveResults(ctx, set) })
}

func (s *faultySaver) List(ctx context.Context, q checkpoint.Query) iter.Seq2[checkpoint.Info, error] {
	return func(yield func(checkpoint.Info, error) bool) {
		if err := s.call(ctx, "List", func() error { return nil }); err != nil {
			yield(checkpoint.Info{}, err)
			return
		}
		s.Memory.List(ctx, q)(yield)
	}
}

func (s *faultySaver) BeginEffect(ctx context.Context, lease string, e checkpoint.Effect) (found checkpoint.Effect, fresh bool, err error) {
	err = s.call(ctx, "BeginEffect", func() error { found, fresh, err = s.Memory.BeginEffect(ctx, lease, e); return err })
	if err == nil && !fresh && !found.Done {
		s.mu.Lock()
		s.unknown[e.Key] = true
		s.mu.Unlock()
	}
	return found, fresh, err
}

func (s *faultySaver) FinishEffect(ctx context.Context, lease string, key checkpoint.EffectKey, result []byte) error {
	return s.call(ctx, "FinishEffect", func() error { return s.Memory.FinishEffect(ctx, lease, key, result) })
}

func (s *faultySaver) AbandonEffect(ctx context.Context, lease string, key checkpoint.EffectKey) error {
	return s.call(ctx, "AbandonEffect", func() error { return s.Memory.AbandonEffect(ctx, lease, key) })
}

func (s *faultySaver) Acquire(ctx context.Context, l checkpoint.Lease) error {
	return s.call(ctx, "Acquire", func() error { return s.Memory.Acquire(ctx, l) })
}

func (s *faultySaver) Release(ctx context.Context, thread, token string) error {
	return s.call(ctx, "Release", func() error { return s.Memory.Release(ctx, thread, token) })
}

// faultScript is a graph whose saver fails, and what its nodes did.
type faultScript struct {
	saver *faultySaver
	now   time.Time
	graph *graph.Graph

	mu      sync.Mutex
	effects map[string]int
}

var kept = graph.Append[string]("kept") // state that a subgraph keeps to itself

func newFaultScript(t *testing.T, kind faultKind, at int) *faultScript {
	t.Helper()
	p := &faultScript{
		saver:   &faultySaver{Memory: checkpoint.NewMemory(), kind: kind, at: at, unknown: map[string]bool{}},
		now:     time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		effects: map[string]int{},
	}
	calledOwn := p.quiet(t, "called own", graph.Own)
	calledFresh := p.quiet(t, "called fresh", graph.Inherit)
	laps := graph.Reduced("laps", func(acc, in int) int { return acc + in })
	b := graph.New("faults", count, trail, total, hint, laps)
	b.Node("plan", round).Node("w", p.effect("w")).Node("end", nextRound)
	b.Subgraph("fresh", p.asking(t, "fresh", graph.Inherit)).Subgraph("none", p.asking(t, "none", graph.None))
	b.Subgraph("own", p.asking(t, "own", graph.Own)).Subgraph("quiet", p.quiet(t, "quiet", graph.Own)).Subgraph("up", p.up(t))
	b.Node("call", func(ctx context.Context, s graph.State) (graph.Update, error) {
		var u graph.Update
		for _, g := range []*graph.Graph{calledOwn, calledFresh, calledOwn} {
			below, err := g.Call(ctx, graph.Update{count.Set(count.Get(s))})
			if err != nil {
				return nil, err
			}
			u = append(u, trail.Add(trail.Get(below)...))
		}
		return u, nil
	})
	b.Edge(graph.Start, "plan").Edge("plan", "fresh").Edge("plan", "own").Edge("plan", "up").Edge("fresh", "none")
	b.Branch("plan", func(graph.State) []graph.Next {
		var next []graph.Next
		for i := range 3 {
			next = append(next, graph.Send("w", graph.Update{hint.Set("/" + strconv.Itoa(i))}))
		}
		return next
	}, "w")
	b.Join([]string{"none", "own", "up", "w"}, "call").Edge("call", "quiet").Branch("end", again("plan"), "plan")
	b.Node("lap", func(context.Context, graph.State) (graph.Update, error) { return graph.Update{laps.Merge(1)}, nil })
	b.Edge("quiet", "lap").Branch("lap", func(s graph.State) []graph.Next { // two laps a round, of which no effect tells
		if laps.Get(s)%2 == 1 {
			return []graph.Next{graph.To("quiet")}
		}
		return []graph.Next{graph.To("end")}
	}, "quiet", "end")
	g, err := b.Compile(graph.Options{Saver: p.saver, Clock: func() time.Time { return p.now }})
	require.NoError(t, err)
	p.graph = g
	return p
}

func (p *faultScript) effect(name string) graph.NodeFunc {
	return func(ctx context.Context, s graph.State) (graph.Update, error) {
		key := name + strconv.Itoa(count.Get(s.Shared())) + hint.Get(s)
		got, err := graph.Once(ctx, key, func(context.Context) (string, error) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.effects[key]++
			return "did " + key, nil
		})
		return graph.Update{trail.Add(got), total.Merge(1)}, err
	}
}

// asking is a graph that has an effect and a question, and tells what it kept.
func (p *faultScript) asking(t *testing.T, name string, scope graph.Scope) *graph.Graph {
	t.Helper()
	b := graph.New(name, count, trail, total, hint, kept)
	b.Node("pay", p.effect(name))
	b.Node("ask", func(ctx context.Context, s graph.State) (graph.Update, error) {
		answer, err := graph.Interrupt[string](ctx, name+strconv.Itoa(count.Get(s)))
		return graph.Update{trail.Add("got " + answer), kept.Add(answer)}, err
	})
	b.Node("tell", tell(name))
	b.Edge(graph.Start, "pay").Edge(graph.Start, "ask").Join([]string{"pay", "ask"}, "tell")
	g, err := b.Compile(graph.Options{AsSubgraph: scope})
	require.NoError(t, err)
	return g
}

func tell(name string) graph.NodeFunc {
	return func(_ context.Context, s graph.State) (graph.Update, error) {
		return graph.Update{trail.Add(name + " kept " + strings.Join(kept.Get(s), "+"))}, nil
	}
}

// quiet is a graph without effects and questions.
func (p *faultScript) quiet(t *testing.T, name string, scope graph.Scope) *graph.Graph {
	t.Helper()
	b := graph.New(name, count, trail, kept)
	b.Node("keep", func(_ context.Context, s graph.State) (graph.Update, error) {
		return graph.Update{kept.Add(strconv.Itoa(count.Get(s)))}, nil
	})
	g, err := b.Node("tell", tell(name)).Edge(graph.Start, "keep").Edge("keep", "tell").Compile(graph.Options{AsSubgraph: scope})
	require.NoError(t, err)
	return g
}

// up is a graph that ends by handing an update to the graph above.
func (p *faultScript) up(t *testing.T) *graph.Graph {
	t.Helper()
	b := graph.New("up", count, trail, total, hint)
	b.Node("pay", p.effect("up")).Node("leave", func(_ context.Context, s graph.State) (graph.Update, error) {
		return graph.Update{graph.ToParent(graph.Update{trail.Add("up" + strconv.Itoa(count.Get(s)))})}, nil
	})
	g, err := b.Edge(graph.Start, "pay").Edge("pay", "leave").Compile(graph.Options{})
	require.NoError(t, err)
	return g
}

// play runs the thread to its end, whatever its saver does, and returns the final state.
func (p *faultScript) play(t *testing.T, mode graph.Durability) string {
	t.Helper()
	opts := []graph.RunOption{graph.Thread("t"), graph.WithDurability(mode), graph.MaxSteps(1000)}
	in := graph.Update{trail.Add("in")}
	handled := false
	var answers []graph.RunOption
	for range 200 {
		ctx, cancel := context.WithCancel(t.Context())
		p.saver.cancel = cancel
		st, err := p.graph.Invoke(ctx, in, slices.Concat(opts, answers)...)
		cancel()
		hit := p.saver.heal()
		faulty := hit != "" && !handled
		var stop *graph.InterruptedError
		switch {
		case faulty && p.saver.kind == failCancel && errors.Is(err, context.Canceled):
			handled, answers = true, nil
		case faulty && p.saver.kind != failCancel:
			handled = true
			require.ErrorIs(t, err, errFault, "a failure of %s is told", hit)
			if hit != "Release" {
				require.NotErrorIs(t, err, graph.ErrInterrupted, "what a run stopped for isn't stored")
			}
			if p.saver.kind == failAlways || hit == "Release" {
				p.now = p.now.Add(time.Hour) // the lease expires
			}
			answers = nil
		case errors.As(err, &stop):
			q := stop.Questions[len(stop.Questions)-1]
			answers = []graph.RunOption{graph.Answer(q.ID, "re "+string(q.Value))}
		case errors.Is(err, graph.ErrOutcomeUnknown):
			require.True(t, handled)
			opts, answers = append(opts, graph.RetryUnknown()), nil
		case errors.Is(err, graph.ErrNothingToResume):
			require.True(t, handled)
			snap, err := p.graph.State(t.Context(), "t")
			require.NoError(t, err)
			st = snap.State
			fallthrough
		case err == nil:
			data, err := st.MarshalJSON()
			require.NoError(t, err)
			return string(data)
		default:
			require.NoError(t, err)
		}
		in = nil
		if _, err := p.saver.Memory.Load(t.Context(), checkpoint.Ref{Thread: "t"}); errors.Is(err, checkpoint.ErrNotFound) {
			in = graph.Update{trail.Add("in")}
		}
	}
	require.Fail(t, "the thread is stuck")
	return ""
}

// TestFaults lets each call of the saver fail in turn: the run says so, and the thread comes to the same end afterwards.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, mode := range []graph.Durability{graph.Sync, graph.Async, graph.Exit} {
		healthy := newFaultScript(t, failBefore, 0)
		want := healthy.play(t, mode)
		require.Contains(t, want, "own kept ")
		for _, kind := range []faultKind{failBefore, failAfter, failAlways, failCancel} {
			t.Run(fmt.Sprintf("%s/%s", mode, kind), func(t *testing.T) {
				t.Parallel()
				stride := 1
				if testing.Short() {
					stride = 3
				}
				for at := 1; at <= healthy.saver.calls; at += stride {
					p := newFaultScript(t, kind, at)
					got := p.play(t, mode)
					about := fmt.Sprintf("call %d, %s, failed", at, p.saver.hit)
					require.JSONEq(t, want, got, about)
					for key, n := range p.effects {
						if !p.saver.unknown[key] {
							require.Equal(t, 1, n, "%s: effect %s", about, key)
						}
					}
				}
			})
		}
	}
}

// saveFails is a saver whose Save fails for one step. Its first SaveResults waits at the gate.
type saveFails struct {
	*checkpoint.Memory
	step int
	once sync.Once
	gate chan struct{}
}

func (s *saveFails) SaveResults(ctx context.Context, set checkpoint.ResultSet) error {
	s.once.Do(func() { <-s.gate })
	return s.Memory.SaveResults(ctx, set)
}

func (s *saveFails) Save(ctx context.Context, bs ...checkpoint.Boundary) error {
	if bs[0].Checkpoint.Step == s.step {
		return errFault
	}
	return s.Memory.Save(ctx, bs...)
}

func TestResultsSurviveTheirBoundary(t *testing.T) {
	t.Parallel()
	var ran runs
	s := &saveFails{Memory: checkpoint.NewMemory(), step: 1, gate: make(chan struct{})}
	var ends int
	b := graph.New("g", trail)
	for i := range 4 {
		b.Node(fmt.Sprint("n", i), ran.note(fmt.Sprint("n", i))).Edge(graph.Start, fmt.Sprint("n", i))
	}
	g, err := b.Compile(graph.Options{Saver: s})
	require.NoError(t, err)
	for ev, e := range g.Stream(t.Context(), graph.Update{}, graph.Thread("t")) {
		if err = e; ev.Node != "" {
			if ends++; ends == 4 {
				close(s.gate)
			}
		}
	}
	require.ErrorIs(t, err, errFault)
	s.step = -5
	st, err := g.Invoke(t.Context(), nil, graph.Thread("t"))
	require.NoError(t, err)
	require.Equal(t, []string{"n0", "n1", "n2", "n3"}, trail.Get(st))
	for i := range 4 {
		require.Equal(t, 1, ran.count(fmt.Sprint("n", i)), "node %d", i)
	}
}
