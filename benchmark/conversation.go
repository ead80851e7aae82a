package benchmark

import (
	"strings"
	"unicode/utf8"
)

// Script is what a case says to the program: turns that are told one after the other, then, when there are questions, each
// of them on the conversation as it is after the turns.
type Script struct {
	Turns     []string
	Questions []Question // empty: the last of the turns is what is judged
}

// Script returns what the case says. The same seed gives the same turns.
func (c *Case) Script(seed int) Script {
	m := &c.Metadata
	switch {
	case c.Goal != "":
		return Script{Turns: []string{c.Goal}}
	case len(c.Turns) > 0:
		return Script{Turns: c.Turns}
	}
	turns := []string{m.ConversationSeedTurn}
	turns = append(turns, fillers(seed, c.ID, languageOf(m.ConversationSeedTurn), m.ConversationFillerTurns, m.ConversationFillerChars)...)
	if m.ConversationCorrectionTurn != "" {
		after := m.ConversationCorrectionAfter
		turns = append(turns[:after:after], append([]string{m.ConversationCorrectionTurn}, turns[after:]...)...)
	}
	if m.ConversationFinalTurn != "" {
		return Script{Turns: append(turns, m.ConversationFinalTurn)}
	}
	return Script{Turns: turns, Questions: m.ConversationFinalTurns}
}

// turnCount is how many turns one way through the script has.
func (c *Case) turnCount() int {
	m := &c.Metadata
	switch {
	case c.Goal != "":
		return 1
	case len(c.Turns) > 0:
		return len(c.Turns)
	}
	n := 2 + m.ConversationFillerTurns
	if m.ConversationCorrectionTurn != "" {
		n++
	}
	return n
}

// forQuestion is the case as it judges one of its questions.
func (c Case) forQuestion(q Question) Case {
	c.ExpectedContains = append(c.ExpectedContains[:len(c.ExpectedContains):len(c.ExpectedContains)], q.ExpectedContains...)
	c.ExpectedAny = append(c.ExpectedAny[:len(c.ExpectedAny):len(c.ExpectedAny)], q.ExpectedAny...)
	return c
}

// fillers returns turns about everyday things that take no tool and state nothing to remember, each of about chars
// characters. No two of them are equal.
func fillers(seed int, name string, l *language, count, chars int) []string {
	rng := random(seed, name, "fillers")
	turns := make([]string, count)
	var questions []int
	seen := map[string]bool{}
	for i := range turns {
		// Every question comes once before any comes again, and then in other words.
		if len(questions) == 0 {
			questions = rng.Perm(len(l.Questions))
		}
		question := l.Questions[questions[0]]
		questions = questions[1:]
		for turns[i] == "" || seen[turns[i]] {
			turns[i] = l.filler(question, l.Closings[rng.IntN(len(l.Closings))], rng.Perm(len(l.Situations)), chars)
		}
		seen[turns[i]] = true
	}
	return turns
}

// filler takes as many of the situations, in the given order, as bring the turn near to chars characters.
func (l *language) filler(question, closing string, situations []int, chars int) string {
	compose := func(n int) string {
		form := l.Plain
		var told []string
		for _, s := range situations[:n] {
			told, form = append(told, l.Situations[s]), l.Lead
		}
		return strings.NewReplacer(
			"{situation}", strings.Join(told, l.SituationJoin), "{question}", question, "{closing}", closing,
		).Replace(form)
	}
	best := compose(0)
	for n := 1; n <= len(situations); n++ {
		next := compose(n)
		if distance(next, chars) >= distance(best, chars) {
			break
		}
		best = next
	}
	return best
}

func distance(text string, chars int) int {
	return max(utf8.RuneCountInString(text)-chars, chars-utf8.RuneCountInString(text))
}
