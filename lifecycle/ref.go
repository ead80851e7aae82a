package lifecycle

import "github.com/llama-agent/llama-agent/internal/reference"

// Scheme begins every reference.
const Scheme = "memory://"

// Lengths of the opaque part of a reference. The shortest has 65 bits; it grows only when two records would have the same. The
// longest is a whole SHA-256.
const (
	minID  = 13
	maxID  = 52
	growID = 13
)

var refForm = reference.Form{Scheme: Scheme, Shortest: minID, Step: growID, Longest: maxID}

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
func parseID(s string) (id string, ok bool) { return refForm.Parse(s) }
