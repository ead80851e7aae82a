package engine

import (
	"github.com/llama-agent/llama-agent/engine/gbnf"
	"github.com/llama-agent/llama-agent/engine/llama"
)

// forcer finds the parts of a constrained reply that its grammar leaves no choice about: punctuation, the names of
// properties, the rest of a name once it is the only one left. They go into the reply without being sampled.
//
// Where such a part ends, a model may prefer a token that reaches beyond it: after {"path" there is ":"/ as well as ":".
// So the last token of a part is held back and sampled when the vocabulary has a longer one that the grammar allows; the
// grammar still allows nothing but texts that begin as the part ends.
type forcer struct {
	vocab   *vocabulary
	machine *gbnf.Machine
}

// heldBack is the most tokens at the end of a forced part that are looked at together.
const heldBack = 3

// accept follows a sampled token.
func (f *forcer) accept(t llama.Token) { f.machine.Push(f.vocab.model.AppendPiece(nil, t, true)) }

// next returns the tokens that are forced now, and follows them. over: the reply is whole with them.
func (f *forcer) next() (tokens []llama.Token, over bool) {
	text := f.machine.Forced()
	if len(text) == 0 {
		return nil, f.machine.Over()
	}
	tokens = f.vocab.tokens(text)
	if tokens == nil {
		return nil, false
	}
	after := f.machine.Clone()
	after.Push(text)
	if over = after.Over(); !over {
		tokens = tokens[:f.keep(tokens, after)]
	}
	f.machine.Push(f.vocab.spell(tokens))
	return tokens, over
}

// keep is how many of the tokens of a forced part no longer token replaces. after is where the grammar is after the part.
func (f *forcer) keep(tokens []llama.Token, after *gbnf.Machine) int {
	keep := len(tokens)
	for i := len(tokens) - 1; i >= max(0, len(tokens)-heldBack); i-- {
		for _, tail := range f.vocab.tails(string(f.vocab.spell(tokens[i:]))) {
			if after.Allows([]byte(tail)) {
				keep = i
				break
			}
		}
	}
	return keep
}

// allowed is how many of these tokens the grammar allows in a row.
func (f *forcer) allowed(tokens []llama.Token) int {
	m := f.machine.Clone()
	for i, t := range tokens {
		if !m.Push(f.vocab.model.AppendPiece(nil, t, true)) {
			return i
		}
	}
	return len(tokens)
}
