package app

import (
	"bytes"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/config"
	"github.com/llama-agent/llama-agent/tools"
)

const (
	listSkill  = "name: list-all\ndescription: Lists files.\nread_only: true\ntimeout_seconds: 120\ncommand: ls -a\n"
	guideSkill = "---\ndescription: How to write.\n---\nShort."
)

func withSkills(t *testing.T, c *config.Config, files map[string]string) {
	t.Helper()
	for name, text := range files {
		write(t, filepath.Join(c.Workspace, "skills", name), text)
	}
}

func TestSkillsAreTools(t *testing.T) {
	t.Parallel()
	c := configure(t)
	withSkills(t, c, map[string]string{"a.yaml": listSkill, "style/SKILL.md": guideSkill})
	registry, err := Tools(c, Stores{}, nil)
	require.NoError(t, err)
	result, err := registry.Call(t.Context(), "list_all", nil)
	require.NoError(t, err)
	require.Contains(t, result.Text, "skills")
	result, err = registry.Call(t.Context(), "style", nil)
	require.NoError(t, err)
	require.Equal(t, "Short.", result.Data.(tools.SkillGuide).Instructions)
	only, err := Tools(c, Stores{}, []string{"style"})
	require.NoError(t, err)
	require.Equal(t, []string{"style"}, only.Names())

	list, err := DescribeTools(c)
	require.NoError(t, err)
	last := list[len(list)-2:]
	require.Equal(t, []string{"list_all", "style"}, []string{last[0].Name, last[1].Name})
	require.Equal(t, "skills/a.yaml", last[0].Origin)
	require.True(t, last[0].ReadOnly)
	require.Empty(t, last[0].Off)
}

func TestSkillsObeyEnabledToolsAndShellRules(t *testing.T) {
	t.Parallel()
	c := configure(t, "tools.enabled_tools=style,read_file", "tools.shell.allowed_commands=cat")
	withSkills(t, c, map[string]string{"a.yaml": listSkill, "b.yaml": "name: show\ndescription: d\ncommand: cat x\n", "style/SKILL.md": guideSkill})
	registry, err := Tools(c, Stores{}, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"read_file", "style"}, registry.Names())
	list, err := Skills(c)
	require.NoError(t, err)
	require.Len(t, list.Skills, 2)
	require.Equal(t, "show", list.Skills[0].Name)
	require.Equal(t, "command", list.Skills[0].Kind)
	require.Equal(t, "not in tools.enabled_tools", list.Skills[0].Off)
	require.Equal(t, "guide", list.Skills[1].Kind)
	require.Empty(t, list.Skills[1].Off)
	require.Len(t, list.Problems, 1)
	require.Contains(t, list.Problems[0].Reason, `"ls" is not among the allowed programs`)
}

func TestNoSkillTakesTheNameOfATool(t *testing.T) {
	t.Parallel()
	c := configure(t, "tools.shell.allowed_commands=cat")
	names := []string{NoTool}
	for _, tool := range builtIn(c, Stores{}) {
		names = append(names, tool.Spec().Name)
	}
	for _, name := range names {
		withSkills(t, c, map[string]string{name + "/SKILL.md": guideSkill})
	}
	list, err := Skills(c)
	require.NoError(t, err)
	require.Empty(t, list.Skills)
	require.Len(t, list.Problems, len(names))
	_, err = Tools(c, Stores{}, nil)
	require.NoError(t, err)
}

func TestBrokenSkillsAreToldOnce(t *testing.T) {
	t.Parallel()
	c := configure(t)
	withSkills(t, c, map[string]string{"a.yaml": listSkill})
	for i := range maxSkillNotices + 3 {
		withSkills(t, c, map[string]string{fmt.Sprintf("bad%d.yaml", i): "name: x"})
	}
	opened := func(existing bool) string {
		var log bytes.Buffer
		a, err := Open(t.Context(), Options{Config: c, Existing: existing, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		require.NoError(t, err)
		require.NoError(t, a.Close())
		return log.String()
	}
	log := opened(false)
	require.Equal(t, maxSkillNotices+1, strings.Count(log, "\n"), log)
	require.Contains(t, log, "skill left out: skills/bad0.yaml:1: it has no description")
	require.Contains(t, log, "3 more skills are broken; see: llama-agent skills")
	require.Empty(t, opened(true), "looking at stored tasks needs no skills")
}

func TestDoctorChecksSkills(t *testing.T) {
	t.Parallel()
	c := configure(t)
	check := checkSkills(c)
	require.Equal(t, CheckOK, check.State)
	require.Contains(t, check.Detail, "none in ")
	withSkills(t, c, map[string]string{"a.yaml": listSkill})
	require.Equal(t, ok("skills", "1: list_all"), checkSkills(c))
	withSkills(t, c, map[string]string{"b.yaml": "name: x"})
	require.Equal(t, warning("skills", "add a line such as: description: what the skill does, in one sentence", "skills/b.yaml:1: it has no description"), checkSkills(c))
	withSkills(t, c, map[string]string{"c.yaml": "x: ["})
	check = checkSkills(c)
	require.Equal(t, CheckWarning, check.State)
	require.Contains(t, check.Detail, "; and 1 more are left out")
	require.Contains(t, check.Fix, "llama-agent skills")
}

func TestSkillsMayTakeLongerThanOtherTools(t *testing.T) {
	t.Parallel()
	c := configure(t, "tools.shell.allowed_commands=sleep", "tools.timeout_seconds=0.1", "tools.file.timeout_seconds=0.1", "tools.log.timeout_seconds=0.1",
		"tools.sqlite.timeout_seconds=0.1", "tools.shell.timeout_seconds=0.1", "tools.skills.timeout_seconds=0.1")
	withSkills(t, c, map[string]string{"a.yaml": "name: nap\ndescription: d\ntimeout_seconds: 60\ncommand: sleep 1.5\n"})
	registry, err := Tools(c, Stores{}, nil)
	require.NoError(t, err)
	_, err = registry.Call(t.Context(), "nap", nil)
	require.NoError(t, err, "its own limit holds, not the longest of the others")
}
