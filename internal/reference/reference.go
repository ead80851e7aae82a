// Package reference reads the references under which stores keep what a prompt only mentions: a scheme and an opaque part, which is
// the beginning of a digest. It knows no store.
package reference

import (
	"encoding/base32"
	"strings"
)

// Alphabet are the characters of the opaque part: no letters that are easily mistaken for digits.
const Alphabet = "0123456789abcdefghjkmnpqrstvwxyz"

// Coding writes a digest in the [Alphabet].
var Coding = base32.NewEncoding(Alphabet).WithPadding(base32.NoPadding)

// Form is what the references of a store look like. The opaque part has Shortest characters, or Step more as often as it takes to
// tell it from others, up to Longest.
type Form struct {
	Scheme                  string // such as "memory://"
	Shortest, Step, Longest int    // characters
}

// Parse returns the opaque part of a reference, and whether s can be one. It accepts one without its scheme and in capital letters;
// what it lets through has only characters of the [Alphabet].
func (f Form) Parse(s string) (id string, ok bool) {
	if len(s) > len(f.Scheme)+f.Longest {
		return "", false
	}
	lower := []byte(s) // of ASCII alone: other letters may have ASCII ones as their lower case
	for i, c := range lower {
		if 'A' <= c && c <= 'Z' {
			lower[i] = c + 'a' - 'A'
		}
	}
	id = strings.TrimPrefix(string(lower), f.Scheme)
	if len(id) < f.Shortest || len(id) > f.Longest || (len(id)-f.Shortest)%f.Step != 0 {
		return "", false
	}
	for i := range len(id) {
		if strings.IndexByte(Alphabet, id[i]) < 0 {
			return "", false
		}
	}
	return id, true
}
