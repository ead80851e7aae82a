package engine

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// textTracker turns the bytes of sampled tokens into text and decides when a reply ends. It holds back what may still
// become part of a character or of a stop word, so that the deltas it gives out, joined, are always the final text.
type textTracker struct {
	stops   []string
	json    *jsonEnd // nil: the reply is not constrained to one JSON object
	pending []byte   // not yet given out
	stopped bool
}

// push adds bytes and returns the text that is now certain. After stopped is set nothing more may be pushed.
func (t *textTracker) push(piece []byte) string {
	if t.json != nil {
		if n, end := t.json.push(piece); end {
			piece = piece[:n]
			t.stopped = true
		}
	}
	t.pending = append(t.pending, piece...)
	if i, ok := firstStop(t.pending, t.stops); ok {
		t.pending = t.pending[:i]
		t.stopped = true
	}
	if t.stopped {
		return t.flush()
	}
	certain := t.pending[:len(t.pending)-stopHold(t.pending, t.stops)]
	return t.take(len(certain) - runeHold(certain))
}

// flush gives out the rest; the bytes of an unfinished character at its end are dropped.
func (t *textTracker) flush() string {
	out := t.take(len(t.pending) - runeHold(t.pending))
	t.pending = nil
	return out
}

// take gives out n bytes. Each byte that belongs to no character becomes one U+FFFD: one for a run of them, as
// strings.ToValidUTF8 gives, would make the text depend on where the bytes are cut.
func (t *textTracker) take(n int) string {
	out := string(t.pending[:n])
	if !utf8.ValidString(out) {
		out = string([]rune(out))
	}
	t.pending = append(t.pending[:0], t.pending[n:]...)
	return out
}

// firstStop finds the stop word that is complete first, and of several that end there the longest. The word that begins
// first would be another one when the text comes in pieces: "b" of "abc" and "b" is seen before the "c" is there.
func firstStop(text []byte, stops []string) (int, bool) {
	at, end := -1, 0
	for _, s := range stops {
		if s == "" {
			continue
		}
		if i := bytes.Index(text, []byte(s)); i >= 0 && (at < 0 || i+len(s) < end || i+len(s) == end && i < at) {
			at, end = i, i+len(s)
		}
	}
	return at, at >= 0
}

// stopHold is the length of the longest end of text that begins a stop word.
func stopHold(text []byte, stops []string) int {
	hold := 0
	for _, s := range stops {
		for n := min(len(s)-1, len(text)); n > hold; n-- {
			if strings.HasPrefix(s, string(text[len(text)-n:])) {
				hold = n
				break
			}
		}
	}
	return hold
}

// runeHold is the number of bytes at the end of text that begin a character without finishing it.
func runeHold(text []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		b := text[len(text)-n]
		if utf8.RuneStart(b) {
			if b >= utf8.RuneSelf && !utf8.FullRune(text[len(text)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}

// jsonEnd finds the end of one JSON object or array. A grammar only allows the end-of-generation token after it; seeing
// the end here saves the decode that would sample that token.
type jsonEnd struct {
	depth         int
	inString, esc bool
}

// push reads bytes; when the value ends among them, n is the number of bytes up to and with its end.
func (j *jsonEnd) push(b []byte) (n int, end bool) {
	for i, c := range b {
		switch {
		case j.esc:
			j.esc = false
		case j.inString:
			switch c {
			case '\\':
				j.esc = true
			case '"':
				j.inString = false
			}
		case c == '"':
			j.inString = true
		case c == '{' || c == '[':
			j.depth++
		case c == '}' || c == ']':
			if j.depth--; j.depth == 0 {
				return i + 1, true
			}
		}
	}
	return len(b), false
}
