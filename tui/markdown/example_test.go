package markdown_test

import (
	"fmt"

	"github.com/llama-agent/llama-agent/tui/markdown"
)

func ExampleRender() {
	for _, line := range markdown.Render("Sizes:\n- **one** file\n\n| file | bytes |\n|---|---|\n| a.log | 1,024 |\n| b.log | 17 |\n", 30) {
		fmt.Println(line)
	}
	// Output:
	// Sizes:
	// • one file
	//
	// file  │ bytes
	// ──────┼──────
	// a.log │ 1,024
	// b.log │    17
}

// An answer is shown as what it seems to become while it is written.
func ExampleStream() {
	var s markdown.Stream
	for _, piece := range []string{"It is **ver", "y** fast:\n```go\nfu", "nc main"} {
		s.Append(piece)
		for _, line := range s.Lines(30) {
			fmt.Println(line.Marked())
		}
		fmt.Println("--")
	}
	// Output:
	// It is {text+bold}ver{}
	// --
	// It is {text+bold}very{} fast:
	//
	//   {muted+italic}go{}
	//   {code}fu{}
	// --
	// It is {text+bold}very{} fast:
	//
	//   {muted+italic}go{}
	//   {code}func main{}
	// --
}
