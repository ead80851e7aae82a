package app

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/agent"
	"github.com/llama-agent/llama-agent/conversation"
)

func statuses(turns []Turn) string {
	var out []string
	for _, t := range turns {
		out = append(out, string(t.Status))
	}
	return strings.Join(out, " ")
}

func turnsOf(t *testing.T, a *App, id string) []Turn {
	t.Helper()
	_, turns, err := a.Conversation(t.Context(), id)
	require.NoError(t, err)
	return turns
}

func TestContinueChoosesTheConversation(t *testing.T) {
	t.Parallel()
	m := &scripted{t: t}
	a := openScripted(t, configure(t), m)
	_, _, err := a.Conversation(t.Context(), "")
	require.ErrorIs(t, err, ErrNoConversation)

	first := turn(t, a, m, TurnTask{Goal: "My dog is called Bruno."}, talk("Noted.")...)
	require.NotEmpty(t, first.ConversationID)
	second := turn(t, a, m, TurnTask{Goal: "What is my dog called?"}, talk("Bruno.")...)
	require.Equal(t, first.ConversationID, second.ConversationID, "the last one")
	require.Contains(t, m.last(), "--- human ---\nTask: My dog is called Bruno.\n--- ai ---\nNoted.\n--- human ---\nTask: What is my dog called?")

	other := turn(t, a, m, TurnTask{Goal: "Another matter.", New: true}, talk("Well.")...)
	require.NotEqual(t, first.ConversationID, other.ConversationID)
	require.NotContains(t, m.last(), "Bruno")
	named := turn(t, a, m, TurnTask{Goal: "A third.", New: true, Conversation: "shopping"}, talk("Well.")...)
	require.Equal(t, "shopping", named.ConversationID)

	back := turn(t, a, m, TurnTask{Goal: "And my dog?", Conversation: first.ConversationID}, talk("Bruno.")...)
	require.Equal(t, first.ConversationID, back.ConversationID)
	again := turn(t, a, m, TurnTask{Goal: "Sure?"}, talk("Yes.")...)
	require.Equal(t, first.ConversationID, again.ConversationID, "the last one is the one that was used last")

	turns := turnsOf(t, a, "")
	require.Equal(t, "done done done done", statuses(turns))
	require.Equal(t, 4, turns[3].Number)
	require.Equal(t, again.ThreadID, turns[3].Thread)
	list, err := a.Conversations(t.Context(), 0)
	require.NoError(t, err)
	require.Len(t, list, 3)
	require.Equal(t, first.ConversationID, list[0].ID, "the last changed first")

	_, err = a.Continue(t.Context(), TurnTask{Goal: "x", Conversation: "shoping"})
	require.EqualError(t, err, `there is no conversation "shoping"; did you mean shopping?`)
	_, err = a.Continue(t.Context(), TurnTask{Goal: "x", Conversation: "zzzzzzzz"})
	require.ErrorContains(t, err, "see llama-agent list-conversations; the last one is "+first.ConversationID)
	_, err = a.Continue(t.Context(), TurnTask{Goal: "x", Conversation: "shopping", New: true})
	require.EqualError(t, err, "the conversation shopping exists already; leave --new out to continue it, or choose another ID")
	_, err = a.Continue(t.Context(), TurnTask{Goal: "x", Conversation: "a b", New: true})
	require.ErrorIs(t, err, conversation.ErrInvalid)
	require.Len(t, turnsOf(t, a, "shopping"), 1)
}

