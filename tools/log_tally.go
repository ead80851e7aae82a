package tools

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/llama-agent/llama-agent/tools/internal/logline"
)

const (
	// maxPatterns and maxValues bound how many message patterns, and values of a field, are told apart at a time.
	maxPatterns = 8000
	maxValues   = 8000
	// maxMessageBytes of a message decide its pattern, and maxPatternBytes of the pattern are kept.
	maxMessageBytes = 400
	maxPatternBytes = 200
)

// A logTally is the pass of aggregate_log_errors: it counts what a log has of everything.
type logTally struct {
	lines, records, continued, blank, unparsed int
	firstUnparsed                              int // its line; 0 when there is none
	levels                                     [logline.Levels]int
	fromStatus                                 bool // there are levels that follow from an HTTP status
	first, last                                logline.Stamp
	patterns                                   tallies
	fields                                     [logline.Fields]tallies
	names                                      tallies // in messages of errors
	named                                      tallies // the same of each pattern: its key, a zero byte, the name

	flow  logline.Flow
	level logline.Level // of the record that lines continue
	line  logline.Line
	key   []byte
	// lastTimed is the last record with a stamp among those being taken; nil outside of that.
	lastTimed []byte
}

func newTally() *logTally {
	t := &logTally{patterns: newTallies(maxPatterns), names: newTallies(maxValues), named: newTallies(maxValues)}
	for i := range t.fields {
		t.fields[i] = newTallies(maxValues)
	}
	return t
}

func (t *logTally) fork() logPass { return newTally() }

func (t *logTally) take(data []byte) {
	// Pairs are found over all lines at once: a search in each line would take more time than the rest.
	pairs := logline.ScanPairs(data)
	field, value, found := pairs.Next()
	for at := 0; at < len(data); {
		line, next := nextLine(data, at)
		at = next
		role := t.takeLine(line)
		bad := t.level >= logline.Error && (role == logline.Record || role == logline.Continues)
		for found && pairs.At() <= next {
			t.fields[field].add(value, value, t.lines, bad)
			field, value, found = pairs.Next()
		}
		if len(line) > 0 && line[0] == '{' {
			t.takeFields(logline.ScanKeys(line), bad)
		}
	}
	t.keepLast()
}

// keepLast keeps the stamp of the last record with one. Keeping that of each would take longer than to parse one again.
func (t *logTally) keepLast() {
	if t.lastTimed != nil {
		t.last = logline.Parse(t.lastTimed).Stamp
		t.lastTimed = nil
	}
}

func (t *logTally) takeFields(scan logline.FieldScan, bad bool) {
	for {
		field, value, ok := scan.Next()
		if !ok {
			return
		}
		t.fields[field].add(value, value, t.lines, bad)
	}
}

// takeLine counts a line, or the beginning of a long one.
func (t *logTally) takeLine(line []byte) logline.Role {
	t.lines++
	l := &t.line
	l.Parse(line)
	role := t.flow.Next(line, l)
	switch role {
	case logline.Record:
		t.records++
		t.level = l.Level
		t.levels[l.Level]++
		t.fromStatus = t.fromStatus || l.Form == logline.Access && l.Level != logline.NoLevel
		if l.Stamp.Known() {
			if t.first.End == 0 {
				t.first = l.Stamp
			}
			t.lastTimed = line
		}
		if l.Level >= logline.Warn || l.Level == logline.NoLevel {
			t.takeMessage(l.MessageText(line), l.Form)
		}
		if host := line[l.Host:l.HostEnd]; l.Level >= logline.Error && len(host) > 0 {
			t.addName(host)
		}
	case logline.Continues:
		t.continued++
	case logline.Blank:
		t.blank++
	case logline.Unparsed:
		t.unparsed++
		if t.firstUnparsed == 0 {
			t.firstUnparsed = t.lines
		}
	}
	return role
}

// takeMessage counts the message of a record under its pattern. The key of a pattern begins with its level.
func (t *logTally) takeMessage(message []byte, form logline.Form) {
	if end := bytes.IndexByte(message, '\n'); end >= 0 {
		message = message[:end]
	}
	for n := len(message); n > 0 && (message[n-1] == ' ' || message[n-1] == '\t' || message[n-1] == '\r'); n-- {
		message = message[:n-1]
	}
	if len(message) > maxMessageBytes {
		message = wholeRunes(message[:maxMessageBytes])
	}
	t.key = append(t.key[:0], byte(t.level))
	if form == logline.Access {
		t.key = logline.MaskRequest(t.key, message)
	} else {
		t.key = logline.Mask(t.key, message)
	}
	if len(t.key) > 1+maxPatternBytes {
		t.key = append(wholeRunes(t.key[:1+maxPatternBytes]), "…"...)
	}
	t.patterns.add(t.key, message, t.lines, t.level >= logline.Error)
	if t.level >= logline.Error && form != logline.Access {
		logline.Names(message, t.addName)
	}
}

