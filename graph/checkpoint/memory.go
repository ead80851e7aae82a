package checkpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"sync"
	"time"
)

// Memory is a [Saver] that keeps everything in memory, for tests and for programs whose threads needn't outlive them. It
// implements all optional interfaces of this package. The zero value is ready to use.
type Memory struct {
	mu      sync.Mutex
	threads map[string]*memoryThread
	changes int64
}

type memoryThread struct {
	info    ThreadInfo
	changes int64 // value of Memory.changes at the last change
	ids     map[string]bool
	spaces  map[string]*memorySpace
	effects map[EffectKey]Effect
	lease   Lease
}

// memorySpace is what one namespace of a thread stores.
type memorySpace struct {
	checkpoints []memoryCheckpoint // by Seq
	values      map[valueKey]Value
	lastSeq     int64
}

type valueKey struct {
	channel string
	seq     int64
}

type memoryCheckpoint struct {
	Checkpoint
	shapeText string
	results   map[string]Result
}

// NewMemory returns an empty saver.
func NewMemory() *Memory { return &Memory{} }

func (m *Memory) thread(id string) *memoryThread {
	t := m.threads[id]
	if t == nil {
		t = &memoryThread{spaces: map[string]*memorySpace{}, effects: map[EffectKey]Effect{}, ids: map[string]bool{}}
		if m.threads == nil {
			m.threads = map[string]*memoryThread{}
		}
		m.threads[id] = t
	}
	return t
}

// known returns a thread that has checkpoints.
func (m *Memory) known(id string) (*memoryThread, error) {
	if t := m.threads[id]; t != nil && t.info.ID != "" {
		return t, nil
	}
	return nil, &NotFoundError{Thread: id}
}

func (t *memoryThread) checkLease(token string) error {
	if token != "" && t.lease.Token != token {
		return ErrLeaseLost
	}
	return nil
}

// Load implements [Saver].
func (m *Memory) Load(_ context.Context, ref Ref) (*Saved, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.load(ref, slices.Clone)
}

// load returns a checkpoint. data is called for each value.
func (m *Memory) load(ref Ref, data func([]byte) []byte) (*Saved, error) {
	t, err := m.known(ref.Thread)
	if err != nil {
		return nil, err
	}
	space := t.spaces[ref.Namespace]
	if space == nil || len(space.checkpoints) == 0 {
		return nil, &NotFoundError{Thread: ref.Thread, Checkpoint: ref.ID}
	}
	i := len(space.checkpoints) - 1
	if ref.ID != "" {
		i = slices.IndexFunc(space.checkpoints, func(c memoryCheckpoint) bool { return c.ID == ref.ID })
		if i < 0 {
			return nil, &NotFoundError{Thread: ref.Thread, Checkpoint: ref.ID}
		}
	}
	cp := space.checkpoints[i]
	s := &Saved{Checkpoint: cloneCheckpoint(cp.Checkpoint), Values: map[string][][]byte{}, ShapeText: cp.shapeText, LastSeq: space.lastSeq}
	for name, seq := range cp.Channels {
		s.Values[name] = space.parts(name, seq, data)
	}
	for _, id := range slices.Sorted(maps.Keys(cp.results)) {
		s.Results = append(s.Results, cloneResult(cp.results[id]))
	}
	return s, nil
}

// parts follows the deltas of a value back to its beginning.
func (s *memorySpace) parts(channel string, seq int64, data func([]byte) []byte) [][]byte {
	var parts [][]byte
	for seq != 0 {
		v := s.values[valueKey{channel, seq}]
		parts = append(parts, data(v.Data))
		if !v.Delta {
			break
		}
		seq = v.Prev
	}
	slices.Reverse(parts)
	return parts
}

// Save implements [Saver].
func (m *Memory) Save(_ context.Context, boundaries ...Boundary) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range boundaries {
		if err := m.checkSave(&boundaries[i], boundaries[:i]); err != nil {
			return err
		}
	}
	for i := range boundaries {
		m.save(&boundaries[i])
	}
	return nil
}

