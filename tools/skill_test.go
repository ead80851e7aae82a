//go:build unix

package tools

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// countWord is a command skill that works.
const countWord = `name: count-word
description: Counts the lines of a file that contain a word.
read_only: true
arguments:
  - name: word
    description: the word
  - name: file
    type: path
command: grep -c -F -e {word} {file}
`

const styleGuide = "---\nname: house-style\ndescription: How texts are written here.\n---\n\n# Style\n\nShort sentences.\n"

// loadSkills loads the skills folder of a workspace with the default commands.
func loadSkills(t *testing.T, ws string, taken ...string) SkillSet {
	t.Helper()
	set := LoadSkills(SkillOptions{Dirs: []string{"skills"}, Shell: ShellOptions{Workspace: ws}, Taken: taken})
	require.Len(t, set.Tools, len(set.Skills))
	return set
}

// skillRegistry is a registry of skills that all work.
func skillRegistry(t *testing.T, ws string, options ShellOptions, skills map[string]string) *Registry {
	t.Helper()
	for name, text := range skills {
		writeFiles(t, ws, map[string]string{"skills/" + name: text})
	}
	options.Workspace = ws
	set := LoadSkills(SkillOptions{Dirs: []string{"skills"}, Shell: options, Timeout: options.Timeout})
	require.Empty(t, set.Problems)
	r, err := NewRegistry(set.Tools...)
	require.NoError(t, err)
	return r
}

// brokenSkill loads one file that must be refused.
func brokenSkill(t *testing.T, text string) SkillProblem {
	t.Helper()
	ws := t.TempDir()
	writeFiles(t, ws, map[string]string{"skills/x.yaml": text})
	set := loadSkills(t, ws)
	require.Empty(t, set.Tools, text)
	require.Len(t, set.Problems, 1, text)
	require.Equal(t, "skills/x.yaml", set.Problems[0].File)
	require.NotEmpty(t, set.Problems[0].Fix)
	return set.Problems[0]
}

func TestSkillsAreFoundInOrder(t *testing.T) {
	t.Parallel()
	ws, shared := t.TempDir(), t.TempDir()
	writeFiles(t, ws, map[string]string{
		"skills/z.yml":                   strings.Replace(countWord, "count-word", "zett", 1),
		"skills/b/SKILL.md":              styleGuide,
		"skills/b/examples/good.md":      "x",
		"skills/b/.hidden":               "x",
		"skills/a.yaml":                  countWord,
		"skills/.git/SKILL.md":           "broken",
		"skills/.x.yaml":                 "broken",
		"skills/readme.txt":              "no skill",
		"skills/no-skill/notes.md":       "no skill",
		"skills/no-skill/deep/SKILL.md":  "no skill",
		"skills/folder.yaml/nothing.txt": "no skill",
	})
	writeFiles(t, shared, map[string]string{"Unnamed Guide/SKILL.md": "x", "unnamed/SKILL.md": "---\ndescription: Without a name.\n---\ntext"})
	set := LoadSkills(SkillOptions{Dirs: []string{"skills", "nowhere", shared, "./skills/"}, Shell: ShellOptions{Workspace: ws}})
	require.Equal(t, []SkillInfo{
		{"count-word", "count_word", SkillKindCommand, "Counts the lines of a file that contain a word.", "skills/a.yaml", 15 * time.Second},
		{"house-style", "house_style", SkillKindGuide, "How texts are written here.", "skills/b/SKILL.md", 0},
		{"zett", "zett", SkillKindCommand, "Counts the lines of a file that contain a word.", "skills/z.yml", 15 * time.Second},
		{"unnamed", "unnamed", SkillKindGuide, "Without a name.", shared + "/unnamed/SKILL.md", 0},
	}, set.Skills)
	require.Equal(t, []SkillProblem{{
		shared + "/Unnamed Guide/SKILL.md", 1, "it has no front matter", "begin it with a line ---, then lines with name: and description:, then a line ---",
	}}, set.Problems)
	require.Equal(t, 15*time.Second, set.MaxTimeout())
	for i, tool := range set.Tools {
		require.Equal(t, set.Skills[i].Tool, tool.Spec().Name)
		require.Equal(t, set.Skills[i].Origin, tool.Spec().Origin)
		require.NotEmpty(t, tool.Spec().Limits)
	}
	require.Zero(t, SkillSet{}.MaxTimeout())
}

func TestWithoutASkillsFolderThereAreNone(t *testing.T) {
	t.Parallel()
	require.Equal(t, SkillSet{}, loadSkills(t, t.TempDir()))
	require.Equal(t, SkillSet{}, LoadSkills(SkillOptions{}))
}

