package tools

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/llama-agent/llama-agent/tools/internal/logline"
)

type aggregateArgs struct {
	LogPath string `json:"log_path" jsonschema:"log file, relative to the workspace; may be compressed with gzip" arg:"minlen=1"`
}

// LogSummary is the Data of aggregate_log_errors. Lines is the sum of Records, Continued, Blank and Unparsed.
type LogSummary struct {
	Path      string `json:"path"`
	Lines     int    `json:"lines"`
	Records   int    `json:"records"`   // lines with a time stamp or a level where logs have them
	Continued int    `json:"continued"` // lines that belong to the record before, such as stack traces
	Blank     int    `json:"blank"`
	Unparsed  int    `json:"unparsed"` // all other lines
	// FirstUnparsed is the number of the first line counted in Unparsed.
	FirstUnparsed int          `json:"first_unparsed,omitempty"`
	FirstTime     string       `json:"first_time,omitempty"` // of the first and last record that have one, as the log's clock shows it
	LastTime      string       `json:"last_time,omitempty"`
	Levels        []LevelCount `json:"levels"` // of all records, the worst first
	// StatusLevels tells that there are levels that were taken from HTTP statuses: 5xx error, 4xx warn, others info.
	StatusLevels bool         `json:"status_levels,omitempty"`
	Patterns     []LogPattern `json:"patterns"` // fatal and error first, then warn, then without a level; the most frequent first
	// MorePatterns are not in Patterns, and MorePatternLines is how many records have them.
	MorePatterns     int `json:"more_patterns,omitempty"`
	MorePatternLines int `json:"more_pattern_lines,omitempty"`
	// Ungrouped counts records whose messages are too many and too rare to be told apart. Counts of patterns are then the
	// least there are.
	Ungrouped int       `json:"ungrouped,omitempty"`
	Codes     LogValues `json:"codes"` // of fields named code
	Nodes     LogValues `json:"nodes"` // of fields named node
	// Names are names with numbers in the messages of errors, such as hosts and error codes, that occur more than once and are no value of
	// the fields above.
	Names LogValues `json:"names"`
	// Rotated are other parts of the log, in files beside it, which were not read.
	Rotated []string `json:"rotated,omitempty"`
}

// A LogPattern is a message with its variable parts masked.
type LogPattern struct {
	Level     string `json:"level"`
	Pattern   string `json:"pattern"`
	Count     int    `json:"count"`
	FirstLine int    `json:"first_line"`
	LastLine  int    `json:"last_line"`
	Example   string `json:"example"` // the first message
	Same      bool   `json:"same"`    // all messages are Example
	// Names are the most frequent names with numbers in the messages of an error, and hosts, when there are several of a kind.
	Names []LogValue `json:"names,omitempty"`
}

// LogValues are the values of a field, those of most errors first.
type LogValues struct {
	Values []LogValue `json:"values"`
	// More values are not listed, and occur MoreCount times.
	More      int `json:"more,omitempty"`
	MoreCount int `json:"more_count,omitempty"`
}

// A LogValue is one value of a field.
type LogValue struct {
	Value     string `json:"value"`
	Count     int    `json:"count"`
	Errors    int    `json:"errors"` // how many of Count are in records of level error or fatal
	FirstLine int    `json:"first_line"`
	LastLine  int    `json:"last_line"`
}

func aggregateTool(w *workspace, options LogOptions) Tool {
	return mustFunc(Spec{
		Name:        "aggregate_log_errors",
		Description: "Sums up a log: lines of each level, the most frequent errors with their lines, and the values of code= and node=.",
		Takes:       []Subject{SubjectLog},
		Path:        "log_path",
		ReadOnly:    true,
		Limits: []string{
			fmt.Sprintf("lists at most %d messages and values of a field; counts all", options.MaxMatches),
			"knows plain text, JSON, logfmt, syslog, klog and web server logs; lines it cannot read are counted apart",
		},
	}, func(ctx context.Context, args aggregateArgs) (Result, error) {
		f, problem := w.openText(ctx, args.LogPath)
		if problem != nil {
			return Result{}, problem
		}
		defer f.Close()
		tally := newTally()
		if err := f.runPass(tally); err != nil {
			return Result{}, toolError("reading "+f.target.show, err)
		}
		summary := summarize(f, tally, options.MaxMatches)
		if summary.Records == 0 && summary.Lines > 0 {
			return Result{}, noRecords(summary)
		}
		summary.Rotated = w.rotated(f.target)
		return Result{Data: summary, Text: summaryText(summary)}, nil
	})
}

// noRecords refuses a file that is no log, rather than to report that it has no errors.
func noRecords(s LogSummary) *Error {
	return &Error{
		Kind:    KindWrongKind,
		Message: fmt.Sprintf("0 of the %s of %q could be read as log records: none has a time stamp or a level", plural(s.Lines, "line"), s.Path),
		Fix:     "use read_file or search_file for it",
		Instead: "read_file",
		Data:    s,
	}
}

