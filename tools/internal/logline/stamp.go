package logline

import (
	"encoding/binary"
	"fmt"
	"strings"
	"time"
)

// A Stamp is a time as a log writes it.
type Stamp struct {
	// The date, and the seconds since it began, on the clock that the log shows, whatever its zone. They become one number
	// only when that is wanted: most stamps are never compared. A count of seconds since 1970 is kept as that, without a
	// date.
	year       int16
	month, day uint8
	clock      int64
	Nano       int32
	// Offset is the zone in seconds east of UTC. It is known when Zoned.
	Offset int32
	Zoned  bool
	Lacks  Part
	// At and End are the place of the stamp in its line. End is 0 when there is no stamp.
	At, End int
}

// Part names what a stamp leaves out.
type Part uint8

// What a stamp can lack. See [Stamp.Complete].
const (
	Nothing Part = iota
	Year         // as in syslog: Jan  2 15:04:05
	Date         // only a time of day
	Time         // not a time at all, such as seconds since boot, or a date whose order of day and month is unclear
)

// Known tells whether there is a stamp that stands for a time.
func (s Stamp) Known() bool { return s.End > 0 && s.Lacks != Time }

// Complete returns s with the missing year or date taken from a time near the end of the log, such as when its file
// was changed last: the latest one that is not more than a day after it.
func (s Stamp) Complete(near time.Time) Stamp {
	near = near.UTC()
	switch s.Lacks {
	case Year:
		s.year = int16(near.Year())
		if s.Sec() > near.Add(24*time.Hour).Unix() {
			s.year--
		}
	case Date:
		s.setDate(near.Year(), int(near.Month()), near.Day())
	default:
		return s
	}
	s.Lacks = Nothing
	return s
}

func (s *Stamp) setDate(year, month, day int) {
	s.year, s.month, s.day = int16(year), uint8(month), uint8(day)
}

// Sec counts the seconds since 1970 on the log's own clock.
func (s Stamp) Sec() int64 {
	if s.year == 0 {
		return s.clock
	}
	return civil(int(s.year), int(s.month), int(s.day)) + s.clock
}

// Nanos counts the nanoseconds since 1970 on the log's own clock.
func (s Stamp) Nanos() int64 { return s.Sec()*1e9 + int64(s.Nano) }

// UTC counts the nanoseconds since 1970 in UTC; a stamp without zone is taken as UTC.
func (s Stamp) UTC() int64 { return s.Nanos() - int64(s.Offset)*1e9 }

// String writes the stamp as 2006-01-02 15:04:05, with the fraction and the zone where they are known.
func (s Stamp) String() string { return formatNanos(s.Nanos(), s.Zoned, s.Offset) }

func formatNanos(nanos int64, zoned bool, offset int32) string {
	at := time.Unix(0, nanos).UTC()
	layout := "2006-01-02 15:04:05.999"
	if nanos%1e6 != 0 {
		layout = "2006-01-02 15:04:05.999999999"
	}
	text := at.Format(layout)
	switch {
	case !zoned:
		return text
	case offset == 0:
		return text + "Z"
	}
	sign := '+'
	if offset < 0 {
		sign, offset = '-', -offset
	}
	return fmt.Sprintf("%s%c%02d:%02d", text, sign, offset/3600, offset/60%60)
}

// civil returns the seconds from 1970 to a date in the Gregorian calendar, after
// https://howardhinnant.github.io/date_algorithms.html#days_from_civil.
func civil(year, month, day int) int64 {
	y := year
	if month <= 2 {
		y--
	}
	era := y / 400
	ofEra := y - era*400
	monthFromMarch := (month + 9) % 12
	dayOfYear := (153*monthFromMarch+2)/5 + day - 1
	dayOfEra := ofEra*365 + ofEra/4 - ofEra/100 + dayOfYear
	days := int64(era)*146097 + int64(dayOfEra) - 719468
	return days * 86400
}

func validDate(year, month, day int) bool {
	if year < 1 || month < 1 || month > 12 || day < 1 || day > 31 {
		return false
	}
	switch month {
	case 4, 6, 9, 11:
		return day <= 30
	case 2:
		leap := year%4 == 0 && (year%100 != 0 || year%400 == 0)
		return day <= 28 || day == 29 && leap
	}
	return true
}

// A second of 60 is a leap second.
func validClock(hour, minute, second int) bool { return hour < 24 && minute < 60 && second <= 60 }

