package lifecycle

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// countFacts counts the different facts in text, at most limit; see [Importance]. It takes time proportional to the text.
func countFacts(text string, limit int) int {
	f := facts{seen: map[string]bool{}, begins: true}
	for len(text) > 0 && len(f.seen) < limit {
		r, size := utf8.DecodeRuneInString(text)
		if quoted, rest, ok := cutQuoted(text); ok {
			f.seen[strings.ToLower(quoted)] = true
			f.begins = false
			text = rest
			continue
		}
		if separates(r) {
			f.separator(r)
			text = text[size:]
			continue
		}
		n := tokenLength(text)
		f.token(text[:n])
		text = text[n:]
	}
	return len(f.seen)
}

// facts collects facts from left to right.
type facts struct {
	seen   map[string]bool
	begins bool // a token that comes now begins a sentence
}

// separator takes a character between tokens.
func (f *facts) separator(r rune) {
	switch {
	case r == '\n' || strings.ContainsRune("。．！？；", r):
		f.begins = true
	case unicode.In(r, unspacedScripts...):
		f.begins = false
	}
}

// token takes characters that are not separated, with what may be written around them.
func (f *facts) token(token string) {
	const around = "\"'`´‘’“”„«»‹›()[]{}<>*_~#,;:!?…|="
	open := strings.TrimLeft(token, around+"-")
	bare := strings.TrimRight(open, around+".")
	end := open[len(bare):]
	if bare != "" {
		if isFact(bare, f.begins) {
			f.seen[strings.ToLower(bare)] = true
		}
		f.begins = false
	}
	if strings.ContainsAny(end, ".!?…") || strings.ContainsFunc(end, isQuestionMark) {
		f.begins = true
	}
}

// isFact judges a token without what is written around it.
func isFact(token string, begins bool) bool {
	switch {
	case strings.ContainsFunc(token, unicode.IsNumber), strings.Contains(token, "://"), isAddress(token), isPath(token):
		return true
	}
	first, size := utf8.DecodeRuneInString(token)
	rest := token[size:]
	if strings.ContainsFunc(rest, isCapital) || strings.Contains(rest, "_") {
		return true // an identifier, or an abbreviation
	}
	// A letter alone is no name, as in "I" and "I'm".
	second, _ := utf8.DecodeRuneInString(rest)
	return !begins && isCapital(first) && unicode.In(second, unicode.L, unicode.M)
}

func isCapital(r rune) bool { return unicode.IsUpper(r) || unicode.IsTitle(r) }

// isAddress reports whether a token looks like name@example.org.
func isAddress(token string) bool {
	name, domain, ok := strings.Cut(token, "@")
	return ok && name != "" && strings.Contains(strings.Trim(domain, "."), ".")
}

// isPath reports whether a token looks like a path or the name of a file or host. What is merely joined by a slash or a full stop,
// as in "and/or" and "e.g.", does not.
func isPath(token string) bool {
	if strings.ContainsRune(token, '\\') || strings.Count(token, "/") > 1 {
		return true
	}
	for _, root := range []string{"/", "./", "../", "~/"} {
		if rest, ok := strings.CutPrefix(token, root); ok && rest != "" {
			return true
		}
	}
	name := token[strings.LastIndexByte(token, '/')+1:]
	dot := strings.LastIndexByte(name, '.')
	if dot < 0 {
		return false
	}
	stem, extension := name[:dot], name[dot+1:]
	if len(extension) == 0 || len(extension) > 10 || strings.ContainsFunc(extension, func(r rune) bool { return r >= utf8.RuneSelf || !isWordRune(r) }) {
		return false
	}
	return stem == "" || len(extension) > 1 || utf8.RuneCountInString(stem[strings.LastIndexByte(stem, '.')+1:]) > 1
}

// quotes are pairs of marks around a quotation. The ASCII apostrophe is none of them, nor is an English closing quote alone.
var quotes = []struct{ open, end string }{
	{`"`, `"`},
	{"`", "`"},
	{"“", "”"},
	{"„", "“"},
	{"„", "”"},
	{"”", "”"},
	{"«", "»"},
	{"»", "«"},
	{"「", "」"},
	{"『", "』"},
	{"《", "》"},
	{"‘", "’"},
	{"＂", "＂"},
}

// maxQuoted is how long a quotation may be to be a fact, in bytes; what is longer is a text that happens to be quoted.
const maxQuoted = 300

// cutQuoted returns the quotation that text begins with.
func cutQuoted(text string) (quoted, rest string, ok bool) {
	for _, q := range quotes {
		after, found := strings.CutPrefix(text, q.open)
		if !found {
			continue
		}
		end := strings.Index(after[:min(len(after), maxQuoted)], q.end)
		if end > 0 && strings.TrimSpace(after[:end]) != "" && !strings.Contains(after[:end], "\n") {
			return after[:end], after[end+len(q.end):], true
		}
	}
	return "", "", false
}

// unspacedScripts are written without spaces between words, so that a token of another script ends where they begin.
var unspacedScripts = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Tibetan,
}

// dateUnits follow the numbers of a date or time, and belong to it.
const dateUnits = "年月日号號时時点點分秒년월일시분초"

// separates reports whether a rune is no part of a token: a space, a letter of a script without spaces, or its punctuation.
func separates(r rune) bool {
	if unicode.IsSpace(r) || strings.ContainsRune("，。、；：？！．（）【】｛｝「」『』《》〈〉～・،؛", r) {
		return true
	}
	return unicode.In(r, unspacedScripts...) && !unicode.IsNumber(r)
}

// tokenLength returns the bytes of the token that text begins with, at least one character. It ends before what separates and before
// a quotation.
func tokenLength(text string) int {
	afterDigit := false
	for i, r := range text {
		if afterDigit && strings.ContainsRune(dateUnits, r) {
			continue // 2026年3月 is one date
		}
		if i > 0 && (separates(r) || strings.ContainsRune("\"`“„«「『《", r)) {
			return i
		}
		afterDigit = unicode.IsNumber(r)
	}
	return len(text)
}

func isWordRune(r rune) bool { return unicode.In(r, unicode.L, unicode.M, unicode.N) }

func isGreek(r rune) bool { return unicode.Is(unicode.Greek, r) }

func lastRune(s string) (rune, int) { return utf8.DecodeLastRuneInString(s) }
