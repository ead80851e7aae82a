//go:build unix

package tools

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// FuzzSkillFile checks that a skill that is accepted has a command whose programs are allowed, and a tool that a registry
// takes, and that one that is refused says why.
func FuzzSkillFile(f *testing.F) {
	for _, seed := range []string{
		countWord, "", "a: &a [*a]", "name: x\ndescription: d\ncommand: ls\n", commandFile("echo {a} \"{b}\"", "type: integer, default: 5", "enum: [x, y]"),
		"name: x\ndescription: d\ncommand: >\n  ls\n  -l\n", "? !!binary x\n: y", "{name: x, description: d, command: 'echo {a}', arguments: [{name: a, pattern: '[a-z]+'}]}",
		"- - - - -", "a: |\n  b", "\ufeffname: x", "%YAML 1.1\n---\nname: x", "name: x\n...\nname: y", "\x00", "\xff\xfe", "'", "\"\\u0000\"", "!!str", "a: 0x_1", "command: \"echo {a\\\\}\"",
	} {
		f.Add(seed)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		l := &skillLoader{options: SkillOptions{}, shell: newShell(ShellOptions{Workspace: dir}), taken: map[string]string{}}
		skill, problem := l.parseCommandSkill(text)
		if problem != nil {
			require.NotEmpty(t, problem.reason)
			require.NotEmpty(t, problem.fix)
			return
		}
		_, err := NewRegistry(skill.tool())
		require.NoError(t, err)
		for n := range skillSamples {
			plan, problem := skill.template.plan(skill.shell, skill.samples(n), skill.dashed)
			if problem != nil {
				continue
			}
			for _, c := range plan.commands() {
				require.Contains(t, DefaultCommands(), c.argv[0])
			}
		}
	})
}

// FuzzGuideFile checks that splitting a SKILL.md loses nothing, whatever it holds.
func FuzzGuideFile(f *testing.F) {
	for _, seed := range []string{styleGuide, "---\n---\n", "---", "", "---\r\nname: a\r\n---\r\nx", "\ufeff---\na: b\n--- \n\n\n  x\n", "---\n|\n---\n---\n---"} {
		f.Add(seed)
	}
	l := &skillLoader{taken: map[string]string{}}
	f.Fuzz(func(t *testing.T, text string) {
		if header, body, ok := splitFrontMatter(text); ok {
			require.Contains(t, text, header)
			require.Contains(t, text, body)
			require.Equal(t, strings.TrimRight(body, " \t\r\n"), body)
			require.LessOrEqual(t, len(header)+len(body), len(text))
		}
		info, body, problem := l.parseGuide(text, "folder")
		if problem == nil {
			require.NotEmpty(t, body)
			require.Regexp(t, skillName, info.Name)
			require.NotEmpty(t, info.Description)
		}
	})
}

// TestValuesNeverChangeACommand puts any text into the slots of templates, and compares the words that would run with
// those of plain values: only the words with slots differ, and they hold the value as it is.
func TestValuesNeverChangeACommand(t *testing.T) {
	t.Parallel()
	s := newShell(ShellOptions{Workspace: t.TempDir()})
	type template struct {
		text  string
		words []string // as they run, with \1 for the slot
	}
	templates := []template{
		{"echo {a}", []string{"echo", "\x01"}},
		{`echo x "{a}" y`, []string{"echo", "x", "\x01", "y"}},
		{`echo "a {a} b" c`, []string{"echo", "a \x01 b", "c"}},
		{"echo x={a}.y '{a}'", []string{"echo", "x=\x01.y", "{a}"}},
		{`echo {a}"{a}"x*`, []string{"echo", "\x01\x01x*"}},
	}
	piece := rapid.OneOf(
		rapid.String(),
		rapid.SampledFrom([]string{"'", `"`, "\\", "$", "`", "(", ")", "{a}", "{", "}", ",", "*", "?", "[", "]", ";", "&", "|", "<", ">", "\n", "\x00", "~", "#", "!", " ", "-", "=", "..", "/"}),
	)
	rapid.Check(t, func(rt *rapid.T) {
		which := rapid.SampledFrom(templates).Draw(rt, "template")
		value := strings.Join(rapid.SliceOfN(piece, 1, 6).Draw(rt, "value"), "") + rapid.SampledFrom([]string{"", "x"}).Draw(rt, "end")
		parsed, problem := parseTemplate(which.text)
		require.Nil(rt, problem)
		plan, problem := parsed.plan(s, map[string]string{"a": value}, nil)
		if problem != nil {
			require.Equal(rt, KindDenied, problem.Kind)
			outside := strings.HasSuffix(which.text, "*") && strings.Contains(value, "/") // the pattern may lead out of the workspace
			require.True(rt, checkOneLine("a", value) != nil || strings.HasPrefix(value, "-") || outside, "%q was refused: %v", value, problem)
			return
		}
		require.Nil(rt, checkOneLine("a", value))
		commands := plan.commands()
		require.Len(rt, commands, 1)
		want := slices.Clone(which.words)
		for i := range want {
			want[i] = strings.ReplaceAll(want[i], "\x01", value)
		}
		require.Equal(rt, want, commands[0].argv)
	})
}
