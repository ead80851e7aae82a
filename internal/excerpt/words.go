package excerpt

import (
	"unicode"
	"unicode/utf8"
)

// maxStem is how many characters of a word without digits are compared, so that its endings do not matter.
const maxStem = 6

// FNV-1a, see http://www.isthe.com/chongo/tech/comp/fnv/: words are compared by their hash, which needs no copies of them. Two
// words with one hash cost a line too many.
const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
)

// wordsOf numbers the words of a question.
func wordsOf(about string) map[uint64]int {
	words := map[uint64]int{}
	eachWord([]byte(about), func(word uint64) {
		if _, known := words[word]; !known {
			words[word] = len(words)
		}
	})
	return words
}

// eachWord calls do with the hash of each word: a run of letters and digits, or in scripts without spaces each two characters
// that follow each other. Case does not matter.
func eachWord(text []byte, do func(uint64)) {
	w := wordHash{do: do}
	for i := 0; i < len(text); {
		if c := text[i]; c < utf8.RuneSelf {
			i++
			switch {
			case 'a' <= c && c <= 'z':
				w.letter(rune(c))
			case 'A' <= c && c <= 'Z':
				w.letter(rune(c) + 'a' - 'A')
			case '0' <= c && c <= '9':
				w.digit(rune(c))
			default:
				w.end()
			}
			continue
		}
		r, n := utf8.DecodeRune(text[i:])
		i += n
		switch {
		case unspaced(r):
			w.sign(r)
		case unicode.IsLetter(r), unicode.IsMark(r):
			w.letter(unicode.ToLower(r))
		case unicode.IsDigit(r):
			w.digit(r)
		default:
			w.end()
		}
	}
	w.end()
}

// unspaced tells the scripts that are written without spaces between words.
func unspaced(r rune) bool {
	return r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// wordHash hashes the word that is being read.
type wordHash struct {
	do         func(uint64)
	whole      uint64 // of all its characters
	stem       uint64 // of its first ones
	characters int
	digits     bool
	before     rune // the sign before, in a script without spaces
}

func (w *wordHash) letter(r rune) {
	w.before = 0
	if w.characters == 0 {
		w.whole, w.stem = fnvOffset, fnvOffset
	}
	w.whole = (w.whole ^ uint64(r)) * fnvPrime
	if w.characters < maxStem {
		w.stem = w.whole
	}
	w.characters++
}

func (w *wordHash) digit(r rune) {
	w.letter(r)
	w.digits = true
}

func (w *wordHash) end() {
	w.before = 0
	switch {
	case w.characters == 0:
		return
	case w.digits:
		w.do(w.whole)
	case w.characters > 1:
		w.do(w.stem)
	}
	w.characters, w.digits = 0, false
}

func (w *wordHash) sign(r rune) {
	before := w.before
	w.end()
	w.before = r
	if before != 0 {
		w.do(((fnvOffset^uint64(before))*fnvPrime ^ uint64(r)) * fnvPrime)
	}
}
