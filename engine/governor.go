package engine

import (
	"math/bits"
	"time"
)

// threadGovernors chooses the number of threads for batches. Batches of about the same size share a choice: the more work
// there is between two barriers, the more is gained by several threads, on a busy machine too.
type threadGovernors struct {
	all     int
	classes [sizeClasses]*threadGovernor // for 1, 2, 3 to 4, 5 to 8, … tokens
}

const (
	sizeClasses = 8
	// smallBatch is the most tokens that all threads can take a hundred times longer for than one.
	smallBatch = 16
	// largeBatch is the fewest tokens whose work is worth all threads in any case.
	largeBatch = 1<<(sizeClasses-1) + 1
)

func newThreadGovernors(threads int) *threadGovernors {
	g := &threadGovernors{all: threads}
	for i := range g.classes {
		g.classes[i] = newThreadGovernor(threads)
		if 1<<i > smallBatch {
			g.classes[i].threads = threads // the ends of prompts must not wait for a first look at one thread
		}
	}
	return g
}

// class returns who chooses for a batch; nil: all threads it is.
func (g *threadGovernors) class(tokens int) *threadGovernor {
	if tokens >= largeBatch {
		return nil
	}
	return g.classes[bits.Len(uint(max(tokens, 1)-1))]
}

// threads is the number of threads for a batch, and the time after which it is to be given up, 0: never.
func (g *threadGovernors) threads(tokens int) (int, time.Duration) {
	c := g.class(tokens)
	if c == nil {
		return g.all, 0
	}
	return c.threads, c.limit(tokens)
}

// observe takes the time of a batch.
func (g *threadGovernors) observe(tokens int, took time.Duration, now time.Time) {
	if c := g.class(tokens); c != nil {
		c.observe(took/time.Duration(tokens), now)
	}
}

// cost is the time that a batch takes with the current choice; 0: it was not measured in the last minute.
func (g *threadGovernors) cost(tokens int, now time.Time) time.Duration {
	c := g.class(tokens)
	if c == nil || c.seen.IsZero() || now.Sub(c.seen) > maxProbeInterval {
		return 0
	}
	return time.Duration(tokens) * c.est[c.index(c.threads)]
}

// gaveUp takes the time of a batch that was given up at its limit.
func (g *threadGovernors) gaveUp(tokens int, took time.Duration, now time.Time) {
	if c := g.class(tokens); c != nil {
		c.gaveUp(took/time.Duration(tokens), now)
	}
}

// threadGovernor chooses between one thread and all of them for batches of about one size. With a core of its own for each
// thread, more threads are faster. With other programs on those cores, each of the hundreds of barriers of a batch waits
// for a thread that is not running, and one thread can be a hundred times faster than two; how busy the machine is
// changes from second to second, so it is measured.
type threadGovernor struct {
	all      int              // threads of the fast case
	threads  int              // current choice: all or 1
	est      [2]time.Duration // smoothed time of a token: [0] with one thread, [1] with all
	fresh    bool             // the next step is the first with the current choice
	probe    int              // steps left of trying the other choice
	lastTry  time.Time
	seen     time.Time     // the last step
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
)

// newThreadGovernor begins with one thread, whose time is bounded on any machine, and then tries all.
func newThreadGovernor(threads int) *threadGovernor {
	return &threadGovernor{all: threads, threads: 1, fresh: true, interval: minProbeInterval}
}

// limit is the time after which a batch with the current choice is to be given up and computed by one thread; 0: never.
// Without it, one step on a machine that has just got busy can take seconds.
func (g *threadGovernor) limit(tokens int) time.Duration {
	if g.threads == 1 || g.est[0] == 0 {
		return 0
	}
	return max(leastLimit, time.Duration(tokens)*suspicious*g.est[0])
}

// gaveUp takes the time per token of a batch that was given up at its limit: one thread is the choice until the next try.
func (g *threadGovernor) gaveUp(took time.Duration, now time.Time) {
	if g.probe > 0 {
		g.interval = min(2*g.interval, maxProbeInterval)
	} else {
		g.interval = minProbeInterval // all threads were the better choice a moment ago
	}
	g.est[1] = took
	g.threads, g.fresh, g.probe, g.lastTry = 1, true, 0, now
}

// observe takes the time per token of a batch with the current choice, and chooses for the next.
func (g *threadGovernor) observe(took time.Duration, now time.Time) {
	g.seen = now
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
	if g.lastTry.IsZero() && g.threads > 1 {
		g.lastTry = now
	}
	switch {
	case g.probe > 0:
		if g.probe--; g.probe == 0 || took > suspicious*g.est[1-i] {
			g.decide(now)
		}
	case g.all <= 1:
	// A slow step of one thread says that the machine is busy, and then all threads are slower still.
	case i == 0 && g.est[1] == 0, i == 1 && before > 0 && took > suspicious*before, now.Sub(g.lastTry) >= g.interval:
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
