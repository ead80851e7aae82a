package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxWindowLineBytes is the most of a line that a window shows.
const maxWindowLineBytes = 2000

type logWindowArgs struct {
	LogPath    string `json:"log_path" jsonschema:"log file, relative to the workspace; may be compressed with gzip" arg:"minlen=1"`
	LineNumber int    `json:"line_number" jsonschema:"the line to show, from 1" arg:"min=1,max=1000000000000"`
	Before     int    `json:"before,omitempty" jsonschema:"lines to show before it; 0: 2" arg:"min=0,max=10000,default=2"`
	After      int    `json:"after,omitempty" jsonschema:"lines to show after it; 0: 2" arg:"min=0,max=10000,default=2"`
}

// LogWindow is the Data of get_log_window.
type LogWindow struct {
	Path       string       `json:"path"`
	LineNumber int          `json:"line_number"` // the line asked for
	Lines      []WindowLine `json:"lines"`
	TotalLines int          `json:"total_lines"`
	Clipped    bool         `json:"clipped,omitempty"` // there are fewer lines than asked for, because of a limit
}

// A WindowLine is one line of a [LogWindow].
type WindowLine struct {
	Line   int    `json:"line"`
	Offset int64  `json:"offset"` // of its first byte in the decoded text
	Text   string `json:"text"`   // the line, or its beginning when it is long
	// LeftOut counts the bytes of the line that are not in Text.
	LeftOut int64 `json:"left_out,omitempty"`
}

func logWindowTool(w *workspace, options LogOptions) Tool {
	return mustFunc(Spec{
		Name:        "get_log_window",
		Description: "Shows a line of a log, by its number, with the lines around it.",
		Takes:       []Subject{SubjectLog},
		Path:        "log_path",
		ReadOnly:    true,
		Limits:      []string{fmt.Sprintf("at most %d lines, and %d bytes of each", options.MaxWindowLines, maxWindowLineBytes)},
	}, func(ctx context.Context, args logWindowArgs) (Result, error) {
		f, problem := w.openText(ctx, args.LogPath)
		if problem != nil {
			return Result{}, problem
		}
		defer f.Close()
		before, after, clipped := clipWindow(cmp.Or(args.Before, 2), cmp.Or(args.After, 2), options.MaxWindowLines-1)
		window := LogWindow{Path: f.target.show, LineNumber: args.LineNumber, Lines: []WindowLine{}, Clipped: clipped}
		err := window.read(f, args.LineNumber-before, args.LineNumber+after, options.MaxReadChars)
		if err == nil {
			window.TotalLines, _, err = f.finish()
		}
		if err != nil {
			return Result{}, toolError("reading "+f.target.show, err)
		}
		if window.TotalLines == 0 {
			return Result{Data: window, Text: oneLine(window.Path) + ": empty file"}, nil
		}
		if args.LineNumber > window.TotalLines {
			return Result{}, &Error{
				Kind:    KindInvalidArguments,
				Message: fmt.Sprintf("line_number %d is past the end: %q has %s", args.LineNumber, window.Path, plural(window.TotalLines, "line")),
				Fix:     fmt.Sprintf("use a line_number from 1 to %d", window.TotalLines),
			}
		}
		return Result{Data: window, Text: windowText(window, options.MaxWindowLines)}, nil
	})
}

// clipWindow returns how many lines before and after the target fit into most lines: half on each side, and what one side
// does not need on the other.
func clipWindow(before, after, most int) (keptBefore, keptAfter int, clipped bool) {
	if before+after <= most {
		return before, after, false
	}
	keptBefore = min(before, max(most/2, most-after))
	return keptBefore, most - keptBefore, true
}

// read collects the lines from first to last, as far as there are any and they fit into limit characters.
func (w *LogWindow) read(f *textFile, first, last, limit int) error {
	if err := f.skipLines(first - 1); err != nil {
		return err
	}
	for {
		part, err := f.next()
		if errors.Is(err, io.EOF) || err == nil && part.number > last {
			return nil
		}
		if err != nil {
			return err
		}
		if !part.first {
			w.Lines[len(w.Lines)-1].LeftOut += int64(len(part.text))
			continue
		}
		text := cutBytes(string(part.text), min(maxWindowLineBytes, max(limit, 0)))
		w.Lines = append(w.Lines, WindowLine{
			Line: part.number, Offset: part.offset, Text: validText(text), LeftOut: int64(len(part.text) - len(text)),
		})
		limit -= len(text)
	}
}

func windowText(w LogWindow, most int) string {
	var b strings.Builder
	first, last := w.Lines[0].Line, w.Lines[len(w.Lines)-1].Line
	fmt.Fprintf(&b, "%s: lines %d to %d of %d; line %d is marked with >", oneLine(w.Path), first, last, w.TotalLines, w.LineNumber)
	for _, line := range w.Lines {
		mark := " "
		if line.Line == w.LineNumber {
			mark = ">"
		}
		fmt.Fprintf(&b, "\n%s %d: %s", mark, line.Line, line.Text)
		if line.LeftOut > 0 {
			fmt.Fprintf(&b, "… [%s of the line left out; read_file with offset=%d shows it]", plural(line.LeftOut, "more byte"), line.Offset)
		}
	}
	if w.Clipped {
		fmt.Fprintf(&b, "\n[fewer lines than asked for: at most %d are shown; ask again with another line_number for more]", most)
	}
	return b.String()
}
