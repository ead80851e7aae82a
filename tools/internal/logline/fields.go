package logline

import "bytes"

// Field is one of the named values that are collected from every line.
type Field uint8

// The fields: code=V or "code":V, and the same with node.
const (
	Code Field = iota
	Node

	// Fields is the number of fields, for arrays indexed by field.
	Fields = int(Node) + 1
)

// String returns the name of the field.
func (f Field) String() string {
	if f == Code {
		return "code"
	}
	return "node"
}

// maxFieldValue is the most of a value that is kept, in bytes.
const maxFieldValue = 64

// A FieldScan finds the fields of a text, one after the other.
type FieldScan struct {
	text []byte
	at   int // where to go on
	keys bool
}

// ScanPairs returns a scan for code= and node= in any number of lines.
func ScanPairs(text []byte) FieldScan { return FieldScan{text: text} }

// ScanKeys returns a scan for the keys "code": and "node": in a line of JSON, at any depth.
func ScanKeys(line []byte) FieldScan { return FieldScan{text: line, keys: true} }

// At returns the position behind the last field.
func (s *FieldScan) At() int { return s.at }

// Next returns the next field. Its value is part of the text, without quotes, and not empty.
func (s *FieldScan) Next() (field Field, value []byte, ok bool) {
	for {
		name, start := s.nextName()
		if name < 0 {
			return 0, nil, false
		}
		var end int
		if value, end = fieldValue(s.text, start); len(value) == 0 {
			s.at = max(s.at, start)
			continue
		}
		s.at = end
		if s.text[name-4] == 'n' {
			field = Node
		}
		return field, value, true
	}
}

// nextName finds the next name of a field: where it ends, and where its value begins. The end is negative when there is none.
func (s *FieldScan) nextName() (end, value int) {
	text, at := s.text, s.at
	for at < len(text) {
		if s.keys {
			next := bytes.Index(text[at:], []byte(`ode"`))
			if next < 0 {
				break
			}
			end = at + next + 3
			at = end + 1
			value = jsonValue(text, at)
		} else {
			next := bytes.IndexByte(text[at:], '=')
			if next < 0 {
				break
			}
			end = at + next
			at = end + 1
			if value = at; end == 0 || text[end-1] != 'e' { // the usual case
				continue
			}
		}
		if value > 0 && isFieldName(text[:end]) {
			s.at = at
			return end, value
		}
	}
	s.at = len(text)
	return -1, 0
}

// isFieldName tells whether text ends with the name of a field as a whole word.
func isFieldName(text []byte) bool {
	n := len(text)
	if n < 4 || string(text[n-3:]) != "ode" || text[n-4] != 'c' && text[n-4] != 'n' {
		return false
	}
	return n == 4 || !isWord(text[n-5]) && text[n-5] != '-' && text[n-5] != '.'
}

// jsonValue returns the position behind the colon that follows a key, or 0.
func jsonValue(line []byte, i int) int {
	i = skipBlanks(line, i)
	if i >= len(line) || line[i] != ':' {
		return 0
	}
	i = skipBlanks(line, i+1)
	if i >= len(line) || line[i] == '{' || line[i] == '[' || bytes.HasPrefix(line[i:], []byte("null")) {
		return 0
	}
	return i
}

// fieldValue reads a value, in quotes or up to what ends a word.
func fieldValue(line []byte, i int) (value []byte, end int) {
	const longest = 4 * maxFieldValue                           // of what is taken for a quoted value
	if i+1 < len(line) && line[i] == '\\' && line[i+1] == '"' { // a quote inside a JSON string
		i += 2
	} else if i < len(line) && (line[i] == '"' || line[i] == '\'') {
		quoted := line[i+1 : min(len(line), i+1+longest)]
		if quote := bytes.IndexByte(quoted, line[i]); quote >= 0 && bytes.IndexByte(quoted[:quote], '\n') < 0 {
			return clipValue(quoted[:quote]), i + quote + 2
		}
		i++
	}
	end = i
	for end < len(line) && !endsValue(line[end]) {
		end++
	}
	value = bytes.TrimRight(line[i:end], ".:")
	return clipValue(value), max(end, i+1)
}

func endsValue(c byte) bool {
	switch c {
	case ' ', '\t', ',', ';', ')', ']', '}', '"', '\'', '\\', '&', '|', '<', '>', '\r', '\n':
		return true
	}
	return false
}

func clipValue(value []byte) []byte {
	if len(value) <= maxFieldValue {
		return value
	}
	end := maxFieldValue
	for end > 0 && value[end]&0xc0 == 0x80 {
		end--
	}
	return value[:end]
}
