package tui

import (
	"github.com/llama-agent/llama-agent/tui/cells"
	"github.com/llama-agent/llama-agent/tui/editor"
)

// input is what the user types.
type input struct {
	editor editor.Editor
	popup  editor.Popup // what the word at the cursor can become
}

func newInput() *input { return &input{} }

func (in *input) text() string { return in.editor.Text() }
func (in *input) empty() bool  { return in.editor.Empty() }

// set replaces the text.
func (in *input) set(text string) {
	in.editor.SetText(text)
	in.popup.Close()
}

// paste puts text at the cursor.
func (in *input) paste(text string) {
	in.editor.Paste(text)
	in.popup.Close()
}

// take returns the text, keeps it in the history and empties the input.
func (in *input) take() string {
	in.popup.Close()
	return in.editor.Submit()
}

// press does what a key means in a text. Keys that mean nothing are ignored.
func (in *input) press(k key) {
	e := &in.editor
	switch k.name {
	case "":
		e.Insert(k.text)
	case "alt+enter", "shift+enter", "ctrl+j":
		e.Newline()
	case "left", "ctrl+b":
		e.Left()
	case "right":
		e.Right()
	case "up", "ctrl+p":
		e.Up()
	case "down", "ctrl+n":
		e.Down()
	case "ctrl+left", "alt+left", "alt+b":
		e.WordLeft()
	case "ctrl+right", "alt+right", "alt+f":
		e.WordRight()
	case "home", "ctrl+a":
		e.Home()
	case "end", "ctrl+e":
		e.End()
	default:
		in.change(k)
	}
}

// change does the keys that take something away or bring it back.
func (in *input) change(k key) {
	e := &in.editor
	switch k.name {
	case "backspace":
		e.Backspace()
	case "delete", "ctrl+d":
		e.Delete()
	case "ctrl+w", "alt+backspace", "ctrl+backspace":
		e.DeleteWordLeft()
	case "alt+d", "ctrl+delete", "alt+delete":
		e.DeleteWordRight()
	case "ctrl+u":
		e.DeleteToStart()
	case "ctrl+k":
		e.DeleteToEnd()
	case "ctrl+_", "alt+z":
		e.Undo()
	case "ctrl+y", "alt+y":
		e.Redo()
	}
}

// height is how many rows the text takes in a width, at most as many as given.
func (in *input) height(width, most int) int {
	return min(max(in.editor.View(max(width, 1), most).Rows, 1), most)
}

// lines are what is visible of the text, and the cell of the cursor in them.
func (in *input) lines(width, height int) (lines []cells.Line, x, y int) {
	v := in.editor.View(width, height)
	return v.Lines, v.X, v.Y
}

// click puts the cursor at a cell of what is visible.
func (in *input) click(x, y int) {
	in.editor.Click(x, y)
	in.popup.Close()
}