// stampAt reads the stamp that begins at a position. The result's End is 0 when there is none.
func stampAt(b []byte, i int) Stamp {
	if i >= len(b) {
		return Stamp{}
	}
	var s Stamp
	var ok bool
	switch c := b[i]; {
	case isDigit(c):
		if s, ok = isoStamp(b, i); !ok {
			s, ok = otherDigits(b, i)
		}
	case isUpper(c):
		s, ok = nameStamp(b, i)
	}
	if !ok || s.End < len(b) && isDigit(b[s.End]) {
		return Stamp{}
	}
	s.At = i
	return s
}

// otherDigits reads the forms that begin with a digit, but for isoStamp.
func otherDigits(b []byte, i int) (s Stamp, ok bool) {
	if s, ok = clockStamp(b, i); ok {
		return s, true
	}
	if s, ok = dayFirstStamp(b, i); ok {
		return s, true
	}
	if s, ok = monthDayStamp(b, i); ok {
		return s, true
	}
	if s, ok = compactStamp(b, i); ok {
		return s, true
	}
	return epochStamp(b, i)
}

const (
	lowNibbles  = 0x0606060606060606
	highNibbles = 0xf0f0f0f0f0f0f0f0
	isoDate     = 0x2d30302d30303030 // "0000-00-"
	slashDate   = 0x2f30302f30303030 // "0000/00/"
	isoClock    = 0x30303a30303a3030 // "00:00:00"
)

// digitsOf returns the digits of eight bytes that have the digits and separators of a pattern, one a byte.
func digitsOf(b []byte, pattern uint64) (uint64, bool) {
	x := binary.LittleEndian.Uint64(b) ^ pattern
	return x, (x|(x+lowNibbles))&highNibbles == 0
}

func two(x uint64, shift uint) int { return int(x>>shift&15)*10 + int(x>>(shift+8)&15) }

// digitsOf lets a separator be off by less than ten; these masks find that.
const (
	dateSeparators  = 0xff0000ff00000000
	clockSeparators = 0x0000ff0000ff0000
)

// isoStamp reads 2006-01-02T15:04:05 and its relatives: slashes, a blank or underscore in the middle, a fraction, a zone.
func isoStamp(b []byte, i int) (s Stamp, ok bool) {
	ok = s.iso(b, i)
	return s, ok
}

func (s *Stamp) iso(b []byte, i int) bool {
	if len(b)-i < 19 {
		return false
	}
	date, ok := digitsOf(b[i:i+8], isoDate)
	if !ok || date&dateSeparators != 0 {
		if date, ok = digitsOf(b[i:i+8], slashDate); !ok || date&dateSeparators != 0 {
			return false
		}
	}
	clock, ok := digitsOf(b[i+11:i+19], isoClock)
	if c := b[i+10]; !ok || clock&clockSeparators != 0 || c != ' ' && c != 'T' && c != 't' && c != '_' {
		return false
	}
	if !isDigit(b[i+8]) || !isDigit(b[i+9]) {
		return false
	}
	year, month, day := two(date, 0)*100+two(date, 16), two(date, 40), int(b[i+8]-'0')*10+int(b[i+9]-'0')
	hour, minute, second := two(clock, 0), two(clock, 24), two(clock, 48)
	if !validDate(year, month, day) || !validClock(hour, minute, second) {
		return false
	}
	s.setDate(year, month, day)
	s.clock, s.At, s.End = int64(hour*3600+minute*60+second), i, i+19
	s.readFraction(b)
	s.readZone(b)
	return true
}

// readClock reads 15:04:05 with its fraction.
func readClock(b []byte, i int) (s Stamp, ok bool) {
	if len(b)-i < 8 {
		return s, false
	}
	clock, ok := digitsOf(b[i:i+8], isoClock)
	hour, minute, second := two(clock, 0), two(clock, 24), two(clock, 48)
	if !ok || clock&clockSeparators != 0 || !validClock(hour, minute, second) {
		return s, false
	}
	s.clock, s.End = int64(hour*3600+minute*60+second), i+8
	s.readFraction(b)
	return s, true
}

// clockStamp reads a time of day alone.
func clockStamp(b []byte, i int) (Stamp, bool) {
	s, ok := readClock(b, i)
	s.Lacks = Date
	return s, ok
}

// readFraction reads the fraction of a second behind the stamp.
func (s *Stamp) readFraction(b []byte) {
	i := s.End
	if i+1 >= len(b) || b[i] != '.' && b[i] != ',' || !isDigit(b[i+1]) {
		return
	}
	i++
	if len(b)-i > 3 { // milliseconds, which most logs have
		if x, y, z := b[i]-'0', b[i+1]-'0', b[i+2]-'0'; y <= 9 && z <= 9 && !isDigit(b[i+3]) {
			s.Nano, s.End = (int32(x)*100+int32(y)*10+int32(z))*1_000_000, i+3
			return
		}
	}
	nano, scale := 0, 100_000_000
	for ; i < len(b) && isDigit(b[i]); i++ {
		nano += int(b[i]-'0') * scale
		scale /= 10
	}
	s.Nano, s.End = int32(nano), i
}

