package tools

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

const (
	// maxDecodedBytes bounds what a compressed file may expand to.
	maxDecodedBytes = 2 << 30
	// maxLinePart is the most of a line that is held at once. Longer lines come in parts.
	maxLinePart = 1 << 20
)

// A textFile is an open text file, decoded to UTF-8 and read once from the front in constant memory. Offsets and sizes
// in bytes are those of the decoded text.
type textFile struct {
	target     target
	encoding   string
	compressed bool

	r      *bufio.Reader
	file   *os.File
	number int   // of the current line, from 1
	offset int64 // of the next byte
	inLine bool  // the last part did not end its line
	buf    []byte
	carry  []byte // the beginning of a character that the last part left to the next one
}

// A linePart is a line without its line end, or a part of one that is longer than maxLinePart.
type linePart struct {
	number int   // of the line, from 1
	offset int64 // of the part's first byte
	text   []byte
	first  bool // begins the line
	last   bool // ends the line
}

// openText opens the text file a model named. What is not text is refused with the tool that is for it.
func (w *workspace) openText(ctx context.Context, path string) (*textFile, *Error) {
	t, problem := w.resolveFile(path, "a file", "")
	if problem != nil {
		return nil, problem
	}
	return t.openText(ctx)
}

func (t target) openText(ctx context.Context) (*textFile, *Error) {
	f, err := t.open()
	if err != nil {
		return nil, &Error{Kind: KindFailed, Message: fmt.Sprintf("opening %q: %s", t.show, plainReason(err))}
	}
	text, problem := decodeText(ctx, t, f)
	if problem != nil {
		_ = f.Close() // opened for reading
		return nil, problem
	}
	return text, nil
}

func decodeText(ctx context.Context, t target, f *os.File) (*textFile, *Error) {
	out := &textFile{target: t, file: f}
	buffered := bufio.NewReaderSize(contextReader{ctx, f}, 64<<10)
	head, err := buffered.Peek(sniffBytes)
	kind := sniff(head)
	if kind.name == "gzip" {
		out.compressed = true
		unzipped, zerr := gzip.NewReader(buffered)
		if zerr != nil {
			return nil, damagedGzip(t, zerr)
		}
		bounded := &boundedReader{r: unzipped, left: maxDecodedBytes}
		buffered = bufio.NewReaderSize(contextReader{ctx, bounded}, 64<<10)
		head, err = buffered.Peek(sniffBytes)
		kind = sniff(head)
	}
	if out.compressed && isDamage(err) {
		return nil, damagedGzip(t, err)
	}
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
		return nil, &Error{Kind: KindFailed, Message: fmt.Sprintf("reading %q: %s", t.show, plainReason(err))}
	}
	out.encoding = kind.encoding
	switch kind.name {
	case "text", "empty":
	case "sqlite":
		if !out.compressed {
			return nil, sqliteInsteadOfText(ctx, t)
		}
		fallthrough
	default:
		return nil, binaryInsteadOfText(t, kind, out.compressed)
	}
	out.r = buffered
	switch kind.encoding {
	case "utf-8 with BOM":
		_, err = buffered.Discard(len(bomUTF8))
	case "utf-16le":
		out.r = bufio.NewReaderSize(transform.NewReader(buffered, unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder()), 64<<10)
	case "utf-16be":
		out.r = bufio.NewReaderSize(transform.NewReader(buffered, unicode.UTF16(unicode.BigEndian, unicode.UseBOM).NewDecoder()), 64<<10)
	}
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
		return nil, &Error{Kind: KindFailed, Message: fmt.Sprintf("reading %q: %s", t.show, plainReason(err))}
	}
	return out, nil
}

func binaryInsteadOfText(t target, kind fileKind, compressed bool) *Error {
	what := kind.mime
	if compressed {
		what = "gzip with " + what + " inside"
	}
	return &Error{
		Kind:    KindWrongKind,
		Message: fmt.Sprintf("%q is not text: its type is %s, %s", t.show, what, byteSize(t.info.Size())),
		Fix:     "use get_file_metadata for its size and type; its content cannot be shown",
		Data:    map[string]any{"path": t.show, "mime": kind.mime, "bytes": t.info.Size()},
	}
}

// Close closes the file. Calls after the first do nothing.
func (f *textFile) Close() {
	if f.file != nil {
		_ = f.file.Close() // opened for reading: nothing is lost
		f.file = nil
	}
}

// next returns the next part. Its text is valid until the following call. The error at the end is io.EOF.
func (f *textFile) next() (linePart, error) {
	part := linePart{offset: f.offset - int64(len(f.carry)), first: !f.inLine}
	if part.first {
		f.number++
	}
	part.number = f.number
	f.buf = append(f.buf[:0], f.carry...)
	f.carry = f.carry[:0]
	for {
		chunk, err := f.r.ReadSlice('\n')
		f.offset += int64(len(chunk))
		f.buf = append(f.buf, chunk...)
		switch {
		case err == nil:
			f.inLine, part.last = false, true
			part.text = bytes.TrimSuffix(f.buf[:len(f.buf)-1], []byte{'\r'})
			return part, nil
		case errors.Is(err, bufio.ErrBufferFull):
			if len(f.buf) >= maxLinePart {
				f.inLine = true
				part.text = wholeRunes(f.buf)
				f.carry = append(f.carry, f.buf[len(part.text):]...)
				return part, nil
			}
		case errors.Is(err, io.EOF):
			if len(f.buf) == 0 {
				if part.first {
					f.number--
				}
				return linePart{}, io.EOF
			}
			f.inLine, part.last = false, true
			part.text = f.buf
			return part, nil
		default:
			if part.first {
				f.number--
			}
			return linePart{}, f.failed(err)
		}
	}
}