// What keeps a turn from beginning leaves nothing behind, so that the same command works once the reason is gone.
func TestATurnThatCouldNotBeginLeavesNothing(t *testing.T) {
	t.Parallel()
	m := &scripted{t: t, missing: errors.New("no such model")}
	c := configure(t)
	a := openScripted(t, c, m)
	for _, task := range []TurnTask{
		{Goal: "x"}, {Goal: "x", New: true, Conversation: "c"}, {Goal: "x", Attach: []string{"nowhere"}}, {Goal: "x", Tools: []string{"reed_file"}},
	} {
		_, err := a.Continue(t.Context(), task)
		require.Error(t, err)
		list, err := a.Conversations(t.Context(), 0)
		require.NoError(t, err)
		require.Empty(t, list)
	}
	m.missing = nil
	turn(t, a, m, TurnTask{Goal: "x", New: true, Conversation: "c"}, talk("Well.")...)

	_, err := a.Continue(t.Context(), TurnTask{Goal: " \n"})
	require.ErrorIs(t, err, agent.ErrEmptyGoal)
	require.Equal(t, "done", statuses(turnsOf(t, a, "c")), "a task that is refused is no turn")
	threads, err := a.Threads(t.Context(), 0)
	require.NoError(t, err)
	require.Len(t, threads, 1)
}

// stopped begins a turn that is interrupted while the model works.
func stopped(t *testing.T, a *App, m *scripted, task TurnTask) *Report {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	m.say(scriptedReply{during: cancel})
	report, err := a.Continue(ctx, task)
	require.NoError(t, err)
	require.Equal(t, StatusInterrupted, report.Status)
	return report
}

func TestAnInterruptedTurn(t *testing.T) {
	t.Parallel()
	m := &scripted{t: t}
	a := openScripted(t, configure(t), m)
	turn(t, a, m, TurnTask{Goal: "One."}, talk("First.")...)
	interrupted := stopped(t, a, m, TurnTask{Goal: "Two."})
	id := interrupted.ConversationID
	require.Equal(t, "done interrupted", statuses(turnsOf(t, a, id)))
	list, err := a.Conversations(t.Context(), 0)
	require.NoError(t, err)
	require.Equal(t, conversation.Interrupted, list[0].Status)

	turn(t, a, m, TurnTask{Goal: "Three."}, talk("Third.")...)
	require.Contains(t, m.last(), "Task: Two.\n--- ai ---\n(This was stopped before there was an answer.)\n--- human ---\nTask: Three.")

	m.say(talk("Second.")...)
	report, err := a.Resume(t.Context(), interrupted.ThreadID, ResumeOptions{})
	require.NoError(t, err)
	require.Equal(t, "Second.", report.Answer)
	require.Equal(t, id, report.ConversationID)
	require.NotContains(t, m.last(), "Task: Three.", "it sees what it saw")
	turns := turnsOf(t, a, id)
	require.Equal(t, "done done done", statuses(turns))
	require.Equal(t, "Second.", turns[1].Answer)
	again, err := a.Resume(t.Context(), interrupted.ThreadID, ResumeOptions{})
	require.NoError(t, err)
	require.Equal(t, id, again.ConversationID)
	turn(t, a, m, TurnTask{Goal: "Four."}, talk("Fourth.")...)
	require.Contains(t, m.last(), "Task: Two.\n--- ai ---\nSecond.\n")

	dropped := stopped(t, a, m, TurnTask{Goal: "Five."})
	_, err = a.Delete(t.Context(), dropped.ThreadID)
	require.NoError(t, err)
	require.Len(t, turnsOf(t, a, id), 4)
	turn(t, a, m, TurnTask{Goal: "Six."}, talk("Sixth.")...)
	require.NotContains(t, m.last(), "Five.")
	_, err = a.Delete(t.Context(), report.ThreadID)
	require.NoError(t, err)
	require.Equal(t, "Second.", turnsOf(t, a, id)[1].Answer, "what was said stays")
}

// diedAfter does the task of a turn in a process that ends before it can store the turn.
func diedAfter(t *testing.T, a *App, m *scripted, goal string, replies ...scriptedReply) Turn {
	t.Helper()
	c, err := a.findConversation(t.Context(), "")
	require.NoError(t, err)
	thread, err := a.runner.NewThread(t.Context())
	require.NoError(t, err)
	turn, err := a.conversations.Begin(t.Context(), c.ID, thread, goal, "no process")
	require.NoError(t, err)
	m.say(replies...)
	_, err = a.runner.Run(t.Context(), agent.Task{Goal: goal, Thread: thread, Owner: c.ID, Turn: turn.Number})
	require.NoError(t, err)
	return turn
}

