package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/llama-agent/llama-agent/engine/gbnf"
	"github.com/llama-agent/llama-agent/engine/kvstore"
	"github.com/llama-agent/llama-agent/engine/llama"
)

// Finish reasons of a generation, as OpenAI names them.
const (
	finishStop   = "stop"
	finishLength = "length"
)

// request is one generation on its way through the scheduler. The caller makes it and reads events; the owner goroutine
// does everything else.
type request struct {
	ctx       context.Context
	prompt    []llama.Token
	cuts      []int // of the prompt, see cuts
	worth     int   // chunks of the prompt that are worth keeping
	maxTokens int
	sampling  llama.SamplerParams
	text      textTracker
	grammar   *gbnf.Grammar // of the whole reply; nil: no part of it is forced
	events    chan event    // never blocks the owner: it has room for all that can come
	cancelled atomic.Bool
	queued    time.Time

	// Owned by the scheduler.
	sampler sampler
	seq     int
	forcer  *forcer       // nil: nothing is forced
	drafts  *drafts       // nil: nothing is computed ahead
	guesses []llama.Token // computed ahead in the current batch
	opening []llama.Token // the forced start of the reply, until it is given out with the first sampled token
	done    int           // prompt tokens in the KV cache
	pending []llama.Token // of the reply, not yet in the KV cache
	taken   int           // of these, in the current batch
	written int           // tokens of the reply, without those of opening
	row     int           // row of the current batch whose logits are sampled; -1: none
	started time.Time
	first   time.Time
	usage   Usage
	piece   []byte

	keys      []kvstore.Key // of the chunks of the prompt; nil: the store is not used
	restoring bool          // the next chunk comes from the store
}

// event is a piece of a reply, the progress of its prompt, or its end.
type event struct {
	delta  string
	done   int // prompt tokens in the KV cache, when > 0
	end    bool
	finish string
	usage  *Usage // of the end
	err    error
}

// scheduler owns the context. Its run method is the one goroutine that touches memory, cache and active.
type scheduler struct {
	model    model
	vocab    *vocabulary
	mem      memory
	cache    *seqCache
	kind     llama.MemoryKind
	states   *stateCache // nil: the memory goes back by itself, or not at all
	parallel int
	now      func() time.Time
	threads  *threadGovernors
	cost     func(tokens int) time.Duration // of a batch as measured lately; 0: not known

	incoming chan *request
	wake     chan struct{} // a cancellation; capacity 1
	quit     chan struct{}
	stopped  chan struct{}
	stopOnce sync.Once

	waiting []*request
	active  []*request
	batch   llama.Batch
	in      []*request // requests with tokens in the current batch

	log     *slog.Logger
	alone   atomic.Bool // no more than one request is active
	shelf   *shelf      // nil: nothing is kept on disk
	plans   []savePlan  // oldest first
	offered *shelfJob   // copied out of the memory, not yet taken by the writer

	kvTokens, kvStates, kvStateBytes atomic.Int64 // for Stats
}

func newScheduler(m model, mem memory, c Config) *scheduler {
	kind := m.Info().Memory
	s := &scheduler{
		model: m, vocab: newVocabulary(m), mem: mem, parallel: c.Parallel, now: c.Now,
		cache: newSeqCache(c.Parallel+cachedSequences, cuttable(kind)), kind: kind, log: c.Logger,
		threads:  newThreadGovernors(c.Threads),
		incoming: make(chan *request), wake: make(chan struct{}, 1), quit: make(chan struct{}), stopped: make(chan struct{}),
	}
	if kind == llama.MemoryState || kind == llama.MemoryMixed {
		s.states = newStateCache(c.StateMaxBytes)
	}
	s.cost = func(tokens int) time.Duration { return s.threads.cost(tokens, time.Now()) }
	return s
}

// submit hands a request over. The request's events arrive until one with end set, or never when submit fails.
func (s *scheduler) submit(r *request) error {
	select {
	case s.incoming <- r:
		return nil
	case <-s.stopped:
		return ErrClosed
	case <-r.ctx.Done():
		return r.ctx.Err()
	}
}

// cuttable reports whether a memory can drop the end of a sequence.
func cuttable(kind llama.MemoryKind) bool {
	return kind == llama.MemoryCells || kind == llama.MemoryWindow
}

