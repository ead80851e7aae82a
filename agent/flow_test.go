package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/agent"
)

func TestQuestionWithoutToolsTakesTwoModelCalls(t *testing.T) {
	t.Parallel()
	for _, goal := range []string{"What is 17 + 25?", "你好"} {
		r := newRig(t, nil, plan("answer|none"), answer("It is 42."))
		report := r.run(goal)
		require.Equal(t, agent.StatusDone, report.Status)
		require.Equal(t, "It is 42.", report.Answer)
		require.Empty(t, report.Calls)
		require.Nil(t, report.Error)
		require.Equal(t, 2, report.Usage.ModelCalls)
		require.Equal(t, []string{askPlan, askAnswer}, r.model.kinds())
	}
}

func TestOneToolCallTakesFourModelCalls(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, plan("weigh the stone|look"), args(`{"at":"stone"}`), review("done"), answer("12 kg"))
	report := r.run("How heavy is the stone?")
	require.Equal(t, agent.StatusDone, report.Status)
	require.Equal(t, "12 kg", report.Answer)
	require.Equal(t, 4, report.Usage.ModelCalls)
	require.Equal(t, []string{askPlan, askArgs, askReview, askAnswer}, r.model.kinds())
	require.Equal(t, []string{"look stone"}, r.ran())
	require.Len(t, report.Calls, 1)
	require.JSONEq(t, `{"at":"stone"}`, string(report.Calls[0].Arguments))
	require.JSONEq(t, `{"text":"the stone weighs 12 kg"}`, string(report.Calls[0].Result))
	require.Equal(t, []agent.ReportedStep{{Do: "weigh the stone", Tool: "look", State: agent.StepDone}}, report.Plan)
	require.Positive(t, report.CheckpointBytes)
	require.Equal(t, thread, report.ThreadID)
}

func TestReviewIsSkippedWhenEveryResultIsWhole(t *testing.T) {
	t.Parallel()
	skip := func(c *agent.Config) { c.TrustPlan = true }
	r := newRig(t, skip, plan("weigh the stone|look", "count the ledger|query"), args(`{"at":"stone"}`), args(`{"at":"ledger"}`), answer("12 kg, 41"))
	require.Equal(t, agent.StatusDone, r.run("How heavy is the stone and how long the ledger?").Status)

	r = newRig(t, skip, plan("weigh the stone|look", "see the cat|look"), args(`{"at":"stone"}`), args(`{"at":"cat"}`), choose("none"), review("failed"), answer("12 kg, no cat"))
	require.Equal(t, agent.StatusFailed, r.run("How heavy are the stone and the cat?").Status)
}

func TestToolWithoutArgumentsNeedsNoModelCall(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, plan("see how far the job is|poll"), review("done"), answer("1"))
	report := r.run("How far is the job?")
	require.Equal(t, agent.StatusDone, report.Status)
	require.Equal(t, []string{"poll"}, r.ran())
}

func TestEachStepSeesTheResultsBeforeIt(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, plan("weigh the stone|look", "count the ledger|query"),
		args(`{"at":"stone"}`), args(`{"at":"ledger"}`), review("done"), answer("12 kg, 41 rows"))
	report := r.run("How heavy is the stone and how long the ledger?")
	require.Equal(t, "done done", states(report))
	questions := r.model.questions()
	require.NotContains(t, questions[1].flat(false), "12 kg")
	for _, q := range questions[2:] {
		require.Contains(t, q.flat(false), "the stone weighs 12 kg")
	}
	require.Contains(t, questions[3].flat(false), "41 rows")
	requirePrefixes(t, questions)
}

