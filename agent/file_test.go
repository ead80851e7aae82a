package agent_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/agent"
	"github.com/llama-agent/llama-agent/tools"
)

type findArgs struct {
	At    string `json:"at" jsonschema:"where to look" arg:"minlen=1,maxlen=60"`
	Text  string `json:"text" jsonschema:"what to find" arg:"minlen=1,maxlen=60"`
	Limit int    `json:"limit,omitempty" jsonschema:"how many to show" arg:"min=1,max=50,default=10,core"`
	Whole bool   `json:"whole,omitempty" jsonschema:"only whole words"`
}

// withTally adds a tool that counts.
func (r *rig) withTally(counts map[string]int) {
	tally, err := tools.Func(tools.Spec{
		Name: "tally", Description: "Counts.", ReadOnly: true, Takes: []tools.Subject{tools.SubjectText}, Path: "at",
	}, func(_ context.Context, a struct {
		At string `json:"at" jsonschema:"where to count" arg:"minlen=1,maxlen=60"`
	}) (tools.Result, error) {
		return tools.Result{Data: map[string]any{"total": counts[a.At]}, Text: fmt.Sprint(counts[a.At])}, nil
	})
	require.NoError(r.t, err)
	r.withTool(tally)
}

// withFind adds a tool that needs more than its file.
func (r *rig) withFind() *rig {
	find, err := tools.Func(tools.Spec{
		Name: "find", Description: "Finds a text.", ReadOnly: true, Takes: []tools.Subject{tools.SubjectText}, Path: "at",
	}, func(ctx context.Context, a findArgs) (tools.Result, error) {
		if err := r.reached(ctx, "find "+a.Text+" at "+a.At); err != nil {
			return tools.Result{}, err
		}
		if a.Text == "delete" || a.Text == "locked" {
			return tools.Result{}, &tools.Error{Kind: tools.KindDenied, Message: "that is not allowed", Final: a.Text == "delete"}
		}
		if a.Text == a.At {
			return tools.Result{}, &tools.Error{Kind: tools.KindWrongKind, Message: "that is its own name", Fix: "use look", Instead: "look"}
		}
		if !strings.Contains(r.texts[a.At], a.Text) {
			return tools.Result{}, &tools.Error{Kind: tools.KindNotFound, Message: fmt.Sprintf("%q has no %q", a.At, a.Text)}
		}
		return tools.Result{Data: map[string]any{"line": r.texts[a.At]}, Text: r.texts[a.At]}, nil
	})
	require.NoError(r.t, err)
	r.withTool(find)
	return r
}

// withTool offers one more tool.
func (r *rig) withTool(added tools.Tool) {
	all := []tools.Tool{added}
	registry := r.tools(r.t)
	for _, name := range registry.Names() {
		tool, _ := registry.Lookup(name)
		all = append(all, tool)
	}
	registry, err := tools.NewRegistry(all...)
	require.NoError(r.t, err)
	r.runner, err = agent.New(agent.Config{
		Model: r.model, Tools: registry, Clock: steadyClock(), NewID: func() string { return "3f2a" }, Workspace: "/ws",
	})
	require.NoError(r.t, err)
}

func TestToolThatAnErrorNamesIsTaken(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, plan("weigh the stone|find|stone"), args(`{"text":"stone"}`), review("done"), answer("12 kg")).withFind()
	report := r.run("How heavy is the stone?")
	require.Equal(t, "done", states(report))
	require.Equal(t, []string{"find stone at stone", "look stone"}, r.ran())
	require.Equal(t, []string{askPlan, askArgs, askReview, askAnswer}, r.model.kinds(), "nobody has to choose what the error names")
	require.Equal(t, "look", report.Calls[0].Error.Instead)
}

