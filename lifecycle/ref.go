package lifecycle

import (
	"encoding/base32"
	"strings"
)

// Scheme begins every reference.
const Scheme = "memory://"

// Lengths of the opaque part of a reference. The shortest has 65 bits; it grows only when two records would have the same. The
// longest is a whole SHA-256.
const (
	minID  = 13
	maxID  = 52
	growID = 13
)

// idCoding has no letters that are easily mistaken for digits.
var idCoding = base32.NewEncoding(idAlphabet).WithPadding(base32.NoPadding)

const idAlphabet = "0123456789abcdefghjkmnpqrstvwxyz"

// ParseRef returns a reference in the form in which [Record] has it, and whether s can be one. It accepts one without its scheme and
// in capital letters. It says nothing about whether the record exists.
func ParseRef(s string) (ref string, ok bool) {
	id, ok := parseID(s)
	if !ok {
		return "", false
	}
	return Scheme + id, true
}

// parseID returns the opaque part of a reference. What it lets through has only letters and digits.
func parseID(s string) (id string, ok bool) {
	if len(s) > len(Scheme)+maxID {
		return "", false
	}
	lower := []byte(s) // of ASCII alone: other letters may have ASCII ones as their lower case
	for i, c := range lower {
		if 'A' <= c && c <= 'Z' {
			lower[i] = c + 'a' - 'A'
		}
	}
	id = strings.TrimPrefix(string(lower), Scheme)
	if len(id) < minID || len(id)%growID != 0 {
		return "", false
	}
	for i := range len(id) {
		if strings.IndexByte(idAlphabet, id[i]) < 0 {
			return "", false
		}
	}
	return id, true
}
