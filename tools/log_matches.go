package tools

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"github.com/llama-agent/llama-agent/tools/internal/logline"
)

// A logFilter says which lines search_log wants. It does not change.
type logFilter struct {
	query        *finder       // nil: every record
	level        logline.Level // NoLevel: any
	since, until *logline.Bound
	near         time.Time // completes stamps without a year or a date
	limit        int       // how many matches are kept
}

// A logMatches is the pass of search_log. With a query, it looks for that first, and for the record that a line belongs
// to only where it was found.
type logMatches struct {
	*logFilter
	lines    int   // taken so far
	offset   int64 // of the next byte, in the decoded text
	unparsed int   // when there is no query: lines that are no records and belong to none
	strict   hits  // lines that contain the query as it is, or all records when there is none
	loose    hits  // lines that contain it when letter case is ignored, and not as it is

	record openRecord
	line   logline.Line
	long   longLine
	seam   []byte
}

// hits are lines that were found.
type hits struct {
	total   int
	levels  [logline.Levels]int // of total
	other   [logline.Levels]int // found, but of another level than wanted
	untimed int                 // found, but without a time to compare
	matches []LogMatch
	// grows is the number of the match, from 1, whose record may go on in the lines to come; 0 when there is none.
	grows int
}

// An openRecord is the record that the next lines may belong to.
type openRecord struct {
	flow  logline.Flow
	line  int // where it began; 0 when there is none
	level logline.Level
	stamp logline.Stamp
}

// next takes a line in order and tells its role.
func (r *openRecord) next(line []byte, l *logline.Line, number int) logline.Role {
	l.Parse(line)
	role := r.flow.Next(line, l)
	if role == logline.Record {
		r.line, r.level, r.stamp = number, l.Level, l.Stamp
	}
	return role
}

func (s *logMatches) fork() logPass { return &logMatches{logFilter: s.logFilter} }

func (s *logMatches) take(data []byte) {
	s.grow(&s.strict, data)
	s.grow(&s.loose, data)
	if s.query == nil {
		s.takeRecords(data)
	} else {
		s.takeMatches(data)
	}
	s.offset += int64(len(data))
}

// takeRecords looks at every line.
func (s *logMatches) takeRecords(data []byte) {
	for at := 0; at < len(data); {
		line, next := nextLine(data, at)
		s.lines++
		switch role := s.record.next(line, &s.line, s.lines); role {
		case logline.Record:
			s.found(&s.strict, role, data, at, next, [2]int{})
		case logline.Unparsed:
			s.unparsed++
		}
		at = next
	}
}

// takeMatches looks for the query in all lines at once. What role a line has depends only on the lines since the last one
// that starts a record, so these alone are read where the query is found.
func (s *logMatches) takeMatches(data []byte) {
	known := 0   // the record is known of the lines before here
	counted := 0 // the lines before here are in s.lines
	for at := 0; at < len(data); {
		start, end := s.query.find(data, at)
		if start < 0 {
			break
		}
		lineAt := at + bytes.LastIndexByte(data[at:start], '\n') + 1
		line, next := nextLine(data, lineAt)
		s.lines += bytes.Count(data[counted:lineAt], newline) + 1
		role := s.catchUp(data, known, lineAt, s.lines)
		known, counted, at = next, next, next
		h := &s.loose
		if !s.query.cased || bytes.Contains(line, s.query.text) {
			h = &s.strict
		}
		s.found(h, role, data, lineAt, next, [2]int{start - lineAt, end - lineAt})
	}
	s.lines += countLines(data[counted:])
	if known < len(data) {
		lastAt := 1 + bytes.LastIndexByte(data[:len(data)-1], '\n')
		s.catchUp(data, known, max(known, lastAt), s.lines)
	}
}

var newline = []byte{'\n'}

// countLines counts lines, of which the last may lack its line end.
func countLines(data []byte) int {
	n := bytes.Count(data, newline)
	if len(data) > 0 && data[len(data)-1] != '\n' {
		n++
	}
	return n
}

// catchUp brings the record up to the line at a position, and returns that line's role. The record is known of the lines
// before known.
func (s *logMatches) catchUp(data []byte, known, at, number int) logline.Role {
	from, fromNumber := at, number
	for {
		line, _ := nextLine(data, from)
		if s.line.Parse(line); s.line.Starts() || from <= known {
			break
		}
		from = 1 + bytes.LastIndexByte(data[:from-1], '\n')
		fromNumber--
	}
	var role logline.Role
	for ; fromNumber <= number; fromNumber++ {
		line, next := nextLine(data, from)
		role = s.record.next(line, &s.line, fromNumber)
		from = next
	}
	return role
}

// found decides on a line that contains the query, between data[at:next].
func (s *logMatches) found(h *hits, role logline.Role, data []byte, at, next int, where [2]int) {
	if !s.wanted(h, role) {
		return
	}
	if len(h.matches) == s.limit {
		return
	}
	line, _ := nextLine(data[:next], at)
	s.keep(h, role, s.offset+int64(at), shownLogLine(line, where))
	if role == logline.Record {
		h.grows = len(h.matches)
		s.grow(h, data[next:])
	}
}

