package artifacts

import "github.com/llama-agent/llama-agent/internal/reference"

// scheme begins every reference.
const scheme = "artifact://"

// Lengths of the opaque part of a reference. The shortest has 40 bits, which a small model copies without a slip; it grows only
// when an owner has two artifacts whose references would be equal. The longest is a whole SHA-256.
const (
	minID  = 8
	maxID  = 52
	growID = 4
)

var refForm = reference.Form{Scheme: scheme, Shortest: minID, Step: growID, Longest: maxID}

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
func parseID(s string) (id string, ok bool) { return refForm.Parse(s) }
