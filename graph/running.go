package graph

import "context"

// Info says which task a node runs as; see [Running].
type Info struct {
	Graph     string
	Node      string
	Task      string   // ID: the same when the task runs again, another in the next turn of a loop and in a fork; a good idempotency key
	Thread    string   // empty when the run isn't stored
	Namespace []string // of the subgraph that the node belongs to; see [Event.Namespace]
	Step      int      // superstep of the node's graph
	Attempt   int      // from 1, counted anew in each run
}

// Running returns the task that ctx, or the context it was derived from, was given to.
func Running(ctx context.Context) (Info, bool) {
	t := taskFrom(ctx)
	if t == nil {
		return Info{}, false
	}
	return Info{
		Graph: t.scope.graph, Node: t.node, Task: t.id, Thread: t.scope.cfg.thread, Namespace: t.scope.path, Step: t.step,
		Attempt: t.attempt(),
	}, true
}
