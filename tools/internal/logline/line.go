// Package logline understands single lines of logs without being told their format: time stamp, level, message, and
// named values, in plain text, JSON, logfmt, syslog, klog and the formats of web servers. It works on bytes, does not
// look at other lines than the one it is given (but see [Flow]), and does no input or output.
package logline

import "bytes"

// Form is how a line is written.
type Form uint8

// The forms. Unknown lines have neither a stamp nor a level where logs have them.
const (
	Unknown Form = iota
	Text
	JSON
	Logfmt
	Access // common or combined format of web servers; the level follows from the HTTP status
)

// A Line is what was recognised of one line.
type Line struct {
	Form  Form
	Level Level
	// Weak tells that the line is a record only when it does not follow one: "Error: no such file" may as well be the
	// beginning of a stack trace.
	Weak  bool
	Stamp Stamp
	// Message and MessageEnd are the place of the message in the line, with punctuation in front in a line of text; see
	// [Line.MessageText]. Escaped tells that it is a JSON string without its quotes.
	Message, MessageEnd int
	Escaped             bool
	// Host and HostEnd are the place of the host in a syslog line; equal when there is none.
	Host, HostEnd int
}

// Starts tells that the line begins a record whatever comes before it.
func (l *Line) Starts() bool { return l.Form != Unknown && !l.Weak }

const (
	// stampReach is how far into a line a stamp is looked for, past the name of a container or host.
	stampReach = 64
	// accessReach is the same for the bracket of an access log's stamp, behind address, identity and user.
	accessReach = 200
)

// Parse recognises one line, given without its line end. It reads about the first kilobyte of a line of text, and all
// of a JSON object. It keeps no reference to the line.
func Parse(line []byte) Line {
	var l Line
	l.Parse(line)
	return l
}

// Parse is the function Parse, with the result in l.
func (l *Line) Parse(line []byte) {
	*l = Line{}
	if len(line) == 0 {
		return
	}
	if c := line[0]; isDigit(c) {
		if l.Stamp.iso(line, 0) {
			l.afterStamp(line)
			return
		}
	} else if c == ' ' || c == '\t' {
		*l = parseIndented(line)
		return
	}
	if line[0] == '{' {
		if l.parseJSON(line); l.Form == Unknown && len(line) > 1 && isLetter(line[1]) { // {main} and the like
			*l = parseAnywhere(line)
		}
		return
	}
	if hasEscape(line) {
		*l = parseColoured(line)
		return
	}
	*l = parseOther(line)
}

// parseOther tries the rarer forms by the first character.
func parseOther(line []byte) Line {
	switch c := line[0]; {
	case c == '{':
		return Line{} // a whole line is needed for JSON
	case c == '<':
		if l := parseSyslog(line); l.Form != Unknown {
			return l
		}
	case c == '[':
		if l := parseBracket(line); l.Form != Unknown {
			return l
		}
	case isDigit(c):
		if s := stampAt(line, 0); s.End > 0 {
			return afterStamp(line, s)
		}
	case isLetter(c):
		if l := parseLetter(line); l.Form != Unknown {
			return l
		}
	}
	if l := parseAccess(line); l.Form != Unknown {
		return l
	}
	if isTrace(line) {
		return Line{}
	}
	return parseAnywhere(line)
}

// parseIndented takes an indented line for a record only when a stamp follows: the lines of stack traces are indented.
func parseIndented(line []byte) Line {
	i := 0
	for i < len(line) && (line[i] == ' ' || line[i] == '\t') {
		i++
	}
	if i == len(line) || !isDigit(line[i]) && line[i] != '[' {
		return Line{}
	}
	if line[i] == '[' {
		i++
	}
	if s := stampAt(line, i); s.End > 0 && s.Lacks != Time {
		return afterStamp(line, s)
	}
	return Line{}
}

// afterStamp finds level and message behind a stamp.
func afterStamp(line []byte, s Stamp) Line {
	l := Line{Stamp: s}
	l.afterStamp(line)
	return l
}

