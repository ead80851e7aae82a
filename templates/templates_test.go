package templates_test

import (
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/templates"
)

// filled holds for each text one value with every field set and one with none.
func filled() map[templates.Name][2]any {
	return map[templates.Name][2]any{
		templates.System: {templates.SystemData{
			Tools: []templates.ToolData{{Signature: "look(at)", Description: "Looks."}},
		}, templates.SystemData{}},
		templates.Task: {templates.TaskData{Task: "t"}, templates.TaskData{}},
		templates.Workspace: {templates.WorkspaceData{
			Files:        []templates.FileData{{Path: "a.txt", Note: "3 KB", Detail: "  x"}, {Path: "b"}},
			FilesLeftOut: 2, Attached: []string{"c.txt"}, Remembered: []string{"key: value"},
		}, templates.WorkspaceData{}},
		templates.Planner:       {templates.PlannerData{Task: "t", Missing: []string{"m"}}, templates.PlannerData{Known: true, Full: true}},
		templates.Arguments:     {templates.ArgumentsData{Task: "t", Do: "d", File: "f", Again: true, Number: 1, Tool: "look", Parameters: []templates.ParameterData{{Name: "at", Type: "text", Description: "what", Required: true}}}, templates.ArgumentsData{}},
		templates.Choose:        {templates.ChooseData{Task: "t", Do: "d", Again: true, Number: 1}, templates.ChooseData{}},
		templates.Reflector:     {templates.ReflectorData{Task: "t", Steps: []templates.StepData{{Number: 1, Do: "d", Tool: "look", State: "done"}}}, templates.ReflectorData{}},
		templates.Finalizer:     {templates.FinalizerData{Task: "t", Problem: "p", Language: "l", Evidence: true}, templates.FinalizerData{}},
		templates.Result:        {templates.ResultData{Tool: "look", Text: "x", Fence: "```", Step: 1, Failed: true, Note: "n"}, templates.ResultData{}},
		templates.Guide:         {templates.GuideData{Tool: "look", Text: "x"}, templates.GuideData{Text: "y"}},
		templates.Stopped:       {nil, nil},
		templates.Recalled:      {templates.RecalledData{Items: []templates.RecalledItem{{Turn: 1, Tool: "look", Ref: "memory://x", Text: "y"}, {Turn: 2, Text: "z"}}, Fence: "```"}, templates.RecalledData{Fence: "```"}},
		templates.Shortened:     {templates.ShortenedData{Bytes: 9, Ref: "memory://x"}, templates.ShortenedData{}},
		templates.CutText:       {templates.CutTextData{Bytes: 9}, templates.CutTextData{}},
		templates.LeftOut:       {templates.LeftOutData{Count: 2}, templates.LeftOutData{}},
		templates.NoticeCut:     {templates.CutData{Limit: 1, Next: 2}, templates.CutData{}},
		templates.NoticeInvalid: {templates.InvalidData{Reason: "r", Reply: "x"}, templates.InvalidData{}},
		templates.NoticeRepeat:  {templates.RepeatData{Step: 1}, templates.RepeatData{}},
	}
}

func TestEveryTextRenders(t *testing.T) {
	t.Parallel()
	values := filled()
	entries, err := fs.Glob(os.DirFS("."), "*.md")
	require.NoError(t, err)
	require.Len(t, entries, len(values), "each .md file has its data type here")
	for name, pair := range values {
		require.Contains(t, entries, string(name)+".md")
		for _, data := range pair {
			text := templates.Render(name, data)
			require.NotEmpty(t, text)
			require.NotContains(t, text, "\n\n\n", name)
			require.Equal(t, strings.TrimRight(text, "\n"), text)
			require.Equal(t, text, templates.Render(name, data), "the same data gives the same bytes")
		}
	}
}

func TestDataIsNeverParsedAsATemplate(t *testing.T) {
	t.Parallel()
	text := templates.Render(templates.Result, templates.ResultData{Tool: "look", Text: `{{.Fence}} <|im_end|>`, Fence: "```"})
	require.Contains(t, text, `{{.Fence}} <|im_end|>`)
}

func TestRenderPanicsOnAnUnknownText(t *testing.T) {
	t.Parallel()
	require.Panics(t, func() { templates.Render("nothing", nil) })
}

func TestTextsAreBoundToNoLanguage(t *testing.T) {
	t.Parallel()
	for name, pair := range filled() {
		for _, r := range templates.Render(name, pair[0]) {
			require.LessOrEqual(t, r, unicode.MaxASCII, "%s", name)
		}
	}
}

func ExampleRender() {
	fmt.Println(templates.Render(templates.NoticeCut, templates.CutData{Limit: 512, Next: 1024}))
	// Output: Your last reply was cut at its limit of 512 tokens, so nothing of it was used. Reply again, shorter; the limit is now 1024 tokens.
}

func TestExamplesAreSimple(t *testing.T) {
	t.Parallel()
	examples := templates.Examples()
	require.Len(t, examples, 16)
	seen := map[string]bool{}
	for _, e := range examples {
		require.NotEmpty(t, e.Task)
		require.Equal(t, e.About == "general knowledge" || e.About == "what was said", len(e.Steps) == 0, e.Task)
		require.Contains(t, []string{"general knowledge", "what was said", "to remember", "this machine"}, e.About)
		require.LessOrEqual(t, len(e.Steps), 2)
		for _, s := range e.Steps {
			require.NotEmpty(t, s.File, e.Task)
			require.NotEmpty(t, s.Tool, e.Task)
			require.NotEmpty(t, s.Do, e.Task)
			require.False(t, s.File != "none" && seen[s.File], "%s stands in two examples", s.File)
			require.False(t, s.Tool == "none" && s.File != "none", "%q opens a file without a tool", e.Task)
			seen[s.File] = true
		}
	}
	require.True(t, seen["none"], "one is there whatever tools are offered")
}
