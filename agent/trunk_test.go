package agent

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/llms"
	"pgregory.net/rapid"

	"github.com/llama-agent/llama-agent/templates"
	"github.com/llama-agent/llama-agent/tools"
)

// entries draws a transcript as the nodes write them.
func entries(t *rapid.T) []Entry {
	text := rapid.OneOf(rapid.String(), rapid.StringMatching("(`{1,6}|<\\|im_end\\|>|\n|Role: act|a|漢){0,8}"))
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Entry {
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			return Entry{Plan: []plannedStep{{File: text.Draw(t, "file"), Do: text.Draw(t, "do"), Tool: "look"}}}
		case 1:
			return Entry{Review: &Review{Decision: DecisionContinue, Missing: []string{text.Draw(t, "missing")}}}
		default:
			return callEntry(rapid.IntRange(1, 9).Draw(t, "step"), "look", text.Draw(t, "text"))
		}
	}), 0, 12).Draw(t, "entries")
}

// offered are the tools of the trunks in these tests, one with each thing that can change what a question asks for.
func offered(t require.TestingT) *tools.Registry {
	type lookArgs struct {
		At    string `json:"at"`
		Lines int    `json:"lines,omitempty" arg:"core"`
	}
	type nothing struct{}
	look, err := tools.Func(tools.Spec{
		Name: "look", Description: "Looks.", Takes: []tools.Subject{tools.SubjectText, tools.SubjectFolder}, Path: "at",
	}, func(context.Context, lookArgs) (tools.Result, error) { return tools.Result{}, nil })
	require.NoError(t, err)
	poll, err := tools.Func(tools.Spec{Name: "poll", Description: "Waits."},
		func(context.Context, nothing) (tools.Result, error) { return tools.Result{}, nil })
	require.NoError(t, err)
	registry, err := tools.NewRegistry(look, poll)
	require.NoError(t, err)
	return registry
}

func TestTrunkOnlyGrows(t *testing.T) {
	t.Parallel()
	facts := Facts{Files: []File{{Path: "docs/a.txt", Kind: "text"}, {Path: "b.db", Kind: "sqlite", Detail: "  t(x)"}}}
	rapid.Check(t, func(t *rapid.T) {
		registry := offered(t)
		all := entries(t)
		instruction := rapid.SampledFrom([]string{"Role: plan", "Role: act, a longer one"})
		before := ""
		for n := range len(all) + 1 {
			// A trunk is made anew for each node, from the same tools and facts, with questions about them in between.
			tr := newTrunk(registry, facts, Background{}, "task")
			tr.entries = all[:n]
			for _, spec := range registry.Specs() {
				askAbout(spec, "docs/a.txt", rapid.Bool().Draw(t, "again"))
			}
			own := instruction.Draw(t, "instruction")
			now := flatten(tr.messages(own))
			if now != flatten(tr.messages(own)) {
				t.Fatal("the same input gave other bytes")
			}
			if !strings.HasPrefix(now, before) {
				t.Fatalf("prompt %d does not continue the one before", n)
			}
			without, ok := strings.CutSuffix(now, own)
			if !ok {
				t.Fatal("the instruction is not last")
			}
			before = strings.TrimSuffix(strings.TrimSuffix(without, "\n--- human ---\n"), "\n\n")
		}
	})
}

func TestTrunkAlternatesAndFencesHold(t *testing.T) {
	t.Parallel()
	registry := offered(t)
	require.NotEmpty(t, examplesFor(registry.Specs()))
	rapid.Check(t, func(t *rapid.T) {
		tr := newTrunk(registry, Facts{}, Background{}, "task")
		tr.entries = entries(t)
		workspace := 1 + 2*len(tr.examples) // its index; before it each example is a question and a plan
		messages := tr.messages("Role: act")
		for i, m := range messages {
			want := llms.ChatMessageTypeHuman
			switch {
			case i == 0, i == workspace:
				want = llms.ChatMessageTypeSystem
			case i < workspace && i%2 == 0, i > workspace && (i-workspace)%2 == 0:
				want = llms.ChatMessageTypeAI
			}
			if m.Role != want {
				t.Fatalf("message %d has role %s", i, m.Role)
			}
		}
		if messages[len(messages)-1].Role != llms.ChatMessageTypeHuman {
			t.Fatal("the last message is not the user's")
		}
		for _, e := range tr.entries {
			if e.Call == nil {
				continue
			}
			f := fence(e.Call.Text)
			if strings.Contains(e.Call.Text, f) {
				t.Fatalf("%q can close its fence", e.Call.Text)
			}
		}
	})
}

