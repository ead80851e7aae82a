//go:build cgo && !nollama

package llama

/*
#include "shim.h"
*/
import "C"

import (
	"fmt"
	"unsafe"
)

// Context holds the KV cache of a model and computes batches. One goroutine may use it at a time, except for Abort.
type Context struct{ handle }

// NewContext allocates the KV cache and the thread pool.
func NewContext(m *Model, p ContextParams) (*Context, error) {
	if m.c == nil {
		return nil, ErrClosed
	}
	var e errBuf
	c := C.la_context_new(m.c, C.la_context_params{
		n_ctx: C.uint32_t(p.Size), n_batch: C.uint32_t(p.Batch), n_ubatch: C.uint32_t(p.MicroBatch),
		n_seq_max: C.uint32_t(p.Sequences), n_threads: C.int32_t(p.Threads), flash_attn: C.int32_t(p.FlashAttention),
		type_k: C.int32_t(p.KVType), type_v: C.int32_t(p.KVType),
	}, e.ptr())
	if c == nil {
		return nil, e.err(fmt.Sprintf("creating a context of %d tokens", p.Size))
	}
	return &Context{handle{c: c}}, nil
}

// SetThreads changes the number of threads that compute batches of one token and larger ones, up to
// ContextParams.Threads.
func (c *Context) SetThreads(single, batch int) {
	C.la_set_threads(c.c, C.int32_t(single), C.int32_t(batch))
}

// Size is the number of KV cells, which llama.cpp may have rounded up.
func (c *Context) Size() int { return int(C.la_n_ctx(c.c)) }

// Decode computes a batch. See the Err values of this package for what the state is after an error.
func (c *Context) Decode(b *Batch) error {
	if c.c == nil {
		return ErrClosed
	}
	if len(b.tokens) == 0 {
		return fmt.Errorf("%w: empty", ErrBatch)
	}
	var e errBuf
	rc := int(C.la_decode(c.c, C.int32_t(len(b.tokens)), (*C.int32_t)(unsafe.Pointer(&b.tokens[0])), (*C.int32_t)(unsafe.Pointer(&b.pos[0])),
		(*C.int32_t)(unsafe.Pointer(&b.seq[0])), (*C.int8_t)(unsafe.Pointer(&b.logits[0])), e.ptr()))
	return decodeError(rc, &e)
}

// decodeError maps the codes of llama_decode and llama_encode.
func decodeError(rc int, e *errBuf) error {
	switch rc {
	case 0:
		return nil
	case 1:
		return ErrNoRoom
	case 2:
		return ErrAborted
	case -1:
		return fmt.Errorf("%w: %s", ErrBatch, oneLine(C.GoString(e.ptr())))
	default:
		return fmt.Errorf("%w: code %d %s", ErrDecode, rc, oneLine(C.GoString(e.ptr())))
	}
}

// Logits copies row i of the last Decode; nil when that row has none. Its length is the vocabulary's size.
func (c *Context) Logits(i, vocab int) []float32 {
	p := C.la_logits(c.c, C.int32_t(i))
	if p == nil {
		return nil
	}
	return append([]float32(nil), unsafe.Slice((*float32)(unsafe.Pointer(p)), vocab)...)
}

// SeqRemove drops positions p0 ≤ p < p1 of a sequence (p1 < 0: to its end). False when the model's memory cannot drop a
// part, see MemoryKind; a whole sequence can always be dropped.
func (c *Context) SeqRemove(seq, p0, p1 int) bool {
	return bool(C.la_seq_rm(c.c, C.int32_t(seq), C.int32_t(p0), C.int32_t(p1)))
}

// SeqCopy makes positions p0 ≤ p < p1 of src part of dst too. Only metadata is copied. False when the model's memory cannot
// share a part. A part of a MemoryMixed comes with the running state of all of src: RestoreTail is what copies those.
func (c *Context) SeqCopy(src, dst, p0, p1 int) bool {
	return bool(C.la_seq_cp(c.c, C.int32_t(src), C.int32_t(dst), C.int32_t(p0), C.int32_t(p1)))
}

// SeqPosMin is the smallest position that a sequence holds, -1 when it is empty.
func (c *Context) SeqPosMin(seq int) int { return int(C.la_seq_pos_min(c.c, C.int32_t(seq))) }

// SeqPosMax is the largest position that a sequence holds, -1 when it is empty.
func (c *Context) SeqPosMax(seq int) int { return int(C.la_seq_pos_max(c.c, C.int32_t(seq))) }

// CanShift reports whether positions can be moved.
func (c *Context) CanShift() bool { return bool(C.la_can_shift(c.c)) }

