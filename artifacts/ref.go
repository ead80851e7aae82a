package artifacts

import (
	"encoding/base32"
	"strings"
)

// scheme begins every reference.
const scheme = "artifact://"

// Lengths of the opaque part of a reference. The shortest has 40 bits, which a small model copies without a slip; it grows only
// when an owner has two artifacts whose references would be equal. The longest is a whole SHA-256.
const (
	minID  = 8
	maxID  = 52
	growID = 4
)

// idCoding has no letters that are easily mistaken for digits.
var idCoding = base32.NewEncoding(idAlphabet).WithPadding(base32.NoPadding)

const idAlphabet = "0123456789abcdefghjkmnpqrstvwxyz"

// ParseRef returns a reference in the form in which [Artifact] has it, and whether s can be one. It accepts one without its
// scheme and in capital letters. It says nothing about whether the artifact exists.
func ParseRef(s string) (ref string, ok bool) {
	id, ok := parseID(s)
	if !ok {
		return "", false
	}
	return scheme + id, true
}

// parseID returns the opaque part of a reference. What it lets through has only letters and digits.
func parseID(s string) (id string, ok bool) {
	if len(s) > len(scheme)+maxID {
		return "", false
	}
	id = strings.TrimPrefix(asciiLower(s), scheme)
	if len(id) < minID || len(id) > maxID || (len(id)-minID)%growID != 0 {
		return "", false
	}
	for i := range len(id) {
		if strings.IndexByte(idAlphabet, id[i]) < 0 {
			return "", false
		}
	}
	return id, true
}

// asciiLower leaves what is not ASCII alone: some of it has ASCII letters as its lower case.
func asciiLower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}
