package tui

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/llama-agent/llama-agent/app"
	"github.com/llama-agent/llama-agent/tui/cells"
)

// withCalls is a State with two calls that are over.
func withCalls(t *testing.T) *rig {
	t.Helper()
	r := ready(t, 80, 24)
	var long strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&long, "line %d\n", i)
	}
	stored := call("read_file", `{"file_path":"a.txt"}`, "first needle\nsecond\nthird\nfourth\nfifth NEEDLE\n")
	stored.Artifact = "artifact://abc"
	r.is(turnsMsg{turns: []app.Turn{{Goal: "question", Answer: "An **answer**.", Status: "done"}}})
	r.events(app.CallFinished{Call: stored}, app.CallFinished{Call: call("search_text", `{"pattern":"x"}`, long.String())})
	return r
}

func TestEntriesAreSelectedAndOpened(t *testing.T) {
	t.Parallel()
	r := withCalls(t)
	r.sees("… 997 more lines")
	r.typed("<f4>")
	r.sees("▌ ✓ search_text", "Enter opens")
	r.typed("k<enter>")
	r.sees("▌ ✓ read_file", "fifth NEEDLE", "stored as artifact://abc", "▾")
	require.Equal(t, []effect{copyEffect{"read_file {\"file_path\":\"a.txt\"}\nfirst needle\nsecond\nthird\nfourth\nfifth NEEDLE\n"}}, r.typed("y"))
	require.Equal(t, []effect{documentEffect{"artifact://abc"}}, r.typed("o"))
	r.typed("<enter>")
	r.misses("fifth NEEDLE")
	r.typed("j<enter>")
	r.sees("line 10")
	r.typed("G<end>o")
	r.sees("search_text pattern=x", "line 0", "Esc closes")
	r.typed("G")
	r.sees("line 999")
	r.typed("g<down> b<pgdn>")
	r.sees("line 20")
	r.typed("<esc>")
	r.misses("line 20 ")
	// Whoever types wants to type.
	r.typed("<f4>hello")
	r.sees("› hello")
	r.misses("▌")
	r.typed("<f4><esc>")
	r.misses("▌")
}

func TestAResultThatIsTooLongForTheTranscriptIsCut(t *testing.T) {
	t.Parallel()
	r := withCalls(t)
	r.screen()
	e := r.entries[len(r.entries)-1]
	e.open = true
	e.touch()
	lines := r.renderer.lines(e, r.now)
	require.LessOrEqual(t, len(lines), openLines+3)
	require.Contains(t, lines[len(lines)-1].String(), "the rest is too long for here")
}

func TestTheMouse(t *testing.T) {
	t.Parallel()
	r := withCalls(t)
	at := strings.Index(r.screen(), "read_file")
	y := strings.Count(r.screen()[:at], "\n")
	r.is(clickMsg{10, y})
	r.sees("fifth NEEDLE")
	r.is(clickMsg{10, y})
	r.misses("fifth NEEDLE")
	for range 5 {
		r.is(clickMsg{10, 3})
	}
	r.typed("<ctrl+end>")
	before := r.screen()
	r.is(wheelMsg{1, 1, -3})
	r.is(wheelMsg{1, 1, 300})
	require.Equal(t, before, r.screen())
	r.typed("hello")
	r.is(clickMsg{gutter + 1, 23})
	r.typed("X")
	r.sees("› hXello")

	r.is(listMsg{list: listModels, rows: []choice{{value: "a", cells: []string{"first model"}}, {value: "b", cells: []string{"second model"}}}})
	y = strings.Count(r.screen()[:strings.Index(r.screen(), "second model")], "\n")
	r.is(wheelMsg{1, 1, 3}, wheelMsg{1, 1, -9})
	require.Equal(t, 0, r.picker.selected)
	require.Equal(t, []effect{doEffect{`/model "b"`}}, r.is(clickMsg{10, y}))
	r.is(listMsg{list: listModels, rows: []choice{{value: "a", cells: []string{"first model"}}}}, clickMsg{0, 0})
	require.Nil(t, r.picker, "a click beside the list closes it")
	require.Equal(t, []effect{mouseEffect{false}}, r.typed("<f5>"))
	require.Equal(t, []effect{mouseEffect{true}}, r.typed("<f5>"))
}

func TestFinding(t *testing.T) {
	t.Parallel()
	r := withCalls(t)
	r.typed("<ctrl+f>needle")
	r.sees("find: needle", "fifth NEEDLE")
	require.True(t, r.entries[2].open, "what is looked for was in the part that was not shown")
	r.typed("<ctrl+u>line 99")
	r.sees("line 99")
	require.False(t, r.entries[2].open, "it was opened by the search alone")
	r.typed("<ctrl+u>needle")
	r.typed("<enter>")
	first := *r.find
	r.typed("n")
	require.NotEqual(t, first, *r.find)
	r.typed("N")
	require.Equal(t, first, *r.find)
	g, _ := r.draw()
	require.Contains(t, g.Marked(), "{selection+reverse}needle{}")
	require.Contains(t, g.Marked(), "{selection+reverse}NEEDLE{}")
	r.typed("<esc>")
	require.Nil(t, r.find)
	r.typed("<ctrl+f>nothing of that")
	r.sees("not found")
	r.typed("<ctrl+u>ANSWER<backspace>")
	r.sees("find: ANSWE")
	r.misses("not found")
	r.typed("<up><down><esc>x")
	r.sees("› x")
	r.typed("<ctrl+f><enter>y")
	r.sees("› xy")
}