// Clear empties every sequence.
func (c *Context) Clear() { C.la_memory_clear(c.c) }

// SeqState copies the KV state of a sequence out of the context.
func (c *Context) SeqState(seq int) ([]byte, error) {
	n := C.la_state_seq_size(c.c, C.int32_t(seq))
	if n == 0 {
		return nil, fmt.Errorf("llama: saving sequence %d: no state", seq)
	}
	out := make([]byte, n)
	got := C.la_state_seq_get(c.c, C.int32_t(seq), (*C.uint8_t)(unsafe.Pointer(&out[0])), n)
	if got == 0 || got > n {
		return nil, fmt.Errorf("llama: saving sequence %d: refused", seq)
	}
	return out[:got], nil
}

// SetSeqState replaces a sequence by a state that SeqState gave for the same model and cache type. llama.cpp accepts
// flipped bytes and allocates what a damaged count says: verify the bytes before.
func (c *Context) SetSeqState(seq int, state []byte) error {
	if len(state) == 0 {
		return fmt.Errorf("llama: restoring sequence %d: empty state", seq)
	}
	var e errBuf
	if C.la_state_seq_set(c.c, C.int32_t(seq), (*C.uint8_t)(unsafe.Pointer(&state[0])), C.size_t(len(state)), e.ptr()) == 0 {
		return e.err(fmt.Sprintf("restoring sequence %d", seq))
	}
	return nil
}

// SaveTail copies the running state at the end of a sequence out of the context: of a MemoryState or MemoryMixed, see there.
func (c *Context) SaveTail(seq int) ([]byte, error) {
	var e errBuf
	var n C.size_t
	p := C.la_tail_get(c.c, C.int32_t(seq), &n, e.ptr())
	if p == nil {
		return nil, e.err(fmt.Sprintf("saving the running state of sequence %d", seq))
	}
	defer C.la_free(unsafe.Pointer(p))
	return append([]byte(nil), unsafe.Slice((*byte)(unsafe.Pointer(p)), n)...), nil
}

// RestoreTail makes dst hold the first end positions of src, with a state that SaveTail gave when a sequence with the same
// tokens ended there. src may be dst; a MemoryState needs none (-1). After an error dst is empty.
func (c *Context) RestoreTail(src, dst, end int, state []byte) error {
	what := fmt.Sprintf("going back to position %d in sequence %d", end, dst)
	if len(state) == 0 {
		return fmt.Errorf("llama: %s: empty state", what)
	}
	var e errBuf
	if C.la_tail_set(c.c, C.int32_t(src), C.int32_t(dst), C.int32_t(end), (*C.uint8_t)(unsafe.Pointer(&state[0])), C.size_t(len(state)), e.ptr()) != 0 {
		return e.err(what)
	}
	return nil
}

// SaveRange copies the KV state of positions p0 ≤ p < p1 of a sequence out of the context; the sequence must hold them all.
// Memories with a running state need that at p1, as SaveTail gave it; the others get nil.
func (c *Context) SaveRange(seq, p0, p1 int, tail []byte) ([]byte, error) {
	var e errBuf
	var n C.size_t
	p := C.la_range_get(c.c, C.int32_t(seq), C.int32_t(p0), C.int32_t(p1), (*C.uint8_t)(unsafe.Pointer(unsafe.SliceData(tail))), C.size_t(len(tail)), &n, e.ptr())
	if p == nil {
		return nil, e.err(fmt.Sprintf("saving positions %d to %d of sequence %d", p0, p1, seq))
	}
	defer C.la_free(unsafe.Pointer(p))
	return append([]byte(nil), unsafe.Slice((*byte)(unsafe.Pointer(p)), n)...), nil
}

// RestoreRange appends positions p0 ≤ p < p1 to a sequence that ends at p0. The state is one that SaveRange gave for these
// positions, with the same model and the same kind of cache: llama.cpp does not notice flipped bytes, so verify them
// before. After an error the sequence is as it was; ErrNoRoom says that the KV cache has too few free cells. A MemoryState is
// replaced, whatever the sequence held.
func (c *Context) RestoreRange(seq, p0, p1 int, state []byte) error {
	what := fmt.Sprintf("restoring positions %d to %d of sequence %d", p0, p1, seq)
	if len(state) == 0 {
		return fmt.Errorf("llama: %s: empty state", what)
	}
	var e errBuf
	switch C.la_range_set(c.c, C.int32_t(seq), C.int32_t(p0), C.int32_t(p1), (*C.uint8_t)(unsafe.Pointer(&state[0])), C.size_t(len(state)), e.ptr()) {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("%w: %s", ErrNoRoom, what)
	default:
		return e.err(what)
	}
}
