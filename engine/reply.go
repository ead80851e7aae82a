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

// sample takes the next token of a request and ends it when it is over.
func (s *scheduler) sample(r *request) {
	t, err := r.sampler.Sample(r.row)
	if err != nil {
		s.fail(r, fmt.Errorf("engine: %w", err))
		return
	}
	if r.first.IsZero() {
		r.first = s.now()
		r.usage.Prefill = r.first.Sub(r.started)
		r.usage.TTFT = r.first.Sub(r.queued)
		s.plan(r)
		opening := r.opening
		r.opening = nil
		if s.write(r, opening, false) {
			return
		}
	}
	if s.model.IsEOG(t) {
		s.end(r, finishStop)
		return
	}
	r.pending = append(r.pending, t)
	if s.say(r, t) {
		return
	}
	s.force(r, t)
}

// force puts what must follow a sampled token into the reply.
func (s *scheduler) force(r *request, sampled llama.Token) {
	if r.forcer == nil {
		return
	}
	r.forcer.accept(sampled)
	tokens, over := r.forcer.next()
	if s.write(r, tokens, over) {
		return
	}
	for _, t := range tokens {
		if err := r.sampler.Accept(t); err != nil {
			s.fail(r, fmt.Errorf("engine: %w", err))
			return
		}
	}
	r.pending = append(r.pending, tokens...)
}

// write gives forced tokens out, and ends the reply when it is over with them. True: it is at its end.
func (s *scheduler) write(r *request, forced []llama.Token, over bool) bool {
	for _, t := range forced {
		r.usage.ForcedTokens++
		if s.say(r, t) {
			return true
		}
	}
	if over {
		s.end(r, finishStop)
	}
	return over
}

// say gives out a token of the reply. True: the reply is at its end.
func (s *scheduler) say(r *request, t llama.Token) bool {
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
