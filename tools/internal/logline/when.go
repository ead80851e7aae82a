package logline

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A Bound is one end of a span of time, as a user named it.
type Bound struct {
	// nanos is on the log's own clock, or in UTC when zoned.
	nanos  int64
	zoned  bool
	offset int32
	last   bool // the bound is an end, and includes the whole second, minute or day named
}

// WhenForms lists what [ParseBound] takes, for messages.
const WhenForms = `"2006-01-02 15:04:05", "2006-01-02", "15:04", "2006-01-02T15:04:05Z", "30m", "2 hours ago", "today", or "yesterday"`

// ParseBound reads a time as people and models write it. Times of day and relative times count from the last stamp of
// the log, because logs are often read long after: "10m" and "10 minutes ago" are ten minutes before it, and "today" is
// its day. An end (end true) includes all of the second, minute or day that it names. ok is false when the text is no
// time, or needs a last stamp and there is none.
func ParseBound(text string, end bool, last Stamp) (bound Bound, ok bool) {
	text = strings.Trim(strings.TrimSpace(text), `"'`)
	if text == "" || len(text) > 60 {
		return Bound{}, false
	}
	if nanos, precision, s, ok := absolute(text, last); ok {
		return newBound(nanos, precision, end, s), true
	}
	if !last.Known() {
		return Bound{}, false
	}
	const day = 24 * time.Hour
	midnight := last.Nanos() - last.Nanos()%int64(day)
	switch lower := strings.ToLower(text); lower {
	case "now", "end":
		return newBound(last.Nanos(), 1, end, last), true
	case "today":
		return newBound(midnight, day, end, last), true
	case "yesterday":
		return newBound(midnight-int64(day), day, end, last), true
	default:
		if back, ok := parseAgo(lower); ok {
			return newBound(last.Nanos()-int64(back), 1, end, last), true
		}
	}
	return Bound{}, false
}

// newBound makes a bound of a time on the clock of s.
func newBound(nanos int64, precision time.Duration, end bool, s Stamp) Bound {
	b := Bound{nanos: nanos, zoned: s.Zoned, last: end}
	if s.Zoned {
		b.offset = s.Offset
		b.nanos -= int64(s.Offset) * 1e9
	}
	if end {
		b.nanos += int64(precision) - 1
	}
	return b
}

// absolute reads a date, a time of day on the last day of the log, or both. The stamp returned has the zone.
func absolute(text string, last Stamp) (nanos int64, precision time.Duration, zone Stamp, ok bool) {
	b := []byte(text)
	if s := stampAt(b, 0); s.End == len(b) && s.Lacks != Time {
		precision = time.Second
		if s.Nano != 0 {
			precision = 1
		}
		switch s.Lacks {
		case Date:
			return onLastDay(s.Nanos(), precision, last)
		case Year:
			if !last.Known() {
				return 0, 0, s, false
			}
			s = s.Complete(time.Unix(last.Sec(), 0))
			s.Zoned, s.Offset = last.Zoned, last.Offset
		}
		return s.Nanos(), precision, s, true
	}
	if at, err := time.Parse("15:04", text); err == nil {
		return onLastDay(int64(at.Hour())*int64(time.Hour)+int64(at.Minute())*int64(time.Minute), time.Minute, last)
	}
	zone = Stamp{Zoned: last.Zoned, Offset: last.Offset}
	for _, form := range []struct {
		layout    string
		precision time.Duration
	}{
		{"2006-01-02", 24 * time.Hour}, {"2006/01/02", 24 * time.Hour}, {"20060102", 24 * time.Hour}, {"02.01.2006", 24 * time.Hour},
		{"2 Jan 2006", 24 * time.Hour}, {"Jan 2 2006", 24 * time.Hour}, {"Jan 2, 2006", 24 * time.Hour}, {"02/Jan/2006", 24 * time.Hour},
		{"2006-01-02 15:04", time.Minute}, {"2006-01-02T15:04", time.Minute}, {"2006/01/02 15:04", time.Minute},
		{"2006-01-02 15", time.Hour}, {"2006-01-02T15", time.Hour},
	} {
		if at, err := time.Parse(form.layout, text); err == nil {
			return at.UnixNano(), form.precision, zone, true
		}
	}
	if at, err := time.Parse("2006-01-02T15:04Z07:00", text); err == nil {
		_, offset := at.Zone()
		return at.UnixNano() + int64(offset)*1e9, time.Minute, Stamp{Zoned: true, Offset: int32(offset)}, true
	}
	return 0, 0, zone, false
}

