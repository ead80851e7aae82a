package engine

import (
	"errors"
	"fmt"
)

// ErrNoLlama is returned by Open when the program was built without llama.cpp.
var ErrNoLlama = errors.New("engine: this program was built without llama.cpp (cgo is off, or the build tag nollama was given); build it with `make build`")

// ErrClosed is returned by calls of a closed engine, also by those that were under way when it was closed.
var ErrClosed = errors.New("engine: closed")

// ModelFileError says why a model file cannot be used.
type ModelFileError struct{ Path, Reason, Fix string }

func (e *ModelFileError) Error() string { return aboutFile("model file", e.Path, e.Reason, e.Fix) }

// aboutFile says what is wrong with a file, and what to do about it if that is known.
func aboutFile(what, path, reason, fix string) string {
	s := fmt.Sprintf("%s %s: %s", what, path, reason)
	if fix != "" {
		s += "; " + fix
	}
	return s
}

// ContextError says that a prompt does not fit. All counts are tokens.
type ContextError struct {
	PromptTokens int // of the prompt as rendered
	ContextSize  int // cells of the KV cache
}

func (e *ContextError) Error() string {
	return fmt.Sprintf("engine: the prompt has %d tokens, and the context of %d tokens has no room for it and a reply; shorten the prompt or raise n_ctx",
		e.PromptTokens, e.ContextSize)
}

// SchemaError says which schema cannot be turned into a grammar.
type SchemaError struct {
	Schema string // shortened
	Path   string // JSON pointer of the part that is the cause; empty: the whole
	Err    error
}

func (e *SchemaError) Error() string {
	at := ""
	if e.Path != "" {
		at = "at " + e.Path + ": "
	}
	return fmt.Sprintf("engine: the JSON schema %s cannot constrain a reply: %s%v", e.Schema, at, e.Err)
}

// Unwrap returns the cause.
func (e *SchemaError) Unwrap() error { return e.Err }
