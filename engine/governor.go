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
	steps    int
	probe    int // steps left of trying the other choice
	lastTry  time.Time
	interval time.Duration // until the other choice is tried again
}

// Probing costs a few slow steps, so the time between two tries doubles as long as they confirm the choice.
const (
	firstProbeStep   = 2
	probeSteps       = 1
	minProbeInterval = 2 * time.Second
	maxProbeInterval = time.Minute
	// suspicious is the slow-down of a step that makes the other choice worth a try before its time.
	suspicious = 2
)

func newThreadGovernor(threads int) *threadGovernor {
	return &threadGovernor{all: threads, threads: threads, interval: minProbeInterval}
}

// batchThreads is the number of threads for a batch of several tokens. A large one does enough work between two barriers
// to be worth all threads even on a busy machine.
func (g *threadGovernor) batchThreads(tokens int) int {
	if tokens < largeBatch {
		return g.threads
	}
	return g.all
}

// largeBatch is a number of tokens whose work outweighs the waiting at barriers.
const largeBatch = 128

// observe takes the time of one decode step with the current choice, and chooses for the next.
func (g *threadGovernor) observe(took time.Duration, now time.Time) {
	if g.all <= 1 {
		return
	}
	i := g.index(g.threads)
	before := g.est[i]
	if before == 0 || g.probe > 0 || took < before {
		// A probe is about now, not about the past; and steps get faster when the first ones have warmed the caches.
		g.est[i] = took
	} else {
		g.est[i] += (took - before) / 4
	}
	g.steps++
	switch {
	case g.probe > 0:
		if g.probe--; g.probe == 0 || took > suspicious*g.est[1-i] {
			g.decide(now)
		}
	case g.steps == firstProbeStep, before > 0 && took > suspicious*before, g.steps > firstProbeStep && now.Sub(g.lastTry) >= g.interval:
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