// onLastDay places a time of day on the last day of the log.
func onLastDay(ofDay int64, precision time.Duration, last Stamp) (int64, time.Duration, Stamp, bool) {
	if !last.Known() {
		return 0, 0, last, false
	}
	const day = int64(24 * time.Hour)
	return last.Nanos() - last.Nanos()%day + ofDay, precision, last, true
}

// parseAgo reads a length of time: 90s, -15m, 1h30m, 2 days ago, last 30 minutes.
func parseAgo(text string) (time.Duration, bool) {
	text = strings.TrimSpace(strings.TrimSuffix(text, "ago"))
	for _, prefix := range []string{"-", "last ", "past ", "the last ", "the past "} {
		if rest, ok := strings.CutPrefix(text, prefix); ok {
			text = rest
			break
		}
	}
	text = strings.ReplaceAll(strings.ReplaceAll(text, " ", ""), "and", "")
	if unit, ok := timeUnit(text); ok && len(text) > 1 { // the last hour
		return unit, true
	}
	var total time.Duration
	for text != "" {
		digits := 0
		for digits < len(text) && (isDigit(text[digits]) || text[digits] == '.') {
			digits++
		}
		letters := digits
		for letters < len(text) && isLetter(text[letters]) {
			letters++
		}
		count, err := strconv.ParseFloat(text[:digits], 64)
		unit, ok := timeUnit(text[digits:letters])
		if err != nil || !ok || count > 1e6 {
			return 0, false
		}
		total += time.Duration(count * float64(unit))
		text = text[letters:]
	}
	return total, total > 0
}

func timeUnit(word string) (time.Duration, bool) {
	switch word {
	case "ms", "millisecond", "milliseconds":
		return time.Millisecond, true
	case "s", "sec", "secs", "second", "seconds":
		return time.Second, true
	case "m", "min", "mins", "minute", "minutes":
		return time.Minute, true
	case "h", "hr", "hrs", "hour", "hours":
		return time.Hour, true
	case "d", "day", "days":
		return 24 * time.Hour, true
	case "w", "week", "weeks":
		return 7 * 24 * time.Hour, true
	}
	return 0, false
}

// Allows tells whether a stamp is on the bound's side. A bound without zone is compared with the log's own clock; one with
// a zone takes stamps without as UTC. The stamp must be Known and complete.
func (b Bound) Allows(s Stamp) bool {
	nanos := s.Nanos()
	if b.zoned {
		nanos = s.UTC()
	}
	if b.last {
		return nanos <= b.nanos
	}
	return nanos >= b.nanos
}

// Zoned tells that the bound names a moment, and not a time on the log's own clock.
func (b Bound) Zoned() bool { return b.zoned }

// String writes the bound in full, with its zone when it has one. An end that includes a whole second, minute or day is
// shown to the second.
func (b Bound) String() string {
	nanos := b.nanos
	if b.last && nanos%1e9 == 999_999_999 {
		nanos -= 999_999_999
	}
	if b.zoned {
		nanos += int64(b.offset) * 1e9
	}
	return formatNanos(nanos, b.zoned, b.offset)
}

// Describe says how a text was understood: since "10:00" means 2006-01-02 10:00:00.
func (b Bound) Describe(name, text string) string {
	about := ""
	if b.last {
		about = "up to and including "
	}
	return fmt.Sprintf("%s %q means %s%s", name, text, about, b)
}