func (l *Line) afterStamp(line []byte) {
	l.Form, l.MessageEnd = Text, len(line)
	if l.Stamp.Lacks == Year {
		if l.Level, l.Message = logcatLevel(line, l.Stamp.End); l.Level != NoLevel {
			return
		}
	}
	if l.Level, l.Message = findLevel(line, l.Stamp.End); l.Message == 0 {
		l.Message = l.Stamp.End
	}
}

// skipFiller skips punctuation, and bracketed names of threads and the like, between the head and the message.
func skipFiller(b []byte, i int) int {
	const longest = 80
	for i < len(b) {
		switch b[i] {
		case ' ', '\t', ':', '|', '-', '>', ')', ']', ',', '"':
			i++
		case '[':
			end := bytes.IndexByte(b[i:min(len(b), i+longest)], ']')
			if end < 0 || i+end+1 == len(b) {
				return i
			}
			i += end + 1
		case escape:
			i = skipEscape(b, i)
		default:
			return i
		}
	}
	return i
}

// logcatLevel reads "  1234  5678 E Tag: message" behind a stamp.
func logcatLevel(b []byte, i int) (level Level, end int) {
	for range 2 {
		for i < len(b) && b[i] == ' ' {
			i++
		}
		var ok int
		if _, ok = readNumber(b, i, 1, 7); ok == 0 {
			return NoLevel, 0
		}
		i = ok
	}
	if i+2 < len(b) && b[i] == ' ' && b[i+2] == ' ' {
		return letterLevel(b[i+1]), i + 3
	}
	return NoLevel, 0
}

// parseSyslog reads <PRI>, with a version as in RFC 5424 or without as in RFC 3164.
func parseSyslog(line []byte) Line {
	priority, i := readNumber(line, 1, 1, 3)
	if i == 0 || i >= len(line) || line[i] != '>' || priority > 191 {
		return Line{}
	}
	i++
	if i+1 < len(line) && line[i] == '1' && line[i+1] == ' ' {
		i += 2
	}
	l := Line{Form: Text, Level: severityLevel(priority & 7), Message: i, MessageEnd: len(line)}
	if s := stampAt(line, i); s.End > 0 {
		l.Stamp = s
		l.Message = l.findHost(line, s.End)
	}
	return l
}

// findHost takes the word behind the stamp of a syslog line for its host, and returns the place behind it.
func (l *Line) findHost(b []byte, i int) int {
	start := skipFiller(b, i)
	host := bytes.IndexByte(b[start:], ' ')
	if host < 0 {
		return start
	}
	l.Host, l.HostEnd = start, start+host
	return start + host + 1
}

// parseBracket reads lines that begin with a stamp or a level in brackets.
func parseBracket(line []byte) Line {
	i := 1
	for i < len(line) && line[i] == ' ' {
		i++
	}
	if s := stampAt(line, i); s.End > 0 {
		return afterStamp(line, s)
	}
	if s := bootStamp(line, i); s.End > 0 {
		return afterStamp(line, s)
	}
	level, end := findLevel(line[:min(len(line), 1+maxLevelWord+1)], 0)
	if level == NoLevel {
		return Line{}
	}
	return afterLevel(line, level, end)
}

// bootStamp reads the seconds since boot of a kernel log: [   12.345678]
func bootStamp(b []byte, i int) Stamp {
	_, dot := readNumber(b, i, 1, 8)
	if dot == 0 || dot >= len(b) || b[dot] != '.' {
		return Stamp{}
	}
	_, end := readNumber(b, dot+1, 6, 6)
	if end == 0 || end >= len(b) || b[end] != ']' {
		return Stamp{}
	}
	return Stamp{At: i, End: end, Lacks: Time}
}

// afterLevel finds the stamp and the message behind a leading level.
func afterLevel(line []byte, level Level, end int) Line {
	l := Line{Form: Text, Level: level, MessageEnd: len(line)}
	i := end
	for i < len(line) && i < end+4 && (line[i] == ' ' || line[i] == ']' || line[i] == '[' || line[i] == ':' || line[i] == '\t' || line[i] == ',' || line[i] == '-') {
		i++
	}
	if s := stampAt(line, i); s.End > 0 {
		l.Stamp, end = s, s.End
	}
	l.Message = end
	return l
}