func TestStepThatNamesAllItsToolNeedsTakesNoModelCall(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, plan("weigh the stone|look|stone", "count the ledger|query|ledger"), review("done"), answer("12 kg, 41"))
	report := r.run("How heavy is the stone and how long the ledger?")
	require.Equal(t, agent.StatusDone, report.Status)
	require.Equal(t, []string{askPlan, askReview, askAnswer}, r.model.kinds())
	require.Equal(t, 3, report.Usage.ModelCalls)
	require.Equal(t, []string{"look stone", "query ledger"}, r.ran())
	require.JSONEq(t, `{"at":"stone"}`, string(report.Calls[0].Arguments))
	require.Contains(t, r.model.questions()[1].flat(false), `{"tool":"look","arguments":{"at":"stone"}}`, "the transcript has the whole call")
	requirePrefixes(t, r.model.questions())
}

func TestStepWithAFileAsksForTheOtherArguments(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, plan("find the weight|find|stone"), args(`{"text":"kg"}`), review("done"), answer("12 kg")).withFind()
	report := r.run("How heavy is the stone?")
	require.Equal(t, agent.StatusDone, report.Status)
	require.Equal(t, []string{"find kg at stone"}, r.ran())
	require.Equal(t, `{"at":"stone","text":"kg"}`, string(report.Calls[0].Arguments), "in the tool's own order")
	q := r.model.questions()[1]
	require.Equal(t, "find", q.tool())
	require.Contains(t, q.instruction(), "find the weight (stone)\n")
	require.NotContains(t, q.instruction(), "- at")
	require.Contains(t, q.instruction(), "- text (string): what to find\n- limit (integer from 1 to 50, default 10, optional): how many to show")
	require.NotContains(t, schemaText(q.options), `"at"`)
	require.NotContains(t, schemaText(q.options), `"whole"`)
	require.Contains(t, schemaText(q.options), `"required":["text"]`)
	requirePrefixes(t, r.model.questions())
}

func TestCallAfterAFailedOneIsAskedForWhole(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, plan("find the colour|find|stone"), args(`{"text":"green"}`),
		choose("find"), args(`{"at":"lamp","text":"green"}`), review("done"), answer("green")).withFind()
	require.Equal(t, agent.StatusDone, r.run("What is green?").Status)
	require.Equal(t, []string{"find green at stone", "find green at lamp"}, r.ran())
	q := r.model.questions()[3]
	require.Contains(t, q.instruction(), "- at (string): where to look\n- text (string): what to find\n- limit (")
	require.Contains(t, schemaText(q.options), `"required":["at","text"]`)
	requirePrefixes(t, r.model.questions())

	// The file alone was wrong, and no question had been asked.
	r = newRig(t, nil, plan("see the lamp|look|lamb"), choose("look"), args(`{"at":"lamp"}`), review("done"), answer("green"))
	report := r.run("Which colour has the lamp?")
	require.Equal(t, []string{"look lamb", "look lamp"}, r.ran())
	require.Equal(t, []string{"not_found", ""}, errorKinds(report))
	require.Equal(t, "done", states(report))
	requirePrefixes(t, r.model.questions())
}

func TestMalformedArgumentsBesideAFileGoBackToTheModel(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "null", "[]", `{}`, `{"text":"kg"}{"x":1}`, `{"text":"k`, `{"text":7}`, `{"text":"kg","how":1}`} {
		r := newRig(t, nil, plan("find the weight|find|stone"), args(text),
			args(`{"at":"stone","text":"kg"}`), review("done"), answer("12 kg")).withFind()
		report := r.run("How heavy is the stone?")
		require.Equal(t, agent.StatusDone, report.Status, text)
		require.Equal(t, []string{"find kg at stone"}, r.ran(), text)
		require.Equal(t, []string{"invalid_arguments", ""}, errorKinds(report), text)
		require.Contains(t, r.model.questions()[2].last(), "text (string, required)", "the valid schema is shown")
	}
}

func TestStepThatRepeatsACallIsToldWithoutAQuestion(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, plan("weigh the stone|look|stone", "see the stone|look|stone"), review("done"), answer("12 kg"))
	report := r.run("How heavy is the stone?")
	require.Equal(t, []string{"look stone"}, r.ran())
	require.Equal(t, []string{"", "repeated"}, errorKinds(report))
	require.Equal(t, "done done", states(report))
}

