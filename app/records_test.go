package app

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/agent"
	"github.com/llama-agent/llama-agent/lifecycle"
)

// said is what the store of records has of the turns of a conversation.
func said(t *testing.T, a *App, conversation string) []string {
	t.Helper()
	list, err := a.memory.List(t.Context(), conversation, lifecycle.ListOptions{Kinds: []lifecycle.Kind{lifecycle.KindTurn}, WithText: true})
	require.NoError(t, err)
	texts := []string{}
	for _, record := range list {
		texts = append(texts, record.Text)
	}
	return texts
}

// A turn can be recalled from its end on, and what is stored of it is what was said last.
func TestATurnIsRememberedWhenItEnds(t *testing.T) {
	t.Parallel()
	m := &scripted{t: t}
	a := openScripted(t, configure(t, memoryOn...), m)
	first := turn(t, a, m, TurnTask{Goal: "One."}, talk("First.")...)
	id := first.ConversationID
	require.Equal(t, []string{"User: One.\nAnswer: First."}, said(t, a, id))

	m.say(scriptedReply{err: errors.New("out of memory")})
	failed, err := a.Continue(t.Context(), TurnTask{Goal: "Two."})
	require.NoError(t, err)
	require.Equal(t, StatusFailed, failed.Status)
	require.Equal(t, []string{"User: One.\nAnswer: First.", "User: Two."}, said(t, a, id))
	m.say(talk("Second.")...)
	_, err = a.Resume(t.Context(), failed.ThreadID, ResumeOptions{Retry: true})
	require.NoError(t, err)
	require.Equal(t, []string{"User: One.\nAnswer: First.", "User: Two.\nAnswer: Second."}, said(t, a, id), "the new answer replaces the old one")

	interrupted := stopped(t, a, m, TurnTask{Goal: "Three."})
	require.Len(t, said(t, a, id), 2, "what is not over is not recalled")
	m.say(talk("Third.")...)
	_, err = a.Resume(t.Context(), interrupted.ThreadID, ResumeOptions{})
	require.NoError(t, err)
	require.Equal(t, "User: Three.\nAnswer: Third.", said(t, a, id)[2])
}

// Whoever removes the store of records, or had none, has the turns in it again at the next turn.
func TestLostRecordsOfTurnsComeBack(t *testing.T) {
	t.Parallel()
	m := &scripted{t: t}
	c := configure(t, memoryOn...)
	write(t, c.Workspace+"/note.txt", "the ferry leaves at 07:45")
	a := openScripted(t, c, m)
	id := turn(t, a, m, TurnTask{Goal: "When?"}, planned("read_file|note.txt"), says("At 07:45.")).ConversationID
	turn(t, a, m, TurnTask{Goal: "Two."}, talk("Second.")...)
	before, err := a.memory.List(t.Context(), id, lifecycle.ListOptions{WithText: true})
	require.NoError(t, err)
	require.Len(t, before, 3, "two turns and what the file says")
	require.NoError(t, a.Close())
	for _, suffix := range []string{"", "-wal", "-shm"} {
		require.NoError(t, os.RemoveAll(c.Memory.ContextStorePath+suffix))
	}

	a = openScripted(t, c, m)
	require.Empty(t, said(t, a, id))
	turn(t, a, m, TurnTask{Goal: "Three."}, talk("Third.")...)
	after, err := a.memory.List(t.Context(), id, lifecycle.ListOptions{WithText: true})
	require.NoError(t, err)
	require.Len(t, after, 4)
	for i := range before {
		after[i].Created = before[i].Created
	}
	require.Equal(t, before, after[:3], "the references are the same")
	require.Equal(t, "User: Three.\nAnswer: Third.", after[3].Text)
}

// countedRecords counts what is put.
type countedRecords struct {
	agent.Records
	puts int
}

func (c *countedRecords) Put(ctx context.Context, r lifecycle.Record) (lifecycle.Record, error) {
	c.puts++
	return c.Records.Put(ctx, r)
}

func TestATurnStoresOnlyItself(t *testing.T) {
	t.Parallel()
	m := &scripted{t: t}
	a := openScripted(t, configure(t, memoryOn...), m)
	id := turn(t, a, m, TurnTask{Goal: "One."}, talk("First.")...).ConversationID
	l := a.lifecycle()
	records := &countedRecords{Records: l.Records}
	l.Records = records
	runner, err := agent.New(agent.Config{Model: m, Tools: a.tools, Lifecycle: l, Saver: a.saver, TrustPlan: true})
	require.NoError(t, err)
	a.runner = runner
	for range 8 {
		before := records.puts
		turn(t, a, m, TurnTask{Goal: "Another."}, talk("Well.")...)
		require.Equal(t, 1, records.puts-before, "however many turns there are")
	}
	require.Len(t, said(t, a, id), 9)
}
