package editor

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Candidate is something that a word can become.
type Candidate struct {
	Kind        string // such as "command" or "file", for the reader
	Text        string // the whole word
	Description string // one line, for the reader
	Suffix      string // what is put behind the word when it is accepted, such as a space
}

// Match is a candidate that fits the query.
type Match struct {
	Candidate
	// Marks are the offsets in Text of the characters that are those of the query, in their order.
	Marks []int
	rank  int
}

// maxMatches is how many matches a popup holds.
const maxMatches = 1000

// The ranks of matches, the best first.
const (
	exact = iota
	prefix
	prefixFold  // but for upper and lower case
	segmentFold // the query is the beginning of a part of the text, as of the name in a path
	insideFold
	scattered // the characters of the query are in the text, in their order
	noMatch
)

// Popup is the list of what the word at the cursor can become. The zero value is closed. It is not safe for concurrent
// use.
type Popup struct {
	matches   []Match
	selected  int
	query     string
	dismissed bool // by the user, until the query changes
}

// Update shows the candidates that fit a query, the best first: what begins with it before what contains it, then the
// shorter, then in the order of candidates. What was selected stays selected as long as it fits. The popup is
// closed where nothing fits, or where the only match is the query itself.
func (p *Popup) Update(query string, candidates []Candidate) {
	if query != p.query {
		p.dismissed = false
	}
	before, had := p.Selected()
	moved := had && p.selected > 0
	p.query, p.matches, p.selected = query, Filter(query, candidates), 0
	if len(p.matches) == 1 && p.matches[0].Text == query {
		p.matches = nil
	}
	if !moved {
		return
	}
	for i, m := range p.matches {
		if m.Candidate == before {
			p.selected = i
		}
	}
}

// Filter returns the candidates that fit a query, the best first.
func Filter(query string, candidates []Candidate) []Match {
	var out []Match
	for _, c := range candidates {
		if rank, marks := fits(query, c.Text); rank < noMatch {
			out = append(out, Match{c, marks, rank})
		}
	}
	slices.SortStableFunc(out, func(a, b Match) int {
		if query == "" {
			return 0 // everything fits alike
		}
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(utf8.RuneCountInString(a.Text), utf8.RuneCountInString(b.Text)))
	})
	return out[:min(len(out), maxMatches)]
}

// Open tells whether there is something to choose from.
func (p *Popup) Open() bool { return len(p.matches) > 0 && !p.dismissed }

// Dismiss closes the popup until the query changes.
func (p *Popup) Dismiss() { p.dismissed = true }

// Close empties the popup.
func (p *Popup) Close() { *p = Popup{} }

// Matches returns what fits, the best first. The slice belongs to the popup until its next Update.
func (p *Popup) Matches() []Match {
	if !p.Open() {
		return nil
	}
	return p.matches
}

// Selected returns the match that would be accepted.
func (p *Popup) Selected() (Candidate, bool) {
	if !p.Open() {
		return Candidate{}, false
	}
	return p.matches[p.selected].Candidate, true
}

// Move selects another match: the next with 1, the one before with -1. Behind the last comes the first.
func (p *Popup) Move(step int) {
	if n := len(p.matches); n > 0 {
		p.selected = ((p.selected+step)%n + n) % n
	}
}

// Select selects the match with an index, as a click does, and tells whether there is one.
func (p *Popup) Select(index int) bool {
	if !p.Open() || index < 0 || index >= len(p.matches) {
		return false
	}
	p.selected = index
	return true
}

// Window returns which matches are visible in a height, so that the selected one is: those from first on, and which of
// them is selected.
func (p *Popup) Window(height int) (visible []Match, first, selected int) {
	matches := p.Matches()
	if height <= 0 || len(matches) == 0 {
		return nil, 0, 0
	}
	first = min(max(p.selected-height/2, 0), max(len(matches)-height, 0))
	return matches[first:min(first+height, len(matches))], first, p.selected - first
}

// Accept puts the selected match with its suffix in place of the word at the cursor and closes the popup. It tells
// whether there was one.
func (p *Popup) Accept(e *Editor) bool {
	c, ok := p.Selected()
	if ok {
		e.ReplaceWord(c.Text + c.Suffix)
		p.Close()
	}
	return ok
}

// Word returns the word at the cursor: what of it is before the cursor, which is the query for candidates, the whole of it, and
// whether it is the first word of the text. A word ends at white space.
func (e *Editor) Word() (query, word string, first bool) {
	e.init()
	from, to := e.word()
	line := e.line()
	first = from.line == 0 && strings.TrimSpace(line[:from.at]) == ""
	return line[from.at:e.cursor.at], line[from.at:to.at], first
}

// ReplaceWord puts text in place of the word at the cursor, as one step of undo. A space at the end of text is left out
// where one stands already.
func (e *Editor) ReplaceWord(text string) {
	e.init()
	from, to := e.word()
	if strings.HasSuffix(text, " ") && strings.HasPrefix(e.line()[to.at:], " ") {
		to.at++
	}
	e.undo.seal()
	e.edit(from, to, text)
	e.undo.seal()
}

// word returns the beginning and the end of the word at the cursor.
func (e *Editor) word() (from, to place) {
	line := e.line()
	from, to = e.cursor, e.cursor
	from.at = strings.LastIndexFunc(line[:from.at], unicode.IsSpace) + 1
	if from.at > 0 { // the index is that of the first byte of the space
		_, size := utf8.DecodeRuneInString(line[from.at-1:])
		from.at += size - 1
	}
	if end := strings.IndexFunc(line[to.at:], unicode.IsSpace); end >= 0 {
		to.at += end
	} else {
		to.at = len(line)
	}
	return from, to
}

// fits returns how well a text fits a query, and where.
func fits(query, text string) (int, []int) {
	switch {
	case query == "":
		return prefix, nil
	case text == query:
		return exact, marks(text, 0, len(query))
	case strings.HasPrefix(text, query):
		return prefix, marks(text, 0, len(query))
	}
	folded, offsets := fold(text)
	wanted, _ := fold(query)
	rank, at := noMatch, -1
	for i := 0; i+len(wanted) <= len(folded); i++ {
		if !slices.Equal(folded[i:i+len(wanted)], wanted) {
			continue
		}
		r := insideFold
		switch {
		case i == 0:
			r = prefixFold
		case !unicode.IsLetter(folded[i-1]) && !unicode.IsNumber(folded[i-1]):
			r = segmentFold
		}
		if r < rank {
			rank, at = r, i
		}
	}
	if at >= 0 {
		return rank, offsets[at : at+len(wanted)]
	}
	var found []int
	for i, r := range folded {
		if len(found) < len(wanted) && r == wanted[len(found)] {
			found = append(found, offsets[i])
		}
	}
	if len(found) < len(wanted) {
		return noMatch, nil
	}
	return scattered, found
}

// marks returns the offsets of the characters of a part of a text.
func marks(text string, from, to int) []int {
	var out []int
	for i := range text[from:to] {
		out = append(out, from+i)
	}
	return out
}

// fold returns the characters of a text in lower case, and the offset of each.
func fold(text string) ([]rune, []int) {
	runes := make([]rune, 0, len(text))
	offsets := make([]int, 0, len(text))
	for i, r := range text {
		runes = append(runes, unicode.ToLower(r))
		offsets = append(offsets, i)
	}
	return runes, offsets
}
