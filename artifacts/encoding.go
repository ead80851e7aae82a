package artifacts

import (
	"bytes"
	"unicode/utf8"

	"github.com/llama-agent/llama-agent/internal/hostile"
)

// Encoding says whether content is text that can be shown. It is judged by the content, not by its type.
type Encoding string

// The encodings.
const (
	UTF8   Encoding = "utf-8"
	Mixed  Encoding = "utf-8 with errors" // mostly text; other bytes are shown as \xE9
	UTF16  Encoding = "utf-16"            // begins with a byte order mark
	Binary Encoding = "binary"
)

// Readable reports whether content of this encoding can be shown and searched as text.
func (e Encoding) Readable() bool { return e == UTF8 || e == Mixed }

// mediaType is the type of content whose type is not given.
func (e Encoding) mediaType() string {
	switch e {
	case UTF16:
		return "text/plain; charset=utf-16"
	case Binary:
		return "application/octet-stream"
	}
	return "text/plain"
}

// sniffBytes is how much of a content decides whether it is binary.
const sniffBytes = 4096

// encodingOf classifies content. A stray NUL, escape sequences or Latin-1 letters don't make a text binary; random bytes have a
// tenth of control characters and are mostly not UTF-8, and UTF-16 without a mark is half NULs.
func encodingOf(content []byte) Encoding {
	if bytes.HasPrefix(content, []byte{0xff, 0xfe}) || bytes.HasPrefix(content, []byte{0xfe, 0xff}) {
		return UTF16
	}
	head := content[:min(len(content), sniffBytes)]
	controls, invalid := hostile.OddBytes(head)
	switch {
	case controls*5 > len(head), controls*20 > len(head) && invalid*10 > len(head):
		return Binary
	case utf8.Valid(content):
		return UTF8
	}
	return Mixed
}

// countLines counts line feeds, and a last line that has none.
func countLines(content []byte) int {
	n := bytes.Count(content, []byte{'\n'})
	if len(content) > 0 && content[len(content)-1] != '\n' {
		n++
	}
	return n
}

// charStart returns the beginning of the character that the byte at i is in. Bytes that are not UTF-8 are characters of their own,
// and so is the end of content.
func charStart(content []byte, i int) int {
	for back := 1; back < utf8.UTFMax && back <= i && i < len(content); back++ {
		if c := content[i-back]; utf8.RuneStart(c) {
			if _, size := utf8.DecodeRune(content[i-back:]); size > back {
				return i - back
			}
			break
		}
	}
	return i
}

// charEnd returns the end of the character that begins at i.
func charEnd(content []byte, i int) int {
	_, size := utf8.DecodeRune(content[i:])
	return i + size
}