// cancel makes the owner drop a request within one micro-batch, or one batch when that would cost others their running
// states. Safe from any goroutine.
func (s *scheduler) cancel(r *request) {
	r.cancelled.Store(true)
	if s.cache.canTrim || s.alone.Load() {
		s.mem.Abort()
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// stop ends the owner goroutine and waits for it. Active requests end with ErrClosed.
func (s *scheduler) stop() {
	s.stopOnce.Do(func() {
		close(s.quit)
		s.mem.Abort()
	})
	<-s.stopped
}

// run is the owner goroutine.
func (s *scheduler) run() {
	// llama.cpp's thread pool and GPU back ends keep state per thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(s.stopped)
	for s.intake() {
		s.dropCancelled()
		s.admit()
		s.tick()
		s.trickle()
		s.kvTokens.Store(int64(s.cache.cachedTokens()))
		if s.states != nil {
			s.kvStates.Store(int64(len(s.states.list)))
			s.kvStateBytes.Store(s.states.bytes)
		}
	}
	for _, r := range append(s.active, s.waiting...) {
		s.finish(r, "", ErrClosed)
	}
	s.flush()
}

// intake takes new requests; it blocks only when there is nothing to compute, and then KV state is saved. False: the
// engine is closing.
func (s *scheduler) intake() bool {
	for {
		if len(s.active) == 0 && len(s.waiting) == 0 {
			job, jobs := s.offer()
			select {
			case r := <-s.incoming:
				s.waiting = append(s.waiting, r)
			case jobs <- job:
				s.offered = nil
			case <-s.wake:
			case <-s.quit:
				return false
			}
			continue
		}
		select {
		case <-s.quit:
			return false
		case r := <-s.incoming:
			s.waiting = append(s.waiting, r)
		default:
			return true
		}
	}
}

func (s *scheduler) dropCancelled() {
	s.mem.ResetAbort()
	select {
	case <-s.quit:
		s.mem.Abort() // the one that came with it may just have been taken back
	default:
	}
	drop := func(list []*request) []*request {
		kept := list[:0]
		for _, r := range list {
			if r.cancelled.Load() {
				s.finish(r, "", context.Cause(r.ctx))
			} else {
				kept = append(kept, r)
			}
		}
		clear(list[len(kept):])
		return kept
	}
	s.active = drop(s.active)
	s.waiting = drop(s.waiting)
}

// admit starts waiting requests, oldest first, as long as their prompts and replies are sure to fit the KV cache.
func (s *scheduler) admit() {
	for len(s.waiting) > 0 && len(s.active) < s.parallel {
		r := s.waiting[0]
		need := len(r.prompt) + r.maxTokens
		for _, a := range s.active {
			need += len(a.prompt) + a.maxTokens
		}
		if len(s.active) > 0 && need > s.mem.Size() {
			return
		}
		p, ok := s.cache.place(r.prompt)
		if !ok {
			return
		}
		state := s.goBack(r.prompt, &p)
		s.waiting = s.waiting[1:]
		if err := s.start(r, p, state); err != nil {
			s.finish(r, "", err)
			continue
		}
		s.active = append(s.active, r)
		s.open(r)
	}
}

// start puts a request on its sequence, with a saved state as its prefix or nil.
func (s *scheduler) start(r *request, p placement, state *savedState) error {
	r.started = s.now()
	r.seq = p.dst
	dst := &s.cache.seqs[p.dst]
	if keep := s.prefixToKeep(r, p.keep); keep != p.keep && !s.cache.canTrim {
		p, state = placement{src: p.dst, dst: p.dst}, nil
	} else {
		p.keep = keep
	}
	if state != nil {
		if !s.restoreState(state, p.dst) {
			p.keep = 0
		}
		p.src = p.dst
	} else if err := s.takeOver(r, p); err != nil {
		return err
	}
	dst.busy = true
	s.cache.touch(p.dst)
	if p.src != p.dst {
		s.cache.touch(p.src)
	}
	r.done = p.keep
	r.usage.PromptTokens = len(r.prompt)
	r.usage.CachedTokens = p.keep
	r.usage.Queue = r.started.Sub(r.queued)
	var err error
	if r.sampler, err = s.model.NewSampler(r.sampling); err != nil {
		return err
	}
	return nil
}

// takeOver makes a sequence hold the prefix of a placement and nothing else.
func (s *scheduler) takeOver(r *request, p placement) error {
	dst := &s.cache.seqs[p.dst]
	exact := s.cache.seqs[p.src].exact
	switch {
	case p.src != p.dst:
		s.mem.SeqRemove(p.dst, 0, -1)
		dst.tokens = dst.tokens[:0]
		if p.keep > 0 {
			if !s.mem.SeqCopy(p.src, p.dst, 0, p.keep) {
				return fmt.Errorf("engine: copying the cached prefix of %d tokens: refused", p.keep)
			}
			dst.tokens = append(dst.tokens, s.cache.seqs[p.src].tokens[:p.keep]...)
		}
	case len(dst.tokens) > p.keep:
		if p.keep == 0 || !s.mem.SeqRemove(p.dst, p.keep, -1) {
			p.keep = 0
			s.mem.SeqRemove(p.dst, 0, -1)
		}
		dst.tokens = dst.tokens[:p.keep]
	}
	dst.exact, dst.lost = exactPrefix(r.cuts, exact, p.keep), false
	return nil
}

// tick computes one batch and samples from it.
func (s *scheduler) tick() {
	s.restore()
	s.alone.Store(len(s.active) <= 1)
	s.fill()
	if s.batch.Len() == 0 {
		return
	}
	err := s.decode()
	switch {
	case err == nil:
	case errors.Is(err, llama.ErrAborted):
		s.resync()
		return
	case errors.Is(err, llama.ErrNoRoom):
		if v := s.cache.evictable(); v >= 0 {
			s.drop(v)
			return // the same batch again
		}
		// Admission keeps the sum of all calls below the cache's size, so this is a cache that shrank or a bug.
		s.fail(s.in[len(s.in)-1], fmt.Errorf("engine: no room in the KV cache of %d tokens: %w", s.mem.Size(), err))
		return
	default:
		for _, r := range append([]*request(nil), s.in...) {
			s.fail(r, fmt.Errorf("engine: %w", err))
		}
		if !s.cache.canTrim && !errors.Is(err, llama.ErrBatch) {
			s.lose()
		}
		return
	}
	for _, r := range s.in {
		s.advance(r)
	}
	for _, r := range s.in {
		if r.row >= 0 {
			s.sample(r)
		}
	}
}

// decode computes the batch. One that takes far longer than it would with one thread is given up, which looks like any
// other abort; the next tick computes it with one.
func (s *scheduler) decode() error {
	n := s.batch.Len()
	threads, limit := s.threads.threads(n)
	if !s.cache.canTrim {
		limit = 0 // an abort costs whole sequences
	}
	s.mem.SetThreads(threads, threads)
	began := time.Now()
	if limit > 0 {
		// One that fires late aborts the next batch, which is computed again then.
		defer time.AfterFunc(limit, s.mem.Abort).Stop()
	}
	err := s.mem.Decode(&s.batch)
	took := time.Since(began)
	switch {
	case err == nil:
		s.threads.observe(n, took, began.Add(took))
	case errors.Is(err, llama.ErrAborted) && limit > 0 && took >= limit:
		s.threads.gaveUp(n, took, began.Add(took))
	}
	return err
}

// fill builds the batch: first what the replies have got since the last one, then chunks of prompts, which share the rest
// evenly. The forced start of a reply rides with the end of its prompt.
func (s *scheduler) fill() {
	s.batch.Reset()
	s.in = s.in[:0]
	room := s.mem.BatchSize()
	prefills := 0
	for _, r := range s.active {
		r.row, r.taken, r.guesses = -1, 0, nil
		if r.restoring {
			continue
		}
		if r.done < len(r.prompt) {
			prefills++
		} else if room > 0 {
			pos := len(s.cache.seqs[r.seq].tokens)
			room -= s.takePending(r, pos, room)
			s.in = append(s.in, r)
			if r.row >= 0 {
				r.guesses = s.draft(r, room)
			}
			for i, t := range r.guesses {
				s.batch.Add(t, pos+r.taken+i, r.seq, true)
				room--
			}
		}
	}
	for _, r := range s.active {
		if r.restoring || r.done == len(r.prompt) || room == 0 {
			continue
		}
		n := min(s.prefillEnd(r)-r.done, prefillChunk, (room+prefills-1)/prefills)
		prefills--
		for i := r.done; i < r.done+n; i++ {
			last := i == len(r.prompt)-1 && len(r.pending) == 0
			row := s.batch.Add(r.prompt[i], i, r.seq, last)
			if last {
				r.row = row
			}
		}
		s.in = append(s.in, r)
		room -= n
		if r.done+n == len(r.prompt) {
			room -= s.takePending(r, len(r.prompt), room)
		}
	}
}

// takePending puts as much of what a reply has got into the batch as there is room for, and returns how much.
func (s *scheduler) takePending(r *request, pos, room int) int {
	r.taken = min(len(r.pending), room)
	for i, t := range r.pending[:r.taken] {
		last := i == len(r.pending)-1
		row := s.batch.Add(t, pos+i, r.seq, last)
		if last {
			r.row = row
		}
	}
	return r.taken
}

// advance notes what the batch added to a request's sequence.
func (s *scheduler) advance(r *request) {
	seq := &s.cache.seqs[r.seq]
	if r.done < len(r.prompt) {
		end := min(s.mem.SeqPosMax(r.seq)+1, len(r.prompt))
		seq.tokens = append(seq.tokens, r.prompt[r.done:end]...)
		s.noteExact(r, end)
		if r.first.IsZero() {
			r.usage.EvaluatedTokens += end - r.done
			r.post(event{done: end})
		}
		r.done = end
		s.remember(r)
	}
	seq.tokens = append(seq.tokens, r.pending[:r.taken]...)
	r.pending = r.pending[r.taken:]
}

// resync repairs the bookkeeping after an abort: only the positions that a sequence reports are there. What was finished
// stays, but for the last token of a prompt or reply, whose logits are lost: it is computed again.
func (s *scheduler) resync() {
	if !s.cache.canTrim {
		s.lose()
		return
	}
	for _, r := range s.in {
		seq := &s.cache.seqs[r.seq]
		had := len(seq.tokens)
		end := s.mem.SeqPosMax(r.seq) + 1
		if end <= had {
			continue
		}
		end = min(end, had+len(r.prompt)-r.done+len(r.pending)-1)
		if !s.mem.SeqRemove(r.seq, end, -1) {
			s.restart(r)
			continue
		}
		fromPrompt := min(end-had, len(r.prompt)-r.done)
		seq.tokens = append(seq.tokens, r.prompt[r.done:r.done+fromPrompt]...)
		if r.first.IsZero() {
			r.usage.EvaluatedTokens += fromPrompt
		}
		r.done += fromPrompt
		said := end - had - fromPrompt
		seq.tokens = append(seq.tokens, r.pending[:said]...)
		r.pending = r.pending[said:]
	}
}

// end finishes a request that came to its end and keeps its sequence for later prompts.
func (s *scheduler) end(r *request, finish string) {
	if rest := r.text.flush(); rest != "" {
		r.post(event{delta: rest})
	}
	s.remove(r)
	s.finish(r, finish, nil)
}

// fail ends a request with an error. Its sequence is emptied: after a failed decode nobody knows what it holds.
func (s *scheduler) fail(r *request, err error) {
	s.remove(r)
	seq := r.seq
	s.finish(r, "", err)
	s.drop(seq)
}

func (s *scheduler) remove(r *request) {
	for i, a := range s.active {
		if a == r {
			s.active = append(s.active[:i], s.active[i+1:]...)
			return
		}
	}
}

// drop empties a sequence.
func (s *scheduler) drop(seq int) {
	s.mem.SeqRemove(seq, 0, -1)
	q := &s.cache.seqs[seq]
	q.tokens, q.exact, q.lost = nil, 0, false
}

// finish frees what a request holds and sends its last event.
func (s *scheduler) finish(r *request, reason string, err error) {
	if r.sampler != nil {
		r.sampler.Close()
		r.sampler = nil
	}
	if !r.started.IsZero() {
		s.cache.seqs[r.seq].busy = false
		s.cache.touch(r.seq)
		if !r.first.IsZero() {
			r.usage.Decode = s.now().Sub(r.first)
		}
	}
	r.events <- event{end: true, finish: reason, usage: &r.usage, err: err}
}

// post sends an event; room for every delta and the end is reserved, so only progress can be left out.
func (r *request) post(e event) {
	if e.done > 0 && len(r.events) > cap(r.events)/2 {
		return
	}
	r.events <- e
}
