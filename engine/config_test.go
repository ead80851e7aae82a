package engine

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestConfigDefaults(t *testing.T) {
	t.Parallel()
	c := Config{ModelPath: "m.gguf"}.withDefaults()
	require.NoError(t, c.validate())
	require.Positive(t, c.Threads)
	require.NotNil(t, c.Logger)
	require.NotNil(t, c.Now)
	again := c
	again.Now, c.Now = nil, nil // functions cannot be compared
	require.Equal(t, c, again)
	require.GreaterOrEqual(t, PhysicalCores(), 1)

	kept := Config{ModelPath: "m.gguf", BatchSize: 7, Parallel: 2, Threads: 3, MaxTokens: 9, ToolFormat: "native"}.withDefaults()
	require.Equal(t, []any{7, 2, 3, 9, "native"}, []any{kept.BatchSize, kept.Parallel, kept.Threads, kept.MaxTokens, kept.ToolFormat})
}

func TestConfigValidate(t *testing.T) {
	t.Parallel()
	for message, change := range map[string]func(*Config){
		"no model file":                      func(c *Config) { c.ModelPath = "" },
		"context size -1":                    func(c *Config) { c.ContextSize = -1 },
		"batch size -5":                      func(c *Config) { c.BatchSize = -5 },
		"parallel = 65":                      func(c *Config) { c.Parallel = 65 },
		"parallel = -1":                      func(c *Config) { c.Parallel = -1 },
		"threads = 513":                      func(c *Config) { c.Threads = 513 },
		"max tokens -1":                      func(c *Config) { c.MaxTokens = -1 },
		`tool format "xml"`:                  func(c *Config) { c.ToolFormat = "xml" },
		`flash attention "maybe"`:            func(c *Config) { c.FlashAttention = "maybe" },
		`KV cache type "q2" is not f16, f32`: func(c *Config) { c.KVCacheType = "q2" },
	} {
		c := Config{ModelPath: "m.gguf"}
		change(&c)
		require.ErrorContains(t, c.withDefaults().validate(), message)
	}
	all := Config{Parallel: 99, ToolFormat: "x"}.withDefaults().validate()
	for _, message := range []string{"no model file", "parallel", "tool format"} {
		require.ErrorContains(t, all, message, "all mistakes at once")
	}
	_, err := Open(t.Context(), Config{Parallel: 99})
	require.ErrorContains(t, err, "parallel")
	require.NotErrorIs(t, err, ErrNoLlama)
}

func TestOpenWithoutLlama(t *testing.T) {
	t.Parallel()
	if Available {
		t.Skip("llama.cpp is linked in")
	}
	_, err := Open(t.Context(), Config{ModelPath: "m.gguf"})
	require.ErrorIs(t, err, ErrNoLlama)
	require.Empty(t, Build().Backend)
}

func TestErrors(t *testing.T) {
	t.Parallel()
	require.EqualError(t, &ModelFileError{Path: "a.gguf", Reason: "is a directory", Fix: "name a file"}, "model file a.gguf: is a directory; name a file")
	require.EqualError(t, &ModelFileError{Path: "a.gguf", Reason: "is empty"}, "model file a.gguf: is empty")
	e := &ContextError{PromptTokens: 600, ContextSize: 512}
	require.ErrorContains(t, e, "600")
	require.ErrorContains(t, e, "512")
	s := &SchemaError{Schema: "{}", Err: errFake}
	require.True(t, errors.Is(s, errFake))
	require.ErrorContains(t, s, "{}")
}
