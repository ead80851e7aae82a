package app

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDelete(t *testing.T) {
	t.Parallel()
	a := open(t, configure(t), &answers{})
	for _, id := range []string{"t-1", "t-2"} {
		_, err := a.Run(t.Context(), Task{Goal: "hello", Thread: id})
		require.NoError(t, err)
	}
	_, err := a.Delete(t.Context(), "t-1", "t-3")
	require.ErrorContains(t, err, `there is no thread "t-3"`)
	_, err = a.Thread(t.Context(), "t-1")
	require.NoError(t, err, "all or none")
	deleted, err := a.Delete(t.Context(), "t-2", "t-2")
	require.NoError(t, err)
	require.Equal(t, "t-2", deleted[0].Thread)
	require.Positive(t, deleted[0].Checkpoints)
	last, err := a.Last(t.Context())
	require.NoError(t, err)
	require.Equal(t, "t-1", last.ID)
	_, err = a.Delete(t.Context(), "t-1")
	require.NoError(t, err)
	_, err = a.Last(t.Context())
	require.ErrorIs(t, err, ErrNothingToResume)
}

func TestCopy(t *testing.T) {
	t.Parallel()
	a := open(t, configure(t), &answers{})
	_, err := a.Run(t.Context(), Task{Goal: "hello", Thread: "t-1"})
	require.NoError(t, err)
	require.NoError(t, a.Copy(t.Context(), "t-1", "t-2"))
	was, err := a.Thread(t.Context(), "t-1")
	require.NoError(t, err)
	is, err := a.Thread(t.Context(), "t-2")
	require.NoError(t, err)
	require.Equal(t, was.Goal, is.Goal)
	require.Equal(t, was.Status, is.Status)
	require.EqualError(t, a.Copy(t.Context(), "t-1", "t-2"), "thread t-2 exists already; choose another ID for the copy")
	require.ErrorContains(t, a.Copy(t.Context(), "t-3", "t-4"), `there is no thread "t-3"`)
	require.ErrorContains(t, a.Copy(t.Context(), "t-1", "a b"), `thread ID "a b": use 1 to 64 letters`)
	a.saver = damagedSaver{Saver: a.saver}
	require.ErrorContains(t, a.Copy(t.Context(), "t-1", "t-4"), "cannot copy")
}
