package graph

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/llama-agent/llama-agent/graph/checkpoint"
)

// recorder turns the positions of one run into boundaries and hands them to the saver: each before the next superstep, behind
// the run's back, or only the last, as the run's durability says. It holds the thread's lease while it is open.
//
// The run's goroutine owns the fields above mu and calls all methods but ready.
type recorder struct {
	g         *Graph
	saver     checkpoint.Saver
	thread    string
	namespace string
	lease     string                      // token, empty when the saver grants none
	above     func(context.Context) error // of a subgraph: waits until the position of the task that runs it is stored
	mode      Durability
	labels    map[string]string // of the run's options, until they are stored
	made      map[string]string // from the state, as stored

	lastSeq  int64
	parent   checkpoint.Info       // last boundary stored or queued
	versions map[string]int64      // its channels
	unsaved  map[int]channelChange // changes since parent
	holding  bool                  // the next boundary waits for the one after it
	held     []checkpoint.Boundary

	exit sync.Mutex          // guards, with Exit, the fields above and these, which tasks reach through their effects and subgraphs
	last *position           // not stored yet
	kept []checkpoint.Result // results of last's tasks

	stopLease func(context.Context) error
	stopped   chan struct{} // closed when the writer has ended

	mu      sync.Mutex
	changed *sync.Cond
	queue   []storeOp
	writing bool
	closing bool
	err     error // first failure; nothing is written after it
	told    bool  // err has been returned
}

// storeOp is a boundary or a result to write.
type storeOp struct {
	boundary *checkpoint.Boundary
	seq      int64
	result   checkpoint.Result
}

// newRecorder returns a recorder that writes with the lease of sc.
func (g *Graph) newRecorder(ctx context.Context, sc *scope) *recorder {
	s := &recorder{
		g: g, saver: sc.saver, thread: sc.cfg.thread, namespace: joinNamespace(sc.path), lease: sc.lease,
		mode: sc.cfg.durability, labels: sc.cfg.labels,
		versions: map[string]int64{}, unsaved: map[int]channelChange{}, stopped: make(chan struct{}),
	}
	if sc.above != nil {
		s.above = sc.above.ready
	}
	s.changed = sync.NewCond(&s.mu)
	go s.write(context.WithoutCancel(ctx))
	return s
}

// load returns the checkpoint with this ID, or the newest, and continues from it.
func (s *recorder) load(ctx context.Context, id string) (*checkpoint.Saved, error) {
	saved, err := s.saver.Load(ctx, checkpoint.Ref{Thread: s.thread, Namespace: s.namespace, ID: id})
	if err != nil {
		return nil, err
	}
	s.lastSeq, s.parent = saved.LastSeq, saved.Info
	clear(s.versions)
	for name, seq := range saved.Channels {
		if _, known := s.g.schema.index[name]; known { // a channel that is gone goes with the next boundary
			s.versions[name] = seq
		}
	}
	return saved, nil
}

// forget makes the next boundary one without a parent.
func (s *recorder) forget() {
	s.parent = checkpoint.Info{}
	clear(s.versions)
}

// hold keeps the next boundary back until the one after it, to store both in one transaction.
func (s *recorder) hold() { s.holding = true }

// commit stores a position, and fills in its ID, sequence number and size.
func (s *recorder) commit(ctx context.Context, next *position, changes []channelChange, tasks []*task) error {
	if s.mode == Exit {
		s.exit.Lock()
		defer s.exit.Unlock()
		s.note(changes)
		s.holding = false
		next.info.Seq = s.lastSeq + 1
		saved := *next
		s.last, s.kept = &saved, nil
		return s.failed()
	}
	s.note(changes)
	b, err := s.boundary(next)
	if err != nil {
		return err
	}
	for _, t := range tasks {
		if t.node == Start && !t.cached {
			b.Results = append(b.Results, checkpoint.Result{Task: t.id, Node: Start, Done: true}) // its update is its private input
			continue
		}
		if t.encoded != nil && !t.sent && !t.cached {
			b.Results = append(b.Results, *t.encoded)
		}
	}
	var rest []checkpoint.Result
	if s.mode == Sync {
		if rest, err = s.takeBack(); err != nil {
			return err
		}
		b.Results = slices.Concat(rest, b.Results)
	}
	b.Checkpoint.Bytes = b.Size()
	next.info.Bytes = b.Checkpoint.Bytes
	if s.holding {
		s.holding, s.held = false, append(s.held, b)
		return nil
	}
	ready := append(s.held, b)
	s.held = nil
	if s.mode == Sync {
		if err := s.save(ctx, ready...); err != nil {
			if len(ready) == 1 { // the parent is stored: its tasks needn't run again
				for _, r := range rest {
					s.results(b.Checkpoint.ParentSeq, r)
				}
			}
			return err
		}
		return nil
	}
	for i := range ready {
		s.enqueue(storeOp{boundary: &ready[i]})
	}
	return s.failed()
}

