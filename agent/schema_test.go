package agent

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/llama-agent/llama-agent/tools"
)

// validate checks text against a schema as it is sent.
func validate(t require.TestingT, schema json.RawMessage, text string) error {
	var s jsonschema.Schema
	require.NoError(t, json.Unmarshal(schema, &s))
	resolved, err := s.Resolve(nil)
	require.NoError(t, err)
	var value any
	require.NoError(t, json.Unmarshal([]byte(text), &value))
	return resolved.Validate(value)
}

// offer is what a plan may combine. No files stand for a name that the model writes itself.
type offer struct{ files, tools string }

// offers reads the combinations of a plan about this machine, which is the last form that is asked for.
func offers(t *testing.T, f *form) []offer {
	t.Helper()
	type step struct {
		AnyOf      []json.RawMessage
		Properties struct {
			File, Tool struct {
				Enum []string
			}
		}
	}
	var plan struct {
		Properties struct {
			Steps struct{ Items json.RawMessage }
		}
	}
	var forms struct{ AnyOf []json.RawMessage }
	require.NoError(t, json.Unmarshal(f.schema, &forms))
	require.Contains(t, string(forms.AnyOf[len(forms.AnyOf)-1]), string(aboutMachine))
	require.NoError(t, json.Unmarshal(forms.AnyOf[len(forms.AnyOf)-1], &plan))
	items := plan.Properties.Steps.Items
	var all step
	require.NoError(t, json.Unmarshal(items, &all))
	alternatives := all.AnyOf
	if alternatives == nil {
		alternatives = []json.RawMessage{items}
	}
	var out []offer
	for _, raw := range alternatives {
		var s step
		require.NoError(t, json.Unmarshal(raw, &s))
		order := `^\{"type":"object","properties":\{"file":\{[^}]*\},"tool":\{[^}]*\},"do":`
		if slices.Equal(s.Properties.File.Enum, []string{NoFile}) {
			order = `^\{"type":"object","properties":\{"file":\{[^}]*\},"do":\{[^}]*\},"tool":`
		}
		require.Regexp(t, order, string(raw), "in this order")
		out = append(out, offer{strings.Join(s.Properties.File.Enum, " "), strings.Join(s.Properties.Tool.Enum, " ")})
	}
	return out
}

var subjectSpecs = []tools.Spec{
	{Name: "list", Takes: []tools.Subject{tools.SubjectFolder, tools.SubjectNone}},
	{Name: "read", Takes: []tools.Subject{tools.SubjectText}, Path: "at"},
	{Name: "count", Takes: []tools.Subject{tools.SubjectText, tools.SubjectFolder}, Path: "at"},
	{Name: "query", Takes: []tools.Subject{tools.SubjectDatabase}, Path: "at"},
	{Name: "shell", Takes: []tools.Subject{tools.SubjectText, tools.SubjectOther, tools.SubjectFolder, tools.SubjectNone}},
}

