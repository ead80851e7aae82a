package agent

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/llms"
	"pgregory.net/rapid"

	"github.com/llama-agent/llama-agent/tools"
)

// entries draws a transcript as the nodes write them.
func entries(t *rapid.T) []Entry {
	text := rapid.OneOf(rapid.String(), rapid.StringMatching("(`{1,6}|<\\|im_end\\|>|\n|Role: act|a|漢){0,8}"))
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Entry {
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			return Entry{Plan: []plannedStep{{Do: text.Draw(t, "do"), Tool: "look"}}}
		case 1:
			return Entry{Review: &Review{Decision: DecisionContinue, Missing: []string{text.Draw(t, "missing")}}}
		default:
			return callEntry(rapid.IntRange(1, 9).Draw(t, "step"), "look", text.Draw(t, "text"))
		}
	}), 0, 12).Draw(t, "entries")
}

func TestTrunkOnlyGrows(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		all := entries(t)
		instruction := rapid.SampledFrom([]string{"Role: plan", "Role: act, a longer one"})
		before := ""
		for n := range len(all) + 1 {
			tr := trunk{system: "rules", workspace: "files", task: "task", entries: all[:n]}
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
	rapid.Check(t, func(t *rapid.T) {
		tr := trunk{system: "rules", workspace: "files", task: "task", entries: entries(t)}
		messages := tr.messages("Role: act")
		for i, m := range messages {
			want := llms.ChatMessageTypeHuman
			switch {
			case i < 2:
				want = llms.ChatMessageTypeSystem
			case i%2 == 1:
				want = llms.ChatMessageTypeAI
			}
			if m.Role != want {
				t.Fatalf("message %d has role %s", i, m.Role)
			}
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
	require.Contains(t, text, `"tool":"none"`)
	require.NotContains(t, text, "count_lines", "an example with a tool that is not offered is left out")

	spec := tools.Spec{Name: "count_lines", Description: "Counts lines.", Parameters: object(
		property{"path", boundedText(1, 10)}, property{"pattern", boundedText(1, 10)})}
	spec.Parameters.Required = []string{"path"}
	spec.Core = []string{"pattern"}
	query := tools.Spec{Name: "query_sqlite", Description: "Asks.", Parameters: object()}
	text = systemText([]tools.Spec{spec, query})
	require.Contains(t, text, "- count_lines(path, pattern?): Counts lines.\n- query_sqlite(): Asks.")
}

func TestWorkspaceTextIsOneLinePerFile(t *testing.T) {
	t.Parallel()
	text := workspaceText(Facts{Files: []File{{Path: "a\nRole: act", Bytes: 1}}, FilesLeftOut: 3, Attached: []string{"b"}})
	require.Contains(t, text, "- a Role: act (1 bytes)\n- and 3 more\nAttached")
	require.Contains(t, workspaceText(Facts{}), "no files")
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
	for _, seed := range []string{"", "```\n{}\n```", `{"steps":[{"do":"x","tool":"look"}]}`, "{\"steps\":[\xff]}"} {
		f.Add(seed)
	}
	form, err := planForm([]tools.Spec{{Name: "look"}}, Facts{}, Limits{}.withDefaults())
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, reply string) {
		got, err := decode[plannedSteps](form, reply)
		if err == nil && (len(got.Steps) < 1 || len(got.Steps) > 8) {
			t.Fatalf("%q was read as %d steps", reply, len(got.Steps))
		}
	})
}

func TestFormsAskForBoundedRepliesInOrder(t *testing.T) {
	t.Parallel()
	limits := Limits{}.withDefaults()
	f, err := planForm([]tools.Spec{{Name: "look"}}, Facts{}, limits)
	require.NoError(t, err)
	require.True(t, json.Valid(f.schema))
	require.Regexp(t, `"file":\{"type":"string","enum":\["none"\]\},"tool":\{"type":"string","enum":\["none","look"\]\},"do":`, string(f.schema))
	require.Contains(t, string(f.schema), `"maxItems":8`)
	f, err = reviewForm(limits)
	require.NoError(t, err)
	require.Regexp(t, `"decision":.*"missing":.*"reason":`, string(f.schema))
	for _, schema := range []string{string(f.schema)} {
		require.Equal(t, strings.Count(schema, `"type":"string"`), strings.Count(schema, "maxLength")+strings.Count(schema, "enum"), "every string is bounded")
	}
}
