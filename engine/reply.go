package engine

import (
	"fmt"

	"github.com/llama-agent/llama-agent/engine/llama"
)

// open puts the forced start of a reply behind its prompt. A reply of which nothing is open is over at once.
func (s *scheduler) open(r *request) {
	if r.grammar == nil {
		return
	}
	r.forcer = &forcer{vocab: s.vocab, machine: r.grammar.Start()}
	tokens, over := r.forcer.next()
	if over || len(tokens) >= r.maxTokens {
		s.write(r, tokens, over)
		return
	}
	for _, t := range tokens {
		if err := r.sampler.Accept(t); err != nil {
			s.fail(r, fmt.Errorf("engine: %w", err))
			return
		}
	}
	r.opening = tokens
	r.pending = append(r.pending, tokens...)
}

// sample takes the next tokens of a request: one, and one more for each guess that is what the sampler chooses. So the
// reply is the same as without guesses, with any temperature, but for the rounding of larger batches.
func (s *scheduler) sample(r *request) {
	seq := &s.cache.seqs[r.seq]
	held, right := len(seq.tokens), 0
	r.usage.DraftedTokens += len(r.guesses)
	for s.sampleRow(r, r.row+right) {
		n := commonPrefix(r.pending, r.guesses[right:])
		seq.tokens = append(seq.tokens, r.pending[:n]...)
		r.pending = r.pending[n:]
		right += n
		r.usage.AcceptedTokens += n
		if len(r.pending) > 0 {
			break
		}
	}
	if right < len(r.guesses) {
		s.mem.SeqRemove(r.seq, held+right, -1) // guesses are made only where the memory can do that
	}
}

// sampleRow takes the token of one row, and what it forces, into the reply, and ends that when it is over: false.
func (s *scheduler) sampleRow(r *request, row int) bool {
	t, err := r.sampler.Sample(row)
	if err != nil {
		s.fail(r, fmt.Errorf("engine: %w", err))
		return false
	}
	if r.first.IsZero() {
		r.first = s.now()
		r.usage.Prefill = r.first.Sub(r.started)
		r.usage.TTFT = r.first.Sub(r.queued)
		s.plan(r)
		opening := r.opening
		r.opening = nil
		if s.write(r, opening, false) {
			return false
		}
	}
	if s.model.IsEOG(t) {
		s.end(r, finishStop)
		return false
	}
	r.pending = append(r.pending, t)
	return !s.say(r, t, true) && s.force(r, t)
}

// force puts what must follow a sampled token into the reply. False: the reply is at its end.
func (s *scheduler) force(r *request, sampled llama.Token) bool {
	if r.forcer == nil {
		return true
	}
	r.forcer.accept(sampled)
	tokens, over := r.forcer.next()
	if s.write(r, tokens, over) {
		return false
	}
	for _, t := range tokens {
		if err := r.sampler.Accept(t); err != nil {
			s.fail(r, fmt.Errorf("engine: %w", err))
			return false
		}
	}
	r.pending = append(r.pending, tokens...)
	return true
}

// write gives forced tokens out, and ends the reply when it is over with them. True: it is at its end.
func (s *scheduler) write(r *request, forced []llama.Token, over bool) bool {
	for _, t := range forced {
		r.usage.ForcedTokens++
		if s.say(r, t, false) {
			return true
		}
	}
	if over {
		s.end(r, finishStop)
	}
	return over
}

// say gives out a token of the reply. True: the reply is at its end.
func (s *scheduler) say(r *request, t llama.Token, sampled bool) bool {
	if r.drafts != nil {
		r.drafts.said(t, sampled)
	}
	r.written++
	r.usage.CompletionTokens++
	r.piece = s.model.AppendPiece(r.piece[:0], t, r.sampling.Preserved != "")
	if delta := r.text.push(r.piece); delta != "" {
		r.post(event{delta: delta})
	}
	switch {
	case r.text.stopped:
		s.end(r, finishStop)
	case r.written >= r.maxTokens:
		s.end(r, finishLength)
	default:
		return false
	}
	return true
}