// checkSave finds what would make save fail, so that several boundaries are saved whole or not at all.
func (m *Memory) checkSave(b *Boundary, before []Boundary) error {
	cp := &b.Checkpoint
	exists := fmt.Errorf("saving checkpoint %q of thread %q: %w", cp.ID, cp.Thread, ErrExists)
	for i := range before {
		c := &before[i].Checkpoint
		if c.Thread == cp.Thread && (c.ID == cp.ID || c.Namespace == cp.Namespace && c.Seq >= cp.Seq) {
			return exists
		}
	}
	t := m.threads[cp.Thread]
	if t == nil {
		t = &memoryThread{}
	}
	if err := t.checkLease(b.Lease); err != nil {
		return fmt.Errorf("saving to thread %q: %w", cp.Thread, err)
	}
	if t.ids[cp.ID] || t.spaces[cp.Namespace] != nil && cp.Seq <= t.spaces[cp.Namespace].lastSeq {
		return exists
	}
	return nil
}

func (m *Memory) save(b *Boundary) {
	cp := cloneCheckpoint(b.Checkpoint)
	t := m.thread(cp.Thread)
	if t.info.ID == "" {
		t.info = ThreadInfo{ID: cp.Thread, Created: cp.Time}
	}
	space := t.spaces[cp.Namespace]
	if space == nil {
		space = &memorySpace{values: map[valueKey]Value{}}
		t.spaces[cp.Namespace] = space
	}
	for _, v := range b.Values {
		v.Data = slices.Clone(v.Data)
		space.values[valueKey{v.Channel, cp.Seq}] = v
	}
	space.setResults(cp.ParentSeq, b.Results)
	space.checkpoints = append(space.checkpoints, memoryCheckpoint{Checkpoint: cp, shapeText: b.ShapeText, results: map[string]Result{}})
	space.lastSeq = cp.Seq
	t.ids[cp.ID] = true
	m.touch(t)
	t.info.Bytes += b.Size()
	if len(b.Labels) > 0 {
		labels := maps.Clone(t.info.Labels)
		if labels == nil {
			labels = map[string]string{}
		}
		maps.Copy(labels, b.Labels)
		t.info.Labels = labels
	}
	if cp.Namespace == "" {
		t.info.Updated, t.info.Steps, t.info.Next = cp.Time, cp.Step, cp.Next
		t.info.Status = StatusPending
		if len(cp.Tasks) == 0 {
			t.info.Status = StatusDone
		}
	}
}

func (m *Memory) touch(t *memoryThread) {
	m.changes++
	t.changes = m.changes
}

func (s *memorySpace) setResults(seq int64, results []Result) {
	i := slices.IndexFunc(s.checkpoints, func(c memoryCheckpoint) bool { return c.Seq == seq })
	if i < 0 {
		return
	}
	for _, r := range results {
		s.checkpoints[i].results[r.Task] = cloneResult(r)
	}
}

// SaveResults implements [Saver].
func (m *Memory) SaveResults(_ context.Context, set ResultSet) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, err := m.known(set.Thread)
	if err != nil {
		return err
	}
	if err := t.checkLease(set.Lease); err != nil {
		return fmt.Errorf("saving results to thread %q: %w", set.Thread, err)
	}
	space := t.spaces[set.Namespace]
	if space == nil {
		return &NotFoundError{Thread: set.Thread}
	}
	space.setResults(set.Seq, set.Results)
	for i := range set.Results {
		t.info.Bytes += set.Results[i].Size()
		if status := ResultStatus(set.Results[i]); status != "" && set.Namespace == "" {
			t.info.Status = status
		}
	}
	m.touch(t)
	return nil
}

// List implements [Saver].
func (m *Memory) List(_ context.Context, q Query) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		m.mu.Lock()
		var infos []Info
		if t := m.threads[q.Thread]; t != nil && t.spaces[q.Namespace] != nil {
			for _, c := range slices.Backward(t.spaces[q.Namespace].checkpoints) {
				infos = append(infos, cloneCheckpoint(c.Checkpoint).Info)
			}
		}
		m.mu.Unlock()
		for i, info := range infos {
			if q.Limit > 0 && i >= q.Limit || !yield(info, nil) {
				return
			}
		}
	}
}

