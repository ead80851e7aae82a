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

// Sampler picks tokens from logits and keeps the state of grammar and penalties. It belongs to one generation.
type Sampler struct{ c *C.la_sampler }

// NewSampler builds a sampler; the error names what is wrong with the grammar.
func NewSampler(m *Model, p SamplerParams) (*Sampler, error) {
	if m.c == nil {
		return nil, ErrClosed
	}
	cp := C.la_sampler_params{
		seed: C.uint32_t(p.Seed), temperature: C.float(p.Temperature), top_p: C.float(orOne(p.TopP)), min_p: C.float(p.MinP),
		repeat_penalty: C.float(orOne(p.RepeatPenalty)), top_k: C.int32_t(p.TopK), repeat_last_n: C.int32_t(p.RepeatLastN),
		grammar_type: C.int32_t(p.GrammarKind), grammar_lazy: C.bool(p.Lazy),
	}
	for _, s := range []struct {
		text string
		dst  **C.char
	}{{p.Grammar, &cp.grammar}, {p.Triggers, &cp.triggers}, {p.Preserved, &cp.preserved}, {p.GenerationPrompt, &cp.generation_prompt}} {
		if s.text != "" {
			*s.dst = C.CString(s.text)
			defer C.free(unsafe.Pointer(*s.dst))
		}
	}
	var e errBuf
	c := C.la_sampler_new(m.c, cp, e.ptr())
	if c == nil {
		return nil, e.err("creating a sampler")
	}
	return &Sampler{c: c}, nil
}

func orOne(v float32) float32 {
	if v == 0 {
		return 1
	}
	return v
}

// Close frees the sampler. A second call does nothing.
func (s *Sampler) Close() {
	if s.c != nil {
		C.la_sampler_free(s.c)
		s.c = nil
	}
}

// Sample picks a token from row i of the context's last Decode and accepts it.
func (s *Sampler) Sample(c *Context, i int) (Token, error) {
	if s.c == nil || c.c == nil {
		return -1, ErrClosed
	}
	var e errBuf
	t := C.la_sampler_sample(s.c, c.c, C.int32_t(i), e.ptr())
	if t < 0 {
		return -1, e.err("sampling")
	}
	return Token(t), nil
}

// Accept takes a token into the reply that was not sampled. An error says that the grammar refuses it; the sampler cannot
// be used any more then.
func (s *Sampler) Accept(t Token) error {
	if s.c == nil {
		return ErrClosed
	}
	var e errBuf
	if C.la_sampler_accept(s.c, C.int32_t(t), e.ptr()) != 0 {
		return e.err(fmt.Sprintf("taking token %d into a reply", t))
	}
	return nil
}

// GrammarAccepts reports whether a GBNF grammar takes the whole of text. The error says that it is no grammar.
func GrammarAccepts(m *Model, grammar, text string) (bool, error) {
	if m.c == nil {
		return false, ErrClosed
	}
	g, t := C.CString(grammar), C.CString(text)
	defer C.free(unsafe.Pointer(g))
	defer C.free(unsafe.Pointer(t))
	var e errBuf
	switch C.la_grammar_accepts(m.c, g, t, C.size_t(len(text)), e.ptr()) {
	case 0:
		return false, nil
	case 1:
		return true, nil
	}
	return false, e.err("reading a grammar")
}

// SchemaToGrammar turns a JSON schema into GBNF with llama.cpp's converter. Required properties come first, then optional
// ones, each in the order of the schema's text. The grammar allows compact JSON only. Strings hold at most maxString
// characters, unless minLength demands more or a pattern bounds them itself. Arrays and objects that the schema does not
// bound hold at most maxItems items, others at most 500.
func SchemaToGrammar(schema []byte, maxString, maxItems int) (string, error) {
	if err := checkDepth(schema); err != nil {
		return "", fmt.Errorf("llama: turning a JSON schema into a grammar: %w", err)
	}
	s := C.CString(string(schema))
	defer C.free(unsafe.Pointer(s))
	var e errBuf
	g := C.la_schema_to_grammar(s, C.int32_t(maxString), C.int32_t(maxItems), e.ptr())
	if g == nil {
		return "", e.err("turning a JSON schema into a grammar")
	}
	return take(g), nil
}
