package config

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestAdapters(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Adapter{
		"a.gguf": {"a.gguf", 1}, "a.gguf=0.5": {"a.gguf", 0.5}, "a.gguf = -2": {"a.gguf", -2}, "a.gguf=0": {"a.gguf", 0},
		"dir=x/a.gguf": {"dir=x/a.gguf", 1}, "rank=8=1": {"rank=8", 1}, "a.gguf=half": {"a.gguf=half", 1},
	} {
		got, err := parseAdapter(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
		again, err := parseAdapter(got.String())
		require.NoError(t, err, text)
		require.Equal(t, want, again, text)
	}
	for text, reason := range map[string]string{
		"=0.5": "no path", "a.gguf=101": "not in -100 to 100", "a.gguf=NaN": "not in", "a.gguf=-Inf": "not in", "a.gguf=1e999": "not in",
	} {
		_, err := parseAdapter(text)
		require.ErrorContains(t, err, reason, text)
	}
	rapid.Check(t, func(r *rapid.T) {
		a := Adapter{rapid.StringMatching(`[a-z0-9./=]*[a-z]`).Draw(r, "path"), rapid.Float64Range(-maxScale, maxScale).Draw(r, "scale")}
		got, err := parseAdapter(a.String())
		require.NoError(r, err)
		require.Equal(r, a, got)
	})
}
