package logline

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// member is one member of a JSON object, as places in the line.
type member struct {
	key, keyEnd     int  // without quotes
	value, valueEnd int  // of a string, without quotes
	kind            byte // '"', '{', '[', or the first character of a number or literal
}

// read reads the member at i, which is behind '{' or ','. It returns the position behind it, and 0 when there is none: at
// the end of the object, or where the text is no JSON. It is lenient: it finds what is there and does not check what is
// between.
func (m *member) read(b []byte, i int) int {
	i = skipBlanks(b, i)
	if i >= len(b) || b[i] != '"' {
		return 0
	}
	m.key = i + 1
	if m.keyEnd = stringEnd(b, m.key); m.keyEnd < 0 {
		return 0
	}
	i = skipBlanks(b, m.keyEnd+1)
	if i >= len(b) || b[i] != ':' {
		return 0
	}
	i = skipBlanks(b, i+1)
	if i >= len(b) {
		return 0
	}
	m.kind = b[i]
	switch m.kind {
	case '"':
		m.value = i + 1
		if m.valueEnd = stringEnd(b, m.value); m.valueEnd < 0 {
			return 0
		}
		i = m.valueEnd + 1
	case '{', '[':
		m.value = i
		if m.valueEnd = nestedEnd(b, i); m.valueEnd < 0 {
			return 0
		}
		i = m.valueEnd
	default:
		m.value = i
		for i < len(b) && b[i] != ',' && b[i] != '}' && b[i] != ' ' && b[i] != '\t' {
			i++
		}
		m.valueEnd = i
	}
	i = skipBlanks(b, i)
	if i >= len(b) || b[i] != ',' && b[i] != '}' {
		return 0
	}
	return i
}

func skipBlanks(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t') {
		i++
	}
	return i
}

// stringEnd returns the position of the quote that ends a string, or -1.
func stringEnd(b []byte, i int) int {
	const short = 12 // most keys are, and then a loop is faster than a call
	for end := min(len(b), i+short); i < end && b[i] != '\\'; i++ {
		if b[i] == '"' {
			return i
		}
	}
	for i < len(b) {
		quote := bytes.IndexByte(b[i:], '"')
		if quote < 0 {
			return -1
		}
		i += quote
		slashes := 0
		for i-slashes > 0 && b[i-slashes-1] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return i
		}
		i++
	}
	return -1
}

// nestedEnd returns the position behind the object or array at i, or -1.
func nestedEnd(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		case '"':
			if i = stringEnd(b, i+1); i < 0 {
				return -1
			}
		}
		i++
	}
	return -1
}

// The roles of keys.
const (
	keyOther = iota
	keyTime
	keyLevel
	keyMessage
	keyError // stands in for a message
)

// keyRole tells what the usual names of members are for.
func keyRole(key []byte) int {
	switch string(key) {
	case "time", "ts", "timestamp", "@timestamp", "t", "datetime", "date", "asctime", "Timestamp", "eventTime", "@t", "time_local":
		return keyTime
	case "level", "severity", "lvl", "levelname", "log.level", "loglevel", "logLevel", "Level", "LogLevel", "SeverityText", "s", "@l", "severityText":
		return keyLevel
	case "msg", "message", "log", "event", "text", "Message", "short_message", "@m", "@mt", "MESSAGE", "Body", "body":
		return keyMessage
	case "error", "err", "exception", "reason", "detail":
		return keyError
	}
	return keyOther
}

// parseJSON recognises an object on one line that has a time, a level or a message.
func (l *Line) parseJSON(line []byte) {
	l.MessageEnd = -1
	var m, stand member // stand is for the message
	for i := 1; ; i++ {
		if i = m.read(line, i); i == 0 {
			break // it is cut off, or no object
		}
		switch keyRole(line[m.key:m.keyEnd]) {
		case keyTime:
			if l.Stamp.End == 0 {
				l.Stamp.readJSON(line, &m)
			}
		case keyLevel:
			if l.Level == NoLevel {
				l.Level = jsonLevel(line, &m)
			}
		case keyMessage:
			if m.kind == '"' && l.MessageEnd < 0 {
				l.Message, l.MessageEnd, l.Escaped = m.value, m.valueEnd, true
			}
		case keyError:
			if m.kind == '"' && stand.kind == 0 {
				stand = m
			}
		}
		if line[i] == '}' {
			if l.MessageEnd < 0 && stand.kind != 0 {
				l.Message, l.MessageEnd, l.Escaped = stand.value, stand.valueEnd, true
			}
			if l.closeJSON(line, i) {
				return
			}
			break
		}
	}
	*l = Line{}
}

// closeJSON is parseJSON at the closing brace. It tells whether the object is a record.
func (l *Line) closeJSON(line []byte, end int) bool {
	if l.Stamp.End == 0 && l.Level == NoLevel && l.MessageEnd < 0 || !isBlank(line[end+1:]) {
		return false
	}
	l.Form = JSON
	if l.MessageEnd < 0 {
		l.Message, l.MessageEnd = skipBlanks(line, 1), end
		return true
	}
	if l.Level == NoLevel { // a container's output, wrapped
		inner := line[l.Message:l.MessageEnd]
		if len(inner) > 0 && inner[0] != '{' {
			parsed := Parse(inner)
			if parsed.Form == Text || parsed.Form == Access {
				l.Level = parsed.Level
			}
		}
	}
	return true
}

