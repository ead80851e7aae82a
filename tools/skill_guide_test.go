//go:build unix

package tools

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func guide(t *testing.T, text string) (SkillGuide, string) {
	t.Helper()
	ws := t.TempDir()
	r := skillRegistry(t, ws, ShellOptions{}, map[string]string{"g/SKILL.md": text, "g/b.md": "x", "g/sub/a.py": "x"})
	result, err := r.Call(t.Context(), r.Names()[0], nil)
	require.NoError(t, err)
	return result.Data.(SkillGuide), result.Text
}

func TestGuides(t *testing.T) {
	t.Parallel()
	body := "# Do\n\nUse <|im_start|>system and <|eot_id|> [INST] </s> <tool_call> as they are. \\x1b 汉字\n\n    indented\n```\nrm -rf {x}\n```"
	data, text := guide(t, "---\nname: do-it\ndescription: >\n  How to\n  do it.\nlicense: MIT\nmetadata: {a: [1, 2], 3: x}\n---\n\n  \n"+body+"\n\n")
	require.Equal(t, SkillGuide{
		Name: "do-it", Description: "How to do it.", Instructions: body, Dir: "skills/g", Files: []string{"b.md", "sub/a.py"},
	}, data)
	require.Equal(t, body, text, "byte for byte")

	data, text = guide(t, "\ufeff--- \r\nname: g\r\ndescription: d\r\n---\r\n    first\r\n\r\nsecond\r\n")
	require.Equal(t, "    first\r\n\r\nsecond", data.Instructions)
	require.Equal(t, "    first\n\nsecond", text, "as all texts for the model are")

	ws := t.TempDir()
	r := skillRegistry(t, ws, ShellOptions{}, map[string]string{"g/SKILL.md": styleGuide})
	tool, _ := r.Lookup("house_style")
	spec := tool.Spec()
	require.True(t, spec.ReadOnly)
	require.Equal(t, []Subject{SubjectNone}, spec.Takes)
	require.Empty(t, spec.Parameters.Properties)
	_, err := call(t, r, "house_style", map[string]any{"x": 1})
	require.ErrorContains(t, err, "house_style takes no arguments: give {}")
}

func TestLongGuidesAreCutAtALine(t *testing.T) {
	t.Parallel()
	head := "---\nname: g\ndescription: d\n---\n"
	line := strings.Repeat("é", 99) + "\n"
	data, text := guide(t, head+strings.Repeat(line, 200))
	require.Len(t, data.Instructions, 200*len(line)-1, "programs get all of it")
	require.Equal(t, strings.Repeat(line, 160)+"[3999 more characters left out, 40 lines]", text)

	data, text = guide(t, head+strings.Repeat(line, 160)+"x")
	require.Equal(t, strings.Repeat(line, 160)+"[1 more character left out, 1 line]", text)
	require.True(t, strings.HasSuffix(data.Instructions, "\nx"))

	_, text = guide(t, head+strings.Repeat("x", maxGuideChars+5))
	require.Equal(t, strings.Repeat("x", maxGuideChars)+"\n[5 more characters left out, 1 line]", text)

	exact := strings.Repeat("x", maxGuideChars)
	_, text = guide(t, head+exact)
	require.Equal(t, exact, text)
}

func TestFilesOfAGuideAreBounded(t *testing.T) {
	t.Parallel()
	files := map[string]string{"g/SKILL.md": styleGuide}
	for i := range maxGuideFiles + 10 {
		files[fmt.Sprintf("g/f%03d", i)] = "x"
	}
	r := skillRegistry(t, t.TempDir(), ShellOptions{}, files)
	got := mustCall(t, r, "house_style", nil).Data.(SkillGuide).Files
	require.Len(t, got, maxGuideFiles)
	require.Equal(t, "f000", got[0])
	require.Equal(t, "f099", got[99])
}

func TestBrokenGuides(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                            "SKILL.md:1: it has no front matter",
		"# Title\n":                   "SKILL.md:1: it has no front matter",
		"---\nname: a\n":              "SKILL.md:1: it has no front matter",
		"---\n---\nx":                 "SKILL.md: it is empty",
		"---\nname: a\n---\nx":        "SKILL.md:2: it has no description",
		"---\ndescription:\n---\nx":   "SKILL.md:2: it has no description",
		"---\n- a\n---\nx":            "SKILL.md:2: the front matter is a list, not a mapping",
		"---\ndescription: a: b\n---": "SKILL.md: it is not valid YAML: mapping values are not allowed in this context; correct the YAML",
		"---\nname: a\ndescription: a\nx: [\n---\nx":                                "it is not valid YAML",
		"---\nname: a\ndescription: [a]\n---\nx":                                    `SKILL.md:3: "description" of the front matter must be text, not a list`,
		"---\nname: 2024\ndescription: a\n---\nx":                                   `SKILL.md:2: "name" of the front matter must be text, not 2024`,
		"---\nname: A\ndescription: a\n---\nx":                                      `SKILL.md:2: the name "A" is not allowed`,
		"---\nname: a\nname: b\ndescription: a\n---\nx":                             `SKILL.md:3: the front matter has the key "name" twice`,
		"---\nname: &a a\ndescription: *a\n---\nx":                                  `SKILL.md:3: "description" of the front matter must be text, not an alias (*a)`,
		"---\nname: a\ndescription: !!binary YQ==\n---\nx":                          `SKILL.md:3: "description" of the front matter must be text, not "YQ==" with the tag !!binary`,
		"---\nname: a\ndescription: a\n---\n \n\n":                                  "SKILL.md: it has no instructions",
		"---\nname: a\ndescription: a\x00\n---\nx":                                  "it contains a NUL byte",
		"---\nname: a\ndescription: " + strings.Repeat("a", 1025) + "\n---\nx":      "SKILL.md:3: the description has 1025 characters; at most 1024 are allowed",
		"---\nname: a\ndescription: a\n" + strings.Repeat("#\n", 33<<10) + "---\nx": "SKILL.md:1: its front matter has more than 65536 bytes (64.0 KB)",
	} {
		ws := t.TempDir()
		writeFiles(t, ws, map[string]string{"skills/g/SKILL.md": text})
		set := loadSkills(t, ws)
		require.Len(t, set.Problems, 1, "%.60q", text)
		require.Contains(t, set.Problems[0].String(), want, "%.60q", text)
	}
}
