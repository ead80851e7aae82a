package benchmark

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/llama-agent/llama-agent/app"
	"github.com/llama-agent/llama-agent/config"
)

// ToolNames are the names of all tools of the program, and of the skills of the configuration. Those that are off are among
// them: what is off depends on the round.
func ToolNames(c *config.Config) ([]string, error) {
	list, err := app.DescribeTools(c)
	if err != nil {
		return nil, fmt.Errorf("listing the tools that a suite may name: %w", err)
	}
	names := make([]string, len(list))
	for i, t := range list {
		names[i] = t.Name
	}
	return names, nil
}

// CheckTools returns an error that names every tool that a case expects or forbids and that is not among the names. A case may
// also name skills of its own: NAME for a file skills/NAME.yaml or skills/NAME/SKILL.md.
func (s *Suite) CheckTools(names []string) error {
	var errs []error
	for _, c := range s.Cases {
		skills := c.ownSkills()
		for _, field := range c.toolFields() {
			for i, name := range field.tools {
				if slices.Contains(names, name) || slices.Contains(skills, name) {
					continue
				}
				hint := ""
				if near := config.Nearest(name, append(skills, names...)); near != "" {
					hint = "; did you mean " + near + "?"
				}
				errs = append(errs, fmt.Errorf("case %q: %s[%d]: there is no tool %q%s", c.ID, field.name, i, name, hint))
			}
		}
	}
	return errors.Join(errs...)
}

type toolField struct {
	name  string
	tools []string
}

func (c *Case) toolFields() []toolField {
	return []toolField{
		{"expected_tools", c.ExpectedTools}, {"expected_tool_sequence", c.ExpectedToolSequence}, {"forbidden_tools", c.ForbiddenTools},
	}
}

// ownSkills are the names of the skills that the case's files may define.
func (c *Case) ownSkills() []string {
	var names []string
	for _, file := range sortedKeys(c.Metadata.FixtureFiles) {
		rest, below := strings.CutPrefix(file, "skills/")
		if !below {
			continue
		}
		if folder, ok := strings.CutSuffix(rest, "/SKILL.md"); ok {
			names = append(names, folder)
		} else if ext := path.Ext(rest); ext == ".yaml" || ext == ".yml" {
			names = append(names, strings.TrimSuffix(rest, ext))
		}
	}
	return names
}

// statuses are those that a task can end with.
var statuses = []string{"done", "failed", "interrupted", AnyStatus}

// checkExpectations sees that an outcome can meet what the case expects.
func (c *Case) checkExpectations() error {
	if !slices.Contains(statuses, c.ExpectedStatus) {
		return fmt.Errorf("expected_status is %q, allowed are %s", c.ExpectedStatus, strings.Join(statuses, ", "))
	}
	if err := checkWords("", c.ExpectedContains, c.ExpectedAny); err != nil {
		return err
	}
	for i, q := range c.Metadata.ConversationFinalTurns {
		if err := checkWords(fmt.Sprintf("conversation_final_turns[%d]: ", i), q.ExpectedContains, q.ExpectedAny); err != nil {
			return err
		}
	}
	if i := slices.IndexFunc(c.ExpectedToolResultContains, blank); i >= 0 {
		return fmt.Errorf("expected_tool_result_contains[%d] is empty, so that anything would meet it", i)
	}
	for _, field := range c.toolFields() {
		if i := slices.IndexFunc(field.tools, blank); i >= 0 {
			return fmt.Errorf("%s[%d] is empty", field.name, i)
		}
	}
	for _, tool := range slices.Concat(c.ExpectedTools, c.ExpectedToolSequence) {
		if slices.Contains(c.ForbiddenTools, tool) {
			return fmt.Errorf("forbidden_tools has %s, which is expected", tool)
		}
	}
	return c.checkCallLimits()
}

func checkWords(where string, contains []string, choices [][]string) error {
	if i := slices.IndexFunc(contains, blank); i >= 0 {
		return fmt.Errorf("%sexpected_contains[%d] is empty, so that anything would meet it", where, i)
	}
	for i, list := range choices {
		if len(list) == 0 {
			return fmt.Errorf("%sexpected_any[%d] is empty, so that nothing would meet it", where, i)
		}
		if j := slices.IndexFunc(list, blank); j >= 0 {
			return fmt.Errorf("%sexpected_any[%d][%d] is empty, so that anything would meet it", where, i, j)
		}
	}
	return nil
}

// checkCallLimits compares what must be called with what may be called.
func (c *Case) checkCallLimits() error {
	if c.MinToolCalls < 0 {
		return fmt.Errorf("min_tool_calls is %d; it cannot be negative", c.MinToolCalls)
	}
	if slices.ContainsFunc(c.MaxToolCallsPerTurn, func(n int) bool { return n < 0 }) {
		return errors.New("max_tool_calls_per_turn has a negative number")
	}
	turns := c.turnCount()
	if len(c.MaxToolCallsPerTurn) > turns {
		return fmt.Errorf("max_tool_calls_per_turn has %d numbers for %d turns", len(c.MaxToolCallsPerTurn), turns)
	}
	needed, why := c.MinToolCalls, "min_tool_calls"
	for _, field := range c.toolFields()[:2] {
		tools := field.tools
		if field.name == "expected_tools" {
			tools = slices.Compact(slices.Sorted(slices.Values(tools)))
		}
		if len(tools) > needed {
			needed, why = len(tools), field.name
		}
	}
	if len(c.ExpectedToolResultContains) > 0 && needed == 0 {
		needed, why = 1, "expected_tool_result_contains"
	}
	if c.MaxToolCalls != nil && *c.MaxToolCalls < 0 {
		return fmt.Errorf("max_tool_calls is %d; it cannot be negative", *c.MaxToolCalls)
	}
	if c.MaxToolCalls != nil && *c.MaxToolCalls < needed {
		return fmt.Errorf("max_tool_calls is %d, but %s needs %d", *c.MaxToolCalls, why, needed)
	}
	if n := len(c.MaxToolCallsPerTurn); n > 0 {
		allowed := 0
		for turn := range turns {
			allowed += c.MaxToolCallsPerTurn[min(turn, n-1)]
		}
		if allowed < needed {
			return fmt.Errorf("max_tool_calls_per_turn allows %d calls in all, but %s needs %d", allowed, why, needed)
		}
	}
	return nil
}
