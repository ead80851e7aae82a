package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// machine simulates how long a decode step takes.
type machine struct {
	one, all time.Duration
	now      time.Time
	spent    time.Duration
}

func (m *machine) run(g *threadGovernor, steps int) (slow int) {
	for range steps {
		took := m.all
		if g.threads == 1 {
			took = m.one
		}
		if took > min(m.one, m.all) {
			slow++
		}
		if limit := g.limit(1); limit > 0 && took > limit {
			m.now = m.now.Add(limit)
			m.spent += limit
			g.gaveUp(limit, m.now)
			continue
		}
		m.now = m.now.Add(took)
		m.spent += took
		g.observe(took, m.now)
	}
	return slow
}

const ms = time.Millisecond

func TestGovernorStaysWithAllThreadsOnAnIdleMachine(t *testing.T) {
	t.Parallel()
	g := newThreadGovernor(4)
	m := &machine{one: 30 * ms, all: 10 * ms, now: time.Unix(0, 0)}
	require.LessOrEqual(t, m.run(g, 20), 1)
	require.Equal(t, 4, g.threads)
	slow := m.run(g, 60_000) // ten minutes
	require.LessOrEqual(t, slow, 20*probeSteps, "tries get rarer")
	require.Positive(t, slow, "and never end")
}

func TestGovernorGoesToOneThreadOnABusyMachine(t *testing.T) {
	t.Parallel()
	g := newThreadGovernor(2)
	m := &machine{one: 20 * ms, all: 2 * time.Second, now: time.Unix(0, 0)}
	require.LessOrEqual(t, m.run(g, 20), probeSteps)
	require.Equal(t, 1, g.threads)
	require.LessOrEqual(t, m.spent, 20*m.one+leastLimit, "the first try too is given up")

	// One slow step is enough to end a try.
	m.spent = 0
	slow := m.run(g, 3000) // a minute of work
	require.LessOrEqual(t, slow, 6)
	require.Less(t, m.spent, 3000*m.one*13/10)
}

// On a busy machine the time of one thread is uneven, which is no reason to try all of them.
func TestGovernorStaysCalmOnABusyMachine(t *testing.T) {
	t.Parallel()
	g := newThreadGovernor(2)
	m := &machine{all: 2 * time.Second, now: time.Unix(0, 0)}
	tries := 0
	for i := range 1000 {
		m.one = []time.Duration{10 * ms, 35 * ms, 90 * ms}[i%3]
		if m.run(g, 1); g.probe > 0 {
			tries++
		}
	}
	require.LessOrEqual(t, tries, 6, "in 45 seconds")
}

func TestGovernorFollowsAChange(t *testing.T) {
	t.Parallel()
	g := newThreadGovernor(2)
	m := &machine{one: 16 * ms, all: 10 * ms, now: time.Unix(0, 0)}
	m.run(g, 1000)
	require.Equal(t, 2, g.threads)
	m.one, m.all = 20*ms, time.Second // other programs begin
	m.spent = 0
	require.LessOrEqual(t, m.run(g, 50), 3)
	require.Equal(t, 1, g.threads)
	require.Less(t, m.spent, 50*m.one+2*leastLimit)
	m.one, m.all = 16*ms, 10*ms // and end
	m.run(g, int(2*maxProbeInterval/m.one))
	require.Equal(t, 2, g.threads)
}

func TestGovernorForgivesASingleSlowStep(t *testing.T) {
	t.Parallel()
	g := newThreadGovernor(2)
	m := &machine{one: 16 * ms, all: 10 * ms, now: time.Unix(0, 0)}
	m.run(g, 100)
	g.observe(400*ms, m.now)
	slow := m.run(g, int(10*time.Second/m.all))
	require.Equal(t, 2, g.threads)
	require.Less(t, slow, 400, "less than half of ten seconds with the slower choice")
}

func TestGovernorIsNotFooledByAColdStart(t *testing.T) {
	t.Parallel()
	g := newThreadGovernor(2)
	now := time.Unix(0, 0)
	g.observe(60*ms, now) // the first step reads the weights into the caches
	m := &machine{one: 45 * ms, all: 28 * ms, now: now}
	require.LessOrEqual(t, m.run(g, 100), probeSteps)
	require.Equal(t, 2, g.threads)
	g = newThreadGovernor(2)
	g.observe(20*time.Second, now) // from a disk
	m.run(g, int(2*minProbeInterval/m.one))
	require.Equal(t, 2, g.threads)
}

// A step's time grows with the context, and what one thread needs was measured long ago.
func TestGovernorFollowsAGrowingContext(t *testing.T) {
	t.Parallel()
	g := newThreadGovernor(2)
	m := &machine{one: 100 * ms, all: 60 * ms, now: time.Unix(0, 0)}
	m.run(g, 100)
	m.one, m.all = 500*ms, 300*ms
	m.run(g, int(3*minProbeInterval/m.one))
	require.Equal(t, 2, g.threads)
	require.Zero(t, m.run(g, 20))
}

func TestGovernorLimits(t *testing.T) {
	t.Parallel()
	g := newThreadGovernor(2)
	require.Zero(t, g.limit(1), "nothing is known")
	(&machine{one: 80 * ms, all: 50 * ms, now: time.Unix(0, 0)}).run(g, 20)
	require.Equal(t, 160*ms, g.limit(1))
	require.Equal(t, 800*ms, g.limit(5))
	g.gaveUp(time.Second, time.Unix(9, 0))
	require.Zero(t, g.limit(1), "one thread comes to its end")
}

func TestGovernorWithOneThread(t *testing.T) {
	t.Parallel()
	g := newThreadGovernor(1)
	(&machine{one: ms, all: ms, now: time.Unix(0, 0)}).run(g, 100)
	require.Equal(t, 1, g.threads)
}

func TestGovernorBatches(t *testing.T) {
	t.Parallel()
	g := newThreadGovernors(2)
	now := time.Unix(0, 0)
	step := func(tokens int, one, all time.Duration) {
		threads, limit := g.threads(tokens)
		took := one
		if threads == 2 {
			took = all
		}
		now = now.Add(took)
		if limit > 0 && took > limit {
			g.gaveUp(tokens, took, now)
		} else {
			g.observe(tokens, took, now)
		}
	}
	for range 20 {
		step(1, 20*ms, time.Second) // waiting at barriers
		step(3, 60*ms, time.Second)
		step(4, 70*ms, time.Second)
		step(100, time.Second, 900*ms) // they are the smaller part of a batch with much work
		step(65, 600*ms, 550*ms)
		step(largeBatch, time.Minute, time.Minute)
	}
	for tokens, want := range map[int]int{1: 1, 16: 1, 17: 2, 128: 2, largeBatch: 2} {
		got, limit := newThreadGovernors(2).threads(tokens)
		require.Equal(t, want, got, "the first batch of %d tokens", tokens)
		require.Zero(t, limit)
	}
	for tokens, want := range map[int]int{1: 1, 3: 1, 4: 1, 65: 2, 100: 2, 128: 2, largeBatch: 2, 100 * largeBatch: 2} {
		got, _ := g.threads(tokens)
		require.Equal(t, want, got, "%d tokens", tokens)
	}
	_, limit := g.threads(100)
	require.InDelta(t, float64(2*time.Second), float64(limit), float64(time.Second))
	_, limit = g.threads(largeBatch)
	require.Zero(t, limit, "a large batch goes on")
}
