package app

import (
	"fmt"
	"strings"

	"github.com/llama-agent/llama-agent/config"
	"github.com/llama-agent/llama-agent/tools"
)

// maxSkillNotices bounds what is told of broken skills when an agent opens.
const maxSkillNotices = 5

// Skill describes a skill that works. Name is that of its tool.
type Skill struct {
	ToolInfo
	Kind string `json:"kind"` // "command" or "guide"
}

// SkillProblem says why a skill is left out.
type SkillProblem = tools.SkillProblem

// SkillList is what the folders with skills hold.
type SkillList struct {
	Skills   []Skill        `json:"skills"`
	Problems []SkillProblem `json:"problems"`
}

// Skills lists the skills of a configuration, those that are off and those that are broken included.
func Skills(c *config.Config) (SkillList, error) {
	set := loadSkills(c)
	list := SkillList{Skills: []Skill{}, Problems: append([]SkillProblem{}, set.Problems...)}
	described, err := describeTools(c, set)
	if err != nil {
		return list, err
	}
	// Skills come last, in their order.
	described = described[len(described)-len(set.Skills):]
	for i, skill := range set.Skills {
		list.Skills = append(list.Skills, Skill{ToolInfo: described[i], Kind: string(skill.Kind)})
	}
	return list, nil
}

// loadSkills reads the skills. Names of built-in tools are taken, also of those that are off, and so is the word that
// plans use for no tool.
func loadSkills(c *config.Config) tools.SkillSet {
	taken := []string{NoTool}
	for _, t := range builtIn(c, Stores{}) {
		taken = append(taken, t.Spec().Name)
	}
	return tools.LoadSkills(tools.SkillOptions{
		Dirs: c.Tools.Skills.Dirs, Shell: shellOptions(c), Timeout: c.Tools.Skills.Timeout, Taken: taken,
	})
}

// tellBrokenSkills warns of what is left out, unless the app only looks at what there is.
func (a *App) tellBrokenSkills(set tools.SkillSet) {
	if a.options.Existing {
		return
	}
	for i, p := range set.Problems {
		if i == maxSkillNotices {
			a.options.Logger.Warn(fmt.Sprintf("%d more skills are broken; see: llama-agent skills", len(set.Problems)-i))
			return
		}
		a.options.Logger.Warn("skill left out: " + p.String())
	}
}

func checkSkills(c *config.Config) Check {
	const name = "skills"
	set := loadSkills(c)
	if len(set.Problems) > 0 {
		first := set.Problems[0]
		detail := first.File
		if first.Line > 0 {
			detail = fmt.Sprintf("%s:%d", first.File, first.Line)
		}
		detail += ": " + first.Reason
		if more := len(set.Problems) - 1; more > 0 {
			return warning(name, "see all with: llama-agent skills", "%s; and %d more are left out", detail, more)
		}
		return warning(name, first.Fix, "%s", detail)
	}
	if len(set.Skills) == 0 {
		return ok(name, "none in %s", strings.Join(c.Tools.Skills.Dirs, ", "))
	}
	names := make([]string, len(set.Skills))
	for i, skill := range set.Skills {
		names[i] = skill.Tool
	}
	return ok(name, "%d: %s", len(names), strings.Join(names, ", "))
}