// parseLetter reads klog, syslog without priority, logfmt, and lines that begin with a level.
func parseLetter(line []byte) Line {
	if l := parseKlog(line); l.Form != Unknown {
		return l
	}
	if isUpper(line[0]) {
		if s, ok := nameStamp(line, 0); ok {
			return afterSyslogStamp(line, s)
		}
	}
	if l := parseLogfmt(line); l.Form != Unknown {
		return l
	}
	end := 0
	for end < len(line) && isLetter(line[end]) {
		end++
	}
	level := wordLevel(line[:end])
	if end == 1 && len(line) > 3 && line[1] == ',' && line[2] == ' ' && line[3] == '[' { // E, [2006-01-02T15:04:05.000000 #1] ERROR -- : of Ruby
		if s := stampAt(line, 4); s.End > 0 {
			return afterStamp(line, s)
		}
	}
	if level == NoLevel || !endsWord(line, end) && line[end] != '[' {
		return Line{}
	}
	l := afterLevel(line, level, end)
	upper := true
	for _, c := range line[:end] {
		upper = upper && isUpper(c)
	}
	if !upper && l.Stamp.End == 0 {
		if end == len(line) || line[end] == ' ' { // "Error handling is described below" is no record
			return Line{}
		}
		l.Weak = true
	}
	return l
}

// afterSyslogStamp is afterStamp for lines in which host and program follow.
func afterSyslogStamp(line []byte, s Stamp) Line {
	l := afterStamp(line, s)
	if s.Lacks != Year {
		return l
	}
	if behind := l.findHost(line, s.End); l.Level == NoLevel {
		l.Message = behind
	} else if l.HostEnd > l.Message || wordLevel(line[l.Host:l.HostEnd]) != NoLevel {
		l.Host, l.HostEnd = 0, 0 // the level stands where a host would
	}
	return l
}

// parseKlog reads E0102 15:04:05.000000 1234 file.go:56] message, of klog and glog, with or without a year.
func parseKlog(line []byte) Line {
	level := letterLevel(line[0])
	if level == NoLevel || len(line) < 22 || !isDigit(line[1]) {
		return Line{}
	}
	end := 1
	for end < len(line) && isDigit(line[end]) {
		end++
	}
	year, lacks := leapYear, Year
	date, _ := readNumber(line, 1, 4, 8)
	switch end - 1 {
	case 4:
	case 8:
		year, date, lacks = date/10000, date%10000, Nothing
	default:
		return Line{}
	}
	if line[end] != ' ' || !validDate(year, date/100, date%100) {
		return Line{}
	}
	s, ok := readClock(line, end+1)
	if !ok {
		return Line{}
	}
	s.setDate(year, date/100, date%100)
	s.Lacks, s.At = lacks, 1
	l := Line{Form: Text, Level: level, Stamp: s, Message: s.End, MessageEnd: len(line)}
	if bracket := bytes.Index(line[s.End:min(len(line), s.End+accessReach)], []byte("] ")); bracket >= 0 {
		l.Message = s.End + bracket + 2
	} else {
		l.Message = skipFiller(line, s.End)
	}
	return l
}

// parseAccess reads 127.0.0.1 - - [02/Jan/2006:15:04:05 -0700] "GET / HTTP/1.1" 200 2326.
func parseAccess(line []byte) Line {
	head := line[:min(len(line), accessReach)]
	at := bytes.Index(head, []byte(" ["))
	if at < 0 {
		return Line{}
	}
	s, ok := Stamp{}, false
	if at+2 < len(line) && isDigit(line[at+2]) {
		s, ok = dayFirstStamp(line, at+2)
	}
	if !ok || s.End+2 >= len(line) || line[s.End] != ']' || line[s.End+1] != ' ' {
		return Line{}
	}
	s.At = at + 2
	l := Line{Form: Access, Stamp: s, Message: s.End + 2, MessageEnd: len(line)}
	if line[l.Message] != '"' {
		return l
	}
	end := l.Message + 1
	for end < len(line) && line[end] != '"' {
		if line[end] == '\\' {
			end++
		}
		end++
	}
	if end+1 >= len(line) {
		return l
	}
	if status, after := readNumber(line, end+2, 3, 3); after > 0 {
		l.Level = statusLevel(status)
		l.MessageEnd = after
	}
	return l
}