func TestReportIsTheDocumentedObject(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, plan("answer|none"), answer("42"))
	var got map[string]any
	require.NoError(t, json.Unmarshal([]byte(mustJSON(r.run("What is 17 + 25?"))), &got))
	for _, key := range []string{"thread_id", "conversation_id", "status", "answer", "plan", "calls", "notes", "error", "usage", "checkpoint_bytes", "peak_rss_bytes", "duration_ms"} {
		require.Contains(t, got, key)
	}
	require.Equal(t, []any{}, got["calls"], "an empty list, not null")
	require.Equal(t, []any{}, got["notes"])
	for _, key := range []string{"model_calls", "prompt_tokens", "cached_tokens", "restored_tokens", "evaluated_tokens", "completion_tokens", "forced_tokens", "drafted_tokens", "accepted_tokens", "model_load_ms", "prefill_ms", "decode_ms", "ttft_ms"} {
		require.Contains(t, got["usage"], key)
	}
}

func TestReviewAsksForWhatIsMissing(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil,
		plan("weigh the stone|look"), args(`{"at":"stone"}`), review("continue", "the colour of the lamp"),
		plan("see the lamp|look"), args(`{"at":"lamp"}`), review("done"), answer("12 kg, green"))
	report := r.run("How heavy is the stone and which colour has the lamp?")
	require.Equal(t, agent.StatusDone, report.Status)
	require.Equal(t, "done done", states(report), "finished work is kept")
	require.Contains(t, r.model.questions()[3].instruction(), "the colour of the lamp")
	requirePrefixes(t, r.model.questions())
}

func TestFailedStepGoesToTheReviewAndNotToTheEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil,
		plan("see the cat|look", "weigh the cat|look"), args(`{"at":"cat"}`), choose("none"), review("failed", "the cat"),
		answer("There is no cat."))
	report := r.run("How heavy is the cat?")
	require.Equal(t, agent.StatusFailed, report.Status)
	require.Equal(t, "There is no cat.", report.Answer)
	require.Equal(t, agent.KindIncomplete, report.Error.Kind)
	require.Equal(t, "reflector", report.Error.Node)
	require.Equal(t, "failed pending", states(report))
	require.Contains(t, r.model.questions()[4].instruction(), "the cat")
}

func TestIterationLimit(t *testing.T) {
	t.Parallel()
	script := func(iterations int) []reply {
		var s []reply
		for i := range iterations {
			thing := []string{"stone", "lamp", "ledger"}[i]
			s = append(s, plan("look at "+thing+"|look"), args(`{"at":"`+thing+`"}`))
			if thing == "ledger" {
				s = append(s, choose("query"), args(`{"at":"ledger"}`))
			}
			s = append(s, review("continue", "more"))
		}
		return s
	}
	t.Run("at the limit", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, func(c *agent.Config) { c.Limits.MaxIterations = 2 }, append(script(2), answer("a part"))...)
		report := r.run("Everything?")
		require.Equal(t, agent.StatusFailed, report.Status)
		require.Equal(t, agent.KindLimit, report.Error.Kind)
		require.Contains(t, report.Error.Message, "2 plans")
		require.Equal(t, "a part", report.Answer)
	})
	t.Run("below the limit", func(t *testing.T) {
		t.Parallel()
		s := script(3)
		s[len(s)-1] = review("done")
		r := newRig(t, func(c *agent.Config) { c.Limits.MaxIterations = 3 }, append(s, answer("all"))...)
		require.Equal(t, agent.StatusDone, r.run("Everything?").Status)
	})
}

func TestCallLimit(t *testing.T) {
	t.Parallel()
	script := []reply{plan("weigh|look", "see|look", "poll|poll"), args(`{"at":"stone"}`), args(`{"at":"lamp"}`)}
	t.Run("above", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, func(c *agent.Config) { c.Limits.MaxToolCalls = 2 }, append(script[:3:3], answer("two things"))...)
		report := r.run("Three things?")
		require.Equal(t, agent.StatusFailed, report.Status)
		require.Equal(t, agent.KindLimit, report.Error.Kind)
		require.Contains(t, report.Error.Message, "2 tool calls")
		require.Equal(t, "done done pending", states(report))
		require.Len(t, r.ran(), 2)
	})
	t.Run("at", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, func(c *agent.Config) { c.Limits.MaxToolCalls = 3 }, append(script[:3:3], review("done"), answer("three things"))...)
		require.Equal(t, agent.StatusDone, r.run("Three things?").Status)
		require.Len(t, r.ran(), 3)
	})
}