// save stores boundaries. Those of a subgraph mustn't be ahead of the graph above: if that began again from an earlier position,
// it would find what the subgraph had done in steps that, for the thread, never were.
func (s *recorder) save(ctx context.Context, ready ...checkpoint.Boundary) error {
	if s.above != nil {
		if err := s.above(ctx); err != nil {
			return err
		}
	}
	return s.saver.Save(ctx, ready...)
}

// note keeps changes for the next boundary.
func (s *recorder) note(changes []channelChange) {
	for _, c := range changes {
		s.unsaved[c.index] = combine(s.g.schema.channels[c.index], s.unsaved[c.index], c)
	}
}

// combine joins a change with a later one of the same channel.
func combine(c Channel, before, after channelChange) channelChange {
	if !after.delta || before.payload == nil {
		return after
	}
	joined := after
	joined.delta = before.delta
	joined.payload = c.join(before.payload, after.payload)
	joined.data = nil
	return joined
}

// boundary encodes what changed since the last one.
func (s *recorder) boundary(next *position) (checkpoint.Boundary, error) {
	next.info.ID, next.info.Seq = s.g.opts.NewID(), s.lastSeq+1
	next.info.Parent, next.info.ParentSeq = s.parent.ID, s.parent.Seq
	cp, err := next.checkpoint(s.g.shape)
	if err != nil {
		return checkpoint.Boundary{}, err
	}
	b := checkpoint.Boundary{Checkpoint: cp, ShapeText: s.g.shapeText, Lease: s.lease}
	if b.Labels, err = s.newLabels(next); err != nil {
		return b, err
	}
	versions := maps.Clone(s.versions)
	for _, i := range slices.Sorted(maps.Keys(s.unsaved)) {
		c, ch := s.g.schema.channels[i], s.unsaved[i]
		if ch.gone {
			delete(versions, c.Name())
			continue
		}
		data := ch.data
		if data == nil {
			if data, err = c.encode(ch.payload); err != nil {
				return b, err
			}
		}
		v := checkpoint.Value{Channel: c.Name(), Delta: ch.delta, Data: data}
		if ch.delta {
			v.Prev = versions[c.Name()]
		}
		versions[c.Name()] = next.info.Seq
		b.Values = append(b.Values, v)
	}
	b.Checkpoint.Channels = versions // not changed any more: the next boundary has a copy
	clear(s.unsaved)
	s.versions = versions
	s.lastSeq, s.parent = next.info.Seq, next.info
	return b, nil
}

// newLabels returns the labels of the thread that the next boundary changes.
func (s *recorder) newLabels(next *position) (map[string]string, error) {
	labels := s.labels
	s.labels = nil
	if s.g.opts.Labels == nil || s.namespace != "" {
		return labels, nil
	}
	made, err := safely(func() (map[string]string, error) { return s.g.opts.Labels(next.state(s.g)), nil })
	if err != nil {
		return nil, fmt.Errorf("making the labels of the thread: %w", err)
	}
	labels = maps.Clone(labels)
	for k, v := range made {
		if stored, ok := s.made[k]; ok && stored == v {
			continue
		}
		if labels == nil {
			labels = map[string]string{}
		}
		labels[k] = v
	}
	s.made = made
	return labels, nil
}

// finished encodes the result of a task, and while others still run stores it, so that a crash doesn't repeat the task.
func (s *recorder) finished(seq int64, t *task, others bool) error {
	if err := t.encode(); err != nil {
		return err
	}
	if others {
		s.send(seq, t)
	}
	return nil
}

func (t *task) encode() error {
	r, err := t.result()
	if err != nil {
		return err
	}
	t.encoded = &r
	return nil
}

func (s *recorder) send(seq int64, t *task) {
	if t.encoded != nil && !t.sent && !t.cached && !t.volatile() {
		t.sent = true
		s.results(seq, *t.encoded)
	}
}

// keep stores the results of a superstep that can't be merged.
func (s *recorder) keep(seq int64, tasks []*task) error {
	for _, t := range tasks {
		s.send(seq, t)
	}
	return s.flush()
}

// results queues a result of a task of the checkpoint seq.
func (s *recorder) results(seq int64, r checkpoint.Result) {
	if s.keepForExit(r) {
		return
	}
	s.enqueue(storeOp{seq: seq, result: r})
}

func (s *recorder) keepForExit(r checkpoint.Result) bool {
	if s.mode != Exit {
		return false
	}
	s.exit.Lock()
	defer s.exit.Unlock()
	if s.last == nil {
		return false
	}
	s.kept = append(s.kept, r)
	return true
}

// ready returns once the position that a superstep began at is stored, here and above: an effect without it would be lost, and
// run again, after a crash. Tasks call it.
func (s *recorder) ready(ctx context.Context) error {
	if s.above != nil {
		if err := s.above(ctx); err != nil {
			return err
		}
	}
	switch s.mode {
	case Exit:
		if err := s.saveLast(context.WithoutCancel(ctx)); err != nil {
			return err
		}
		return s.failed()
	case Async:
		return s.flush()
	case Sync:
	}
	return nil
}

