package tui

import (
	"strings"
	"time"

	"github.com/llama-agent/llama-agent/app"
)

// entryKind says what an entry of the transcript is.
type entryKind uint8

const (
	kindUser    entryKind = iota // what the user entered
	kindThought                  // what the model thinks; shown on demand
	kindPlan                     // the steps of a task, with their states
	kindCall                     // a tool call
	kindAnswer                   // Markdown, possibly still growing
	kindNote                     // something worth knowing
	kindError                    // something that went wrong
	kindOutput                   // what a command shows
	kindSummary                  // what a task cost
)

// entry is one item of the transcript. Whoever changes what it shows calls touch.
type entry struct {
	kind entryKind
	rev  int // grows with each change

	text  string          // of all kinds but plans and calls
	grown strings.Builder // holds text while it grows

	steps   []app.Step // of a plan
	current int        // number of the step that is under way; 0: none

	call     app.Call
	running  bool      // the call has no outcome yet, or the answer still grows
	began    time.Time // of a running call
	replayed bool      // the tool ran before the task was stopped
	open     bool      // shown whole

	table *app.Table // of an output, before its text
}

func (e *entry) touch() { e.rev++ }

// grow adds to the text, without copying what there is.
func (e *entry) grow(text string) {
	if e.grown.Len() != len(e.text) {
		e.grown.Reset()
		e.grown.WriteString(e.text)
	}
	e.grown.WriteString(text)
	e.text = e.grown.String()
	e.touch()
}

// A question that was pasted is shown in part: of more lines than longQuestion the first shownQuestion.
const longQuestion, shownQuestion = 14, 10

// expandable reports whether the entry can be shown shorter or longer.
func (e *entry) expandable() bool {
	switch e.kind {
	case kindCall:
		return !e.running
	case kindUser:
		return strings.Count(e.text, "\n") >= longQuestion
	case kindThought:
		return true
	case kindPlan, kindAnswer, kindNote, kindError, kindOutput, kindSummary:
	}
	return false
}

// plain is the text of the entry for searching and copying.
func (e *entry) plain() string {
	switch e.kind {
	case kindPlan:
		var b strings.Builder
		for _, s := range e.steps {
			b.WriteString(s.Do + "\n")
		}
		return b.String()
	case kindCall:
		return e.call.Tool + " " + string(e.call.Arguments) + "\n" + resultText(e.call)
	case kindOutput:
		return tablePlain(e.table) + e.text
	case kindUser, kindThought, kindAnswer, kindNote, kindError, kindSummary:
	}
	return e.text
}

// resultText is what a call brought, or why it did not.
func resultText(c app.Call) string {
	if c.Error != nil && c.Text == "" {
		return c.Error.Kind + ": " + c.Error.Message
	}
	return c.Text
}

// add appends an entry to the transcript.
func (s *State) add(e *entry) *entry {
	s.entries = append(s.entries, e)
	return e
}

func (s *State) note(text string)   { s.add(&entry{kind: kindNote, text: text}) }
func (s *State) failed(text string) { s.add(&entry{kind: kindError, text: text}) }

// drop removes an entry that turned out to be void.
func (s *State) drop(e *entry) {
	for i := len(s.entries) - 1; i >= 0; i-- {
		if s.entries[i] == e {
			s.entries = append(s.entries[:i], s.entries[i+1:]...)
			s.scroll.removed(i)
			return
		}
	}
}
