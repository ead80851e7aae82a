package tools

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A finder finds a text with letter case ignored, in any amount of text and without a copy of it. It does not change and
// is safe for concurrent use.
type finder struct {
	query string
	text  []byte // the query
	// cased tells that the query has letters with two cases, so that a match may differ from it.
	cased bool
	// For a query in ASCII: lower is it in lower case, and two neighbours of it at pair are looked for in eight places at
	// once. first and second are these bytes, eight times each, and the masks the case bits that are ignored.
	lower                 []byte
	pair                  int
	first, second         uint64
	firstMask, secondMask uint64
	starts                [][]byte // for any other query: the spellings of its first character
}

const (
	everyByte = 0x0101010101010101
	highBits  = 0x8080808080808080
	caseBit   = 0x20
)

// newFinder makes a finder of a query that is not empty.
func newFinder(query string) *finder {
	f := &finder{query: query, text: []byte(query), cased: strings.ToLower(query) != strings.ToUpper(query)}
	if isASCII(query) && len(query) > 1 {
		f.lower = []byte(strings.ToLower(query))
		f.pair = rarestPair(f.lower)
		f.first, f.firstMask = spread(f.lower[f.pair])
		f.second, f.secondMask = spread(f.lower[f.pair+1])
		return f
	}
	r, size := utf8.DecodeRuneInString(query)
	f.starts = [][]byte{f.text[:size]}
	for other := unicode.SimpleFold(r); other != r && r != utf8.RuneError; other = unicode.SimpleFold(other) {
		f.starts = append(f.starts, []byte(string(other)))
	}
	return f
}

func spread(c byte) (pattern, mask uint64) {
	if c >= 'a' && c <= 'z' {
		mask = caseBit * everyByte
	}
	return uint64(c) * everyByte, mask
}

// frequentLetters are in the order of their frequency in logs, the most frequent first.
const frequentLetters = "e tairnosdcl0m1pu-.h2g/:=_fb3w4y5v6k7890xjqz"

// rarestPair returns where the two neighbours begin that are found least often in text.
func rarestPair(lower []byte) int {
	best, bestScore := 0, -1
	for i := range len(lower) - 1 {
		score := rarity(lower[i]) + rarity(lower[i+1])
		if score > bestScore {
			best, bestScore = i, score
		}
	}
	return best
}

func rarity(c byte) int {
	if i := strings.IndexByte(frequentLetters, c); i >= 0 {
		return i
	}
	return len(frequentLetters)
}

// find returns the first match at or behind a position, or -1.
func (f *finder) find(text []byte, from int) (start, end int) {
	if f.lower == nil {
		return f.findAny(text, from)
	}
	n := len(f.lower)
	last := len(text) - n + f.pair // the last place of the pair
	i := from + f.pair
	for ; i+9 <= len(text) && i <= last; i += 8 {
		first := binary.LittleEndian.Uint64(text[i:])
		second := binary.LittleEndian.Uint64(text[i+1:])
		off := ((first | f.firstMask) ^ f.first) | ((second | f.secondMask) ^ f.second)
		// A byte of off is zero where both fit. The test may also flag bytes above one that is.
		for zero := (off - everyByte) &^ off & highBits; zero != 0; zero &= zero - 1 {
			at := i + bits.TrailingZeros64(zero)/8 - f.pair
			if at+n <= len(text) && equalFoldASCII(text[at:at+n], f.lower) {
				return at, at + n
			}
		}
	}
	for ; i <= last; i++ {
		if at := i - f.pair; equalFoldASCII(text[at:at+n], f.lower) {
			return at, at + n
		}
	}
	return -1, -1
}

// equalFoldASCII compares with a text in lower case.
func equalFoldASCII(text, lower []byte) bool {
	for i, want := range lower {
		c := text[i]
		if c >= 'A' && c <= 'Z' {
			c |= caseBit
		}
		if c != want {
			return false
		}
	}
	return true
}

// findAny finds the spellings of the first character one after the other, and compares what follows.
func (f *finder) findAny(text []byte, from int) (start, end int) {
	next := make([]int, len(f.starts)) // of each spelling; -1 at the end
	for i, spelling := range f.starts {
		next[i] = indexFrom(text, spelling, from)
	}
	for {
		which := -1
		for i, at := range next {
			if at >= 0 && (which < 0 || at < next[which]) {
				which = i
			}
		}
		if which < 0 {
			return -1, -1
		}
		at := next[which]
		if n := foldPrefix(text[at:], f.query); n > 0 {
			return at, at + n
		}
		next[which] = indexFrom(text, f.starts[which], at+1)
	}
}

func indexFrom(text, what []byte, from int) int {
	if i := bytes.Index(text[from:], what); i >= 0 {
		return from + i
	}
	return -1
}

// foldPrefix returns the length of what text begins with that is the query with letter case ignored, or 0.
func foldPrefix(text []byte, query string) int {
	n := 0
	for _, want := range query {
		r, size := utf8.DecodeRune(text[n:])
		if size == 0 || r != want && !sameFold(r, want) || r == utf8.RuneError && size == 1 {
			return 0
		}
		n += size
	}
	return n
}

func sameFold(a, b rune) bool {
	for r := unicode.SimpleFold(a); r != a; r = unicode.SimpleFold(r) {
		if r == b {
			return true
		}
	}
	return false
}
