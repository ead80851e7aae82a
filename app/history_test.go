package app

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/graph/checkpoint"
)

func TestCheckpointsAreFoundByAPartOfTheirID(t *testing.T) {
	t.Parallel()
	a := open(t, configure(t), &answers{})
	_, err := a.Run(t.Context(), Task{Goal: "hello", Thread: "t-1"})
	require.NoError(t, err)
	steps, err := a.History(t.Context(), "t-1")
	require.NoError(t, err)
	want := steps[1]
	for _, id := range []string{want.ID, want.ID[len(want.ID)-8:], want.ID[:len(want.ID)-1]} {
		got, err := a.Checkpoint(t.Context(), "t-1", id)
		require.NoError(t, err, id)
		require.Equal(t, want.ID, got.ID)
		require.Equal(t, want.Step, got.Step)
	}
	_, err = a.Checkpoint(t.Context(), "t-1", want.ID[:8]) // all were made within a moment
	require.ErrorContains(t, err, fmt.Sprintf("%q stands for %d checkpoints of thread t-1; give more of the ID", want.ID[:8], len(steps)))
	_, err = a.Checkpoint(t.Context(), "t-1", want.ID[len(want.ID)-3:])
	require.ErrorContains(t, err, "has no checkpoint")
	_, err = a.Checkpoint(t.Context(), "t-1", "")
	require.ErrorContains(t, err, `has no checkpoint ""`)
	mistyped := strings.ToUpper(want.ID[len(want.ID)-8:len(want.ID)-1]) + "x"
	_, err = a.Checkpoint(t.Context(), "t-1", mistyped)
	require.ErrorContains(t, err, "did you mean "+want.ID[len(want.ID)-8:]+"?")
}

// otherVersion is a thread as another version of the program left it, copied from thread from.
func otherVersion(t *testing.T, a *App, from, thread string) {
	t.Helper()
	saved, err := a.saver.Load(t.Context(), checkpoint.Ref{Thread: from})
	require.NoError(t, err)
	b := checkpoint.Boundary{Checkpoint: saved.Checkpoint, ShapeText: saved.ShapeText + "\nnode \"critic\""}
	b.Checkpoint.Thread, b.Checkpoint.ID, b.Checkpoint.Seq, b.Checkpoint.Parent, b.Checkpoint.ParentSeq = thread, thread, 1, "", 0
	b.Checkpoint.Shape = "other"
	b.Checkpoint.Channels = map[string]int64{}
	for name, parts := range saved.Values {
		require.Len(t, parts, 1, name)
		b.Checkpoint.Channels[name] = 1
		b.Values = append(b.Values, checkpoint.Value{Channel: name, Data: parts[0]})
	}
	require.NoError(t, a.saver.Save(t.Context(), b))
}

func TestTaskOfAnotherVersion(t *testing.T) {
	t.Parallel()
	m := &answers{failure: errors.New("gone")}
	a := open(t, configure(t), m)
	_, err := a.Run(t.Context(), Task{Goal: "hello", Thread: "t-1"})
	require.NoError(t, err)
	otherVersion(t, a, "t-1", "t-2")
	m.failure = nil

	_, err = a.Resume(t.Context(), "t-2", ResumeOptions{})
	require.EqualError(t, err, `running thread t-2: checkpoint "t-2" of thread "t-2" was not written by graph "agent" as it is now: `+
		`node "critic" is gone; start a new thread, or allow another shape with --allow-changes`)
	_, err = a.Resume(t.Context(), "t-2", ResumeOptions{From: "t-2"})
	require.ErrorContains(t, err, "with --allow-changes")
	steps, err := a.History(t.Context(), "t-2")
	require.NoError(t, err)
	require.Empty(t, steps[0].Problem)
	report, err := a.Resume(t.Context(), "t-2", ResumeOptions{AllowChanges: true})
	require.NoError(t, err)
	require.Equal(t, "The answer.", report.Answer)
}

// damagedSaver cannot read one checkpoint.
type damagedSaver struct {
	checkpoint.Saver
	id, lastGood string
}

func (s damagedSaver) damage(ref checkpoint.Ref) error {
	return &checkpoint.DamagedError{Thread: ref.Thread, Checkpoint: s.id, LastGood: s.lastGood, Err: errors.New("a byte is wrong")}
}

func (s damagedSaver) Load(ctx context.Context, ref checkpoint.Ref) (*checkpoint.Saved, error) {
	saved, err := s.Saver.Load(ctx, ref)
	if err == nil && saved.ID == s.id {
		return nil, s.damage(ref)
	}
	return saved, err
}

func (s damagedSaver) Threads(ctx context.Context, q checkpoint.ThreadQuery) ([]checkpoint.ThreadInfo, error) {
	return s.Saver.(checkpoint.ThreadLister).Threads(ctx, q)
}

func (s damagedSaver) Prune(_ context.Context, thread string, _ int) (checkpoint.Freed, error) {
	if thread == "t-1" {
		return checkpoint.Freed{}, s.damage(checkpoint.Ref{Thread: thread})
	}
	return checkpoint.Freed{Checkpoints: 1}, nil
}

func (s damagedSaver) DeleteThread(context.Context, string) (checkpoint.Freed, error) {
	return checkpoint.Freed{}, errors.ErrUnsupported
}

func TestDamagedTask(t *testing.T) {
	t.Parallel()
	m := &answers{failure: errors.New("gone")}
	a := open(t, configure(t), m)
	for _, thread := range []string{"t-1", "t-2"} {
		_, err := a.Run(t.Context(), Task{Goal: "hello", Thread: thread})
		require.NoError(t, err)
	}
	steps, err := a.History(t.Context(), "t-1")
	require.NoError(t, err)
	a.saver = damagedSaver{a.saver, steps[0].ID, steps[1].ID}
	require.NoError(t, a.newRunner(m))
	a.lists = a.runner

	damaged, err := a.History(t.Context(), "t-1")
	require.NoError(t, err)
	require.Len(t, damaged, len(steps))
	require.Contains(t, damaged[0].Problem, "a byte is wrong")
	require.Equal(t, steps[0].Step, damaged[0].Step)
	require.Empty(t, damaged[1].Problem)

	_, err = a.Resume(t.Context(), "t-1", ResumeOptions{})
	require.ErrorContains(t, err, "the last good one: llama-agent resume t-1 --from "+steps[1].ID)
	m.failure = nil
	report, err := a.Resume(t.Context(), "t-1", ResumeOptions{From: steps[1].ID})
	require.NoError(t, err)
	require.Equal(t, "The answer.", report.Answer)

	pruned, err := a.Prune(t.Context(), 1)
	require.ErrorIs(t, err, checkpoint.ErrDamaged)
	require.Equal(t, 1, pruned.Threads, "the others are pruned")
}