func TestPlanHasAtMostTheStepsAllowed(t *testing.T) {
	t.Parallel()
	three := plan("a|none", "b|none", "c|none")
	limit := func(n int) func(*agent.Config) { return func(c *agent.Config) { c.Limits.MaxPlanSteps = n } }
	r := newRig(t, limit(4), three, answer("x"))
	require.Equal(t, agent.StatusDone, r.run("Three?").Status)

	r = newRig(t, limit(2), three, three, answer("could not plan"))
	report := r.run("Three?")
	require.Equal(t, agent.StatusFailed, report.Status)
	require.Equal(t, agent.KindInvalidReply, report.Error.Kind)
	require.Contains(t, r.model.questions()[1].instruction(), "could not be used")
}

// A plan that is as long as it may be can be short of steps: the rest is asked for once it is done.
func TestFullPlanIsContinued(t *testing.T) {
	t.Parallel()
	full := func(c *agent.Config) { c.Limits.MaxPlanSteps, c.TrustPlan = 2, true }
	first := plan("weigh|look|stone", "see|look|lamp")
	r := newRig(t, full, first, plan("hear|look|bell"), answer("12 kg, green, loud"))
	r.texts["bell"] = "the bell is loud"
	report := r.run("Stone, lamp and bell?")
	require.Equal(t, agent.StatusDone, report.Status)
	require.Equal(t, "done done done", states(report))
	again := r.model.questions()[1]
	require.Contains(t, again.instruction(), "as many steps as a plan may have")
	require.Contains(t, schemaText(r.model.questions()[0].options), `"stone"`)
	require.NotContains(t, schemaText(again.options), `"stone"`, "what was read isn't offered again")

	r = newRig(t, full, first, plan("nothing is missing|none"), answer("12 kg, green"))
	require.Equal(t, agent.StatusDone, r.run("Stone and lamp?").Status)

	r = newRig(t, full, first, first, answer("12 kg, green")) // nothing new: no failure, and not asked for a third time
	report = r.run("Stone and lamp?")
	require.Equal(t, agent.StatusDone, report.Status, "%v", report.Error)
}

// A plan that did the same with each file goes on with the files that the task names, without a question.
func TestFullPlanGoesOnWithTheFilesOfTheTask(t *testing.T) {
	t.Parallel()
	full := func(c *agent.Config) { c.Limits.MaxPlanSteps, c.TrustPlan = 2, true }
	files := agent.Facts{}
	for _, name := range []string{"stone", "lamp", "bell", "drum", "harp", "lute"} {
		files.Files = append(files.Files, agent.File{Path: name, Kind: "text"})
	}
	run := func(script ...reply) (*rig, *agent.Report) {
		r := newRig(t, full, script...)
		for _, name := range []string{"bell", "drum", "harp", "lute"} {
			r.texts[name] = name + " is loud"
		}
		report, err := r.runner.Run(context.Background(), agent.Task{Goal: "Describe stone, lamp, bell, drum and harp.", Thread: thread, Facts: files})
		require.NoError(t, err)
		r.requireScriptUsed()
		return r, report
	}
	r, report := run(plan("see stone|look|stone", "see lamp|look|lamp"), answer("all"))
	require.Equal(t, agent.StatusDone, report.Status, "%v", report.Error)
	require.Equal(t, []string{"look stone", "look lamp", "look bell", "look drum", "look harp"}, r.ran(), "not the lute, which the task does not name")
	require.Equal(t, "see drum", report.Plan[3].Do)

	r, _ = run(plan("see stone|look|stone", "count ledger|query|ledger"), plan("nothing is missing|none"), answer("a part"))
	require.Equal(t, []string{askPlan, askPlan, askAnswer}, r.model.kinds(), "several tools are no list")
}

