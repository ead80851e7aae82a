package savertest

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/graph/checkpoint"
)

// fillForCopy stores a thread with something of everything.
func fillForCopy(t *testing.T, s checkpoint.Saver, thread string) {
	t.Helper()
	grow(t, s, thread, 5)
	fork := boundary(thread, 6)
	fork.Checkpoint.ParentSeq = 2
	fork.Checkpoint.Channels = map[string]int64{"list": 6, "big": 6}
	big := bytes.Repeat([]byte("large "), 1000)
	fork.Values = []checkpoint.Value{{Channel: "list", Delta: true, Prev: 2, Data: []byte("branch")}, {Channel: "big", Data: big}}
	fork.Results = []checkpoint.Result{{Task: "again", Node: "n", Done: true, Writes: []checkpoint.Write{{Channel: "big", Op: "set", Data: big}}}}
	fork.Labels = map[string]string{"goal": "copy"}
	sub := boundary(thread, 1)
	sub.Checkpoint.Namespace, sub.Checkpoint.ID = "sub", "sub-1"
	sub.Checkpoint.Channels = map[string]int64{"big": 1}
	sub.Values = []checkpoint.Value{{Channel: "big", Data: big}}
	save(t, s, fork, sub)
	for _, namespace := range []string{"", "sub"} {
		require.NoError(t, s.SaveResults(t.Context(), checkpoint.ResultSet{Thread: thread, Namespace: namespace, Seq: map[string]int64{"": 6, "sub": 1}[namespace],
			Results: []checkpoint.Result{{Task: "asks", Node: "n", Interrupts: []checkpoint.Interrupt{{ID: "i", Value: big}}}, {Task: "ended", Node: "n", Done: true}}}))
	}
}

// everything loads all checkpoints of a thread in its namespaces.
func everything(t *testing.T, s checkpoint.Saver, thread string) (all []*checkpoint.Saved) {
	t.Helper()
	for _, namespace := range []string{"", "sub"} {
		for _, info := range infos(t, s, checkpoint.Query{Thread: thread, Namespace: namespace}) {
			saved, err := s.Load(t.Context(), checkpoint.Ref{Thread: thread, Namespace: namespace, ID: info.ID})
			require.NoError(t, err)
			all = append(all, saved)
		}
	}
	return all
}

func testCopy(t *testing.T, s checkpoint.Saver) {
	copier := optional[checkpoint.Copier](t, s)
	log, hasEffects := s.(checkpoint.EffectLog)
	lister, lists := s.(checkpoint.ThreadLister)
	fillForCopy(t, s, "from")
	paid, asked := checkpoint.EffectKey{Thread: "from", Task: "asks", Key: "paid"}, checkpoint.EffectKey{Thread: "from", Namespace: "sub", Task: "asks", Key: "asked"}
	if hasEffects {
		begin(t.Context(), t, log, paid)
		require.NoError(t, log.FinishEffect(t.Context(), "", paid, []byte("1")))
		begin(t.Context(), t, log, asked)
	}
	want := everything(t, s, "from")
	require.Len(t, want, 7)
	require.NoError(t, copier.CopyThread(t.Context(), "from", "to"))
	compare := func(thread string) {
		t.Helper()
		got := everything(t, s, thread)
		require.Len(t, got, len(want))
		for i := range want {
			same := *want[i]
			same.Thread = thread
			requireSaved(t, &same, got[i])
		}
	}
	compare("from")
	compare("to")
	if lists {
		threads, err := lister.Threads(t.Context(), checkpoint.ThreadQuery{})
		require.NoError(t, err)
		require.Equal(t, []string{"to", "from"}, ids(threads))
		from, to := threads[1], threads[0]
		require.Greater(t, to.Change, from.Change)
		to.ID, to.Change = from.ID, from.Change
		require.Equal(t, from, to)
	}
	if hasEffects {
		paid.Thread, asked.Thread = "to", "to"
		e, fresh := begin(t.Context(), t, log, paid)
		require.False(t, fresh, "what has happened doesn't happen again")
		require.True(t, e.Done)
		require.Equal(t, "1", string(e.Result))
		e, fresh = begin(t.Context(), t, log, asked)
		require.False(t, fresh, "nor what may have happened")
		require.False(t, e.Done)
		require.NoError(t, log.FinishEffect(t.Context(), "", asked, []byte("2")))
		asked.Thread = "from"
		e, _ = begin(t.Context(), t, log, asked)
		require.False(t, e.Done, "the two have nothing in common")
	}

	// Each goes on alone.
	next := boundary("to", 7)
	next.Checkpoint.Channels = map[string]int64{"list": 7}
	next.Values = []checkpoint.Value{{Channel: "list", Delta: true, Prev: 6, Data: []byte("twig")}}
	next.Results = []checkpoint.Result{{Task: "asks", Done: true}}
	save(t, s, next)
	require.Equal(t, "item1 item2 branch twig", joined(load(t, s, "to", "").Values["list"]))
	compare("from")
	if pruner, ok := s.(checkpoint.Pruner); ok {
		require.NoError(t, copier.CopyThread(t.Context(), "from", "again"))
		_, err := pruner.DeleteThread(t.Context(), "from")
		require.NoError(t, err)
		compare("again")
		require.NoError(t, copier.CopyThread(t.Context(), "again", "from"), "the name is free again")
		compare("from")
	}
}

func testCopyRefuses(t *testing.T, s checkpoint.Saver) {
	copier := optional[checkpoint.Copier](t, s)
	fillForCopy(t, s, "from")
	grow(t, s, "other", 1)
	before := everything(t, s, "other")
	err := copier.CopyThread(t.Context(), "nobody", "to")
	require.ErrorIs(t, err, checkpoint.ErrNotFound)
	require.ErrorContains(t, err, "nobody")
	err = copier.CopyThread(t.Context(), "from", "other")
	require.ErrorIs(t, err, checkpoint.ErrThreadExists)
	require.ErrorContains(t, err, "other")
	require.ErrorIs(t, copier.CopyThread(t.Context(), "from", "from"), checkpoint.ErrThreadExists)
	require.Equal(t, before, everything(t, s, "other"))
	for _, thread := range []string{"from", "to"} {
		if held, release := hold(t, s, thread); held {
			require.ErrorIs(t, copier.CopyThread(t.Context(), "from", "to"), checkpoint.ErrThreadBusy, "somebody has %q", thread)
			release()
		}
	}
	if log, ok := s.(checkpoint.EffectLog); ok {
		begin(t.Context(), t, log, checkpoint.EffectKey{Thread: "begun", Task: "x", Key: "y"})
		require.ErrorIs(t, copier.CopyThread(t.Context(), "from", "begun"), checkpoint.ErrThreadExists, "its run ended before the first checkpoint")
	}
	for _, thread := range []string{"to", "begun"} {
		_, err = s.Load(t.Context(), checkpoint.Ref{Thread: thread})
		require.ErrorIs(t, err, checkpoint.ErrNotFound)
	}
	require.NoError(t, copier.CopyThread(t.Context(), "from", "to"))
	if held, release := hold(t, s, "to"); held {
		release() // the lease isn't copied
	}
}