func TestFindingIgnoresCaseInAnyScript(t *testing.T) {
	t.Parallel()
	require.Equal(t, 5, foldIndex("Grü ÄPFEL", "äpfel"), "bytes, not letters")
	require.Equal(t, -1, foldIndex("abc", ""))
	require.Equal(t, -1, foldIndex("abc", "abcd"))
	rapid.Check(t, func(t *rapid.T) {
		s, text := rapid.StringOf(rapid.SampledFrom([]rune("aAbBéÉ数 "))).Draw(t, "s"), rapid.StringOfN(rapid.SampledFrom([]rune("aAbBéÉ数 ")), 1, 3, -1).Draw(t, "text")
		require.Equal(t, strings.Index(strings.ToLower(s), strings.ToLower(text)), foldIndex(s, text), "these letters have one size in both cases")
		l := cells.Line{{Text: s, Style: cells.Style{Role: cells.Good}}, {Text: s}}
		require.Equal(t, s+s, highlight(l, text).String())
	})
}

func TestADocumentWithOneLongLine(t *testing.T) {
	t.Parallel()
	r := ready(t, 80, 24)
	text := strings.Repeat("数据 with words ", 60_000) + "the needle"
	r.is(documentMsg{title: "long", text: text})
	for _, piece := range r.document.pieces {
		require.LessOrEqual(t, len(piece), pieceBytes)
		require.True(t, utf8.ValidString(piece))
	}
	require.Equal(t, text, strings.Join(r.document.pieces, ""))
	r.screen()
	require.LessOrEqual(t, len(r.document.kept), 3, "only what is visible is laid out")
	r.typed("<ctrl+f>the needle<enter>")
	r.sees("the needle")
	require.Equal(t, []effect{copyEffect{text}}, r.typed("y"))
	r.is(documentMsg{err: fmt.Errorf("there is no stored result")})
	r.typed("q")
	r.typed("q")
	require.Nil(t, r.document)
	r.sees("there is no stored result")
}

func TestArgumentsInOneLine(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`{"path":"a.txt","n":3,"deep":{"a":[1, 2]}}`: `path=a.txt n=3 deep={"a":[1, 2]}`, `{"q":"two words"}`: `q="two words"`, `{"e":""}`: `e=""`,
		`{}`: "", `"what the model wrote"`: `"what the model wrote"`, `null`: "null", ``: "", `{"cut`: `{"cut`, `{"a":`: `{"a":`,
	} {
		require.Equal(t, want, argumentText(json.RawMessage(raw)), raw)
	}
}

func TestATableThatDoesNotFitBecomesRecords(t *testing.T) {
	t.Parallel()
	table := &app.Table{Columns: []app.TableColumn{{Title: "ID"}, {Title: "COUNT", Right: true}, {Title: "EMPTY"}}, Rows: [][]any{{"c-2026-01-02-a-long-name", 1200, ""}, {"短", 7}}}
	var out []string
	for _, l := range tableLines(table, 20, ready(t, 80, 24).now) {
		require.LessOrEqual(t, l.Width(), 20)
		out = append(out, l.String())
	}
	require.Equal(t, "id: c-2026-01-02-a-\n  long-name\ncount: 1,200\n\nid: 短\ncount: 7", strings.Join(out, "\n"))
	require.Empty(t, tableLines(nil, 20, ready(t, 80, 24).now))
}

func TestTheLastCellOfATableGoesOnBelow(t *testing.T) {
	t.Parallel()
	columns := []app.TableColumn{{Title: "COMMAND"}, {Title: "DOES", Flexible: true}}
	table := &app.Table{Columns: columns, Rows: [][]any{{"/new", "begins another conversation"}, {"/quit", strings.Repeat("leaves ", 12)}}}
	show := func(width int) string {
		var out []string
		for _, l := range tableLines(table, width, ready(t, 80, 24).now) {
			require.LessOrEqual(t, l.Width(), width)
			out = append(out, strings.TrimRight(l.String(), " "))
		}
		return strings.Join(out, "\n")
	}
	require.Equal(t, "COMMAND  DOES\n/new     begins another\n         conversation\n/quit    leaves leaves\n         leaves leaves\n         leaves leaves …", show(24))
	require.Equal(t, "COMMAND  DOES\n/new     begins another conversation\n/quit    leaves leaves leaves leaves\n         leaves leaves leaves leaves\n         leaves leaves leaves leaves", show(37))
	require.Equal(t, "COMMAND  DOES\n/new     begins\n         another\n         conversa…\n/quit    leaves\n         leaves\n         leaves …", show(18), "no more than three lines")
}

func TestWhatCannotBeFoundLeavesThePlace(t *testing.T) {
	t.Parallel()
	r := ready(t, 80, 24)
	r.typed("<ctrl+f>x")
	r.sees("not found")
	r.typed("<esc><f4>")
	require.Equal(t, modeInput, r.mode, "there is nothing to select")
}

func TestALongQuestionIsShownInPart(t *testing.T) {
	t.Parallel()
	r := ready(t, 80, 40)
	r.is(turnsMsg{turns: []app.Turn{{Goal: strings.Repeat("line\n", 10_000) + "the end", Answer: "Yes.", Status: "done"}, {Goal: "one\ntwo\nthree"}}})
	r.sees("› line", "… 9,991 more lines", "Yes.", "  three")
	r.typed("<f4>gg<enter>")
	r.misses("more lines")
	r.typed("<ctrl+f>THE END")
	r.sees("the end")
}