func TestTheAnswerOfAProcessThatDiedIsKept(t *testing.T) {
	t.Parallel()
	m := &scripted{t: t}
	a := openScripted(t, configure(t), m)
	first := turn(t, a, m, TurnTask{Goal: "One."}, talk("First.")...)
	diedAfter(t, a, m, "Two.", talk("Second.")...)
	turn(t, a, m, TurnTask{Goal: "Three."}, talk("Third.")...)
	require.Contains(t, m.last(), "Task: Two.\n--- ai ---\nSecond.\n")
	require.Equal(t, "done done done", statuses(turnsOf(t, a, first.ConversationID)))

	died := diedAfter(t, a, m, "Four.", talk("Fourth.")...)
	report, err := a.Resume(t.Context(), died.Thread, ResumeOptions{})
	require.NoError(t, err)
	require.Equal(t, "Fourth.", report.Answer)
	turns := turnsOf(t, a, first.ConversationID)
	require.Equal(t, "done done done done", statuses(turns))
	require.Equal(t, "Fourth.", turns[3].Answer)
}

func TestAFailedTurnIsRetried(t *testing.T) {
	t.Parallel()
	m := &scripted{t: t}
	a := openScripted(t, configure(t), m)
	m.say(scriptedReply{err: errors.New("out of memory")})
	report, err := a.Continue(t.Context(), TurnTask{Goal: "One."})
	require.NoError(t, err)
	require.Equal(t, StatusFailed, report.Status)
	turns := turnsOf(t, a, "")
	require.Equal(t, "failed", statuses(turns))
	require.Contains(t, turns[0].Error, "out of memory")
	m.say(talk("First.")...)
	report, err = a.Resume(t.Context(), report.ThreadID, ResumeOptions{Retry: true})
	require.NoError(t, err)
	require.Equal(t, StatusDone, report.Status)
	turns = turnsOf(t, a, "")
	require.Equal(t, "done", statuses(turns))
	require.Empty(t, turns[0].Error)
}

// A resume that is refused leaves the turn as it was, also while the program goes on running.
func TestARefusedResumeLeavesTheTurnFree(t *testing.T) {
	t.Parallel()
	m := &scripted{t: t}
	c := configure(t, "engine.seed=1")
	a := openScripted(t, c, m)
	report := stopped(t, a, m, TurnTask{Goal: "One."})
	other := openScripted(t, configureIn(t, c.Workspace, "engine.seed=2"), m)
	_, err := other.Resume(t.Context(), report.ThreadID, ResumeOptions{})
	require.ErrorContains(t, err, "engine.seed was")
	require.Equal(t, "interrupted", statuses(turnsOf(t, other, "")))
	turn(t, other, m, TurnTask{Goal: "Two."}, talk("Second.")...)
	m.say(talk("First.")...)
	report, err = a.Resume(t.Context(), report.ThreadID, ResumeOptions{})
	require.NoError(t, err)
	require.Equal(t, "First.", report.Answer)
	require.Equal(t, "done done", statuses(turnsOf(t, a, "")))
}

// A turn that failed and whose retry is refused is still a failed one.
func TestARefusedRetryLeavesTheTurnFailed(t *testing.T) {
	t.Parallel()
	m := &scripted{t: t}
	c := configure(t, "engine.seed=1")
	a := openScripted(t, c, m)
	m.say(scriptedReply{err: errors.New("out of memory")})
	report, err := a.Continue(t.Context(), TurnTask{Goal: "One."})
	require.NoError(t, err)
	before := turnsOf(t, a, "")
	other := openScripted(t, configureIn(t, c.Workspace, "engine.seed=2"), m)
	_, err = other.Resume(t.Context(), report.ThreadID, ResumeOptions{Retry: true})
	require.ErrorContains(t, err, "engine.seed was")
	after := turnsOf(t, a, "")
	after[0].Finished = before[0].Finished
	require.Equal(t, before, after)
}

