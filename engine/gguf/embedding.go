package gguf

import "fmt"

// poolingRank is LLAMA_POOLING_TYPE_RANK: the model gives a score instead of a vector.
const poolingRank = 4

const embeddingFix = "use an embedding model"

// CheckEmbedding returns nil when the pinned llama.cpp may be given the file to compute embeddings with, or a *[FileError] with
// the reason against it. Models that chat pass too: the vectors of their tokens can be pooled.
func (info *Info) CheckEmbedding() error {
	return info.checkAll(
		info.checkPurpose,
		info.checkSplit,
		info.checkEmbeddingArchitecture,
		info.checkPooling,
		info.checkSize,
		info.checkShape,
		info.checkExperts,
		info.checkTokenizer,
		info.checkTensors,
	)
}

func (info *Info) checkEmbeddingArchitecture() *FileError {
	return info.checkArchitectureFor(true, embeddingFix)
}

// checkPooling refuses what llama.cpp aborts on, and models that rank.
func (info *Info) checkPooling() *FileError {
	v, ok := info.meta[info.key("pooling_type")]
	switch n := v.num; {
	case !ok || v.kind == kindUint32 && n < poolingRank:
		return nil
	case v.kind == kindUint32 && n == poolingRank:
		return &FileError{Reason: "it is a ranking model, which gives a score for a pair of texts instead of embeddings", Fix: embeddingFix}
	}
	return info.absurd("pooling_type", fmt.Sprintf("0 to %d", poolingRank))
}
