package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/llama-agent/llama-agent/app"
)

func newDoctor(s *session) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Check model, memory, stores and workspace, and say what to do",
		Args:  arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := s.load()
			if err != nil {
				return err
			}
			checks := app.Doctor(cmd.Context(), c, app.ThisMachine())
			problems := 0
			for _, check := range checks {
				if check.State == app.CheckProblem {
					problems++
				}
			}
			if s.console.json {
				if err := s.console.printJSON(map[string]any{"checks": checks, "problems": problems}); err != nil {
					return err
				}
			} else {
				s.console.print(checkText(checks, s.console.width))
			}
			if problems > 0 {
				return &exitError{code: exitFailure}
			}
			return nil
		},
	}
}

// checkText lists the checks; below each that is not ok stands what to do.
func checkText(checks []app.Check, width int) string {
	const indent = 24
	var b strings.Builder
	write := func(left, text string) {
		for i, line := range wrapText(text, max(width-indent, 30)) {
			if i > 0 {
				left = ""
			}
			fmt.Fprintf(&b, "%-*s%s\n", indent, left, line)
		}
	}
	for _, c := range checks {
		write(fmt.Sprintf("%-9s%s", c.State, c.Name), c.Detail)
		if c.Fix != "" {
			write("", "→ "+c.Fix)
		}
	}
	return b.String()
}
