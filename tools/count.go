package tools

import (
	"context"
	"fmt"
	"strings"
)

// maxCountedFiles is the most files that count_lines reads, and maxCountsShown the most that it lists.
const (
	maxCountedFiles = 20_000
	maxCountsShown  = 100
)

type countLinesArgs struct {
	Path    string `json:"path" jsonschema:"file or folder; . is the whole workspace" arg:"minlen=1"`
	Pattern string `json:"pattern,omitempty" jsonschema:"in a folder, only files whose name matches, such as *.go" arg:"minlen=1,default=*"`
}

// LineCounts is the Data of count_lines.
type LineCounts struct {
	Content string      `json:"content,omitempty"` // all of a single short file
	Path    string      `json:"path"`
	Files   []LineCount `json:"files"` // the first ones
	Total   int         `json:"total"` // lines of all files
	Counted int         `json:"counted"`
	Skipped []string    `json:"skipped,omitempty"` // files that are not text, with the reason
	Omitted int         `json:"omitted,omitempty"` // files over the limit
}

// A LineCount is the number of lines of a text file. A last line without a line end counts.
type LineCount struct {
	Path  string `json:"path"`
	Lines int    `json:"lines"`
}

func countLinesTool(w *workspace) Tool {
	return mustFunc(Spec{
		Name:        "count_lines",
		Description: "Counts the lines of a text file, or of each text file in a folder, with the total.",
		Takes:       []Subject{SubjectText, SubjectFolder},
		Path:        "path",
		ReadOnly:    true,
		Limits: []string{
			fmt.Sprintf("at most %d files; hidden and ignored ones only when nothing else matches", maxCountedFiles),
			"a last line without a line end counts",
		},
	}, func(ctx context.Context, args countLinesArgs) (Result, error) {
		files, single, problem := w.countTargets(ctx, args)
		if problem != nil {
			return Result{}, problem
		}
		counts := LineCounts{Path: args.Path, Files: []LineCount{}, Omitted: files.total - len(files.paths)}
		for _, path := range files.paths {
			lines, err := w.countFile(ctx, path)
			if ctx.Err() != nil {
				return Result{}, ctx.Err()
			}
			if err != nil {
				if single {
					return Result{}, toolError("counting lines of "+path, err)
				}
				counts.Skipped = append(counts.Skipped, err.Error())
				continue
			}
			counts.Counted++
			counts.Total += lines
			if len(counts.Files) < maxCountsShown {
				counts.Files = append(counts.Files, LineCount{path, lines})
			}
		}
		if single && len(files.paths) == 1 {
			counts.Content = w.shortContent(ctx, files.paths[0])
		}
		return Result{Data: counts, Text: countsText(counts, single, files.onlyIgnored) + allOfIt(counts.Content)}, nil
	})
}

// countTargets returns the files to count. The pattern applies below a folder; a path may also be a glob itself.
func (w *workspace) countTargets(ctx context.Context, args countLinesArgs) (globFiles, bool, *Error) {
	t, problem := w.resolve(args.Path)
	if problem != nil || !t.info.IsDir() || args.Pattern == "*" || args.Pattern == "**" {
		return w.searchTargets(ctx, args.Path)
	}
	pattern := strings.TrimPrefix(args.Pattern, "./")
	if !strings.Contains(pattern, "/") {
		pattern = "**/" + pattern
	}
	files, _, problem := w.searchTargets(ctx, joinShown(escapeGlob(t.show), pattern))
	return files, false, problem
}

func (w *workspace) countFile(ctx context.Context, path string) (int, error) {
	f, problem := w.openText(ctx, path)
	if problem != nil {
		return 0, problem
	}
	defer f.Close()
	lines, _, err := f.finish()
	return lines, err
}

func countsText(c LineCounts, single, onlyIgnored bool) string {
	var b strings.Builder
	if single && len(c.Files) == 1 {
		return fmt.Sprintf("%s: %s", oneLine(c.Files[0].Path), plural(c.Files[0].Lines, "line"))
	}
	fmt.Fprintf(&b, "total: %s in %s", plural(c.Total, "line"), plural(c.Counted, "text file"))
	if onlyIgnored {
		b.WriteString(" (all hidden or ignored)")
	}
	for _, f := range c.Files {
		fmt.Fprintf(&b, "\n%s: %d", oneLine(f.Path), f.Lines)
	}
	if more := c.Counted - len(c.Files); more > 0 {
		fmt.Fprintf(&b, "\n[%s more in the total, not listed]", plural(more, "file"))
	}
	if len(c.Skipped) > 0 {
		fmt.Fprintf(&b, "\n[%s not counted, because not text or not readable]", plural(len(c.Skipped), "file"))
	}
	if c.Omitted > 0 {
		fmt.Fprintf(&b, "\n[%s not read: at most %d at once; give a narrower pattern]", plural(c.Omitted, "file"), maxCountedFiles)
	}
	return b.String()
}
