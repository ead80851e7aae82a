package llama

import (
	"encoding/json"
	"errors"
)

// Token is a token id of a model's vocabulary.
type Token int32

// ErrClosed is returned by methods of a closed model, context, sampler or template.
var ErrClosed = errors.New("llama: closed")

// ModelParams says how to load a model. The zero value loads all of it into memory on the CPU.
type ModelParams struct {
	GPULayers int           // layers to put on the GPU; negative: all
	VocabOnly bool          // only the vocabulary and metadata, no weights
	Progress  func(float32) // called now and then with the share loaded, 0 to 1, from another goroutine; may be nil
}

// MemoryKind is what a context can do with a part of a sequence. It follows from the model.
type MemoryKind int

// Kinds of memory, numbered as la_memory.
const (
	// MemoryCells: a cell for each token; any part can be dropped, shared and saved.
	MemoryCells MemoryKind = iota
	// MemoryWindow is the same. Some layers see only the last tokens, but the cells of the others are kept for them too.
	MemoryWindow
	// MemoryState: one running state for a sequence. SeqRemove and SeqCopy take only whole sequences; SaveTail and RestoreTail go
	// back to where a sequence once ended.
	MemoryState
	// MemoryMixed: cells for some layers and a running state for the others, with the same limits. RestoreTail needs a sequence
	// that holds the cells.
	MemoryMixed
	// MemoryWhole: only whole sequences, and nothing can be saved.
	MemoryWhole
)

// ModelInfo is what llama.cpp knows about a loaded model.
type ModelInfo struct {
	Memory                                                                MemoryKind
	ContextTrain, Embedding, Layers, Heads, HeadsKV, SlidingWindow, Vocab int
	Bytes, Parameters                                                     uint64
	Recurrent, Hybrid, Encoder, Decoder, Diffusion                        bool
	AddBOS, AddEOS                                                        bool
	BOS, EOS, EOT, NL                                                     Token // -1 when the vocabulary has none
}

// Errors of Decode, one for each return code of llama_decode.
var (
	// ErrNoRoom: the KV cache has no room for the batch; the state is unchanged (code 1).
	ErrNoRoom = errors.New("llama: no room in the KV cache")
	// ErrAborted: Abort was called; the part of the batch that was finished stays in the sequences, and SeqPosMax tells
	// how much that is (code 2).
	ErrAborted = errors.New("llama: decode aborted")
	// ErrBatch: the batch was refused; the state is unchanged (code -1).
	ErrBatch = errors.New("llama: bad batch")
	// ErrDecode: decoding failed; only SeqPosMax tells what the sequences hold (codes below -1).
	ErrDecode = errors.New("llama: decoding failed")
)

// KVType is the element type of the KV cache.
type KVType int

// Values of ggml_type that a KV cache can have.
const (
	KVF32  KVType = 0
	KVF16  KVType = 1
	KVQ4_0 KVType = 2
	KVQ8_0 KVType = 8
)

// ContextParams says how large a context is. Sizes are tokens.
type ContextParams struct {
	Size           int // cells of the KV cache, shared by all sequences; 0: as many as the model was trained for
	Batch          int // most tokens of one Decode; at least Sequences, less becomes that
	MicroBatch     int // most tokens that are computed at once; an abort loses at most these
	Sequences      int // sequence ids 0 to Sequences-1
	Threads        int
	FlashAttention int // -1 automatic, 0 off, 1 on
	KVType         KVType
}

// Pooling says how the vectors of a text's tokens become one, numbered as llama_pooling_type.
type Pooling int

// Kinds of pooling.
const (
	PoolMean Pooling = 1
	PoolCLS  Pooling = 2 // the first token's
	PoolLast Pooling = 3
)

// EmbeddingParams says how large an embedding context is.
type EmbeddingParams struct {
	Batch          int // most tokens of one Embed, of all texts together; at least Texts, less becomes that
	Texts          int // most texts of one Embed
	Threads        int
	FlashAttention int // -1 automatic, 0 off, 1 on
	Pooling        Pooling
}

// Batch is a list of tokens to decode, each at a position of one sequence. The zero value is empty. It is reused from
// call to call to save allocations.
type Batch struct {
	tokens []Token
	pos    []int32
	seq    []int32
	logits []int8
}

// Reset empties the batch.
func (b *Batch) Reset() {
	b.tokens, b.pos, b.seq, b.logits = b.tokens[:0], b.pos[:0], b.seq[:0], b.logits[:0]
}

// Len is the number of tokens.
func (b *Batch) Len() int { return len(b.tokens) }

