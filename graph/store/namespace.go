package store

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits of what a store takes. Lengths are in bytes.
const (
	MaxDepth   = 32      // elements of a namespace
	MaxElement = 512     // an element
	MaxKey     = 1024    // a key
	MaxValue   = 8 << 20 // a value, as JSON
	MaxField   = 1024    // a path of a field
)

// Namespace is the folder of an item, outermost element first, such as {"users", "42", "memories"}. It has 1 to [MaxDepth]
// elements. Elements and keys are valid UTF-8, not empty, and hold no NUL; any other character is just a character.
type Namespace []string

// Any stands for any one element in a [NamespaceQuery]. It can't be an element itself, so no name that comes from outside
// can turn into it.
const Any = "\x00"

// Compare orders namespaces element by element, by bytes; a namespace comes before those below it.
func (n Namespace) Compare(m Namespace) int { return slices.Compare(n, m) }

// HasPrefix reports whether n is prefix or below it.
func (n Namespace) HasPrefix(prefix Namespace) bool {
	return len(n) >= len(prefix) && slices.Equal(n[:len(prefix)], prefix)
}

// Validate returns a [*NameError] when n can't be the namespace of an item.
func (n Namespace) Validate() error {
	if len(n) == 0 {
		return &NameError{What: "namespace", Reason: "has no elements; give it at least one"}
	}
	return n.validatePrefix(false)
}

// validatePrefix allows no elements, and with wild also [Any].
func (n Namespace) validatePrefix(wild bool) error {
	if len(n) > MaxDepth {
		return &NameError{What: "namespace", Name: strings.Join(n, "/"), Reason: fmt.Sprintf("has %d elements; at most %d are allowed", len(n), MaxDepth)}
	}
	for i, e := range n {
		if wild && e == Any {
			continue
		}
		if err := validateName(fmt.Sprintf("namespace element %d", i+1), e, MaxElement); err != nil {
			return err
		}
	}
	return nil
}

// ValidateKey returns a [*NameError] when key can't be the key of an item.
func ValidateKey(key string) error { return validateName("key", key, MaxKey) }

func validateName(what, name string, limit int) error {
	bad := &NameError{What: what, Name: name}
	switch {
	case name == "":
		bad.Reason = "is empty"
	case len(name) > limit:
		bad.Reason = fmt.Sprintf("has %d bytes; at most %d are allowed", len(name), limit)
	case strings.IndexByte(name, 0) >= 0:
		bad.Reason = "holds a NUL character"
	case !utf8.ValidString(name):
		bad.Reason = "is not valid UTF-8"
	default:
		return nil
	}
	return bad
}

func validUTF8(data []byte) bool { return utf8.Valid(data) }

// NamespaceQuery selects namespaces. Elements of Prefix and Suffix that are [Any] match any one element. The zero value
// selects all.
type NamespaceQuery struct {
	Prefix   Namespace // namespaces begin with it
	Suffix   Namespace // and end with it
	MaxDepth int       // longer ones are cut to so many elements; 0: none is cut
	Limit    int       // at most so many; 0: all
	Offset   int       // without the first so many
}

// Validate returns an error that is [ErrInvalid] when the query breaks a limit.
func (q NamespaceQuery) Validate() error {
	if err := q.Prefix.validatePrefix(true); err != nil {
		return err
	}
	if err := q.Suffix.validatePrefix(true); err != nil {
		return err
	}
	if q.MaxDepth < 0 {
		return &QueryError{What: "maximal depth", Reason: fmt.Sprintf("is %d; it must not be negative", q.MaxDepth)}
	}
	return validatePage(q.Limit, q.Offset)
}

// Select returns what the query makes of a namespace: the namespace, cut to the maximal depth, and whether it is selected.
func (q NamespaceQuery) Select(ns Namespace) (Namespace, bool) {
	if len(ns) < len(q.Prefix) || len(ns) < len(q.Suffix) {
		return nil, false
	}
	tail := ns[len(ns)-len(q.Suffix):]
	if !matchElements(q.Prefix, ns) || !matchElements(q.Suffix, tail) {
		return nil, false
	}
	if q.MaxDepth > 0 && len(ns) > q.MaxDepth {
		ns = ns[:q.MaxDepth]
	}
	return slices.Clone(ns), true
}

func matchElements(pattern, ns Namespace) bool {
	for i, e := range pattern {
		if e != Any && e != ns[i] {
			return false
		}
	}
	return true
}

func validatePage(limit, offset int) error {
	if limit < 0 {
		return &QueryError{What: "limit", Reason: fmt.Sprintf("is %d; it must not be negative, and 0 stands for all", limit)}
	}
	if offset < 0 {
		return &QueryError{What: "offset", Reason: fmt.Sprintf("is %d; it must not be negative", offset)}
	}
	return nil
}