func (s *recorder) effects(sc *scope, seq int64) *effects {
	log, ok := s.saver.(checkpoint.EffectLog)
	if !ok {
		return nil
	}
	return &effects{ready: s.ready, log: log, thread: s.thread, namespace: s.namespace, lease: s.lease, seq: seq, clock: s.g.opts.Clock, retryUnknown: sc.cfg.retryUnknown}
}

// discard drops what Exit holds back, for a subgraph that came to its end: nobody will continue it.
func (s *recorder) discard() {
	s.exit.Lock()
	defer s.exit.Unlock()
	s.last, s.kept = nil, nil
}

// close stores what isn't stored yet.
func (s *recorder) close(ctx context.Context) error {
	var errs []error
	errs = append(errs, s.saveLast(ctx))
	s.mu.Lock()
	s.closing = true
	s.changed.Broadcast()
	s.mu.Unlock()
	<-s.stopped
	if !s.told {
		errs = append(errs, s.err)
	}
	return errors.Join(errs...)
}

// release gives the thread's lease back, if the recorder has it.
func (s *recorder) release(ctx context.Context) error {
	if s.stopLease == nil {
		return nil
	}
	return s.stopLease(ctx)
}

// saveLast stores what Exit held back. A failure is final: what was taken from the state for the boundary can't be put back.
func (s *recorder) saveLast(ctx context.Context) error {
	s.exit.Lock()
	defer s.exit.Unlock()
	if s.last == nil {
		return nil
	}
	err := s.saveBoundary(ctx, s.last, s.kept)
	s.last, s.kept = nil, nil
	if err != nil {
		s.fail(err)
		return s.failed()
	}
	return nil
}

func (s *recorder) saveBoundary(ctx context.Context, last *position, results []checkpoint.Result) error {
	b, err := s.boundary(last)
	if err != nil {
		return fmt.Errorf("storing the last step of graph %q in thread %q: %w", s.g.name, s.thread, err)
	}
	b.Checkpoint.Bytes = b.Size()
	if err := s.save(ctx, b); err != nil || len(results) == 0 {
		return err
	}
	return s.saver.SaveResults(ctx, checkpoint.ResultSet{Thread: s.thread, Namespace: s.namespace, Seq: s.lastSeq, Lease: s.lease, Results: results})
}

// fail makes err the end of all writing, unless there was an earlier one.
func (s *recorder) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
	s.changed.Broadcast()
}

func (s *recorder) enqueue(op storeOp) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, op)
	s.changed.Broadcast()
}

// flush waits until everything queued is written.
func (s *recorder) flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.err == nil && (s.writing || len(s.queue) > 0) {
		s.changed.Wait()
	}
	return s.tell()
}

func (s *recorder) failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tell()
}

// tell returns the first failure; mu is held.
func (s *recorder) tell() error {
	s.told = s.told || s.err != nil
	return s.err
}

// takeBack waits for the write in progress and returns the queued results, which are queued no more.
func (s *recorder) takeBack() ([]checkpoint.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	queue := s.queue
	s.queue = nil
	for s.err == nil && s.writing {
		s.changed.Wait()
	}
	var rest []checkpoint.Result
	for _, op := range queue {
		rest = append(rest, op.result)
	}
	return rest, s.tell()
}

// write is the writer's goroutine: it stores what is queued, as much as there is in one transaction.
func (s *recorder) write(ctx context.Context) {
	defer close(s.stopped)
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		for len(s.queue) == 0 && !s.closing {
			s.changed.Wait()
		}
		if len(s.queue) == 0 {
			return
		}
		ops := s.queue
		s.queue = nil
		if s.err != nil {
			continue
		}
		s.writing = true
		s.mu.Unlock()
		err := s.writeAll(ctx, ops)
		s.mu.Lock()
		s.writing = false
		if s.err == nil {
			s.err = err
		}
		s.changed.Broadcast()
	}
}

func (s *recorder) writeAll(ctx context.Context, ops []storeOp) error {
	for len(ops) > 0 {
		n := 1
		for n < len(ops) && (ops[n].boundary == nil) == (ops[0].boundary == nil) && ops[n].seq == ops[0].seq {
			n++
		}
		var err error
		if ops[0].boundary != nil {
			boundaries := make([]checkpoint.Boundary, n)
			for i, op := range ops[:n] {
				boundaries[i] = *op.boundary
			}
			err = s.save(ctx, boundaries...)
		} else {
			set := checkpoint.ResultSet{Thread: s.thread, Namespace: s.namespace, Seq: ops[0].seq, Lease: s.lease}
			for _, op := range ops[:n] {
				set.Results = append(set.Results, op.result)
			}
			err = s.saver.SaveResults(ctx, set)
		}
		if err != nil {
			return err
		}
		ops = ops[n:]
	}
	return nil
}
