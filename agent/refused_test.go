package agent_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/agent"
)

func TestWhatIsRefusedIsSaidAndTheRestIsDone(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, plan("cut the stone|find|stone", "weigh the stone|look|stone"), args(`{"text":"delete"}`), review("done"), answer("refused; 12 kg")).withFind()
	report := r.run("Delete the stone. How heavy is it?")
	require.Equal(t, agent.StatusDone, report.Status)
	require.Equal(t, "refused done", states(report))
	require.Equal(t, []string{"find delete at stone", "look stone"}, r.ran(), "the step after it was not planned on its result")
	require.Equal(t, []string{askPlan, askArgs, askReview, askAnswer}, r.model.kinds(), "nobody is asked for another way")
	asked := r.model.questions()
	require.Contains(t, asked[len(asked)-1].instruction(), "The user knows that this was refused and is not done: cut the stone\nWhat is left to answer: weigh the stone\nAnswer only what is left, in ")
	require.Equal(t, "Not done, because it is not allowed: cut the stone\n\nrefused; 12 kg", report.Answer)
	require.NotContains(t, asked[len(asked)-1].instruction(), "not complete")
}

func TestARefusalThatAnotherCallMayAvoidIsTriedAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, plan("weigh the stone|find|stone"), args(`{"text":"locked"}`), choose("look"), args(`{"at":"stone"}`), choose("none"), review("done"), answer("12 kg")).withFind()
	require.Equal(t, "done", states(r.run("How heavy is the stone?")))

	r = newRig(t, nil, plan("open the stone|find|stone"), args(`{"text":"locked"}`), choose("none"), review("done"), answer("no")).withFind()
	report := r.run("Open the stone.")
	require.Equal(t, "refused", states(report))
	require.Equal(t, agent.StatusDone, report.Status)

	r = newRig(t, nil, plan("open the stone|find|stone"), args(`{"text":"locked"}`), choose("find"), args(`{"at":"stone","text":"locked"}`),
		choose("find"), args(`{"at":"stone","text":"locked"}`), review("done"), answer("no")).withFind()
	require.Equal(t, "refused", states(r.run("Open the stone.")))
	require.Len(t, r.ran(), 1)
}

func TestARefusedStepIsNotPlannedAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, plan("cut the stone|find|stone", "see the cat|look|cat"), args(`{"text":"delete"}`), choose("none"), review("continue", "the cat"),
		plan("cut the stone|find|stone"), answer("refused; no cat")).withFind()
	report := r.run("Delete the stone and see the cat.")
	require.Equal(t, "refused failed", states(report))
	require.Equal(t, agent.StatusFailed, report.Status, "the cat is missing")
}

func TestPlansThatFindNothingEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, plan("see the cat|look|cat"), choose("none"), review("continue", "the cat"), plan("see the dog|look|dog"), choose("none"),
		answer("neither"))
	report := r.run("Where are they?")
	require.Equal(t, agent.KindNoProgress, report.Error.Kind)
	require.Equal(t, "failed failed", states(report))

	r = newRig(t, nil, plan("cut the stone|find|stone", "cut the lamp|find|lamp", "cut the cat|find|cat"), args(`{"text":"delete"}`), args(`{"text":"delete"}`),
		review("failed", "all"), answer("refused")).withFind()
	require.Equal(t, "refused refused pending", states(r.run("Delete all.")))
}

func TestAnswerThatIsAReviewIsAskedForAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, plan("greet|none"), answer(`{"decision":"failed","missing":["x"],"reason":"y"}`), answer(`{"answer":"hello"}`))
	require.Equal(t, "hello", r.run("Hello").Answer)
	asked := r.model.questions()
	require.Contains(t, schemaText(asked[len(asked)-1].options), `"answer"`, "a form cannot be a review")
}

func TestAStepThatChangesIsNotDoneWithAToolThatReads(t *testing.T) {
	t.Parallel()
	for _, do := range []string{"delete the stone", "Update: the stone", "set the stone to 9 kg", "删除石头"} {
		r := newRig(t, nil, plan(do+"|look|stone", "see the lamp|look|lamp"), review("done"), answer("green"))
		report := r.run("Do it. Which colour has the lamp?")
		require.Equal(t, "refused done", states(report), do)
		require.Equal(t, []string{"look lamp"}, r.ran(), "a call would only look as if it had done it")
		require.Contains(t, report.Answer, "Not done, because it is not allowed: "+do)
	}
	for _, do := range []string{"find the deleted stones", "setup the stone", "count what was removed", "remove duplicates"} {
		r := newRig(t, nil, plan(do+"|look|stone"), review("done"), answer("12 kg"))
		require.Equal(t, "done", states(r.run("Stone?")), do)
	}
	r := newRig(t, nil, plan("set a mark|mark"), args(`{"text":"x"}`), review("done"), answer("marked"))
	require.Equal(t, "done", states(r.run("Set a mark.")), "this tool can")
}

// onlyLook leaves the one tool that looks at things.
func onlyLook(t *testing.T) func(*agent.Config) {
	return func(c *agent.Config) {
		var err error
		c.Tools, err = c.Tools.Only("look")
		require.NoError(t, err)
	}
}

// A small model that cannot change something plans what is left of the task, and says nothing of the change.
func TestAChangeThatThePlanLeavesOutIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t, onlyLook(t), plan("weigh the stone|look|stone"), review("done"), answer("12 kg"))
	report := r.run("Please set the weight of the stone to 9 kg, and tell me what it is now.")
	require.Equal(t, "refused done", states(report))
	require.Equal(t, "Not done, because it is not allowed: set the weight of the stone to 9 kg\n\n12 kg", report.Answer)
	require.Equal(t, []string{"look stone"}, r.ran())

	r = newRig(t, onlyLook(t), plan("set the weight|look|stone", "weigh the stone|look|stone"), review("done"), answer("12 kg"))
	require.Equal(t, "refused done", states(r.run("Set the weight of the stone to 9 kg. What is it now?")), "once is enough")

	for _, goal := range []string{"How heavy is the stone?", "Update me on the stone", "What does \"set\" mean here?"} {
		r = newRig(t, onlyLook(t), plan("weigh the stone|look|stone"), review("done"), answer("12 kg"))
		require.Equal(t, "done", states(r.run(goal)), goal)
	}
	r = newRig(t, nil, plan("weigh the stone|look|stone"), review("done"), answer("12 kg"))
	require.Equal(t, "done", states(r.run("Set the weight of the stone to 9 kg.")), "there is a tool that changes something")
}

// What is remembered of a thing does not delete it.
func TestAnOrderToDeleteIsNoFact(t *testing.T) {
	t.Parallel()
	r := newRig(t, onlyLook(t), plan("see what the stone weighs|look|stone"), review("done"), answer("It is deleted."))
	report := r.run("请删除石头，谢谢")
	require.Equal(t, "refused done", states(report), "the program puts it before the plan")
	require.Equal(t, "未执行，因为不允许：删除石头\n\nIt is deleted.", report.Answer)

	r = newRig(t, onlyLook(t), plan("see the stone|look|stone", "delete the cat|none"), review("done"), answer("It is deleted."))
	report = r.run("Delete the stone")
	require.Equal(t, "Not done, because it is not allowed: Delete the stone\n\nIt is deleted.", report.Answer, "a step without a tool is no refusal")

	r = newRig(t, onlyLook(t), plan("see the stone|look|stone"), review("done"), answer("12 kg"))
	require.Equal(t, "12 kg", r.run("How do I delete the stone?").Answer)
}
