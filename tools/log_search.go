package tools

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/llama-agent/llama-agent/tools/internal/logline"
)

type searchLogArgs struct {
	LogPath    string `json:"log_path" jsonschema:"log file, relative to the workspace; may be compressed with gzip" arg:"minlen=1"`
	Query      string `json:"query,omitempty" jsonschema:"text to find, taken literally; empty: all records" arg:"maxlen=300,core"`
	Level      string `json:"level,omitempty" jsonschema:"only records of this level" arg:"enum=any|fatal|error|warn|info|debug|trace,default=any"`
	Since      string `json:"since,omitempty" jsonschema:"only from this time on, such as 2026-01-05 10:00, 10:00, or 30m before the log's end" arg:"minlen=1,maxlen=60"`
	Until      string `json:"until,omitempty" jsonschema:"only up to this time" arg:"minlen=1,maxlen=60"`
	MaxMatches int    `json:"max_matches,omitempty" jsonschema:"most lines to show; all are counted" arg:"min=0,max=1000,default=20"`
}

// LogSearchResult is the Data of search_log.
type LogSearchResult struct {
	Path  string `json:"path"`
	Query string `json:"query"`
	Level string `json:"level"`           // any, or the level wanted
	Since string `json:"since,omitempty"` // as understood
	Until string `json:"until,omitempty"`
	// Matches are the first ones. When Total is 0, they are those of OtherCase.
	Matches []LogMatch `json:"matches"`
	// Total counts the matching lines, shown or not; without a query, the matching records.
	Total int `json:"total"`
	// OtherCase counts further lines that match when letter case is ignored.
	OtherCase int          `json:"other_case,omitempty"`
	Levels    []LevelCount `json:"levels"` // of the lines in Total or, when that is 0, in OtherCase
	// OtherLevels counts lines that match but for their level.
	OtherLevels []LevelCount `json:"other_levels,omitempty"`
	// Untimed counts lines that match but have no time to compare with Since and Until.
	Untimed       int `json:"untimed,omitempty"`
	LinesSearched int `json:"lines_searched"`
	// Unparsed counts, when there is no query, the lines that could not be read as records.
	Unparsed int `json:"unparsed,omitempty"`
	// Rotated are other parts of the log, in files beside it, which were not read.
	Rotated []string `json:"rotated,omitempty"`
	Closest
	// Frequent are messages of the log, when nothing is found and nothing is near.
	Frequent []LogPattern `json:"frequent,omitempty"`
}

// A LogMatch is one line of a log that matches.
type LogMatch struct {
	Line   int    `json:"line"`
	Offset int64  `json:"offset"`          // of the line's first byte in the decoded text
	Time   string `json:"time,omitempty"`  // of the record, as the log's clock shows it
	Level  string `json:"level,omitempty"` // of the record
	// Text is the line, or the part around the match when it is long. JSON is written as text.
	Text string `json:"text"`
	// RecordLine is where the record begins that the line belongs to, when the line is not its first.
	RecordLine int `json:"record_line,omitempty"`
	// MoreLines counts the lines after it that belong to the record that the line begins.
	MoreLines int `json:"more_lines,omitempty"`
}

func searchLogTool(w *workspace, options LogOptions) Tool {
	return mustFunc(Spec{
		Name:        "search_log",
		Description: "Finds the lines of a log that contain a text, or that have a level, and counts them all.",
		Takes:       []Subject{SubjectLog},
		Path:        "log_path",
		ReadOnly:    true,
		Limits: []string{
			fmt.Sprintf("shows at most %d lines and %d characters; counts all", options.MaxMatches, options.MaxReadChars),
			"letter case counts, unless nothing matches that way",
			"lines of a stack trace have the level and the time of their record",
		},
	}, func(ctx context.Context, args searchLogArgs) (Result, error) {
		f, problem := w.openText(ctx, args.LogPath)
		if problem != nil {
			return Result{}, problem
		}
		defer f.Close()
		filter, notes, err := newLogFilter(ctx, w, f, args, options)
		if err != nil {
			return Result{}, toolError("reading "+f.target.show, err)
		}
		search := func(f *textFile) (*logMatches, error) {
			pass := &logMatches{logFilter: filter}
			if err := f.runPass(pass); err != nil {
				return nil, toolError("searching "+f.target.show, err)
			}
			return pass, nil
		}
		pass, err := search(f)
		if err != nil {
			return Result{}, err
		}
		if literal, note := withoutMasks(args.Query); literal != "" && pass.strict.total == 0 && pass.loose.total == 0 {
			args.Query, notes = literal, append(notes, note)
			filter.query = newFinder(literal)
			again, problem := w.openText(ctx, args.LogPath)
			if problem != nil {
				return Result{}, problem
			}
			defer again.Close()
			if pass, err = search(again); err != nil {
				return Result{}, err
			}
		}
		result := pass.result(f.target.show, args)
		w.explainEmpty(ctx, &result)
		result.Matches = fitMatches(result.Matches, options.MaxReadChars)
		result.Rotated = w.rotated(f.target)
		var b strings.Builder
		writeLogMatches(&b, result)
		for _, note := range notes {
			fmt.Fprintf(&b, "\n[%s]", note)
		}
		rotatedText(&b, result.Rotated)
		return Result{Data: result, Text: b.String()}, nil
	})
}

