package engine

import (
	"slices"

	"github.com/llama-agent/llama-agent/engine/llama"
)

// minCut is the fewest tokens between two cuts. Smaller batches cost more time a token, and smaller chunks more files.
const minCut = 32

// cuts returns the positions at which a prompt is cut into batches, and into chunks for the KV store: before the control
// token that ends a message, where prompts of one conversation part, and after every prefillChunk tokens in between.
//
// How a prompt is cut changes its logits in the last bits, so the cuts are the same whether there is a store or not. They
// depend on nothing but the tokens up to the cut and the one after it, so prompts with a common start have common cuts;
// only the end of the last message is not cut off, since it belongs to no other prompt and would be a batch of a few tokens.
// The last token is after every cut: its logits are needed.
func cuts(prompt []llama.Token, isControl, isEnd func(llama.Token) bool) []int {
	lastEnd := len(prompt) - 1
	for lastEnd >= 0 && !isEnd(prompt[lastEnd]) {
		lastEnd--
	}
	var out []int
	last, before := 0, true
	for i, t := range prompt {
		control := isControl(t)
		if i-last == prefillChunk || i-last >= minCut && control && !before && i != lastEnd {
			out = append(out, i)
			last = i
		}
		before = control
	}
	return out
}

// worthKeeping is the number of chunks of a prompt that another prompt may begin with: those before its last message,
// which is what changes from call to call, and whole ones of that message.
func worthKeeping(prompt []llama.Token, cuts []int, isEnd func(llama.Token) bool) int {
	end, ends := 0, 0
	for i := len(prompt) - 1; i >= 0 && ends < 2; i-- {
		if isEnd(prompt[i]) {
			end = i
			ends++
		}
	}
	if ends < 2 {
		end = 0
	}
	n := 0
	for i, c := range cuts {
		start := 0
		if i > 0 {
			start = cuts[i-1]
		}
		if c <= end || c-start == prefillChunk {
			n = i + 1
		}
	}
	return n
}

// boundaries returns those cuts of a prompt that are worth a copy of the running state: the ends of messages, and after the
// last of them all cuts, since another prompt may part from it there.
func boundaries(prompt []llama.Token, cuts []int, isControl func(llama.Token) bool) []int {
	last := len(cuts) - 1
	for last >= 0 && !isControl(prompt[cuts[last]]) {
		last--
	}
	var out []int
	for i, c := range cuts {
		if i > last || isControl(prompt[c]) {
			out = append(out, c)
		}
	}
	return out
}

// nextCut returns the first cut of a request after a position, or the length of the prompt.
func nextCut(r *request, pos int) int {
	if i, _ := slices.BinarySearch(r.cuts, pos+1); i < len(r.cuts) {
		return r.cuts[i]
	}
	return len(r.prompt)
}

// cutBefore returns the last cut at or before a position, or 0.
func cutBefore(cuts []int, pos int) int {
	if i, _ := slices.BinarySearch(cuts, pos+1); i > 0 {
		return cuts[i-1]
	}
	return 0
}

// exactPrefix says how much of a prompt is as it would be computed alone, when its first keep tokens come from a sequence
// of which that holds for the first exact ones. A cut at exactly keep is one of the old prompt only when that was cut there.
func exactPrefix(cuts []int, exact, keep int) int {
	at := cutBefore(cuts, min(exact, keep))
	if at == keep && keep != exact {
		return cutBefore(cuts, keep-1)
	}
	return at
}
