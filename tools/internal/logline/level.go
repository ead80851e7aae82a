package logline

import "encoding/binary"

// A Level is the severity of a record. Higher is worse.
type Level uint8

// The levels. Notices count as Info; critical, alert, emergency and panic as Fatal.
const (
	NoLevel Level = iota
	Trace
	Debug
	Info
	Warn
	Error
	Fatal

	// Levels is the number of levels, NoLevel among them, for arrays indexed by level.
	Levels = int(Fatal) + 1
)

var levelNames = [Levels]string{"none", "trace", "debug", "info", "warn", "error", "fatal"}

// String returns the name in lower case; "none" for [NoLevel].
func (l Level) String() string {
	if int(l) < len(levelNames) {
		return levelNames[l]
	}
	return levelNames[NoLevel]
}

// ParseLevel reads a level's name or one of its usual spellings, in any case.
func ParseLevel(word string) (Level, bool) {
	l := wordLevel([]byte(word))
	return l, l != NoLevel
}

const (
	minLevelWord = 3
	maxLevelWord = 9

	// The words in lower case, as the high bytes of a number.
	infoKey  = 'i'<<32 | 'n'<<40 | 'f'<<48 | 'o'<<56
	warnKey  = 'w'<<32 | 'a'<<40 | 'r'<<48 | 'n'<<56
	debugKey = 'd'<<24 | 'e'<<32 | 'b'<<40 | 'u'<<48 | 'g'<<56
	errorKey = 'e'<<24 | 'r'<<32 | 'r'<<40 | 'o'<<48 | 'r'<<56
)

// wordLevel returns the level that a word of letters names, or NoLevel. The four-letter spellings are logrus's, the
// three-letter ones zerolog's and Serilog's; FINE and SEVERE are java.util.logging's.
func wordLevel(word []byte) Level {
	if len(word) < minLevelWord || len(word) > maxLevelWord {
		return NoLevel
	}
	if cap(word) >= 8 && len(word) <= 5 { // nearly all are one of these four; what follows the word is shifted out
		key := (binary.LittleEndian.Uint64(word[:8]) | 0x2020202020202020) << (64 - 8*len(word))
		switch key {
		case infoKey:
			return Info
		case debugKey:
			return Debug
		case warnKey:
			return Warn
		case errorKey:
			return Error
		}
	}
	var lower [maxLevelWord]byte
	for i, c := range word {
		lower[i] = c | 0x20
	}
	switch string(lower[:len(word)]) {
	case "info", "inf", "notice":
		return Info
	case "debug", "dbg", "debu", "fine", "config":
		return Debug
	case "error", "err", "erro", "eror", "severe":
		return Error
	case "warn", "warning", "wrn":
		return Warn
	case "trace", "trc", "finer", "finest", "verbose", "vrb":
		return Trace
	case "fatal", "critical", "crit", "ftl", "fata", "panic", "pani", "alert", "emerg", "emergency":
		return Fatal
	}
	return NoLevel
}

// letterLevel returns the level of a single letter as klog, glog, logcat and MongoDB write it.
func letterLevel(c byte) Level {
	switch c {
	case 'V':
		return Trace
	case 'D':
		return Debug
	case 'I':
		return Info
	case 'W':
		return Warn
	case 'E':
		return Error
	case 'F', 'C':
		return Fatal
	}
	return NoLevel
}

// severityLevel returns the level of a syslog severity, 0 to 7 (RFC 5424, section 6.2.1).
func severityLevel(severity int) Level {
	switch {
	case severity <= 2:
		return Fatal
	case severity == 3:
		return Error
	case severity == 4:
		return Warn
	case severity <= 6:
		return Info
	}
	return Debug
}

// numberLevel returns the level of a number in a JSON record: 10 to 60 as bunyan and pino count, 0 to 7 as syslog does.
func numberLevel(n int64) Level {
	switch {
	case n >= 0 && n <= 7:
		return severityLevel(int(n))
	case n >= 10 && n < 70:
		return Trace + Level(n/10-1)
	}
	return NoLevel
}

// statusLevel returns the level of an HTTP status: 5xx is an error, 4xx a warning.
func statusLevel(status int) Level {
	switch {
	case status >= 500:
		return Error
	case status >= 400:
		return Warn
	}
	return Info
}

// Classes of bytes, for scanning words.
const (
	classOther = iota
	classWord  // letters, digits and the underscore, and what is not ASCII
	classLevel // letters that begin a level's name or the key of one
)

