package lifecycle

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// A Record is something that a prompt shows only in part, or not any more. It is a value; the store keeps nothing of it.
type Record struct {
	// Ref is the reference, such as memory://k3v9x2abqwe7t. It follows from the owner, kind, key, name, text and data, so that a
	// task that is run again gets the same. Copies for other owners keep it.
	Ref   string `json:"ref"`
	Owner string `json:"owner"` // the conversation or thread; empty: everybody, only for memories
	Kind  Kind   `json:"kind"`
	Key   string `json:"key"` // the caller's, unique within owner and kind; of a memory it is normalised

	Name    string `json:"name,omitempty"` // what it is about, in one line of at most 300 bytes
	Text    string `json:"text,omitempty"` // all of it, byte for byte
	Data    []byte `json:"data,omitempty"` // an attached object, byte for byte, such as a tool's result as JSON; nil when empty
	Summary string `json:"summary,omitempty"`

	Importance float64   `json:"importance"` // above 0, at most 1; see [Importance]
	Created    time.Time `json:"created"`    // when it was put, to the microsecond
	Order      int64     `json:"order"`      // its place in time, such as the number of the turn
	Bytes      int       `json:"bytes"`      // of Text and Data, also where these are left out
}

// Bounds of a record.
const (
	maxName  = 300       // bytes
	maxBytes = 256 << 20 // of text, and of data
)

// prepared returns a record as it is stored, or why it cannot be.
func (r Record) prepared(now time.Time) (Record, error) {
	if err := checkOwner(r.Owner); err != nil {
		return r, err
	}
	switch {
	case r.Kind == KindMemory:
		return r, invalid("kind", "is memory; memories are stored by remembering them")
	case !r.Kind.known():
		return r, invalid("kind", "is %q, which is none", string(r.Kind))
	case r.Key == "":
		return r, invalid("key", "is empty")
	case math.IsNaN(r.Importance) || r.Importance <= 0 || r.Importance > 1:
		return r, invalid("importance", "is %v; it must be above 0 and at most 1", r.Importance)
	case len(r.Text) > maxBytes:
		return r, invalid("text", "has %d bytes; at most %d are allowed", len(r.Text), maxBytes)
	case len(r.Data) > maxBytes:
		return r, invalid("data", "has %d bytes; at most %d are allowed", len(r.Data), maxBytes)
	}
	if err := checkID("key", r.Key, maxKey); err != nil {
		return r, err
	}
	r.Name = oneLine(r.Name, maxName)
	if len(r.Data) == 0 {
		r.Data = nil
	}
	if r.Created.IsZero() {
		r.Created = now
	}
	r.Created = r.Created.UTC().Truncate(time.Microsecond)
	return r, nil
}

// oneLine returns s as valid UTF-8 with a space in place of every run of spaces and control characters, cut after limit bytes at a
// whole character.
func oneLine(s string, limit int) string {
	s = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, "\uFFFD"), func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
	if len(s) <= limit {
		return s
	}
	const ellipsis = "…"
	end := limit - len(ellipsis)
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + ellipsis
}

// sealed is a SHA-256 of fields, each after its length.
func sealed(fields ...[]byte) []byte {
	h := sha256.New()
	for _, field := range fields {
		h.Write(number(int64(len(field))))
		h.Write(field)
	}
	return h.Sum(nil)
}

func number(n int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }
