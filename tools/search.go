package tools

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/llama-agent/llama-agent/internal/excerpt"
)

const (
	// maxSearchFiles bounds how many files a pattern may search.
	maxSearchFiles = 20_000
	// maxShownLine is the most of a line that a search shows, in bytes; of a longer one, the part around the match.
	maxShownLine = 400
	// seamBytes of a long line's part are searched again with the next part, so that matches across are found.
	seamBytes = 4 << 10
)

type searchFileArgs struct {
	FilePath   string `json:"file_path" jsonschema:"file, folder, or glob such as logs/*.log" arg:"minlen=1"`
	Query      string `json:"query" jsonschema:"text to find, taken literally" arg:"minlen=1,maxlen=300"`
	Regex      bool   `json:"regex,omitempty" jsonschema:"query is a regular expression (RE2)" arg:"default=false"`
	IgnoreCase bool   `json:"ignore_case,omitempty" jsonschema:"letter case does not matter" arg:"default=false"`
	MaxMatches int    `json:"max_matches,omitempty" jsonschema:"most lines to show; all are counted" arg:"min=0,max=1000,default=10"`
	Context    int    `json:"context,omitempty" jsonschema:"lines to show before and after each" arg:"min=0,max=20,default=0"`
}

// SearchResult is the Data of search_file.
type SearchResult struct {
	Query   string        `json:"query"`
	Matches []SearchMatch `json:"matches"`
	Total   int           `json:"total"` // matching lines, shown or not
	// OtherCase counts further lines that match when case is ignored. When Total is 0, the matches shown are these.
	OtherCase     int              `json:"other_case,omitempty"`
	Files         []FileMatchCount `json:"files"` // the files that match
	FilesSearched int              `json:"files_searched"`
	LinesSearched int              `json:"lines_searched"`
	Skipped       []string         `json:"skipped,omitempty"` // files that could not be searched, with the reason
	Closest                        // lines of a single file; it is near, too, where Content is all of a file without a match
	// Content is all of a single short file that has no match, or few: whoever searched it for the wrong words, or found a heading, sees
	// what there is.
	Content string `json:"content,omitempty"`
}

// A SearchMatch is one line that matches.
type SearchMatch struct {
	Path   string   `json:"path"`
	Line   int      `json:"line"`
	Offset int64    `json:"offset"` // of the line's first byte in the decoded text
	Text   string   `json:"text"`   // the line, or the part around the match when it is long
	Before []string `json:"before,omitempty"`
	After  []string `json:"after,omitempty"`
}

// A FileMatchCount counts the matching lines of a file.
type FileMatchCount struct {
	Path  string `json:"path"`
	Total int    `json:"total"`
}

// searchFileTool matches letter case exactly, because counts of "ERROR" must not include "error"; when nothing matches
// that way but something does otherwise, it shows that and says so.
func searchFileTool(w *workspace, options FileOptions) Tool {
	return mustFunc(Spec{
		Name:        "search_file",
		Description: "Finds the lines of text files that contain a text, and counts them all.",
		Takes:       []Subject{SubjectText, SubjectTable, SubjectFolder},
		Path:        "file_path",
		ReadOnly:    true,
		Limits: []string{
			fmt.Sprintf("shows at most %d lines; counts all", options.MaxMatches),
			"letter case counts, unless nothing matches that way",
			fmt.Sprintf("at most %d files; binary files are skipped and named", maxSearchFiles),
		},
	}, func(ctx context.Context, args searchFileArgs) (Result, error) {
		args.MaxMatches = min(cmp.Or(args.MaxMatches, 10), options.MaxMatches) // small models fill numbers with 0
		find, problem := newMatcher(args)
		if problem != nil {
			return Result{}, problem
		}
		files, single, problem := w.searchTargets(ctx, args.FilePath)
		if problem != nil {
			return Result{}, problem
		}
		s := &search{args: args, matcher: find, exact: SearchResult{Query: args.Query, Matches: []SearchMatch{}, Files: []FileMatchCount{}}}
		for _, path := range files.paths {
			f, problem := w.openText(ctx, path)
			if problem != nil && single {
				return Result{}, problem
			}
			if err := ctx.Err(); err != nil {
				return Result{}, err
			}
			if problem != nil {
				s.exact.Skipped = append(s.exact.Skipped, path+": "+problem.Message)
				continue
			}
			err := s.file(f)
			f.Close()
			if err != nil && (single || ctx.Err() != nil) {
				return Result{}, toolError("searching "+path, err)
			}
			if err != nil {
				s.exact.Skipped = append(s.exact.Skipped, fmt.Sprintf("the rest of %s after line %d: %v", path, f.number, err))
			}
		}
		result := s.result()
		if single && result.Total == 0 && result.OtherCase == 0 {
			if problem := searchForItsName(files.paths[0], args.Query, "read_file"); problem != nil {
				return Result{}, problem
			}
			if result.Content = w.shortContent(ctx, files.paths[0]); result.Content != "" {
				result.Near = true
			} else if !args.Regex {
				result.Closest = w.nearestIn(ctx, files.paths[0], args.Query)
			}
		} else if single && result.Total+result.OtherCase <= fewMatches && result.LinesSearched > result.Total+result.OtherCase {
			result.Content = w.shortContent(ctx, files.paths[0])
		}
		return Result{Data: result, Text: searchText(result, args, files)}, nil
	})
}

