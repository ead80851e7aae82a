package engine

import (
	"bytes"
	"slices"

	"github.com/llama-agent/llama-agent/engine/llama"
)

// vocabulary answers what tokens are spelt like. One goroutine uses it.
type vocabulary struct {
	model  model
	pieces []string // of tokens that text can hold, sorted; filled by the first question
	known  map[string][]string
}

// knownTails bounds the answers that are kept. The ends of a schema's literals are few; an agent has dozens of schemas.
const knownTails = 4096

func newVocabulary(m model) *vocabulary { return &vocabulary{model: m, known: map[string][]string{}} }

// tails returns what the tokens that properly begin with start have after it, sorted.
func (v *vocabulary) tails(start string) []string {
	if out, ok := v.known[start]; ok {
		return out
	}
	if v.pieces == nil {
		v.load()
	}
	i, found := slices.BinarySearch(v.pieces, start)
	if found {
		i++
	}
	var out []string
	for ; i < len(v.pieces) && len(v.pieces[i]) > len(start) && v.pieces[i][:len(start)] == start; i++ {
		out = append(out, v.pieces[i][len(start):])
	}
	if len(v.known) >= knownTails {
		clear(v.known)
	}
	v.known[start] = out
	return out
}

func (v *vocabulary) load() {
	n := v.model.Info().Vocab
	v.pieces = make([]string, 0, n)
	var buf []byte
	for t := range llama.Token(n) {
		if v.model.IsControl(t) || v.model.IsEOG(t) {
			continue
		}
		if buf = v.model.AppendPiece(buf[:0], t, true); len(buf) > 0 {
			v.pieces = append(v.pieces, string(buf))
		}
	}
	slices.Sort(v.pieces)
	v.pieces = slices.Compact(v.pieces)
}

// tokens spells text as the model's tokenizer does; nil when what comes out does not spell just that text. Tokenizers
// that put a blank before a text are asked with a line break before it.
func (v *vocabulary) tokens(text []byte) []llama.Token {
	for _, before := range []string{"", "\n"} {
		tokens, err := v.model.Tokenize(before+string(text), false, false)
		if err != nil {
			return nil
		}
		spelling := v.spell(tokens)
		for before != "" && len(tokens) > 0 && len(spelling) > len(text) {
			tokens = tokens[1:]
			spelling = v.spell(tokens)
		}
		if bytes.Equal(spelling, text) {
			return tokens
		}
	}
	return nil
}

func (v *vocabulary) spell(tokens []llama.Token) []byte {
	var out []byte
	for _, t := range tokens {
		out = v.model.AppendPiece(out, t, true)
	}
	return out
}
