package app

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/llama-agent/llama-agent/tools"
)

// Inert returns s as text that a terminal shows and does not obey; see [tools.InertText].
func Inert(s string) string { return tools.InertText(s) }

// InertWriter passes text on to a terminal or a file with control characters made visible, also when a character
// arrives in pieces. It is not safe for concurrent use.
type InertWriter struct {
	w    io.Writer
	held []byte // an unfinished character, or a carriage return whose newline may follow
}

// NewInertWriter returns a writer to w.
func NewInertWriter(w io.Writer) *InertWriter { return &InertWriter{w: w} }

// Write reports all of p as written unless the underlying writer fails.
func (w *InertWriter) Write(p []byte) (int, error) {
	text := append(w.held, p...)
	whole := len(text) - unfinished(text)
	w.held = bytes.Clone(text[whole:])
	if whole == 0 {
		return len(p), nil
	}
	if _, err := io.WriteString(w.w, Inert(string(text[:whole]))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush writes what was held back.
func (w *InertWriter) Flush() error {
	if len(w.held) == 0 {
		return nil
	}
	text := Inert(string(w.held))
	w.held = nil
	_, err := io.WriteString(w.w, text)
	return err
}

// unfinished returns how many bytes at the end of b need what follows to be understood.
func unfinished(b []byte) int {
	if n := len(b); n > 0 && b[n-1] == '\r' {
		return 1
	}
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if tail := b[len(b)-n:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}

// InertJSON returns v as one line of JSON in which everything that could drive a terminal is escaped, so that the
// text is the same to a parser and harmless to a reader.
func InertJSON(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encoding the result: %w", err)
	}
	// The encoder escapes control characters below the space and writes valid UTF-8. What is left can only stand inside
	// strings, where an escape means the same.
	out := make([]byte, 0, buf.Len())
	for _, r := range buf.String() {
		if s := string(r); r >= utf8.RuneSelf && Inert(s) != s || r == 0x7f {
			if r > 0xffff {
				r -= 0x10000
				out = fmt.Appendf(out, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
			} else {
				out = fmt.Appendf(out, `\u%04x`, r)
			}
			continue
		}
		out = utf8.AppendRune(out, r)
	}
	return out, nil
}
