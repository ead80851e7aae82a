package engine

import "time"

// threadGovernor chooses between one thread and all of them for decoding single tokens. With a core of its own for each
// thread, more threads are faster. With other programs on those cores, each of the hundreds of barriers of a token waits
// for a thread that is not running, and one thread can be a hundred times faster than two; how busy the machine is
// changes from second to second, so it is measured.
type threadGovernor struct {
	all      int              // threads of the fast case
	threads  int              // current choice: all or 1
	est      [2]time.Duration // smoothed time of a step: [0] with one thread, [1] with all
	fresh    bool             // the next step is the first with the current choice
	probe    int              // steps left of trying the other choice
	lastTry  time.Time
	interval time.Duration // until the other choice is tried again
}

// Probing costs a few slow steps, so the time between two tries doubles as long as they confirm the choice.
const (
	probeSteps       = 1
	minProbeInterval = 2 * time.Second
	maxProbeInterval = time.Minute
	// suspicious is the slow-down of a step that makes the other choice worth a try before its time, and at which a step
	// with all threads is given up.
	suspicious = 2
	// leastLimit is the shortest time after which a step is given up: what a machine may do now and then.
	leastLimit = 100 * time.Millisecond
	// largeBatch is a number of tokens whose work outweighs the waiting at barriers.
	largeBatch = 128
)

// newThreadGovernor begins with one thread, whose time is bounded on any machine, and then tries all.
func newThreadGovernor(threads int) *threadGovernor {
	return &threadGovernor{all: threads, threads: 1, fresh: true, interval: minProbeInterval}
}

// batchThreads is the number of threads for a batch of several tokens. A large one does enough work between two barriers
// to be worth all threads even on a busy machine.
func (g *threadGovernor) batchThreads(tokens int) int {
	if tokens < largeBatch {
		return g.threads
	}
	return g.all
}

// limit is the time after which a batch with the current choice is to be given up and computed by one thread; 0: never.
// Without it, one step on a machine that has just got busy can take seconds.
func (g *threadGovernor) limit(tokens int) time.Duration {
	if g.threads == 1 || g.est[0] == 0 || tokens >= largeBatch {
		return 0
	}
	return max(leastLimit, time.Duration(tokens)*suspicious*g.est[0])
}

// gaveUp takes the time of a batch that was given up at its limit: one thread is the choice until the next try.
func (g *threadGovernor) gaveUp(took time.Duration, now time.Time) {
	if g.probe > 0 {
		g.interval = min(2*g.interval, maxProbeInterval)
	} else {
		g.interval = minProbeInterval // all threads were the better choice a moment ago
	}
	g.est[1] = took
	g.threads, g.fresh, g.probe, g.lastTry = 1, true, 0, now
}

// observe takes the time of one decode step with the current choice, and chooses for the next.
func (g *threadGovernor) observe(took time.Duration, now time.Time) {
	if g.all <= 1 {
		return
	}
	i := g.index(g.threads)
	before := g.est[i]
	if before == 0 || g.fresh || g.probe > 0 || took < before {
		// The first step of a choice is about now, not about the past; and steps get faster when the first ones have
		// warmed the caches.
		g.est[i] = took
	} else {
		g.est[i] += (took - before) / 4
	}
	g.fresh = false
	switch {
	case g.probe > 0:
		if g.probe--; g.probe == 0 || took > suspicious*g.est[1-i] {
			g.decide(now)
		}
	case g.est[1-i] == 0, before > 0 && took > suspicious*before, now.Sub(g.lastTry) >= g.interval:
		g.threads = g.other()
		g.probe = probeSteps
		g.lastTry = now
	}
}

// decide ends a probe.
func (g *threadGovernor) decide(now time.Time) {
	choice := g.all
	if g.est[0] < g.est[1] {
		choice = 1
	}
	switch choice {
	case g.all:
		g.interval = maxProbeInterval // a machine that gets busy shows in the next step, without a try
	case g.threads:
		g.interval = minProbeInterval // one thread has just won; the machine may be idle again soon
	default:
		g.interval = min(2*g.interval, maxProbeInterval)
	}
	g.fresh = choice != g.threads
	g.threads, g.probe, g.lastTry = choice, 0, now
}

func (g *threadGovernor) index(threads int) int {
	if threads == 1 {
		return 0
	}
	return 1
}

func (g *threadGovernor) other() int {
	if g.threads == 1 {
		return g.all
	}
	return 1
}