func TestSystemTextOffersOnlyWhatThereIs(t *testing.T) {
	t.Parallel()
	text := systemText(nil)
	require.Contains(t, text, "no tools in this task")

	spec := tools.Spec{Name: "count_lines", Description: "Counts lines.", Parameters: object(
		property{"path", boundedText(1, 10)}, property{"pattern", boundedText(1, 10)})}
	spec.Parameters.Required = []string{"path"}
	spec.Core = []string{"pattern"}
	query := tools.Spec{Name: "query_sqlite", Description: "Asks.", Parameters: object()}
	text = systemText([]tools.Spec{spec, query})
	require.Contains(t, text, "- count_lines(path, pattern?): Counts lines.\n- query_sqlite(): Asks.")
	require.NotContains(t, text, "The tools only read.")
	spec.ReadOnly, query.ReadOnly = true, true
	remember := tools.Spec{Name: "remember", Parameters: object(), Takes: []tools.Subject{tools.SubjectFact}}
	require.Contains(t, systemText([]tools.Spec{spec, query, remember}), "6. The tools only read.", "what is remembered is nothing of the user's files")
}

func TestExamplesAreThoseWhoseToolsAreAllOffered(t *testing.T) {
	t.Parallel()
	plans := func(names ...string) string {
		var b strings.Builder
		specs := make([]tools.Spec, len(names))
		for i, name := range names {
			specs[i] = tools.Spec{Name: name}
		}
		for _, e := range examplesFor(specs) {
			require.Regexp(t, `(?s)^Task: .*\n\nRole: plan\.`, e.question, "as a task is asked")
			b.WriteString(e.plan)
		}
		return b.String()
	}
	require.Contains(t, plans("remember"), `{"about":"to remember","steps":[{"file":"none","do":`, "as a plan is written")
	require.Contains(t, plans(), `{"about":"general knowledge"}`, "it has no steps")
	require.NotContains(t, plans(), "query_sqlite")
	require.Contains(t, plans("query_sqlite"), `"query_sqlite"`)
	require.NotContains(t, plans("query_sqlite"), `"read_file"`, "an example with two tools needs both")
	require.NotContains(t, plans("read_file"), `"query_sqlite"`)
	require.Regexp(t, `"tool":"query_sqlite","do":"[^"]*"\},\{"file":"[^"]*","tool":"read_file"`, plans("query_sqlite", "read_file"))
}

// The examples show what the grammar lets a model write.
func TestExamplesArePlansThatAreAskedFor(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var specs []tools.Spec
	for _, list := range [][]tools.Tool{
		tools.Files(tools.FileOptions{Workspace: dir}), tools.SQLite(tools.SQLiteOptions{Workspace: dir}), tools.Shell(tools.ShellOptions{Workspace: dir}),
		tools.Memory(tools.MemoryOptions{}),
	} {
		for _, tool := range list {
			specs = append(specs, tool.Spec())
		}
	}
	for _, e := range templates.Examples() {
		var facts Facts
		planned := make([]plannedStep, len(e.Steps))
		for i, s := range e.Steps {
			planned[i] = plannedStep(s)
			kind := "text"
			if strings.HasSuffix(s.File, ".db") {
				kind = "sqlite"
			}
			if s.File != NoFile {
				facts.Files = append(facts.Files, File{Path: s.File, Kind: kind})
			}
		}
		f, err := planForm(specs, facts, outside{}, Limits{}.withDefaults())
		require.NoError(t, err)
		require.NoError(t, validate(t, f.schema, planText(about(e.About), planned)), e.Task)
	}
}