// History implements [Historian].
func (m *Memory) History(ctx context.Context, q Query) iter.Seq2[*Saved, error] {
	return func(yield func(*Saved, error) bool) {
		for info, err := range m.List(ctx, q) {
			if err != nil {
				yield(&Saved{}, err)
				return
			}
			m.mu.Lock()
			saved, err := m.load(Ref{Thread: info.Thread, Namespace: info.Namespace, ID: info.ID}, func(data []byte) []byte { return data })
			m.mu.Unlock()
			if errors.Is(err, ErrNotFound) { // pruned meanwhile
				return
			}
			if !yield(saved, err) {
				return
			}
		}
	}
}

// Threads implements [ThreadLister]. A thread whose lease has no end in sight is running; expiry is judged by the system's
// clock.
func (m *Memory) Threads(_ context.Context, q ThreadQuery) ([]ThreadInfo, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var found []*memoryThread
	for _, t := range m.threads {
		if t.info.ID != "" && hasAll(t.info.Labels, q.Labels) && (q.Before <= 0 || t.changes < q.Before) {
			found = append(found, t)
		}
	}
	slices.SortFunc(found, func(a, b *memoryThread) int { return cmp.Compare(b.changes, a.changes) })
	if q.Limit > 0 && len(found) > q.Limit {
		found = found[:q.Limit]
	}
	infos := make([]ThreadInfo, len(found))
	for i, t := range found {
		infos[i] = t.info
		infos[i].Change = t.changes
		infos[i].Labels, infos[i].Next = maps.Clone(t.info.Labels), slices.Clone(t.info.Next)
		if t.lease.InForce(time.Now()) {
			infos[i].Status = StatusRunning
		}
	}
	return infos, nil
}

func hasAll(labels, want map[string]string) bool {
	for k, v := range want {
		if got, ok := labels[k]; !ok || got != v {
			return false
		}
	}
	return true
}

// Acquire implements [Leaser].
func (m *Memory) Acquire(_ context.Context, l Lease) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.thread(l.Thread)
	if t.lease.InForce(l.Acquired) {
		return t.lease.Busy()
	}
	t.lease = l
	return nil
}

// Renew implements [Leaser].
func (m *Memory) Renew(_ context.Context, thread, token string, expires time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.threads[thread]
	if t == nil || t.lease.Token != token {
		return fmt.Errorf("renewing the lease of thread %q: %w", thread, ErrLeaseLost)
	}
	t.lease.Expires = expires
	return nil
}

// Release implements [Leaser].
func (m *Memory) Release(_ context.Context, thread, token string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.threads[thread]
	if t == nil || t.lease.Token != token {
		return nil
	}
	t.lease = Lease{}
	if t.info.ID == "" && len(t.effects) == 0 {
		delete(m.threads, thread)
	}
	return nil
}

// BeginEffect implements [EffectLog].
func (m *Memory) BeginEffect(_ context.Context, lease string, e Effect) (Effect, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.thread(e.Thread)
	if err := t.checkLease(lease); err != nil {
		return Effect{}, false, fmt.Errorf("recording an effect in thread %q: %w", e.Thread, err)
	}
	if old, ok := t.effects[e.EffectKey]; ok {
		old.Result = slices.Clone(old.Result)
		return old, false, nil
	}
	t.effects[e.EffectKey] = e
	return e, true, nil
}

// FinishEffect implements [EffectLog].
func (m *Memory) FinishEffect(_ context.Context, lease string, key EffectKey, result []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.thread(key.Thread)
	if err := t.checkLease(lease); err != nil {
		return fmt.Errorf("recording the result of an effect in thread %q: %w", key.Thread, err)
	}
	e, ok := t.effects[key]
	if !ok {
		return fmt.Errorf("recording the result of effect %q: %w", key.Key, ErrNotFound)
	}
	e.Done, e.Result = true, slices.Clone(result)
	t.effects[key] = e
	return nil
}

// AbandonEffect implements [EffectLog].
func (m *Memory) AbandonEffect(_ context.Context, lease string, key EffectKey) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.thread(key.Thread)
	if err := t.checkLease(lease); err != nil {
		return fmt.Errorf("removing an effect of thread %q: %w", key.Thread, err)
	}
	if !t.effects[key].Done {
		delete(t.effects, key)
	}
	return nil
}