func summarize(f *textFile, t *logTally, limit int) LogSummary {
	s := LogSummary{
		Path: f.target.show, Lines: t.lines, Records: t.records, Continued: t.continued, Blank: t.blank, Unparsed: t.unparsed,
		FirstUnparsed: t.firstUnparsed, Levels: levelCounts(t.levels), StatusLevels: t.fromStatus, Patterns: []LogPattern{},
		Ungrouped: t.patterns.lost, Codes: fieldValues(&t.fields[logline.Code], limit), Nodes: fieldValues(&t.fields[logline.Node], limit),
	}
	s.Names = namesInErrors(&t.names, limit, s.Codes, s.Nodes)
	if t.first.End > 0 {
		near := f.target.info.ModTime()
		s.FirstTime, s.LastTime = t.first.Complete(near).String(), t.last.Complete(near).String()
	}
	byGroup, named := map[int][]LogPattern{}, t.namesByPattern()
	for _, key := range t.patterns.sorted() {
		found := t.patterns.byKey[key]
		level := logline.Level(key[0])
		pattern := LogPattern{
			Level: level.String(), Pattern: validText(key[1:]), Count: found.total, FirstLine: found.first, LastLine: found.last,
			Example: validText(found.example), Same: found.same,
		}
		if group := patternGroup(level); group == groupErrors && len(byGroup[group]) < limit {
			names := named[key]
			if !found.same {
				pattern.Pattern = withConstants(pattern.Pattern, names, found.total)
			}
			pattern.Names = telling(names, found.total)
		}
		byGroup[patternGroup(level)] = append(byGroup[patternGroup(level)], pattern)
	}
	for group := range patternGroups {
		for _, pattern := range byGroup[group] {
			if len(s.Patterns) < limit {
				s.Patterns = append(s.Patterns, pattern)
				continue
			}
			s.MorePatterns++
			s.MorePatternLines += pattern.Count
		}
	}
	return s
}

// The groups of patterns, in the order in which they are listed.
const (
	groupErrors = iota
	groupWarnings
	groupUnknown
	patternGroups
)

func patternGroup(level logline.Level) int {
	switch level {
	case logline.Fatal, logline.Error:
		return groupErrors
	case logline.Warn:
		return groupWarnings
	}
	return groupUnknown
}

func fieldValues(c *tallies, limit int) LogValues {
	out := LogValues{Values: []LogValue{}, MoreCount: c.lost}
	for _, key := range c.sorted() {
		found := c.byKey[key]
		if len(out.Values) == limit {
			out.More++
			out.MoreCount += found.total
			continue
		}
		out.Values = append(out.Values, LogValue{
			Value: validText(key), Count: found.total, Errors: found.bad, FirstLine: found.first, LastLine: found.last,
		})
	}
	return out
}

func summaryText(s LogSummary) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, %s", oneLine(s.Path), plural(s.Lines, "line"), plural(s.Records, "record"))
	if s.FirstTime != "" {
		fmt.Fprintf(&b, ", from %s to %s", s.FirstTime, s.LastTime)
	}
	if s.Lines == 0 {
		b.WriteString(" (empty file)")
		return b.String()
	}
	fmt.Fprintf(&b, "\nlevels: %s", levelText(s.Levels))
	if s.StatusLevels {
		b.WriteString(" (of requests by HTTP status: 5xx error, 4xx warn)")
	}
	if s.Continued > 0 {
		fmt.Fprintf(&b, "\n%s to the record before, such as stack traces", belong(s.Continued))
	}
	if s.Unparsed > 0 {
		fmt.Fprintf(&b, "\n%s could not be read as log records; the first is line %d", plural(s.Unparsed, "line"), s.FirstUnparsed)
	}
	writePatterns(&b, s)
	writeValues(&b, "code", s.Codes)
	writeValues(&b, "node", s.Nodes)
	writeNamesInErrors(&b, s)
	rotatedText(&b, s.Rotated)
	return b.String()
}

func belong(lines int) string {
	if lines == 1 {
		return "1 line belongs"
	}
	return fmt.Sprintf("%d lines belong", lines)
}

// writePatterns lists the most frequent messages: of errors, of warnings, and of records without a level when there are
// neither.
func writePatterns(b *strings.Builder, s LogSummary) {
	titles := [patternGroups]string{"errors", "warnings", "messages without a level"}
	most := [patternGroups]int{10, 5, 10}
	byGroup := [patternGroups][]LogPattern{}
	for _, p := range s.Patterns {
		level, _ := logline.ParseLevel(p.Level)
		byGroup[patternGroup(level)] = append(byGroup[patternGroup(level)], p)
	}
	if len(byGroup[groupErrors]) == 0 {
		b.WriteString("\nno errors")
	}
	if len(byGroup[groupErrors])+len(byGroup[groupWarnings]) > 0 {
		byGroup[groupUnknown] = nil
	}
	hidden := 0
	for group, patterns := range byGroup {
		if len(patterns) == 0 {
			continue
		}
		fmt.Fprintf(b, "\n%s, the most frequent message first:", titles[group])
		shown := min(most[group], len(patterns))
		for _, p := range patterns[:shown] {
			writePattern(b, p)
		}
		hidden += len(patterns) - shown
	}
	if hidden += s.MorePatterns; hidden > 0 {
		fmt.Fprintf(b, "\n[%s not shown; find them with search_log and level]", plural(hidden, "other message"))
	}
	if s.Ungrouped > 0 {
		fmt.Fprintf(b, "\n[%s with rare messages were not told apart; counts of messages may be a little too low]", plural(s.Ungrouped, "record"))
	}
}