// readJSON reads a time: a string in any form, a number since 1970, or MongoDB's {"$date": …}.
func (s *Stamp) readJSON(line []byte, m *member) {
	switch {
	case m.kind == '"':
		if text := line[:m.valueEnd]; !s.iso(text, m.value) {
			*s = stampAt(text, m.value)
		}
	case m.kind == '{':
		var inner member
		if end := inner.read(line[:m.valueEnd], m.value+1); end > 0 && inner.kind == '"' {
			*s = stampAt(line[:inner.valueEnd], inner.value)
		}
	case isDigit(m.kind):
		if *s = stampAt(line[:m.valueEnd], m.value); s.End == 0 {
			*s = numberStamp(line[m.value:m.valueEnd])
			s.At, s.End = m.value, m.valueEnd
		}
	}
}

// numberStamp reads milliseconds or seconds with an exponent or a fraction, such as zap's 1.7e9.
func numberStamp(text []byte) Stamp {
	value, err := strconv.ParseFloat(string(text), 64)
	if err != nil || value != value || value < 0 || value > 1e19 {
		return Stamp{Lacks: Time}
	}
	unit := 1.0
	for _, u := range []float64{1e9, 1e6, 1e3} {
		if value/u >= 1e9 {
			unit = u
			break
		}
	}
	sec := value / unit
	if sec < 1e9 || sec > 4e9 {
		return Stamp{Lacks: Time}
	}
	whole := int64(sec)
	return Stamp{clock: whole, Nano: int32((sec - float64(whole)) * 1e9), Zoned: true}
}

func jsonLevel(line []byte, m *member) Level {
	value := line[m.value:m.valueEnd]
	switch {
	case m.kind == '"' && len(value) == 1:
		return letterLevel(value[0])
	case m.kind == '"':
		return wordLevel(value)
	case isDigit(m.kind):
		n, err := strconv.ParseInt(string(value), 10, 64)
		if err != nil {
			return NoLevel
		}
		return numberLevel(n)
	}
	return NoLevel
}

// MessageText returns the message of a parsed line without escapes. The result may be part of the line.
func (l *Line) MessageText(line []byte) []byte {
	if l.MessageEnd <= l.Message {
		return nil
	}
	start := l.Message
	if l.Form == Text {
		start = skipFiller(line, start)
	}
	raw := line[start:l.MessageEnd]
	if !l.Escaped || bytes.IndexByte(raw, '\\') < 0 {
		return raw
	}
	return []byte(unescape(raw))
}

// unescape decodes the inside of a JSON string, or returns it as it is when it is none.
func unescape(raw []byte) string {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw)
	}
	quoted := append(append([]byte{'"'}, raw...), '"')
	var text string
	if json.Unmarshal(quoted, &text) != nil {
		return string(raw)
	}
	return text
}

// Readable writes a JSON record as time, level, message, and the rest as key=value, which takes fewer tokens and reads
// better. Nested values stay JSON. Any other line is returned as it is. The result may have line breaks when the message
// has.
func Readable(line []byte) string {
	if len(line) == 0 || line[0] != '{' {
		return string(line)
	}
	var l Line
	if l.parseJSON(line); l.Form != JSON || !l.Escaped {
		return string(line)
	}
	var head, rest strings.Builder
	if l.Stamp.End > 0 {
		head.Write(line[l.Stamp.At:l.Stamp.End])
		head.WriteByte(' ')
	}
	if l.Level != NoLevel {
		head.WriteString(strings.ToUpper(l.Level.String()))
		head.WriteByte(' ')
	}
	head.Write(l.MessageText(line))
	var m member
	for i := 1; ; i++ {
		if i = m.read(line, i); i == 0 {
			break
		}
		inHead := m.value == l.Message || l.Stamp.End > 0 && m.value <= l.Stamp.At && l.Stamp.At < m.valueEnd ||
			keyRole(line[m.key:m.keyEnd]) == keyLevel && jsonLevel(line, &m) == l.Level && l.Level != NoLevel
		if !inHead {
			writePair(&rest, line, &m)
		}
		if line[i] == '}' {
			break
		}
	}
	return head.String() + rest.String()
}

func writePair(b *strings.Builder, line []byte, m *member) {
	b.WriteByte(' ')
	b.WriteString(unescape(line[m.key:m.keyEnd]))
	b.WriteByte('=')
	if m.kind != '"' {
		b.Write(line[m.value:m.valueEnd])
		return
	}
	value := unescape(line[m.value:m.valueEnd])
	if value == "" || strings.ContainsAny(value, " \t\r\n\"=") {
		value = strconv.Quote(value)
	}
	b.WriteString(value)
}