func TestPlanOffersToolsThatFitTheFile(t *testing.T) {
	t.Parallel()
	nothing := offer{"none", "none list shell"}
	for _, test := range []struct {
		name  string
		facts Facts
		want  []offer
	}{
		{"no files", Facts{}, []offer{nothing}},
		{"text, compressed or empty", Facts{Files: []File{{Path: "a.txt", Kind: "text"}, {Path: "b.gz", Kind: "gzip"}, {Path: "c", Kind: "empty"}}},
			[]offer{{"a.txt b.gz c", "read count shell"}, nothing}},
		{"database", Facts{Files: []File{{Path: "a.db", Kind: "sqlite"}}}, []offer{{"a.db", "query"}, nothing}},
		{"folders, each once", Facts{Files: []File{{Path: "a/b/c.db", Kind: "sqlite"}, {Path: "a/b/d.db", Kind: "sqlite"}, {Path: "e/f.db", Kind: "sqlite"}}},
			[]offer{{"a/b/c.db a/b/d.db e/f.db", "query"}, {"a/b/ a/ e/", "list count shell"}, nothing}},
		{"other file", Facts{Files: []File{{Path: "a.png", Kind: "binary"}}}, []offer{{"a.png", "read count query shell"}, nothing}},
		{"attached, listed or not", Facts{Files: []File{{Path: "a.txt", Kind: "text"}}, Attached: []string{"a.txt", "/b.txt", "/b.txt"}},
			[]offer{{"a.txt", "read count shell"}, {"/b.txt", "read count query shell"}, nothing}},
		{"more files than are listed", Facts{Files: []File{{Path: "a.db", Kind: "sqlite"}}, FilesLeftOut: 1},
			[]offer{{"a.db", "query"}, nothing, {"", "read count query"}}},
	} {
		f, err := planForm(subjectSpecs, test.facts, outside{}, Limits{}.withDefaults())
		require.NoError(t, err, test.name)
		require.Equal(t, test.want, offers(t, f), test.name)
	}
}

func TestPlanOffersAToolThatTakesAnythingEverywhere(t *testing.T) {
	t.Parallel()
	facts := Facts{
		Files:        []File{{Path: "a/a.txt", Kind: "text"}, {Path: "b.db", Kind: "sqlite"}, {Path: "c.png", Kind: "binary"}},
		FilesLeftOut: 1,
	}
	f, err := planForm(append(slices.Clone(subjectSpecs), tools.Spec{Name: "remote"}), facts, outside{}, Limits{}.withDefaults())
	require.NoError(t, err)
	require.Len(t, offers(t, f), 6)
	for _, o := range offers(t, f) {
		require.Contains(t, o.tools, "remote", o.files)
	}
}

func TestPlanOffersNoFileThatNoToolTakes(t *testing.T) {
	t.Parallel()
	f, err := planForm(subjectSpecs[3:4], Facts{Files: []File{{Path: "a.txt", Kind: "text"}}}, outside{}, Limits{}.withDefaults())
	require.NoError(t, err)
	require.Equal(t, []offer{{"none", "none"}}, offers(t, f))
	f, err = planForm(nil, Facts{FilesLeftOut: 9}, outside{}, Limits{}.withDefaults())
	require.NoError(t, err)
	require.Equal(t, []offer{{"none", "none"}}, offers(t, f))
}

// A task is about general knowledge only where nothing ties it to the machine, about what was said only where there is such a thing or it
// says something itself, and there is something to remember only in what is no question.
func TestWhatAPlanCanBeAbout(t *testing.T) {
	t.Parallel()
	specs := append(slices.Clone(subjectSpecs), tools.Spec{Name: "keep", Takes: []tools.Subject{tools.SubjectFact}}, tools.Spec{Name: "recall", Takes: []tools.Subject{tools.SubjectMemory}})
	none := func(tool string) []plannedStep { return []plannedStep{{NoFile, tool, "do it"}} }
	plans := map[string]string{
		"knowledge": planText(aboutKnowledge, []plannedStep{aboutKnowledge.answer()}), "said": planText(aboutSaid, []plannedStep{aboutSaid.answer()}),
		"look up": planText(aboutSaid, none("recall")), "keep": planText(aboutFact, none("keep")), "machine": planText(aboutMachine, none(NoTool)),
	}
	for _, test := range []struct {
		out  outside
		want string
	}{
		{outside{asked: true}, "knowledge machine"},
		{outside{}, "keep knowledge machine said"},
		{outside{asked: true, said: true}, "knowledge machine said"},
		{outside{asked: true, said: true, records: true}, "knowledge look up machine said"},
		{outside{tied: true}, "keep machine said"},
		{outside{asked: true, tied: true}, "machine"},
		{outside{said: true, tied: true, unread: true}, "keep machine"},
		{outside{said: true, tied: true, named: true}, "machine"},
	} {
		f, err := planForm(specs, Facts{Files: []File{{Path: "a.txt", Kind: "text"}}}, test.out, Limits{}.withDefaults())
		require.NoError(t, err)
		var fit []string
		for name, plan := range plans {
			if validate(t, f.schema, plan) == nil {
				fit = append(fit, name)
			}
		}
		slices.Sort(fit)
		require.Equal(t, test.want, strings.Join(fit, " "), "%+v", test.out)
		require.Error(t, validate(t, f.schema, planText(aboutSaid, []plannedStep{{"a.txt", "read", "look"}})), "what was said is in no file")
	}
	got, err := decode[planReply](mustForm(t), `{"about":"general knowledge"}`)
	require.NoError(t, err)
	require.Equal(t, []plannedStep{{NoFile, NoTool, "answer from general knowledge"}}, got.steps())
	require.Equal(t, `{"about":"general knowledge"}`, planText(got.About, got.steps()), "as it was written")
}

