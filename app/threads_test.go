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
