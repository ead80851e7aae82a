//go:build cgo && !nollama

package llama

/*
#include <stdlib.h>
#include "shim.h"
*/
import "C"

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unsafe"
)

// Model is a loaded model. Its methods are safe for concurrent use until Close.
type Model struct {
	c    *C.la_model
	info ModelInfo
}

// progressInterval is how often a load reports: often enough for a smooth bar.
const progressInterval = 50 * time.Millisecond

// LoadModel reads a GGUF file. It blocks until the file is loaded; a cancelled ctx stops it between two tensors and is
// returned as ctx's error. The file must have passed gguf.Inspect: llama.cpp aborts the process on some damaged headers.
func LoadModel(ctx context.Context, path string, p ModelParams) (*Model, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	load := C.la_load_new()
	if load == nil {
		return nil, errors.New("llama: out of memory")
	}
	defer C.la_load_free(load)

	done := make(chan struct{})
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		tick := time.NewTicker(progressInterval)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-ctx.Done():
				C.la_load_cancel(load)
				<-done
				return
			case <-tick.C:
				if p.Progress != nil {
					p.Progress(float32(C.la_load_progress(load)))
				}
			}
		}
	}()

	cpath := C.CString(path)
	defer C.free(unsafe.Pointer(cpath))
	var e errBuf
	m := C.la_model_load(cpath, C.int32_t(p.GPULayers), C.bool(p.VocabOnly), load, e.ptr())
	close(done)
	<-watched
	if m == nil {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return nil, e.err("loading " + path)
	}
	if p.Progress != nil {
		p.Progress(1)
	}
	i := C.la_model_get_info(m)
	return &Model{c: m, info: ModelInfo{
		ContextTrain: int(i.n_ctx_train), Embedding: int(i.n_embd), Layers: int(i.n_layer), Heads: int(i.n_head),
		HeadsKV: int(i.n_head_kv), SlidingWindow: int(i.n_swa), Vocab: int(i.n_vocab),
		Memory: MemoryKind(i.memory), Bytes: uint64(i.bytes), Parameters: uint64(i.n_params),
		Recurrent: bool(i.recurrent), Hybrid: bool(i.hybrid), Encoder: bool(i.encoder), Decoder: bool(i.decoder),
		Diffusion: bool(i.diffusion), AddBOS: bool(i.add_bos), AddEOS: bool(i.add_eos),
		BOS: Token(i.bos), EOS: Token(i.eos), EOT: Token(i.eot), NL: Token(i.nl),
	}}, nil
}

// Close frees the model. Contexts, samplers and templates of it must be closed before. A second call does nothing.
func (m *Model) Close() {
	if m.c != nil {
		C.la_model_free(m.c)
		m.c = nil
	}
}

// Info describes the model.
func (m *Model) Info() ModelInfo { return m.info }

// Description is llama.cpp's short text about the model, for example "qwen2 1.5B Q4_K - Medium".
func (m *Model) Description() string { return take(C.la_model_desc(m.c)) }

// Meta returns a scalar of the GGUF metadata as text.
func (m *Model) Meta(key string) (string, bool) {
	ckey := C.CString(key)
	defer C.free(unsafe.Pointer(ckey))
	p := C.la_model_meta(m.c, ckey)
	if p == nil {
		return "", false
	}
	return take(p), true
}

// Tokenize turns text into tokens. addSpecial puts BOS and EOS where the model wants them; parseSpecial reads control
// tokens that are spelt out in the text, which must never be done with text from outside.
func (m *Model) Tokenize(text string, addSpecial, parseSpecial bool) ([]Token, error) {
	if m.c == nil {
		return nil, ErrClosed
	}
	if len(text) > 1<<30 {
		return nil, fmt.Errorf("llama: tokenizing %d bytes: at most 1 GiB", len(text))
	}
	if text == "" {
		text = "\x00" // unsafe.StringData of an empty string may be nil
		return m.tokenize(text[:0], unsafe.StringData(text), addSpecial, parseSpecial)
	}
	return m.tokenize(text, unsafe.StringData(text), addSpecial, parseSpecial)
}

func (m *Model) tokenize(text string, data *byte, addSpecial, parseSpecial bool) ([]Token, error) {
	out := make([]Token, len(text)/2+8)
	for {
		n := int(C.la_tokenize(m.c, (*C.char)(unsafe.Pointer(data)), C.int32_t(len(text)), C.bool(addSpecial), C.bool(parseSpecial),
			(*C.int32_t)(unsafe.Pointer(&out[0])), C.int32_t(len(out))))
		if n < 0 {
			return nil, fmt.Errorf("llama: tokenizing %d bytes: refused by the tokenizer", len(text))
		}
		if n <= len(out) {
			return out[:n], nil
		}
		out = make([]Token, n)
	}
}

// AppendPiece appends the bytes of a token, which need not be whole characters. Control tokens give nothing unless
// special is set.
func (m *Model) AppendPiece(dst []byte, t Token, special bool) []byte {
	var buf [64]byte
	n := int(C.la_piece(m.c, C.int32_t(t), C.bool(special), (*C.char)(unsafe.Pointer(&buf[0])), C.int32_t(len(buf))))
	if n >= 0 {
		return append(dst, buf[:n]...)
	}
	big := make([]byte, -n)
	n = int(C.la_piece(m.c, C.int32_t(t), C.bool(special), (*C.char)(unsafe.Pointer(&big[0])), C.int32_t(len(big))))
	return append(dst, big[:max(n, 0)]...)
}

// IsEOG reports whether the token ends a generation.
func (m *Model) IsEOG(t Token) bool { return bool(C.la_is_eog(m.c, C.int32_t(t))) }

// IsControl reports whether the token is a control token, which text from outside must never become.
func (m *Model) IsControl(t Token) bool { return bool(C.la_is_control(m.c, C.int32_t(t))) }
