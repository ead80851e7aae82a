package graph

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/llama-agent/llama-agent/graph/checkpoint"
	"github.com/llama-agent/llama-agent/graph/store"
)

// Options configure a compiled graph. The zero value works: nothing is stored.
type Options struct {
	// Saver stores runs; a graph that has one needs a [Thread] for every run. A graph that runs as a subgraph uses the saver
	// of the graph above it instead.
	Saver checkpoint.Saver

	AsSubgraph Scope // what the graph stores when it runs as a subgraph

	Clock func() time.Time // default [time.Now]
	NewID func() string    // default: version 7 UUIDs; must return a new ID each time, also to concurrent runs

	MaxConcurrency int // tasks that run at once, 0: all of a superstep

	// CancelGrace is how long a run waits for a node to return after its context has ended. A node that takes longer is
	// abandoned: its run ends with [ErrStuck], and what it returns or emits later is ignored. Default 10 s.
	CancelGrace time.Duration

	InterruptBefore []string // breakpoints: stop before these nodes; "*" means all
	InterruptAfter  []string // breakpoints: stop after these nodes, also when nothing follows; "*" means all

	// Labels makes labels of the thread from its state, for listings that don't load it; see [checkpoint.ThreadInfo]. It must be a
	// pure function. It is asked at every boundary, and what changed is stored with it. A label that it leaves out stays as it was.
	Labels func(s State) map[string]string

	Store store.Store // what nodes get from [StoreFrom], also those of subgraphs that have none
	Cache store.Store // keeps the results of nodes that have a [Cache]

	Logger *slog.Logger // default: discards
}

// DefaultMaxSteps limits the supersteps of a run that has no [MaxSteps].
const DefaultMaxSteps = 100

// DefaultLeaseTTL is how long a thread's lease outlives an owner that can't renew it.
const DefaultLeaseTTL = 30 * time.Second