func TestFileThatTheToolRefusesGoesBackToTheModel(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 61) // longer than the tool takes
	r := newRig(t, nil, plan("see|look|"+long), args(`{"at":"stone"}`), review("done"), answer("12 kg"))
	report := r.run("How heavy is the stone?")
	require.Equal(t, []string{"look stone"}, r.ran())
	require.Equal(t, []string{"invalid_arguments", ""}, errorKinds(report))
	require.Equal(t, "null", string(report.Calls[0].Arguments), "the model wrote nothing")
}

// A model without a grammar may know nothing of files in a plan.
func TestPlanWithoutFilesIsAccepted(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"steps":[{"do":"weigh the stone","tool":"look"}]}`,
		`{"steps":[{"do":"weigh the stone","tool":"look","file":""}]}`,
		`{"steps":[{"file":"none","tool":"look","do":"weigh the stone"}]}`,
	} {
		r := newRig(t, nil, reply{ask: askPlan, text: text}, args(`{"at":"stone"}`), review("done"), answer("12 kg"))
		report := r.run("How heavy is the stone?")
		require.Equal(t, agent.StatusDone, report.Status, text)
		require.Equal(t, []string{"look stone"}, r.ran())
		require.Contains(t, r.model.questions()[1].instruction(), "Step 1: weigh the stone\n", "no file is named")
		require.Contains(t, schemaText(r.model.questions()[1].options), `"required":["at"]`)
		requirePrefixes(t, r.model.questions())
	}
}

func TestStoppedStepWithAFileGoesOn(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, plan("weigh the stone|look|stone"))
	ctx, cancel := context.WithCancel(context.Background())
	r.hold = func(ctx context.Context, _ string) error { cancel(); <-ctx.Done(); return ctx.Err() }
	report, err := r.runner.Run(ctx, agent.Task{Goal: "Weigh.", Facts: facts})
	require.NoError(t, err)
	require.Equal(t, agent.StatusInterrupted, report.Status)

	r.hold = nil
	r.model.script = []reply{review("done"), answer("12 kg")}
	report = resume(t, r, agent.ResumeOptions{})
	require.Equal(t, "12 kg", report.Answer)
	require.Equal(t, []string{"look stone", "look stone"}, r.ran())
	require.Equal(t, 3, report.Usage.ModelCalls)
	requirePrefixes(t, r.model.questions())
}

// The hint stands behind the task, so that what is before it stays the same for every task, and in the first plan alone: what is missing
// later is not what the words of the task say.
func TestFirstPlanIsToldWhereTheWordsOfTheTaskStand(t *testing.T) {
	t.Parallel()
	for goal, want := range map[string]bool{"How heavy is it, and since when?": true, "How heavy is it? See ledger.db": false} {
		r := newRig(t, nil, plan("weigh it|look|stone"), review("continue", "since when"), plan("look on|look|ledger.db"), review("done"), answer("12 kg"))
		r.texts["ledger.db"] = "41 rows"
		files := agent.Facts{
			Files: []agent.File{{Path: "stone", Kind: "text"}, {Path: "ledger.db", Kind: "text"}},
			Found: []agent.Found{{Path: "sto\nne", Words: []string{"heavy", "since"}}},
		}
		_, err := r.runner.Run(context.Background(), agent.Task{Goal: goal, Facts: files})
		require.NoError(t, err)
		require.Equal(t, []string{askPlan, askReview, askPlan, askReview, askAnswer}, r.model.kinds())
		hint := "\n\nFiles with words of the task: sto ne.\nRole: plan."
		require.Equal(t, want, strings.Contains(r.model.questions()[0].flat(false), goal+hint), goal)
		require.NotContains(t, r.model.questions()[2].flat(false), "words of the task", "a second plan is about what is missing")
	}
}