// readZone reads Z, +03:00, +0300, +03, and the same or UTC or GMT behind a blank.
func (s *Stamp) readZone(b []byte) {
	i := s.End
	if i < len(b) && (b[i] == 'Z' || b[i] == 'z') {
		s.Zoned, s.End = true, i+1
		return
	}
	if i < len(b) && b[i] == ' ' {
		i++
		if len(b)-i >= 3 && (string(b[i:i+3]) == "UTC" || string(b[i:i+3]) == "GMT") && (i+3 == len(b) || !isWord(b[i+3])) {
			s.Zoned, s.End = true, i+3
			return
		}
	}
	if i >= len(b) || b[i] != '+' && b[i] != '-' {
		return
	}
	digits, j := 0, i+1
	value := 0
	for ; j < len(b) && digits < 4; j++ {
		if digits == 2 && b[j] == ':' {
			continue
		}
		if !isDigit(b[j]) {
			break
		}
		value = value*10 + int(b[j]-'0')
		digits++
	}
	spaced := i > s.End // "- 12" and "-12 degrees" are no zones
	switch {
	case digits == 4 && value/100 <= 14 && value%100 < 60:
	case digits == 2 && !spaced && value <= 14 && (j == len(b) || !isWord(b[j]) && b[j-1] != ':'):
		value *= 100
	default:
		return
	}
	if j < len(b) && isDigit(b[j]) {
		return
	}
	offset := int32(value/100*3600 + value%100*60)
	if b[i] == '-' {
		offset = -offset
	}
	s.Offset, s.Zoned, s.End = offset, true, j
}

// readNumber reads between low and high digits.
func readNumber(b []byte, i, low, high int) (value, end int) {
	end = i
	for end < len(b) && end-i < high && isDigit(b[end]) {
		value = value*10 + int(b[end]-'0')
		end++
	}
	if end-i < low {
		return 0, 0
	}
	return value, end
}

// dayFirstStamp reads 02/Jan/2006:15:04:05 -0700 of web servers, 02-Jan-2006 15:04:05, 02 Jan 2006 15:04:05,
// 02.01.2006 15:04:05, and 01/02/2006 15:04:05, of which the order of day and month is known only when one is above 12.
func dayFirstStamp(b []byte, i int) (s Stamp, ok bool) {
	day, j := readNumber(b, i, 1, 2)
	if j == 0 || j >= len(b) {
		return s, false
	}
	separator := b[j]
	if separator != '/' && separator != '-' && separator != ' ' && separator != '.' {
		return s, false
	}
	month, next := monthName(b, j+1)
	lacks := Nothing
	if next == 0 {
		if month, next = readNumber(b, j+1, 2, 2); next == 0 || separator == '-' || separator == ' ' {
			return s, false
		}
		switch {
		case separator == '/' && month > 12:
			day, month = month, day
		case separator == '/' && day <= 12 && day != month:
			lacks = Time
		}
	}
	if next >= len(b) || b[next] != separator {
		return s, false
	}
	year, next := readNumber(b, next+1, 4, 4)
	if next == 0 || next >= len(b) || b[next] != ':' && b[next] != ' ' && b[next] != ',' || !validDate(year, month, day) {
		return s, false
	}
	next++
	if next < len(b) && b[next] == ' ' {
		next++
	}
	if s, ok = readClock(b, next); !ok {
		return s, false
	}
	s.setDate(year, month, day)
	s.Lacks = lacks
	s.readZone(b)
	return s, true
}

// monthDayStamp reads 01-02 15:04:05.000 as logcat writes it.
func monthDayStamp(b []byte, i int) (s Stamp, ok bool) {
	month, j := readNumber(b, i, 2, 2)
	if j == 0 || j >= len(b) || b[j] != '-' {
		return s, false
	}
	day, j := readNumber(b, j+1, 2, 2)
	if j == 0 || j >= len(b) || b[j] != ' ' || !validDate(leapYear, month, day) {
		return s, false
	}
	if s, ok = readClock(b, j+1); !ok {
		return s, false
	}
	s.setDate(leapYear, month, day)
	s.Lacks = Year
	return s, true
}

// leapYear stands in for an unknown year, so that 29 February is a date.
const leapYear = 1972

