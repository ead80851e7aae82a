package engine

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/llama-agent/llama-agent/engine/kvstore"
	"github.com/llama-agent/llama-agent/engine/llama"
)

const (
	// worthRestoring is the fewest tokens for which what is in memory is given up for a longer part on disk.
	worthRestoring = 16
	// mostPlans bounds the prompts that wait for being saved; with more the oldest one is forgotten.
	mostPlans = 8
	// closeBudget is how long Close goes on saving what the last replies left.
	closeBudget = time.Second
)

// savePlan is a prompt whose chunks may be saved.
type savePlan struct {
	prompt []llama.Token
	cuts   []int // of the chunks worth keeping
	keys   []kvstore.Key
	next   int   // chunk
	bytes  int64 // saved so far
}

// prefixToKeep chooses how much of a placed prompt's prefix stays in memory, and whether the store is asked for more of it. A chunk
// begins where the one before ends, so a prefix that ends inside a chunk is cut back when the store has that chunk: to its
// start, or, when the memory cannot do that, to nothing.
func (s *scheduler) prefixToKeep(r *request, keep int) int {
	if s.shelf == nil || len(r.cuts) == 0 {
		return keep
	}
	if r.keys = s.shelf.chain(r.prompt, r.cuts); r.keys == nil {
		return keep
	}
	from := cutBefore(r.cuts, keep)
	if from < keep && !s.cache.canTrim {
		from = 0
	}
	end := from
	for i, c := range r.cuts {
		if c <= from {
			continue
		}
		if s.shelf.has(r.keys[i]) {
			end = c
		} else if s.kind != llama.MemoryState { // whose last chunk is all that is needed
			break
		}
	}
	if end-keep < worthRestoring {
		return keep
	}
	r.restoring = true
	return from
}

// restore puts one chunk of each waiting prompt into the memory, so that other requests and cancellations are not held up
// for longer.
func (s *scheduler) restore() {
	for _, r := range s.active {
		if r.restoring {
			r.restoring = s.restoreChunk(r)
		}
	}
}

// restoreChunk reports whether there may be another chunk. Whatever goes wrong, the rest of the prompt is computed.
func (s *scheduler) restoreChunk(r *request) bool {
	for i, end := range r.cuts {
		if end <= r.done || s.kind == llama.MemoryState && slices.ContainsFunc(r.keys[i+1:], s.shelf.has) {
			continue
		}
		if cutBefore(r.cuts, r.done) != r.done {
			return false
		}
		start := cutBefore(r.cuts, end-1)
		state, exact, err := s.shelf.get(r.keys[i], r.prompt[start:end])
		if err == nil {
			err = s.mem.RestoreRange(r.seq, start, end, state)
		}
		if err != nil {
			if !errors.Is(err, kvstore.ErrMissing) {
				s.shelf.log.Debug("a chunk of the KV store is computed instead", "error", err)
			}
			return false
		}
		seq := &s.cache.seqs[r.seq]
		seq.tokens = append(seq.tokens, r.prompt[r.done:end]...)
		if exact && (seq.exact == start || s.kind == llama.MemoryState) {
			seq.exact = end
		}
		r.usage.CachedTokens += end - r.done
		r.usage.RestoredTokens += end - r.done
		r.done = end
		r.post(event{done: end})
		s.remember(r)
		return i+1 < len(r.cuts)
	}
	return false
}

// undisturbed reports whether a prompt was computed so far just as a process with nothing else to do would have: from cut
// to cut, alone in its batches, and with no other cells in the memory, whose places change sums in the last bits.
func (s *scheduler) undisturbed(r *request) bool {
	if s.cache.seqs[r.seq].exact != r.done {
		return false
	}
	for i := range s.cache.seqs {
		if i != r.seq && len(s.cache.seqs[i].tokens) > 0 {
			return false
		}
	}
	return true
}

// prefillEnd is how far the next batch may go in a prompt. Cuts cost some speed, so they are kept only where they make the
// same bits as elsewhere.
func (s *scheduler) prefillEnd(r *request) int {
	if s.states != nil {
		return nextStop(r)
	}
	if s.undisturbed(r) {
		return nextCut(r, r.done)
	}
	return len(r.prompt)
}

// noteExact notes a batch that has computed a prompt up to end.
func (s *scheduler) noteExact(r *request, end int) {
	if len(s.in) == 1 && len(r.cuts) > 0 && end <= r.cuts[len(r.cuts)-1] && s.undisturbed(r) {
		s.cache.seqs[r.seq].exact = end
	}
}

