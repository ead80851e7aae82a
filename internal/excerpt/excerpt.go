package excerpt

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"unicode/utf8"
)

// Limits of what is looked at.
const (
	// MaxText is how many bytes of a text are read: of a longer one as many from its end as from its beginning.
	MaxText = 2 << 20
	// MaxAbout is how many bytes of a question are read.
	MaxAbout = 4 << 10
	// MaxPiece is the length of a piece in bytes: longer lines are cut, preferably at a blank.
	MaxPiece = 240
)

// Constants of BM25; see Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009, for the formula
// and the usual values.
const (
	saturation = 1.2
	lengthBias = 0.75
)

// neighbour is the share of its score that a piece lends to those beside it: a value often stands below its heading.
const neighbour = 0.3

// weak is the share of the best score below which a piece is not shown beside one that is near: it would only draw the eye away. Less than
// [neighbour], so that what stands beside the best is shown.
const weak = 0.25

// Piece is a line of a text, or a part of a long one.
type Piece struct {
	Line   int    // number of the line, from 1
	Offset int    // of its first byte in the text
	Text   string // as it stands there, without the line's end
	// Share is how much of the weight of all words of the question the piece holds, 0 to 1. Words that are nowhere in the text weigh
	// most, so that a text on something else has no piece with a large share.
	Share float64
}

// Near is the share from which on a piece is likely to be about the question. It is this program's own choice: on made journals and
// reports the line that was asked about has 0.3 to 0.8, and others have less than 0.2.
const Near = 0.3

// IsNear reports whether one of the pieces is likely to be about the question.
func IsNear(pieces []Piece) bool {
	return slices.ContainsFunc(pieces, func(p Piece) bool { return p.Share >= Near })
}

// First returns the nearest pieces for the first of several questions that has a piece that is near, else for the one whose best piece
// has the largest share. Questions in other words or another language than the text have none.
func First(text []byte, chars int, questions ...string) []Piece {
	var best []Piece
	share := -1.0
	for i, question := range questions {
		if slices.Contains(questions[:i], question) {
			continue // the text may be long
		}
		pieces := Nearest(text, question, chars)
		if IsNear(pieces) {
			return pieces
		}
		for _, p := range pieces {
			if p.Share > share {
				best, share = pieces, p.Share
			}
		}
	}
	return best
}

// Nearest returns the pieces of text that share most with about, in the order of the text and of at most chars characters
// together. Rare words of the text weigh more than common ones. It returns nothing when they have no word in common. Invalid
// UTF-8 is passed on. The same input gives the same pieces.
func Nearest(text []byte, about string, chars int) []Piece {
	wanted := wordsOf(about[:min(len(about), MaxAbout)])
	if len(wanted) == 0 || chars <= 0 {
		return nil
	}
	s := search{wanted: wanted, in: make([]int, len(wanted))}
	if len(text) <= MaxText {
		s.scan(text, 0, 1)
	} else {
		half := MaxText / 2
		s.scan(text[:half], 0, 1)
		from := len(text) - half
		from += bytes.IndexByte(text[from:], '\n') + 1 // a whole line, if there is an end
		s.scan(text[from:], from, 1+bytes.Count(text[:from], []byte{'\n'}))
	}
	return s.best(chars)
}

// search collects the pieces that hold a wanted word.
type search struct {
	wanted map[uint64]int // hash of a word → its number
	in     []int          // by word: pieces that hold it
	pieces int
	words  int
	found  []hit
}

// hit is a piece that holds wanted words, or lies beside one that does.
type hit struct {
	line, offset int
	text         []byte
	number       int // of the piece
	counts       map[int]int
	words        int
	score, share float64
}

// scan reads the lines of text, which begins at byte offset in line number line.
func (s *search) scan(text []byte, offset, line int) {
	last, kept := -2, -1 // numbers of the last piece with a wanted word, and of the last that was kept
	before := hit{number: -1}
	for len(text) > 0 {
		end := bytes.IndexByte(text, '\n')
		whole := end + 1
		if end < 0 {
			end, whole = len(text), len(text)
		}
		rest := bytes.TrimSuffix(text[:end], []byte{'\r'})
		at := offset
		for len(rest) > 0 {
			n := pieceLength(rest)
			h := s.read(rest[:n], at, line)
			wanted := h.counts != nil
			if wanted && kept < before.number {
				s.found = append(s.found, before)
			}
			if wanted || last == h.number-1 {
				s.found = append(s.found, h)
				kept = h.number
			}
			if wanted {
				last = h.number
			}
			before = h
			at, rest = at+n, rest[n:]
		}
		offset += whole
		text = text[whole:]
		line++
	}
}

// read counts the wanted words of a piece.
func (s *search) read(piece []byte, offset, line int) hit {
	h := hit{line: line, offset: offset, text: piece, number: s.pieces}
	eachWord(piece, func(word uint64) {
		h.words++
		if i, ok := s.wanted[word]; ok {
			if h.counts == nil {
				h.counts = map[int]int{}
			}
			h.counts[i]++
		}
	})
	for i := range h.counts {
		s.in[i]++
	}
	s.pieces++
	s.words += h.words
	return h
}

// best scores what was found and returns the best pieces that fit.
func (s *search) best(chars int) []Piece {
	if len(s.found) == 0 {
		return nil
	}
	average := float64(s.words) / float64(s.pieces)
	all := 0.0
	for word := range s.in {
		all += s.weight(word)
	}
	own := make([]float64, len(s.found))
	for i, h := range s.found {
		norm := saturation * (1 - lengthBias + lengthBias*float64(h.words)/average)
		for word := range s.in { // in order, so that the sum is always the same
			if n := float64(h.counts[word]); n > 0 {
				own[i] += s.weight(word) * n * (saturation + 1) / (n + norm)
				s.found[i].share += s.weight(word) / all
			}
		}
	}
	for i := range s.found {
		lent := 0.0
		if i > 0 && s.found[i-1].number == s.found[i].number-1 {
			lent = own[i-1]
		}
		if i+1 < len(s.found) && s.found[i+1].number == s.found[i].number+1 {
			lent = max(lent, own[i+1])
		}
		s.found[i].score = own[i] + neighbour*lent
	}
	slices.SortFunc(s.found, func(a, b hit) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.number, b.number))
	})
	var chosen []Piece
	least := 0.0
	if s.found[0].share >= Near {
		least = weak * s.found[0].score
	}
	for _, h := range s.found {
		size := utf8.RuneCount(h.text)
		if size > chars || h.score < least {
			continue
		}
		chars -= size
		chosen = append(chosen, Piece{Line: h.line, Offset: h.offset, Text: string(h.text), Share: h.share})
	}
	slices.SortFunc(chosen, func(a, b Piece) int { return cmp.Compare(a.Offset, b.Offset) })
	return chosen
}

// weight is the inverse document frequency of a wanted word, never below 0.
func (s *search) weight(word int) float64 {
	in := float64(s.in[word])
	return math.Log(1 + (float64(s.pieces)-in+0.5)/(in+0.5))
}

// pieceLength returns how much of the rest of a line is one piece.
func pieceLength(rest []byte) int {
	if len(rest) <= MaxPiece {
		return len(rest)
	}
	n := MaxPiece
	if blank := bytes.LastIndexByte(rest[:n], ' '); blank >= MaxPiece/2 {
		return blank + 1
	}
	for n > MaxPiece-utf8.UTFMax && !utf8.RuneStart(rest[n]) {
		n--
	}
	return n
}
