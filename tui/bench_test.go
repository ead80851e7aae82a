package tui

import (
	"strings"
	"testing"
	"time"

	"github.com/llama-agent/llama-agent/app"
)

// BenchmarkFrame draws a frame in which a long answer has grown by a word.
func BenchmarkFrame(b *testing.B) {
	s := newState(Settings{Sidebar: true, PreviewChars: 500}, time.Unix(1_800_000_000, 0))
	s.update(sizeMsg{120, 40}, s.now)
	s.update(eventMsg{app.AnswerStarted{}}, s.now)
	s.update(eventMsg{app.AnswerDelta{Text: strings.Repeat(english, 100)}}, s.now)
	s.draw()
	for b.Loop() {
		s.update(eventMsg{app.AnswerDelta{Text: "word "}}, s.now)
		s.draw()
	}
}

// BenchmarkKey types a character after 10,000 pasted lines.
func BenchmarkKey(b *testing.B) {
	s := newState(Settings{Sidebar: true}, time.Unix(1_800_000_000, 0))
	s.update(sizeMsg{120, 40}, s.now)
	s.update(pasteMsg{strings.Repeat("a line of text\n", 10_000)}, s.now)
	s.draw()
	for b.Loop() {
		s.update(keyMsg{key{text: "x"}}, s.now)
		s.draw()
	}
}
