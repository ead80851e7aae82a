//go:build cgo && !nollama

package llama

/*
#include "shim.h"
*/
import "C"

import "sync"

// A handle is what contexts of all purposes have in common.
type handle struct {
	mu sync.Mutex // guards c against Close while Abort runs
	c  *C.la_context
}

// Close frees the context. A second call does nothing.
func (h *handle) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.c != nil {
		C.la_context_free(h.c)
		h.c = nil
	}
}

// BatchSize is the most tokens that are computed at once.
func (h *handle) BatchSize() int { return int(C.la_n_batch(h.c)) }

// Abort makes the running computation, or the next one, return ErrAborted soon. Safe from any goroutine and after Close.
func (h *handle) Abort() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.c != nil {
		C.la_abort(h.c)
	}
}

// ResetAbort takes back an Abort. Safe from any goroutine and after Close.
func (h *handle) ResetAbort() {
	h.mu.Lock()
	defer h.mu.Unlock()
	C.la_abort_reset(h.c)
}
