package gguf

// computeBatch is the number of tokens that llama.cpp computes at once (n_ubatch, its default).
const computeBatch = 512

// Memory is an estimate of what a model needs while it runs, in bytes.
type Memory struct {
	WeightsBytes int64 // the tensors; mapped from the file, so the system may drop and reload them
	KVBytes      int64 // the KV cache
	ComputeBytes int64 // working buffers
	TotalBytes   int64
}

// MemoryEstimate returns the memory that the model needs with a context of ctxTokens tokens, all sequences together, and
// kvElementBytes bytes per element of the KV cache (2 for f16; see [KVElementBytes]). A ctxTokens of 0 or less means the
// context length of the model.
//
//	weights = the tensors with their padding, of all files
//	KV      = tokens × bytes per element × Σ over layers of KV heads × (key size + value size)
//	        = 2 × layers × KV heads × head size × bytes per element × tokens, when all layers are equal
//	compute = 512 × 4 bytes × (vocabulary + 2 × embedding length)
//
// The first two are exact for plain transformers. KV is an upper bound for sliding-window layers, which llama.cpp may
// keep only partly, and for models with compressed keys and values (MLA). The fixed state of recurrent layers, some
// megabytes a sequence, is not counted. The compute formula is what llama.cpp reserves for the logits and two hidden states
// of a batch of 512 tokens with flash attention on; measured on the CPU with Qwen2.5 0.5B and 1.5B and SmolLM2 135M it
// is exact to 5 % (297 of 303 MiB are logits for Qwen2.5 1.5B). The program itself and its vocabulary tables, about
// 100 MB, come on top.
func (info *Info) MemoryEstimate(ctxTokens int, kvElementBytes float64) Memory {
	if ctxTokens <= 0 {
		ctxTokens = info.ContextLength
	}
	elements := 0.0
	for _, heads := range info.kvHeads {
		elements += float64(heads) * float64(info.KeyLength+info.ValueLength)
	}
	m := Memory{
		WeightsBytes: info.weightBytes,
		KVBytes:      int64(float64(ctxTokens) * kvElementBytes * elements),
		ComputeBytes: computeBatch * 4 * (int64(info.VocabSize) + 2*int64(info.EmbeddingLength)),
	}
	m.TotalBytes = m.WeightsBytes + m.KVBytes + m.ComputeBytes
	return m
}
