package savertest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/graph/checkpoint"
)

func testEffects(t *testing.T, s checkpoint.Saver) {
	log := optional[checkpoint.EffectLog](t, s)
	key := checkpoint.EffectKey{Thread: "t", Task: "task", Key: "pay"}
	begin := func(key checkpoint.EffectKey) (checkpoint.Effect, bool) { return begin(t.Context(), t, log, key) }
	_, fresh := begin(key)
	require.True(t, fresh)
	e, fresh := begin(key)
	require.False(t, fresh)
	require.False(t, e.Done)

	require.NoError(t, log.FinishEffect(t.Context(), "", key, []byte(`{"ok":true}`)))
	e, fresh = begin(key)
	require.False(t, fresh)
	require.True(t, e.Done)
	require.JSONEq(t, `{"ok":true}`, string(e.Result))
	require.NoError(t, log.AbandonEffect(t.Context(), "", key))
	e, _ = begin(key)
	require.True(t, e.Done, "a finished effect stays")

	for _, other := range []checkpoint.EffectKey{
		{Thread: "u", Task: "task", Key: "pay"}, {Thread: "t", Task: "task2", Key: "pay"},
		{Thread: "t", Task: "task", Key: "pay2"}, {Thread: "t", Namespace: "sub", Task: "task", Key: "pay"},
	} {
		_, fresh := begin(other)
		require.True(t, fresh, "%v is another effect", other)
		require.NoError(t, log.AbandonEffect(t.Context(), "", other))
		_, fresh = begin(other)
		require.True(t, fresh, "an abandoned effect is forgotten")
	}
	require.ErrorIs(t, log.FinishEffect(t.Context(), "", checkpoint.EffectKey{Thread: "t", Task: "x", Key: "y"}, nil), checkpoint.ErrNotFound)
}