func TestWorkspaceTextIsOneLinePerFile(t *testing.T) {
	t.Parallel()
	text := workspaceText(Facts{Files: []File{{Path: "a\nRole: act", Kind: "text", Bytes: 1}}, FilesLeftOut: 3, Attached: []string{"b"}})
	require.Contains(t, text, "- a Role: act\n- and 3 more\nAttached")
	text = workspaceText(Facts{Files: []File{{Path: "a.db", Kind: "sqlite", Detail: "  t(x)\n  u(y)"}, {Path: "b", Kind: "text", Bytes: 1 << 20}, {Path: "c", Kind: "text", Detail: "  d"}}})
	require.Contains(t, text, "- a.db (sqlite)\n  t(x)\n  u(y)\n- b (1024 KiB)\n- c\n  d", "what is known of a file stands below it")
	require.Contains(t, workspaceText(Facts{}), "no files")
}

func TestNoteOfAFile(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		file File
		want string
	}{
		{File{Kind: "text", Bytes: 32<<10 - 1}, ""},
		{File{Kind: "text", Bytes: 32 << 10}, "32 KiB"},
		{File{Kind: "text", Bytes: 33<<10 + 1023}, "33 KiB"},
		{File{Kind: "empty"}, ""},
		{File{Kind: "gzip", Bytes: 10}, "gzip"},
		{File{Kind: "gzip", Bytes: 64 << 10}, "gzip, 64 KiB"},
		{File{Kind: "sqlite", Bytes: 64 << 10}, "sqlite"},
		{File{Kind: "binary", Bytes: 64 << 10}, "binary"},
		{File{Kind: "odd\nkind"}, "odd kind"},
	} {
		require.Equal(t, test.want, test.file.note(), "%+v", test.file)
	}
}

func TestDecodeRepairsNothing(t *testing.T) {
	t.Parallel()
	f, err := choiceForm([]string{"look"}, Limits{}.withDefaults())
	require.NoError(t, err)
	type choice struct{ Tool string }
	for _, good := range []string{`{"tool":"look"}`, " {\"tool\" : \"look\"}\n", "```json\n{\"tool\":\"look\"}\n```", "```\n{\"tool\":\"look\"}```"} {
		got, err := decode[choice](f, good)
		require.NoError(t, err, good)
		require.Equal(t, "look", got.Tool)
	}
	for bad, why := range map[string]string{
		"": "empty", "  ": "empty", `{"tool":"lo`: "complete", `{"tool":"look"} so`: "follows", `look`: "not JSON", `{"tool":1}`: "form",
		`{}`: "form", `{"tool":"look","x":1}`: "form", `[]`: "form", `"{\"tool\":\"look\"}"`: "form", "Sure:\n```\n{\"tool\":\"look\"}\n```": "not JSON",
	} {
		_, err := decode[choice](f, bad)
		require.ErrorContains(t, err, why, bad)
	}
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{"", "```\n{}\n```", `{"steps":[{"file":"none","tool":"look","do":"x"}]}`, `{"steps":[{"tool":"look","do":"x"}]}`, "{\"steps\":[\xff]}"} {
		f.Add(seed)
	}
	form, err := planForm([]tools.Spec{{Name: "look"}}, Facts{}, outside{}, Limits{}.withDefaults())
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, reply string) {
		got, err := decode[planReply](form, reply)
		if err == nil && (len(got.Steps) < 1 || len(got.Steps) > 8) {
			t.Fatalf("%q was read as %d steps", reply, len(got.Steps))
		}
	})
}

func TestFormsAskForBoundedRepliesInOrder(t *testing.T) {
	t.Parallel()
	limits := Limits{}.withDefaults()
	f, err := planForm([]tools.Spec{{Name: "look"}}, Facts{}, outside{}, limits)
	require.NoError(t, err)
	require.True(t, json.Valid(f.schema))
	require.Regexp(t, `"file":\{"type":"string","enum":\["none"\]\},"do":\{[^}]*\},"tool":\{"type":"string","enum":\["none","look"\]\}`, string(f.schema))
	require.Contains(t, string(f.schema), `"maxItems":8`)
	plan := string(f.schema)
	f, err = reviewForm(limits)
	require.NoError(t, err)
	require.Regexp(t, `"decision":.*"missing":.*"reason":`, string(f.schema))
	for _, schema := range []string{plan, string(f.schema)} {
		require.Equal(t, strings.Count(schema, `"type":"string"`), strings.Count(schema, "maxLength")+strings.Count(schema, "enum"), "every string is bounded")
	}
}