// What was said in a conversation stays said; who wants to try again has a copy for it.
func TestAFinishedTurnIsNotTakenUpAgain(t *testing.T) {
	t.Parallel()
	m := &scripted{t: t}
	a := openScripted(t, configure(t), m)
	report := turn(t, a, m, TurnTask{Goal: "One."}, talk("First.")...)
	steps, err := a.History(t.Context(), report.ThreadID)
	require.NoError(t, err)
	_, err = a.Resume(t.Context(), report.ThreadID, ResumeOptions{From: steps[1].ID})
	require.ErrorContains(t, err, "is turn 1 of conversation "+report.ConversationID+", which is done and stays as it is; make a copy")
	require.NoError(t, a.Copy(t.Context(), report.ThreadID, "t-copy"))
	steps, err = a.History(t.Context(), "t-copy")
	require.NoError(t, err)
	m.say(says("Another."))
	forked, err := a.Resume(t.Context(), "t-copy", ResumeOptions{From: steps[1].ID})
	require.NoError(t, err)
	require.Equal(t, "Another.", forked.Answer)
	turns := turnsOf(t, a, "")
	require.Equal(t, "done", statuses(turns))
	require.Equal(t, "First.", turns[0].Answer)
}

// A turn that was taken back is not recalled later.
func TestADroppedTurnIsForgotten(t *testing.T) {
	t.Parallel()
	m := &scripted{t: t}
	a := openScripted(t, configure(t, "memory.artifact_virtualization=true", "memory.lifecycle_context=true",
		"memory.hot_conversation_turns=1", "memory.context_activation_tokens=1"), m)
	m.say(scriptedReply{err: errors.New("out of memory")})
	failed, err := a.Continue(t.Context(), TurnTask{Goal: "My locker has the code 7781."})
	require.NoError(t, err)
	turn(t, a, m, TurnTask{Goal: "My other locker has the code 5562."}, talk("Noted.")...)
	turn(t, a, m, TurnTask{Goal: "Lunch."}, talk("Well.")...)
	turn(t, a, m, TurnTask{Goal: "Which code has my locker?"}, talk("7781 or 5562.")...)
	require.Contains(t, m.last(), "7781")
	_, err = a.Delete(t.Context(), failed.ThreadID)
	require.NoError(t, err)
	turn(t, a, m, TurnTask{Goal: "What code has my locker?"}, talk("5562.")...)
	require.NotContains(t, m.last(), "has the code 7781")
	require.Contains(t, m.last(), "has the code 5562")
}

func bigFile(t *testing.T, a *App) {
	t.Helper()
	lines := []string{"the ferry leaves pier 9 at 07:45"}
	for range 400 {
		lines = append(lines, "nothing of interest is in this line of the file")
	}
	write(t, filepath.Join(a.Config().Workspace, "book.txt"), strings.Join(append(lines, "the captain is called Mbeki"), "\n"))
}

func TestEvidenceOfAnEarlierTurnIsUsable(t *testing.T) {
	t.Parallel()
	m := &scripted{t: t}
	a := openScripted(t, configure(t, "memory.artifact_virtualization=true", "memory.lifecycle_context=true"), m)
	bigFile(t, a)
	const done = `{"decision":"done","missing":[],"reason":"read"}`
	first := turn(t, a, m, TurnTask{Goal: "When does the ferry leave?"}, planned("read_file|book.txt"), says(done), says("At 07:45."))
	ref := first.Calls[0].ArtifactID
	require.NotEmpty(t, ref)
	list, err := a.artifacts.List(t.Context(), first.ConversationID, 0)
	require.NoError(t, err)
	require.Len(t, list, 1, "it belongs to the conversation")

	from := len(m.prompts)
	second := turn(t, a, m, TurnTask{Goal: "Who is the captain?"}, planned("search_artifact|"+ref), says(`{"query":"captain"}`), says("Mbeki."))
	require.Contains(t, m.schemas[from], ref, "the plan may name it")
	require.Contains(t, m.prompts[from], ref, "the earlier result is in the prompt")
	require.Contains(t, string(second.Calls[0].Result), "Mbeki")
	turn(t, a, m, TurnTask{Goal: "And the ferry?"}, talk("At 07:45.")...)
	require.Contains(t, m.last(), "Mbeki", "what the second turn found")

	from = len(m.prompts)
	m.say(planned("search_artifact|"+ref), says(`{"query":"captain"}`), says(`{"tool":"none"}`), says(`{"decision":"failed","missing":["the captain"],"reason":"no"}`), says("Unknown."))
	report, err := a.Continue(t.Context(), TurnTask{Goal: "Who is the captain?", New: true})
	require.NoError(t, err)
	require.NotNil(t, report.Calls[0].Error, "another conversation does not see it")
	require.NotContains(t, m.since(from), "Mbeki")

	found, err := a.Artifacts(t.Context(), first.ConversationID, 0)
	require.NoError(t, err)
	require.Len(t, found, 1, "stored results are listed by conversation too")
	_, err = a.Artifacts(t.Context(), "c-nowhere", 0)
	require.Error(t, err)
}