// newLogFilter understands the arguments, and says in notes how.
func newLogFilter(ctx context.Context, w *workspace, f *textFile, args searchLogArgs, options LogOptions) (filter *logFilter, notes []string, err error) {
	filter = &logFilter{near: f.target.info.ModTime(), limit: min(cmp.Or(args.MaxMatches, 20), options.MaxMatches)}
	filter.level, _ = logline.ParseLevel(args.Level)
	if strings.Contains(args.Query, "\n") {
		return nil, nil, &Error{
			Kind: KindInvalidArguments, Message: "search_log: query has a line break, but lines are searched one by one", Fix: "give a part of one line",
		}
	}
	if args.Query != "" {
		filter.query = newFinder(args.Query)
	}
	if args.Since == "" && args.Until == "" {
		return filter, nil, nil
	}
	last, err := w.lastStamp(ctx, f.target)
	if err != nil {
		return nil, nil, err
	}
	if !last.Known() {
		return nil, nil, &Error{
			Kind:    KindInvalidArguments,
			Message: fmt.Sprintf("search_log: no time could be read in %q, so since and until cannot be used", f.target.show),
			Fix:     "leave since and until out",
		}
	}
	notes = append(notes, "the log ends at "+last.Complete(filter.near).String()+assumed(last))
	last = last.Complete(filter.near)
	for _, bound := range []struct {
		name, text string
		to         **logline.Bound
	}{{"since", args.Since, &filter.since}, {"until", args.Until, &filter.until}} {
		if bound.text == "" {
			continue
		}
		understood, ok := logline.ParseBound(bound.text, bound.name == "until", last)
		if !ok {
			return nil, nil, &Error{
				Kind:    KindInvalidArguments,
				Message: fmt.Sprintf("search_log: %s %q is no time", bound.name, clip(bound.text, 60)),
				Fix:     "use a form such as " + logline.WhenForms,
			}
		}
		*bound.to = &understood
		note := understood.Describe(bound.name, bound.text)
		if understood.Zoned() && !last.Zoned {
			note += "; the log names no zone, so its times were taken as UTC"
		}
		notes = append(notes, note)
	}
	return filter, notes, nil
}

// assumed says what a stamp does not tell.
func assumed(s logline.Stamp) string {
	switch s.Lacks {
	case logline.Year:
		return ", with the year taken from the file's time"
	case logline.Date:
		return ", with the date taken from the file's time"
	}
	return ""
}

// lastStamp returns the last time stamp of a log. It reads the end of the file, or all of it when that is not text as
// it stands.
func (w *workspace) lastStamp(ctx context.Context, t target) (logline.Stamp, error) {
	f, problem := w.openText(ctx, t.given)
	if problem != nil {
		return logline.Stamp{}, problem
	}
	defer f.Close()
	if size := t.info.Size(); !f.compressed && !strings.HasPrefix(f.encoding, "utf-16") && size > logChunkBytes {
		tail := make([]byte, logChunkBytes)
		n, err := f.file.ReadAt(tail, size-logChunkBytes)
		if err != nil && !errors.Is(err, io.EOF) {
			return logline.Stamp{}, f.failed(err)
		}
		_, whole, _ := bytes.Cut(tail[:n], newline)
		var pass lastStampPass
		if pass.take(whole); pass.stamp.Known() {
			return pass.stamp, nil
		}
	}
	var pass lastStampPass
	err := f.runPass(&pass)
	return pass.stamp, err
}

// A lastStampPass keeps the last known stamp of a log.
type lastStampPass struct{ stamp logline.Stamp }

func (p *lastStampPass) fork() logPass { return &lastStampPass{} }

// take looks for the stamp from the end.
func (p *lastStampPass) take(data []byte) {
	for end := len(data); end > 0; {
		at := 1 + bytes.LastIndexByte(data[:end-1], '\n')
		line, _ := nextLine(data[:end], at)
		if l := logline.Parse(line); l.Stamp.Known() {
			p.stamp = l.Stamp
			return
		}
		end = at
	}
}

func (p *lastStampPass) takePart(part []byte, first, _ bool) {
	if l := logline.Parse(part); first && l.Stamp.Known() {
		p.stamp = l.Stamp
	}
}

func (p *lastStampPass) join(fork logPass) {
	f := fork.(*lastStampPass) //nolint:forcetypeassert // a pass joins its own forks
	if f.stamp.Known() {
		p.stamp = f.stamp
	}
	f.stamp = logline.Stamp{}
}

