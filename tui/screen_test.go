package tui

import (
	"strings"
	"testing"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"
	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/tui/cells"
)

func TestKeysOfTheTerminal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		key  tcell.Key
		r    rune
		mod  tcell.ModMask
		want key
	}{
		{tcell.KeyRune, 'a', 0, key{text: "a"}}, {tcell.KeyRune, '数', 0, key{text: "数"}}, {tcell.KeyRune, '\u200d', 0, key{text: "\u200d"}},
		{tcell.KeyRune, 'A', tcell.ModShift, key{text: "A"}}, {tcell.KeyEnter, 0, 0, key{name: "enter"}},
		{tcell.KeyEnter, 0, tcell.ModAlt, key{name: "alt+enter"}}, {tcell.KeyEnter, 0, tcell.ModShift, key{name: "shift+enter"}},
		{tcell.KeyRune, 'm', tcell.ModAlt | tcell.ModCtrl, key{name: "alt+enter"}}, // Escape and a carriage return, as most terminals send Alt-Enter
		{tcell.KeyCtrlJ, 0, tcell.ModCtrl, key{name: "ctrl+j"}}, {tcell.KeyCtrlC, 0, tcell.ModCtrl, key{name: "ctrl+c"}},
		{tcell.KeyTab, 0, 0, key{name: "tab"}}, {tcell.KeyTab, 0, tcell.ModShift, key{name: "shift+tab"}}, {tcell.KeyEsc, 0, 0, key{name: "esc"}},
		{tcell.KeyBackspace, 0, 0, key{name: "backspace"}}, {tcell.KeyBackspace2, 0, 0, key{name: "backspace"}}, {tcell.KeyBackspace, 0, tcell.ModAlt, key{name: "alt+backspace"}},
		{tcell.KeyLeft, 0, tcell.ModCtrl, key{name: "ctrl+left"}}, {tcell.KeyHome, 0, tcell.ModCtrl, key{name: "ctrl+home"}}, {tcell.KeyRune, 'b', tcell.ModAlt, key{name: "alt+b"}},
		{tcell.KeyF4, 0, 0, key{name: "f4"}}, {tcell.KeyCtrlUnderscore, 0, tcell.ModCtrl, key{name: "ctrl+_"}},
	} {
		got, ok := keyOf(tcell.NewEventKey(c.key, c.r, c.mod))
		require.True(t, ok)
		require.Equal(t, c.want, got)
	}
	_, ok := keyOf(tcell.NewEventKey(tcell.KeyF12, 0, 0))
	require.False(t, ok)
}

func TestAPasteIsOnePieceOfText(t *testing.T) {
	t.Parallel()
	sim := tcell.NewSimulationScreen("UTF-8")
	require.NoError(t, sim.Init())
	defer sim.Fini()
	var pasted []string
	s := &screen{Screen: sim, pasted: func(text string) { pasted = append(pasted, text) }}
	post := func(events ...tcell.Event) {
		for _, e := range events {
			require.NoError(t, sim.PostEvent(e))
		}
	}
	text := func(text string) (events []tcell.Event) {
		for _, r := range text {
			events = append(events, tcell.NewEventKey(tcell.KeyRune, r, 0))
		}
		return events
	}
	post(tcell.NewEventPaste(true))
	post(text("a数")...)
	post(tcell.NewEventKey(tcell.KeyEnter, 0, 0), tcell.NewEventKey(tcell.KeyTab, 0, 0), tcell.NewEventKey(tcell.KeyCtrlJ, 0, 0))
	go func() {
		post(tcell.NewEventKey(tcell.KeyCtrlC, 0, tcell.ModCtrl), tcell.NewEventKey(tcell.KeyEsc, 0, 0), tcell.NewEventPaste(false), tcell.NewEventKey(tcell.KeyF1, 0, 0))
	}()
	for {
		e, isKey := s.PollEvent().(*tcell.EventKey)
		if isKey {
			require.Equal(t, tcell.KeyF1, e.Key(), "what was pasted is no key, not even Ctrl-C")
			break
		}
	}
	require.Equal(t, []string{"a数\n\t\n"}, pasted)
}

func TestAPasteIsBounded(t *testing.T) {
	t.Parallel()
	s := &screen{}
	for range maxPaste + 10 {
		s.collect(tcell.NewEventKey(tcell.KeyRune, 'a', 0))
	}
	require.Equal(t, strings.Repeat("a", maxPaste), s.buffer.String())
}

func TestThemes(t *testing.T) {
	t.Parallel()
	for role := cells.Text; role <= cells.Number; role++ {
		style := cells.Style{Role: role}
		require.Equal(t, tcell.ColorDefault, ThemePlain.color(role))
		for _, theme := range []Theme{ThemeTerminal, ThemeDark, ThemeLight, ThemePlain} {
			_, background, _ := theme.style(style).Decompose()
			require.Equal(t, tcell.ColorDefault, background, "the terminal's background stays")
		}
		if role != cells.Text && role != cells.Selection {
			require.NotEqual(t, tcell.ColorDefault, ThemeDark.color(role), role)
			require.NotEqual(t, tcell.ColorDefault, ThemeLight.color(role), role)
			require.NotEqual(t, ThemeDark.color(role), ThemeLight.color(role), role)
		}
	}
	_, _, attributes := ThemePlain.style(cells.Style{Role: cells.Bad, Attr: cells.Underline | cells.Italic | cells.Reverse | cells.Strike | cells.Dim}).Decompose()
	for _, a := range []tcell.AttrMask{tcell.AttrBold, tcell.AttrItalic, tcell.AttrReverse, tcell.AttrStrikeThrough, tcell.AttrDim} {
		require.NotZero(t, attributes&a)
	}
}

func TestTheMouseBecomesMessages(t *testing.T) {
	t.Parallel()
	var got []message
	c := &canvas{Box: tview.NewBox(), mouse: func(m message) { got = append(got, m) }}
	handle := c.MouseHandler()
	for action, want := range map[tview.MouseAction]message{
		tview.MouseLeftClick: clickMsg{3, 4}, tview.MouseScrollUp: wheelMsg{3, 4, -3}, tview.MouseScrollDown: wheelMsg{3, 4, 3}, tview.MouseMove: nil, tview.MouseRightClick: nil,
	} {
		got = nil
		used, _ := handle(action, tcell.NewEventMouse(3, 4, 0, 0), nil)
		require.Equal(t, want != nil, used)
		if want != nil {
			require.Equal(t, []message{want}, got)
		}
	}
}
