package benchmark

import (
	"fmt"
	"strconv"
	"strings"
)

const documentPath = "docs/handbook.md"

// documentTexts are the words of a document in one language.
type documentTexts struct {
	Title    string   `json:"title"`    // {place}
	Sections []string `json:"sections"` // headings
	Facts    []string `json:"facts"`    // one for each section: {owner}, {deputy}, {version}, {day}, {loan}, {room}; "" for none
	People   []string `json:"people"`
}

// document is a handbook in Markdown of a few KiB. Every fact stands in one section.
type document struct {
	text  string
	facts map[string]string // by placeholder
}

func newDocument(seed int, name string, l *language) document {
	rng := random(seed, name, documentPath)
	people := rng.Perm(len(l.Document.People))
	values := map[string]string{
		"owner":   l.Document.People[people[0]],
		"deputy":  l.Document.People[people[1]],
		"version": fmt.Sprintf("%d.%d.%d", 2+rng.IntN(7), 1+rng.IntN(9), 1+rng.IntN(9)),
		"day":     fmt.Sprintf("2031-%02d-%02d", 4+rng.IntN(8), 10+rng.IntN(18)),
		"loan":    strconv.Itoa(1010 + 10*rng.IntN(700)),
		"room":    fmt.Sprintf("%c-%d", 'B'+rune(rng.IntN(8)), 110+rng.IntN(800)),
	}
	d := document{facts: map[string]string{}}
	var pairs []string
	for _, key := range sortedKeys(values) {
		pairs = append(pairs, "{"+key+"}", values[key])
		d.facts["{document_"+key+"}"] = values[key]
	}
	facts := strings.NewReplacer(pairs...)
	p := prose{language: l, forms: l.Sentences, rng: rng}
	var b strings.Builder
	b.WriteString("# " + p.fill(l.Document.Title) + "\n")
	for i, heading := range l.Document.Sections {
		b.WriteString("\n## " + heading + "\n\n")
		space := " "
		var sentences []string
		for range 4 + rng.IntN(3) {
			sentences = append(sentences, p.sentence())
		}
		if strings.HasSuffix(sentences[0], "。") {
			space = ""
		}
		if fact := l.Document.Facts[i]; fact != "" {
			at := rng.IntN(len(sentences) + 1)
			sentences = append(sentences[:at:at], append([]string{facts.Replace(fact)}, sentences[at:]...)...)
		}
		b.WriteString(strings.Join(sentences, space) + "\n")
	}
	d.text = b.String()
	return d
}
