package gguf

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
)

// Limits on what a header may claim. llama.cpp's own (ggml/src/gguf.cpp) are higher where nothing else is said; a file
// beyond these is damaged or hostile, as no real model comes near them.
const (
	maxKeys        = 4096    // llama.cpp compares each key with all others
	maxKeyBytes    = 1 << 10 // the format allows 65,535
	maxTensors     = 1 << 16 // llama.cpp compares each tensor name with all others
	maxTensorName  = 63      // GGML_MAX_NAME is 64, with the final zero
	maxDims        = 4       // GGML_MAX_DIMS
	maxStringBytes = 1 << 30 // GGUF_MAX_STRING_LENGTH
	maxArrayItems  = 1 << 30 // GGUF_MAX_ARRAY_ELEMENTS
	maxTexts       = 1 << 22 // strings of an array; merges of a tokenizer are about as many as its tokens
	maxTokens      = 1 << 20 // vocabulary entries
	maxTokenBytes  = 1 << 16 // of one entry
	maxKeptText    = 1 << 20 // bytes of a chat template
	maxKeptItems   = 512     // elements of a kept array: LLAMA_MAX_LAYERS
	maxHeaderBytes = 1 << 28 // all of the header; 40 MB are much
	minAlignment   = 32      // TENSOR_ALIGNMENT of ggml-impl.h
	maxAlignment   = 1 << 20 // usual are 32 to 4,096
	maxShortText   = 256     // bytes of every other text that is kept
)

// reader reads little-endian values and knows how many bytes are left, so that no claimed length is believed.
// After the first error it returns zero values; look at err once after a group of reads.
type reader struct {
	src  io.ReadSeeker
	buf  *bufio.Reader
	off  int64 // position in the file
	size int64 // bytes of the file
	word [8]byte
	err  error
}

func newReader(src io.ReadSeeker, size int64) *reader {
	return &reader{src: src, buf: bufio.NewReaderSize(src, 1<<18), size: size}
}

// fail keeps the first error.
func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *reader) damaged(format string, args ...any) {
	r.fail(damaged(format, args...))
}

// take reports whether n more bytes can be read, and records the error when they cannot.
func (r *reader) take(n uint64) bool {
	switch {
	case r.err != nil:
		return false
	case n > uint64(r.size-r.off):
		r.fail(&FileError{
			Reason: fmt.Sprintf("it is truncated: it ends at byte %d, inside its header, which goes on to byte %s or further", r.size, addText(r.off, n)),
			Fix:    "download it again; the download did not finish",
		})
		return false
	case r.off+int64(n) > maxHeaderBytes:
		r.damaged("its header is larger than %d bytes", int64(maxHeaderBytes))
		return false
	}
	return true
}

// addText adds without overflow; lengths here were checked against the limits above.
func addText(off int64, n uint64) string {
	return fmt.Sprint(uint64(off) + n)
}

// read fills p.
func (r *reader) read(p []byte) bool {
	if !r.take(uint64(len(p))) {
		return false
	}
	n, err := io.ReadFull(r.buf, p)
	r.off += int64(n)
	if err != nil {
		r.fail(fmt.Errorf("reading the header: %w", err))
		return false
	}
	return true
}

// skip passes over n bytes, by seeking when they are many.
func (r *reader) skip(n uint64) {
	if !r.take(n) {
		return
	}
	if n <= uint64(r.buf.Size()) {
		d, err := r.buf.Discard(int(n))
		r.off += int64(d)
		if err != nil {
			r.fail(fmt.Errorf("reading the header: %w", err))
		}
		return
	}
	r.off += int64(n)
	if _, err := r.src.Seek(r.off, io.SeekStart); err != nil {
		r.fail(fmt.Errorf("reading the header: %w", err))
		return
	}
	r.buf.Reset(r.src)
}

func (r *reader) u32() uint32 {
	p := r.word[:4]
	if !r.read(p) {
		return 0
	}
	return binary.LittleEndian.Uint32(p)
}

func (r *reader) u64() uint64 {
	p := r.word[:]
	if !r.read(p) {
		return 0
	}
	return binary.LittleEndian.Uint64(p)
}

// text reads a string of at most limit bytes; what names it in the error.
func (r *reader) text(limit uint64, what string) string {
	n := r.stringLength(what)
	if r.err == nil && n > limit {
		r.damaged("%s has %d bytes, more than %d", what, n, limit)
	}
	if !r.take(n) {
		return ""
	}
	p := make([]byte, n)
	if !r.read(p) {
		return ""
	}
	return string(p)
}

// skipText passes over a string of any legal length.
func (r *reader) skipText(what string) {
	r.skip(r.stringLength(what))
}

func (r *reader) stringLength(what string) uint64 {
	n := r.u64()
	if n > maxStringBytes {
		r.damaged("%s claims a length of %d bytes", what, n)
		return 0
	}
	return n
}
