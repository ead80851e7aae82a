//go:build cgo && !nollama

package llama

/*
#cgo CPPFLAGS: -O2
#cgo CXXFLAGS: -std=c++17 -Wno-unused-function
#include <stdlib.h>
#include "shim.h"
*/
import "C"

import (
	"fmt"
	"strings"
	"unsafe"
)

// errBuf receives one line of text from the shim.
type errBuf [C.LA_ERR_LEN]C.char

func (b *errBuf) ptr() *C.char { return &b[0] }

// err wraps the text of the buffer; what is a gerund phrase.
func (b *errBuf) err(what string) error {
	text := strings.ToValidUTF8(C.GoString(&b[0]), "") // it may be cut
	if text == "" {
		text = "unknown error of llama.cpp"
	}
	return fmt.Errorf("llama: %s: %s", what, oneLine(text))
}

// take copies a string that the shim allocated and frees it.
func take(p *C.char) string {
	if p == nil {
		return ""
	}
	defer C.la_free(unsafe.Pointer(p))
	return C.GoString(p)
}
