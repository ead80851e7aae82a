//go:build cgo && !nollama

package llama

/*
#include <stdlib.h>
#include "shim.h"
*/
import "C"

import (
	"fmt"
	"unsafe"
)

// Adapter is a loaded LoRA adapter. Its model owns it.
type Adapter struct{ c *C.la_adapter }

// LoadAdapter reads a LoRA adapter that was made for the model. Load all adapters before the first context is made. The
// file must have passed gguf's CheckAdapter: llama.cpp aborts the process on some damaged ones.
func (m *Model) LoadAdapter(path string) (*Adapter, error) {
	if m.c == nil {
		return nil, ErrClosed
	}
	cpath := C.CString(path)
	defer C.free(unsafe.Pointer(cpath))
	var e errBuf
	a := C.la_adapter_load(m.c, cpath, e.ptr())
	if a == nil {
		return nil, e.err("loading the LoRA adapter " + path)
	}
	return &Adapter{a}, nil
}

// SetAdapters makes the context compute with exactly these adapters, each with its scale. What is in the KV cache already
// was computed without them: clear it, or set them before the first Decode.
func (c *Context) SetAdapters(adapters []*Adapter, scales []float32) error {
	if len(adapters) != len(scales) {
		return fmt.Errorf("llama: %d adapters and %d scales", len(adapters), len(scales))
	}
	list, factors := make([]*C.la_adapter, len(adapters)+1), make([]C.float, len(scales)+1) // never empty: the first has an address
	for i, a := range adapters {
		list[i], factors[i] = a.c, C.float(scales[i])
	}
	var e errBuf
	if C.la_set_adapters(c.c, &list[0], &factors[0], C.int32_t(len(adapters)), e.ptr()) != 0 {
		return e.err("setting the LoRA adapters")
	}
	return nil
}