func mustForm(t *testing.T) *form {
	t.Helper()
	f, err := planForm(nil, Facts{}, outside{}, Limits{}.withDefaults())
	require.NoError(t, err)
	return f
}

func TestATaskThatNamesAFileIsAboutTheMachine(t *testing.T) {
	t.Parallel()
	facts := Facts{Files: []File{{Path: "notes/plan.md"}, {Path: "Makefile"}}}
	for goal, want := range map[string]bool{
		"What does notes/plan.md say?": true, "what is in plan.md": true, "Explain a Makefile": true, "Make a plan": false, "see notes": false,
	} {
		require.Equal(t, want, facts.NamedIn(goal), goal)
	}
	require.True(t, Facts{Attached: []string{"x"}}.NamedIn("Sum it up"))
	seen := []Turn{{Entries: []Entry{{Call: &Call{Arguments: []byte(`{"file_path":"notes/plan.md"}`)}}}}}
	require.True(t, facts.namesUnread("What does plan.md say?", nil))
	require.False(t, facts.namesUnread("What did plan.md say?", seen))
	require.False(t, facts.namesUnread("What was it?", nil))
}

// A model without a grammar may leave the file out, or choose what is not offered: the tool then says what is wrong.
func TestPlanAcceptsMoreThanItAsksFor(t *testing.T) {
	t.Parallel()
	limits := Limits{MaxTextRunes: 16}.withDefaults()
	long := strings.Repeat("é", 40) + ".db"
	f, err := planForm(subjectSpecs, Facts{Files: []File{{Path: long, Kind: "sqlite"}}}, outside{}, limits)
	require.NoError(t, err)
	for _, step := range []string{
		`{"tool":"query","do":"x"}`, `{"file":"","tool":"query","do":"x"}`, `{"do":"x","tool":"query","file":"none"}`,
		`{"file":"elsewhere","tool":"read","do":"x"}`, `{"file":"none","tool":"made up","do":"x"}`,
		`{"file":"` + long + `","tool":"query","do":"x"}`,
	} {
		got, err := decode[planReply](f, `{"steps":[`+step+`]}`)
		require.NoError(t, err, step)
		require.Len(t, got.Steps, 1)
	}
	for _, step := range []string{
		`{"file":"a","do":"x"}`, `{"file":"a","tool":"read"}`, `{"file":"a","tool":"","do":"x"}`, `{"file":7,"tool":"read","do":"x"}`,
		`{"file":"` + long + `x","tool":"query","do":"x"}`, `{"file":"a","tool":"read","do":"x","why":"y"}`,
	} {
		_, err := decode[planReply](f, `{"steps":[`+step+`]}`)
		require.Error(t, err, step)
	}
}

// findSpec has a file, another required argument, one worth asking for and one that is not.
func findSpec() tools.Spec {
	spec := tools.Spec{Name: "find", Path: "at", Core: []string{"limit"}, Parameters: object(
		property{"text", boundedText(1, 10)}, property{"at", boundedText(1, 10)},
		property{"limit", boundedText(1, 10)}, property{"rare", boundedText(1, 10)})}
	spec.Parameters.Required = []string{"text", "at"}
	return spec
}