// skipLines goes to the line after the next n, or to the end of the file when that comes first. The file must stand at the
// beginning of a line.
func (f *textFile) skipLines(n int) error {
	for n > 0 {
		chunk, err := f.r.Peek(f.r.Size())
		if lines := bytes.Count(chunk, []byte{'\n'}); lines < n {
			n -= lines
		} else {
			end := 0
			for ; n > 0; n-- {
				end += bytes.IndexByte(chunk[end:], '\n') + 1
			}
			chunk = chunk[:end]
		}
		if end, err := f.pass(chunk, err); end || err != nil {
			return err
		}
	}
	return nil
}

// finish reads to the end without looking at lines and returns the total lines and bytes of the file. A last line
// without a line end counts.
func (f *textFile) finish() (lines int, size int64, err error) {
	for {
		chunk, err := f.r.Peek(f.r.Size())
		end, err := f.pass(chunk, err)
		if err != nil {
			return 0, 0, err
		}
		if end {
			return f.number, f.offset, nil
		}
	}
}

// pass goes past a chunk that a Peek gave with err, and reports whether the file ends there.
func (f *textFile) pass(chunk []byte, err error) (end bool, _ error) {
	f.advance(chunk)
	if _, derr := f.r.Discard(len(chunk)); derr != nil {
		return false, f.failed(derr)
	}
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
		return false, f.failed(err)
	}
	return errors.Is(err, io.EOF), nil
}

func (f *textFile) failed(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if errors.Is(err, errTooMuchData) {
		return &Error{
			Kind:    KindLimit,
			Message: fmt.Sprintf("%q expands to more than %s", f.target.show, byteSize(maxDecodedBytes)),
			Fix:     "decompress it outside and use a part of it",
		}
	}
	if f.compressed && isDamage(err) {
		return damagedGzip(f.target, err)
	}
	return &Error{Kind: KindFailed, Message: fmt.Sprintf("reading %q: %s", f.target.show, plainReason(err))}
}

// isDamage tells the errors of a gzip file that is not as it was written.
func isDamage(err error) bool {
	_, corrupt := errors.AsType[flate.CorruptInputError](err)
	return corrupt || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum)
}

func damagedGzip(t target, err error) *Error {
	reason := err.Error()
	if errors.Is(err, io.ErrUnexpectedEOF) {
		reason = "it ends in the middle"
	}
	return &Error{Kind: KindFailed, Message: fmt.Sprintf("decompressing %q: %s", t.show, reason), Fix: "the file is damaged; use another"}
}

// wholeRunes returns b without the beginning of a character at its end.
func wholeRunes(b []byte) []byte {
	for i := len(b) - 1; i >= 0 && i >= len(b)-utf8.UTFMax; i-- {
		if utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) {
				return b[:i]
			}
			break
		}
	}
	return b
}

// about describes the file in a few words: encoding and compression where they are not the usual.
func (f *textFile) about() string {
	var notes []string
	if f.compressed {
		notes = append(notes, "decompressed from gzip")
	}
	if f.encoding != "utf-8" {
		notes = append(notes, f.encoding)
	}
	return strings.Join(notes, ", ")
}

var errTooMuchData = errors.New("too much data")

// boundedReader fails with errTooMuchData after left bytes.
type boundedReader struct {
	r    io.Reader
	left int64
}

func (b *boundedReader) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooMuchData
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

// contextReader ends with the context's error.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}

// bytesAt skips to a byte and reads at most limit bytes. Fewer than limit are returned only at the end.
func (f *textFile) bytesAt(offset int64, limit int) ([]byte, error) {
	if err := f.skip(offset); err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(io.LimitReader(f.r, int64(limit)))
	if err != nil {
		return nil, f.failed(err)
	}
	f.advance(raw)
	return raw, nil
}

func (f *textFile) skip(n int64) error {
	for n > 0 {
		chunk, err := f.r.Peek(int(min(n, int64(f.r.Size()))))
		n -= int64(len(chunk))
		if end, err := f.pass(chunk, err); end || err != nil {
			return err
		}
	}
	return nil
}

// advance counts the lines and bytes of a chunk that was read.
func (f *textFile) advance(chunk []byte) {
	if len(chunk) == 0 {
		return
	}
	if !f.inLine {
		f.number++
	}
	f.number += bytes.Count(chunk[:len(chunk)-1], []byte{'\n'})
	f.inLine = chunk[len(chunk)-1] != '\n'
	f.offset += int64(len(chunk))
}