// compactStamp reads 20060102T150405 and 20060102 15:04:05.
func compactStamp(b []byte, i int) (s Stamp, ok bool) {
	date, j := readNumber(b, i, 8, 8)
	if j == 0 || j >= len(b) || b[j] != 'T' && b[j] != ' ' && b[j] != '-' {
		return s, false
	}
	year, month, day := date/10000, date/100%100, date%100
	if year < 1970 || year > 2100 || !validDate(year, month, day) {
		return s, false
	}
	if s, ok = readClock(b, j+1); !ok {
		clock, end := readNumber(b, j+1, 6, 6)
		if end == 0 || !validClock(clock/10000, clock/100%100, clock%100) {
			return s, false
		}
		s = Stamp{clock: int64(clock/10000*3600 + clock/100%100*60 + clock%100), End: end}
		s.readFraction(b)
	}
	s.setDate(year, month, day)
	s.readZone(b)
	return s, true
}

// epochStamp reads a line's leading seconds (10 digits, with or without a fraction), milliseconds (13), microseconds
// (16) or nanoseconds (19) since 1970.
func epochStamp(b []byte, i int) (s Stamp, ok bool) {
	end := i
	for end < len(b) && isDigit(b[end]) {
		end++
	}
	value, after := readNumber(b, i, 10, 19)
	if after != end || end == 0 || end < len(b) && isWord(b[end]) {
		return s, false
	}
	if s, ok = epoch(int64(value), end-i); !ok {
		return s, false
	}
	s.End = end
	if end-i == 10 {
		s.readFraction(b)
	}
	return s, true
}

// epoch makes a stamp of a number with so many digits. Only the years 2001 to 2096 are believed.
func epoch(value int64, digits int) (Stamp, bool) {
	const last = 4_000_000_000
	unit := int64(1)
	switch digits {
	case 10:
	case 13:
		unit = 1e3
	case 16:
		unit = 1e6
	case 19:
		unit = 1e9
	default:
		return Stamp{}, false
	}
	sec := value / unit
	if sec < 1e9 || sec > last {
		return Stamp{}, false
	}
	return Stamp{clock: sec, Nano: int32(value % unit * (1e9 / unit)), Zoned: true}, true
}

// nameStamp reads Jan  2 15:04:05 of syslog, with or without a year in front of or behind the clock, and what begins
// with a weekday: Mon Jan  2 15:04:05 2006, Mon, 02 Jan 2006 15:04:05 MST.
func nameStamp(b []byte, i int) (s Stamp, ok bool) {
	if isWeekday(b, i) {
		i += 3
		for i < len(b) && (b[i] == ',' || b[i] == ' ') {
			i++
		}
		if i < len(b) && isDigit(b[i]) {
			return dayFirstStamp(b, i)
		}
	}
	month, j := monthName(b, i)
	if j == 0 || j >= len(b) || b[j] != ' ' {
		return s, false
	}
	for j < len(b) && b[j] == ' ' {
		j++
	}
	day, j := readNumber(b, j, 1, 2)
	if j == 0 || j >= len(b) || b[j] != ' ' && b[j] != ',' || !validDate(leapYear, month, day) {
		return s, false
	}
	for j < len(b) && (b[j] == ' ' || b[j] == ',') {
		j++
	}
	year := 0
	if value, end := readNumber(b, j, 4, 4); end > 0 && end < len(b) && b[end] == ' ' {
		year, j = value, end+1
	}
	if s, ok = readClock(b, j); !ok {
		return s, false
	}
	if year == 0 && s.End < len(b) && b[s.End] == ' ' {
		if value, end := readNumber(b, s.End+1, 4, 4); end > 0 && (end == len(b) || !isWord(b[end])) && value >= 1970 && value <= 2100 {
			year, s.End = value, end
		}
	}
	if year == 0 {
		year, s.Lacks = leapYear, Year
	}
	if !validDate(year, month, day) {
		return s, false
	}
	s.setDate(year, month, day)
	s.readZone(b)
	return s, true
}

const monthNames = "JanFebMarAprMayJunJulAugSepOctNovDec"

func monthName(b []byte, i int) (month, end int) {
	if len(b)-i < 3 || !isUpper(b[i]) {
		return 0, 0
	}
	at := strings.Index(monthNames, string(b[i:i+3]))
	if at < 0 || at%3 != 0 {
		return 0, 0
	}
	return at/3 + 1, i + 3
}

func isWeekday(b []byte, i int) bool {
	if len(b)-i < 4 || b[i+3] != ' ' && b[i+3] != ',' {
		return false
	}
	switch string(b[i : i+3]) {
	case "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun":
		return true
	}
	return false
}
