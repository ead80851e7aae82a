package engine

import "github.com/llama-agent/llama-agent/engine/llama"

// model is the part of a loaded model that needs no context. Its methods may be called from any goroutine.
type model interface {
	Info() llama.ModelInfo
	Description() string
	Tokenize(text string, addSpecial, parseSpecial bool) ([]llama.Token, error)
	AppendPiece(dst []byte, t llama.Token, special bool) []byte
	IsEOG(t llama.Token) bool
	IsControl(t llama.Token) bool
	NewSampler(p llama.SamplerParams) (sampler, error)
	SchemaToGrammar(schema []byte, maxString, maxItems int) (string, error)
	Caps() (llama.ChatCaps, error)
	Render(r llama.ChatRequest) (llama.ChatPrompt, error)
	ParseReply(p llama.ChatPrompt, text string, partial, toolCalls bool) (llama.ChatReply, error)
}

// memory is the context: the KV cache and what computes on it. Only the owner goroutine calls it, except for Abort and
// ResetAbort.
type memory interface {
	Decode(b *llama.Batch) error
	SeqRemove(seq, p0, p1 int) bool
	SeqCopy(src, dst, p0, p1 int) bool
	SeqPosMax(seq int) int
	// SaveTail copies the running state at the end of a sequence; RestoreTail makes dst hold the first end positions of src
	// (-1: the memory has no positions) with that state. After an error dst is empty.
	SaveTail(seq int) ([]byte, error)
	RestoreTail(src, dst, end int, state []byte) error
	// SaveRange copies the state of positions p0 ≤ p < p1 of a sequence, with the running state at p1 if the memory has one;
	// RestoreRange appends it to one that ends at p0.
	SaveRange(seq, p0, p1 int, tail []byte) ([]byte, error)
	RestoreRange(seq, p0, p1 int, state []byte) error
	Clear()
	SetThreads(single, batch int)
	Abort()
	ResetAbort()
	Size() int
	BatchSize() int
}

// sampler picks the tokens of one generation. Only the owner goroutine uses it.
type sampler interface {
	Sample(row int) (llama.Token, error)
	Accept(t llama.Token) error // one that was not sampled
	Close()
}