// nearestIn looks into the beginning of a file for lines near a query. It is a help only, so that an error gives none.
func (w *workspace) nearestIn(ctx context.Context, path, query string) Closest {
	f, problem := w.openText(ctx, path)
	if problem != nil {
		return Closest{}
	}
	defer f.Close()
	text, err := f.bytesAt(0, excerpt.MaxText)
	if err != nil && len(text) == 0 {
		return Closest{}
	}
	return closest(f.target.show, text, query)
}

const (
	// shortFileBytes is how long a file may be that is shown whole when a search finds little in it, and fewMatches how much that is.
	shortFileBytes = 2048
	fewMatches     = 2
)

// shortContent is the text of a short file, or "". It is a help only, so that an error gives none.
func (w *workspace) shortContent(ctx context.Context, path string) string {
	f, problem := w.openText(ctx, path)
	if problem != nil {
		return ""
	}
	defer f.Close()
	text, err := f.bytesAt(0, shortFileBytes+1)
	if err != nil && !errors.Is(err, io.EOF) || len(text) > shortFileBytes {
		return ""
	}
	return strings.ToValidUTF8(string(text), "\uFFFD")
}

// allOfIt shows a short file below what a tool was asked to tell of it: a small model asks for the lines or the size of a file when it wants
// to know what stands in it.
func allOfIt(content string) string {
	if content == "" {
		return ""
	}
	return "\nThe file is short; this is all of it:\n" + strings.TrimRight(content, "\n")
}

// searchTargets returns the files that a path, folder or glob names, and whether it names one file exactly.
func (w *workspace) searchTargets(ctx context.Context, path string) (files globFiles, single bool, problem *Error) {
	t, problem := w.resolve(path)
	if problem == nil && !t.info.IsDir() {
		return globFiles{paths: []string{path}, total: 1}, true, nil
	}
	if problem != nil && (problem.Kind != KindNotFound || !isGlob(path)) {
		return files, false, problem
	}
	glob, problem := w.glob(path)
	if problem != nil {
		return files, false, problem
	}
	files, err := glob.files(ctx, w, maxSearchFiles)
	if err != nil {
		return files, false, &Error{Kind: KindFailed, Message: "listing files: " + err.Error()}
	}
	if files.total == 0 {
		return files, false, &Error{
			Kind:    KindNotFound,
			Message: fmt.Sprintf("no files match %q", path),
			Fix:     "use list_files to see what there is",
		}
	}
	return files, false, nil
}

func isGlob(path string) bool {
	_, pattern := doublestar.SplitPattern(path)
	return strings.ContainsAny(pattern, "*?[{")
}

// A matcher finds a query in a line: the functions return where, or nil.
type matcher struct {
	exact func(line []byte) []int
	// loose ignores case. It is nil for expressions, which can say (?i), and where it would find the same.
	loose func(line []byte) []int
}

