package engine

import (
	"slices"

	"github.com/llama-agent/llama-agent/engine/llama"
)

// This file is what the scheduler does for memories that cannot drop the end of a sequence. It saves the running state at
// the boundaries of prompts and goes back to those. A state is all that a MemoryState needs. A MemoryMixed has cells too, which
// stay in the sequences: a state is usable as long as one of them begins with its tokens, even one that has lost its own.

// usable reports whether the memory can go back to a state.
func (s *scheduler) usable(st *savedState) bool {
	return s.kind == llama.MemoryState || s.cache.source(st.tokens) >= 0
}

// sourceOf is the sequence that has the cells of a state, -1 when there are none to have.
func (s *scheduler) sourceOf(st *savedState) int {
	if s.kind == llama.MemoryState {
		return -1
	}
	return s.cache.source(st.tokens)
}

// goBack looks for a saved state after more of a prompt than a placement keeps, and changes the placement to it. Nil: the
// placement stays.
func (s *scheduler) goBack(prompt []llama.Token, p *placement) *savedState {
	if s.states == nil {
		return nil
	}
	st := s.states.longest(prompt[:len(prompt)-1], s.usable)
	if st == nil || len(st.tokens) <= p.keep {
		return nil
	}
	p.src, p.keep = s.sourceOf(st), len(st.tokens)
	if v := s.cache.victim(p.src); v >= 0 {
		p.dst = v
	}
	if p.src >= 0 {
		s.cache.touch(p.src)
	}
	s.states.use(st)
	return st
}

// restoreState makes a sequence hold the tokens of a state. False: the sequence is empty, and the state forgotten.
func (s *scheduler) restoreState(st *savedState, seq int) bool {
	q := &s.cache.seqs[seq]
	if err := s.mem.RestoreTail(s.sourceOf(st), seq, len(st.tokens), st.data); err != nil {
		s.log.Warn("a saved state of the model's memory is not used", "error", err)
		s.states.drop(st)
		s.drop(seq)
		return false
	}
	q.tokens, q.lost, q.exact = slices.Clone(st.tokens), false, 0
	if st.exact {
		q.exact = len(st.tokens)
	}
	return true
}

// nextStop is the end of the next batch of a prompt: a boundary whose state is kept, or the last token, before which the
// state is kept too. A repeated prompt, or one that goes on after a reply in other words, computes no more than that.
func nextStop(r *request) int {
	if last := len(r.prompt) - 1; r.done < last {
		return min(nextCut(r, r.done), last)
	}
	return len(r.prompt)
}

// remember keeps the state of a sequence that has just come to a stop of its prompt.
func (s *scheduler) remember(r *request) {
	if s.states == nil || r.done == 0 || r.done >= len(r.prompt) || r.done != len(r.prompt)-1 && cutBefore(r.cuts, r.done) != r.done {
		return
	}
	q := &s.cache.seqs[r.seq]
	exact := q.exact >= r.done
	if old := s.states.find(r.prompt[:r.done]); old != nil && (old.exact || !exact) {
		s.states.use(old)
		return
	}
	data, err := s.mem.SaveTail(r.seq)
	if err != nil {
		s.log.Warn("a state of the model's memory is not kept; prompts are computed from further back", "error", err)
		return
	}
	s.states.add(&savedState{tokens: slices.Clip(r.prompt[:r.done]), data: data, exact: exact}, s.usable)
}

// lose forgets running states after a batch that was not finished. Those of its sequences are somewhere in its middle. With
// more than one of them, llama.cpp moves the states of others to make theirs neighbours, and the batch may have ended before
// all layers were moved: then no state in the memory can be trusted.
func (s *scheduler) lose() {
	lost := make([]bool, len(s.cache.seqs))
	for i := range lost {
		lost[i] = len(s.in) > 1 && len(s.cache.seqs[i].tokens) > 0
	}
	for _, r := range s.in {
		lost[r.seq] = true
	}
	for i, is := range lost {
		q := &s.cache.seqs[i]
		if is && s.kind == llama.MemoryMixed {
			q.lost = true
		} else if is && !q.busy {
			s.drop(i)
		}
	}
	for _, r := range s.active {
		if lost[r.seq] {
			s.restart(r)
		}
	}
}

// restart computes a request's sequence anew, from the last state that was kept: what the sequence held, and what was to
// follow, are its prompt now.
func (s *scheduler) restart(r *request) {
	if r.done == len(r.prompt) {
		r.prompt = append(slices.Clone(s.cache.seqs[r.seq].tokens), r.pending...)
		r.pending = nil
	}
	r.done = 0
	if s.states != nil {
		if st := s.states.longest(r.prompt[:len(r.prompt)-1], s.usable); st != nil && s.restoreState(st, r.seq) {
			r.done = len(st.tokens)
		}
	}
	if r.done == 0 {
		s.drop(r.seq)
	}
	if r.first.IsZero() {
		r.usage.CachedTokens = min(r.usage.CachedTokens, r.done)
		r.usage.RestoredTokens = min(r.usage.RestoredTokens, r.usage.CachedTokens)
		r.usage.EvaluatedTokens = r.done - r.usage.CachedTokens
	}
}
