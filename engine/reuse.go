package engine

import (
	"fmt"

	"github.com/llama-agent/llama-agent/engine/gguf"
	"github.com/llama-agent/llama-agent/engine/llama"
)

// PrefixReuse says in a sentence how much of earlier prompts a model's memory lets later ones take over, in memory and on disk,
// as far as the file tells.
func PrefixReuse(info *gguf.Info) string {
	kind, what := llama.MemoryCells, "any prefix of earlier prompts"
	switch {
	case info.Architecture == "deepseek4":
		kind, what = llama.MemoryWhole, "only prompts that continue an earlier one whole: its memory is compressed"
	case info.Recurrent:
		kind, what = llama.MemoryState, "a recurrent model: state checkpoints, so prefixes are reused at the boundaries of prompts only"
	case info.Hybrid:
		kind, what = llama.MemoryMixed, "a hybrid model: state checkpoints, so prefixes are reused at the boundaries of prompts only"
	case info.SlidingWindow > 0:
		kind, what = llama.MemoryWindow, fmt.Sprintf("any prefix of earlier prompts, those beyond the window of %d tokens too", info.SlidingWindow)
	}
	if !keepable(llama.ModelInfo{Memory: kind, SlidingWindow: info.SlidingWindow}) {
		return what + "; not kept on disk for later runs"
	}
	return what
}
