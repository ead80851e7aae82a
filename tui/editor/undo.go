package editor

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxChanges is how many steps can be taken back.
const maxChanges = 1000

// maxStep is how many bytes of typing are one step at most.
const maxStep = 1000

// change is one step of undo: at a place, one text was replaced by another.
type change struct {
	at                place
	removed, inserted string
	before, after     place // of the cursor
}

// undo holds the changes, those up to done being in the text.
type undo struct {
	changes []change
	done    int
	sealed  bool // the next change is a step of its own
}

// seal ends a step.
func (u *undo) seal() { u.sealed = true }

// add takes a change, as a part of the last step when it goes on with the typing or deleting of a word.
func (u *undo) add(c change) {
	u.changes = u.changes[:u.done]
	if u.done > 0 && !u.sealed && u.changes[u.done-1].extend(c) {
		return
	}
	if len(u.changes) >= maxChanges {
		n := copy(u.changes, u.changes[len(u.changes)-maxChanges+1:])
		clear(u.changes[n:])
		u.changes = u.changes[:n]
	}
	u.changes = append(u.changes, c)
	u.done = len(u.changes)
	u.sealed = false
}

// extend takes next into c where both are one step for a user.
func (c *change) extend(next change) bool {
	if c.after != next.before || len(c.inserted)+len(c.removed)+len(next.inserted)+len(next.removed) > maxStep ||
		strings.Contains(c.inserted+c.removed+next.inserted+next.removed, "\n") {
		return false
	}
	switch {
	case c.removed == "" && next.removed == "" && next.at == c.at.behind(c.inserted):
		if endsInSpace(c.inserted) && !endsInSpace(next.inserted) { // a new word begins
			return false
		}
		c.inserted += next.inserted
	case c.inserted == "" && next.inserted == "" && next.at.behind(next.removed) == c.at: // backspace
		c.removed, c.at = next.removed+c.removed, next.at
	case c.inserted == "" && next.inserted == "" && next.at == c.at: // delete
		c.removed += next.removed
	default:
		return false
	}
	c.after = next.after
	return true
}

func endsInSpace(s string) bool {
	r, _ := utf8.DecodeLastRuneInString(s)
	return unicode.IsSpace(r)
}

// back returns the change to take back.
func (u *undo) back() (change, bool) {
	if u.done == 0 {
		return change{}, false
	}
	u.done--
	u.sealed = true
	return u.changes[u.done], true
}

// forward returns the change to make again.
func (u *undo) forward() (change, bool) {
	if u.done == len(u.changes) {
		return change{}, false
	}
	u.done++
	u.sealed = true
	return u.changes[u.done-1], true
}