// plan remembers the prompt of a request, which has got its first token, for being saved.
func (s *scheduler) plan(r *request) {
	if s.shelf == nil || s.shelf.broken.Load() || r.worth == 0 {
		return
	}
	keys := r.keys
	if keys == nil {
		if keys = s.shelf.chain(r.prompt, r.cuts); keys == nil {
			return
		}
	}
	if len(s.plans) == mostPlans {
		s.plans = s.plans[1:]
	}
	s.plans = append(s.plans, savePlan{prompt: r.prompt, cuts: r.cuts[:r.worth], keys: keys[:r.worth]})
}

// offer returns the next job for the writer and the channel that takes it, nil when there is none.
func (s *scheduler) offer() (*shelfJob, chan<- *shelfJob) {
	if s.shelf == nil {
		return nil, nil
	}
	if s.shelf.broken.Load() {
		s.plans, s.offered = nil, nil
	}
	if s.offered == nil {
		s.offered = s.nextSave()
	}
	if s.offered == nil {
		return nil, nil
	}
	return s.offered, s.shelf.jobs
}

// trickle saves a chunk between two tokens, when no request waits for its first one: an agent's next call comes at once,
// and a process may be killed. A chunk takes a few milliseconds.
func (s *scheduler) trickle() {
	for _, r := range s.active {
		if r.first.IsZero() {
			return
		}
	}
	if job, jobs := s.offer(); job != nil {
		select {
		case jobs <- job:
			s.offered = nil
		default: // the writer is busy
		}
	}
}

// nextSave copies the next chunk that is not in the store out of the memory; after the last one of a prompt, all its
// chunks are noted as used.
func (s *scheduler) nextSave() *shelfJob {
	for len(s.plans) > 0 {
		p := &s.plans[0]
		if job := s.saveChunk(p); job != nil {
			return job
		}
		used := make([]kvstore.Key, 0, 2*p.next)
		for _, k := range p.keys[:p.next] {
			used = append(used, k, k.Variant(loose))
		}
		s.plans = s.plans[1:]
		if len(used) > 0 {
			return &shelfJob{used: used}
		}
	}
	return nil
}

func (s *scheduler) saveChunk(p *savePlan) *shelfJob {
	for p.next < len(p.cuts) {
		end := p.cuts[p.next]
		start := cutBefore(p.cuts, end-1)
		seq, exact, tail := s.holder(p.prompt[:end])
		if seq < 0 {
			return nil // the memory was needed for other prompts
		}
		key := p.keys[p.next]
		if s.shelf.store.Has(key) || !exact && s.shelf.store.Has(key.Variant(loose)) {
			p.next++
			continue
		}
		if !exact {
			key = key.Variant(loose)
		}
		state, err := s.mem.SaveRange(seq, start, end, tail)
		if err != nil {
			s.shelf.fail(err)
			return nil
		}
		if int64(len(state)) > s.shelf.most {
			s.shelf.fail(fmt.Errorf("%w: %d bytes, and one prompt may fill a quarter of it", kvstore.ErrTooLarge, len(state)))
			return nil
		}
		if p.bytes += int64(len(state)); p.bytes > s.shelf.most {
			return nil
		}
		p.next++
		return &shelfJob{key: key, tokens: int32s(p.prompt[start:end]), state: state}
	}
	return nil
}

// holder finds a sequence that begins with these tokens, one where they are exact if there is one, and the running state after
// them, nil when the memory has none. -1: it is gone.
func (s *scheduler) holder(tokens []llama.Token) (seq int, exact bool, tail []byte) {
	if s.states == nil {
		seq, exact = s.holderOf(tokens)
		return seq, exact, nil
	}
	st := s.states.find(tokens)
	if st == nil {
		return -1, false, nil
	}
	if s.kind == llama.MemoryState {
		return 0, st.exact, st.data
	}
	seq, exact = s.holderOf(tokens)
	return seq, exact && st.exact, st.data
}

func (s *scheduler) holderOf(tokens []llama.Token) (seq int, exact bool) {
	seq = -1
	for i := range s.cache.seqs {
		q := &s.cache.seqs[i]
		if (seq < 0 || q.exact >= len(tokens)) && len(q.tokens) >= len(tokens) && commonPrefix(q.tokens, tokens) == len(tokens) {
			if seq = i; q.exact >= len(tokens) {
				return i, true
			}
		}
	}
	return seq, false
}

// flush saves what the last replies left, for a bounded time.
func (s *scheduler) flush() {
	timeout := time.NewTimer(closeBudget)
	defer timeout.Stop()
	for {
		job, jobs := s.offer()
		if job == nil {
			return
		}
		select {
		case jobs <- job:
			s.offered = nil
		case <-timeout.C:
			return
		}
	}
}