func TestToolsOfTheTaskDecideWhatTheModelMayChoose(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, plan("see|look"), args(`{"at":"lamp"}`), review("done"), answer("green"))
	report, err := r.runner.Run(context.Background(), agent.Task{Goal: "Colour?", Tools: []string{"look"}, Facts: facts})
	require.NoError(t, err)
	require.Equal(t, agent.StatusDone, report.Status)
	q := r.model.questions()[0]
	require.NotContains(t, q.flat(false), "query(")
	require.NotRegexp(t, `"enum":[^]]*"(query|mark|poll)"`, schemaText(q.options))
	require.Contains(t, schemaText(q.options), `"file":{"type":"string","enum":["stone"]},"tool":{"type":"string","enum":["look"]}`)

	_, err = r.runner.Run(context.Background(), agent.Task{Goal: "Colour?", Tools: []string{"lock"}})
	require.ErrorContains(t, err, `"look"`, "the nearest name is shown")
}

func TestEventsTellTheWholeStory(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, plan("weigh the stone|look"), args(`{"at":"stone"}`), review("done"), answer("It weighs 12 kg."))
	report := r.run("How heavy is the stone?")
	first, ok := r.events[0].(agent.TaskStarted)
	require.True(t, ok, "the thread is told first")
	require.Equal(t, thread, first.Thread)
	last, ok := r.events[len(r.events)-1].(agent.TaskFinished)
	require.True(t, ok)
	require.Equal(t, report, last.Report)
	var nodes []string
	for _, e := range eventsOf[agent.NodeStarted](r.events) {
		nodes = append(nodes, e.Node)
	}
	require.Equal(t, []string{"planner", "executor", "reflector", "finalizer"}, nodes)
	require.Len(t, eventsOf[agent.PlanMade](r.events), 1)
	require.Len(t, eventsOf[agent.StepStarted](r.events), 1)
	require.Equal(t, agent.StepDone, eventsOf[agent.StepFinished](r.events)[0].Step.State)
	require.Len(t, eventsOf[agent.CallStarted](r.events), 1)
	require.False(t, eventsOf[agent.CallFinished](r.events)[0].Replayed)
	require.Len(t, eventsOf[agent.ModelReplied](r.events), 4)
	var text strings.Builder
	deltas := eventsOf[agent.AnswerDelta](r.events)
	require.Greater(t, len(deltas), 1, "the answer is streamed")
	for _, d := range deltas {
		text.WriteString(d.Text)
	}
	require.Equal(t, report.Answer, text.String())
}

func TestAnswerIsStreamedInWholeCharacters(t *testing.T) {
	t.Parallel()
	a := answer("🦙漢é!")
	for _, b := range []byte(a.text) {
		a.chunks = append(a.chunks, string([]byte{b}))
	}
	r := newRig(t, nil, plan("answer|none"), a)
	report := r.run("Repeat exactly: 🦙漢é!")
	var parts []string
	for _, d := range eventsOf[agent.AnswerDelta](r.events) {
		parts = append(parts, d.Text)
	}
	require.Equal(t, []string{"🦙", "漢", "é", "!"}, parts)
	require.Equal(t, "🦙漢é!", report.Answer)
}

func TestEmptyAnswerIsAskedForOnceMore(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, plan("answer|none"), answer(" \n"), answer("42"))
	require.Equal(t, "42", r.run("What is 17 + 25?").Answer)

	r = newRig(t, nil, plan("answer|none"), answer(""), answer(""))
	report := r.run("What is 17 + 25?")
	require.Equal(t, agent.StatusFailed, report.Status)
	require.Equal(t, &agent.Failure{Node: "finalizer", Kind: agent.KindEmptyReply, Message: "the model gave no answer twice"}, report.Error)
}

