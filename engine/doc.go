// Package engine runs one GGUF model for many callers and never computes a prompt prefix twice that it still holds.
//
// An [Engine] implements langchaingo's llms.Model: messages, tools, streaming, stop words, seed and token limit. On top of
// that it constrains replies to a JSON schema ([WithSchema]), counts tokens with the model's own template and tokenizer,
// and reports for every call how many prompt tokens were cached and evaluated ([UsageOf]).
//
// One goroutine owns the llama.cpp context. Calls queue; each tick it builds one batch from all active sequences, decodes
// first, then prefill chunks. A cancelled call stops within one micro-batch or token. Finished sequences stay in the KV
// cache until their cells are needed, and a new prompt takes over the longest prefix that any of them holds.
//
// What a schema leaves no choice about in a reply (punctuation, names of properties, the rest of a name of which only one is
// left) is not sampled: it rides in the batch of the next sampled token, and the end of a reply is not computed at all.
//
// With a KV store ([Config].KVStorePath) the starts of prompts are kept on disk too, so that another process takes over what
// it does not have to compute. A process's first call gets the same logits with a store as without one, to the last bit,
// when what is kept was computed by a first call as well. What was computed beside other sequences can differ in the last
// bits, because the places of cells in the cache order its sums, as they do for prefixes in memory. Layers with
// a short sliding window (under 256 tokens) have no parts that can be kept, and work without.
//
// The memory of recurrent and hybrid models (Mamba, RWKV, LFM2, Qwen3-Next and others) is a state that only goes forward. It is
// copied at the boundaries of prompts, within [Config].StateMaxBytes, and prompts begin at the longest one they share. So less
// is reused than with plain models: no part of a message, and nothing of a reply that was broken off. Layers with a sliding
// window keep what is out of it, so that a prompt can branch from there.
//
// LoRA adapters ([Config].Adapters) change what the model computes; KV state is kept apart for each set of them.
//
// An [Embedder] turns texts into vectors, with a model of its own: one made for embeddings, encoders too, or any other. It
// computes several texts in one batch.
//
// Text of messages is data: spellings of control tokens in it are tokenised as plain text.
//
// The package does not download models or talk to remote servers.
package engine
