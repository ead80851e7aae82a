package gbnf

// Grammar is a parsed grammar. It does not change and may be shared between goroutines.
type Grammar struct{ root *rule }

// rule is a list of alternatives; groups and repeated elements are rules without a name.
type rule struct {
	name    string
	defined bool
	alts    []*sequence
}

// sequence is one alternative.
type sequence []element

// element is a set of characters, or a rule that comes least to most times in a row.
type element struct {
	chars       *charSet // nil: rule is set
	rule        *rule
	least, most int // most < 0: without a limit
}

// charSet is a set of code points.
type charSet struct {
	ranges   []span
	inverted bool
}

// span holds the code points lo to hi.
type span struct{ lo, hi rune }

func (s *charSet) has(c rune) bool {
	for _, r := range s.ranges {
		if r.lo <= c && c <= r.hi {
			return !s.inverted
		}
	}
	return s.inverted
}

// only returns the one member of a set.
func (s *charSet) only() (rune, bool) {
	if s.inverted || len(s.ranges) == 0 {
		return 0, false
	}
	first := s.ranges[0].lo
	for _, r := range s.ranges {
		if r.lo != first || r.hi != first {
			return 0, false
		}
	}
	return first, true
}