func writePattern(b *strings.Builder, p LogPattern) {
	text := p.Pattern
	if p.Same {
		text = p.Example
	}
	if text == "" {
		text = "(no message)"
	}
	lines := fmt.Sprintf("line %d", p.FirstLine)
	if p.Count > 1 {
		lines = fmt.Sprintf("lines %d to %d", p.FirstLine, p.LastLine)
	}
	level := ""
	if p.Level != logline.NoLevel.String() {
		level = p.Level + ", "
	}
	fmt.Fprintf(b, "\n%s (%s%s, %s", clip(text, maxPatternBytes), level, times(p.Count), lines)
	for i, name := range p.Names {
		b.WriteString(map[bool]string{true: "; ", false: ", "}[i == 0] + name.Value + " " + times(name.Count))
	}
	b.WriteByte(')')
}

// writeValues lists the values of a field with their counts.
func writeValues(b *strings.Builder, name string, v LogValues) {
	const most = 10
	if len(v.Values) == 0 {
		return
	}
	onlyErrors := true
	for _, value := range v.Values {
		onlyErrors = onlyErrors && value.Errors == value.Count
	}
	fmt.Fprintf(b, "\nvalues of %s:", name)
	hidden, hiddenCount := v.More, v.MoreCount
	for i, value := range v.Values {
		switch {
		case i >= most:
			hidden++
			hiddenCount += value.Count
			continue
		case i > 0:
			b.WriteByte(',')
		}
		if onlyErrors {
			fmt.Fprintf(b, " %s %s", value.Value, times(value.Count))
		} else {
			fmt.Fprintf(b, " %s in %s of %s", value.Value, plural(value.Errors, "error"), plural(value.Count, "record"))
		}
	}
	if onlyErrors {
		b.WriteString(" (all in errors)")
	}
	switch {
	case hidden > 0:
		fmt.Fprintf(b, " [%s, %s, not shown]", plural(hidden, "other value"), times(hiddenCount))
	case hiddenCount > 0:
		fmt.Fprintf(b, " [rare values, %s, were not told apart]", times(hiddenCount))
	}
}

// withConstants puts the names that are in all messages of a pattern, such as an error code, back where they were masked.
func withConstants(pattern string, names []LogValue, messages int) string {
	for _, name := range names {
		if masked := string(logline.Mask(nil, []byte(name.Value))); name.Count == messages && masked != name.Value {
			pattern = strings.Replace(pattern, masked, name.Value, 1)
		}
	}
	return pattern
}

// maxPatternNames bounds how many names are told with a message.
const maxPatternNames = 3

// telling are those of the names in messages of one kind that tell them apart: not what is in each of them, nor what is in one.
func telling(names []LogValue, messages int) []LogValue {
	names = slices.DeleteFunc(names, func(v LogValue) bool { return v.Count == messages || v.Count == 1 })
	if len(names) == 0 {
		return nil
	}
	return names[:min(len(names), maxPatternNames)]
}

// namesInErrors are the names that occur more than once, without those that fields have.
func namesInErrors(c *tallies, limit int, fields ...LogValues) LogValues {
	all := fieldValues(c, len(c.byKey))
	out := LogValues{Values: []LogValue{}, MoreCount: all.MoreCount}
	for _, value := range all.Values {
		known := slices.ContainsFunc(fields, func(f LogValues) bool {
			return slices.ContainsFunc(f.Values, func(v LogValue) bool { return v.Value == value.Value })
		})
		switch {
		case known || value.Count == 1:
		case len(out.Values) == limit:
			out.More++
			out.MoreCount += value.Count
		default:
			out.Values = append(out.Values, value)
		}
	}
	return out
}

// writeNamesInErrors lists the most frequent of them: a message with its numbers masked does not tell which host, device or code it is
// about. Those of one message that is shown whole are left out.
func writeNamesInErrors(b *strings.Builder, s LogSummary) {
	const most = 8
	var shown []string
	for _, value := range s.Names.Values {
		whole := slices.ContainsFunc(s.Patterns, func(p LogPattern) bool {
			return p.Same && p.Count == value.Count && strings.Contains(p.Example, value.Value)
		})
		if !whole && len(shown) < most {
			shown = append(shown, value.Value+" "+times(value.Count))
		}
	}
	if len(shown) > 0 {
		b.WriteString("\nnames in the errors: " + strings.Join(shown, ", "))
	}
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
