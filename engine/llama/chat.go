//go:build cgo && !nollama

package llama

/*
#include <stdlib.h>
#include "shim.h"
*/
import "C"

import (
	"encoding/json"
	"fmt"
	"unsafe"
)

// ChatTemplate renders conversations in a model's own format and reads its replies.
type ChatTemplate struct{ c *C.la_chat }

// NewChatTemplate takes the model's template, or override when it is not empty. A model without a template gets ChatML.
func NewChatTemplate(m *Model, override string) (*ChatTemplate, error) {
	if m.c == nil {
		return nil, ErrClosed
	}
	var o *C.char
	if override != "" {
		o = C.CString(override)
		defer C.free(unsafe.Pointer(o))
	}
	var e errBuf
	c := C.la_chat_new(m.c, o, e.ptr())
	if c == nil {
		return nil, e.err("reading the chat template")
	}
	return &ChatTemplate{c: c}, nil
}

// Close frees the template. A second call does nothing.
func (t *ChatTemplate) Close() {
	if t.c != nil {
		C.la_chat_free(t.c)
		t.c = nil
	}
}

// Caps describes the template.
func (t *ChatTemplate) Caps() (ChatCaps, error) {
	var out ChatCaps
	if t.c == nil {
		return out, ErrClosed
	}
	var e errBuf
	return out, decode(C.la_chat_caps(t.c, e.ptr()), &e, "reading the chat template's abilities", &out)
}

// Render applies the template. Templates are programs: one that rejects the conversation gives an error with its text.
func (t *ChatTemplate) Render(r ChatRequest) (ChatPrompt, error) {
	var out ChatPrompt
	if t.c == nil {
		return out, ErrClosed
	}
	if err := r.checkDepth(); err != nil {
		return out, fmt.Errorf("llama: applying the chat template: %w", err)
	}
	in, err := json.Marshal(r)
	if err != nil {
		return out, fmt.Errorf("llama: encoding a conversation: %w", err)
	}
	s := C.CString(string(in))
	defer C.free(unsafe.Pointer(s))
	var e errBuf
	return out, decode(C.la_chat_apply(t.c, s, e.ptr()), &e, "applying the chat template", &out)
}

// ParseReply reads a reply to p. partial allows a text that is still growing; toolCalls false leaves calls in the content.
func ParseReply(p ChatPrompt, text string, partial, toolCalls bool) (ChatReply, error) {
	var out ChatReply
	spec, err := json.Marshal(struct {
		Format           int    `json:"format"`
		Parser           string `json:"parser"`
		GenerationPrompt string `json:"generation_prompt"`
	}{p.Format, p.Parser, p.GenerationPrompt})
	if err != nil {
		return out, fmt.Errorf("llama: encoding a reply's format: %w", err)
	}
	cspec, ctext := C.CString(string(spec)), C.CString(text)
	defer C.free(unsafe.Pointer(cspec))
	defer C.free(unsafe.Pointer(ctext))
	var e errBuf
	return out, decode(C.la_chat_parse(cspec, ctext, C.size_t(len(text)), C.bool(partial), C.bool(toolCalls), e.ptr()), &e, "reading a reply", &out)
}

// decode takes a JSON text of the shim apart, or returns the error that came instead.
func decode(p *C.char, e *errBuf, what string, out any) error {
	if p == nil {
		return e.err(what)
	}
	if err := json.Unmarshal([]byte(take(p)), out); err != nil {
		return fmt.Errorf("llama: %s: %w", what, err)
	}
	return nil
}