// parseAnywhere looks for a stamp behind the name of a container, process or host, and else for a level in capitals
// among the first words.
func parseAnywhere(line []byte) Line {
	limit := min(len(line), stampReach)
	for i := 1; i < limit; i++ {
		if !isDigit(line[i]) || isWord(line[i-1]) {
			continue
		}
		if s, ok := isoStamp(line, i); ok {
			s.At = i
			return afterStamp(line, s)
		}
		if s, ok := redisStamp(line, i); ok {
			return redisLine(line, s)
		}
	}
	const words = 3
	for i, seen := 0, 0; i < limit && seen < words; {
		if !isWord(line[i]) {
			i++
			continue
		}
		j := i + 1
		for j < len(line) && isWord(line[j]) {
			j++
		}
		if level := wordLevel(line[i:j]); level != NoLevel && isLevelSpot(line, i, j, false) {
			return afterLevel(line, level, j)
		}
		if !isDigit(line[i]) {
			seen++
		}
		i = j
	}
	return Line{}
}

// redisStamp reads the 02 Jan 2006 15:04:05.000 of 1234:M 02 Jan 2006 15:04:05.000 * message.
func redisStamp(line []byte, i int) (s Stamp, ok bool) {
	if i < 3 || line[i-1] != ' ' || line[i-3] != ':' || !isUpper(line[i-2]) {
		return s, false
	}
	s, ok = dayFirstStamp(line, i)
	s.At = i
	return s, ok
}

func redisLine(line []byte, s Stamp) Line {
	l := afterStamp(line, s)
	if i := s.End; i+2 < len(line) && line[i] == ' ' && line[i+2] == ' ' {
		switch line[i+1] {
		case '#':
			l.Level = Warn
		case '*':
			l.Level = Info
		case '-':
			l.Level = Trace
		case '.':
			l.Level = Debug
		}
		l.Message = i + 3
	}
	return l
}

const escape = 0x1b

// hasEscape tells whether the head of a line has terminal colours.
func hasEscape(line []byte) bool {
	return bytes.IndexByte(line[:min(len(line), stampReach+levelReach)], escape) >= 0
}

// parseColoured parses the line without the colours of its head, and moves what it found to where it is.
func parseColoured(line []byte) Line {
	var plain [stampReach + levelReach]byte
	var from [stampReach + levelReach + 1]int
	n, i := 0, 0
	for i < len(line) && n < len(plain) {
		if line[i] == escape {
			i = skipEscape(line, i)
			continue
		}
		plain[n], from[n] = line[i], i
		n++
		i++
	}
	from[n] = i
	if n == 0 {
		return Line{}
	}
	var l Line
	if c := plain[0]; c == ' ' || c == '\t' {
		l = parseIndented(plain[:n])
	} else if s, ok := isoStamp(plain[:n], 0); ok {
		l = afterStamp(plain[:n], s)
	} else {
		l = parseOther(plain[:n])
	}
	if l.Form != Unknown {
		if l.Stamp.End > 0 {
			l.Stamp.At, l.Stamp.End = from[l.Stamp.At], from[l.Stamp.End-1]+1
		}
		l.Message, l.MessageEnd = from[l.Message], len(line)
	}
	return l
}

// skipEscape returns the end of an ANSI sequence, or of the escape character alone.
func skipEscape(b []byte, i int) int {
	i++
	if i >= len(b) || b[i] != '[' {
		return i
	}
	for i++; i < len(b); i++ {
		if c := b[i]; c >= 0x40 && c <= 0x7e {
			return i + 1
		} else if c < 0x20 || c > 0x3f {
			return i
		}
	}
	return i
}