func (o Options) withDefaults() Options {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.NewID == nil {
		o.NewID = func() string { return uuid.Must(uuid.NewV7()).String() }
	}
	if o.CancelGrace == 0 {
		o.CancelGrace = 10 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

func (o Options) validate() error {
	var errs []error
	if o.MaxConcurrency < 0 {
		errs = append(errs, fmt.Errorf("MaxConcurrency is %d; it must not be negative", o.MaxConcurrency))
	}
	if o.AsSubgraph != Inherit && o.AsSubgraph != Own && o.AsSubgraph != None {
		errs = append(errs, fmt.Errorf("AsSubgraph is %q; it must be empty, %q or %q", o.AsSubgraph, Own, None))
	}
	if o.CancelGrace < 0 {
		errs = append(errs, fmt.Errorf("CancelGrace is %v; it must not be negative", o.CancelGrace))
	}
	return errors.Join(errs...)
}

// NodeOption configures a node.
type NodeOption func(*nodeDef)

// RetryPolicy says when and how often a failed node runs again within its superstep. The zero value means three attempts
// half a second, then a second apart, for every error except the end of the run's context.
type RetryPolicy struct {
	MaxAttempts int              // attempts in all, default 3
	Initial     time.Duration    // pause before the second attempt, default 500 ms; negative: none
	Factor      float64          // growth of the pause, default 2
	Max         time.Duration    // longest pause, default 128 s
	Jitter      float64          // share of the pause that is random, 0 to 1
	If          func(error) bool // errors worth another attempt, default all
}

func (p RetryPolicy) withDefaults() RetryPolicy {
	if p.MaxAttempts == 0 {
		p.MaxAttempts = 3
	}
	if p.Initial == 0 {
		p.Initial = 500 * time.Millisecond
	}
	if p.Factor == 0 {
		p.Factor = 2
	}
	if p.Max == 0 {
		p.Max = 128 * time.Second
	}
	if p.If == nil {
		p.If = func(error) bool { return true }
	}
	return p
}

// pause returns the wait after the given failed attempt, counted from 1.
func (p RetryPolicy) pause(attempt int) time.Duration {
	d := float64(max(p.Initial, 0))
	for range attempt - 1 {
		d = min(d*p.Factor, float64(p.Max))
	}
	if p.Jitter > 0 {
		d -= d * min(p.Jitter, 1) * rand.Float64()
	}
	return time.Duration(d)
}

// Retry runs a node again when it fails. Of several policies the first whose If holds for the error decides; the attempts of
// all count. Questions and the end of the run's context are no failures.
func Retry(policies ...RetryPolicy) NodeOption {
	return func(n *nodeDef) {
		n.retry = nil
		for _, p := range policies {
			n.retry = append(n.retry, p.withDefaults())
		}
	}
}

// Timeout ends the context of each attempt of a node after d. The failure is a [*TimeoutError].
func Timeout(d time.Duration) NodeOption { return func(n *nodeDef) { n.timeout = d } }

// IdleTimeout ends the context of an attempt of a node that shows no progress for d. Progress is an event, a message, the
// begin and end of an effect, any event of a subgraph that the node runs, and [Heartbeat]. The failure is a [*TimeoutError].
func IdleTimeout(d time.Duration) NodeOption { return func(n *nodeDef) { n.idleTimeout = d } }

// ErrorHandler takes the place of a node that has failed; see [OnError]. failure names the node and wraps its error.
type ErrorHandler func(ctx context.Context, s State, failure *NodeError) (Update, error)

// OnError calls handler, in the same superstep, once a node has failed and its retries are used up. What it returns is the
// node's update, and the run goes on. The edges and branches of the node aren't followed: what is to run next, the handler
// asks for with [Goto]. An error of the handler fails the run. The end of the run's context, conflicts between nodes and
// [ErrStuck] are not handled.
func OnError(handler ErrorHandler) NodeOption { return func(n *nodeDef) { n.onError = handler } }

// Reads limits what a node sees to these channels: the others appear to have no value.
func Reads(channels ...Channel) NodeOption {
	return func(n *nodeDef) { n.reads = slices.Clone(channels) }
}

// Deferred holds a node back until nothing else is due.
func Deferred() NodeOption { return func(n *nodeDef) { n.deferred = true } }

// Destinations declares the nodes that a node may ask for with [Goto], for checks and drawings.
func Destinations(nodes ...string) NodeOption {
	return func(n *nodeDef) { n.destinations = append(n.destinations, nodes...) }
}

// Durability says when a boundary is stored.
type Durability string

// The durability modes.
const (
	Sync  Durability = "sync"  // before the next superstep begins
	Async Durability = "async" // while the next supersteps run; a crash may lose the last boundaries
	Exit  Durability = "exit"  // the last boundary only, when the run ends in whatever way but a crash
)

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

// Lease names the owner of the thread's lease for messages to others (default: program and process number) and sets how
// long the lease outlives an owner that stops renewing it (default [DefaultLeaseTTL]; a dead process on the same host
// loses it at once).
func Lease(owner string, ttl time.Duration) RunOption {
	return func(c *runConfig) { c.owner, c.ttl = owner, ttl }
}

// Resume answers the only open question of the thread. The value is passed on as JSON. The run continues; its input must be
// nil.
func Resume(value any) RunOption { return Answer("", value) }

// Answer answers the question with this ID; see [Resume]. It may be given several times.
func Answer(id string, value any) RunOption {
	return func(c *runConfig) { c.answers = append(c.answers, answer{id, value}) }
}

// Command changes the state before the thread continues: u is merged, and the nodes it asks for with [Goto] are due in
// addition to those that are. Like an answer it needs a nil input, and may come together with answers.
func Command(u Update) RunOption {
	return func(c *runConfig) { c.command = append(slices.Clip(c.command), u...) }
}

// Subgraphs adds the events of subgraphs to a stream; see [Event.Namespace].
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
		return c, fmt.Errorf("starting a run of graph %q: %w", g.name, errors.Join(errs...))
	}
	return c, nil
}

// sleep waits for d or until ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
