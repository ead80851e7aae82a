package editor

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Editor is the input. The zero value is empty and has no history. It is not safe for concurrent use.
type Editor struct {
	lines  lines
	cursor place
	goal   int // the column that moves up and down keep; -1 for that of the cursor

	undo    undo
	history history
	view    view
}

// init makes the zero value usable.
func (e *Editor) init() {
	if e.lines.text == nil {
		e.lines = newLines("")
		e.goal = -1
	}
}

// Text returns the text as it was typed.
func (e *Editor) Text() string { return e.lines.String() }

// Empty tells whether nothing was typed.
func (e *Editor) Empty() bool {
	return len(e.lines.text) == 0 || len(e.lines.text) == 1 && e.lines.text[0] == ""
}

// SetText replaces the text and puts the cursor at its end. It cannot be undone.
func (e *Editor) SetText(text string) {
	e.init()
	e.lines = newLines(text)
	e.cursor = e.lines.end()
	e.undo = undo{}
	e.view.top = 0
	e.moved()
}

// Submit returns the text, adds it to the history and empties the input.
func (e *Editor) Submit() string {
	text := e.Text()
	e.history.add(text)
	e.SetText("")
	return text
}

// Insert puts text at the cursor, as it is.
func (e *Editor) Insert(text string) {
	e.init()
	if text != "" {
		e.edit(e.cursor, e.cursor, text)
	}
}

// Paste puts text at the cursor as one step of undo. CR LF and CR, which terminals send at line ends, become LF.
func (e *Editor) Paste(text string) {
	if strings.IndexByte(text, '\r') >= 0 {
		text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	}
	e.undo.seal()
	e.Insert(text)
	e.undo.seal()
}

// Newline begins a new line at the cursor.
func (e *Editor) Newline() { e.Insert("\n") }

// Backspace deletes the cluster before the cursor, or the line end.
func (e *Editor) Backspace() { e.remove(e.left(), e.cursor) }

// Delete deletes the cluster behind the cursor, or the line end.
func (e *Editor) Delete() { e.remove(e.cursor, e.right()) }

// DeleteWordLeft deletes back to the beginning of a word.
func (e *Editor) DeleteWordLeft() { e.remove(e.wordLeft(), e.cursor) }

// DeleteWordRight deletes up to the end of a word.
func (e *Editor) DeleteWordRight() { e.remove(e.cursor, e.wordRight()) }

// DeleteToStart deletes back to the beginning of the line, or the line end before it when the cursor is there.
func (e *Editor) DeleteToStart() {
	if e.cursor.at == 0 {
		e.Backspace()
		return
	}
	e.remove(place{e.cursor.line, 0}, e.cursor)
}

// DeleteToEnd deletes up to the end of the line, or the line end when the cursor is there.
func (e *Editor) DeleteToEnd() {
	e.init()
	end := place{e.cursor.line, len(e.line())}
	if e.cursor == end {
		e.Delete()
		return
	}
	e.remove(e.cursor, end)
}

// Left goes to the cluster before the cursor.
func (e *Editor) Left() { e.move(e.left()) }

// Right goes behind the cluster at the cursor.
func (e *Editor) Right() { e.move(e.right()) }

// WordLeft goes to the beginning of a word.
func (e *Editor) WordLeft() { e.move(e.wordLeft()) }

// WordRight goes to the end of a word.
func (e *Editor) WordRight() { e.move(e.wordRight()) }

// Home goes to the beginning of the line.
func (e *Editor) Home() { e.move(place{e.cursor.line, 0}) }

// End goes to the end of the line.
func (e *Editor) End() {
	e.init()
	e.move(place{e.cursor.line, len(e.line())})
}

// TextStart goes to the beginning of the text.
func (e *Editor) TextStart() { e.move(place{}) }

// TextEnd goes to the end of the text.
func (e *Editor) TextEnd() {
	e.init()
	e.move(e.lines.end())
}

// Undo takes the last change back and tells whether there was one.
func (e *Editor) Undo() bool {
	c, ok := e.undo.back()
	if ok {
		e.lines.replace(c.at, c.at.behind(c.inserted), c.removed)
		e.cursor = c.before
		e.moved()
	}
	return ok
}

// Redo makes the change again that was taken back last, and tells whether there was one.
func (e *Editor) Redo() bool {
	c, ok := e.undo.forward()
	if ok {
		e.lines.replace(c.at, c.at.behind(c.removed), c.inserted)
		e.cursor = c.after
		e.moved()
	}
	return ok
}

func (e *Editor) line() string { return e.lines.text[e.cursor.line] }

// move puts the cursor somewhere.
func (e *Editor) move(to place) {
	e.init()
	e.cursor = to
	e.undo.seal()
	e.moved()
}

// moved forgets what only successive moves up and down remember.
func (e *Editor) moved() {
	e.goal = -1
	e.history.browsing = false
}

func (e *Editor) remove(from, to place) {
	e.init()
	if from != to {
		e.edit(from, to, "")
	}
}

// edit is the one way to change the text.
func (e *Editor) edit(from, to place, text string) {
	c := change{at: from, removed: e.lines.between(from, to), inserted: text, before: e.cursor}
	end := e.lines.replace(from, to, text)
	// What was put in may have become one cluster with what is behind it.
	end.at = boundary(e.lines.text[end.line], end.at)
	c.after = end
	e.undo.add(c)
	e.cursor = end
	e.moved()
}

// left returns the place one cluster before the cursor.
func (e *Editor) left() place {
	e.init()
	switch {
	case e.cursor.at > 0:
		return place{e.cursor.line, boundaryBefore(e.line(), e.cursor.at)}
	case e.cursor.line > 0:
		return place{e.cursor.line - 1, len(e.lines.text[e.cursor.line-1])}
	}
	return e.cursor
}

// right returns the place one cluster behind the cursor.
func (e *Editor) right() place {
	e.init()
	switch {
	case e.cursor.at < len(e.line()):
		return place{e.cursor.line, boundary(e.line(), e.cursor.at+1)}
	case e.cursor.line < len(e.lines.text)-1:
		return place{e.cursor.line + 1, 0}
	}
	return e.cursor
}

// wordLeft returns the beginning of the word before the cursor: back over what is no word, then over the word.
func (e *Editor) wordLeft() place {
	p := e.left()
	if p.line != e.cursor.line || p == e.cursor {
		return p
	}
	line := e.line()
	at := e.cursor.at
	for word := false; at > 0; {
		to := boundaryBefore(line, at)
		if isWord(line[to:]) {
			word = true
		} else if word {
			break
		}
		at = to
	}
	return place{p.line, at}
}

// wordRight returns the end of the word behind the cursor.
func (e *Editor) wordRight() place {
	p := e.right()
	if p.line != e.cursor.line || p == e.cursor {
		return p
	}
	line := e.line()
	at := e.cursor.at
	for word := false; at < len(line); at = boundary(line, at+1) {
		if isWord(line[at:]) {
			word = true
		} else if word {
			break
		}
	}
	return place{p.line, at}
}

// isWord tells whether a text begins with a character of a word.
func isWord(text string) bool {
	r, _ := utf8.DecodeRuneInString(text)
	return r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r)
}
