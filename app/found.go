package app

import (
	"cmp"
	"context"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/llama-agent/llama-agent/agent"
	"github.com/llama-agent/llama-agent/tools"
)

const (
	// maxLookedBytes bounds how much of one file is looked through for the words of a task, and maxLookedTotal how much of all.
	maxLookedBytes = 1 << 20
	maxLookedTotal = 16 << 20
	// nearLines is how many lines of a file are taken for one place.
	nearLines = 3
	// minFoundWords is how many words of a task must stand in one place to be worth a hint: one alone is chance.
	minFoundWords = 2
	// maxFound bounds how many files are hinted at.
	maxFound = 3
	// minWordRunes is the length from which a word says something; shorter ones are mostly grammar.
	minWordRunes = 3
	// minStemRunes is what is left at least of a word without its ending.
	minStemRunes = 4
)

// commonWords are words of questions, in the languages with blanks that the agent is mostly asked in, and say nothing of what they are about.
var commonWords = wordSet(`all and any are ask but can did does for get got had has her his how its let may new not now off old one
our out own per put say see set she the too try two use via was way who why yes yet you about again also another answer anyone anything anyway been before being both could does doing done each else every
everything exactly file files find folder from give going have hello here into just keep know last like line lines list log logs look many more most much must name
need next only other over please really said same says show should some somebody somewhere something tell than thanks that their them then there these
they thing things think this those through time times together under used using value very want were what when where whether which whole whose will with
without would your`)

func wordSet(text string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(text) {
		set[word] = true
	}
	return set
}

// found looks for the words of a goal in the text files of the workspace and in what is known of its databases, and returns the files that have several of them in one place,
// the best first. A small model goes by the names of files, which often say nothing of what stands in them.
func found(ctx context.Context, workspace, goal string, files []agent.File) []agent.Found {
	order, words := wordsOf(goal)
	root, err := os.OpenRoot(workspace)
	if err != nil || len(words) < minFoundWords {
		return nil
	}
	defer func() { _ = root.Close() }()
	type candidate struct {
		path  string
		words []string
	}
	var candidates []candidate
	frequency := map[string]float64{} // files that have the word
	left := maxLookedTotal
	for _, f := range files {
		if ctx.Err() != nil || left <= 0 {
			return nil
		}
		text := f.Detail // of a database: its tables, columns and some of their values
		if tools.SubjectOf(f.Kind, f.Path).IsText() && f.Kind != "gzip" {
			text = beginning(root, f.Path, min(left, maxLookedBytes))
		}
		left -= len(text)
		text = strings.ToLower(text)
		together, all := placesOf(strings.ToLower(f.Path), text, order)
		for word := range all {
			frequency[word]++
		}
		if distinctWords(together) >= minFoundWords {
			candidates = append(candidates, candidate{f.Path, together})
		}
	}
	weight := func(c candidate) float64 {
		sum := 0.0
		for _, word := range c.words {
			sum += 1 / frequency[word]
		}
		return sum
	}
	slices.SortStableFunc(candidates, func(a, b candidate) int { return cmp.Compare(weight(b), weight(a)) })
	var out []agent.Found
	for _, c := range candidates {
		if len(out) < maxFound && 2*weight(c) > weight(candidates[0]) {
			hint := agent.Found{Path: c.path}
			for _, word := range c.words {
				hint.Words = append(hint.Words, words[word])
			}
			out = append(out, hint)
		}
	}
	return out
}

// beginning reads the start of a text file; nothing of one that cannot be read or is no UTF-8.
func beginning(root *os.Root, path string, limit int) string {
	f, err := root.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	text, _ := io.ReadAll(io.LimitReader(f, int64(limit)))
	for cut := 0; cut < utf8.UTFMax && len(text) > 0 && !utf8.Valid(text); cut++ { // in the middle of a rune
		text = text[:len(text)-1]
	}
	if !utf8.Valid(text) {
		return ""
	}
	return string(text)
}

// wordsOf are the telling words of a text, in their order, as they are looked for: words in lower case without a common ending, and pairs of
// neighbours of a script without blanks. The map has how each was written.
func wordsOf(text string) (order []string, written map[string]string) {
	written = map[string]string{}
	add := func(word, as string) {
		if _, known := written[word]; !known {
			order, written[word] = append(order, word), as
		}
	}
	for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		runes := []rune(word)
		if strings.ContainsFunc(word, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
			for i := 0; i+1 < len(runes); i++ {
				pair := string(runes[i : i+2])
				add(pair, pair)
			}
			continue
		}
		if len(runes) >= minWordRunes && !commonWords[word] && strings.ContainsFunc(word, unicode.IsLetter) { // years and times are everywhere
			add(stem(word), word)
		}
	}
	return order, written
}

// stem cuts off the commonest endings of English words, as far as enough is left: what is looked for are beginnings of words.
func stem(word string) string {
	for _, ending := range []string{"ing", "es", "ed", "s", "e", "y"} {
		if short, ok := strings.CutSuffix(word, ending); ok && utf8.RuneCountInString(short) >= minStemRunes {
			return short
		}
	}
	return word
}

// placesOf returns which of the words stand most closely together in a text, with those of its path, and all that stand in it.
func placesOf(path, text string, words []string) (together []string, all map[string]bool) {
	all = map[string]bool{}
	named := map[string]bool{}
	for _, word := range words {
		if hasWord(path, word) {
			named[word], all[word] = true, true
		}
	}
	best := 0
	keep := func(found map[string]bool) {
		if len(found) > best {
			best = len(found)
			together = slices.DeleteFunc(slices.Clone(words), func(word string) bool { return !found[word] })
		}
	}
	if text != "" {
		keep(named)
	}
	var window [nearLines]map[string]bool
	i := 0
	for line := range strings.Lines(text) {
		var in map[string]bool
		for _, word := range words {
			if !hasWord(line, word) {
				continue
			}
			if in == nil {
				in = map[string]bool{}
			}
			in[word], all[word] = true, true
		}
		window[i%nearLines] = in
		i++
		if in == nil {
			continue // most lines have none, and add nothing to those before them
		}
		union := maps.Clone(named)
		for _, w := range window {
			maps.Copy(union, w)
		}
		keep(union)
	}
	return together, all
}

// distinctWords counts words, of pairs in a script without blanks those that do not overlap: three signs that are one word have two pairs.
func distinctWords(words []string) int {
	count := 0
	var last rune // of the pair that was counted last
	for _, word := range words {
		first, _ := utf8.DecodeRuneInString(word)
		if unicode.Is(unicode.Han, first) && first == last {
			last = 0
			continue
		}
		count++
		last, _ = utf8.DecodeLastRuneInString(word)
	}
	return count
}

// hasWord reports whether a word begins somewhere in a line; in a script without blanks, whether it stands there.
func hasWord(line, word string) bool {
	for from := 0; ; {
		at := strings.Index(line[from:], word)
		if at < 0 {
			return false
		}
		before, _ := utf8.DecodeLastRuneInString(line[:from+at])
		first, _ := utf8.DecodeRuneInString(word)
		if from+at == 0 || !unicode.IsLetter(before) && !unicode.IsDigit(before) || unicode.Is(unicode.Han, first) {
			return true
		}
		from += at + len(word)
	}
}
