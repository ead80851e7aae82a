package artifacts

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
)

// DefaultPageBytes bounds a page when its Range does not.
const DefaultPageBytes = 8192

// A Range says which part of a content to read: lines when StartLine or MaxLines is set, else bytes. The zero value is the first
// page.
type Range struct {
	StartLine int   // from 1; 0 with MaxLines set: 1
	MaxLines  int   // 0: all that fit
	Offset    int64 // first byte, from 0
	Length    int64 // most bytes; 0: all that fit
	MaxBytes  int64 // of the page; 0: DefaultPageBytes
}

func (r Range) byLines() bool { return r.StartLine != 0 || r.MaxLines != 0 }

// A Page is a part of a content that begins and ends between characters.
type Page struct {
	Artifact Artifact
	Content  []byte // exactly as stored; belongs to the caller
	// Offset is where Content begins: that of the range, or the beginning of the character that it was in.
	Offset int64
	// Next is the offset of what follows, which a Range accepts.
	Next int64
	// StartLine and EndLine are the lines that the first and the last byte of Content are in, from 1. An empty page has the line
	// at which it stands in both.
	StartLine, EndLine int
	AtEnd              bool // nothing follows
	CutLine            bool // Content ends inside EndLine, so that only Next leads on
}

// Retrieve returns a page of an artifact. Pages that follow each other by Next are the whole content. A page of lines holds whole
// lines; when the first one does not fit, as much of it as does. A page is never longer than its limit, but has at least one
// character. Errors are [*RangeError], [*UnknownError] and [*DamagedError] besides those of the disk.
func (s *Store) Retrieve(ctx context.Context, owner, ref string, r Range) (Page, error) {
	a, content, err := s.load(ctx, owner, ref)
	if err != nil {
		return Page{}, err
	}
	page, problem := pageOf(content, r)
	if problem != nil {
		problem.Artifact = a
		return Page{}, problem
	}
	page.Artifact, page.Content = a, bytes.Clone(page.Content)
	return page, nil
}

// pageOf cuts a page out of content, which it shares.
func pageOf(content []byte, r Range) (Page, *RangeError) {
	r.MaxBytes = cmp.Or(r.MaxBytes, DefaultPageBytes)
	switch {
	case r.StartLine < 0 || r.MaxLines < 0 || r.Offset < 0 || r.Length < 0 || r.MaxBytes < 0:
		return Page{}, &RangeError{Reason: "a negative number is given", Fix: "use numbers from 0"}
	case r.byLines() && (r.Offset != 0 || r.Length != 0):
		return Page{}, &RangeError{Reason: "lines and bytes are both given", Fix: "use start_line and max_lines, or offset and length"}
	case r.byLines():
		return pageOfLines(content, r)
	}
	return pageOfBytes(content, r)
}

func pageOfBytes(content []byte, r Range) (Page, *RangeError) {
	if r.Offset > int64(len(content)) {
		return Page{}, &RangeError{
			Reason: fmt.Sprintf("offset %d is past the end; there are %s", r.Offset, plural(len(content), "byte")),
			Fix:    fmt.Sprintf("use an offset from 0 to %d", max(len(content)-1, 0)),
		}
	}
	from := charStart(content, int(r.Offset))
	limit := r.MaxBytes
	if r.Length > 0 {
		// What was asked for ends there, wherever its first character begins.
		limit = min(limit, min(r.Length, int64(len(content)))+r.Offset-int64(from))
	}
	to := pageEnd(content, from, limit)
	line := 1 + bytes.Count(content[:from], []byte{'\n'})
	return newPage(content, from, to, line), nil
}

// pageEnd returns where a page of at most limit bytes ends.
func pageEnd(content []byte, from int, limit int64) int {
	if int64(len(content)-from) <= limit {
		return len(content)
	}
	to := charStart(content, from+int(limit))
	if to <= from {
		to = charEnd(content, from)
	}
	return to
}

func pageOfLines(content []byte, r Range) (Page, *RangeError) {
	start := max(r.StartLine, 1)
	from, ok := lineStart(content, start)
	if !ok {
		lines := countLines(content)
		return Page{}, &RangeError{
			Reason: fmt.Sprintf("start_line %d is past the end; there are %s", start, plural(lines, "line")),
			Fix:    fmt.Sprintf("use a start_line from 1 to %d", max(lines, 1)),
		}
	}
	to := from
	for n := 0; to < len(content) && (r.MaxLines == 0 || n < r.MaxLines); n++ {
		end := lineEnd(content, to)
		if int64(end-from) > r.MaxBytes {
			if n == 0 {
				to = pageEnd(content, from, r.MaxBytes)
			}
			break
		}
		to = end
	}
	return newPage(content, from, to, start), nil
}

func newPage(content []byte, from, to, line int) Page {
	p := Page{
		Content: content[from:to], Offset: int64(from), Next: int64(to), StartLine: line, EndLine: line, AtEnd: to == len(content),
	}
	if to > from {
		p.EndLine += bytes.Count(content[from:to-1], []byte{'\n'})
		p.CutLine = !p.AtEnd && content[to-1] != '\n'
	}
	return p
}

// lineStart returns where a line begins. Content without a byte has one empty line.
func lineStart(content []byte, line int) (int, bool) {
	at := 0
	for ; line > 1; line-- {
		i := bytes.IndexByte(content[at:], '\n')
		if i < 0 {
			return 0, false
		}
		at += i + 1
	}
	return at, at < len(content) || at == 0
}

// lineEnd returns where the line at from ends, its line feed included.
func lineEnd(content []byte, from int) int {
	if i := bytes.IndexByte(content[from:], '\n'); i >= 0 {
		return from + i + 1
	}
	return len(content)
}
