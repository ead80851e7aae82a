package graph

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Durability says when a boundary is stored.
type Durability string

// The durability modes.
const (
	Sync  Durability = "sync"  // before the next superstep begins
	Async Durability = "async" // while the next supersteps run; a crash may lose the last boundaries
	Exit  Durability = "exit"  // the last boundary only, when the run ends in whatever way but a crash
)

// DefaultMaxSteps limits the supersteps of a run that has no [MaxSteps].
const DefaultMaxSteps = 100

// DefaultLeaseTTL is how long a thread's lease outlives an owner that can't renew it.
const DefaultLeaseTTL = 30 * time.Second

// RunOption configures one run.
type RunOption func(*runConfig)

type runConfig struct {
	thread       string
	from         string
	modes        map[Mode]bool
	maxSteps     int
	durability   Durability
	labels       map[string]string
	otherShape   bool
	retryUnknown bool
	owner        string
	ttl          time.Duration
	answers      []answer
	before       []string
	after        []string
	command      Update
	subgraphs    bool
	orContinue   bool
	namespace    []string
	drain        <-chan struct{}
	buffer       int
	lineage      string       // of a subgraph: the task it runs for
	forward      []forwarding // of a subgraph, by channel: what it hands back
}

type answer struct {
	id    string
	value any
}

// Thread names the thread a run belongs to. Runs of one thread continue each other's state. Without a thread nothing is
// stored.
func Thread(id string) RunOption { return func(c *runConfig) { c.thread = id } }

// FromCheckpoint begins at a checkpoint of the thread instead of its newest: what follows is a fork, and the thread's newest
// state from then on.
func FromCheckpoint(id string) RunOption { return func(c *runConfig) { c.from = id } }

// Modes chooses the events of a stream, several kinds at once. Default is [Updates].
func Modes(modes ...Mode) RunOption {
	return func(c *runConfig) {
		for _, m := range modes {
			c.modes[m] = true
		}
	}
}

// MaxSteps limits the supersteps of one run; one more that is due is [ErrRecursionLimit]. The thread can be continued.
func MaxSteps(n int) RunOption { return func(c *runConfig) { c.maxSteps = n } }

// WithDurability says when boundaries are stored, default [Sync]. Effects of [Once] are always stored at once, and the boundary
// that their superstep began at before them.
func WithDurability(d Durability) RunOption { return func(c *runConfig) { c.durability = d } }

// Labels adds labels to the thread, for listing.
func Labels(labels map[string]string) RunOption {
	return func(c *runConfig) { c.labels = maps.Clone(labels) }
}

// AllowOtherShape continues a thread although a graph of another shape wrote it. Values of channels that are gone are
// dropped; nodes that are due must exist.
func AllowOtherShape() RunOption { return func(c *runConfig) { c.otherShape = true } }

// RetryUnknown runs effects of unknown outcome again; see [Once].
func RetryUnknown() RunOption { return func(c *runConfig) { c.retryUnknown = true } }

// Lease names the owner of the thread's lease for messages to others (if empty: the process number) and sets how long the lease
// outlives an owner that stops renewing it (if 0: [DefaultLeaseTTL]; a dead process on the same host loses it at once).
func Lease(owner string, ttl time.Duration) RunOption {
	return func(c *runConfig) { c.owner, c.ttl = owner, cmp.Or(ttl, DefaultLeaseTTL) }
}

// Resume answers the only open question of the thread. The value is passed on as JSON. The run continues; its input must be
// nil.
func Resume(value any) RunOption { return Answer("", value) }

// Answer answers the question with this ID; see [Resume]. It may be given several times. Of the open questions of one node the one
// that was asked first must be answered first, or together with later ones.
func Answer(id string, value any) RunOption {
	return func(c *runConfig) { c.answers = append(c.answers, answer{id, value}) }
}

// Command changes the state before the thread continues: u is merged, and the nodes it asks for with [Goto] are due in
// addition to those that are. Like an answer it needs a nil input, and may come together with answers.
func Command(u Update) RunOption {
	return func(c *runConfig) { c.command = append(slices.Clip(c.command), u...) }
}

