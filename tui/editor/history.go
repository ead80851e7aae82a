package editor

import (
	"slices"
	"strings"
)

// maxHistory is how many texts the history keeps.
const maxHistory = 1000

// history is what was submitted, the oldest first, and where in it the user is.
type history struct {
	entries []string
	// While the user is in the history: the texts as they were changed since, with the draft last, and which is shown.
	work     []string
	at       int
	browsing bool // the last key was a move in the history, so that the next one is too, wherever the cursor is
}

// SetHistory replaces the history; the oldest text is first. The editor keeps no reference to entries.
func (e *Editor) SetHistory(entries []string) {
	e.history = history{entries: slices.Clone(entries[max(len(entries)-maxHistory, 0):])}
}

// History returns what was submitted, the oldest first.
func (e *Editor) History() []string { return slices.Clone(e.history.entries) }

// add takes a text that is neither blank nor the same as the last one.
func (h *history) add(text string) {
	h.work, h.at = nil, 0
	if strings.TrimSpace(text) == "" || len(h.entries) > 0 && h.entries[len(h.entries)-1] == text {
		return
	}
	if h.entries = append(h.entries, text); len(h.entries) > maxHistory {
		h.entries = slices.Delete(h.entries, 0, len(h.entries)-maxHistory)
	}
}

// HistoryBack shows the text that was submitted before the one that is shown, and tells whether there is one. Nothing is
// lost: changed texts and the draft are there again on the way back, until something is submitted.
func (e *Editor) HistoryBack() bool { return e.browse(-1) }

// HistoryForward shows the text that was submitted after the one that is shown, at last the draft, and tells whether there
// is one.
func (e *Editor) HistoryForward() bool { return e.browse(1) }

func (e *Editor) browse(step int) bool {
	h := &e.history
	if h.work == nil {
		if step > 0 || len(h.entries) == 0 {
			return false
		}
		h.work = append(slices.Clone(h.entries), "")
		h.at = len(h.entries)
	}
	to := h.at + step
	if to < 0 || to >= len(h.work) {
		return false
	}
	h.work[h.at] = e.Text()
	h.at = to
	e.SetText(h.work[to])
	h.browsing = to < len(h.entries) // the draft is edited with the same keys
	return true
}
