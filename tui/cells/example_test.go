package cells_test

import (
	"fmt"

	"github.com/llama-agent/llama-agent/tui/cells"
)

// What comes from outside is drawn as text, and borders stay straight beside wide characters.
func ExampleGrid_Box() {
	g := cells.NewGrid(20, 4)
	inner := g.Box(cells.Rect{Width: 20, Height: 4}, cells.Rounded(), cells.Plain("Tool"), cells.Style{Role: cells.Border})
	width, _ := inner.Size()
	inner.DrawLines(cells.Wrap(cells.Plain("你好，世界 [red] \x1b[2J"), width))
	fmt.Print(g)
	// Output:
	// ╭─ Tool ───────────╮
	// │你好，世界 [red]  │
	// │␛[2J              │
	// ╰──────────────────╯
}

func ExampleWrapping() {
	w := cells.Wrapping{Width: 16, First: cells.Plain("• "), Rest: cells.Plain("  ")}
	for _, line := range w.Lines(cells.Concat(cells.Plain("words and "), cells.Styled("strong words", cells.Style{Attr: cells.Bold}))) {
		fmt.Println(line.Marked())
	}
	// Output:
	// • words and
	//   {text+bold}strong words{}
}