// Add puts a token at a position of a sequence and returns its row. With logits, the row can be sampled after Decode.
func (b *Batch) Add(t Token, pos, seq int, logits bool) int {
	b.tokens = append(b.tokens, t)
	b.pos = append(b.pos, int32(pos))
	b.seq = append(b.seq, int32(seq))
	var l int8
	if logits {
		l = 1
	}
	b.logits = append(b.logits, l)
	return len(b.tokens) - 1
}

// Row gives back what Add put into row i.
func (b *Batch) Row(i int) (t Token, pos, seq int, logits bool) {
	return b.tokens[i], int(b.pos[i]), int(b.seq[i]), b.logits[i] != 0
}

// GrammarKind tells llama.cpp's common where a grammar comes from: those made by a chat template begin at the start of
// the generation prompt, others at the first generated token.
type GrammarKind int

// Kinds of grammar, numbered as common_grammar_type.
const (
	GrammarUser         GrammarKind = 1
	GrammarOutputFormat GrammarKind = 2
	GrammarToolCalls    GrammarKind = 3
)

// SamplerParams says how tokens are chosen. The zero value is greedy without grammar.
type SamplerParams struct {
	Seed          uint32
	Temperature   float32 // ≤ 0: greedy
	TopK          int     // ≤ 0: off
	TopP          float32 // 0 or 1: off
	MinP          float32 // 0: off
	RepeatPenalty float32 // 0 or 1: off
	RepeatLastN   int     // sampled tokens that the penalty looks back on

	Grammar          string // GBNF with the root rule "root"; empty: none
	GrammarKind      GrammarKind
	Lazy             bool   // the grammar starts at a trigger
	Triggers         string // JSON, as in ChatPrompt
	Preserved        string // JSON, as in ChatPrompt
	GenerationPrompt string // as in ChatPrompt
}

// ChatCaps says what a template can do.
type ChatCaps struct {
	Explicit bool            `json:"explicit"` // false: the model has no template and ChatML is used
	Source   string          `json:"source"`
	Supports map[string]bool `json:"supports"` // supports_tools, supports_tool_calls, supports_system_role, …
}

// ChatRequest is a conversation in OpenAI's form.
type ChatRequest struct {
	Messages          []ChatMessage   `json:"messages"`
	Tools             []ChatTool      `json:"tools,omitempty"`
	ToolChoice        string          `json:"tool_choice,omitempty"` // none, auto (when empty) or required
	Schema            json.RawMessage `json:"json_schema,omitempty"` // of the reply
	Thinking          bool            `json:"enable_thinking"`
	ParallelToolCalls bool            `json:"parallel_tool_calls,omitempty"`
	Now               int64           `json:"now"` // Unix seconds, for templates that print a date
}

// ChatMessage is one message of a conversation.
type ChatMessage struct {
	Role       string         `json:"role"` // system, user, assistant, tool
	Content    string         `json:"content"`
	ToolCalls  []ChatToolCall `json:"tool_calls,omitempty"`
	ToolCallID string         `json:"tool_call_id,omitempty"`
	Name       string         `json:"name,omitempty"`
}

// ChatToolCall is a call that an assistant made.
type ChatToolCall struct {
	ID       string       `json:"id,omitempty"`
	Type     string       `json:"type"` // "function"
	Function ChatFunction `json:"function"`
}

// ChatFunction names a function and its arguments, a JSON text.
type ChatFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// ChatTool offers a function to the model.
type ChatTool struct {
	Type     string `json:"type"` // "function"
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

// ChatPrompt is a rendered conversation and how the reply to it is constrained and read.
type ChatPrompt struct {
	Prompt           string          `json:"prompt"`
	Grammar          string          `json:"grammar"`
	Lazy             bool            `json:"grammar_lazy"`
	Triggers         json.RawMessage `json:"triggers"`
	GenerationPrompt string          `json:"generation_prompt"`
	Preserved        json.RawMessage `json:"preserved"`
	Stops            []string        `json:"stops"`
	Format           int             `json:"format"`
	Parser           string          `json:"parser"`
	Thinking         bool            `json:"supports_thinking"`
	ThinkingStart    string          `json:"thinking_start"`
}

// ChatReply is a reply taken apart.
type ChatReply struct {
	Content   string `json:"content"`
	Reasoning string `json:"reasoning"`
	ToolCalls []struct {
		ID        string `json:"id"`
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"tool_calls"`
}

// Device is something that llama.cpp can compute on.
type Device struct {
	Name, Description string
	Kind              string // cpu, gpu, igpu or other
	FreeBytes, Bytes  uint64 // as the device reports them; 0 when unknown
}
