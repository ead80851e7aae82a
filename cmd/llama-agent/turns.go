package main

import (
	"strings"

	"github.com/llama-agent/llama-agent/app"
)

// printTurns prints a conversation, the oldest turn first.
func (s *session) printTurns(c app.Conversation, turns []app.Turn) error {
	if s.console.json {
		return s.console.printJSON(map[string]any{"conversation_id": c.ID, "title": c.Title, "turns": turns})
	}
	for i, t := range turns {
		if i > 0 {
			s.console.print("\n")
		}
		s.console.printf("%d. %s, %s ago, thread %s\n", t.Number, t.Status, formatAge(t.Started, s.now()), t.Thread)
		s.console.print(quote(t.Goal))
		if answer := strings.TrimSpace(t.Answer); answer != "" {
			s.console.print(answer + "\n")
		}
		if t.Error != "" {
			s.console.printf("(%s)\n", oneLine(t.Error))
		}
	}
	return nil
}

// quote marks each line of what the user said.
func quote(text string) string {
	return "> " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n> ") + "\n"
}
