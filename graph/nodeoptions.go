package graph

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"
)

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
// node's update, and the run goes on. The edges and branches of the node aren't followed, unless the update has a [Follow]: what
// is to run next, the handler asks for with [Goto]. An error of the handler fails the run. The end of the run's context, conflicts between nodes and
// [ErrStuck] are not handled.
func OnError(handler ErrorHandler) NodeOption { return func(n *nodeDef) { n.onError = handler } }

// Reads limits what a node sees to these channels: the others appear to have no value, also when they were forgotten here.
func Reads(channels ...Channel) NodeOption {
	return func(n *nodeDef) { n.reads = slices.Clone(channels) }
}

// Deferred holds a node back until no other node is due. Tasks started by [Send] don't hold it back, but what follows them does.
func Deferred() NodeOption { return func(n *nodeDef) { n.deferred = true } }

// Destinations declares the nodes that a node may ask for with [Goto], for checks and drawings.
func Destinations(nodes ...string) NodeOption {
	return func(n *nodeDef) { n.destinations = append(n.destinations, nodes...) }
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
