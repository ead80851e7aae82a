package tools

import (
	"bytes"

	"github.com/gabriel-vasile/mimetype"

	"github.com/llama-agent/llama-agent/internal/hostile"
)

// sniffBytes is how much of a file decides its kind.
const sniffBytes = 4096

// A fileKind says what the first bytes of a file show.
type fileKind struct {
	name     string // "text", "empty", "sqlite", "gzip", or "binary"
	mime     string
	encoding string // of text: "utf-8", "utf-8 with BOM", "utf-16le", "utf-16be", "unknown 8-bit"
}

var (
	sqliteMagic = []byte("SQLite format 3\x00")
	gzipMagic   = []byte{0x1f, 0x8b}
	bomUTF8     = []byte{0xef, 0xbb, 0xbf}
	bomUTF16LE  = []byte{0xff, 0xfe}
	bomUTF16BE  = []byte{0xfe, 0xff}
	bomUTF32LE  = []byte{0xff, 0xfe, 0, 0}
	bomUTF32BE  = []byte{0, 0, 0xfe, 0xff}
)

// sniff classifies the head of a file. Magic numbers count only for heads that are not plainly text, because some are
// as short as "BM".
func sniff(head []byte) fileKind {
	switch {
	case len(head) == 0:
		return fileKind{name: "empty", mime: "text/plain", encoding: "utf-8"}
	case bytes.HasPrefix(head, sqliteMagic):
		return fileKind{name: "sqlite", mime: "application/vnd.sqlite3"}
	case bytes.HasPrefix(head, gzipMagic):
		return fileKind{name: "gzip", mime: "application/gzip"}
	case bytes.HasPrefix(head, bomUTF32LE), bytes.HasPrefix(head, bomUTF32BE):
		return fileKind{name: "binary", mime: "text/plain; charset=utf-32"}
	case bytes.HasPrefix(head, bomUTF8):
		return fileKind{name: "text", mime: "text/plain", encoding: "utf-8 with BOM"}
	case bytes.HasPrefix(head, bomUTF16LE):
		return fileKind{name: "text", mime: "text/plain", encoding: "utf-16le"}
	case bytes.HasPrefix(head, bomUTF16BE):
		return fileKind{name: "text", mime: "text/plain", encoding: "utf-16be"}
	}
	controls, invalid := hostile.OddBytes(head)
	detected := mimetype.Detect(head)
	if controls == 0 && invalid == 0 && !detected.Is("application/pdf") {
		return fileKind{name: "text", mime: "text/plain", encoding: "utf-8"}
	}
	for m := detected; m != nil; m = m.Parent() {
		if m.Is("text/plain") {
			return textKind(invalid)
		}
	}
	known := !detected.Is("application/octet-stream")
	// A stray NUL, escape sequences, or Latin-1 letters do not make a log binary. Random bytes have a tenth of control
	// characters and are mostly not UTF-8; UTF-16 without a mark is half NULs.
	if known || controls*5 > len(head) || controls*20 > len(head) && invalid*10 > len(head) {
		return fileKind{name: "binary", mime: detected.String()}
	}
	return textKind(invalid)
}

func textKind(invalid int) fileKind {
	if invalid > 0 {
		return fileKind{name: "text", mime: "text/plain", encoding: "utf-8 with errors"}
	}
	return fileKind{name: "text", mime: "text/plain", encoding: "utf-8"}
}