func newMatcher(args searchFileArgs) (matcher, *Error) {
	if args.Regex {
		source := args.Query
		if args.IgnoreCase {
			source = "(?i)" + source
		}
		expression, err := regexp.Compile(source)
		if err != nil {
			return matcher{}, &Error{
				Kind:    KindInvalidArguments,
				Message: fmt.Sprintf("query is not a regular expression: %v", err),
				Fix:     "use RE2 syntax, or leave regex out to find the text as it is",
			}
		}
		return matcher{exact: expression.FindIndex}, nil
	}
	if strings.Contains(args.Query, "\n") {
		return matcher{}, &Error{
			Kind: KindInvalidArguments, Message: "search_file: query has a line break, but lines are searched one by one", Fix: "give a part of one line",
		}
	}
	folded := newFinder(args.Query)
	loose := func(line []byte) []int {
		if start, end := folded.find(line, 0); start >= 0 {
			return []int{start, end}
		}
		return nil
	}
	if args.IgnoreCase {
		return matcher{exact: loose}, nil
	}
	query := []byte(args.Query)
	m := matcher{loose: loose, exact: func(line []byte) []int {
		if i := bytes.Index(line, query); i >= 0 {
			return []int{i, i + len(query)}
		}
		return nil
	}}
	if !folded.cased {
		m.loose = nil
	}
	return m, nil
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// A search collects the matches of all files. It runs in one goroutine.
type search struct {
	args    searchFileArgs
	matcher matcher
	exact   SearchResult
	loose   collected
	strict  collected

	before  []string // the last lines of the current file, at most args.Context
	path    string
	inFile  int // exact matches in the current file
	looseIn int
	seam    []byte
}

// collected are matches of one way of comparing.
type collected struct {
	matches []SearchMatch
	total   int
	open    int // of the last matches, how many still take lines after them
	files   []FileMatchCount
}

// file searches a file. What was found before an error counts.
func (s *search) file(f *textFile) error {
	s.path, s.before, s.inFile, s.looseIn = f.target.show, nil, 0, 0
	var state lineState
	var err error
	for {
		var part linePart
		if part, err = f.next(); err != nil {
			break
		}
		s.part(part, &state)
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	s.exact.FilesSearched++
	s.exact.LinesSearched += f.number
	if s.inFile > 0 {
		s.strict.files = append(s.strict.files, FileMatchCount{s.path, s.inFile})
	}
	if s.looseIn > 0 {
		s.loose.files = append(s.loose.files, FileMatchCount{s.path, s.looseIn})
	}
	s.strict.open, s.loose.open = 0, 0
	return err
}

// lineState is what is known of a line whose parts are coming in.
type lineState struct {
	offset  int64
	matched bool
	loose   bool
	shown   string // excerpt of the match, or the line's beginning
}

// part searches a line, or a part of a long one together with the end of the part before.
func (s *search) part(part linePart, state *lineState) {
	text := part.text
	if part.first {
		*state = lineState{offset: part.offset}
		s.seam = s.seam[:0]
	} else {
		text = append(s.seam, text...)
	}
	if !state.matched {
		if at := s.matcher.exact(text); at != nil {
			state.matched, state.loose = true, false
			state.shown = lineExcerpt(text, at)
		} else if s.matcher.loose != nil && !state.loose {
			if at := s.matcher.loose(text); at != nil {
				state.loose, state.shown = true, lineExcerpt(text, at)
			}
		}
	}
	if !part.last {
		if state.shown == "" {
			state.shown = lineExcerpt(text, []int{0, 0})
		}
		s.seam = append(make([]byte, 0, seamBytes), text[max(0, len(text)-seamBytes):]...)
		return
	}
	s.line(part.number, *state, text)
}

func (s *search) line(number int, state lineState, text []byte) {
	needText := s.args.Context > 0
	shown := state.shown
	if shown == "" && needText {
		shown = lineExcerpt(text, []int{0, 0})
	}
	if needText {
		s.strict.addAfter(shown, s.args.Context)
		s.loose.addAfter(shown, s.args.Context)
	}
	match := SearchMatch{Path: s.path, Line: number, Offset: state.offset, Text: shown}
	switch {
	case state.matched:
		s.inFile++
		s.strict.add(match, s.before, s.args.MaxMatches)
	case state.loose:
		s.looseIn++
		s.loose.add(match, s.before, s.args.MaxMatches)
	}
	if needText {
		s.before = append(s.before, shown)
		s.before = s.before[max(0, len(s.before)-s.args.Context):]
	}
}

func (c *collected) add(match SearchMatch, before []string, limit int) {
	c.total++
	if len(c.matches) < limit {
		match.Before = append([]string(nil), before...)
		c.matches = append(c.matches, match)
		c.open++
	}
}

// addAfter gives a line to the matches that still miss lines after them.
func (c *collected) addAfter(line string, context int) {
	for i := len(c.matches) - c.open; i < len(c.matches); i++ {
		c.matches[i].After = append(c.matches[i].After, line)
		if len(c.matches[i].After) == context {
			c.open--
		}
	}
}

func (s *search) result() SearchResult {
	out := s.exact
	out.Total, out.OtherCase = s.strict.total, s.loose.total
	from := s.strict
	if from.total == 0 {
		from = s.loose
	}
	out.Matches = append(out.Matches, from.matches...)
	out.Files = append(out.Files, from.files...)
	return out
}

// lineExcerpt returns a line, or the part of a long one around a match, between characters.
func lineExcerpt(line []byte, at []int) string {
	if len(line) <= maxShownLine {
		return validText(string(line))
	}
	from := max(0, min(at[0]-maxShownLine/4, len(line)-maxShownLine))
	to := min(len(line), from+maxShownLine)
	for from > 0 && from < to && !utf8.RuneStart(line[from]) {
		from++
	}
	for to < len(line) && to > from && !utf8.RuneStart(line[to]) {
		to--
	}
	text := validText(string(line[from:to]))
	if from > 0 {
		text = "…" + text
	}
	if to < len(line) {
		text += "…"
	}
	return text
}

func searchText(r SearchResult, args searchFileArgs, files globFiles) string {
	var b strings.Builder
	found := r.Total
	switch {
	case r.Content != "" && found+r.OtherCase == 0: // what there is comes first: "0 lines" reads as an answer
		fmt.Fprintf(&b, "%s is short, and no line of it contains %q as it is written; this is all of it:\n%s",
			oneLine(files.paths[0]), args.Query, strings.TrimRight(r.Content, "\n"))
		return b.String()
	case r.Total == 0 && r.OtherCase == 0:
		b.WriteString(r.noMatch(args.Query))
	case r.Total == 0:
		found = r.OtherCase
		fmt.Fprintf(&b, "0 lines contain %q exactly; %s when letter case is ignored", args.Query, containing(r.OtherCase))
	default:
		fmt.Fprintf(&b, "%s %s %q", plural(r.Total, "line"), searchVerb(r.Total, args.Regex), args.Query)
		if r.OtherCase > 0 {
			fmt.Fprintf(&b, " (%d more when letter case is ignored)", r.OtherCase)
		}
	}
	if r.FilesSearched == 1 && len(files.paths) == 1 {
		fmt.Fprintf(&b, " in %s (%s searched)", oneLine(files.paths[0]), plural(r.LinesSearched, "line"))
	} else {
		fmt.Fprintf(&b, " in %s (%s searched)", plural(len(r.Files), "file"), plural(r.FilesSearched, "file"))
	}
	writeNearest(&b, r.Closest)
	if len(r.Matches) < found {
		fmt.Fprintf(&b, "; the first %d:", len(r.Matches))
	} else if found > 0 {
		b.WriteString(":")
	}
	several := len(files.paths) > 1
	for i, m := range r.Matches {
		prefix := ""
		if several {
			prefix = oneLine(m.Path) + ":"
		}
		if args.Context > 0 && i > 0 {
			b.WriteString("\n--")
		}
		writeMatch(&b, m, prefix)
	}
	if len(r.Matches) < found {
		fmt.Fprintf(&b, "\n[%s not shown; raise max_matches, or search for something narrower]", plural(found-len(r.Matches), "line"))
	}
	writeFileCounts(&b, r, files)
	if r.Content != "" {
		b.WriteString(allOfIt(r.Content))
	}
	return b.String()
}

func searchVerb(n int, regex bool) string {
	switch {
	case regex && n == 1:
		return "matches"
	case regex:
		return "match"
	case n == 1:
		return "contains"
	}
	return "contain"
}

func containing(n int) string {
	if n == 1 {
		return "1 line does"
	}
	return fmt.Sprintf("%d lines do", n)
}

func writeMatch(b *strings.Builder, m SearchMatch, prefix string) {
	if prefix == "" {
		prefix = "line " // a small model takes a number without a name for a value
	}
	for i, line := range m.Before {
		fmt.Fprintf(b, "\n%s%d- %s", prefix, m.Line-len(m.Before)+i, line)
	}
	fmt.Fprintf(b, "\n%s%d: %s", prefix, m.Line, m.Text)
	for i, line := range m.After {
		fmt.Fprintf(b, "\n%s%d- %s", prefix, m.Line+1+i, line)
	}
}

// writeFileCounts ends a search of several files with the count of each, and what was not searched.
func writeFileCounts(b *strings.Builder, r SearchResult, files globFiles) {
	const maxFiles, maxSkipped = 20, 5
	if len(r.Files) > 1 {
		b.WriteString("\nby file:")
		for _, f := range r.Files[:min(maxFiles, len(r.Files))] {
			fmt.Fprintf(b, "\n%s: %d", oneLine(f.Path), f.Total)
		}
		if more := len(r.Files) - maxFiles; more > 0 {
			fmt.Fprintf(b, "\n[%s more]", plural(more, "file"))
		}
	}
	for _, why := range r.Skipped[:min(maxSkipped, len(r.Skipped))] {
		fmt.Fprintf(b, "\nskipped %s", oneLine(why))
	}
	if more := len(r.Skipped) - maxSkipped; more > 0 {
		fmt.Fprintf(b, "\n[%s more skipped]", plural(more, "file"))
	}
	if more := files.total - len(files.paths); more > 0 {
		fmt.Fprintf(b, "\n[%s not searched: at most %d at once; give a narrower pattern]", plural(more, "file"), maxSearchFiles)
	}
	if files.onlyIgnored {
		b.WriteString("\n[only hidden or ignored files match the pattern; these were searched]")
	}
}