func (s *logMatches) result(path string, args searchLogArgs) LogSearchResult {
	r := LogSearchResult{
		Path: path, Query: args.Query, Level: args.Level, Matches: []LogMatch{}, Total: s.strict.total, OtherCase: s.loose.total,
		Levels: levelCounts(s.strict.levels), OtherLevels: levelCounts(s.strict.other), Untimed: s.strict.untimed,
		LinesSearched: s.lines, Unparsed: s.unparsed,
	}
	if s.since != nil {
		r.Since = s.since.String()
	}
	if s.until != nil {
		r.Until = s.until.String()
	}
	from := &s.strict
	if from.total == 0 && s.loose.total > 0 {
		from = &s.loose
		r.Levels = levelCounts(from.levels)
		r.OtherLevels, r.Untimed = levelCounts(from.other), from.untimed
	}
	r.Matches = append(r.Matches, from.matches...)
	return r
}

// fitMatches returns the first matches whose texts have at most limit characters together, but at least one.
func fitMatches(matches []LogMatch, limit int) []LogMatch {
	for i, m := range matches {
		if limit -= utf8.RuneCountInString(m.Text); limit < 0 && i > 0 {
			return matches[:i]
		}
	}
	return matches
}

func writeLogMatches(b *strings.Builder, r LogSearchResult) {
	total := r.Total
	if r.Total == 0 {
		total = r.OtherCase
	}
	writeLogTotal(b, r)
	fmt.Fprintf(b, " in %s (%s searched)", oneLine(r.Path), plural(r.LinesSearched, "line"))
	switch {
	case total == 0:
		writeNearest(b, r.Closest)
		writeFrequent(b, r.Frequent)
	case len(r.Matches) < total:
		fmt.Fprintf(b, "; the first %d:", len(r.Matches))
	default:
		b.WriteByte(':')
	}
	for _, m := range r.Matches {
		fmt.Fprintf(b, "\n%d: %s", m.Line, m.Text)
		switch {
		case m.MoreLines > 0:
			fmt.Fprintf(b, " (and %s of its record)", plural(m.MoreLines, "more line"))
		case m.RecordLine > 0:
			fmt.Fprintf(b, " (of the record in line %d%s)", m.RecordLine, aboutRecord(m))
		}
	}
	if hidden := total - len(r.Matches); hidden > 0 {
		fmt.Fprintf(b, "\n[%s not shown; raise max_matches, or search for something narrower]", plural(hidden, "line"))
	}
	if r.Level == anyLevel && len(r.Levels) > 1 {
		fmt.Fprintf(b, "\nlevels of the %s: %s", plural(r.Total, "line"), levelText(r.Levels))
	}
	if len(r.OtherLevels) > 0 {
		what := "records have another level"
		if r.Query != "" {
			what = "lines contain it, but have another level"
		}
		fmt.Fprintf(b, "\nother %s: %s", what, levelText(r.OtherLevels))
	}
	if level, ok := logline.ParseLevel(r.Query); ok && total == 0 {
		fmt.Fprintf(b, "\n[to find records by their level, leave query out and give level %q]", level)
	}
	if r.Untimed > 0 {
		fmt.Fprintf(b, "\nleft out without a time that could be read: %s", plural(r.Untimed, "other line"))
	}
	if r.Unparsed > 0 {
		fmt.Fprintf(b, "\n%s could not be read as log records", plural(r.Unparsed, "line"))
	}
}

const anyLevel = "any"

func aboutRecord(m LogMatch) string {
	about := ""
	if m.Time != "" {
		about += ", " + m.Time
	}
	if m.Level != "" {
		about += ", " + m.Level
	}
	return about
}

// writeLogTotal writes what was found: 3 lines of level error contain "disk", from 10:00 on.
func writeLogTotal(b *strings.Builder, r LogSearchResult) {
	of := ""
	if r.Level != anyLevel {
		of = " of level " + r.Level
	}
	switch {
	case r.Query == "":
		fmt.Fprintf(b, "%s%s", plural(r.Total, "record"), of)
	case r.Total == 0 && r.OtherCase == 0:
		if r.AllWords > 0 {
			b.WriteString(r.noMatch(r.Query))
			break
		}
		fmt.Fprintf(b, "0 lines%s contain %q", of, r.Query)
	case r.Total == 0:
		fmt.Fprintf(b, "0 lines%s contain %q exactly; %s when letter case is ignored", of, r.Query, containing(r.OtherCase))
	default:
		fmt.Fprintf(b, "%s%s %s %q", plural(r.Total, "line"), of, searchVerb(r.Total, false), r.Query)
		if r.OtherCase > 0 {
			fmt.Fprintf(b, " (%d more when letter case is ignored)", r.OtherCase)
		}
	}
	switch {
	case r.Since != "" && r.Until != "":
		fmt.Fprintf(b, " from %s to %s", r.Since, r.Until)
	case r.Since != "":
		fmt.Fprintf(b, " from %s on", r.Since)
	case r.Until != "":
		fmt.Fprintf(b, " up to %s", r.Until)
	}
}
