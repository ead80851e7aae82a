package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/llama-agent/llama-agent/app"
)

func newSkills(s *session) *cobra.Command {
	return &cobra.Command{
		Use:   "skills",
		Short: "List your own tools and instructions, and what is wrong with them",
		Long: "List the skills in the folders of tools.skills.dirs: *.yaml files that describe a command, and folders with a\n" +
			"SKILL.md that holds instructions. Broken ones are left out of tasks and listed with the reason.",
		Args: arguments(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			c, err := s.load()
			if err != nil {
				return err
			}
			list, err := app.Skills(c)
			if err != nil {
				return err
			}
			if s.console.json {
				return s.console.printJSON(list)
			}
			if len(list.Skills) == 0 && len(list.Problems) == 0 {
				s.console.note("no skills in %s; README.md says how to write one", strings.Join(c.Tools.Skills.Dirs, ", "))
				return nil
			}
			s.console.print(skillText(list, s.console.columns()))
			return nil
		},
	}
}

// skillText lists the skills that work as a table of at most width columns, and below it the others; 0 is any width.
func skillText(list app.SkillList, width int) string {
	var b strings.Builder
	if len(list.Skills) > 0 {
		rows := make([][]string, len(list.Skills))
		for i, skill := range list.Skills {
			arguments := make([]string, len(skill.Arguments))
			for j, a := range skill.Arguments {
				arguments[j] = argumentSummary(a)
			}
			about := skill.Description
			if skill.Off != "" {
				about = "(off: " + skill.Off + ") " + about
			}
			rows[i] = []string{skill.Name, skill.Kind, strings.Join(arguments, ", "), skill.Origin, about}
		}
		b.WriteString(table([]column{
			{title: "NAME"}, {title: "KIND"}, {title: "ARGUMENTS"}, {title: "FROM"}, {title: "ABOUT", flexible: true},
		}, rows, width))
	}
	if len(list.Problems) == 0 {
		return b.String()
	}
	if b.Len() > 0 {
		b.WriteByte('\n')
	}
	b.WriteString("left out:\n")
	for _, p := range list.Problems {
		fmt.Fprintf(&b, "  %s\n", p)
	}
	return b.String()
}
