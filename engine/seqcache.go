package engine

import "github.com/llama-agent/llama-agent/engine/llama"

// seqCache knows what each sequence of the KV cache holds and decides which one a new prompt goes to. It is pure
// bookkeeping: the caller carries out its plans on the memory. Only the owner goroutine uses it.
type seqCache struct {
	seqs     []sequence
	canTrim  bool // the memory can drop the end of a sequence; false for models with a running state
	useClock uint64
}

type sequence struct {
	tokens  []llama.Token // in the KV cache, in order of position
	lost    bool          // its running state is gone; the cells of its tokens are there
	exact   int           // so many of them are as a process with nothing else to do would have computed them
	busy    bool          // an active call writes to it
	lastUse uint64
}

func newSeqCache(n int, canTrim bool) *seqCache {
	return &seqCache{seqs: make([]sequence, n), canTrim: canTrim}
}

// placement says where a prompt goes: the first keep tokens of sequence src are its prefix. When src differs from dst,
// dst is emptied and the prefix copied; else what src holds beyond keep is dropped.
type placement struct{ src, dst, keep int }

// place finds the sequence for a prompt: the longest common prefix with any sequence, of which a prompt keeps at least
// one token to compute (its logits are needed). It fails when every sequence is busy.
func (c *seqCache) place(prompt []llama.Token) (placement, bool) {
	best := placement{src: -1, dst: -1}
	for i := range c.seqs {
		s := &c.seqs[i]
		keep := min(commonPrefix(s.tokens, prompt), len(prompt)-1)
		if !c.canTrim && (keep < len(s.tokens) || s.lost) {
			continue // only a whole sequence can be taken over
		}
		better := keep > best.keep
		if keep > 0 && keep == best.keep {
			// Same length: prefer the one that is used up whole, then the one that is free to be written to.
			better = c.consumed(i, keep) && !c.consumed(best.src, keep)
		}
		if better {
			best.src, best.keep = i, keep
		}
	}
	if best.src >= 0 && c.consumed(best.src, best.keep) {
		best.dst = best.src
		return best, true
	}
	best.dst = c.victim(best.src)
	if best.dst < 0 {
		if best.src >= 0 && !c.seqs[best.src].busy {
			best.dst = best.src // nothing else is free: overwrite the tail
			return best, true
		}
		return placement{}, false
	}
	if best.src < 0 {
		best.src = best.dst
	}
	return best, true
}

// consumed reports whether continuing sequence i after keep tokens loses nothing.
func (c *seqCache) consumed(i, keep int) bool {
	return i >= 0 && !c.seqs[i].busy && len(c.seqs[i].tokens) == keep
}

// victim picks an idle sequence to overwrite: an empty one, else the least recently used; -1 when there is none. The
// sequence not is spared.
func (c *seqCache) victim(not int) int {
	v := -1
	for i := range c.seqs {
		s := &c.seqs[i]
		if s.busy || i == not {
			continue
		}
		if len(s.tokens) == 0 {
			return i
		}
		if v < 0 || s.lastUse < c.seqs[v].lastUse {
			v = i
		}
	}
	return v
}

// source returns a sequence whose cells begin with these tokens, or -1.
func (c *seqCache) source(tokens []llama.Token) int {
	for i := range c.seqs {
		if startsWith(c.seqs[i].tokens, tokens) {
			return i
		}
	}
	return -1
}

// evictable returns the least recently used idle sequence that holds cells, or -1.
func (c *seqCache) evictable() int {
	v := -1
	for i := range c.seqs {
		s := &c.seqs[i]
		if !s.busy && len(s.tokens) > 0 && (v < 0 || s.lastUse < c.seqs[v].lastUse) {
			v = i
		}
	}
	return v
}

func (c *seqCache) touch(i int) {
	c.useClock++
	c.seqs[i].lastUse = c.useClock
}

// cachedTokens is the number of tokens held by all sequences, shared cells counted once for each.
func (c *seqCache) cachedTokens() int {
	n := 0
	for i := range c.seqs {
		n += len(c.seqs[i].tokens)
	}
	return n
}

func commonPrefix(a, b []llama.Token) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