func TestBrokenSkillsAreReportedAndOthersWork(t *testing.T) {
	t.Parallel()
	ws, outside := t.TempDir(), t.TempDir()
	writeFiles(t, outside, map[string]string{"out.yaml": countWord, "guide/SKILL.md": styleGuide})
	writeFiles(t, ws, map[string]string{
		"skills/a.yaml":             countWord,
		"skills/bad-yaml.yaml":      "name: x\n  description: [",
		"skills/big.yaml":           countWord + strings.Repeat("# filler\n", 8<<10),
		"skills/double.yaml":        countWord,
		"skills/latin.yaml":         "name: caf\xe9\n",
		"skills/same.yaml":          strings.Replace(countWord, "count-word", "count_word", 1),
		"skills/taken.yaml":         strings.Replace(countWord, "count-word", "read-file", 1),
		"skills/big-guide/SKILL.md": styleGuide + strings.Repeat("long ", 60<<10),
		"skills/no-guide/SKILL.md":  "---\ndescription: x\n---\n\n \n",
		"skills/z-ok/SKILL.md":      styleGuide,
	})
	skills := filepath.Join(ws, "skills")
	require.NoError(t, os.MkdirAll(filepath.Join(skills, "dir-guide", "SKILL.md"), 0o755))
	require.NoError(t, os.Mkdir(filepath.Join(skills, "fifo-guide"), 0o755))
	require.NoError(t, syscall.Mkfifo(filepath.Join(skills, "fifo.yaml"), 0o600))
	require.NoError(t, syscall.Mkfifo(filepath.Join(skills, "fifo-guide", "SKILL.md"), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(skills, "link-guide"), 0o755))
	for name, target := range map[string]string{
		"link.yaml": outside + "/out.yaml", "link-guide/SKILL.md": outside + "/guide/SKILL.md", "link-folder": outside + "/guide", "dangling.yaml": "nowhere",
		"link-text": outside + "/out.yaml", "loop.yaml": "loop.yaml",
	} {
		require.NoError(t, os.Symlink(target, filepath.Join(skills, name)))
	}
	set := loadSkills(t, ws, "read_file")
	require.Len(t, set.Skills, 2)
	require.Equal(t, "skills/a.yaml", set.Skills[0].Origin)
	require.Equal(t, "skills/z-ok/SKILL.md", set.Skills[1].Origin)
	reasons := map[string]string{}
	for _, p := range set.Problems {
		require.NotEmpty(t, p.Fix, p.File)
		require.NotContains(t, p.String(), outside)
		reasons[strings.TrimPrefix(p.File, "skills/")] = fmt.Sprintf("%d %s", p.Line, p.Reason)
	}
	require.Equal(t, map[string]string{
		"bad-yaml.yaml":       "2 it is not valid YAML: mapping values are not allowed in this context",
		"big.yaml":            "0 it has more than 65536 bytes (64.0 KB)",
		"double.yaml":         `1 the name "count-word" is taken by the skill in skills/a.yaml`,
		"latin.yaml":          "0 it is not UTF-8 text",
		"same.yaml":           `1 the name "count_word" is taken by the skill in skills/a.yaml`,
		"taken.yaml":          `1 the name "read-file" is taken by a tool of the program`,
		"big-guide/SKILL.md":  "0 it has more than 262144 bytes (256.0 KB)",
		"no-guide/SKILL.md":   "0 it has no instructions",
		"dir-guide/SKILL.md":  "0 it is a folder, not a file",
		"fifo.yaml":           "0 it is a FIFO, not a file",
		"fifo-guide/SKILL.md": "0 it is a FIFO, not a file",
		"link.yaml":           "0 it is a link out of the folder of skills",
		"link-guide/SKILL.md": "0 it is a link out of the folder of skills",
		"link-folder":         "0 it is a link out of the folder of skills",
		"dangling.yaml":       "0 it is a link to something that does not exist",
		"loop.yaml":           reasons["loop.yaml"],
	}, reasons)
	require.Contains(t, reasons["loop.yaml"], "reading it: ")
}

func TestLinksInsideTheFolderOfSkillsWork(t *testing.T) {
	t.Parallel()
	ws := t.TempDir()
	writeFiles(t, ws, map[string]string{"skills/.store/real.yaml": countWord, "skills/.store/guide/SKILL.md": styleGuide, "skills/.store/guide/more.md": "x"})
	require.NoError(t, os.Symlink(".store/real.yaml", filepath.Join(ws, "skills", "a.yaml")))
	require.NoError(t, os.Symlink(".store/guide", filepath.Join(ws, "skills", "b")))
	set := loadSkills(t, ws)
	require.Empty(t, set.Problems)
	require.Len(t, set.Skills, 2)
	result, err := set.Tools[1].Call(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, []string{"more.md"}, result.Data.(SkillGuide).Files)
}

func TestFoldersOfSkillsThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	ws, outside := t.TempDir(), t.TempDir()
	writeFiles(t, outside, map[string]string{"a.yaml": countWord})
	writeFiles(t, ws, map[string]string{"file": "x", "good/a.yaml": countWord})
	require.NoError(t, os.Symlink(outside, filepath.Join(ws, "skills")))
	require.NoError(t, os.Symlink("nowhere", filepath.Join(ws, "dangling")))
	set := LoadSkills(SkillOptions{Dirs: []string{"skills", "file", "dangling", "file/below", "good"}, Shell: ShellOptions{Workspace: ws}})
	require.Len(t, set.Skills, 1, "the others don't keep it from working")
	var lines []string
	for _, p := range set.Problems {
		lines = append(lines, p.String())
	}
	require.Equal(t, []string{
		"skills: it is a link out of the workspace; name the folder itself in tools.skills.dirs",
		"file: it is not a folder; name a folder in tools.skills.dirs",
		"dangling: opening the folder: no such file or directory; correct it, or name another folder in tools.skills.dirs",
		"file/below: opening the folder: not a directory; correct it, or name another folder in tools.skills.dirs",
	}, lines)
	set = LoadSkills(SkillOptions{Dirs: []string{outside}, Shell: ShellOptions{Workspace: ws}})
	require.Len(t, set.Skills, 1, "a folder outside that is named is meant")
}

func TestThereIsALimitOfSkills(t *testing.T) {
	t.Parallel()
	ws := t.TempDir()
	files := map[string]string{"more/x.yaml": countWord}
	for i := range maxSkills + 20 {
		files[fmt.Sprintf("skills/s%03d.yaml", i)] = strings.Replace(countWord, "count-word", fmt.Sprintf("s%03d", i), 1)
	}
	writeFiles(t, ws, files)
	set := LoadSkills(SkillOptions{Dirs: []string{"skills", "more"}, Shell: ShellOptions{Workspace: ws}})
	require.Len(t, set.Skills, maxSkills)
	require.Len(t, set.Problems, 1)
	require.Equal(t, "skills: there are more than 200 skills; those from s200.yaml on are left out; remove some, or name fewer folders in tools.skills.dirs", set.Problems[0].String())
}

func TestNamesOfSkills(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Count", "1st", "-a", "a b", "a.b", "a/b", "../a", "größe", strings.Repeat("a", 49), "a\x1b[2J"} {
		p := brokenSkill(t, strings.Replace(countWord, "count-word", fmt.Sprintf("%q", name), 1))
		require.Contains(t, p.Reason, "is not allowed", name)
		require.Equal(t, 1, p.Line)
		require.NotContains(t, p.String(), "\x1b")
	}
	ws := t.TempDir()
	longest := strings.Repeat("a", 48)
	writeFiles(t, ws, map[string]string{"skills/x.yaml": strings.Replace(countWord, "count-word", longest, 1)})
	require.Equal(t, longest, loadSkills(t, ws).Skills[0].Name)
}

func TestProblemsAreOneInertLine(t *testing.T) {
	t.Parallel()
	p := SkillProblem{File: "a\x1b[2J\nb.yaml", Line: 3, Reason: "is\tbroken", Fix: "do\u202e this"}
	require.Equal(t, "a␛[2J b.yaml:3: is broken; do<U+202E> this", p.String())
}

// TestSkillsOfTheReadme loads the examples that users copy.
func TestSkillsOfTheReadme(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "README.md"))
	require.NoError(t, err)
	_, section, ok := strings.Cut(string(text), "\n## Skills\n")
	require.True(t, ok)
	example := func(language string) string {
		_, rest, ok := strings.Cut(section, "```"+language+"\n")
		require.True(t, ok)
		body, _, ok := strings.Cut(rest, "```\n")
		require.True(t, ok)
		return body
	}
	ws := t.TempDir()
	writeFiles(t, ws, map[string]string{"notes.txt": "one\ntwo\n"})
	r := skillRegistry(t, ws, ShellOptions{}, map[string]string{"a.yaml": example("yaml"), "b/SKILL.md": example("markdown")})
	require.Equal(t, []string{"count_word", "house_style"}, r.Names())
	require.Equal(t, "exit code 0\n1", mustCall(t, r, "count_word", map[string]any{"word": "one", "file": "notes.txt"}).Text)
	require.Contains(t, mustCall(t, r, "house_style", nil).Text, "Begin with the result.")
}
