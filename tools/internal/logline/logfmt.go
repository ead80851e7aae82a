package logline

// parseLogfmt recognises key=value pairs, of which one is a time, a level or a message, among the first few.
func parseLogfmt(line []byte) Line {
	const pairs = 12
	l := Line{Form: Logfmt, MessageEnd: -1}
	found := false
	i := 0
	for range pairs {
		key := i
		for i < len(line) && (isWord(line[i]) || line[i] == '.' || line[i] == '-' || line[i] == '@') {
			i++
		}
		if i == key || i >= len(line) || line[i] != '=' {
			break
		}
		m := member{key: key, keyEnd: i}
		i = logfmtValue(line, i+1, &m)
		switch keyRole(line[m.key:m.keyEnd]) {
		case keyTime:
			if s := stampAt(line[:m.valueEnd], m.value); s.End > 0 {
				l.Stamp, found = s, true
			}
		case keyLevel:
			if level := wordLevel(line[m.value:m.valueEnd]); level != NoLevel && l.Level == NoLevel {
				l.Level, found = level, true
			}
		case keyMessage:
			if l.MessageEnd < 0 {
				l.Message, l.MessageEnd, l.Escaped = m.value, m.valueEnd, m.kind == '"'
			}
		}
		for i < len(line) && line[i] == ' ' {
			i++
		}
	}
	if !found {
		return Line{}
	}
	if l.MessageEnd < 0 {
		l.Message, l.MessageEnd = skipFiller(line, l.Stamp.End), len(line)
	}
	return l
}

// logfmtValue reads a value, quoted or not, and returns the position behind it.
func logfmtValue(line []byte, i int, m *member) int {
	if i < len(line) && line[i] == '"' {
		if end := stringEnd(line, i+1); end >= 0 {
			m.kind, m.value, m.valueEnd = '"', i+1, end
			return end + 1
		}
	}
	m.value = i
	for i < len(line) && line[i] != ' ' && line[i] != '\t' {
		i++
	}
	m.valueEnd = i
	return i
}
