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
// Text of messages is data: spellings of control tokens in it are tokenised as plain text.
//
// The package does not download models, keep KV on disk or talk to remote servers.
package engine
