// Package fulltext cuts text into the tokens that stores index, and queries into what they look for among them. It needs no
// dictionary and no model, and works for every script in the same text.
//
// Text is folded first: compatibility forms become plain ones (full-width letters, ligatures), accents are dropped, case is
// folded. Then
//   - letters, digits and their marks that follow each other are one token, as in "gpt4" or "naïve" → "naive";
//   - in scripts written without spaces between words (Han, Kana, Hangul, Thai and their like) every character begins a token
//     of two characters, and the last one of a run is a token alone: 冰淇淋 → 冰淇 淇淋 淋. Any part of a run is found that
//     way, also a single character, which is the beginning of a token;
//   - everything else separates.
//
// Tokens hold letters, digits and marks only; those among them that are ASCII are a-z and 0-9. A token is cut after
// [MaxToken] characters.
//
// The package does not know about items or databases. Stores of other modules use it to find what the stores of this one do.
package fulltext

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Limits. What is beyond them is not indexed or not looked for.
const (
	MaxToken  = 64      // characters of a token
	MaxTokens = 1 << 16 // tokens of an item
	MaxText   = 1 << 20 // bytes of text of an item
	MaxTerms  = 64      // tokens of a query
	MaxQuery  = 1 << 16 // bytes of a query
)

// Tokens returns the tokens of one text.
func Tokens(text string) []string {
	var s Segmenter
	s.Add(text)
	return s.Tokens()
}

// Segmenter collects the tokens of several texts. The zero value is ready for use, by one goroutine.
type Segmenter struct {
	tokens []string
	bytes  int // of text seen
}

// Add appends the tokens of a text. No token reaches from one text into the next.
func (s *Segmenter) Add(text string) {
	text = text[:min(len(text), MaxText-s.bytes)]
	s.bytes += len(text)
	for r := range runs(text) {
		if len(s.tokens) >= MaxTokens {
			return
		}
		if !r.unspaced {
			s.tokens = append(s.tokens, r.text)
			continue
		}
		s.tokens = append(s.tokens, pairs(r.text)...)
		_, size := utf8.DecodeLastRuneInString(r.text)
		s.tokens = append(s.tokens, r.text[len(r.text)-size:])
	}
}

// Tokens returns the tokens collected so far.
func (s *Segmenter) Tokens() []string { return s.tokens[:min(len(s.tokens), MaxTokens)] }

// run is a word, or characters of scripts without spaces.
type run struct {
	text     string
	unspaced bool
}

// runs yields the runs of a text in order.
func runs(text string) iter.Seq[run] {
	return func(yield func(run) bool) {
		text := fold(text)
		start, kind := 0, separator
		end := func(i int) bool {
			if kind == separator {
				return true
			}
			return yield(cut(text[start:i], kind == unspaced))
		}
		for i, r := range text {
			k := kindOf(r)
			if k == mark {
				if k = kind; k == separator {
					continue // a mark without a letter
				}
			}
			if k != kind {
				if !end(i) {
					return
				}
				start, kind = i, k
			}
		}
		end(len(text))
	}
}

// cut limits a word to MaxToken characters; runs without spaces are cut into tokens anyway.
func cut(text string, unspaced bool) run {
	if !unspaced && len(text) > MaxToken {
		n := 0
		for i := range text {
			if n++; n > MaxToken {
				text = text[:i]
				break
			}
		}
	}
	return run{text, unspaced}
}

// pairs returns all two characters of text that follow each other.
func pairs(text string) []string {
	var tokens []string
	prev, at := 0, 0
	for i := range text {
		if i == 0 {
			continue
		}
		if at > 0 {
			tokens = append(tokens, text[prev:i])
			prev = at
		}
		at = i
	}
	if at > 0 {
		tokens = append(tokens, text[prev:])
	}
	return tokens
}

type kind int

const (
	separator kind = iota
	word
	unspaced
	mark // belongs to what is before it
)

// scripts written without spaces between words, or, as Korean, with particles glued to them.
var scripts = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo, unicode.Yi,
	unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Tibetan,
}

// longVowel lengthens the kana before it and belongs to no script.
const longVowel = 'ー'

func kindOf(r rune) kind {
	switch {
	case 'a' <= r && r <= 'z', '0' <= r && r <= '9':
		return word
	case r < utf8.RuneSelf:
		return separator
	case r == longVowel:
		return unspaced
	case unicode.IsLetter(r), unicode.IsMark(r), unicode.Is(unicode.Nd, r), unicode.Is(unicode.Nl, r):
		if unicode.In(r, scripts...) && !unicode.Is(unicode.Nd, r) {
			return unspaced
		}
		if unicode.IsMark(r) {
			return mark
		}
		return word
	}
	return separator
}

// fold brings text into the form that is compared.
func fold(text string) string {
	if isASCII(text) {
		return strings.ToLower(text)
	}
	text = strings.Map(func(r rune) rune {
		if ignored(r) {
			return -1
		}
		return r
	}, norm.NFKD.String(text))
	return norm.NFC.String(cases.Fold().String(text))
}

// ignored reports whether a rune of decomposed text doesn't count: accents, the vowel signs of Hebrew and Arabic, which are
// mostly left out in writing, variation selectors, and characters without a look, but for the space without a width.
func ignored(r rune) bool {
	switch {
	case 0x0300 <= r && r <= 0x036F, 0x0591 <= r && r <= 0x05C7 && unicode.IsMark(r), 0x0610 <= r && r <= 0x061A, r == 0x0640,
		0x064B <= r && r <= 0x065F, r == 0x0670:
		return true
	case r == '\u200B':
		return false
	}
	return unicode.Is(unicode.Variation_Selector, r) || unicode.Is(unicode.Cf, r)
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
