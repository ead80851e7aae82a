//go:build cgo && !nollama

package llama

/*
#include "shim.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"unsafe"
)

// EmbeddingContext computes vectors of texts. One goroutine may use it at a time, except for Abort and ResetAbort. BatchSize is of
// all texts of an Embed together.
type EmbeddingContext struct {
	handle
	size int // floats of a vector
}

// NewEmbeddingContext allocates what computing a batch needs.
func NewEmbeddingContext(m *Model, p EmbeddingParams) (*EmbeddingContext, error) {
	if m.c == nil {
		return nil, ErrClosed
	}
	var e errBuf
	c := C.la_embedding_context_new(m.c, C.la_embedding_params{
		n_batch: C.uint32_t(p.Batch), n_seq_max: C.uint32_t(p.Texts), n_threads: C.int32_t(p.Threads),
		flash_attn: C.int32_t(p.FlashAttention), pooling: C.int32_t(p.Pooling),
	}, e.ptr())
	if c == nil {
		return nil, e.err(fmt.Sprintf("creating an embedding context of %d tokens", p.Batch))
	}
	return &EmbeddingContext{handle: handle{c: c}, size: int(C.la_n_embd_out(m.c))}, nil
}

// Dimensions is the length of a vector.
func (c *EmbeddingContext) Dimensions() int { return c.size }

// Embed computes one pooled vector for each text, which is a list of 1 token or more, at most the model's context. The
// texts know nothing of each other, and nothing of them stays. Errors are those of [Context.Decode]; the context can be
// used after each.
func (c *EmbeddingContext) Embed(texts [][]Token) ([][]float32, error) {
	if c.c == nil {
		return nil, ErrClosed
	}
	var flat []Token
	lengths := make([]int32, len(texts))
	for i, t := range texts {
		flat = append(flat, t...)
		lengths[i] = int32(len(t))
	}
	if len(flat) == 0 {
		return nil, fmt.Errorf("%w: empty", ErrBatch)
	}
	values := make([]float32, len(texts)*c.size)
	if len(values) == 0 {
		return nil, errors.New("llama: the model's vectors have no elements")
	}
	var e errBuf
	rc := int(C.la_embed(c.c, C.int32_t(len(texts)), (*C.int32_t)(unsafe.Pointer(&lengths[0])), (*C.int32_t)(unsafe.Pointer(&flat[0])),
		(*C.float)(unsafe.Pointer(&values[0])), e.ptr()))
	if err := decodeError(rc, &e); err != nil {
		return nil, err
	}
	out := make([][]float32, len(texts))
	for i := range out {
		out[i] = values[i*c.size : (i+1)*c.size : (i+1)*c.size]
	}
	return out, nil
}