func TestDeleteConversations(t *testing.T) {
	t.Parallel()
	m := &scripted{t: t}
	c := configure(t, "memory.artifact_virtualization=true", "memory.lifecycle_context=true")
	a := openScripted(t, c, m)
	bigFile(t, a)
	const done = `{"decision":"done","missing":[],"reason":"read"}`
	for _, id := range []string{"one", "two"} {
		turn(t, a, m, TurnTask{Goal: "Read.", New: true, Conversation: id}, planned("read_file|book.txt"), says(done), says("Read."))
		turn(t, a, m, TurnTask{Goal: "Again."}, talk("Well.")...)
		_, _, err := a.AddMemory(t.Context(), id, "name", id)
		require.NoError(t, err)
	}
	owns := func(id string) (turns, threads, stored, records int) {
		_, list, err := a.Conversation(t.Context(), id)
		if err == nil {
			turns = len(list)
		}
		all, err := a.Threads(t.Context(), 0)
		require.NoError(t, err)
		for _, thread := range all {
			if thread.Labels["conversation"] == id {
				threads++
			}
		}
		kept, err := a.artifacts.List(t.Context(), id, 0)
		require.NoError(t, err)
		owners, err := a.memory.Owners(t.Context())
		require.NoError(t, err)
		for _, o := range owners {
			if o.Owner == id {
				records = o.Records
			}
		}
		return turns, threads, len(kept), records
	}
	turns, threads, stored, records := owns("one")
	require.Equal(t, []int{2, 2, 1}, []int{turns, threads, stored})
	require.GreaterOrEqual(t, records, 2)

	_, err := a.DeleteConversations(t.Context(), "one", "three")
	require.ErrorContains(t, err, `there is no conversation "three"`)
	deleted, err := a.DeleteConversations(t.Context(), "one", "one")
	require.NoError(t, err)
	require.Equal(t, []DeletedConversation{{"one", 2}}, deleted)
	turns, threads, stored, records = owns("one")
	require.Equal(t, []int{0, 0, 0, 0}, []int{turns, threads, stored, records})
	turns, threads, stored, _ = owns("two")
	require.Equal(t, []int{2, 2, 1}, []int{turns, threads, stored})
	_, err = a.DeleteConversations(t.Context(), "")
	require.Error(t, err, "an empty ID stands for nothing here")
}

func TestConversationsOfAWorkspaceWithoutAny(t *testing.T) {
	t.Parallel()
	c := configure(t)
	a, err := Open(t.Context(), Options{Config: c, Existing: true})
	require.NoError(t, err)
	defer a.Close()
	list, err := a.Conversations(t.Context(), 0)
	require.NoError(t, err)
	require.Empty(t, list)
	_, _, err = a.Conversation(t.Context(), "c")
	require.ErrorContains(t, err, `there is no conversation "c"; there is none in this workspace`)
	_, err = a.DeleteConversations(t.Context(), "c")
	require.Error(t, err)
	_, err = os.Stat(c.Agent.ConversationDBPath)
	require.ErrorIs(t, err, os.ErrNotExist, "looking leaves nothing behind")
}
