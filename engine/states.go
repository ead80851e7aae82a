package engine

import (
	"slices"

	"github.com/llama-agent/llama-agent/engine/llama"
)

// mostStates is the number of running states that are kept, however small they are.
const mostStates = 64

// stateCache keeps running states of sequences, for memories that cannot go back by themselves: those of recurrent layers.
// Each is the state after the tokens of one prompt up to a boundary. It is pure bookkeeping; only the owner goroutine uses it.
//
// When it is full, the state that was used longest ago goes first. Whoever adds or uses a state uses the shortest one that it
// continues too, which is that of the system text, so that this one goes last.
type stateCache struct {
	most  int64 // bytes
	bytes int64
	list  []*savedState // in the order in which they were added
	clock uint64
}

// savedState is the state of a sequence that holds these tokens.
type savedState struct {
	tokens  []llama.Token
	data    []byte
	exact   bool // as a process with nothing else to do would have computed it
	lastUse uint64
}

func newStateCache(most int64) *stateCache { return &stateCache{most: most} }

// longest returns the usable state after the longest start of these tokens, nil when there is none.
func (c *stateCache) longest(tokens []llama.Token, usable func(*savedState) bool) *savedState {
	var best *savedState
	for _, s := range c.list {
		if (best == nil || len(s.tokens) > len(best.tokens)) && startsWith(tokens, s.tokens) && usable(s) {
			best = s
		}
	}
	return best
}

// find returns the state after exactly these tokens, nil when there is none.
func (c *stateCache) find(tokens []llama.Token) *savedState {
	for _, s := range c.list {
		if len(s.tokens) == len(tokens) && startsWith(tokens, s.tokens) {
			return s
		}
	}
	return nil
}

// use notes that a state is worth having.
func (c *stateCache) use(s *savedState) {
	c.clock++
	s.lastUse = c.clock
	shortest := s
	for _, o := range c.list {
		if len(o.tokens) < len(shortest.tokens) && startsWith(s.tokens, o.tokens) {
			shortest = o
		}
	}
	c.clock++
	shortest.lastUse = c.clock
}

// add keeps a state, and gives up others for it: first those that are not usable any more. A state that is larger than all
// together may be is not kept. The state after the same tokens is replaced. Tokens and data belong to the cache from then on.
func (c *stateCache) add(s *savedState, usable func(*savedState) bool) {
	if int64(len(s.data)) > c.most {
		return
	}
	if old := c.find(s.tokens); old != nil {
		c.drop(old)
	}
	c.list = append(c.list, s)
	c.bytes += int64(len(s.data))
	c.use(s)
	for c.bytes > c.most || len(c.list) > mostStates {
		c.drop(c.victim(s, usable))
	}
}

// victim is the state to give up for another one.
func (c *stateCache) victim(spared *savedState, usable func(*savedState) bool) *savedState {
	var oldest *savedState
	for _, s := range c.list {
		if s == spared {
			continue
		}
		if !usable(s) {
			return s
		}
		if oldest == nil || s.lastUse < oldest.lastUse {
			oldest = s
		}
	}
	return oldest
}

func (c *stateCache) drop(s *savedState) {
	if i := slices.Index(c.list, s); i >= 0 {
		c.list = slices.Delete(c.list, i, i+1)
		c.bytes -= int64(len(s.data))
	}
}

func startsWith(tokens, start []llama.Token) bool {
	return len(tokens) >= len(start) && commonPrefix(tokens, start) == len(start)
}
