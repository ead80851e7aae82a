package engine

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAdapterSettings(t *testing.T) {
	t.Parallel()
	with := func(list ...Adapter) error {
		return Config{ModelPath: "m.gguf", Adapters: list}.withDefaults().validate()
	}
	require.NoError(t, with())
	require.NoError(t, with(Adapter{"a.gguf", 1}, Adapter{"b.gguf", -0.5}, Adapter{"c.gguf", 0}))
	err := with(Adapter{"", 1}, Adapter{"a.gguf", float32(math.NaN())}, Adapter{"b.gguf", float32(math.Inf(-1))}, Adapter{"x/c.gguf", 1}, Adapter{"x/./c.gguf", 2})
	require.ErrorContains(t, err, "has no path")
	require.ErrorContains(t, err, "a.gguf is no finite number")
	require.ErrorContains(t, err, "b.gguf is no finite number")
	require.ErrorContains(t, err, "x/./c.gguf is named twice")
}

// The key of the KV store tells adapters by their order and scale, and one from a part of a split model; their contents are
// hashed with the model's.
func TestAdaptersOfTheStoreKey(t *testing.T) {
	t.Parallel()
	mem := newFakeMemory(64, 32, 4)
	how := func(list ...Adapter) []string { return computing(Config{Adapters: applied(list)}.withDefaults(), mem) }
	none := how()
	require.Equal(t, none, how(Adapter{"a.gguf", 0}), "scale 0 computes what the model does")
	one := how(Adapter{"a.gguf", 1})
	require.Equal(t, append(append([]string{}, none...), "adapters", "1"), one)
	require.NotEqual(t, one, how(Adapter{"a.gguf", 0.5}))
	require.NotEqual(t, how(Adapter{"a.gguf", 1}, Adapter{"b.gguf", 0.5}), how(Adapter{"a.gguf", 0.5}, Adapter{"b.gguf", 1}))
	require.Equal(t, []string{"a.gguf", "b.gguf"}, adapterPaths(applied([]Adapter{{"a.gguf", 1}, {"c.gguf", 0}, {"b.gguf", 2}})))
}