func TestPlanInsteadOfAnAnswerIsAskedForOnceMore(t *testing.T) {
	t.Parallel()
	for _, action := range []string{`{"steps":[{"file":"none","tool":"none","do":"add"}]}`, `{"tool":"look","arguments":{}}` + "\n\nmore"} {
		r := newRig(t, nil, plan("answer|none"), answer(action), answer("42"))
		require.Equal(t, "42", r.run("What is 17 + 25?").Answer)
	}
	// JSON that the user asked for is an answer.
	for _, text := range []string{`{"sum":42}`, `{"steps":[]}`, "[1,2]"} {
		r := newRig(t, nil, plan("answer|none"), answer(text))
		require.Equal(t, text, r.run("What is 17 + 25?").Answer)
	}
}

func TestModelErrorFailsTheNodeAndKeepsTheBoundary(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, plan("weigh|look"), args(`{"at":"stone"}`), reply{ask: askReview, err: errors.New("connection refused")})
	report := r.run("How heavy is the stone?")
	require.Equal(t, agent.StatusFailed, report.Status)
	require.Equal(t, "reflector", report.Error.Node)
	require.Equal(t, agent.KindModel, report.Error.Kind)
	require.Contains(t, report.Error.Message, "connection refused")
	require.Empty(t, report.Answer)
	require.Len(t, report.Calls, 1)

	again, err := r.runner.Resume(context.Background(), thread, agent.ResumeOptions{})
	require.NoError(t, err)
	require.Equal(t, report.Error, again.Error, "a failed task says why and does nothing")
	require.Len(t, r.model.questions(), 3)

	r.model.script = []reply{review("done"), answer("12 kg")}
	retried, err := r.runner.Resume(context.Background(), thread, agent.ResumeOptions{Retry: true})
	require.NoError(t, err)
	require.Equal(t, agent.StatusDone, retried.Status)
	require.Equal(t, "12 kg", retried.Answer)
	require.Equal(t, []string{"look stone"}, r.ran(), "nothing that finished runs again")
	require.Equal(t, 4, retried.Usage.ModelCalls)
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	_, err := r.runner.Run(context.Background(), agent.Task{Goal: "  \n"})
	require.ErrorIs(t, err, agent.ErrEmptyGoal)
	_, err = r.runner.Run(context.Background(), agent.Task{Goal: "x", Thread: "../x"})
	require.ErrorContains(t, err, `"../x"`)
	require.Empty(t, r.model.questions())

	_, err = agent.New(agent.Config{Limits: agent.Limits{MaxIterations: 51}, Nodes: map[string]agent.NodeOptions{"poet": {}}})
	for _, part := range []string{"Model", "Tools", "MaxIterations", `"poet"`} {
		require.ErrorContains(t, err, part)
	}
}

func TestNodeOptionsReachTheModel(t *testing.T) {
	t.Parallel()
	cold := 0.0
	r := newRig(t, func(c *agent.Config) {
		c.Nodes = map[string]agent.NodeOptions{"planner": {Temperature: &cold, MaxTokens: 99}}
		c.Limits.MaxTokens = 200
	}, plan("answer|none"), answer("42"))
	r.run("What is 17 + 25?")
	require.Equal(t, 99, r.model.questions()[0].options.MaxTokens)
	require.Equal(t, 200, r.model.questions()[1].options.MaxTokens)
}

func TestAnswersAreAskedForInSentencesUnlessTheTaskWantsAnotherForm(t *testing.T) {
	t.Parallel()
	for goal, want := range map[string]bool{
		"How heavy is the stone?": true, "Just the weight of the stone.": false, "The weight as JSON": false, "石头多重？": false,
	} {
		r := newRig(t, nil, plan("weigh the stone|look|stone"), review("done"), answer("12 kg"))
		r.run(goal)
		asked := r.model.questions()
		require.Equal(t, want, strings.Contains(asked[len(asked)-1].instruction(), "in short but whole sentences that say what was asked, as plain text, with"), goal)
	}
	r := newRig(t, nil, plan("greet|none"), answer("hello"))
	r.run("Hello")
	asked := r.model.questions()
	require.Contains(t, asked[len(asked)-1].instruction(), "short and complete, as plain text.", "without results")
}
