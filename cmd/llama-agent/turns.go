package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/llama-agent/llama-agent/app"
)

// printTurns prints a conversation, the oldest turn first.
func (s *session) printTurns(c app.Conversation, turns []app.Turn) error {
	if s.console.json {
		return s.console.printJSON(map[string]any{"conversation_id": c.ID, "title": c.Title, "turns": turns})
	}
	s.console.print(turnsText(turns, s.now()))
	return nil
}

// turnsText shows turns as paragraphs.
func turnsText(turns []app.Turn, now time.Time) string {
	var b strings.Builder
	for i, t := range turns {
		if i > 0 {
			b.WriteString("\n")
		}
		age := formatAge(t.Started, now)
		if age != "now" {
			age += " ago"
		}
		fmt.Fprintf(&b, "%d. %s, %s, thread %s\n", t.Number, t.Status, age, t.Thread)
		b.WriteString(quote(t.Goal))
		if answer := strings.TrimSpace(t.Answer); answer != "" {
			b.WriteString(answer + "\n")
		}
		if t.Error != "" {
			fmt.Fprintf(&b, "(%s)\n", oneLine(t.Error))
		}
	}
	return b.String()
}

// quote marks each line of what the user said.
func quote(text string) string {
	return "> " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n> ") + "\n"
}
