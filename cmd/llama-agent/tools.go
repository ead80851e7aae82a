package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/llama-agent/llama-agent/app"
)

func newTools(s *session) *cobra.Command {
	return &cobra.Command{
		Use:   "tools",
		Short: "List what the model can use: arguments, limits, where from",
		Args:  arguments(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			c, err := s.load()
			if err != nil {
				return err
			}
			list, err := app.DescribeTools(c)
			if err != nil {
				return err
			}
			if s.console.json {
				return s.console.printJSON(map[string]any{"tools": list})
			}
			for i, t := range list {
				if i > 0 {
					s.console.print("\n")
				}
				s.console.print(toolText(t, s.console.width))
			}
			return nil
		},
	}
}

// toolText describes a tool in a few lines of at most width columns.
func toolText(t app.ToolInfo, width int) string {
	var b strings.Builder
	off := "(off: " + t.Off + ")"
	switch {
	case t.Off == "":
		b.WriteString(t.Name + "\n")
	case len(t.Name)+2+len(off) <= width:
		b.WriteString(t.Name + "  " + off + "\n")
	default:
		b.WriteString(t.Name + "\n  " + strings.Join(wrapText(off, width-2), "\n  ") + "\n")
	}
	write := func(label, text string) {
		for i, line := range wrapText(text, width-13) {
			if i > 0 {
				label = ""
			}
			fmt.Fprintf(&b, "  %-10s %s\n", label, line)
		}
	}
	write("does", t.Description)
	arguments := make([]string, len(t.Arguments))
	for i, a := range t.Arguments {
		arguments[i] = argumentSummary(a)
	}
	write("arguments", strings.Join(arguments, ", "))
	access := "reads only"
	if !t.ReadOnly {
		access = "may change things"
	}
	write("limits", strings.Join(slices.Concat([]string{access}, t.Limits), "; "))
	write("from", t.Origin)
	return b.String()
}

// argumentSummary is the name of an argument, with its default in parentheses when it is optional: max_results (200).
func argumentSummary(a app.ToolArgument) string {
	switch {
	case a.Required:
		return a.Name
	case len(a.Default) > 0:
		var text string
		if json.Unmarshal(a.Default, &text) == nil {
			return fmt.Sprintf("%s (%s)", a.Name, text)
		}
		return fmt.Sprintf("%s (%s)", a.Name, a.Default)
	}
	return a.Name + " (optional)"
}

// wrapText breaks text into lines of at most width columns, between words.
func wrapText(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(app.Inert(text)) {
		switch {
		case line == "":
			line = word
		case len(line)+1+len(word) > width:
			lines = append(lines, line)
			line = word
		default:
			line += " " + word
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}