// addName counts a name of the message that was taken last.
func (t *logTally) addName(name []byte) {
	t.names.add(name, name, t.lines, true)
	key := len(t.key)
	t.key = append(append(t.key, 0), name...)
	t.named.add(t.key, name, t.lines, true)
	t.key = t.key[:key]
}

// namesByPattern are the names in the messages of each pattern, the most frequent first.
func (t *logTally) namesByPattern() map[string][]LogValue {
	out := map[string][]LogValue{}
	for key, found := range t.named.byKey {
		end := strings.LastIndexByte(key, 0) // a text has no zero byte
		out[key[:end]] = append(out[key[:end]], LogValue{
			Value: validText(key[end+1:]), Count: found.total, Errors: found.bad, FirstLine: found.first, LastLine: found.last,
		})
	}
	for _, names := range out {
		slices.SortFunc(names, func(a, b LogValue) int {
			return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Value, b.Value))
		})
	}
	return out
}

// takePart understands a long line by its first part, and finds fields in each.
func (t *logTally) takePart(part []byte, first, _ bool) {
	if first {
		t.takeLine(trimCR(part))
		t.keepLast()
	}
	bad := t.level >= logline.Error
	t.takeFields(logline.ScanPairs(part), bad)
	if first && part[0] == '{' {
		t.takeFields(logline.ScanKeys(part), bad)
	}
}

func (t *logTally) join(fork logPass) {
	f := fork.(*logTally) //nolint:forcetypeassert // a pass joins its own forks
	if t.firstUnparsed == 0 && f.firstUnparsed > 0 {
		t.firstUnparsed = t.lines + f.firstUnparsed
	}
	t.patterns.join(&f.patterns, t.lines)
	t.names.join(&f.names, t.lines)
	t.named.join(&f.named, t.lines)
	for i := range t.fields {
		t.fields[i].join(&f.fields[i], t.lines)
	}
	t.lines += f.lines
	t.records += f.records
	t.continued += f.continued
	t.blank += f.blank
	t.unparsed += f.unparsed
	for i, n := range f.levels {
		t.levels[i] += n
	}
	t.fromStatus = t.fromStatus || f.fromStatus
	if t.first.End == 0 {
		t.first = f.first
	}
	if f.last.End > 0 {
		t.last = f.last
	}
	if f.lines > 0 {
		t.flow, t.level = f.flow, f.level
	}
	*f = logTally{patterns: f.patterns, fields: f.fields, names: f.names, named: f.named, key: f.key}
}

// tallies counts things by their key, at most limit of them at a time. Beyond that, the rarest are given up, and their
// counts added to lost.
type tallies struct {
	limit int
	byKey map[string]*tally
	lost  int
}

// A tally is what is known of the lines with one key.
type tally struct {
	total, bad  int
	first, last int    // lines
	example     string // the first text, or the beginning of it
	same        bool   // all texts are the example
}

func newTallies(limit int) tallies { return tallies{limit: limit, byKey: map[string]*tally{}} }

// add counts a text under its key.
func (c *tallies) add(key, text []byte, line int, bad bool) {
	found := c.byKey[string(key)]
	if found == nil {
		c.prune()
		found = &tally{first: line, example: string(text), same: true}
		c.byKey[string(key)] = found
	} else if found.same && found.example != string(text) {
		found.same = false
	}
	found.total++
	found.last = line
	if bad {
		found.bad++
	}
}

// join adds the counts of other, whose lines begin behind offset, and empties it.
func (c *tallies) join(other *tallies, offset int) {
	for key, more := range other.byKey {
		more.first += offset
		more.last += offset
		found := c.byKey[key]
		if found == nil {
			c.byKey[key] = more
			continue
		}
		found.same = found.same && more.same && found.example == more.example
		found.total += more.total
		found.bad += more.bad
		found.last = more.last
	}
	c.lost += other.lost
	clear(other.byKey)
	other.lost = 0
	c.prune()
}

// prune gives up the rarest keys when there are more than limit, until half of them are left.
func (c *tallies) prune() {
	if len(c.byKey) <= c.limit {
		return
	}
	for rare := 1; len(c.byKey) > c.limit/2; rare *= 2 {
		for key, found := range c.byKey {
			if found.total <= rare {
				c.lost += found.total
				delete(c.byKey, key)
			}
		}
	}
}

// sorted returns the keys, the most frequent first; those of bad lines count more. Equal ones are in order of first line.
func (c *tallies) sorted() []string {
	return slices.SortedFunc(maps.Keys(c.byKey), func(a, b string) int {
		x, y := c.byKey[a], c.byKey[b]
		return cmp.Or(cmp.Compare(y.bad, x.bad), cmp.Compare(y.total, x.total), cmp.Compare(x.first, y.first), cmp.Compare(a, b))
	})
}
