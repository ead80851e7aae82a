package tui

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func withWords(t *testing.T) *rig {
	t.Helper()
	r := ready(t, 80, 24)
	r.is(wordsMsg{words: words{
		tools: []word{{"read_file", "reads a file"}, {"count_lines", "counts"}}, skills: []word{{"make_report", "a skill"}},
		files: []word{{text: "logs/api.log"}, {text: "数据/orders.csv"}, {text: "models/m.gguf"}}, conversations: []word{{"c-2026-1", "about orders"}},
		artifacts: []word{{"artifact://abc", "read_file"}},
	}})
	return r
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ typed, sees, text string }{
		{"/re<tab>", "go on with a stopped task", "/resume "},
		{"/re<down><enter>", "/remember", "/remember "},
		{"/q<tab>", "leave", "/quit"},
		{"/count<tab>", "", "/count_lines "},
		{"/tool rea<enter>", "", "/tool read_file "},
		{"/skill <enter>", "", "/skill make_report "},
		{"/resume <tab>", "", "/resume c-2026-1 "},
		{"/artifacts <tab>", "", "/artifacts artifact://abc "},
		{"/thinking o<down><tab>", "", "/thinking off "},
		{"/model <tab>", "", "/model models/m.gguf "},
		{"look at @ord<tab>", "", "look at 数据/orders.csv "},
		{"look at api<tab>", "", "look at logs/api.log "},
		{"look at @<esc><tab>", "", "look at @"},
		{"/re<up><shift+tab><tab>", "", "/"},
	} {
		r := withWords(t)
		keys := c.typed[:strings.Index(c.typed, "<")]
		r.typed(keys)
		if c.sees != "" {
			r.sees(c.sees)
		}
		r.typed(c.typed[len(keys):])
		if c.text != "/" {
			require.Equal(t, c.text, r.input.text(), c.typed)
		}
	}
}

func TestCompletionIsNotInTheWay(t *testing.T) {
	t.Parallel()
	r := withWords(t)
	require.Equal(t, []effect{doEffect{"/stats"}}, r.typed("/stats<enter>"), "what is complete is sent")
	require.Equal(t, []effect{doEffect{"//re"}}, r.typed("//re<enter>"))
	require.Equal(t, []effect{doEffect{"and/or"}}, r.typed("and/or<enter>"))
	require.Empty(t, r.typed("/re<esc><enter>"), "dismissed, so that it is sent, and is no command")
	r.sees(`there is no command "/re"`)
	r.typed("/tool read_file what ")
	require.False(t, r.input.popup.Open(), "the request is no name")
	r.typed("<ctrl+u>first line<alt+enter>/re")
	require.False(t, r.input.popup.Open(), "a slash in the second line is none of a command")
}

func TestThePopupAndTheMouse(t *testing.T) {
	t.Parallel()
	r := withWords(t)
	r.typed("/re")
	screen := r.screen()
	y := strings.Count(screen[:strings.Index(screen, "/remember")], "\n")
	r.is(clickMsg{3, y})
	require.Equal(t, "/remember ", r.input.text())
}

func TestThePopupFitsSmallTerminals(t *testing.T) {
	t.Parallel()
	r := withWords(t)
	for _, size := range [][2]int{{20, 6}, {20, 7}, {40, 12}, {30, 9}} {
		r.is(sizeMsg{size[0], size[1]})
		r.typed("<ctrl+u>/")
		g, at := r.draw()
		straight(t, g)
		require.True(t, at.shown)
		require.Contains(t, g.String(), "› /")
	}
}