func TestQuestionLeavesOutWhatTheStepSays(t *testing.T) {
	t.Parallel()
	ask := func(file string, again bool) string {
		q := askAbout(findSpec(), file, again)
		var names []string
		for _, p := range q.parameters() {
			name := p.Name
			if !p.Required {
				name += "?"
			}
			names = append(names, name)
		}
		f, err := q.form()
		require.NoError(t, err)
		var sent struct {
			Properties map[string]any
			Required   []string
		}
		require.NoError(t, json.Unmarshal(f.schema, &sent))
		require.Len(t, sent.Properties, len(names), "the words and the schema ask for the same")
		for _, name := range names {
			plain := strings.TrimSuffix(name, "?")
			require.Contains(t, sent.Properties, plain)
			require.Equal(t, plain == name, slices.Contains(sent.Required, plain))
		}
		require.False(t, q.settled())
		return strings.Join(names, " ")
	}
	require.Equal(t, "text at limit?", ask("", false), "a step about no file")
	require.Equal(t, "text limit?", ask("a.txt", false))
	require.Equal(t, "text at limit?", ask("a.txt", true), "the file may be what was wrong")

	pathless := findSpec()
	pathless.Path = ""
	require.Len(t, askAbout(pathless, "a.txt", false).parameters(), 3, "a tool that is about no file")

	one := tools.Spec{Name: "read", Path: "at", Parameters: object(property{"at", boundedText(1, 10)})}
	require.True(t, askAbout(one, "a.txt", false).settled())
	require.False(t, askAbout(one, "a.txt", true).settled())
	require.False(t, askAbout(one, "", false).settled())
	require.True(t, askAbout(tools.Spec{Name: "poll", Parameters: object()}, "", true).settled())
}

func TestArgumentsJoinTheReplyAndTheFile(t *testing.T) {
	t.Parallel()
	q := askAbout(findSpec(), `a "<b>".txt`, false)
	for reply, want := range map[string]string{
		`{"text":"x"}`:                      `{"at":"a \"<b>\".txt","text":"x"}`,
		"```json\n{ \"text\": \"x\" }\n```": `{"at":"a \"<b>\".txt","text":"x"}`,
		`{"at":"c.txt","text":"x"}`:         `{"at":"c.txt","text":"x"}`, // written although not asked for: the model means it
		`{}`:                                `{"at":"a \"<b>\".txt"}`,
		`null`:                              `null`,
		`[]`:                                `[]`,
		`"x"`:                               `"x"`,
		`{"text":"x"}{"text":"y"}`:          `{"text":"x"}{"text":"y"}`,
		`{"text":"x`:                        `{"text":"x`,
		``:                                  ``,
	} {
		require.Equal(t, want, string(q.arguments(reply)), reply)
	}
	one := tools.Spec{Name: "read", Path: "at", Parameters: object(property{"at", boundedText(1, 10)})}
	require.Equal(t, `{"at":"a.txt"}`, string(askAbout(one, "a.txt", false).arguments("")), "nothing was asked")
	require.Equal(t, `{"text":"x"}`, string(askAbout(findSpec(), "", false).arguments(` {"text":"x"} `)), "nothing was given")
}

