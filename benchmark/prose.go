package benchmark

import (
	"embed"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

// language holds the texts that fixtures and fillers are made of.
type language struct {
	Lead          string   `json:"lead"`           // {situation}, {question}, {closing}
	Plain         string   `json:"plain"`          // {question}, {closing}
	SituationJoin string   `json:"situation_join"` // between situations
	Situations    []string `json:"situations"`
	Closings      []string `json:"closings"`
	Questions     []string `json:"questions"`

	Heading   string              `json:"heading"`
	Lines     []string            `json:"lines"`     // of journals; slots are {big}, {small}, {digit} and the keys of Words
	Sentences []string            `json:"sentences"` // of reports; the same slots
	Words     map[string][]string `json:"words"`

	Incident incidentTexts `json:"incident"`
	Document documentTexts `json:"document"`
}

//go:embed texts/*.json
var texts embed.FS

// languages reads the texts once. They are part of the program: one that cannot be read is a bug.
var languages = sync.OnceValue(func() map[string]*language {
	read := map[string]*language{}
	for _, name := range []string{"en", "zh"} {
		data, err := texts.ReadFile("texts/" + name + ".json")
		if err != nil {
			panic(err)
		}
		l := new(language)
		if err := json.Unmarshal(data, l); err != nil {
			panic(fmt.Errorf("texts/%s.json: %w", name, err))
		}
		read[name] = l
	}
	return read
})

// languageOf picks the texts that go with text: Chinese when it has a Han sign, else English.
func languageOf(text string) *language {
	if strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
		return languages()["zh"]
	}
	return languages()["en"]
}

// random is a source of numbers that depends on the seed and the names only.
func random(seed int, names ...string) *rand.Rand {
	h := fnv.New64a()
	for _, name := range names {
		h.Write(append([]byte(name), 0))
	}
	return rand.New(rand.NewPCG(uint64(seed), h.Sum64()))
}

// prose writes sentences of one language, after the same forms all the time. Every form comes once before any comes again.
// Not for concurrent use.
type prose struct {
	*language
	forms []string
	rng   *rand.Rand
	deck  []int // forms that are left
}

func (p *prose) sentence() string {
	if len(p.deck) == 0 {
		p.deck = p.rng.Perm(len(p.forms))
	}
	form := p.forms[p.deck[0]]
	p.deck = p.deck[1:]
	return p.fill(form)
}

// fill puts something into each slot of the form.
func (p *prose) fill(form string) string {
	var b strings.Builder
	rest := form
	for {
		before, after, found := strings.Cut(rest, "{")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		slot, tail, _ := strings.Cut(after, "}")
		b.WriteString(p.word(slot))
		rest = tail
	}
}

func (p *prose) word(slot string) string {
	switch slot {
	case "digit":
		return strconv.Itoa(2 + p.rng.IntN(8))
	case "small":
		return strconv.Itoa(2 + p.rng.IntN(97))
	case "big":
		return strconv.Itoa(100 + p.rng.IntN(900))
	}
	words := p.Words[slot]
	return words[p.rng.IntN(len(words))]
}
