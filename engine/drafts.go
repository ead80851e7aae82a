package engine

import (
	"math"
	"slices"
	"time"

	"github.com/llama-agent/llama-agent/engine/llama"
)

// drafts guesses how a reply goes on: as the text did where it last had the same tokens, in the prompt or in the reply.
// Paths, names and numbers of a reply are often copies. What is guessed is kept until the reply differs from it, whether
// it was computed ahead or not, so the share of right guesses is known at no cost.
type drafts struct {
	next []llama.Token
	rate float64 // smoothed share of sampled tokens that were guessed right, where there was a guess
}

const (
	// sameTokens is the number of tokens that must be the same before a guess.
	sameTokens = 3
	// mostGuesses is the most tokens that are computed ahead.
	mostGuesses = 7
	// firstRate is the share that is expected at first: too little for a guess to pay.
	firstRate = 0.5
	// gain is what a guess must save to be worth it, as a share of the time without.
	gain = 0.05
)

// said takes the next token of the reply.
func (d *drafts) said(t llama.Token, sampled bool) {
	if len(d.next) == 0 {
		return
	}
	right := d.next[0] == t
	if sampled {
		hit := 0.0
		if right {
			hit = 1
		}
		d.rate += (hit - d.rate) / 8
	}
	if d.next = d.next[1:]; !right {
		d.next = nil
	}
}

// look makes a guess from the tokens up to now, when there is none.
func (d *drafts) look(held, pending []llama.Token, stop func(llama.Token) bool) {
	if len(d.next) > 0 {
		return
	}
	history := append(slices.Clone(held), pending...)
	end := len(history) - sameTokens
	for i := end - 1; i >= 0; i-- {
		if !slices.Equal(history[i:i+sameTokens], history[end:]) {
			continue
		}
		d.next = history[i+sameTokens : min(i+sameTokens+4*mostGuesses, len(history))]
		if at := slices.IndexFunc(d.next, stop); at >= 0 {
			d.next = d.next[:at]
		}
		return
	}
}

// draftLength is the number of guesses, of those that there are, with which a token of the reply takes the least time; 0:
// guessing does not pay. cost gives the time of a batch of so many tokens, 0 when it is not known.
func draftLength(rate float64, guesses int, cost func(tokens int) time.Duration) int {
	one := cost(1)
	if one == 0 {
		return 0
	}
	best, length := float64(one)*(1-gain), 0
	for k := 1; k <= min(guesses, mostGuesses); k = 2*k + 1 { // batches of 2, 4 and 8 tokens
		batch := float64(cost(k + 1))
		if batch == 0 {
			batch = float64(one) * (1 + 0.5*float64(k)) // worth a try, if most guesses are right
		}
		// 1 + rate + rate² + … + rate^k tokens come of it.
		tokens := float64(k + 1)
		if rate < 1 {
			tokens = (1 - math.Pow(rate, float64(k+1))) / (1 - rate)
		}
		if each := batch / tokens; each < best {
			best, length = each, k
		}
	}
	return length
}

// draft chooses what is computed ahead of a reply in the next batch. Only a call that is alone gets guesses: the rows of
// others are surer to be needed.
func (s *scheduler) draft(r *request, room int) []llama.Token {
	if r.drafts == nil || !s.cache.canTrim || len(s.active) > 1 || r.first.IsZero() || r.done < len(r.prompt) {
		return nil
	}
	r.drafts.look(s.cache.seqs[r.seq].tokens, r.pending, s.model.IsControl)
	guesses := r.drafts.next[:min(len(r.drafts.next), room, r.maxTokens-r.written)]
	if r.forcer != nil {
		guesses = guesses[:r.forcer.allowed(guesses)]
	}
	return guesses[:draftLength(r.drafts.rate, len(guesses), s.cost)]
}
