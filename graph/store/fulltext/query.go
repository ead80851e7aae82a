package fulltext

import (
	"math"
	"strings"
	"unicode/utf8"
)

// minPrefix is the length in characters from which a word also fits longer words: "like" fits "liked", "a" not "apple".
const minPrefix = 3

// Phrase is tokens that must follow each other. With Prefix the last one may go on.
type Phrase struct {
	Tokens []string
	Prefix bool
}

// Query is what a text looks for: for each of its terms, phrases of which one is enough.
type Query struct {
	Terms [][]Phrase
	All   bool // all terms must be there, instead of one
}

// Parse cuts the text of a query into terms. A word is a term: the word itself or, when it has 3 characters or more, a longer
// one. Of a run in a script without spaces every two characters are a term, or with all the run is: it must be there as
// written. No character has a meaning of its own. Terms that repeat earlier ones are left out, and so is what comes after
// [MaxQuery] bytes or [MaxTerms] tokens.
func Parse(text string, all bool) Query {
	q := Query{All: all}
	seen := map[string]bool{}
	left := MaxTerms
	add := func(phrases ...Phrase) {
		id := strings.Join(phrases[0].Tokens, " ")
		if phrases[0].Prefix {
			id += "*"
		}
		if !seen[id] {
			seen[id] = true
			left -= len(phrases[0].Tokens)
			q.Terms = append(q.Terms, phrases)
		}
	}
	for r := range runs(text[:min(len(text), MaxQuery)]) {
		if left <= 0 {
			break
		}
		if !r.unspaced {
			term := []Phrase{{Tokens: []string{r.text}}}
			if utf8.RuneCountInString(r.text) >= minPrefix {
				term = append(term, Phrase{Tokens: []string{r.text}, Prefix: true})
			}
			add(term...)
			continue
		}
		tokens := pairs(r.text)
		tokens = tokens[:min(left, len(tokens))]
		switch {
		case len(tokens) == 0:
			add(Phrase{Tokens: []string{r.text}, Prefix: true})
		case all:
			add(Phrase{Tokens: tokens})
		default:
			for _, t := range tokens {
				add(Phrase{Tokens: []string{t}})
			}
		}
	}
	return q
}

// Phrases returns the phrases of all terms in order.
func (q Query) Phrases() []Phrase {
	var all []Phrase
	for _, t := range q.Terms {
		all = append(all, t...)
	}
	return all
}

// Count returns how often each of [Query.Phrases] is among tokens, or nil when the query doesn't fit them.
func (q Query) Count(tokens []string) []int {
	var counts []int
	fits := false
	for _, term := range q.Terms {
		n := 0
		for _, p := range term {
			c := p.count(tokens)
			counts = append(counts, c)
			n += c
		}
		if n > 0 {
			fits = true
		} else if q.All {
			return nil
		}
	}
	if !fits {
		return nil
	}
	return counts
}

func (p Phrase) count(tokens []string) int {
	n := 0
	for i := range len(tokens) - len(p.Tokens) + 1 {
		if p.at(tokens[i:]) {
			n++
		}
	}
	return n
}

func (p Phrase) at(tokens []string) bool {
	last := len(p.Tokens) - 1
	for i, want := range p.Tokens {
		if tokens[i] != want && (i < last || !p.Prefix || !strings.HasPrefix(tokens[i], want)) {
			return false
		}
	}
	return true
}

// Ranking scores texts by BM25 as SQLite's FTS5 does, with its constants and its floor for phrases that are in more than half
// of the texts; see https://www.sqlite.org/fts5.html#the_bm25_function.
type Ranking struct {
	idf    []float64
	length float64
}

// NewRanking returns the ranking among a number of texts that have so many tokens together, of which hits[i] hold phrase i.
func NewRanking(texts, tokens int, hits []int) Ranking {
	r := Ranking{length: float64(tokens) / float64(texts)}
	for _, n := range hits {
		idf := math.Log((float64(texts-n) + 0.5) / (float64(n) + 0.5))
		if idf <= 0 {
			idf = 1e-6
		}
		r.idf = append(r.idf, idf)
	}
	return r
}

// Score returns the score of a text of so many tokens that holds phrase i counts[i] times; higher is better.
func (r Ranking) Score(tokens int, counts []int) float64 {
	const k1, b = 1.2, 0.75
	score := 0.0
	for i, n := range counts {
		f := float64(n)
		score += r.idf[i] * ((f * (k1 + 1)) / (f + k1*(1-b+b*float64(tokens)/r.length)))
	}
	return score
}
