package graph_test

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/llama-agent/llama-agent/graph"
	"github.com/llama-agent/llama-agent/graph/checkpoint"
	"github.com/llama-agent/llama-agent/graph/checkpoint/sqlite"
)

// traceRecorder notes what the nodes of a scenario do. Nodes use it at the same time.
type traceRecorder struct {
	mu        sync.Mutex
	changed   chan struct{} // closed at the next change of finished or committed
	visits    map[string]int
	raised    map[*traceAction]bool
	finished  map[string]int   // updates that nodes returned
	committed map[string]int   // results stored while others of the superstep ran
	round     int              // supersteps of the root that have ended
	sync      bool             // the end of a superstep is noted before the next begins
	started   func(graph.Info) // told of every execution
	ran       []traceEntry
	marks     []traceEntry
	bugs      []string
}

// traceEntry is an entry of ran or of marks. Those of one round belong to one superstep of the root.
type traceEntry struct {
	round int
	value []any
}

func newTraceRecorder(started func(graph.Info)) *traceRecorder {
	return &traceRecorder{started: started, changed: make(chan struct{}), visits: map[string]int{}, raised: map[*traceAction]bool{},
		finished: map[string]int{}, committed: map[string]int{}}
}

// begin counts an execution of a node.
func (r *traceRecorder) begin(ctx context.Context, path string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.visits[path]++
	info, _ := graph.Running(ctx)
	r.started(info)
	r.ran = append(r.ran, traceEntry{r.round, []any{path, info.Step}})
	return r.visits[path]
}

// finish notes that a node has returned an update.
func (r *traceRecorder) finish(path string) { r.count(r.finished, path) }

// commit notes that the result of a task was stored.
func (r *traceRecorder) commit(path string) { r.count(r.committed, path) }

func (r *traceRecorder) count(what map[string]int, path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	what[path]++
	close(r.changed)
	r.changed = make(chan struct{})
}

// wait returns once a node has finished so often.
func (r *traceRecorder) wait(ctx context.Context, path string, count int) error {
	for {
		r.mu.Lock()
		n, changed := max(r.finished[path], r.committed[path]), r.changed
		r.mu.Unlock()
		if n >= count {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// first reports whether the action runs for the first time.
func (r *traceRecorder) first(a *traceAction) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	again := r.raised[a]
	r.raised[a] = true
	return !again
}

func (r *traceRecorder) mark(path, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.marks = append(r.marks, traceEntry{r.round, []any{path, text}})
}

func (r *traceRecorder) bug(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bugs = append(r.bugs, text)
}

// endRound notes that a superstep of the root has ended. What comes then counts only while boundaries are stored in the run's
// goroutine.
func (r *traceRecorder) endRound() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sync {
		r.round++
	}
}

func (r *traceRecorder) setSync(sync bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sync = sync
}

func (r *traceRecorder) current() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.round
}

// take returns what was noted since the last call.
func (r *traceRecorder) take() (ran, marks []traceEntry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ran, marks = r.ran, r.marks
	r.ran, r.marks = nil, nil
	return ran, marks
}

// traceSaver is a saver that tells the recorder of boundaries, and knows the namespaces that were written.
type traceSaver struct {
	*sqlite.Saver
	rec   *traceRecorder
	names *traceNames

	mu     sync.Mutex
	spaces []checkpoint.Query
}

// known returns the namespaces that were written.
func (s *traceSaver) known() []checkpoint.Query {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.spaces)
}

func (s *traceSaver) Save(ctx context.Context, boundaries ...checkpoint.Boundary) error {
	s.mu.Lock()
	for i := range boundaries {
		info := &boundaries[i].Checkpoint.Info
		q := checkpoint.Query{Thread: info.Thread, Namespace: info.Namespace}
		if !slices.Contains(s.spaces, q) {
			s.spaces = append(s.spaces, q)
			if q.Namespace != "" {
				s.names.space(rawSpace{q.Thread, strings.Split(q.Namespace, "|")})
			}
		}
		if info.Namespace == "" {
			s.rec.endRound()
		}
	}
	s.mu.Unlock()
	return s.Saver.Save(ctx, boundaries...)
}

// SaveResults makes the tasks of subgraph nodes known as finished: no traced node runs for those.
func (s *traceSaver) SaveResults(ctx context.Context, set checkpoint.ResultSet) error {
	err := s.Saver.SaveResults(ctx, set)
	if err == nil {
		s.committed(set.Results, set.Namespace)
	}
	return err
}

func (s *traceSaver) committed(results []checkpoint.Result, namespace string) {
	for _, r := range results {
		if r.Done {
			s.rec.commit(subgraphPath(namespace) + r.Node)
		}
	}
}

// subgraphPath is the path of the nodes of a namespace.
func subgraphPath(namespace string) string {
	var path strings.Builder
	if namespace != "" {
		for _, part := range strings.Split(namespace, "|") {
			name, _, _ := strings.Cut(part, ":")
			path.WriteString(name + "/")
		}
	}
	return path.String()
}
