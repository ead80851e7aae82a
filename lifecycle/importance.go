package lifecycle

import "strings"

// Signals are what the importance of a record is judged by.
type Signals struct {
	Kind   Kind
	Text   string // of a turn: what the user wrote
	Calls  int    // of a turn: tool calls that were made
	Failed bool   // of evidence and steps
}

// The constants of [Importance]. They are this program's own choice.
const (
	importanceStated   = 0.6 // a turn in which the user says something
	importanceFacts    = 0.4 // added when it is full of facts
	enoughFacts        = 3   // as many make it full
	importanceQuestion = 0.6 // factor of a turn that asks
	importanceCalls    = 0.5 // a turn that was about what tools found
	importanceEvidence = 0.5 // a result, which can be had again
	importanceFailed   = 0.2 // a result that is none
	importanceNote     = 0.3 // what a model thought of its own work
)

// Importance returns how much a record matters for later, above 0 and at most 1. It is 1 for an explicit memory, 0.5 for evidence,
// steps and turns with tool calls, 0.2 for evidence and steps that failed, and 0.3 for notes. For a turn without tool calls it is
//
//	0.6 + 0.4 × min(1, facts ÷ 3)
//
// and 0.6 of that when what the user wrote ends with a question. Facts are what would be hard to guess and easy to get wrong, each
// counted once: numbers and dates, URLs, e-mail addresses, paths and file names, quoted text, identifiers, and words with a capital
// letter that does not begin a sentence. No word of any language is known, so that all are judged alike.
func Importance(s Signals) float64 {
	switch s.Kind {
	case KindMemory:
		return 1
	case KindNote:
		return importanceNote
	case KindTurn:
		if s.Calls > 0 {
			return importanceCalls
		}
		facts := min(enoughFacts, countFacts(s.Text, enoughFacts))
		importance := importanceStated + importanceFacts*float64(facts)/enoughFacts
		if Asks(s.Text) {
			importance *= importanceQuestion
		}
		return importance
	}
	if s.Failed {
		return importanceFailed
	}
	return importanceEvidence
}

// questionMarks are those of all scripts that have one at the end of a sentence: Latin, Arabic, Greek, Armenian, Ethiopic, Coptic,
// Vai, Bamum, Chakma and Adlam, and their forms.
const questionMarks = "?？﹖؟⸮\u037e՞፧⳺⳻꘏꛷𑅃𞥟⁇⁈⁉‽"

// Asks reports whether text ends with a question mark. What closes a quotation or a bracket after it does not count, nor does an
// exclamation mark or a full stop.
func Asks(text string) bool {
	text = strings.TrimRightFunc(text, func(r rune) bool {
		return !isQuestionMark(r) && r != ';' && !isWordRune(r) && r != '՞'
	})
	// The Armenian mark is inside the last word.
	if i := strings.LastIndexAny(text, " \t\n"); strings.ContainsRune(text[i+1:], '՞') {
		return true
	}
	head, ok := strings.CutSuffix(text, ";")
	if !ok {
		last, _ := lastRune(text)
		return isQuestionMark(last)
	}
	// Greek writes its question mark as a semicolon.
	last, _ := lastRune(strings.TrimRight(head, " "))
	return isGreek(last)
}

func isQuestionMark(r rune) bool { return strings.ContainsRune(questionMarks, r) }
