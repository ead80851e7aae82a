// Package cells is the paper that the full-screen interface draws on: styled text, its width in the columns of a
// terminal, wrapping and clipping by grapheme clusters, and grids of cells. Everything here is a value; nothing writes
// to a terminal or reads from one.
//
// Text may come from anywhere. Every function that measures or draws makes it inert first (see [Clean]), so escape
// sequences, control bytes, direction marks and markup of other libraries ([red]) are shown as text and never obeyed.
package cells

import "strings"

// Role says what a text is, not how it looks; a theme maps roles to colours.
type Role uint8

// The roles. The zero value is ordinary text.
const (
	Text Role = iota
	Muted
	Accent
	Good
	Warn
	Bad
	Code
	Quote
	Heading
	Link
	Selection
	Border
	Title
	User
	Number
)

var roleNames = [...]string{
	"text", "muted", "accent", "good", "warn", "bad", "code", "quote", "heading", "link", "selection", "border", "title", "user",
	"number",
}

// String returns the name of the role in lower case.
func (r Role) String() string {
	if int(r) < len(roleNames) {
		return roleNames[r]
	}
	return "unknown"
}

// Attr is a set of attributes of text.
type Attr uint8

// The attributes, to be combined with |.
const (
	Bold Attr = 1 << iota
	Italic
	Underline
	Dim
	Reverse
	Strike
)

var attrNames = [...]string{"bold", "italic", "underline", "dim", "reverse", "strike"}

// String returns the names of the attributes joined by +, and "" for none.
func (a Attr) String() string {
	var names []string
	for i, name := range attrNames {
		if a&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, "+")
}

// Style is how a text is shown. The zero value is ordinary text.
type Style struct {
	Role Role
	Attr Attr
}

// With returns the style with further attributes.
func (s Style) With(a Attr) Style {
	s.Attr |= a
	return s
}

// As returns the style with another role and the same attributes.
func (s Style) As(r Role) Style {
	s.Role = r
	return s
}

// String returns role and attributes joined by +, such as "heading+bold".
func (s Style) String() string {
	if s.Attr == 0 {
		return s.Role.String()
	}
	return s.Role.String() + "+" + s.Attr.String()
}