// Prune implements [Pruner].
func (m *Memory) Prune(_ context.Context, thread string, keep int) (Freed, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, err := m.known(thread)
	if err != nil {
		return Freed{}, err
	}
	if t.lease.InForce(time.Now()) {
		return Freed{}, t.lease.Busy()
	}
	var freed Freed
	before := t.info.Bytes
	t.info.Bytes = 0
	listed := map[string]bool{}
	for _, name := range slices.SortedFunc(maps.Keys(t.spaces), func(a, b string) int { return len(a) - len(b) }) {
		space := t.spaces[name]
		kept := min(max(keep, 1), len(space.checkpoints))
		if slices.ContainsFunc(NamespaceTasks(name), func(task string) bool { return !listed[task] }) {
			kept = 0
		}
		gone := space.checkpoints[:len(space.checkpoints)-kept]
		freed.Checkpoints += len(gone)
		for _, c := range gone {
			delete(t.ids, c.ID)
		}
		space.checkpoints = slices.Clone(space.checkpoints[len(gone):])
		t.info.Bytes += space.collect()
		oldest := int64(math.MaxInt64)
		for _, c := range space.checkpoints {
			oldest = min(oldest, c.Seq)
			for _, task := range c.Tasks {
				listed[task.ID] = true
			}
		}
		maps.DeleteFunc(t.effects, func(k EffectKey, e Effect) bool { return k.Namespace == name && e.Seq < oldest })
		if kept == 0 {
			delete(t.spaces, name)
		}
	}
	freed.Bytes = before - t.info.Bytes
	return freed, nil
}

// collect drops values that no checkpoint refers to and returns the bytes that are left.
func (s *memorySpace) collect() int64 {
	used := map[valueKey]bool{}
	var bytes int64
	for _, c := range s.checkpoints {
		for name, seq := range c.Channels {
			for seq != 0 && !used[valueKey{name, seq}] {
				v := s.values[valueKey{name, seq}]
				used[valueKey{name, seq}] = true
				bytes += int64(len(v.Data))
				if !v.Delta {
					break
				}
				seq = v.Prev
			}
		}
		for _, r := range c.results {
			bytes += r.Size()
		}
		for _, task := range slices.Concat(c.Tasks, c.Waiting) {
			bytes += writesSize(task.Private)
		}
	}
	maps.DeleteFunc(s.values, func(k valueKey, _ Value) bool { return !used[k] })
	return bytes
}

// DeleteThread implements [Pruner].
func (m *Memory) DeleteThread(_ context.Context, thread string) (Freed, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, err := m.known(thread)
	if err != nil {
		return Freed{}, err
	}
	if t.lease.InForce(time.Now()) {
		return Freed{}, t.lease.Busy()
	}
	freed := Freed{Bytes: t.info.Bytes}
	for _, space := range t.spaces {
		freed.Checkpoints += len(space.checkpoints)
	}
	delete(m.threads, thread)
	return freed, nil
}

// CopyThread implements [Copier].
func (m *Memory) CopyThread(_ context.Context, from, to string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.copyThread(from, to); err != nil {
		return fmt.Errorf("copying thread %q to %q: %w", from, to, err)
	}
	return nil
}

func (m *Memory) copyThread(from, to string) error {
	t, err := m.known(from)
	if err != nil {
		return err
	}
	target, now := m.threads[to], time.Now()
	switch {
	case t.lease.InForce(now):
		return t.lease.Busy()
	case target == nil:
	case target.lease.InForce(now):
		return target.lease.Busy()
	case target.info.ID != "" || len(target.effects) > 0:
		return fmt.Errorf("thread %q: %w", to, ErrThreadExists)
	}
	c := m.thread(to)
	*c = memoryThread{info: t.info, ids: maps.Clone(t.ids), spaces: map[string]*memorySpace{}, effects: map[EffectKey]Effect{}}
	c.info.ID = to
	for name, space := range t.spaces {
		c.spaces[name] = space.copyTo(to)
	}
	for key, e := range t.effects {
		key.Thread = to
		e.EffectKey = key
		c.effects[key] = e
	}
	m.touch(c)
	return nil
}

// copyTo returns a copy for another thread. The two share what is never changed in place: encoded values and results.
func (s *memorySpace) copyTo(thread string) *memorySpace {
	c := &memorySpace{checkpoints: slices.Clone(s.checkpoints), values: maps.Clone(s.values), lastSeq: s.lastSeq}
	for i := range c.checkpoints {
		cp := &c.checkpoints[i]
		cp.Thread, cp.results = thread, maps.Clone(cp.results)
	}
	return c
}