// OrContinue continues the thread if it has something left to do, and uses the run's input, which must not be nil, only if it
// hasn't or is new: for programs that take up what an earlier one of them left, whatever that was.
func OrContinue() RunOption { return func(c *runConfig) { c.orContinue = true } }

// Subgraphs adds the events of subgraphs to a stream, also their [Values]: tell them apart by [Event.Namespace].
func Subgraphs() RunOption { return func(c *runConfig) { c.subgraphs = true } }

// InSubgraph makes [Graph.UpdateState] edit the subgraph whose checkpoints are in this namespace, which [TaskInfo] and [Event] name.
// The subgraph goes on from there when the thread does.
func InSubgraph(namespace []string) RunOption {
	return func(c *runConfig) { c.namespace = slices.Clone(namespace) }
}

// Drain stops the run with [ErrDrained] at the next boundary once request is closed, in subgraphs at theirs. The superstep that runs
// finishes first. The thread can be continued.
func Drain(request <-chan struct{}) RunOption { return func(c *runConfig) { c.drain = request } }

// Buffered lets a stream's run go on while its consumer is busy, however long: the run has a goroutine of its own, and up to
// n events wait. When more would, the newest events that can be missed are dropped, those with the modes [Custom], [Messages],
// [Tasks] and [Debug], and the next event says how many; see [Event.Dropped]. Other events and the error at the end always
// arrive. n must be positive.
func Buffered(n int) RunOption {
	return func(c *runConfig) {
		c.buffer = n
		if n <= 0 {
			c.buffer = -1
		}
	}
}

// InterruptBefore stops the run before these nodes, in addition to the graph's own breakpoints; "*" means all.
func InterruptBefore(nodes ...string) RunOption {
	return func(c *runConfig) { c.before = append(c.before, nodes...) }
}

// InterruptAfter stops the run after these nodes, in addition to the graph's own breakpoints; "*" means all.
func InterruptAfter(nodes ...string) RunOption {
	return func(c *runConfig) { c.after = append(c.after, nodes...) }
}

func (g *Graph) runConfig(opts []RunOption) (runConfig, error) {
	c := runConfig{modes: map[Mode]bool{}, maxSteps: DefaultMaxSteps, durability: Sync, ttl: DefaultLeaseTTL}
	c.before = slices.Clone(g.opts.InterruptBefore)
	c.after = slices.Clone(g.opts.InterruptAfter)
	for _, opt := range opts {
		opt(&c)
	}
	var errs []error
	if c.maxSteps < 1 {
		errs = append(errs, fmt.Errorf("MaxSteps is %d; it must be at least 1", c.maxSteps))
	}
	if c.buffer < 0 {
		errs = append(errs, errors.New("the buffer of the stream must hold at least 1 event"))
	}
	if c.ttl <= 0 {
		errs = append(errs, fmt.Errorf("the lease's term is %v; it must be positive", c.ttl))
	}
	if c.durability != Sync && c.durability != Async && c.durability != Exit {
		errs = append(errs, fmt.Errorf("durability %q is none of sync, async, exit", c.durability))
	}
	for m := range c.modes {
		if !slices.Contains(allModes, m) {
			errs = append(errs, fmt.Errorf("stream mode %q is none of %v", m, allModes))
		}
	}
	for _, n := range slices.Concat(c.before, c.after) {
		if n != "*" && g.nodes[n] == nil {
			errs = append(errs, fmt.Errorf("breakpoint: %w", g.unknownNode(n, "")))
		}
	}
	if c.thread == "" && c.from != "" {
		errs = append(errs, fmt.Errorf("continuing from checkpoint %q: %w", c.from, ErrNoThread))
	}
	if len(errs) > 0 {
		return c, fmt.Errorf("starting a run of graph %q: %w: %w", g.name, ErrInvalidOption, errors.Join(errs...))
	}
	return c, nil
}
