package graph

import (
	"fmt"
	"log/slog"
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

	MaxConcurrency int // tasks of a run that run at once, 0: all of a superstep; subgraphs have limits of their own

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

func (o Options) check() []error {
	var errs []error
	if o.MaxConcurrency < 0 {
		errs = append(errs, fmt.Errorf("MaxConcurrency is %d; it must not be negative: %w", o.MaxConcurrency, ErrInvalidOption))
	}
	if o.AsSubgraph != Inherit && o.AsSubgraph != Own && o.AsSubgraph != None {
		errs = append(errs, fmt.Errorf("AsSubgraph is %q; it must be empty, %q or %q: %w", o.AsSubgraph, Own, None, ErrInvalidOption))
	}
	if o.CancelGrace < 0 {
		errs = append(errs, fmt.Errorf("CancelGrace is %v; it must not be negative: %w", o.CancelGrace, ErrInvalidOption))
	}
	return errs
}
