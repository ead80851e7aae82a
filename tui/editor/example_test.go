package editor_test

import (
	"fmt"

	"github.com/llama-agent/llama-agent/tui/editor"
)

func Example() {
	var e editor.Editor
	e.Insert("read the wide 🙂")
	e.Backspace()
	e.Paste("file\r\nand sum it up")
	view := e.View(14, 5)
	for _, row := range view.Lines {
		fmt.Printf("%s|\n", row)
	}
	fmt.Println("cursor at", view.X, view.Y)
	fmt.Printf("%q\n", e.Submit())
	// Output:
	// read the wide |
	// file|
	// and sum it up|
	// cursor at 13 2
	// "read the wide file\nand sum it up"
}

func ExamplePopup() {
	var e editor.Editor
	var popup editor.Popup
	commands := []editor.Candidate{{Text: "/help", Suffix: " "}, {Text: "/history", Suffix: " "}, {Text: "/quit", Suffix: " "}}
	e.Insert("/h")
	query, _, _ := e.Word()
	popup.Update(query, commands)
	for _, match := range popup.Matches() {
		fmt.Println(match.Text)
	}
	popup.Move(1)
	popup.Accept(&e)
	fmt.Printf("%q\n", e.Text())
	// Output:
	// /help
	// /history
	// "/history "
}