var byteClass = func() (table [256]uint8) {
	for c := range table {
		switch b := byte(c); {
		case b >= '0' && b <= '9', b == '_', b >= 0x80, isLetter(b):
			table[c] = classWord
		}
	}
	for _, c := range "acdefilnpstvwACDEFILNPSTVW" {
		table[c] = classLevel
	}
	return table
}()

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isUpper(c byte) bool  { return c >= 'A' && c <= 'Z' }
func isWord(c byte) bool   { return byteClass[c] != classOther }

// levelReach is how far behind the stamp a level is looked for, in bytes: past thread and logger names, not deep into
// the message.
const levelReach = 100

// findLevel looks for the level among the first words of the text from a position on; see isLevelSpot. The value of a key
// such as level= counts, too.
func findLevel(b []byte, from int) (level Level, end int) {
	limit := min(len(b), from+levelReach)
	if end = from + 1; from < limit && b[from] == ' ' { // a level in capitals behind one blank, as most logs have it
		for end < limit && isUpper(b[end]) {
			end++
		}
		if end < limit && b[end] == ' ' {
			if level = wordLevel(b[from+1 : end]); level != NoLevel {
				return level, end
			}
		}
	}
	first := true
	for i := from; i < limit; {
		class := byteClass[b[i]]
		if b[i] == escape {
			i = skipEscape(b, i)
			continue
		}
		if class == classOther {
			i++
			continue
		}
		j := i + 1
		for j < len(b) && byteClass[b[j]] != classOther {
			j++
		}
		if class == classLevel && j-i >= minLevelWord && j-i <= maxLevelWord {
			if level = wordLevel(b[i:j]); level != NoLevel && isLevelSpot(b, i, j, first) {
				return level, j
			}
			if end := levelValue(b, i, j); end > 0 {
				if level = wordLevel(trimQuotes(b[j+1 : end])); level != NoLevel {
					return level, end
				}
			}
		}
		if first && !isDigit(b[i]) && !isZoneName(b[i:j]) {
			first = false
		}
		i = j
	}
	return NoLevel, 0
}

// isLevelSpot tells whether a word that names a level stands where levels stand: in brackets, as the first word, or
// anywhere in capitals. Words that are frequent in messages are believed less.
func isLevelSpot(b []byte, i, j int, first bool) bool {
	if i > 0 && j < len(b) {
		switch c := b[i-1]; b[j] {
		case ']':
			if c == '[' || c == ':' || c == '.' {
				return true
			}
		case '>':
			if c == '<' {
				return true
			}
		case '|':
			if c == '|' {
				return true
			}
		}
	}
	word := b[i:j]
	if i > 1 && j < len(b) && b[i-1] == ' ' && b[i-2] == ':' && b[j] == ':' && !isFrequentWord(word) {
		return true // as in program[pid]: error: …
	}
	switch upper := isUpper(word[0]) && isUpper(word[1]); {
	case !first:
		return upper && !isFrequentWord(word)
	case isFrequentWord(word):
		return upper || j < len(b) && b[j] == ':'
	}
	return endsWord(b, j)
}

// isFrequentWord tells the names of levels that messages use in another sense.
func isFrequentWord(word []byte) bool {
	switch len(word) {
	case 4:
		return word[0]|0x20 == 'f' && word[1]|0x20 == 'i' // fine
	case 5:
		return word[0]|0x20 == 'a' || word[0]|0x20 == 'p' // alert, panic
	case 6:
		return word[0]|0x20 == 'c' || word[0]|0x20 == 'n' // config, notice
	case 7:
		return word[0]|0x20 == 'v' // verbose
	}
	return len(word) > 8 // emergency
}

func endsWord(b []byte, j int) bool {
	if j == len(b) {
		return true
	}
	switch b[j] {
	case ' ', '\t', ':', ']', '|', '>', ',', escape:
		return true
	}
	return false
}

// levelValue returns the end of the word behind level=, lvl= or severity=, or 0.
func levelValue(b []byte, i, j int) int {
	if j+1 >= len(b) || b[j] != '=' && b[j] != ':' || !isLevelKey(b[i:j]) {
		return 0
	}
	end := j + 1
	for end < len(b) && (isWord(b[end]) || b[end] == '"') {
		end++
	}
	return end
}

func isLevelKey(word []byte) bool {
	switch string(word) {
	case "level", "lvl", "severity", "loglevel", "Level", "LEVEL", "levelname":
		return true
	}
	return false
}

func trimQuotes(b []byte) []byte {
	if len(b) >= 2 && b[0] == '"' && b[len(b)-1] == '"' {
		return b[1 : len(b)-1]
	}
	return b
}

// isZoneName tells the short names of zones that follow a stamp.
func isZoneName(word []byte) bool {
	if len(word) < 3 || len(word) > 4 {
		return false
	}
	for _, c := range word {
		if !isUpper(c) {
			return false
		}
	}
	return word[len(word)-1] == 'T' || string(word) == "UTC"
}
