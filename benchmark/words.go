package benchmark

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// ContainsWord reports whether text has word as a whole word: beside it stand no letters, digits, '-' or '_'. Han and kana
// signs are words of their own, so they bound others, and a word of them is found inside a longer one.
//
// What a reader takes for the same is the same: letters of either case, of full width and with composed accents, typographic apostrophes and hyphens,
// white space of any kind and number, escaped underscores, and emphasis inside a phrase. A word that is a number is found
// however it is written: 1234 as 1,234, 12.50 as 12.5; but not as part of a longer number, such as 18 in 18.5 or 118. A version
// such as 2.10 is therefore to be expected with a letter or three parts. Units that are written to a number without a space,
// and plurals, are other words.
func ContainsWord(text, word string) bool {
	text, word = folded(text), folded(word)
	switch {
	case word == "":
		return true
	case numberPattern.MatchString(word):
		return containsNumber(text, word)
	case strings.Contains(word, " "):
		text, word = emphasis.Replace(text), emphasis.Replace(word)
	}
	for from := 0; ; {
		i := strings.Index(text[from:], word)
		if i < 0 {
			return false
		}
		i += from
		if alone(text, i, i+len(word)) {
			return true
		}
		_, size := utf8.DecodeRuneInString(text[i:])
		from = i + size
	}
}

var (
	numberPattern = regexp.MustCompile(`^\d+(\.\d+)?$`)
	digitsPattern = regexp.MustCompile(`\d+(\.\d+)*`)
	groupPattern  = regexp.MustCompile(`\d[\d,'\x{a0}\x{202f}\x{2009}]*\d`)
	groupsPattern = regexp.MustCompile(`^\d{1,3}(,\d{3})+$|^\d{1,3}('\d{3})+$|^\d{1,3}([\x{a0}\x{202f}\x{2009}]\d{3})+$`)

	spellings = strings.NewReplacer("’", "'", "‘", "'", "ʼ", "'", "\u2010", "-", "\u2011", "-", "\u2212", "-",
		"\u00ad", "", "\u200b", "", "\u2060", "", "\ufeff", "", `\_`, "_")
	emphasis = strings.NewReplacer("*", "", "`", "")
	grouping = strings.NewReplacer(",", "", "'", "", "\u00a0", "", "\u202f", "", "\u2009", "")
)

// folded writes text in one of the ways that a reader takes for the same.
func folded(text string) string {
	text = norm.NFC.String(spellings.Replace(strings.ToValidUTF8(text, "\ufffd")))
	text = strings.Map(func(r rune) rune {
		// Signs of full width. The comma stays: it parts what is listed, and never the thousands of a number.
		if '！' <= r && r <= '～' && r != '，' {
			return r - '！' + '!'
		}
		return r
	}, text)
	text = groupPattern.ReplaceAllStringFunc(text, func(digits string) string {
		if groupsPattern.MatchString(digits) {
			return grouping.Replace(digits)
		}
		return digits
	})
	return strings.Join(strings.Fields(strings.ToLower(text)), " ")
}

// containsNumber looks for a number with the value of word among the numbers of text.
func containsNumber(text, word string) bool {
	for _, at := range digitsPattern.FindAllStringIndex(text, -1) {
		digits := text[at[0]:at[1]]
		if numberPattern.MatchString(digits) && plainNumber(digits) == plainNumber(word) && alone(text, at[0], at[1]) {
			return true
		}
	}
	return false
}

// plainNumber leaves out zeros that end a fraction. Zeros in front stay: 007 is no number to count with.
func plainNumber(digits string) string {
	if strings.Contains(digits, ".") {
		return strings.TrimSuffix(strings.TrimRight(digits, "0"), ".")
	}
	return digits
}

// alone reports whether text[from:to] is no part of a longer word or number.
func alone(text string, from, to int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:from])
	after, _ := utf8.DecodeRuneInString(text[to:])
	first, _ := utf8.DecodeRuneInString(text[from:to])
	last, _ := utf8.DecodeLastRuneInString(text[from:to])
	return !joined(before, first) && !joined(last, after) && !decimal(text[:from], text[to:], first, last)
}

// joined reports whether two neighbours belong to one word.
func joined(a, b rune) bool { return wordRune(a) && wordRune(b) }

func wordRune(r rune) bool {
	if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) {
		return false
	}
	return r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
}

// decimal reports whether a number is only part of a longer one: 31 in 31.5, 9 in 1,009.
func decimal(before, after string, first, last rune) bool {
	separates := func(b byte) bool { return b == '.' || b == ',' }
	digit := func(b byte) bool { return '0' <= b && b <= '9' }
	n := len(before)
	return unicode.IsDigit(last) && len(after) >= 2 && separates(after[0]) && digit(after[1]) ||
		unicode.IsDigit(first) && n >= 2 && separates(before[n-1]) && digit(before[n-2])
}