// wanted counts a line that contains the query where it belongs, and tells whether it is among the wanted ones.
func (s *logMatches) wanted(h *hits, role logline.Role) bool {
	level, stamp := logline.NoLevel, logline.Stamp{}
	if role == logline.Record || role == logline.Continues {
		level, stamp = s.record.level, s.record.stamp
	}
	if s.since != nil || s.until != nil {
		if !stamp.Known() {
			h.untimed++
			return false
		}
		stamp = stamp.Complete(s.near)
		if s.since != nil && !s.since.Allows(stamp) || s.until != nil && !s.until.Allows(stamp) {
			return false
		}
	}
	if s.level != logline.NoLevel && level != s.level {
		h.other[level]++
		return false
	}
	h.total++
	h.levels[level]++
	return true
}

// keep keeps a match.
func (s *logMatches) keep(h *hits, role logline.Role, offset int64, text string) {
	m := LogMatch{Line: s.lines, Offset: offset, Text: text}
	if role == logline.Record || role == logline.Continues {
		if s.record.level != logline.NoLevel {
			m.Level = s.record.level.String()
		}
		if s.record.stamp.Known() {
			m.Time = s.record.stamp.Complete(s.near).String()
		}
	}
	if role == logline.Continues {
		m.RecordLine = s.record.line
	}
	h.matches = append(h.matches, m)
}

// grow counts the lines at the beginning of data that belong to the match that grows.
func (s *logMatches) grow(h *hits, data []byte) {
	if h.grows == 0 {
		return
	}
	flow := s.record.flow // after the line before data
	for at := 0; at < len(data); {
		line, next := nextLine(data, at)
		l := logline.Parse(line)
		switch flow.Next(line, &l) {
		case logline.Continues:
			h.matches[h.grows-1].MoreLines++
		case logline.Record:
			h.grows = 0
			return
		}
		at = next
	}
}

func (s *logMatches) join(fork logPass) {
	f := fork.(*logMatches) //nolint:forcetypeassert // a pass joins its own forks
	if f.lines > 0 {
		s.unparsed += f.unparsed
		s.strict.join(&f.strict, s)
		s.loose.join(&f.loose, s)
		s.record = f.record
		if s.record.line > 0 {
			s.record.line += s.lines
		}
		s.lines += f.lines
		s.offset += f.offset
	}
	*f = logMatches{logFilter: f.logFilter}
}

// join adds the hits of lines that begin behind those that s took. They begin with a record.
func (h *hits) join(more *hits, s *logMatches) {
	h.total += more.total
	h.untimed += more.untimed
	for i := range h.levels {
		h.levels[i] += more.levels[i]
		h.other[i] += more.other[i]
	}
	kept := min(len(more.matches), s.limit-len(h.matches))
	h.grows = 0
	if more.grows > 0 && more.grows <= kept {
		h.grows = len(h.matches) + more.grows
	}
	for _, m := range more.matches[:kept] {
		m.Line += s.lines
		m.Offset += s.offset
		if m.RecordLine > 0 {
			m.RecordLine += s.lines
		}
		h.matches = append(h.matches, m)
	}
}

// A longLine is what is known of a line whose parts are coming in.
type longLine struct {
	role   logline.Role
	offset int64
	h      *hits
	text   string // excerpt of the match, or the line's beginning
}

// takePart takes a part of a long line, and searches it together with the end of the part before.
func (s *logMatches) takePart(part []byte, first, last bool) {
	text := part
	if first {
		s.lines++
		s.grow(&s.strict, part)
		s.grow(&s.loose, part)
		s.long = longLine{role: s.record.next(part, &s.line, s.lines), offset: s.offset, text: lineExcerpt(part, []int{0, 0})}
		if s.query == nil && s.long.role == logline.Record {
			s.long.h = &s.strict
		} else if s.query == nil && s.long.role == logline.Unparsed {
			s.unparsed++
		}
		s.seam = s.seam[:0]
	} else {
		text = slices.Concat(s.seam, part)
	}
	if s.query != nil && s.long.h != &s.strict {
		if at := bytes.Index(text, s.query.text); at >= 0 {
			s.long.h, s.long.text = &s.strict, lineExcerpt(trimEnd(text), []int{at, at + len(s.query.text)})
		} else if start, end := s.query.find(text, 0); start >= 0 && s.long.h == nil {
			s.long.h, s.long.text = &s.loose, lineExcerpt(trimEnd(text), []int{start, end})
		}
	}
	s.offset += int64(len(part))
	if !last {
		s.seam = append(s.seam[:0], text[max(0, len(text)-seamBytes):]...)
		return
	}
	if h := s.long.h; h != nil && s.wanted(h, s.long.role) && len(h.matches) < s.limit {
		s.keep(h, s.long.role, s.long.offset, s.long.text)
		if s.long.role == logline.Record {
			h.grows = len(h.matches)
		}
	}
}

func trimEnd(text []byte) []byte { return trimCR(bytes.TrimSuffix(text, newline)) }

// shownLogLine returns what is shown of a line: JSON as text, and of a long line the part around the match.
func shownLogLine(line []byte, where [2]int) string {
	if len(line) > 0 && line[0] == '{' && len(line) <= 2*maxShownLine {
		text := strings.ReplaceAll(logline.Readable(line), "\n", `\n`)
		if len(text) <= maxShownLine {
			return validText(text)
		}
	}
	return lineExcerpt(line, where[:])
}
