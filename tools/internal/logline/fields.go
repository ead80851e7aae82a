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
	line []byte
	at   int // where to go on
	key  int // the next ode" of a line that begins with a brace; len(line) when there is none
}

// ScanFields returns a scan of one line: for code= and node=, and in a line that begins with a brace for "code": and
// "node": too.
func ScanFields(line []byte) FieldScan {
	s := ScanPairs(line)
	if len(line) > 0 && line[0] == '{' {
		s.key = 0
		s.findKey()
	}
	return s
}

// ScanPairs returns a scan for code= and node= in any number of lines.
func ScanPairs(text []byte) FieldScan { return FieldScan{line: text, key: len(text)} }

// At returns the position behind the last field.
func (s *FieldScan) At() int { return s.at }

func (s *FieldScan) findKey() {
	if next := bytes.Index(s.line[s.key:], []byte(`ode"`)); next >= 0 {
		s.key += next
	} else {
		s.key = len(s.line)
	}
}

// Next returns the next field. Its value is part of the line, without quotes, and not empty.
func (s *FieldScan) Next() (field Field, value []byte, ok bool) {
	for {
		name, start := s.equals()
		if s.key < name {
			name, start = s.key+3, jsonValue(s.line, s.key+4)
			s.at = s.key + 1
			s.key++
			s.findKey()
			if start == 0 || !isFieldName(s.line[:name]) {
				continue
			}
		}
		if name == len(s.line) {
			s.at = name
			return 0, nil, false
		}
		value, end := fieldValue(s.line, start)
		s.at = start
		if len(value) == 0 {
			continue
		}
		if s.line[name-4] == 'n' {
			field = Node
		}
		s.at = end
		for s.key < s.at {
			s.key++
			s.findKey()
		}
		return field, value, true
	}
}

// equals finds the next code= or node=. The name's end is the length of the line when there is none.
func (s *FieldScan) equals() (name, start int) {
	line := s.line
	for at := s.at; at < len(line); {
		next := bytes.IndexByte(line[at:], '=')
		if next < 0 {
			break
		}
		at += next + 1
		if at >= 5 && line[at-2] == 'e' && isFieldName(line[:at-1]) {
			return at - 1, at
		}
	}
	return len(line), 0
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