func TestQuestionsLeaveTheToolAsItIs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-e]`), 1, 5, rapid.ID).Draw(t, "names")
		properties := make([]property, len(names))
		for i, name := range names {
			properties[i] = property{name, boundedText(1, 10)}
		}
		spec := tools.Spec{Name: "tool", Parameters: object(properties...), Path: names[0]}
		spec.Parameters.Required = names[:rapid.IntRange(1, len(names)).Draw(t, "required")]
		spec.Core = names[rapid.IntRange(0, len(names)).Draw(t, "core"):]
		before, shown := compactJSON(spec), signature(spec)
		for range 3 {
			q := askAbout(spec, rapid.SampledFrom([]string{"", "a.txt"}).Draw(t, "file"), rapid.Bool().Draw(t, "again"))
			q.arguments(`{"a":1}`)
			if _, err := q.form(); err != nil {
				t.Fatal(err)
			}
			if after := compactJSON(spec); after != before {
				t.Fatalf("the tool became %s from %s", after, before)
			}
			if signature(spec) != shown {
				t.Fatalf("it is now shown as %s, not %s", signature(spec), shown)
			}
		}
	})
}

func TestWhatIsQuotedNeedsNoRecall(t *testing.T) {
	t.Parallel()
	quoted := []Recalled{{Turn: 1, Text: "My dog is called Bruno."}}
	for _, test := range []struct {
		background Background
		iteration  int
		want       bool
	}{
		{Background{}, 1, false},
		{Background{LeftOut: 3}, 1, true},
		{Background{LeftOut: 3, Recalled: quoted}, 1, false},
		{Background{LeftOut: 3, Recalled: quoted}, 2, true}, // it was not enough
	} {
		offered, err := tools.NewRegistry()
		require.NoError(t, err)
		w := &work{offered: offered, task: assignment{Background: test.background}, counters: counters{spent: spent{Iterations: test.iteration}}}
		require.Equal(t, test.want, w.outside().records, "%+v", test)
	}
}

func TestQuestionsAreNotRemembered(t *testing.T) {
	t.Parallel()
	specs := []tools.Spec{{Name: "remember", Takes: []tools.Subject{tools.SubjectFact}}, {Name: "list", Takes: []tools.Subject{tools.SubjectNone}}}
	for asked, want := range map[bool][]string{true: {NoTool, "list"}, false: {NoTool, "list", "remember"}} {
		groups := subjectGroups(specs, Facts{}, outside{asked: asked})
		require.Equal(t, want, groups[len(groups)-1].tools)
		require.Equal(t, !asked, slices.Contains(worthOffering(specs, outside{asked: asked}), "remember"))
	}
}

// A short text file is read: a command is offered for it only where the task names the tool.
func TestShortFilesAreNotForCommands(t *testing.T) {
	t.Parallel()
	facts := Facts{Files: []File{{Path: "a.md", Kind: "text", Bytes: shortBytes}, {Path: "b.md", Kind: "text", Bytes: shortBytes + 1}}}
	nothing := offer{"none", "none list shell"}
	f, err := planForm(subjectSpecs, facts, outside{}, Limits{}.withDefaults())
	require.NoError(t, err)
	require.Equal(t, []offer{{"a.md", "read count"}, {"b.md", "read count shell"}, nothing}, offers(t, f))
	f, err = planForm(subjectSpecs, facts, outside{named: true}, Limits{}.withDefaults())
	require.NoError(t, err)
	require.Equal(t, []offer{{"a.md b.md", "read count shell"}, nothing}, offers(t, f))
	f, err = planForm(subjectSpecs[4:], facts, outside{}, Limits{}.withDefaults())
	require.NoError(t, err)
	require.Equal(t, []offer{{"a.md b.md", "shell"}, {"none", "none shell"}}, offers(t, f), "where nothing else is left")
}

func TestTablesAreForQueries(t *testing.T) {
	t.Parallel()
	specs := slices.Clone(subjectSpecs)
	for i, name := range []string{"query", "read"} {
		at := slices.IndexFunc(specs, func(s tools.Spec) bool { return s.Name == name })
		require.GreaterOrEqual(t, at, 0, i)
		specs[at].Takes = append(slices.Clone(specs[at].Takes), tools.SubjectTable)
	}
	facts := Facts{Files: []File{{Path: "a.csv", Kind: tools.KindTable, Bytes: 10}}}
	f, err := planForm(specs, facts, outside{}, Limits{}.withDefaults())
	require.NoError(t, err)
	require.Equal(t, []offer{{"a.csv", "read query"}, {"none", "none list shell"}}, offers(t, f))
	f, err = planForm(specs, facts, outside{named: true}, Limits{}.withDefaults())
	require.NoError(t, err)
	require.Equal(t, []offer{{"a.csv", "read count query shell"}, {"none", "none list shell"}}, offers(t, f), "a tool that the task names")
	f, err = planForm(subjectSpecs, facts, outside{}, Limits{}.withDefaults())
	require.NoError(t, err)
	require.Equal(t, []offer{{"a.csv", "read count shell"}, {"none", "none list shell"}}, offers(t, f), "without a tool for tables")
}

func TestWantsDestroyed(t *testing.T) {
	t.Parallel()
	for goal, want := range map[string]bool{
		"just rm -rf the logs folder": true, "Please DELETE all rows.": true, "请把它删掉": true, "format the text": false, "What is a deletion?": false,
	} {
		require.Equal(t, want, wantsDestroyed(goal), goal)
	}
}

func TestChangeAsked(t *testing.T) {
	t.Parallel()
	for goal, want := range map[string]string{
		"Could you please delete the row, and count the others?": "delete the row",
		"pls drop it": "drop it", "请把它改成九": "", "请修改端口为 80，然后告诉我": "修改端口为 80", "Change v1.2 to v1.3. Then list all": "Change v1.2 to v1.3",
		"pleasedelete": "", "What to delete?": "", "": "", "delete": "delete",
	} {
		require.Equal(t, want, changeAsked(goal), goal)
	}
}

func TestWhatIsQuotedTakesNoCommand(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		out  outside
		want []string
	}{
		{outside{asked: true, quoted: true}, []string{NoTool}},
		{outside{asked: true}, []string{NoTool, "list", "shell"}},
		{outside{quoted: true}, []string{NoTool, "list", "shell"}},
		{outside{asked: true, quoted: true, tied: true}, []string{NoTool, "list", "shell"}},
	} {
		groups := subjectGroups(subjectSpecs, Facts{}, test.out)
		require.Equal(t, test.want, groups[len(groups)-1].tools, "%+v", test.out)
	}
}

func TestAnOrderToDeleteIsNothingToRemember(t *testing.T) {
	t.Parallel()
	specs := append(slices.Clone(subjectSpecs), tools.Spec{Name: "keep", Takes: []tools.Subject{tools.SubjectFact}})
	for _, test := range []struct {
		out  outside
		want bool
	}{{outside{}, true}, {outside{ordered: true}, false}, {outside{asked: true}, false}} {
		f, err := planForm(specs, Facts{}, test.out, Limits{}.withDefaults())
		require.NoError(t, err)
		require.Equal(t, test.want, strings.Contains(string(f.schema), `"keep"`), "%+v", test.out)
		require.Equal(t, test.want, slices.Contains(worthOffering(specs, test.out), "keep"))
	}
}

func TestWhatIsRestatedIsRemembered(t *testing.T) {
	t.Parallel()
	specs := append(slices.Clone(subjectSpecs), tools.Spec{Name: "keep", Takes: []tools.Subject{tools.SubjectFact}})
	for _, test := range []struct {
		specs []tools.Spec
		out   outside
		want  bool
	}{
		{specs, outside{said: true}, true}, {specs, outside{said: true, restated: true}, false}, {subjectSpecs, outside{said: true, restated: true}, true},
	} {
		f, err := planForm(test.specs, Facts{}, test.out, Limits{}.withDefaults())
		require.NoError(t, err)
		require.Equal(t, test.want, strings.Contains(string(f.schema), string(aboutSaid)), "%+v", test.out)
		require.Equal(t, test.want, strings.Contains(string(f.schema), string(aboutKnowledge)), "%+v", test.out)
	}
}
