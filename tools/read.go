package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

type readFileArgs struct {
	FilePath    string `json:"file_path" jsonschema:"file to read, relative to the workspace" arg:"minlen=1"`
	StartLine   int    `json:"start_line,omitempty" jsonschema:"first line to read, from 1" arg:"min=0,max=1000000000,default=1"`
	MaxLines    int    `json:"max_lines,omitempty" jsonschema:"most lines to read; all that fit when left out" arg:"min=0,max=1000000000"`
	LineNumbers bool   `json:"line_numbers,omitempty" jsonschema:"put the number before each line" arg:"default=false"`
	Offset      int64  `json:"offset,omitempty" jsonschema:"byte to start at, from 0, instead of lines" arg:"min=0,max=1000000000000,default=0"`
	Length      int    `json:"length,omitempty" jsonschema:"most bytes to read from offset; all that fit when left out" arg:"min=0,max=1000000000"`
}

// inBytes tells that a range of bytes is asked for. An offset of 0 alone is the beginning of the lines, too.
func (a readFileArgs) inBytes() bool { return a.Offset > 0 || a.Length > 0 }

// FileContent is the Data of read_file.
type FileContent struct {
	Path       string `json:"path"`
	Content    string `json:"content"` // valid UTF-8; other bytes as \xE9; in line mode, lines end with LF
	StartLine  int    `json:"start_line,omitempty"`
	EndLine    int    `json:"end_line,omitempty"` // last line in Content, whole or not
	Offset     int64  `json:"offset"`             // of Content's first byte in the decoded text
	NextOffset int64  `json:"next_offset"`        // of the first byte after Content
	TotalLines int    `json:"total_lines"`
	TotalBytes int64  `json:"total_bytes"` // of the decoded text
	Encoding   string `json:"encoding"`
	Compressed bool   `json:"compressed,omitempty"`
	AtEnd      bool   `json:"at_end"`             // Content reaches the end of the file
	CutLine    bool   `json:"cut_line,omitempty"` // Content ends inside EndLine
}

func readFileTool(w *workspace, options FileOptions) Tool {
	return mustFunc(Spec{
		Name:        "read_file",
		Description: "Reads a text file, such as a note, a configuration or a script.",
		Takes:       []Subject{SubjectText, SubjectTable},
		Path:        "file_path",
		ReadOnly:    true,
		Limits: []string{
			fmt.Sprintf("at most %d characters a call", options.MaxReadChars),
			"text only: UTF-8, UTF-16 with a byte order mark, or either compressed with gzip",
		},
	}, func(ctx context.Context, args readFileArgs) (Result, error) {
		args.StartLine = cmp.Or(args.StartLine, 1) // small models fill numbers with 0
		if args.inBytes() && (args.StartLine > 1 || args.MaxLines > 0) {
			return Result{}, &Error{
				Kind:    KindInvalidArguments,
				Message: "read_file: lines and bytes are both given",
				Fix:     "give start_line and max_lines, or offset and length",
			}
		}
		f, problem := w.openText(ctx, args.FilePath)
		if problem != nil {
			return Result{}, problem
		}
		defer f.Close()
		var content FileContent
		var err error
		if args.inBytes() {
			content, err = readBytes(f, args, options.MaxReadChars)
		} else {
			content, err = readLines(f, args, options.MaxReadChars)
		}
		if err != nil {
			return Result{}, toolError("reading "+f.target.show, err)
		}
		return Result{Data: content, Text: contentText(content, f, args)}, nil
	})
}

func newContent(f *textFile) FileContent {
	return FileContent{Path: f.target.show, Encoding: f.encoding, Compressed: f.compressed}
}

// readLines reads whole lines while they fit; of a first line that does not fit, its head.
func readLines(f *textFile, args readFileArgs, maxChars int) (FileContent, error) {
	out := newContent(f)
	out.StartLine = args.StartLine
	var b strings.Builder
	left, full := maxChars, false
	var err error
	for !full {
		var part linePart
		if part, err = f.next(); err != nil {
			break
		}
		if part.number < args.StartLine {
			continue
		}
		if args.MaxLines > 0 && part.number >= args.StartLine+args.MaxLines {
			out.NextOffset, full = part.offset, true
			break
		}
		if out.EndLine == 0 {
			out.Offset = part.offset
		}
		text := validText(string(part.text))
		size := utf8.RuneCountInString(text) + 1
		if size > left {
			full = true
			if out.EndLine != 0 && part.first {
				out.NextOffset = part.offset
				break
			}
			raw := cutChars(string(part.text), left)
			b.WriteString(validText(raw))
			out.EndLine, out.CutLine = part.number, true
			out.NextOffset = part.offset + int64(len(raw))
			break
		}
		left -= size
		b.WriteString(text)
		if part.last {
			b.WriteByte('\n')
		}
		out.EndLine, out.NextOffset = part.number, f.offset
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return out, err
	}
	out.Content = b.String()
	out.TotalLines, out.TotalBytes, err = f.finish()
	if err != nil {
		return out, err
	}
	if out.EndLine == 0 && args.StartLine > max(out.TotalLines, 1) {
		return out, &Error{
			Kind:    KindInvalidArguments,
			Message: fmt.Sprintf("start_line %d is past the end: %q has %s", args.StartLine, out.Path, plural(out.TotalLines, "line")),
			Fix:     fmt.Sprintf("use a start_line from 1 to %d", max(out.TotalLines, 1)),
		}
	}
	out.AtEnd = !full || out.NextOffset == out.TotalBytes
	return out, nil
}

// readBytes reads a range of bytes, moved to character boundaries.
func readBytes(f *textFile, args readFileArgs, maxChars int) (FileContent, error) {
	out := newContent(f)
	out.Offset = args.Offset
	limit := maxChars
	if args.Length > 0 {
		limit = min(limit, args.Length)
	}
	raw, err := f.bytesAt(out.Offset, limit)
	if err != nil {
		return out, err
	}
	skip := 0
	for out.Offset > 0 && skip < min(len(raw), utf8.UTFMax-1) && !utf8.RuneStart(raw[skip]) {
		skip++
	}
	raw = raw[skip:]
	out.Offset += int64(skip)
	if whole := wholeRunes(raw); len(whole) > 0 {
		raw = whole
	}
	out.Content = validText(string(raw))
	out.NextOffset = out.Offset + int64(len(raw))
	out.TotalLines, out.TotalBytes, err = f.finish()
	if err != nil {
		return out, err
	}
	if out.Offset > out.TotalBytes {
		return out, &Error{
			Kind:    KindInvalidArguments,
			Message: fmt.Sprintf("offset %d is past the end: %q has %s", out.Offset, out.Path, plural(out.TotalBytes, "byte")),
			Fix:     fmt.Sprintf("use an offset below %d", max(out.TotalBytes, 1)),
		}
	}
	out.AtEnd = out.NextOffset == out.TotalBytes
	return out, nil
}

// contentText puts the facts before the content, and how to go on after it.
func contentText(c FileContent, f *textFile, args readFileArgs) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: ", oneLine(c.Path))
	switch {
	case c.TotalBytes == 0:
		b.WriteString("empty file")
	case c.StartLine == 0:
		fmt.Fprintf(&b, "bytes %d to %d of %d, %s", c.Offset, c.NextOffset, c.TotalBytes, plural(c.TotalLines, "line"))
	case c.AtEnd && c.StartLine == 1:
		fmt.Fprintf(&b, "%s, %s, complete", plural(c.TotalLines, "line"), plural(c.TotalBytes, "byte"))
	default:
		fmt.Fprintf(&b, "lines %d to %d of %d, %s in all", c.StartLine, c.EndLine, c.TotalLines, plural(c.TotalBytes, "byte"))
	}
	if about := f.about(); about != "" {
		fmt.Fprintf(&b, " (%s)", about)
	}
	b.WriteByte('\n')
	if args.LineNumbers && c.StartLine > 0 {
		number := c.StartLine
		for line := range strings.Lines(c.Content) {
			fmt.Fprintf(&b, "%d: %s", number, line)
			number++
		}
	} else {
		b.WriteString(c.Content)
	}
	if c.AtEnd {
		return strings.TrimSuffix(b.String(), "\n")
	}
	if !strings.HasSuffix(c.Content, "\n") {
		b.WriteByte('\n')
	}
	if c.CutLine || c.StartLine == 0 {
		fmt.Fprintf(&b, "[%s left out; go on with offset=%d]", plural(c.TotalBytes-c.NextOffset, "byte"), c.NextOffset)
	} else {
		fmt.Fprintf(&b, "[%s, %s left out; go on with start_line=%d]", plural(c.TotalLines-c.EndLine, "line"),
			plural(c.TotalBytes-c.NextOffset, "byte"), c.EndLine+1)
	}
	return b.String()
}
